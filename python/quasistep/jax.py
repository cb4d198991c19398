"""Steps for JAX: ``from quasistep.jax import step``.

Call ``jax.config.update("jax_enable_x64", True)`` first: in single precision a step's answer is rounded to
micrometres.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._bridge import StepFunction

if TYPE_CHECKING:
    from ._core import StepParams
    from .derivatives import Smooth
    from .system import System

__all__ = ["step"]


def step(
    system: System,
    q: Any,
    u: Any,
    *,
    mode: str | Smooth = "exact",
    h: float | None = None,
    t: float = 0.0,
    params: StepParams | None = None,
    velocity: Any = None,
) -> Any:
    """One step as a differentiable function of JAX arrays: under ``grad``, ``jacrev``, ``hessian``, ``jit``, ``vmap``, ``scan``.

    First derivatives are the step's own; second ones (``jax.hessian``) are central differences of them, good to
    some 1e-6 where no contact changes its mode. Forward mode alone (``jacfwd``) is not there: use ``jacrev``.

    Parameters
    ----------
    system : System
    q : array, shape (..., n_q)
    u : array, shape (..., n_u)
        Leading dimensions are samples, computed on all cores.
    mode : "exact" or Smooth
        Whose derivatives: :meth:`System.derivatives`.
    h, t, params
        As for :meth:`System.step`.
    velocity : array, shape (..., n_v), optional
        At the start, of a formulation that carries it over (``motion: dynamic``); rest by default.

    Returns
    -------
    array, shape (..., n_q)
        With ``velocity`` a pair: this, and the velocity at the end, shape (..., n_v).
        Of the dtype of ``q``; computed in double precision on the CPU.

    Raises
    ------
    ImportError
        JAX is not installed.
    StepError, DerivativeError
        Of the first sample that has no step or no derivative; JAX wraps it.

    Examples
    --------
    >>> import jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> system = qs.load("scenes/pinch.yml")
    >>> slope = jax.grad(lambda u: qs.jax.step(system, system.q0, u)[2])
    >>> slope(np.array([-0.028, 0.028])).shape
    (2,)
    """
    try:
        import jax
    except ImportError as error:
        raise ImportError("quasistep.jax needs JAX: pip install jax") from error

    moving = velocity is not None
    function = StepFunction(system, mode, {"h": h, "t": t, "params": params}, moving)

    def call(what: Any, shapes: Any, *arrays: Any) -> Any:
        return jax.pure_callback(what, shapes, *arrays, vmap_method="broadcast_all")

    def like(shape: Any, dtype: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call, unused-ignore]

    def forward(q: Any, u: Any) -> Any:
        return function.forward(q, u).astype(q.dtype)

    def backward(q: Any, u: Any, g: Any) -> Any:
        by_q, by_u = function.backward(q, u, g)
        return by_q.astype(q.dtype), by_u.astype(u.dtype)

    @jax.custom_jvp
    def taken(q: Any, u: Any) -> Any:
        shape = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
        return call(forward, like((*shape, q.shape[-1]), q.dtype), q, u)

    @taken.defjvp
    def taken_jvp(at: Any, by: Any) -> Any:
        def change(q: Any, u: Any, dq: Any, du: Any) -> Any:
            return function.forward_change(q, u, dq, du).astype(q.dtype)

        q_next = taken(*at)
        return q_next, call(change, like(q_next.shape, q_next.dtype), *at, *by)

    @jax.custom_jvp
    def gradient(q: Any, u: Any, g: Any) -> Any:
        return call(backward, (like(q.shape, q.dtype), like(u.shape, u.dtype)), q, u, g)

    @gradient.defjvp
    def gradient_jvp(at: Any, by: Any) -> Any:
        def change(*arrays: Any) -> Any:
            by_q, by_u = function.backward_change(*(np.asarray(x, dtype=float) for x in arrays))
            return by_q.astype(arrays[0].dtype), by_u.astype(arrays[1].dtype)

        q, u, _ = at
        return gradient(*at), call(change, (like(q.shape, q.dtype), like(u.shape, u.dtype)), *at, *by)

    @jax.custom_vjp
    def one(q: Any, u: Any) -> Any:
        return taken(q, u)

    def one_forward(q: Any, u: Any) -> Any:
        return taken(q, u), (q, u)

    def one_backward(kept: Any, g: Any) -> Any:
        return gradient(*kept, g)

    one.defvjp(one_forward, one_backward)
    q, u = jax.numpy.asarray(q), jax.numpy.asarray(u)
    if not moving:
        return one(q, u)
    velocity = jax.numpy.asarray(velocity)
    shape = np.broadcast_shapes(q.shape[:-1], velocity.shape[:-1])
    parts = [jax.numpy.broadcast_to(x, (*shape, x.shape[-1])) for x in (q, velocity)]
    x_next = one(jax.numpy.concatenate(parts, axis=-1), u)
    return x_next[..., : system.n_q], x_next[..., system.n_q :]
