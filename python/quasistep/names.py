"""Names of coordinates, commands, dofs, bodies and shapes, and their places."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class Names(tuple[str, ...]):
    """Names in the order of a vector: a tuple that finds them again.

    Examples
    --------
    >>> system = qs.load("scenes/planar_push.yml")
    >>> system.commands[1]
    'finger.y'
    >>> system.commands.index("finger.y")
    1
    >>> system.coordinates.indices(["finger.x", "box.*"])
    array([0, 2, 3, 4, 5, 6, 7, 8])
    """

    __slots__ = ()

    def index(self, name: Any, start: SupportsIndex = 0, stop: SupportsIndex | None = None, /) -> int:
        """Place of a name.

        Parameters
        ----------
        name : str
            The whole name.

        Returns
        -------
        int

        Raises
        ------
        KeyError
            There is no such name; the sentence names near ones.

        Examples
        --------
        >>> qs.load("scenes/planar_push.yml").bodies.index("box/box")
        3
        """
        end = len(self) if stop is None else stop
        try:
            return super().index(name, start, end)
        except ValueError:
            import difflib

            near = difflib.get_close_matches(str(name), self, 3, 0.0) or list(self[:3])
            hint = ", ".join(f"`{n}`" for n in near)
            raise KeyError(f"no name `{name}` among {len(self)}; the nearest: {hint}") from None

    def indices(self, names: str | Iterable[str]) -> NDArray[np.intp]:
        """Places of names, in the order asked for.

        Parameters
        ----------
        names : str or iterable of str
            Names, or patterns in which ``*`` stands for any text.

        Returns
        -------
        ndarray of int, shape (k,)

        Raises
        ------
        KeyError
            A name or a pattern fits nothing.

        Examples
        --------
        >>> qs.load("scenes/planar_push.yml").commands.indices("finger.*")
        array([0, 1])
        """
        found: list[int] = []
        for name in [names] if isinstance(names, str) else names:
            if "*" in name:
                fits = [i for i, own in enumerate(self) if fnmatchcase(own, name)]
                found.extend(fits or [self.index(name)])
            else:
                found.append(self.index(name))
        return np.array(found, dtype=np.intp)

    def __reduce__(self) -> tuple[Any, ...]:
        return Names, (tuple(self),)
