"""Linear complementarity systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from .names import Names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from ._types import Array

PARTS = ("A", "B", "C", "D", "E", "f", "a")


class LcsContact(NamedTuple):
    """Entries of gamma that make one contact of an :class:`Lcs`.

    Parameters
    ----------
    name : str
        What touches what.
    normal : int
        Entry of the normal impulse; its row is the gap.
    tangents : tuple of int
        Entries of the tangential impulses; none without friction.
    slip : int or None
        Entry of the slip speed.

    Examples
    --------
    >>> lcs = qs.load("scenes/point_robot.yml").mpc().models[0]
    >>> lcs.contacts[1].name
    'floor on robot'
    """

    name: str
    normal: int
    tangents: tuple[int, ...]
    slip: int | None


class Lcs:
    r"""A linear complementarity system, MpcNote (7) and (9).

    .. math:: x^+ = A x + B u + C \gamma + f, \qquad
       0 \le \gamma \perp D x^+ + E \gamma + a \ge 0

    Immutable. Units are the caller's; those of :meth:`System.lcs` are m, m/s and N·s.

    Parameters
    ----------
    A : array_like, shape (n_x, n_x)
    B : array_like, shape (n_x, n_u)
    C : array_like, shape (n_x, n_gamma)
    D : array_like, shape (n_gamma, n_x)
        On the state at the end of the step.
    E : array_like, shape (n_gamma, n_gamma)
    f : array_like, shape (n_x,)
    a : array_like, shape (n_gamma,)
    states, inputs, gammas : sequence of str, optional
        Names; numbered by default.
    contacts : sequence of LcsContact, optional
        Which entries of gamma belong together; by default Coulomb contacts in the plane are recognised by
        their numbers, MpcNote (9).

    Raises
    ------
    ProblemError
        A matrix of the wrong shape, or a number that is not finite.

    Examples
    --------
    A cart with a wall at x = 0, pushed with a force u: ``x⁺ = x + h v⁺``, ``v⁺ = v + h u + gamma``.

    >>> h = 0.1
    >>> lcs = qs.Lcs(A=[[1, h], [0, 1]], B=[[h * h], [h]], C=[[h], [1]], D=[[1, 0]], E=[[0]], f=[0, 0], a=[0])
    >>> lcs
    Lcs(2 states, 1 inputs, 1 impulses)
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike,
        D: ArrayLike,
        E: ArrayLike,
        f: ArrayLike,
        a: ArrayLike,
        *,
        states: Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
        gammas: Sequence[str] | None = None,
        contacts: Sequence[LcsContact] | None = None,
    ) -> None:
        self.f: Array = frozen(f)
        self.a: Array = frozen(a)
        if self.f.ndim != 1 or self.a.ndim != 1:
            raise misfit("`f` and `a` must be vectors")
        self.B: Array = frozen(B)
        n, g, m = len(self.f), len(self.a), self.B.shape[-1] if self.B.ndim == 2 else 0
        self.A: Array = frozen(A)
        self.C: Array = frozen(C)
        self.D: Array = frozen(D)
        self.E: Array = frozen(E)
        shapes = {"A": (n, n), "B": (n, m), "C": (n, g), "D": (g, n), "E": (g, g)}
        for name, want in shapes.items():
            got = getattr(self, name).shape
            if got != want:
                raise misfit(f"`{name}` has shape {got}; beside `f` of {n} and `a` of {g} entries it must have {want}")
        found = _core.coulomb_contacts([getattr(self, part) for part in PARTS])
        self.states = _names("x", n, states)
        self.inputs = _names("u", m, inputs)
        self.gammas = _names("gamma", g, gammas)
        if contacts is None:
            contacts = [
                LcsContact(self.gammas[e[0]], e[0], (e[1], e[2]), e[3]) for e, _ in found
            ]
        self.contacts: tuple[LcsContact, ...] = tuple(contacts)

    @property
    def n_x(self) -> int:
        """Entries of the state."""
        return len(self.f)

    @property
    def n_u(self) -> int:
        """Entries of the input."""
        n_u: int = self.B.shape[1]
        return n_u

    @property
    def n_gamma(self) -> int:
        """Complementarity pairs."""
        return len(self.a)

    def residual(self, x_next: ArrayLike, gamma: ArrayLike) -> float:
        """How far a step is from complementarity: the largest abs(min(gamma, row)).

        Parameters
        ----------
        x_next : array_like, shape (n_x,)
            State at the end of the step.
        gamma : array_like, shape (n_gamma,)

        Returns
        -------
        float

        Examples
        --------
        >>> mpc = qs.load("scenes/point_robot.yml").mpc()
        >>> plan = mpc.plan()
        >>> mpc.models[0].residual(plan.states[1], plan.impulses[0]) < 1e-9
        True
        """
        g = np.asarray(gamma, dtype=float)
        row = self.D @ np.asarray(x_next, dtype=float) + self.E @ g + self.a
        return float(np.abs(np.minimum(g, row)).max(initial=0.0))

    def __reduce__(self) -> tuple[Any, ...]:
        names = (self.states, self.inputs, self.gammas, self.contacts)
        return _rebuild_lcs, (tuple(getattr(self, part) for part in PARTS), names)

    def __repr__(self) -> str:
        return f"Lcs({self.n_x} states, {self.n_u} inputs, {self.n_gamma} impulses)"


def _rebuild_lcs(parts: tuple[Array, ...], names: tuple[Any, ...]) -> Lcs:
    states, inputs, gammas, contacts = names
    return Lcs(*parts, states=states, inputs=inputs, gammas=gammas, contacts=contacts)


def misfit(sentence: str) -> Exception:
    from .errors import ProblemError

    return ProblemError(sentence)


def frozen(values: ArrayLike) -> Array:
    """A copy that nobody can write to."""
    array = np.array(values, dtype=float, order="C")
    array.flags.writeable = False
    return array


def _names(letter: str, n: int, names: Sequence[str] | None) -> Names:
    if names is None:
        return Names(f"{letter}{i + 1}" for i in range(n))
    if len(names) != n:
        raise misfit(f"there are {len(names)} names for {n} entries of {letter}")
    return Names(names)
