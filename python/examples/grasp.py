# %% [markdown]
# # Grasp a point cloud
#
# A rabbit straight from its 992 points, without a mesh: two plates close on it, lift it, and hold it by what
# little they touch. Then the margins of the grasp in every direction: statics of the same scene.
#
#     python grasp.py [folder]

# %%
import sys

import numpy as np

import quasistep as qs

# the last seconds of the scene only hold it
system = qs.load("scenes/bunny_grasp.yml", set={"step.duration": 4})
run = system.simulate()
run  # in a notebook: the 3-D page

# %%
fingers = run.contacts_of("hand/*", "bunny/bunny")
held = fingers[fingers["step"] == fingers["step"].max()]
lifted = run.coordinate("bunny.z")[-1] - run.coordinate("bunny.z")[0]
print(f"lifted by {1e3 * lifted:.0f} mm, held at {len(held)} points by {held['fn'].sum() / 2:.2f} N a plate")
turn = 2 * np.degrees(np.arccos(min(1.0, abs(run.coordinate("bunny.qw")[-1]))))
print(f"it has turned by {turn:.2f} degrees on the way")

# %% [markdown]
# The largest force along each direction before it slips away. The floor is taken out of the question: a rabbit that
# slipped out and lies on it would be at rest as well.

# %%
aloft = system.with_({"collisions.exclude": [["floor", "bunny"]]})
rest = {"u": run.u[-1], "h": 0.1, "rest_speed": 1e-6}
q, report = aloft.equilibrium(run.q[-1], **rest)
margins = {}
for word, direction in {"down": (0, 0, -1), "up": (0, 0, 1), "forward": (1, 0, 0)}.items():
    load = qs.Wrench("bunny", force=direction)
    margins[word] = aloft.largest_wrench(load, q, most=20, tolerance=0.01, **rest)
    print(f"{word}: holds {margins[word].held:.2f} N, loses it at {margins[word].lost:.2f} N")

# downwards two plates carry at most 0.8 times what both press, load and weight; upwards the rabbit's shape wedges
# between them and they press harder
assert margins["down"].held <= 0.8 * held["fn"].sum() - 0.3 * 9.81 + 0.1
assert margins["up"].held > margins["down"].held

# %%
if len(sys.argv) > 1:
    print("files:", *run.save(sys.argv[1]), sep="\n  ")
