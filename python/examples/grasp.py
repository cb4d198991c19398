"""How firmly do two fingers hold a body? Equilibrium and grasp margin in every direction.

    python grasp.py
"""

import numpy as np

import quasistep as qs

scene = qs.SystemBuilder("Two pads hold a block", step={"size": 0.1, "cone": "round", "inertia": "mass"})
for name, side in (("left", -1), ("right", 1)):
    scene.model(
        name,
        joint=[qs.slide("x", [1, 0, 0], stiffness=1500, start=0.03 * side)],
        gravity=False,
        friction=0.7,
        shape=qs.box([0.01, 0.02, 0.02]),
    )
scene.model("block", mass=0.045, friction=0.7, shape=qs.box([0.05, 0.04, 0.06]))
system = scene.build("grasp")

# squeeze: both pads are told to go 2 mm into the block
u = system.u_vector({"left.x": -0.028, "right.x": 0.028})
q, report = system.equilibrium(u=u)
print("joint forces (N):", dict(zip(system.efforts, report.effort.round(3), strict=True)))

# the largest force along each direction before the block slips away
margins = {}
for word, direction in {"up": (0, 0, 1), "down": (0, 0, -1), "along y": (0, 1, 0)}.items():
    answer = system.largest_wrench(qs.Wrench("block", force=direction), q, u, most=50)
    margins[word] = answer.held
    print(f"{word}: holds {answer.held:.3f} N, loses it at {answer.lost:.3f} N")

# two pads with mu = 0.7 and 3 N each carry 4.2 N; the weight of 45 g takes its share
assert np.isclose(margins["up"], 4.2 + 0.045 * 9.81, rtol=1e-3)
assert np.isclose(margins["down"], 4.2 - 0.045 * 9.81, rtol=1e-3)
