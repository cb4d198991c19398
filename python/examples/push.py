"""Push a box over a table with a finger, and look at the forces.

    python push.py [folder]
"""

import sys

import numpy as np

import quasistep as qs

# the scene, in code; scenes/planar_push.yml says the same as a file
scene = qs.SystemBuilder("A finger pushes a box", step={"size": 0.05, "cone": 8, "inertia": "mass"})
scene.model("table", joint="fixed", friction=0.4, shape=qs.half_space())
scene.model(
    "finger",
    joint=[
        qs.slide("x", [1, 0, 0], stiffness=800, start=-0.11),
        qs.slide("y", [0, 1, 0], stiffness=800, start=0.02),
    ],
    pose={"xyz": [0, 0, 0.03]},
    gravity=False,
    shape=qs.sphere(0.01),
)
scene.model("box", mass=0.8, friction=0.4, pose={"xyz": [0, 0, 0.03]}, shape=qs.box([0.18, 0.12, 0.06]))
scene.friction_pair("finger", "box", mu=0)
scene.exclude("finger", "table")
system = scene.build("push")

# 20 cm along x in 4 s
times = 0.05 * np.arange(1, 81)
U = np.column_stack([-0.11 + 0.05 * times, np.full(80, 0.02)])
run = system.simulate(U)

box = run.q[-1, system.coordinates.indices(["box.x", "box.y"])]
push = run.contacts_of("finger/finger", "box/box")
print(f"the box is at x = {box[0]:.3f} m, y = {box[1]:.3f} m")
print(f"the finger pushes with {push['fn'][-1]:.2f} N: 0.4 times 0.8 kg times 9.81 m/s² is {0.4 * 0.8 * 9.81:.2f} N")
print(f"forces balance to {run.worst.force_balance:.1e} N in every step")

if len(sys.argv) > 1:
    print("files:", *run.save(sys.argv[1]), sep="\n  ")
