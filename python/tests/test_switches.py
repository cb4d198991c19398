"""Switched constraints: their command is the last of `u`, the size of their force the last of the effort."""

import pickle

import numpy as np
import pytest

import quasistep as qs

G = 9.81


@pytest.fixture(scope="module")
def changer():
    """The tool changer of `scenes/tool_change.yml`."""
    return qs.load("scenes/tool_change.yml")


def test_a_tool_is_attached_carried_and_released_step_by_step(changer):
    assert changer.commands == ("changer.x", "changer.z", "coupling")
    assert changer.commanded(changer.q0).tolist() == [0, 0, 0]
    z = changer.coordinates.index("tool.z")
    q, report = changer.step(changer.q0, [0, -0.079, 0], h=0.1)
    assert not report.attached.any() and report.constraints["on"].tolist() == [0]
    q, report = changer.step(q, [0, -0.079, 1], h=0.1)
    on, *quat = report.attached[0, :5]
    assert on == 1 and np.linalg.norm(quat) == pytest.approx(1)
    # the tool's origin is 41 mm below that of the flange
    assert report.attached[0, 5:] == pytest.approx([0, 0, 0.041])
    held = report.attached
    for height in np.linspace(-0.079, 0, 5):
        q, report = changer.step(q, [0, height, 1], h=0.1, attached=report.attached, warm=report.warm_start)
        np.testing.assert_array_equal(report.attached, held)
    for _ in range(4):
        q, report = changer.step(q, [0, 0, 1], h=0.1, attached=report.attached)
    assert q[z] == pytest.approx(0.23 + 0.079 - 0.5 * G / 2000)
    assert report.effort[changer.efforts.index("coupling")] == pytest.approx(0.5 * G)
    assert report.effort[changer.efforts.index("changer.z")] == pytest.approx(0.5 * G)
    copy = pickle.loads(pickle.dumps(report))
    np.testing.assert_array_equal(copy.attached, held)
    q, report = changer.step(q, [0, 0, 0], h=0.1, attached=report.attached)
    assert q[z] == pytest.approx(0.23) and not report.attached.any()


def test_a_run_goes_on_with_what_is_attached(changer):
    whole, half = changer.simulate(), changer.simulate(duration=1.5)
    assert half.checkpoint.attached[0, 0] == 1
    start = pickle.loads(pickle.dumps(half.checkpoint))
    rest = changer.simulate(start=start, duration=2.5)
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])
    assert not whole.checkpoint.attached.any()


def test_batches_begin_with_what_is_attached(changer):
    half = changer.simulate(duration=1.5)
    q, attached, t = half.q[-1], half.checkpoint.attached, half.checkpoint.t
    U = np.array([[[0.0, 0.0, on]] * 5 for on in (1.0, 0.0)])
    Q, report = changer.simulate_batch(U, q0=q, t0=t, attached=attached, report=True)
    z = changer.coordinates.index("tool.z")
    assert Q[0, -1, z] > 0.3 and Q[1, -1, z] == pytest.approx(0.23)
    np.testing.assert_array_equal(report.reports[0].attached, attached)
    alone, own = q, attached
    for u in U[0]:
        alone, last = changer.step(alone, u, attached=own)
        own = last.attached
    np.testing.assert_allclose(Q[0, -1], alone, atol=1e-9)


def test_a_step_with_something_attached_has_derivatives(changer):
    half = changer.simulate(duration=1.7)
    q, attached = half.q[-1], half.checkpoint.attached
    d = changer.derivatives(q, [0, 0, 1], h=0.02, attached=attached)
    by_u = d.matrix("q_next", "u")
    z, flange = changer.dofs.index("tool.vz"), changer.dofs.index("changer.z")
    # the tool follows the flange, and the flange its command
    assert by_u[z, 1] == pytest.approx(by_u[flange, 1], abs=1e-6) and by_u[z, 1] > 0.5
    np.testing.assert_array_equal(d.report.attached, attached)
    # in a batch, with the tool held and with nothing held while the switch is off
    both = np.stack([attached, np.zeros_like(attached)])
    batch = changer.derivatives_batch(q, [[0, 0, 1], [0, 0, 0]], h=0.02, attached=both)
    np.testing.assert_allclose(batch.by_u[0], by_u, atol=1e-9)
    assert abs(batch.by_u[1, z, 1]) < 1e-6
    with pytest.raises(qs.StepError, match="attached"):
        changer.derivatives_batch(q, [[0, 0, 1]] * 3, h=0.02, attached=both)


def test_what_is_attached_is_checked(changer):
    with pytest.raises(qs.StepError, match="attached"):
        changer.step(changer.q0, attached=np.zeros(7))
    with pytest.raises(ValueError, match="unit quaternion"):
        changer.step(changer.q0, attached=[[1, 2, 0, 0, 0, 0, 0, 0]])


def test_a_mocap_body_is_told_its_pose_at_each_step():
    system = qs.loads(LED)
    q = system.q0
    for x in np.linspace(0, 0.1, 11)[1:]:
        u = [np.cos(x / 2), 0, 0, np.sin(x / 2), x, 0, 0.03]
        q, report = system.step(q, u, h=0.1)
    assert q[:7] == pytest.approx(u)
    assert q[system.coordinates.index("box.x")] == pytest.approx(0.15, abs=1e-5)
    # torque, then force: friction, and the drag of 0.1 m/s
    assert report.effort[3] == pytest.approx(0.5 * 0.5 * G + 0.5 * 0.1, abs=1e-3)


LED = """
format: 1
models:
  table: {joint: fixed, friction: 0.5, shape: {half_space: {}}}
  lead: {pose: {xyz: [0, 0, 0.03]}, joints: {lead: {role: prescribed}}, friction: 0, shape: {sphere: {radius: 0.02}}}
  box: {mass: 0.5, friction: 0.5, pose: {xyz: [0.05, 0, 0.03]}, shape: {box: {size: [0.06, 0.06, 0.06]}}}
"""
