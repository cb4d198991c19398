"""Static questions with answers on paper."""

import numpy as np
import pytest

import quasistep as qs

G = 9.81


def test_equilibrium_of_a_spring_and_a_weight():
    scene = qs.SystemBuilder(step={"size": 0.1})
    scene.model("lift", joint=[qs.slide("z", [0, 0, 1], stiffness=200)], mass=2.0, shape=qs.sphere(0.1))
    q, report = scene.build().equilibrium()
    np.testing.assert_allclose(q, [-2 * G / 200], rtol=1e-9)
    np.testing.assert_allclose(report.effort, [2 * G], rtol=1e-9)


def test_equilibrium_of_an_arm_holds_its_weight():
    """Torque of a hinge: weight times its lever at the deflected angle."""
    scene = qs.SystemBuilder(step={"size": 0.1})
    scene.model(
        "arm",
        joint=[qs.hinge("elbow", [0, -1, 0], stiffness=50)],
        mass=1.0,
        shape=qs.sphere(0.01, pose={"xyz": [0.5, 0, 0]}),
    )
    q, report = scene.build().equilibrium()
    # settled to 1e-8 rad/s in steps of 0.1 s, 50 N·m/rad
    np.testing.assert_allclose(report.effort, [G * 0.5 * np.cos(q[0])], rtol=1e-7)
    np.testing.assert_allclose(report.effort, [-50 * q[0]], rtol=1e-7)


def test_largest_wrench_of_a_pinch(pinch):
    """Friction of two pads carries 2 · 0.7 · 3 N, the weight takes 0.045 · 9.81 N of it."""
    system = pinch.with_({"step.cone": "round"})
    down = system.largest_wrench(qs.Wrench("held", force=(0, 0, -1)), most=20)
    up = system.largest_wrench(qs.Wrench("held", force=(0, 0, 1)), most=20)
    weight = 0.045 * G
    assert down.held <= 4.2 - weight + 1e-3 and down.lost >= 4.2 - weight - 1e-3
    assert up.held <= 4.2 + weight + 1e-3 and up.lost >= 4.2 + weight - 1e-3
    assert down.lost - down.held <= 1e-4 * down.lost


def test_a_wrench_that_is_always_held_has_no_end(pinch):
    answer = pinch.largest_wrench(qs.Wrench("left", force=(-1, 0, 0)), most=1.0)
    assert answer.held == 1.0 and answer.lost == np.inf


def test_no_rest_is_an_error():
    scene = qs.SystemBuilder(step={"inertia": "mass"})
    scene.model("ball", mass=1.0, shape=qs.sphere(0.1))
    ball = scene.build()
    with pytest.raises(qs.NotAtRestError, match="`ball.vz` still moves"):
        ball.equilibrium(max_steps=5)
    with pytest.raises(qs.NotAtRestError):
        ball.largest_wrench(qs.Wrench("ball", force=(1, 0, 0)), max_steps=5)
    with pytest.raises(qs.ParameterError, match="rest_speed"):
        ball.equilibrium(rest_speed=0.0)


def test_a_carton_that_falls_on_the_table_was_not_held():
    """A cup holds the pull of its pad less the weight; a carton that it lost comes to rest on the table below."""
    system = qs.load("scenes/suction.yml")
    run = system.simulate(duration=1.2)
    pull = run.effort[-1, -1]
    down = system.largest_wrench(qs.Wrench("box", force=(0, 0, -1)), run.q[-1], run.u[-1], most=200, t=1.2)
    weight = system.mass_matrix(run.q[-1])[-1, -1] * G
    assert down.held == pytest.approx(pull - weight, rel=0.02)
    anywhere = system.largest_wrench(qs.Wrench("box", force=(0, 0, -1)), run.q[-1], run.u[-1], most=200, t=1.2, slip=np.inf)
    assert anywhere.held > 2 * down.held
