"""Steps as functions of JAX and PyTorch. JAX is part of the tests' own dependencies; PyTorch is not, for its
wheel on PyPI brings gigabytes of CUDA: `pytest -m torch` runs its part where it is installed."""

import numpy as np
import pytest

import quasistep as qs
from quasistep._bridge import StepFunction


@pytest.fixture(scope="module")
def pushed(push):
    run = push.simulate(duration=2.0)
    return run.q[-1], push.commanded(run.q[-1]) + [0.012, 0.004]


def test_gradient_by_coordinates_is_a_difference(push, pushed):
    """Of a weighted sum of next coordinates, along changes that keep quaternions unit."""
    q, u = pushed
    f = StepFunction(push, "exact", {"h": None, "t": 0.0, "params": None})
    g = np.random.default_rng(0).standard_normal(push.n_q)
    by_q, by_u = f.backward(q, u, g)
    dq = np.random.default_rng(1).standard_normal(push.n_v)
    dq[push.dofs.indices(["box.wx", "box.wy", "box.vz"])] = 0
    du, eps = np.array([0.3, -0.7]), 1e-5
    ends = [g @ f.forward(push.integrate(q, dq, s * eps), u + s * eps * du) for s in (1, -1)]
    want = (ends[0] - ends[1]) / (2 * eps)
    got = by_q @ (push.coordinate_matrix(q) @ dq) + by_u @ du
    np.testing.assert_allclose(got, want, rtol=1e-6)
    # no part along the quaternion's length
    assert abs(by_q[2:6] @ q[2:6]) < 1e-12


def test_leading_dimensions_are_samples_and_are_summed_where_shared(push, pushed):
    q, u = pushed
    f = StepFunction(push, "exact", {"h": None, "t": 0.0, "params": None})
    U = u + 0.002 * np.random.default_rng(2).standard_normal((3, 2, 2))
    q_next = f.forward(q, U)
    assert q_next.shape == (3, 2, push.n_q)
    by_q, by_u = f.backward(q, U, np.ones_like(q_next))
    each = [f.backward(q, row, np.ones(push.n_q)) for row in U.reshape(6, 2)]
    np.testing.assert_allclose(by_q, sum(one for one, _ in each), rtol=1e-12)
    np.testing.assert_allclose(by_u.reshape(6, 2), [one for _, one in each], rtol=1e-12)


def test_a_sample_that_fails_is_an_error(push, pushed):
    f = StepFunction(push, "exact", {"h": None, "t": 0.0, "params": None})
    with pytest.raises(qs.InputError):
        f.forward(pushed[0], np.array([[0.0, 0.0], [np.nan, 0.0]]))


class TestJax:
    @pytest.fixture(autouse=True)
    def double(self):
        import jax

        jax.config.update("jax_enable_x64", True)

    @pytest.mark.parametrize("mode", ["exact", qs.Smooth(1e-3)])
    def test_gradient_through_a_rollout(self, push, pushed, mode):
        import jax
        import jax.numpy as jnp

        from quasistep.jax import step

        q0, u0 = pushed
        box = push.coordinates.index("box.x")

        def end(U):
            q, _ = jax.lax.scan(lambda q, u: (step(push, q, u, mode=mode), None), jnp.array(q0), U)
            return q[box]

        U = u0 + np.linspace(0, 0.02, 4)[:, None] * [1, 0]
        value, gradient = jax.jit(jax.value_and_grad(end))(U)
        plain = jnp.array(q0)
        for u in U:
            plain = push.derivatives(plain, u, mode=mode).q_next
        np.testing.assert_allclose(value, plain[box], atol=1e-9)
        eps = 1e-5
        for k in (0, 3):
            moved = [U + s * eps * np.eye(8)[2 * k].reshape(4, 2) for s in (1, -1)]
            want = (end(moved[0]) - end(moved[1])) / (2 * eps)
            np.testing.assert_allclose(gradient[k, 0], want, atol=1e-6)

    @pytest.mark.parametrize("mode", ["exact", qs.Smooth(1e-3)])
    def test_hessian_is_a_difference_of_gradients(self, push, pushed, mode):
        import jax
        import jax.numpy as jnp

        from quasistep.jax import step

        q, u = pushed
        box = push.coordinates.index("box.x")

        def cost(u):
            return (step(push, jnp.array(q), u, mode=mode)[box] - 0.1) ** 2 + jnp.sum(u**2)

        hessian = jax.hessian(cost)(jnp.array(u))
        assert hessian.shape == (2, 2)
        eps = 1e-4
        slope = jax.grad(cost)
        want = [(slope(u + eps * e) - slope(u - eps * e)) / (2 * eps) for e in np.eye(2)]
        np.testing.assert_allclose(hessian, want, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(hessian, hessian.T, atol=1e-6)

    def test_gradient_through_a_rollout_with_momentum(self, push, pushed):
        import jax
        import jax.numpy as jnp

        from quasistep.jax import step

        q0, u0 = pushed
        # feet that slide with exact friction share the weight as they like
        options = {"h": 0.005, "params": push.params.replace(motion="dynamic", friction="convex")}
        box = push.coordinates.index("box.x")

        def end(v0, U):
            (q, v), _ = jax.lax.scan(lambda x, u: (step(push, x[0], u, velocity=x[1], **options), None), (jnp.array(q0), v0), U)
            return q[box] + 0.1 * v[slides]

        slides = push.dofs.index("box.vx")
        v0 = jnp.zeros(push.n_v).at[slides].set(0.3)
        U = jnp.array(np.tile(u0, (5, 1)))
        by_v, by_u = jax.jit(jax.grad(end, (0, 1)))(v0, U)
        eps = 1e-5
        ends = [end(v0.at[slides].add(s * eps), U) for s in (1, -1)]
        np.testing.assert_allclose(by_v[slides], (ends[0] - ends[1]) / (2 * eps), rtol=1e-5, atol=1e-9)
        ends = [end(v0, U.at[2, 0].add(s * eps)) for s in (1, -1)]
        np.testing.assert_allclose(by_u[2, 0], (ends[0] - ends[1]) / (2 * eps), rtol=1e-5, atol=1e-9)
        assert by_v[slides] > 0 and by_u[2, 0] > 0

    def test_vmap_is_a_batch(self, push, pushed):
        import jax
        import jax.numpy as jnp

        from quasistep.jax import step

        q, u = pushed
        U = jnp.array(u + 0.002 * np.arange(5)[:, None])
        rows = jax.vmap(lambda u: step(push, jnp.array(q), u))(U)
        np.testing.assert_array_equal(rows, push.step_batch(q, np.array(U)))
        slopes = jax.vmap(jax.grad(lambda u: step(push, jnp.array(q), u)[-3]))(U)
        assert slopes.shape == (5, 2) and bool(jnp.isfinite(slopes).all())


@pytest.mark.torch
class TestTorch:
    def test_gradient_through_a_rollout(self, push, pushed):
        import torch

        from quasistep.torch import step

        q0, u0 = (torch.tensor(x, dtype=torch.float64) for x in pushed)
        u0 = u0 + 0.002 * torch.arange(3, dtype=torch.float64)[:, None]
        u0.requires_grad_(True)
        q = step(push, step(push, q0, u0), u0 + 0.005)
        assert q.shape == (3, push.n_q)
        q[:, push.coordinates.index("box.x")].sum().backward()
        eps = 1e-5
        with torch.no_grad():
            def end(u):
                return step(push, step(push, q0, u), u + 0.005)[:, push.coordinates.index("box.x")].sum()

            du = torch.zeros_like(u0)
            du[1, 0] = 1
            want = (end(u0 + eps * du) - end(u0 - eps * du)) / (2 * eps)
        np.testing.assert_allclose(u0.grad[1, 0], want, atol=1e-6)

    def test_gradcheck_with_momentum(self, push, pushed):
        import torch

        from quasistep.torch import step

        options = {"h": 0.005, "params": push.params.replace(motion="dynamic", friction="convex")}
        q, u = (torch.tensor(x, dtype=torch.float64) for x in pushed)
        v = torch.zeros(push.n_v, dtype=torch.float64)
        v[push.dofs.index("box.vx")] = 0.3
        v.requires_grad_(True)
        u.requires_grad_(True)
        def taken(u, v):
            return step(push, q, u, velocity=v, **options)

        assert torch.autograd.gradcheck(taken, (u, v), eps=1e-6, atol=1e-5)

    def test_gradcheck_of_commands(self, push, pushed):
        import torch

        from quasistep.torch import step

        q, u = (torch.tensor(x, dtype=torch.float64) for x in pushed)
        u.requires_grad_(True)
        assert torch.autograd.gradcheck(lambda u: step(push, q, u), (u,), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_a_framework_that_is_not_there_says_what_to_install(push, pushed, name, monkeypatch):
    import sys

    monkeypatch.setattr(qs.torch, "_step", None)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"pip install {name}"):
        getattr(qs, name).step(push, *pushed)
