"""One step as a function with a gradient, for frameworks of automatic differentiation: numpy in and out.

Gradients are by coordinates. A change that leaves a quaternion's unit sphere has no meaning to a step: gradients
have no part along it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._types import Array
    from .system import System


# m or rad: the cube root of rounding, where a central difference is most exact
DIFFERENCE = 1e-5


class StepFunction:
    """``q_next = f(q, u)`` of one system, with leading dimensions for samples, and its gradient."""

    def __init__(self, system: System, mode: Any, options: dict[str, Any]) -> None:
        self.system, self.mode, self.options = system, mode, options

    def forward(self, q: Array, u: Array) -> Array:
        """Next configurations, shape (..., n_q)."""
        Q, U, shape = self._rows(q, u)
        if self.mode == "exact":
            options = {k: v for k, v in self.options.items() if v is not None}
            q_next, report = self.system.step_batch(Q, U, report=True, **options)
            errors = report.errors
        else:
            weights = np.zeros((len(Q), self.system.n_v))
            out = self.system.derivatives_batch(
                Q, U, mode=self.mode, weights=weights, **self.options
            )
            q_next, errors = out.q_next, out.errors
        _raise_first(errors)
        result: Array = q_next.reshape(*shape, self.system.n_q)
        return result

    def backward(self, q: Array, u: Array, g: Array) -> tuple[Array, Array]:
        """Gradients by ``q`` and ``u``, shaped as they are, of weights ``g`` on ``q_next``."""
        system = self.system
        Q, U, shape = self._rows(q, u)
        g = np.broadcast_to(g, (*shape, system.n_q)).reshape(-1, system.n_q)
        Q_next = self.forward(Q, U)
        pairs = zip(Q_next, g, strict=True)
        weights = np.array([system.coordinate_matrix(a).T @ b for a, b in pairs])
        out = system.derivatives_batch(
            Q, U, mode=self.mode, weights=weights.reshape(len(Q), system.n_v), **self.options
        )
        _raise_first(out.errors)
        by_q: Array = np.array(
            [_by_coordinates(system.coordinate_matrix(a), b) for a, b in zip(Q, out.by_q, strict=True)]
        ).reshape(*shape, system.n_q)
        by_u: Array = np.array(
            [_by_coordinates(system.command_matrix(a), b) for a, b in zip(U, out.by_u, strict=True)]
        ).reshape(*shape, system.n_u)
        return _sum_to(by_q, np.shape(q)), _sum_to(by_u, np.shape(u))

    def forward_change(self, q: Array, u: Array, dq: Array, du: Array) -> Array:
        """Change of ``q_next`` with ``q`` and ``u``, shape (..., n_q)."""
        system = self.system
        Q, U, shape = self._rows(q, u)
        dQ, dU, _ = self._rows(np.broadcast_to(dq, np.shape(q)), np.broadcast_to(du, np.shape(u)), shape)
        out = system.derivatives_batch(Q, U, mode=self.mode, **self.options)
        _raise_first(out.errors)
        rows = []
        for k in range(len(Q)):
            by_dofs = out.by_q[k] @ _by_dofs(system.coordinate_matrix(Q[k]), dQ[k])
            by_dofs += out.by_u[k] @ _by_dofs(system.command_matrix(U[k]), dU[k])
            rows.append(system.coordinate_matrix(out.q_next[k]) @ by_dofs)
        result: Array = np.array(rows).reshape(*shape, system.n_q)
        return result

    def backward_change(
        self, q: Array, u: Array, g: Array, dq: Array, du: Array, dg: Array
    ) -> tuple[Array, Array]:
        """Change of :meth:`backward` with its arguments: second derivatives as central differences of first ones."""
        system = self.system
        shape = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], g.shape[:-1], dq.shape[:-1], du.shape[:-1])
        Q, U, _ = self._rows(q, u, shape)
        dQ, dU, _ = self._rows(dq, du, shape)
        g = np.broadcast_to(g, (*shape, system.n_q)).reshape(-1, system.n_q)
        dg = np.broadcast_to(dg, (*shape, system.n_q)).reshape(-1, system.n_q)
        dofs = np.array([_by_dofs(system.coordinate_matrix(a), b) for a, b in zip(Q, dQ, strict=True)])
        dofs = dofs.reshape(len(Q), system.n_v)
        size = np.maximum(abs(dofs).max(axis=1, initial=0), abs(dU).max(axis=1, initial=0))
        eps = DIFFERENCE / np.where(size > 0, size, 1.0)
        ends = []
        for s in (1.0, -1.0):
            moves = zip(Q, dofs, eps, strict=True)
            moved = np.array([system.integrate(a, b, s * e) for a, b, e in moves]).reshape(Q.shape)
            ends.append(self.backward(moved, U + s * eps[:, None] * dU, g))
        own = self.backward(Q, U, dg)
        changes = [
            ((plus - minus) / (2 * eps[:, None]) + linear).reshape(*shape, plus.shape[-1])
            for plus, minus, linear in zip(*ends, own, strict=True)
        ]
        return changes[0], changes[1]

    def _rows(
        self, q: Array, u: Array, shape: tuple[int, ...] | None = None
    ) -> tuple[Array, Array, tuple[int, ...]]:
        q, u = np.asarray(q, dtype=float), np.asarray(u, dtype=float)
        shape = np.broadcast_shapes(q.shape[:-1], u.shape[:-1]) if shape is None else shape
        Q = np.broadcast_to(q, (*shape, self.system.n_q)).reshape(-1, self.system.n_q)
        U = np.broadcast_to(u, (*shape, self.system.n_u)).reshape(-1, self.system.n_u)
        return Q, U, shape


def _by_coordinates(G: Array, by_dofs: Array) -> Array:
    """The gradient by coordinates that has no part along a quaternion's length: ``pinv(G).T @ by_dofs``."""
    # columns of G are orthogonal
    result: Array = G @ (by_dofs / (G * G).sum(axis=0))
    return result


def _by_dofs(G: Array, change: Array) -> Array:
    """The change of dofs that makes one of coordinates: ``pinv(G) @ change``."""
    result: Array = (G.T @ change) / (G * G).sum(axis=0)
    return result


def _sum_to(gradient: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of what was broadcast from this shape."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
    summed: Array = gradient.sum(axis=stretched, keepdims=True)
    return summed


def _raise_first(errors: Mapping[int, Exception]) -> None:
    if errors:
        raise next(iter(errors.values()))
