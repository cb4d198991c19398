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


def turning(arm, rng, rows):
    """Velocities that turn free bodies by up to about 100 degrees in 1 s."""
    return rng.standard_normal((rows, arm.n_v))


def test_configurations_in_rows_have_the_bits_of_single_ones(arm):
    rng = np.random.default_rng(2)
    q0 = arm.integrate(arm.q0, turning(arm, rng, 6), 0.4).reshape(2, 3, arm.n_q)
    v = turning(arm, rng, 6).reshape(2, 3, arm.n_v)
    q1 = arm.integrate(q0, v, 0.7)
    assert q1.shape == q0.shape and arm.difference(q0, q1).shape == v.shape
    np.testing.assert_allclose(arm.difference(q0, q1), 0.7 * v, rtol=0, atol=1e-12)
    assert (q1[1, 2] == arm.integrate(q0[1, 2], v[1, 2], 0.7)).all()
    assert (arm.difference(q0, q1)[1, 2] == arm.difference(q0[1, 2], q1[1, 2])).all()
    # one row of either stands for all of the other
    assert (arm.difference(arm.q0, q1)[0, 1] == arm.difference(arm.q0, q1[0, 1])).all()
    np.testing.assert_allclose(arm.difference(q1, arm.q0), -arm.difference(arm.q0, q1), rtol=0, atol=1e-14)
    assert (arm.integrate(arm.q0, v)[1, 0] == arm.integrate(arm.q0, v[1, 0])).all()
    assert (arm.integrate(q0, v[0, 0])[1, 1] == arm.integrate(q0[1, 1], v[0, 0])).all()
    for one, all_rows in zip(arm.difference_jacobians(q0[0, 2], q1[0, 2]), arm.difference_jacobians(q0, q1), strict=True):
        assert all_rows.shape == (2, 3, arm.n_v, arm.n_v) and (all_rows[0, 2] == one).all()
    for one, all_rows in zip(arm.integrate_jacobians(arm.q0, v[0, 2], 0.3), arm.integrate_jacobians(arm.q0, v, 0.3), strict=True):
        assert all_rows.shape == (2, 3, arm.n_v, arm.n_v) and (all_rows[0, 2] == one).all()
    assert (arm.coordinate_matrix(q0)[1, 1] == arm.coordinate_matrix(q0[1, 1])).all()
    angle, gradient = arm.yaw("arm/iiwa_link_3", q0)
    assert angle.shape == (2, 3) and gradient.shape == (2, 3, arm.n_v)
    assert (gradient[1, 0] == arm.yaw("arm/iiwa_link_3", q0[1, 0])[1]).all()
    none = np.zeros((0, arm.n_q))
    assert arm.difference(arm.q0, none).shape == (0, arm.n_v)
    assert arm.difference_jacobians(none, arm.q0)[1].shape == (0, arm.n_v, arm.n_v)


def test_jacobians_of_configurations_are_differences(arm):
    rng = np.random.default_rng(3)
    q0 = arm.integrate(arm.q0, turning(arm, rng, 1)[0], 0.5)
    v, change = turning(arm, rng, 2)
    q1 = arm.integrate(q0, v)

    def central(f, eps=1e-5):
        return (f(eps) - f(-eps)) / (2 * eps)

    by_q0, by_q1 = arm.difference_jacobians(q0, q1)
    want = central(lambda s: arm.difference(q0, arm.integrate(q1, change, s)))
    np.testing.assert_allclose(by_q1 @ change, want, atol=1e-8)
    want = central(lambda s: arm.difference(arm.integrate(q0, change, s), q1))
    np.testing.assert_allclose(by_q0 @ change, want, atol=1e-8)
    # a radian off, the identity is wrong by much: the logarithm counts
    assert np.abs(by_q1 @ change - change).max() > 0.1
    by_q, by_v = arm.integrate_jacobians(q0, v, 0.3)
    end = arm.integrate(q0, v, 0.3)
    want = central(lambda s: arm.difference(end, arm.integrate(arm.integrate(q0, change, s), v, 0.3)))
    np.testing.assert_allclose(by_q @ change, want, atol=1e-8)
    want = central(lambda s: arm.difference(end, arm.integrate(q0, v + s * change, 0.3)))
    np.testing.assert_allclose(by_v @ change, want, atol=1e-8)
    for axis in ((0, 0, 1), (1, -2, 0.5)):
        _, gradient = arm.yaw(HAND, q0, axis=axis)
        want = central(lambda s, axis=axis: arm.yaw(HAND, arm.integrate(q0, change, s), axis=axis)[0])
        np.testing.assert_allclose(gradient @ change, want, atol=1e-8)


def test_yaw_is_what_a_turntable_adds(push):
    """A box, tilted or not, on a table that turns: its yaw is the turn of the table."""
    names = push.dofs.indices(["box.wx", "box.wy", "box.wz"])
    tilt, turn = np.zeros(push.n_v), np.zeros((50, push.n_v))
    turn[:, names[2]] = np.linspace(-3.1, 3.1, 50)
    tilt[names[:2]] = 0.4, -0.3
    for start in (push.q0, push.integrate(push.q0, tilt)):
        yaw, _ = push.yaw("box", push.integrate(start, turn))
        np.testing.assert_allclose(yaw, turn[:, names[2]], atol=1e-12)
    over = np.zeros(push.n_v)
    over[names[0]] = np.pi
    assert np.isnan(push.yaw("box", push.integrate(push.q0, over))[0])


def test_rows_that_do_not_fit_are_told(push):
    Q = np.tile(push.q0, (3, 1))
    with pytest.raises(ValueError, match=r"`q0` has shape \(3, 9\), `q1` \(2, 9\); give as many rows"):
        push.difference(Q, Q[:2])
    with pytest.raises(ValueError, match=r"`v` has shape \(9,\); this system wants \(\.\.\., 8\)"):
        push.integrate(push.q0, push.q0)
    with pytest.raises(ValueError, match=r"`axis` is \[0.0, 0.0, 0.0\]; it must be finite and not zero"):
        push.yaw("box", push.q0, axis=(0, 0, 0))
    Q[1, 2:6] = 0
    with pytest.raises(qs.InputError, match="q1"):
        push.difference(push.q0, Q)
