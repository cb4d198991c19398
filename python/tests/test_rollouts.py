"""Rollouts with the matrices of their steps."""

import numpy as np
import pytest

import quasistep as qs

T = 5


@pytest.fixture(scope="module")
def push() -> qs.System:
    return qs.load("scenes/planar_push.yml", set={"step.size": 0.1})


def commands(system: qs.System, n: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    steps = rng.uniform(0, 0.01, (n, T, 1)) * [1.0, 0.2]
    return system.commanded(system.q0) + np.cumsum(steps, axis=1)


@pytest.mark.parametrize("mode", ["exact", qs.Smooth(1e-4)])
def test_matrices_chain_the_steps(push, mode) -> None:
    U = commands(push, 3)
    runs = push.rollouts(U, mode=mode, parameters={"models.box.mass": 0.8}, contacts=True, threads=1)
    assert runs.q.shape == (3, T, push.n_q) and runs.by_parameters.shape == (3, T, push.n_v, 1)
    assert not runs.errors and not runs.overlaps and list(runs.n_steps) == [T] * 3
    again = push.rollouts(U, mode=mode, parameters={"models.box.mass": 0.8}, threads=2)
    assert np.array_equal(runs.q, again.q) and np.array_equal(runs.by_x, again.by_x)
    # of each step by itself
    d = push.derivatives(runs.q[1, 2], U[1, 3], mode=mode)
    np.testing.assert_allclose(runs.by_x[1, 3], d.matrix("q_next", "q"), atol=1e-8)
    np.testing.assert_allclose(runs.by_u[1, 3], d.matrix("q_next", "u"), atol=1e-8)
    # a gradient is the chain backwards
    w = np.random.default_rng(1).normal(size=(3, T, push.n_v))
    g = runs.gradients(w)
    lam = np.zeros((3, push.n_v))
    for k in reversed(range(T)):
        lam += w[:, k]
        np.testing.assert_allclose(g.u[:, k], np.einsum("nij,ni->nj", runs.by_u[:, k], lam), atol=1e-12)
        if k == 0:
            break
        lam = np.einsum("nij,ni->nj", runs.by_x[:, k], lam)
    np.testing.assert_allclose(g.x0, np.einsum("nij,ni->nj", runs.by_x[:, 0], lam), atol=1e-12)
    # by the mass, against whole rollouts
    less, more = (push.with_({"models.box.mass": m}).rollouts(U, mode=mode, matrices=False).q for m in (0.799, 0.801))
    x = push.coordinates.index("box.x")
    want = (more[:, -1, x] - less[:, -1, x]) / 0.002
    w = np.zeros_like(w)
    w[:, -1, push.dofs.index("box.vx")] = 1
    np.testing.assert_allclose(runs.gradients(w).parameters[:, 0], want, rtol=1e-3, atol=1e-7)
    last = runs.contacts[(runs.contacts["sample"] == 2) & (runs.contacts["step"] == T - 1)]
    below = np.abs(last["n"][:, 2]) > 0.5
    assert last["fn"][below].sum() == pytest.approx(0.8 * 9.81, rel=0.05 if mode != "exact" else 1e-6)


def test_velocity_is_part_of_the_state() -> None:
    system = qs.load("scenes/planar_push.yml", set={"step.size": 0.01, "step.motion": "dynamic"})
    U = system.commanded(system.q0) + np.zeros((1, 3, 1))
    runs = system.rollouts(U)
    assert runs.by_x.shape == (1, 3, 2 * system.n_v, 2 * system.n_v)
    d = system.derivatives(system.q0, U[0, 0])
    np.testing.assert_allclose(runs.by_x[0, 0, : system.n_v, system.n_v :], d.matrix("q_next", "velocity"), atol=1e-8)
    np.testing.assert_allclose(runs.by_x[0, 0, system.n_v :, : system.n_v], d.matrix("v", "q"), atol=1e-6)


def test_rollouts_that_tunnel_and_mistakes(push) -> None:
    far = push.commanded(push.q0) + [[0.5, 0.0]]
    blind = push.with_({"step.contact_margin": 1e-3})
    runs = blind.rollouts(far, mode=qs.Smooth(1e-6), matrices=False)
    step, a, b, phi = runs.overlaps[0]
    assert step == 0 and phi < 0 and {a.split("/")[0], b.split("/")[0]} == {"finger", "box"}
    with pytest.raises(ValueError, match="no matrices"):
        runs.gradients(np.zeros((1, 1, push.n_v)))
    with pytest.raises(ValueError, match=r"`U` has shape \(2, 3, 4\)"):
        push.rollouts(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"no derivative by `step\.size`"):
        push.rollouts(far, parameters={"step.size": 0.1})
    with pytest.raises(qs.DerivativeError, match="midpoint"):
        push.with_({"step.integration": "midpoint"}).rollouts(far)
