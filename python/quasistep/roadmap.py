"""What searches from one start found, kept for the next goals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._fingerprint import fingerprint
from ._shapes import shaped
from ._whole import read_text, write_whole

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from ._types import Array
    from .planning import PlanningSystem
    from .system import System

_VERSION = 1


class Roadmap:
    """States that commands lead to from one start, and the commands: a tree that :meth:`System.plan` reads and extends.

    Plan some goals with it once, which takes as long as planning does. Later goals are answered from the state that is nearest
    to them (Suh et al. 2025). Plans start at the start of the roadmap.

    Parameters
    ----------
    system : System
        Of quasi-static steps.
    q0 : array_like, shape (n_q,), optional
        Start; the scene's by default.
    u0 : array_like, shape (n_u,), optional
        Command at the start; without command error by default.
    h : float, optional
        Time between two commands of its plans, in s; the scene's time step by default.

    Attributes
    ----------
    q0, u0 : ndarray
    h : float

    Examples
    --------
    A finger pushes a box to one place, and then to another near it:

    >>> system = qs.load("scenes/planar_pusher.yml", set={"step.relaxation": 1, "step.size": 0.1})
    >>> roadmap = qs.Roadmap(system)
    >>> pose = system.pose("box", system.q0)
    >>> ahead = [qs.PoseGoal("box", pose + [0, 0, 0, 0, x, 0, 0], angle=0.2) for x in (0.04, 0.05)]
    >>> settings = dict(planner="mppi", region=0.02, rates=0.5, roadmap=roadmap)
    >>> [system.plan(goal, **settings).solved for goal in ahead]
    [True, True]
    >>> roadmap.save("/dev/null")
    """

    def __init__(
        self, system: System, q0: ArrayLike | None = None, u0: ArrayLike | None = None, *, h: float | None = None
    ) -> None:
        self.q0: Array = shaped("q0", system.q0 if q0 is None else q0, (system.n_q,))
        self.u0: Array = shaped("u0", system.commanded(self.q0) if u0 is None else u0, (system.n_u,))
        self.h: float = system.params["size"] if h is None else h
        self._scene = (system.name, fingerprint(system))
        self._core = _core.Roadmap(self.q0, self.u0, self.h)

    def __len__(self) -> int:
        """Number of states."""
        return len(self._core)

    def __repr__(self) -> str:
        return f"Roadmap({self._scene[0]!r}, {len(self)} states)"

    def is_of(self, system: PlanningSystem) -> bool:
        """Whether it was made for this system: of the same scene, with the same changes.

        Parameters
        ----------
        system : System

        Returns
        -------
        bool

        Examples
        --------
        >>> system = qs.load("scenes/planar_pusher.yml")
        >>> roadmap = qs.Roadmap(system)
        >>> roadmap.is_of(system), roadmap.is_of(system.with_({"models.box.mass": 2}))
        (True, False)
        """
        return self._scene[1] == fingerprint(system)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as JSON: ``parents`` (indices, node 0 is the start), ``q`` and ``u`` of the nodes, ``h``, and what its scene is.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> qs.Roadmap(qs.load("scenes/planar_pusher.yml")).save("/dev/null")
        """
        parents, q, u, h = self._core.arrays()
        name, scene = self._scene
        rows = {"q": np.reshape(q, (len(parents), -1)).tolist(), "u": np.reshape(u, (len(parents), -1)).tolist()}
        data = {"quasistep roadmap": _VERSION, "scene": name, "fingerprint": scene, "h": h, "parents": parents, **rows}
        write_whole(path, json.dumps(data))

    @classmethod
    def load(cls, path: str | os.PathLike[str], system: System) -> Roadmap:
        """Reads a roadmap of this system.

        Parameters
        ----------
        path : path
        system : System

        Returns
        -------
        Roadmap

        Raises
        ------
        ValueError
            The file is no roadmap, or one of another scene.

        Examples
        --------
        >>> roadmap = qs.Roadmap.load("ball.json", system)  # doctest: +SKIP
        """
        try:
            data: dict[str, Any] = json.loads(read_text(path))
            if data.get("quasistep roadmap") != _VERSION:
                raise ValueError(f"`quasistep roadmap` is {data.get('quasistep roadmap')!r}; {_VERSION} is read")
            scene = (data["scene"], data["fingerprint"])
            widths = (system.n_q, system.n_u)
            if scene[1] != fingerprint(system):
                raise ValueError(f"it is of another scene, {scene[0]!r}, or of one with other changes than this {system.name!r}")
            core = _core.Roadmap.from_arrays(data["parents"], np.ravel(data["q"]), np.ravel(data["u"]), widths, data["h"])
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: this is no roadmap of this system: {error}") from error
        own = cls(system, data["q"][0], data["u"][0], h=data["h"])
        own._core = core
        return own
