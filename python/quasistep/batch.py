"""What a batch says about itself."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ._yaml import changes
from .errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from ._core import StepReport, WarmStart
    from ._types import Array
    from .errors import QuasistepError


class BatchWarning(UserWarning):
    """Some samples of a batch could not be stepped; their rows are NaN.

    Examples
    --------
    >>> issubclass(qs.BatchWarning, UserWarning)
    True
    """


class BatchReport:
    """How the samples of a batch went. Reports are those of each sample's last step.

    Attributes
    ----------
    n_steps : ndarray of int, shape (N,)
        Steps taken.
    sized_steps, rejected, unresolved : ndarray of int, shape (N,)
        Where steps choose their size: steps taken, sizes that were too large, and steps of the
        smallest size that exceed the tolerance; zero elsewhere. ``n_steps`` counts rows there.
    errors : dict of int to QuasistepError
        Why samples ended early, by their number.
    reports : list of N StepReport or None
        Of the last step that each sample took.
    contacts : ndarray
        Contacts of all these steps: dtype :data:`CONTACT` behind a field ``sample``.

    Examples
    --------
    >>> system = qs.load("scenes/planar_push.yml")
    >>> U = system.commanded(system.q0) + [[0.0, 0.0], [np.nan, 0.0]]
    >>> Q, report = system.step_batch(system.q0, U, report=True)
    >>> report.ok
    array([ True, False])
    >>> print(report.errors[1])
    q_cmd: entry 0 is NaN; it must be a finite number
    """

    def __init__(self, rest: dict[str, Any]) -> None:
        self.n_steps: NDArray[np.int64] = rest["n_steps"]
        self.sized_steps: NDArray[np.int64] = rest["sized_steps"]
        self.rejected: NDArray[np.int64] = rest["rejected"]
        self.unresolved: NDArray[np.int64] = rest["unresolved"]
        self.errors: dict[int, QuasistepError] = rest["errors"]
        self.reports: list[StepReport | None] = rest["reports"]
        self.contacts: NDArray[np.void] = rest["contacts"]

    @cached_property
    def ok(self) -> NDArray[np.bool_]:
        """Which samples took all their steps, shape (N,)."""
        ok = np.ones(len(self.n_steps), dtype=bool)
        ok[list(self.errors)] = False
        return ok

    @cached_property
    def effort(self) -> Array:
        """Drive forces of the last step, shape (N, n_u_v), in N or N·m; NaN without a step."""
        return self._column("effort")

    @cached_property
    def v(self) -> Array:
        """Velocities of the last step, shape (N, n_v), in m/s or rad/s; NaN without a step."""
        return self._column("v")

    @cached_property
    def certificates(self) -> Array:
        """Certificates of the last step, shape (N, 8), in the order of :class:`Certificate`."""
        return self._column("certificate")

    @property
    def warm_starts(self) -> list[WarmStart | None]:
        """Where each sample's next step may start from."""
        return [None if report is None else report.warm_start for report in self.reports]

    def _column(self, name: str) -> Array:
        rows = [None if r is None else np.asarray(getattr(r, name)) for r in self.reports]
        width = next((len(row) for row in rows if row is not None), 0)
        lost = np.full(width, np.nan)
        return np.array([lost if row is None else row for row in rows]).reshape(len(rows), width)

    def __repr__(self) -> str:
        return f"BatchReport({len(self.n_steps)} samples, {len(self.errors)} with errors)"


def finish(q: Array, rest: dict[str, Any], report: bool) -> Any:
    """The answer of a batch: its array, with its report if asked for."""
    errors = rest["errors"]
    # a key that fits nothing is a slip, not the answer of a sample
    if errors and len(errors) == len(q) and all(isinstance(e, SceneError) for e in errors.values()):
        raise errors[0]
    if report:
        return q, BatchReport(rest)
    if errors:
        first, error = next(iter(errors.items()))
        text = f"{len(errors)} of {len(q)} samples ended early, their rows are NaN; sample {first}: {error}"
        warnings.warn(text, BatchWarning, stacklevel=3)
    return q


def varied(
    vary: Mapping[str, ArrayLike] | None,
) -> tuple[list[list[tuple[str, str]]] | None, int | None]:
    """Changes of each sample's scene, and the number of samples that they speak of."""
    if vary is None:
        return None, None
    for key in vary:
        parts = key.split(".")
        if parts[0] == "commands" and "torque" not in parts:
            raise ValueError(
                f"`vary`: key `{key}` was given, and so is `U`, which commands all samples: the key would change nothing; "
                "give `U` a table for each sample, shape (N, ...). Of `commands`, `vary` takes torques: `commands.0.torque`"
            )
    columns = {key: np.asarray(values) for key, values in vary.items()}
    counts = {key: len(column) if column.ndim else -1 for key, column in columns.items()}
    if len(set(counts.values())) != 1 or -1 in counts.values():
        words = ", ".join(f"`{key}` {max(n, 0)}" for key, n in counts.items())
        raise ValueError(f"`vary` wants the same number of values for every key; it has {words or 'no key'}")
    n = next(iter(counts.values()))
    return [changes({key: column[i] for key, column in columns.items()}) for i in range(n)], n
