"""Names of coordinates, commands, dofs, bodies and shapes, and their places."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from . import _core
from ._yaml import mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from ._types import Array


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


class BodyNames(Names):
    """Names of bodies; a model stands for its body of the same name, or its only one.

    Examples
    --------
    >>> bodies = qs.load("scenes/planar_push.yml").bodies
    >>> bodies.index("box") == bodies.index("box/box")
    True
    """

    __slots__ = ()

    def index(self, name: Any, start: SupportsIndex = 0, stop: SupportsIndex | None = None, /) -> int:
        """Place of a name, ``model/link``, or of the model of one body."""
        if isinstance(name, str) and "/" not in name and name not in self:
            own = [body for body in self if body.startswith(name + "/")]
            if len(own) == 1 or f"{name}/{name}" in own:
                name = f"{name}/{name}" if f"{name}/{name}" in own else own[0]
        return super().index(name, start, len(self) if stop is None else stop)

    def __reduce__(self) -> tuple[Any, ...]:
        return BodyNames, (tuple(self),)


class NamedSystem(_core.System):
    """The names of a system: the part of :class:`System` that goes between names and places."""

    @cached_property
    def _name_lists(self) -> dict[str, Any]:
        return self._names()

    @cached_property
    def coordinates(self) -> Names:
        """Names of the entries of q, as in ``states.csv``."""
        return Names(self._name_lists["coordinates"])

    @cached_property
    def dofs(self) -> Names:
        """Names of the entries of v."""
        return Names(self._name_lists["dofs"])

    @cached_property
    def commands(self) -> Names:
        """Names of the entries of u: the coordinates of actuated and prescribed joints, then the commanded
        pose (unit quaternion, position) of each frame with Cartesian stiffness."""
        return Names(self._name_lists["commands"])

    @cached_property
    def efforts(self) -> Names:
        """Names of the dofs of actuated and prescribed joints, then of frames with Cartesian
        stiffness (turn, shift): entries of efforts and of the commands' rates."""
        return Names(self._name_lists["efforts"])

    @cached_property
    def constraints(self) -> Names:
        """Names of closed loops and couplings: the records of ``report.constraints``."""
        return Names(self._name_lists["constraints"])

    @cached_property
    def sensors(self) -> Names:
        """Names of the scene's sensors: keys of ``run.sensors`` and ``report.sensors``."""
        return Names(self._name_lists["sensors"])

    @cached_property
    def bodies(self) -> BodyNames:
        """Names of the bodies, ``model/link``; the world first."""
        return BodyNames(self._name_lists["bodies"])

    @cached_property
    def shapes(self) -> Names:
        """Names of the collision shapes, ``model/link/shape``."""
        return Names(self._name_lists["shapes"])

    def q_vector(self, values: Mapping[str, float], base: ArrayLike | None = None) -> Array:
        """A configuration from coordinates by name.

        Parameters
        ----------
        values : mapping of str to float
            Coordinates, in m or rad.
        base : array_like, shape (n_q,), optional
            The others; :attr:`q0` by default.

        Returns
        -------
        ndarray, shape (n_q,)

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> system.q_vector({"finger.x": -0.2})[:2]
        array([-0.2 ,  0.02])
        """
        q = np.array(self.q0 if base is None else base, dtype=float)
        for name, value in mapping(values, "values").items():
            q[self.coordinates.index(name)] = value
        return q

    def u_vector(self, values: Mapping[str, float], base: ArrayLike | None = None) -> Array:
        """A command from commands by name.

        Parameters
        ----------
        values : mapping of str to float
            Commands, in m or rad.
        base : array_like, shape (n_u,), optional
            The others; where the joints start by default.

        Returns
        -------
        ndarray, shape (n_u,)

        Examples
        --------
        >>> qs.load("scenes/planar_push.yml").u_vector({"finger.x": 0.1})
        array([0.1 , 0.02])
        """
        u = self.commanded(self.q0) if base is None else np.array(base, dtype=float)
        for name, value in mapping(values, "values").items():
            u[self.commands.index(name)] = value
        return u

    def commanded(self, q: ArrayLike) -> Array:
        """The command that holds a configuration without load: its commanded coordinates, the
        poses of frames with Cartesian stiffness, 1 for each pad, which then pulls, and 0 for each
        switched constraint, which is then off.

        Parameters
        ----------
        q : array_like, shape (..., n_q)

        Returns
        -------
        ndarray, shape (..., n_u)

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> system.commanded(system.q0)
        array([-0.11,  0.02])
        """
        q = np.asarray(q, dtype=float)
        own = self._name_lists["u_in_q"]
        if len(own) == self.n_u:
            return q[..., own]
        # frames with a spring are told where they are
        return _core.command_at(self, q).reshape(*q.shape[:-1], self.n_u)

    def q_dict(self, q: ArrayLike) -> dict[str, float]:
        """A configuration as coordinates by name.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> system.q_dict(system.q0)["finger.x"]
        -0.11
        """
        return dict(zip(self.coordinates, map(float, np.asarray(q)), strict=True))

    def u_dict(self, u: ArrayLike) -> dict[str, float]:
        """A command as commands by name.

        Examples
        --------
        >>> qs.load("scenes/planar_push.yml").u_dict([0.0, 0.1])
        {'finger.x': 0.0, 'finger.y': 0.1}
        """
        return dict(zip(self.commands, map(float, np.asarray(u)), strict=True))
