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
    """``x_next = f(x, u)`` of one system, with leading dimensions for samples, and its gradient.

    The state ``x`` is q; of a ``moving`` one q and, behind it, the velocity.
    """

    def __init__(self, system: System, mode: Any, options: dict[str, Any], moving: bool = False) -> None:
        self.system, self.mode, self.options, self.moving = system, mode, options, moving
        self.n_x = system.n_q + (system.n_v if moving else 0)
        self.n_dofs = system.n_v * (2 if moving else 1)

    def forward(self, x: Array, u: Array) -> Array:
        """Next states, shape (..., n_x)."""
        X, U, shape = self._rows(x, u)
        if self.mode == "exact":
            options = {k: v for k, v in self.options.items() if v is not None}
            q_next, report = self.system.step_batch(
                X[:, : self.system.n_q], U, velocity=self._velocity(X), report=True, **options
            )
            _raise_first(report.errors)
            x_next = np.concatenate([q_next, report.v], axis=1) if self.moving else q_next
        else:
            x_next = self._derivatives(X, U, np.zeros((len(X), self.n_dofs)))[0]
        result: Array = x_next.reshape(*shape, self.n_x)
        return result

    def backward(self, x: Array, u: Array, g: Array) -> tuple[Array, Array]:
        """Gradients by ``x`` and ``u``, shaped as they are, of weights ``g`` on ``x_next``."""
        X, U, shape = self._rows(x, u)
        g = np.broadcast_to(g, (*shape, self.n_x)).reshape(-1, self.n_x)
        X_next = self.forward(X, U)
        pairs = zip(X_next, g, strict=True)
        weights = np.array([self.matrix(a).T @ b for a, b in pairs]).reshape(len(X), self.n_dofs)
        _, of_x, of_u = self._derivatives(X, U, weights)
        by_x: Array = np.array([_by_coordinates(self.matrix(a), b) for a, b in zip(X, of_x, strict=True)])
        by_u: Array = np.array(
            [_by_coordinates(self.system.command_matrix(a), b) for a, b in zip(U, of_u, strict=True)]
        )
        by_x, by_u = by_x.reshape(*shape, self.n_x), by_u.reshape(*shape, self.system.n_u)
        return _sum_to(by_x, np.shape(x)), _sum_to(by_u, np.shape(u))

    def forward_change(self, x: Array, u: Array, dx: Array, du: Array) -> Array:
        """Change of ``x_next`` with ``x`` and ``u``, shape (..., n_x)."""
        X, U, shape = self._rows(x, u)
        dX, dU, _ = self._rows(np.broadcast_to(dx, np.shape(x)), np.broadcast_to(du, np.shape(u)), shape)
        X_next, of_x, of_u = self._derivatives(X, U, None)
        rows = []
        for k in range(len(X)):
            by_dofs = of_x[k] @ _by_dofs(self.matrix(X[k]), dX[k])
            by_dofs += of_u[k] @ _by_dofs(self.system.command_matrix(U[k]), dU[k])
            rows.append(self.matrix(X_next[k]) @ by_dofs)
        result: Array = np.array(rows).reshape(*shape, self.n_x)
        return result

    def backward_change(
        self, x: Array, u: Array, g: Array, dx: Array, du: Array, dg: Array
    ) -> tuple[Array, Array]:
        """Change of :meth:`backward` with its arguments: second derivatives as central differences of first ones."""
        shape = np.broadcast_shapes(x.shape[:-1], u.shape[:-1], g.shape[:-1], dx.shape[:-1], du.shape[:-1])
        X, U, _ = self._rows(x, u, shape)
        dX, dU, _ = self._rows(dx, du, shape)
        g = np.broadcast_to(g, (*shape, self.n_x)).reshape(-1, self.n_x)
        dg = np.broadcast_to(dg, (*shape, self.n_x)).reshape(-1, self.n_x)
        dofs = np.array([_by_dofs(self.matrix(a), b) for a, b in zip(X, dX, strict=True)])
        dofs = dofs.reshape(len(X), self.n_dofs)
        size = np.maximum(abs(dofs).max(axis=1, initial=0), abs(dU).max(axis=1, initial=0))
        eps = DIFFERENCE / np.where(size > 0, size, 1.0)
        ends = []
        for s in (1.0, -1.0):
            moves = zip(X, dofs, eps, strict=True)
            moved = np.array([self._moved(a, b, s * e) for a, b, e in moves]).reshape(X.shape)
            ends.append(self.backward(moved, U + s * eps[:, None] * dU, g))
        own = self.backward(X, U, dg)
        changes = [
            ((plus - minus) / (2 * eps[:, None]) + linear).reshape(*shape, plus.shape[-1])
            for plus, minus, linear in zip(*ends, own, strict=True)
        ]
        return changes[0], changes[1]

    def matrix(self, x: Array) -> Array:
        """How coordinates of a state change with its dofs, shape (n_x, n_dofs)."""
        n_q, n_v = self.system.n_q, self.system.n_v
        G = self.system.coordinate_matrix(x[:n_q])
        if not self.moving:
            return G
        return np.block([[G, np.zeros((n_q, n_v))], [np.zeros((n_v, n_v)), np.eye(n_v)]])

    def _velocity(self, X: Array) -> Array | None:
        return X[:, self.system.n_q :] if self.moving else None

    def _moved(self, x: Array, by: Array, s: float) -> Array:
        """``x ⊕ s by``."""
        n_q, n_v = self.system.n_q, self.system.n_v
        return np.concatenate([self.system.integrate(x[:n_q], by[:n_v], s), x[n_q:] + s * by[n_v:]])

    def _derivatives(self, X: Array, U: Array, weights: Array | None) -> tuple[Array, Array, Array]:
        """Next states, and matrices or with ``weights`` gradients by states and by commands, on dofs."""
        n_v = self.system.n_v
        on_q = None if weights is None else weights[:, :n_v]
        on_v = weights[:, n_v:] if self.moving and weights is not None else None
        out = self.system.derivatives_batch(
            X[:, : self.system.n_q], U, mode=self.mode, velocity=self._velocity(X), weights=on_q, v_weights=on_v, **self.options
        )
        _raise_first(out.errors)
        if out.v_next is None or out.by_v is None or not self.moving:
            return out.q_next, out.by_q, out.by_u
        x_next = np.concatenate([out.q_next, out.v_next], axis=1)
        by_x = np.concatenate([out.by_q, out.by_v], axis=-1)
        if out.v_by_q is None or out.v_by_v is None or out.v_by_u is None:
            return x_next, by_x, out.by_u
        of_v = np.concatenate([out.v_by_q, out.v_by_v], axis=-1)
        return x_next, np.concatenate([by_x, of_v], axis=1), np.concatenate([out.by_u, out.v_by_u], axis=1)

    def _rows(
        self, x: Array, u: Array, shape: tuple[int, ...] | None = None
    ) -> tuple[Array, Array, tuple[int, ...]]:
        x, u = np.asarray(x, dtype=float), np.asarray(u, dtype=float)
        shape = np.broadcast_shapes(x.shape[:-1], u.shape[:-1]) if shape is None else shape
        X = np.broadcast_to(x, (*shape, self.n_x)).reshape(-1, self.n_x)
        U = np.broadcast_to(u, (*shape, self.system.n_u)).reshape(-1, self.system.n_u)
        return X, U, shape


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
