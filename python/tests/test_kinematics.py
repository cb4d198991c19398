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
