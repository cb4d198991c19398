"""Cartesian stiffness: commands, efforts and derivatives of frames with a spring."""

import numpy as np
import pytest

import quasistep as qs

ARM = """
gravity: [0, 0, 0]
step: {size: 0.1, duration: 2}
models:
  arm:
    joints: {"*": {stiffness: 0, damping: 1}}
    bodies:
      base: {joint: [{hinge: j1, axis: [0, 0, 1]}], pose: {xyz: [0, 0, 0.3]}}
      upper: {joint: [{hinge: j2, axis: [0, 1, 0], start: 0.6}], parent: base}
      fore: {joint: [{hinge: j3, axis: [0, 1, 0], start: 1.2}], parent: upper, pose: {xyz: [0, 0, 0.4]}}
      hand:
        joint: [{hinge: j4, axis: [0, 1, 0], start: 1.3}]
        parent: fore
        pose: {xyz: [0, 0, 0.3]}
        shape: {sphere: {radius: 0.03}}
    cartesian_stiffness: {frame: hand, stiffness: [300, 300, 500, 10, 10, 10], axes: world}
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("cartesian") / "arm.yml"
    path.write_text(ARM)
    return qs.load(path)


def test_the_command_that_holds_has_the_pose_of_the_frame(arm):
    assert arm.commands[-1] == "arm/hand.z" and arm.efforts[-6] == "arm/hand.wx"
    u = arm.commanded(arm.q0)
    assert u.shape == (arm.n_u,) == (11,) and arm.n_u_v == 10
    assert (u[:4] == arm.q0).all()
    assert (u[4:] == arm.pose("arm/hand", arm.q0)).all()
    many = arm.commanded(arm.q0 + np.zeros((2, 3, 1)))
    assert many.shape == (2, 3, 11) and (many == u).all()
    own, rates = arm.command(1.0)
    assert (own == u).all() and (rates == 0).all()


def test_a_shift_of_the_pose_pulls(arm):
    u = arm.u_vector({"arm/hand.z": arm.commanded(arm.q0)[-1] + 0.01})
    q, report = arm.step(arm.q0, u)
    force = report.effort[arm.efforts.indices("arm/hand.v*")]
    assert 0 < force[2] < 5 and report.certificate.force_balance < 1e-7
    for _ in range(200):
        q, report = arm.step(q, u)
    assert abs(arm.pose("arm/hand", q)[6] - u[-1]) < 1e-6


def test_the_matrix_of_a_command_is_that_of_its_turn(arm):
    u = arm.commanded(arm.q0 + 0.1)
    G = arm.command_matrix(u)
    assert G.shape == (11, 10)
    # a quaternion stays one: its change is across it; and twice the change is the turn
    assert np.allclose(u[4:8] @ G[4:8, 4:7], 0, atol=1e-15)
    assert np.allclose(4 * G[4:8, 4:7].T @ G[4:8, 4:7], np.eye(3), atol=1e-15)
    assert (G[8:, 7:] == np.eye(3)).all() and (G[:4, :4] == np.eye(4)).all()
