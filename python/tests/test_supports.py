"""Friction of supports against closed forms: a planar joint and a slide that rub with 0.3 times their load."""

import numpy as np
import pytest

import quasistep as qs

FRICTION, MASS, RADIUS, SPEED, G = 0.3, 2.0, 0.04, 0.05, 9.81
FORCE = FRICTION * MASS * G


def puck(load: object = "weight") -> qs.SystemBuilder:
    """A puck on a planar joint that rubs."""
    scene = qs.SystemBuilder(step={"size": 0.05, "duration": 1})
    support = {"friction": FRICTION, "spin_radius": RADIUS, "load": load}
    scene.model("puck", joint="planar", mass=MASS, support=support, shape=qs.cylinder(radius=0.06, length=0.04))
    return scene


def finger(scene: qs.SystemBuilder) -> qs.System:
    """A finger pushes the puck through its middle."""
    slide = qs.slide("x", [1, 0, 0], stiffness=1000, start=-0.08)
    scene.model("finger", gravity=False, joint=[slide], shape=qs.sphere(0.02))
    scene.command("finger.x", expr=f"-0.08 + {SPEED}*t")
    return scene.build()


@pytest.mark.parametrize("h", [0.05, 0.01])
def test_a_pushed_puck_rubs_with_friction_times_its_weight(h):
    system = finger(puck())
    run = system.simulate(h=h)
    _, report = system.step(run.q[-1], h=h, t=1.0)
    ((body, load, force),) = report.supports
    assert system.bodies[body] == "puck/puck"
    assert load == pytest.approx(MASS * G, rel=1e-9)
    np.testing.assert_allclose(force, [-FORCE, 0, 0], atol=1e-6 * FORCE)
    # the drive carries friction, and the drag of the relaxation time of 1 s
    np.testing.assert_allclose(report.effort, [FORCE + MASS * SPEED], rtol=1e-6)
    # the same forces by dof
    by_dof = {system.dofs[dof]: force for dof, force in report.joint_friction}
    assert by_dof["puck.x"] == force[0] and set(by_dof) == {"puck.x", "puck.y", "puck.theta"}


@pytest.mark.parametrize("h", [0.05, 0.01])
@pytest.mark.parametrize("friction", ["exact", "convex"])
def test_a_turned_puck_rubs_with_the_torque_of_its_spin_radius(h, friction):
    system = puck(load=10.0).build()
    _, report = system.step(
        system.q0, h=h, params=system.params.replace(friction=friction), wrenches=[qs.Wrench("puck", torque=(0, 0, 1))]
    )
    ((_, load, force),) = report.supports
    assert load == 10.0 and report.v[2] > 0
    np.testing.assert_allclose(force, [0, 0, -FRICTION * 10.0 * RADIUS], atol=1e-9)


@pytest.mark.parametrize("h", [0.05, 0.01])
def test_a_puck_at_rest_rubs_against_what_pulls_it(h):
    system = puck().build()
    _, report = system.step(system.q0, h=h, wrenches=[qs.Wrench("puck", force=(0.5 * FORCE, 0, 0))])
    ((_, _, force),) = report.supports
    np.testing.assert_allclose(report.v, 0, atol=1e-9)
    np.testing.assert_allclose(force, [-0.5 * FORCE, 0, 0], atol=1e-6)


@pytest.mark.parametrize("h", [0.05, 0.01])
def test_a_slide_rubs_as_joint_friction(h):
    scene = qs.SystemBuilder(step={"size": h, "duration": 1})
    slide = qs.slide("x", [1, 0, 0], role="prescribed", support={"friction": FRICTION})
    scene.model("drawer", joint=[slide], mass=MASS, shape=qs.box([0.2, 0.2, 0.04]))
    scene.command("drawer.x", expr=f"{SPEED}*t")
    system = scene.build()
    _, report = system.step(system.q0)
    assert report.supports == []
    ((dof, force),) = report.joint_friction
    assert system.dofs[dof] == "drawer.x"
    np.testing.assert_allclose(force, -FORCE, rtol=1e-6)
    np.testing.assert_allclose(report.effort, [FORCE], rtol=1e-6)
