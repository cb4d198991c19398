# %% [markdown]
# # Plans through contact
#
# A plan decides itself when to touch, stick and slide: it is the best one over all sequences of contact modes,
# with a proof. Three ways in: a scene with its `mpc` section, its closed loop, and matrices of one's own.
#
#     python mpc.py [folder]

# %%
import sys

import numpy as np

import quasistep as qs

# %% [markdown]
# A scene's section is a problem; `set` changes it. The point robot of MpcNote, five and twenty steps ahead:

# %%
for horizon in (5, 20):
    plan = qs.load("scenes/point_robot.yml", set={"mpc.horizon": horizon}).mpc().plan()
    print(f"{horizon:2} steps ahead: cost {plan.cost:.3f}, proven to {plan.gap:.1e}, {plan.nodes} nodes")

# %% [markdown]
# The closed loop: two fingers take a box and turn it to a pose. Plans are made on a linearised step with Coulomb
# friction; the box moves in the simulator.

# %%
hand = qs.load("scenes/planar_hand.yml")
run = hand.control()
box = hand.dofs.indices("box.*")
print("the box is at", run.x[-1, box].round(4), "and was wanted at", run.goal[box])
print(f"{run.proven} of {len(run.plans)} plans are proven optimal")
touch = [(plan.modes[0] != qs.Mode.SEPARATE).sum() for plan in run.plans]
print(f"first touch in step {np.argmax(np.array(touch) > 0)}")

# %% [markdown]
# Matrices of one's own: a cart between two springy walls is a linear complementarity system.
# `x⁺ = A x + B u + C γ`, a wall pushes with `γ = k max(0, −distance)`, that is `0 ≤ γ ⊥ γ/k + distance ≥ 0`.

# %%
h, stiffness, wall = 0.05, 200.0, 0.3
lcs = qs.Lcs(
    A=[[1, h], [0, 1]],
    B=[[h * h], [h]],
    C=[[h * h, -h * h], [h, -h]],
    D=[[1, 0], [-1, 0]],
    E=np.eye(2) / stiffness,
    f=[0, 0],
    a=[wall, wall],
    states=["x", "v"],
    inputs=["force"],
    gammas=["left wall", "right wall"],
)
# from rest at 0 to 0.25 at a speed of −1: it is cheapest to bounce off the right wall
mpc = qs.Mpc(lcs, horizon=16, goal=[0.25, -1.0], Q=[0, 0], R=0.01, Q_f=[100, 100], input=6)
plan = mpc.plan([0.0, 0.0])
bounced = plan.impulses[:, 1].max()
print(f"{plan.status}: ends at {plan.states[-1].round(3)}, the right wall pushes with {bounced:.1f} N at most")
assert plan.status == "optimal" and bounced > 1

# %% [markdown]
# The system that predicts a scene, for planners of one's own: arrays with names.

# %%
lcs = hand.lcs(margin=0.1)
print(lcs, "with inputs", lcs.inputs)

# %%
if len(sys.argv) > 1:
    print("files:", *run.save(sys.argv[1]), sep="\n  ")
