"""Parameters from recorded motions: least squares over runs of the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._shapes import shaped
from ._types import Array
from ._yaml import changes
from .errors import QuasistepError
from .motion import Motion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .system import System

#: Share of a parameter's range by which it is moved for a derivative: far above what a step is off by, far below what bends.
_STEP = 1e-4
#: Share of a parameter's range by which a chained derivative is followed for what it does to residuals: rounding and curvature,
#: the shorter way of a turn, leave 1e-10 each.
_SMALL = 1e-5
#: Residual of a coordinate of a step that was not taken.
_LOST = 1e3

_Set = dict[str, Any]


class NotIdentifiedError(QuasistepError):
    """No start led to parameters.

    Examples
    --------
    >>> issubclass(qs.NotIdentifiedError, qs.QuasistepError)
    True
    """


@dataclass(frozen=True)
class Parameter:
    """What is to be found, and where to look.

    Attributes
    ----------
    path : str or callable
        Dotted key of the scene, or a function from the value to a dict of keys and values.
    bounds : (float, float)
        Least and largest value, both finite.
    start : float, optional
        Where to begin; the middle by default.

    Examples
    --------
    >>> qs.Parameter("models.box.mass", (0.1, 5.0)).bounds
    (0.1, 5.0)
    """

    path: str | Callable[[float], Mapping[str, Any]]
    bounds: tuple[float, float]
    start: float | None = None

    def changes(self, value: float) -> dict[str, Any]:
        """Keys of the scene and what they become.

        Parameters
        ----------
        value : float
            The parameter.

        Returns
        -------
        dict

        Examples
        --------
        >>> qs.Parameter("models.box.mass", (0.1, 5.0)).changes(2.0)
        {'models.box.mass': 2.0}
        """
        return {self.path: value} if isinstance(self.path, str) else dict(self.path(value))


@dataclass(frozen=True)
class Identified:
    """Parameters that fit recorded motions best.

    Attributes
    ----------
    values, deviations : dict of str to float
        Each parameter and its standard deviation.
    covariance : ndarray, shape (p, p)
        Of the parameters, in their order: ``s² (JᵀJ)⁻¹`` with ``s²`` the mean square of the residuals. NaN where the data do not
        tell two apart.
    residuals : list of ndarray, shape (T, n)
        Of each motion, predicted less seen, in units of ``scale``.
    system : System
        With the parameters found.
    error : float
        Root of the mean square of the residuals.
    starts : list of dict
        Where each start led: ``error`` and ``values``.

    Examples
    --------
    >>> qs.Identified.__name__
    'Identified'
    """

    values: dict[str, float]
    deviations: dict[str, float]
    covariance: Array
    residuals: list[Array]
    system: System
    error: float
    starts: list[dict[str, Any]]
    _motions: Sequence[Motion] = field(repr=False)
    _predicted: list[Array] = field(repr=False)

    def __str__(self) -> str:
        """The parameters with their deviations, and the error, a line each."""
        values = [f"{name}: {value:.5g} ± {self.deviations[name]:.2g}" for name, value in self.values.items()]
        near = sum(start["error"] <= 1.01 * self.error for start in self.starts)
        return "\n".join([*values, f"error: {self.error:.3g}", f"{near} of {len(self.starts)} starts led here"])

    def plot(self, names: Sequence[str] | str = "*", motion: int = 0) -> Any:
        """Seen and predicted coordinates of one motion over its steps.

        Parameters
        ----------
        names : str or sequence of str
            Coordinates, or patterns.
        motion : int
            Which motion.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> found.plot("box.*")  # doctest: +SKIP
        """
        from matplotlib.figure import Figure

        places = self.system.coordinates.indices(names)
        seen, predicted = np.asarray(self._motions[motion].q, float), self._predicted[motion]
        figure = Figure(figsize=(7, 1.6 * len(places) + 0.6), layout="constrained")
        axes = figure.subplots(len(places), 1, sharex=True, squeeze=False)[:, 0]
        for axis, place in zip(axes, places, strict=True):
            axis.plot(seen[:, place], "o", ms=3, label="seen")
            axis.plot(predicted[:, place], "-", label="predicted")
            axis.set_ylabel(self.system.coordinates[place])
        axes[0].legend(loc="best")
        axes[-1].set_xlabel("step")
        return figure


def _quaternions(system: System) -> list[int]:
    """Places where unit quaternions begin."""
    return [k for k, name in enumerate(system.coordinates) if name.endswith(".qw")]


def _apart(predicted: Array, seen: Array, turns: list[int], scale: tuple[float, float]) -> Array:
    """Predicted less seen, rotations as rotation vectors in the first three of their four places; 0 where nothing was seen."""
    off = (predicted - seen) / scale[0]
    for k in turns:
        p, s = predicted[..., k : k + 4], seen[..., k : k + 4]
        norm = np.linalg.norm(s, axis=-1, keepdims=True)
        s = s / np.where(norm > 0, norm, 1.0)
        # s⁻¹ p, the shorter way
        w = (p * s).sum(-1)
        v = s[..., :1] * p[..., 1:] - p[..., :1] * s[..., 1:] - np.cross(s[..., 1:], p[..., 1:])
        v = v * np.where(w < 0, -1.0, 1.0)[..., None]
        size = np.linalg.norm(v, axis=-1)
        angle = 2.0 * np.arctan2(size, abs(w))
        off[..., k : k + 3] = v * (angle / np.where(size > 0, size, 1.0) / scale[1])[..., None]
        off[..., k + 3] = 0.0
    return np.where(np.isnan(off), 0.0, off)


class _Runs:
    """Predicts all motions with one system, those of like length together."""

    def __init__(self, system: System, motions: Sequence[Motion], threads: int | None) -> None:
        self.threads = threads
        self.groups: list[tuple[list[int], Array, Array, Array | None]] = []
        lengths: dict[tuple[int, bool], list[int]] = {}
        tables = []
        for k, motion in enumerate(motions):
            u = shaped(f"u of motion {k}", motion.u, (None, system.n_u))
            q = np.asarray(motion.q, float)
            if q.shape != (len(u) + 1, system.n_q):
                raise ValueError(
                    f"q of motion {k} has shape {q.shape}; it must be ({len(u) + 1}, {system.n_q}): "
                    "the start, and the end of each step"
                )
            if np.isnan(q[0]).any():
                raise ValueError(f"q of motion {k} has NaN in its first row; where it starts must be known")
            lengths.setdefault((len(u), motion.v0 is not None), []).append(k)
            tables.append((q, u))
        self.seen = [q for q, _ in tables]
        for (_, moving), members in lengths.items():
            u = np.stack([tables[k][1] for k in members])
            q0 = np.stack([tables[k][0][0] for k in members])
            v0 = np.stack([np.asarray(motions[k].v0, float) for k in members]) if moving else None
            self.groups.append((members, q0, u, v0))

    def predict(self, system: System) -> list[Array]:
        """Each motion as the system runs it, shape (T + 1, n_q); NaN from a step on that was not taken."""
        out: list[Array] = [np.empty(0)] * len(self.seen)
        for members, q0, u, v0 in self.groups:
            Q, _ = system.simulate_batch(u, q0=q0, velocity=v0, threads=self.threads, report=True)
            for row, k in enumerate(members):
                out[k] = np.concatenate([q0[row : row + 1], Q[row]])
        return out

    def changes(self, system: System, beside: list[list[_Set]], by: list[float]) -> _core.Changes:
        """What less and more of each number, `by` apart, make of the system."""
        less, more = ([changes(pair[k]) for pair in beside] for k in (0, 1))
        longest = max(u.shape[1] for _, _, u, _ in self.groups)
        return _core.Changes(system, less, more, by, longest)

    def slopes(self, system: System, of: _core.Changes) -> tuple[list[Array | None], list[Array | None]]:
        """Each motion as `predict` has it, and the derivatives of its steps, shape (T, known numbers, n_q); None where a step
        on its way has none."""
        n_q, p = system.n_q, len(of.known)
        out: list[Array | None] = [None] * len(self.seen)
        slopes: list[Array | None] = [None] * len(self.seen)
        for members, q0, u, v0 in self.groups:
            n, T, _ = u.shape
            flat, by, lost = of.of_runs(system, q0, v0, u, n, T, self.threads)
            Q, all_rows = flat.reshape(n, T, n_q), by.reshape(n, T, p, n_q)
            for row, k in enumerate(members):
                if row not in lost:
                    out[k], slopes[k] = np.concatenate([q0[row : row + 1], Q[row]]), all_rows[row]
        return out, slopes


def identify(
    system: System,
    motions: Sequence[Motion],
    parameters: Mapping[str, Parameter],
    *,
    scale: tuple[float, float] = (1e-3, 1e-2),
    starts: int = 1,
    seed: int = 0,
    loss: str = "linear",
    threads: int | None = None,
    progress: Callable[[int, float], object] | None = None,
) -> Identified:
    """The parameters of a scene that recorded motions fit best.

    Each motion is run from where it starts with its own commands, and least squares (`scipy.optimize.least_squares`, trust region
    within bounds) brings the runs near what was seen. Its slopes are the derivatives of the steps, chained along each motion, by
    friction, spin radius, compliance, supports, mass, centre of mass, stiffness and damping. By other keys, and of motions with a step that has no
    derivatives (midpoint steps), they are central differences of runs.

    Parameters
    ----------
    system : System
        The scene.
    motions : sequence of Motion
        What was recorded.
    parameters : mapping of str to Parameter
        What to find.
    scale : (float, float)
        What counts as one: m of coordinates, rad of rotations. The noise, if it is known.
    starts : int
        Number of starts: the first where `Parameter.start` says, the others at random within the bounds.
    seed : int
        Of the random starts.
    loss : {"linear", "soft_l1", "huber", "cauchy", "arctan"}
        How residuals count; all but the first forgive outliers.
    threads : int, optional
        As of `System.simulate_batch`.
    progress : callable(evaluations, error), optional
        Told after each evaluation; may raise to stop.

    Returns
    -------
    Identified

    Raises
    ------
    NotIdentifiedError
        No start led to parameters with which all motions run.

    Examples
    --------
    >>> system = qs.load("scenes/planar_push.yml")
    >>> heavy = system.with_({"models.box.friction": 0.45})
    >>> run = heavy.simulate(duration=1.0)
    >>> found = qs.identify(system, [qs.Motion(run.q, run.u)], {"mu": qs.Parameter("models.box.friction", (0.1, 1.0))})
    >>> bool(abs(found.values["mu"] - 0.45) < 1e-4)
    True
    """
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise ImportError("qs.identify needs scipy: pip install 'quasistep[identify]'") from None
    if not motions or not parameters:
        raise ValueError("motions and parameters must not be empty")
    names = list(parameters)
    low = np.array([float(parameters[n].bounds[0]) for n in names])
    high = np.array([float(parameters[n].bounds[1]) for n in names])
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError("each parameter needs two finite bounds, the smaller one first")
    span = high - low
    runs = _Runs(system, motions, threads)
    turns = _quaternions(system)
    count = 0

    def set_of(x: Array) -> _Set:
        keys: _Set = {}
        for name, value in zip(names, low + span * np.clip(x, 0.0, 1.0), strict=True):
            keys.update(parameters[name].changes(float(value)))
        return keys

    def beside(x: Array) -> tuple[list[list[_Set]], list[float]]:
        """A little less and a little more of each parameter alone, and how far apart they are."""
        ahead, back = np.minimum(x + _STEP, 1.0), np.maximum(x - _STEP, 0.0)
        alone = np.eye(len(x), dtype=bool)
        return [[set_of(np.where(at, to, x)) for to in (back, ahead)] for at in alone], [float(b) for b in ahead - back]

    last: tuple[Array, System, list[Array], list[int], list[Array | None]] | None = None

    def run(x: Array) -> tuple[System, list[Array], list[int], list[Array | None]]:
        """The system with these parameters, its runs and the derivatives of their steps; those of the last parameters are kept."""
        nonlocal last, count
        if last is None or not np.array_equal(last[0], x):
            fitted = system.with_(set_of(x))
            of = runs.changes(fitted, *beside(x))
            predicted: list[Array | None] = [None] * len(motions)
            chained: list[Array | None] = [None] * len(motions)
            if of.known:
                predicted, chained = runs.slopes(fitted, of)
            rest = [k for k, p in enumerate(predicted) if p is None]
            for k, p in zip(rest, part(rest).predict(fitted) if rest else (), strict=True):
                predicted[k] = p
            last = (x.copy(), fitted, [p for p in predicted if p is not None], of.known, chained)
            count += 1
        return last[1:]

    def part(places: Sequence[int]) -> _Runs:
        return runs if len(places) == len(motions) else _Runs(system, [motions[k] for k in places], threads)

    def apart(k: int, predicted: Array) -> Array:
        off = _apart(predicted[1:], runs.seen[k][1:], turns, scale)
        # a step that is not taken is worse than any that is
        return np.where(np.isnan(predicted[1:]), _LOST, off).ravel()

    def residuals(x: Array) -> Array:
        off = np.concatenate([apart(k, p) for k, p in enumerate(run(x)[1])])
        if progress is not None:
            progress(count, float(np.sqrt((off**2).mean())))
        return off

    def slopes(x: Array) -> Array:
        """Derivatives of the residuals: those of the steps, chained; by differences of runs where steps have none."""
        _, predicted, known, chained = run(x)
        J = [np.zeros((p[1:].size, len(x))) for p in predicted]
        for column, (sets, by) in enumerate(zip(*beside(x), strict=True)):
            rest = []
            for k, of_motion in enumerate(chained):
                if of_motion is None or column not in known:
                    rest.append(k)
                    continue
                change = np.zeros_like(predicted[k])
                change[1:] = _SMALL * of_motion[:, known.index(column)]
                J[k][:, column] = (apart(k, predicted[k] + change) - apart(k, predicted[k] - change)) / (2 * _SMALL)
            if rest:
                two = (part(rest).predict(system.with_(s)) for s in sets)
                for k, less, more in zip(rest, *two, strict=True):
                    J[k][:, column] = (apart(k, more) - apart(k, less)) / by
        return np.concatenate(J)

    random = np.random.default_rng(seed)
    first = [p.start if p.start is not None else 0.5 * (p.bounds[0] + p.bounds[1]) for p in parameters.values()]
    points = [np.clip((np.array(first) - low) / span, 0.0, 1.0)]
    points += [random.uniform(size=len(names)) for _ in range(starts - 1)]
    # a mistake in a key is told before the search
    system.with_(set_of(points[0]))
    best, tried = None, []
    for point in points:
        answer = least_squares(residuals, point, jac=slopes, bounds=(0.0, 1.0), loss=loss, x_scale="jac")
        error = float(np.sqrt((answer.fun**2).mean()))
        tried.append({"error": error, "values": dict(zip(names, low + span * answer.x, strict=True))})
        if best is None or answer.cost < best.cost:
            best = answer
    assert best is not None
    x = np.asarray(best.x)
    fitted, predicted, _, _ = run(x)
    if any(np.isnan(p).any() for p in predicted):
        raise NotIdentifiedError("no start led to parameters with which all motions run; try other bounds or more starts")
    off = [_apart(p[1:], s[1:], turns, scale) for p, s in zip(predicted, runs.seen, strict=True)]
    n_seen = sum(int(np.isfinite(s[1:]).sum()) - sum(int(np.isfinite(s[1:, k]).sum()) for k in turns) for s in runs.seen)
    variance = float((best.fun**2).sum()) / max(n_seen - len(names), 1)
    J = np.asarray(best.jac)
    covariance = np.full((len(names), len(names)), np.nan)
    if np.linalg.matrix_rank(J) == len(names):
        covariance = variance * np.linalg.inv(J.T @ J) * np.outer(span, span)
    values = [float(v) for v in low + span * x]
    return Identified(
        dict(zip(names, values, strict=True)),
        dict(zip(names, [float(d) for d in np.sqrt(np.diag(covariance))], strict=True)),
        covariance,
        off,
        fitted,
        float(np.sqrt((best.fun**2).sum() / max(n_seen, 1))),
        tried,
        motions,
        predicted,
    )
