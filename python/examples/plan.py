# %% [markdown]
# # Plan a push by gradient descent
#
# A finger is to push a box to a pose. The cost of a rollout is differentiated through every step and contact, back
# to all commands, and they go downhill. Far from contact nothing changes when the finger moves a little: the relaxed
# step, whose contacts push before they touch, shows the way; the exact step has the last word.
#
#     python plan.py [page.html]

# %%
import sys

import numpy as np

import quasistep as qs

system = qs.load("scenes/planar_push.yml", set={"step.relaxation": "step", "step.friction": "convex", "step.cone": 8})
STEPS, H = 40, 0.05
box = system.dofs.indices(["box.vx", "box.vy", "box.wz"])
goal = np.array([0.10, 0.02, 0.25])  # of the box: x and y in m, turned about z in rad
weigh = np.array([1.0, 1.0, 0.1])  # 0.1 m counts as 0.3 rad


# %% [markdown]
# The miss, on the tangent space of the last configuration, and its gradient by the commands: one vector-Jacobian
# product for each step, backwards.

# %%
def rollout(U, mode):
    """Miss and half its weighted square, its gradient by all commands, and where it ended."""
    q, steps = system.q0, []
    for u in U:
        steps.append(system.derivatives(q, u, h=H, mode=mode))
        q = steps[-1].q_next
    miss = system.difference(system.q0, q)[box] - goal
    weights = np.zeros(system.n_v)
    weights[box] = weigh * miss
    gradient = np.empty_like(U)
    for k in reversed(range(len(U))):
        back = steps[k].vjp(q_next=weights)
        gradient[k], weights = back["u"], back["q"]
    return miss, 0.5 * weigh @ miss**2, gradient


# %% [markdown]
# Commands through knots keep the path smooth: eight knots of the finger's x and y, joined by lines. Descent on the
# knots with Gauss–Newton's step would need the whole Jacobian; momentum (Adam) needs the gradient alone.

# %%
knots = 8
times = np.linspace(0, knots, STEPS + 1)[1:]
spread = np.maximum(0, 1 - np.abs(times[:, None] - np.arange(1, knots + 1)))
start = system.commanded(system.q0)


def commands(x):
    first = np.maximum(0, 1 - times)[:, None] * start
    return first + spread @ x


def descend(x, mode, rounds, rate):
    m = v = 0.0
    best = (np.inf, x)
    for k in range(1, rounds + 1):
        miss, cost, gradient = rollout(commands(x), mode)
        if cost < best[0]:
            best = (cost, x)
        g = spread.T @ gradient
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        x = x - rate * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.99**k)) + 1e-12)
        if k == 1 or k % 20 == 0:
            print(f"  {k:3}: miss {1e3 * miss[0]:7.2f} mm, {1e3 * miss[1]:7.2f} mm, {miss[2]:7.4f} rad")
    return best[1]


# %%
x = np.tile(start, (knots, 1))  # the finger does not move, and touches nothing
for mode, rounds, rate in ((qs.Smooth(1e-3), 60, 0.01), (qs.Smooth(1e-5), 60, 0.003), ("exact", 80, 0.0005)):
    print(mode)
    x = descend(x, mode, rounds, rate)

# %% [markdown]
# What does the plan do in the simulator?

# %%
run = system.simulate(commands(x), h=H)
miss = system.difference(system.q0, run.q[-1])[box] - goal
print(f"the planned push misses by {1e3 * np.hypot(*miss[:2]):.2f} mm and {abs(miss[2]):.4f} rad")
assert np.hypot(*miss[:2]) < 0.002 and abs(miss[2]) < 0.01

if len(sys.argv) > 1:
    run.save_html(sys.argv[1])
