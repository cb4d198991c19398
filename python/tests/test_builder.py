"""A system made in code is the one that a file would say."""

import numpy as np
from conftest import ROOT

import quasistep as qs


def build_pinch() -> qs.SystemBuilder:
    """scenes/pinch.yml, call by call."""
    scene = qs.SystemBuilder(step={"size": 0.1, "duration": 60, "cone": 4, "inertia": "mass"})
    for name, start in (("left", -0.03), ("right", 0.03)):
        slide = qs.slide("x", [1, 0, 0], stiffness=1500, start=start)
        scene.model(name, joint=[slide], gravity=False, shape=qs.box([0.01, 0.02, 0.02]))
    scene.model("held", mass=0.045, shape=qs.box(np.array([0.05, 0.04, 0.06])))
    scene.tree["friction"]["default"] = 0.7
    scene.command("left.x", constant=-0.028)
    scene.command("right.x", constant=0.028)
    return scene


def test_code_and_file_give_the_same_bits(pinch):
    built = build_pinch().build()
    assert built.coordinates == pinch.coordinates
    np.testing.assert_array_equal(
        built.simulate(duration=2.0).q, pinch.simulate(duration=2.0).q
    )


def test_what_is_saved_is_what_was_built(tmp_path):
    scene = build_pinch()
    scene.save(tmp_path / "pinch.yml")
    saved, built = qs.load(tmp_path / "pinch.yml"), scene.build()
    np.testing.assert_array_equal(saved.step(saved.q0)[0], built.step(built.q0)[0])


def test_words_that_yaml_reads_otherwise_survive():
    scene = qs.SystemBuilder(title="yes: [a] # \"quoted\" é", step={"inertia": "mass"})
    scene.model("on", mass=1e-9, shape=qs.sphere(1e-3, name="true"))
    for system in (scene.build(), qs.loads(scene.to_yaml())):
        assert system.title == "yes: [a] # \"quoted\" é"
        assert system.bodies[1] == "on/on" and system.shapes == ("on/on/true",)


def test_robot_from_a_file_in_code():
    scene = qs.SystemBuilder()
    scene.model("arm", urdf="iiwa7/iiwa7.urdf", gravity=False, joints={"*": {"stiffness": 1000}})
    system = scene.build(dir=ROOT / "scenes/models")
    assert system.n_u == 7


def test_grammar_as_one_tree():
    system = qs.from_dict(
        {
            "models": {
                "ground": {"joint": "fixed", "shape": qs.half_space()},
                "peg": {
                    "repeat": {"count": 3},
                    "joint": "fixed",
                    "pose": {"xyz": ["0.1*i", 0, 0]},
                    "shapes": [qs.capsule(0.01, 0.1), qs.cylinder(0.01, 0.1), qs.ellipsoid([0.01, 0.02, 0.03])],
                },
                "ball": {"mass": 1, "shape": qs.sphere(0.1, friction={"mu": 0.5, "patch_radius": 0.01})},
            },
            "collisions": {"exclude": [["peg_*", "ball"]]},
        }
    )
    assert len(system.shapes) == 11
