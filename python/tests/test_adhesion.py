"""Pads that pull what touches them: their command is the last of `u`, their pull the last of the effort."""

import numpy as np
import pytest

import quasistep as qs

G = 9.81


@pytest.fixture
def gripper():
    """The gripper of `scenes/suction.yml`, on its box."""
    system = qs.load("scenes/suction.yml")
    q, _ = system.step(system.q0, [0, -0.052, 0], h=0.1)
    return system, q


def test_a_cup_lifts_its_box_with_a_share_of_its_pull(gripper):
    system, q = gripper
    assert system.commands == ("gripper.x", "gripper.z", "cup")
    for _ in range(8):
        q, report = system.step(q, [0, 0, 0.9], h=0.1)
    contacts = report.contacts
    assert report.effort[system.efforts.index("cup")] == pytest.approx(18)
    assert report.effort[system.efforts.index("gripper.z")] == pytest.approx(0.4 * G)
    # what presses the cup on the box, and what a sensor between them measures
    assert contacts["fn"].sum() == pytest.approx(18 - 0.4 * G)
    assert np.abs(contacts["f"].sum(axis=0)) == pytest.approx([0, 0, 0.4 * G])
    q, report = system.step(q, [0, 0, 0], h=0.01)
    assert report.effort[system.efforts.index("cup")] == 0


def test_commands_of_pads_are_shares(gripper):
    system, q = gripper
    with pytest.raises(qs.StepError, match=r"command of pad `cup`: 1.5 was seen; it must be from 0 to 1"):
        system.step(q, [0, 0, 1.5])
    np.testing.assert_array_equal(system.command_matrix([0, 0, 1]), np.eye(3))
    assert system.commanded(system.q0).tolist() == [0, 0, 1]


def test_batches_tell_pads(gripper):
    system, q = gripper
    up = np.array([[0, -0.052, 0.9], [0, -0.02, 0.9], [0, 0, 0.9]])
    left = up * [1, 1, 0]
    z = system.simulate_batch(np.stack([up, left]), q0=q, h=0.1)[:, -1, -1]
    assert z[0] > 0.07 and z[1] == pytest.approx(0.03)


def test_derivatives_by_the_share_of_a_pad(gripper):
    system, q = gripper
    command = np.array([0, 0, 0.9])
    d = system.derivatives(q, command, h=0.1)
    change = d.jvp(u=[0, 0, 1], impulses=True)
    # a share presses the cup with 20 N on what hangs on it
    assert change["normal"].sum() == pytest.approx(0.1 * 20)
    assert np.abs(change["q_next"]).max() == pytest.approx(0, abs=1e-9)
