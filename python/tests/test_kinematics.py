"""Frames, inverse kinematics, paths."""

import numpy as np
import pytest

import quasistep as qs


@pytest.fixture(scope="module")
def arm():
    return qs.load("scenes/iiwa_stacking.yml")


HAND = qs.Frame("arm/iiwa_link_7", xyz=(0.01, -0.02, 0.1), rpy=(0.1, 0.2, 0.3))


def test_rows_of_q_are_samples(arm):
    rng = np.random.default_rng(1)
    q = arm.q0 + np.zeros((2, 3, 1))
    q[..., arm.coordinates.indices("arm.*")] += rng.uniform(-0.3, 0.3, (2, 3, 7))
    v = rng.standard_normal((2, 3, arm.n_v))
    J = arm.jacobian(HAND, q, point=(0, 0, 0.05))
    assert J.shape == (2, 3, 6, arm.n_v)
    one = arm.jacobian(HAND, q[1, 2], point=(0, 0, 0.05))
    assert (J[1, 2] == one).all()
    velocity = arm.velocity(HAND, q, v, point=(0, 0, 0.05))
    assert np.allclose(velocity, np.einsum("...ij,...j", J, v), rtol=0, atol=1e-12)
    assert (arm.velocity(HAND, q[0, 0], v)[0, 0] == arm.velocity(HAND, q[0, 0], v[0, 0])).all()
    assert arm.pose(HAND, q).shape == (2, 3, 7)
    assert arm.mass_matrix(q).shape == (2, 3, arm.n_v, arm.n_v)
    seen = arm.linearise(q[1, 2])
    assert (arm.mass_matrix(q)[1, 2] == seen.mass).all()
    assert (arm.gravity_force(q)[1, 2] == seen.gravity_force).all()
    assert (arm.gravity_force(q, gravity=(0, 0, 0)) == 0).all()


def test_mistakes_name_the_argument(arm):
    with pytest.raises(ValueError, match=r"`q` has shape \(3,\).*wants \(\.\.\., \d+\)"):
        arm.pose(HAND, [0, 0, 0])
    with pytest.raises(qs.SceneError, match="arm/iiwa_link_7"):
        arm.pose("arm/iiwa_link_77", arm.q0)
    with pytest.raises(qs.InputError, match="frame: body 999 of"):
        arm.pose(999, arm.q0)
    with pytest.raises(qs.InputError, match="frame: an offset of inf"):
        arm.pose(qs.Frame("arm/iiwa_link_7", xyz=(0, 0, np.inf)), arm.q0)
    with pytest.raises(ValueError, match=r"`point` has shape \(2,\)"):
        arm.jacobian(HAND, arm.q0, point=(0, 0))


def test_every_form_of_a_pose_asks_for_the_same(arm):
    X = arm.pose(HAND, arm.q0) + [0, 0, 0, 0, 0.03, -0.05, 0.02]
    one = arm.inverse_kinematics(HAND, X)
    assert one.position_error < 1e-6 and one.rotation_error < 1e-6
    w, x, y, z = X[:4]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.block([[R, X[4:, None]], [np.zeros((1, 3)), 1]])
    rpy = [np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0]), np.arctan2(R[1, 0], R[0, 0])]
    for form in (matrix, {"xyz": X[4:], "quat": X[:4]}, {"xyz": X[4:], "rpy": rpy}):
        other = arm.inverse_kinematics(HAND, form)
        assert np.allclose(other.q, one.q, rtol=0, atol=1e-8)
    free = arm.inverse_kinematics(HAND, X[4:])
    away = [np.linalg.norm(reached.q - arm.q0) for reached in (free, one)]
    assert away[0] < away[1]
    down = arm.inverse_kinematics(HAND, X[4:], axis=((0, 0, 1), (0, 0, -1)))
    q = arm.pose(HAND, down.q)[:4]
    assert abs(1 - 2 * (q[1] ** 2 + q[2] ** 2) + 1) < 1e-10
    with pytest.raises(qs.InputError, match="no rotation"):
        arm.inverse_kinematics(HAND, 2 * matrix)
    with pytest.raises(ValueError, match="give one of them"):
        arm.inverse_kinematics(HAND, X, axis=((0, 0, 1), (0, 0, -1)))


def test_limits_and_joints_are_kept(arm):
    X = arm.pose(HAND, arm.q0) + [0, 0, 0, 0, 0.03, -0.05, 0.02]
    names = arm.coordinates.indices("arm.*")
    moved = names[2]
    name = arm.coordinates[moved]
    bound = (arm.q0[moved] - 0.001, arm.q0[moved] + 0.001)
    q = arm.inverse_kinematics(HAND, X, limits={name: bound}).q
    assert bound[0] <= q[moved] <= bound[1]
    others = [arm.coordinates[i] for i in names if i != moved]
    q = arm.inverse_kinematics(HAND, X, joints=others).q
    assert q[moved] == arm.q0[moved]
    with pytest.raises(KeyError, match="nearest"):
        arm.inverse_kinematics(HAND, X, joints=["arm.elbow_of_steel"])


def test_a_path_moves_the_real_thing(arm):
    goal = arm.pose(HAND, arm.q0) + [0, 0, 0, 0, 0.0, 0.1, 0.05]
    path = arm.line(HAND, goal, steps=30)
    assert (path.q[0] == arm.q0).all()
    assert (path.u == arm.commanded(path.q)).all()
    along = arm.pose(HAND, path.q)
    assert np.allclose(along[:, 4:], np.linspace(along[0, 4:], goal[4:], 31), rtol=0, atol=2e-6)
    with pytest.raises(qs.NotReachedError) as caught:
        arm.line(HAND, along[0, 4:] + [0, 3, 0], steps=30)
    error = caught.value
    assert 0 < error.point < 30 and f"point {error.point} of 31" in str(error)
    assert error.frame == "arm/iiwa_link_7" and len(error.q) == arm.n_q
