"""Shapes of arrays that hold samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from ._records import Wrench
    from ._types import Array

# of a wrench, in the order of the numbers that the core reads
_PARTS = ("at", "force", "torque")


def count(dimensions: dict[int, list[ArrayLike | None]], varied: int | None) -> int:
    """Number of samples: the rows of arrays that have a dimension for them; 1 if none has."""
    counts = [varied] if varied is not None else []
    counts += [
        np.shape(array)[0]
        for n, arrays in dimensions.items()
        for array in arrays
        if array is not None and np.ndim(array) == n
    ]
    return counts[0] if counts else 1


def shaped(
    what: str, array: ArrayLike, shape: tuple[int | None, ...], broadcast: int = 0
) -> Array:
    """The array, if it has this shape, or up to so many dimensions fewer where one stands for all."""
    if np.iscomplexobj(array):
        raise TypeError(f"`{what}` is complex; give real numbers")
    values = np.ascontiguousarray(array, dtype=float)
    wanted = [shape[k:] for k in range(broadcast + 1)]
    for want in wanted:
        if len(want) == values.ndim and all(
            w is None or w == got for w, got in zip(want, values.shape, strict=True)
        ):
            return values
    words = " or ".join(str(tuple("any" if w is None else w for w in want)) for want in wanted)
    raise ValueError(f"`{what}` has shape {values.shape}; this system wants {words}")


def listed(wrenches: Sequence[Wrench] | Wrench | None) -> list[Wrench]:
    """Wrenches, of which a single one may be given as it is."""
    if wrenches is None:
        return []
    every: list[Any] = [wrenches] if hasattr(wrenches, "body") else list(wrenches)
    for one in every:
        if not all(hasattr(one, part) for part in ("body", *_PARTS)):
            raise TypeError(f"{one!r} is no wrench; give quasistep.Wrench(body, force, torque, at)")
    return every


def arrays_of(wrenches: Sequence[Wrench] | Wrench | None) -> list[ArrayLike | None]:
    """The arrays of wrenches, which may have a dimension for samples."""
    return [getattr(one, part) for one in listed(wrenches) for part in _PARTS]


def loads(
    wrenches: Sequence[Wrench] | Wrench | None, tau: Array | None, rows: tuple[int, ...]
) -> tuple[list[str | int], Array, Array | None]:
    """Wrenches and generalised forces of a batch: bodies, numbers and forces, in rows of steps.

    ``rows`` are the dimensions before those of a step: of samples, and of steps.
    """
    parts = [
        [shaped(f"{part} of {one.body!r}", getattr(one, part), (*rows, 3), len(rows)) for part in _PARTS]
        for one in listed(wrenches)
    ]
    lead = np.broadcast_shapes(*(part.shape[:-1] for own in parts for part in own))
    numbers = [np.concatenate([np.broadcast_to(part, (*lead, 3)) for part in own], axis=-1) for own in parts]
    bodies = [one.body for one in listed(wrenches)]
    return bodies, np.stack(numbers, axis=-2) if numbers else np.zeros(0), tau


def checked_threads(threads: int | None) -> int | None:
    """The number of threads, if it is one."""
    if threads is None or (isinstance(threads, int) and not isinstance(threads, bool) and threads > 0):
        return threads
    raise ValueError(f"threads is {threads!r}; give a whole number from 1 on, or None for one on each core")
