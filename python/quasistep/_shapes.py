"""Shapes of arrays that hold samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._types import Array


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
    what: str, array: ArrayLike, shape: tuple[int | None, ...], broadcast: bool = False
) -> Array:
    """The array, if it has this shape, or one dimension fewer where one stands for all samples."""
    if np.iscomplexobj(array):
        raise TypeError(f"`{what}` is complex; give real numbers")
    values = np.ascontiguousarray(array, dtype=float)
    wanted = [shape, shape[1:]] if broadcast else [shape]
    for want in wanted:
        if len(want) == values.ndim and all(
            w is None or w == got for w, got in zip(want, values.shape, strict=True)
        ):
            return values
    words = " or ".join(str(tuple("any" if w is None else w for w in want)) for want in wanted)
    raise ValueError(f"`{what}` has shape {values.shape}; this system wants {words}")


def checked_threads(threads: int | None) -> int | None:
    """The number of threads, if it is one."""
    if threads is None or (isinstance(threads, int) and not isinstance(threads, bool) and threads > 0):
        return threads
    raise ValueError(f"threads is {threads!r}; give a whole number from 1 on, or None for one on each core")
