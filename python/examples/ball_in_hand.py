# %% [markdown]
# # A hand of four fingers turns a ball
#
# Two opposite fingers press and sweep, so that the ball rolls between them; then the other two, while the first
# let go, swing back and take hold again: a finger gait. The scene is a file; here it is run, looked at, and its
# gait is tuned.
#
#     python ball_in_hand.py [folder]

# %%
import sys

import numpy as np

import quasistep as qs

system = qs.load("scenes/ball_in_hand.yml")
run = system.simulate()
run  # in a notebook: the 3-D page


# %% [markdown]
# How far has it turned? The angle about the vertical, from the ball's quaternion, made continuous.

# %%
def turned(q):
    """Angle of the ball about z, shape (..., steps), from configurations (..., steps, n_q)."""
    w, x, y, z = np.moveaxis(q[..., system.coordinates.indices("ball.q*")], -1, 0)
    return np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


angle = turned(run.q)
print(f"the ball has turned by {np.degrees(angle[-1]):.0f} degrees in {run.t[-1]:g} s")

# %% [markdown]
# Which fingers hold it when? Never fewer than two.

# %%
fingers = np.zeros((len(run.t) - 1, 4), dtype=bool)
for i in range(4):
    touching = run.contacts_of(f"finger_{i}/tip", "ball/ball")
    fingers[touching["step"][touching["fn"] > 0] - 1, i] = True
print(f"between {fingers.sum(axis=1).min()} and {fingers.sum(axis=1).max()} fingers hold it")
carried = run.contacts_of("finger_*/tip", "ball/ball")
last = carried[carried["step"] == 130]
# forces on the ball: it is B of a contact, or A
up = np.where(system.bodies.index("ball/ball") == last["b"], 1, -1) @ last["f"][:, 2]
print(f"they carry {up:.3f} N of the {0.05 * 9.81:.3f} N that it weighs")

# %% [markdown]
# How firmly should fingers press? A batch: the same gait with other commands of the curl joints, on all cores.

# %%
steps = len(run.t) - 1
presses = np.linspace(0.01, 0.2, 24)
U = np.tile(run.u, (len(presses), 1, 1))
curls = system.commands.indices("finger_*.curl")
# 0.1 rad is what the scene tells a finger that is on the ball
U[..., curls] += (presses[:, None, None] - 0.1) * (U[..., curls] > 0)
Q, report = system.simulate_batch(U, q0=system.q0, report=True)
angles = turned(Q)[:, -1]
best = int(np.argmax(angles))
print(f"{report.ok.sum()} of {len(presses)} went well; best pressed by {presses[best]:.3f} rad: {np.degrees(angles[best]):.0f} degrees")

# %% [markdown]
# And if the ball is slippery, or heavy? Samples with scenes of their own.

# %%
mu = np.linspace(0.05, 0.8, 12)
Q, report = system.simulate_batch(run.u, vary={"friction.default": mu}, report=True)
for m, ok, a in zip(mu, report.ok, turned(Q)[:, -1], strict=True):
    print(f"  mu {m:.2f}: {'turned by ' + format(np.degrees(a), '.0f') + ' degrees' if ok else 'failed'}")

# %%
if len(sys.argv) > 1:
    print("files:", *run.save(sys.argv[1]), sep="\n  ")
