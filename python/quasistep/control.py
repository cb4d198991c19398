"""Plans through contact: model-predictive control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._records import Mode
from .lcs import PARTS, Lcs, frozen, misfit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from ._types import Array
    from .lcs import LcsContact

#: N s: impulses of plans below it are rounding.
_LEAST_IMPULSE = 1e-8


class Plan:
    """A plan over a horizon of N steps.

    Attributes
    ----------
    status : str
        ``"optimal"``: proven, to the gap asked for; ``"feasible"``: keeps all constraints, and the search was cut
        short or is a local one; ``"infeasible"``: there is none, see ``conflict``; ``"unknown"``: stopped
        before one was found; ``"failed"``.
    cost, bound, gap : float
        Cost of the plan; what no plan goes below; their difference, certified. Infinite without a plan.
    states : ndarray, shape (N + 1, n_x)
        The start first. Without rows if there is no plan, like all tables.
    inputs : ndarray, shape (N, n_u)
        Apply the first.
    impulses : ndarray, shape (N, n_gamma)
        gamma; row k acts while input k does.
    contacts : tuple of LcsContact
        Which entries of gamma belong to which contact.
    modes : ndarray of int, shape (N, contacts)
        What each of them does in each step: a :class:`Mode`.
    nodes, qps, pivots : int
        Nodes of the search, quadratic programs in them, pivots in those.
    root, first : float
        Bound before any branching; cost of the first plan found.
    relaxed : list of (str, float)
        Soft bounds that could not be held, and by how much.
    conflict : list of str
        If infeasible: constraints that clash.

    Examples
    --------
    >>> plan = qs.load("scenes/point_robot.yml").mpc().plan()
    >>> plan                                           # MpcNote, Fig. 4: 156
    Plan('optimal', cost 155.905, gap 0)
    >>> plan.inputs.shape
    (5, 2)
    """

    def __init__(
        self, data: dict[str, Any], n_x: int, n_u: int, contacts: Sequence[LcsContact]
    ) -> None:
        self._data, self.contacts = data, tuple(contacts)
        self.status: str = data["status"]
        self.why: str = data["why"]
        self.cost: float = data["cost"]
        self.bound: float = data["bound"]
        self.gap: float = data["gap"]
        self.root: float = data["root"]
        self.first: float = data["first"]
        self.nodes: int = data["nodes"]
        self.qps: int = data["qps"]
        self.pivots: int = data["pivots"]
        self.relaxed: list[tuple[str, float]] = data["relaxed"]
        self.conflict: list[str] = data["conflict"]
        self.states: Array = data["states"].reshape(-1, n_x)
        n = max(len(self.states) - 1, 0)
        self.inputs: Array = data["inputs"].reshape(n, n_u)
        self.impulses: Array = data["impulses"].reshape(n, len(data["impulses"]) // max(n, 1))

    @property
    def modes(self) -> NDArray[np.int64]:
        """What each contact does in each step, shape (N, contacts); one with an impulse below 1e-8 N s is separate."""
        modes = np.full((len(self.inputs), len(self.contacts)), int(Mode.SEPARATE))
        for i, contact in enumerate(self.contacts):
            pushes = self.impulses[:, contact.normal] > _LEAST_IMPULSE
            modes[pushes, i] = int(Mode.STICK)
            if contact.slip is not None:
                slides = self.impulses[:, contact.slip] > _core.SLIP_SPEED_THRESHOLD
                modes[pushes & slides, i] = int(Mode.SLIDE)
        return modes

    def __bool__(self) -> bool:
        return len(self.inputs) > 0

    def __repr__(self) -> str:
        if not self:
            return f"Plan({self.status!r})"
        return f"Plan({self.status!r}, cost {self.cost:.6g}, gap {self.gap:.2g})"

    @property
    def _warm(self) -> tuple[list[list[float]], list[list[int]]]:
        return self.inputs.tolist(), [list(units) for units in self._data["units"]]


class Mpc:
    r"""Model-predictive control through contact: the plan that costs least over all contact modes.

    .. math:: \min\; (x_N - x_d)^T Q_f (x_N - x_d) + \sum_{k<N} (x_k - x_d)^T Q (x_k - x_d) + u_k^T R u_k

    subject to the :class:`Lcs` in every step and to bounds, MpcNote (10), (11), (19): globally, with a proof,
    without a big M.

    Parameters
    ----------
    models : Lcs or sequence of N Lcs
        What predicts: one for all steps, or one for each.
    horizon : int
        Number of steps N.
    goal : array_like, shape (n_x,) or (N + 1, n_x)
        Wanted state, or states.
    Q, R : array_like
        Weights of states and inputs: matrices, diagonals or numbers; symmetric, no negative curvature.
    Q_f : array_like, optional
        Weight of the last state; ``Q`` by default.
    state, input, input_rate : array_like or pair of array_like, optional
        Bounds on states 1 … N, inputs, and their changes: a size for :math:`|x_i| \le` size, or (lower, upper).
        Infinite entries are no bounds.
    soft, soft_input, soft_input_rate : float, optional
        Violations s of bounds on states, inputs, changes cost ``soft (s + s²)``; they are hard by default.
    impulse : float, optional
        Upper bound of normal impulses.
    gap : float
        Plans within this of the bound are optimal; in units of the cost.
    max_nodes : int
        Most nodes of a search; 0 for no limit.
    search : {"global", "local"}
        ``"local"`` only improves the first modes found.
    start : array_like, shape (n_x,), optional
        State at which plans start, unless :meth:`plan` gets another one.

    Raises
    ------
    ProblemError
        Something does not fit; the sentence names it.

    Examples
    --------
    A cart is to be at −1, and a wall at 0 keeps it: the plan that leans on the wall is optimal.

    >>> h = 0.1
    >>> lcs = qs.Lcs(A=[[1, h], [0, 1]], B=[[h * h], [h]], C=[[h], [1]], D=[[1, 0]], E=[[0]], f=[0, 0], a=[0])
    >>> mpc = qs.Mpc(lcs, horizon=10, goal=[-1, 0], Q=[10, 0.1], R=0.1, input=5)
    >>> plan = mpc.plan([0.2, 0.0])
    >>> plan.status, bool(plan.states[:, 0].min() > -1e-9)
    ('optimal', True)
    """

    def __init__(
        self,
        models: Lcs | Sequence[Lcs],
        *,
        horizon: int,
        goal: ArrayLike,
        Q: ArrayLike,
        R: ArrayLike,
        Q_f: ArrayLike | None = None,
        state: Any = None,
        input: Any = None,
        input_rate: Any = None,
        soft: float | None = None,
        soft_input: float | None = None,
        soft_input_rate: float | None = None,
        impulse: float | None = None,
        gap: float = 1e-9,
        max_nodes: int = 0,
        search: str = "global",
        start: ArrayLike | None = None,
    ) -> None:
        if search not in ("global", "local"):
            raise misfit(f"search is {search!r}; give 'global' or 'local'")
        self.models: tuple[Lcs, ...] = (models,) if isinstance(models, Lcs) else tuple(models)
        if not self.models:
            raise misfit("there is no model; give one Lcs, or one for every step")
        n_x, n_u = self.models[0].n_x, self.models[0].n_u
        self.horizon = horizon
        self.start: Array | None = None if start is None else frozen(start)
        self._given = {
            "horizon": horizon, "goal": goal, "Q": Q, "R": R, "Q_f": Q_f, "state": state, "input": input,
            "input_rate": input_rate, "soft": soft, "soft_input": soft_input, "soft_input_rate": soft_input_rate, "impulse": impulse, "gap": gap, "max_nodes": max_nodes,
            "search": search, "start": start,
        }  # fmt: skip
        Q_x = _weight("Q", Q, n_x)
        self._mpc = _core.Mpc(
            horizon,
            [[getattr(model, part) for part in PARTS] for model in self.models],
            Q_x,
            Q_x if Q_f is None else _weight("Q_f", Q_f, n_x),
            _weight("R", R, n_u),
            np.atleast_2d(np.asarray(goal, dtype=float)).tolist(),
            (*_limits("state", state, n_x), soft),
            (*_limits("input", input, n_u), soft_input),
            (*_limits("input_rate", input_rate, n_u), soft_input_rate),
            impulse,
            gap,
            max_nodes,
            search == "local",
        )

    def plan(
        self,
        x0: ArrayLike | None = None,
        *,
        warm: Plan | None = None,
        seconds: float | None = None,
        goal: ArrayLike | None = None,
    ) -> Plan:
        """The best plan from a state.

        Parameters
        ----------
        x0 : array_like, shape (n_x,), optional
            The state; ``start`` by default.
        warm : Plan, optional
            The plan of the step before: where the search begins, and what input was applied last.
        seconds : float, optional
            Wall time after which the search is cut short; the plan then says its gap.
        goal : array_like, shape (n_x,) or (N + 1, n_x), optional
            What is wanted in place of the problem's own goal: of a trajectory the part that is ahead.

        Returns
        -------
        Plan
            What the world says, that there is none for example, is in its ``status``.

        Raises
        ------
        ProblemError
            ``x0`` does not fit.

        Examples
        --------
        >>> mpc = qs.load("scenes/point_robot.yml").mpc()
        >>> first = mpc.plan()
        >>> second = mpc.plan(first.states[1], warm=first)
        >>> second.status
        'optimal'
        """
        wanted = None if goal is None else np.atleast_2d(np.asarray(goal, dtype=float)).tolist()
        warm_parts = None if warm is None else warm._warm
        data = self._mpc.plan(self._state(x0), warm_parts, seconds, wanted)
        lcs = self.models[0]
        return Plan(data, lcs.n_x, lcs.n_u, lcs.contacts)

    def receding_horizon(self, x0: ArrayLike | None = None, *, steps: int) -> list[Plan]:
        """Plans, applies the first input to the model itself, and plans again from where that leads.

        Parameters
        ----------
        x0 : array_like, shape (n_x,), optional
            The state; ``start`` by default.
        steps : int
            Number of plans.

        Returns
        -------
        list of Plan
            Fewer than ``steps`` if there was none to follow: the last one says why.

        Examples
        --------
        >>> mpc = qs.load("scenes/point_robot.yml").mpc()
        >>> [round(plan.cost, 3) for plan in mpc.receding_horizon(steps=3)]
        [155.905, 155.744, 155.539]
        """
        x = self._state(x0)
        plans: list[Plan] = []
        while len(plans) < steps:
            plans.append(self.plan(x, warm=plans[-1] if plans else None))
            if not plans[-1]:
                break
            x = plans[-1].states[1]
        return plans

    def export(
        self,
        x0: ArrayLike | None = None,
        *,
        format: str = "lp",
        integers: str = "sos1",
        warm: Plan | None = None,
    ) -> str:
        """The problem from a state as the text of a file for other solvers.

        Parameters
        ----------
        x0 : array_like, shape (n_x,), optional
        warm : Plan, optional
            As for :meth:`plan`.
        format : {"lp", "mps"}
        integers : {"sos1", "big_m", "indicator"}
            How complementarity is written: special ordered sets of type 1; binaries, MpcNote (11), each M found from
            the hard bounds; or binaries with indicator constraints.

        Returns
        -------
        str

        Raises
        ------
        ProblemError
            With ``"big_m"``: nothing bounds an impulse.

        Examples
        --------
        >>> text = qs.load("scenes/point_robot.yml").mpc().export(format="mps", integers="indicator")
        >>> "QUADOBJ" in text
        True
        """
        for what, value, known in (
            ("format", format, ("lp", "mps")),
            ("integers", integers, ("sos1", "big_m", "indicator")),
        ):
            if value not in known:
                raise misfit(f"{what} is {value!r}; give one of {', '.join(known)}")
        warm_parts = None if warm is None else warm._warm
        return self._mpc.export(self._state(x0), warm_parts, format == "mps", integers)

    def _state(self, x0: ArrayLike | None) -> Array:
        if x0 is None:
            if self.start is None:
                raise misfit("no state was given, and this problem has no start")
            return self.start
        return np.asarray(x0, dtype=float)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_mpc, (self.models, self._given)

    def __repr__(self) -> str:
        return f"Mpc({self.models[0]!r}, {self.horizon} steps ahead)"


def _rebuild_mpc(models: tuple[Lcs, ...], given: dict[str, Any]) -> Mpc:
    return Mpc(models, **given)


def _weight(what: str, weight: ArrayLike, n: int) -> Array:
    """A matrix from itself, its diagonal, or the number on its diagonal."""
    values = np.asarray(weight, dtype=float)
    if values.ndim < 2:
        if values.ndim == 1 and len(values) != n:
            raise misfit(f"`{what}` has {len(values)} entries; it must have {n}")
        return np.diag(np.broadcast_to(values, n))
    return values


def _limits(what: str, bounds: Any, n: int) -> tuple[Array, Array]:
    """Lower and upper bounds; empty for none."""
    if bounds is None:
        return np.empty(0), np.empty(0)
    if isinstance(bounds, tuple):
        if len(bounds) != 2:
            raise misfit(f"`{what}` is a tuple of {len(bounds)}; give (lower, upper), or a size")
        low, high = bounds
    else:
        high = np.asarray(bounds, dtype=float)
        low = -high
    try:
        return np.broadcast_to(np.asarray(low, dtype=float), n), np.broadcast_to(
            np.asarray(high, dtype=float), n
        )
    except ValueError:
        raise misfit(f"`{what}` does not fit {n} entries") from None
