"""Grasps at random, and paths of joints from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _core
from ._shapes import shaped
from .planning import PlanningSystem, grasps_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from ._core import StepParams
    from ._types import Array


class JointPath(NamedTuple):
    """A path of joints, the commands along it, and what became of them in the step.

    Parameters
    ----------
    holds : bool
        Whether the joints follow the path within its margin in the simulation.
    corners : ndarray, shape (k, n_q)
        Corners of the path, both ends included. Free bodies are where they are at the start.
    u : ndarray, shape (T, n_u)
        Commands at the ends of the steps. The last one is held until nothing moves, for 100 steps at most.
    q : ndarray, shape (T + 1, n_q)
        Configurations to which the commands lead by the step, from the start on.
    h : float
        Time between two commands, in s.
    off : float
        Largest distance of a point of the robot from the path, at the end from the goal, in m.
    left : int or None
        The first step in which that distance exceeds the margin.
    failed : str or None
        Why the simulation ended early.
    moved : dict of str to tuple of float
        Bodies that are not commanded and moved: the largest distance (m) and angle (rad) from where they were.

    Examples
    --------
    See :meth:`System.joint_path`.

    >>> qs.JointPath._fields[:3]
    ('holds', 'corners', 'u')
    """

    holds: bool
    corners: Array
    u: Array
    q: Array
    h: float
    off: float
    left: int | None
    failed: str | None
    moved: dict[str, tuple[float, float]]


class PathSystem(PlanningSystem):
    """Grasps and paths: the part of :class:`System` that is about configurations without contact, and their contacts."""

    def grasps(
        self,
        links: Sequence[str | int] | str | int,
        bodies: Sequence[str | int] | str | int,
        count: int = 1,
        *,
        seed: int = 0,
        q0: ArrayLike | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        distance: float = 1e-4,
        clearance: float = 0.0,
        reach: float = 1.0,
        tries: int = 100,
    ) -> Array:
        """Draws configurations in which links touch bodies and nothing overlaps.

        Random configurations are led to the contacts by Gauss and Newton's method on the distances, within joint
        limits. The same seed draws the same grasps.

        Parameters
        ----------
        links, bodies : names or indices of bodies
            Each link touches the body at the same place of the other list. One body, or one link, stands for all.
        count : int
            Number of grasps.
        seed : int
            Of the random numbers.
        q0 : array_like, shape (n_q,), optional
            Where everything is that is not drawn; the scene's start by default.
        ranges : mapping of str to (float, float), optional
            Which joints are drawn, by their coordinates, and from which range, in m or rad. By default all commanded
            joints, from within their limits; hinges without limits from a turn.
        distance : float
            Largest distance of a link from the body that it touches, in m, > 0.
        clearance : float
            Least distance of all other pairs that the drawn joints move, in m.
        reach : float
            Largest distance at which shapes see one another, in m. Links further than this from what they are to
            touch are not led there.
        tries : int
            Number of random configurations for one grasp.

        Returns
        -------
        ndarray, shape (n, n_q)
            Fewer than ``count`` if ``tries`` configurations led to none.

        Raises
        ------
        ValueError
            A pair that never touches or that no drawn joint moves, a slide without a range, a length ≤ 0.

        Examples
        --------
        Two fingertips take a box:

        >>> system = qs.load("scenes/planar_hand.yml")
        >>> ranges = {name: (-0.12, 0.12) for name in ("left.x", "left.y", "right.x", "right.y")}
        >>> grasps = system.grasps(["left", "right"], "box", 3, ranges=ranges)
        >>> grasps.shape
        (3, 7)
        >>> [len(system.linearise(q, margin=1e-4).phi) for q in grasps]
        [2, 2, 2]
        """
        for name, number in {"count": count, "tries": tries}.items():
            if not number >= 1:
                raise ValueError(f"{name} is {number}; it must be ≥ 1")
        given = grasps_argument(links, bodies, ranges, (distance, clearance, reach))
        q = shaped("q0", self.q0 if q0 is None else q0, (self.n_q,))
        drawn = _core.grasps(self, q, given, (count, tries), seed)
        grasps: Array = drawn.reshape(-1, self.n_q)
        return grasps

    def joint_path(
        self,
        q0: ArrayLike,
        q_goal: ArrayLike,
        *,
        margin: float,
        u0: ArrayLike | None = None,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        rates: ArrayLike = np.inf,
        samples: int = 2000,
        seed: int = 0,
        h: float | None = None,
        params: StepParams | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> JointPath:
        """Searches for a path of the commanded joints that stays away from all bodies, and simulates it.

        Two random trees grow towards one another (RRT-Connect), and shortcuts follow. True distances are checked along
        the whole motion, to a twentieth of the margin. Bodies that are nearer than the margin at an end, such as
        fingers on what they hold, may be so there, and gain a tenth of their motion away from it. Free bodies count
        where they are at the start. Whether they stay there, the simulation says.

        Parameters
        ----------
        q0, q_goal : array_like, shape (n_q,)
            They differ in commanded joints alone.
        margin : float
            Distance to all bodies, in m, > 0.
        u0 : array_like, shape (n_u,), optional
            Command at the start; without command error by default. Where fingers press, the first steps bring it to
            ``q0``.
        lower, upper : array_like, shape (n_u,) or ()
            Bounds of the commands, in m or rad. Joint limits are kept, too.
        rates : array_like, shape (n_u,) or ()
            Largest rates of the commands, in m/s or rad/s. No step moves a body by more than the margin.
        samples : int
            Largest number of random configurations.
        seed : int
            Of the random numbers. The same seed gives the same bits.
        h, params
            As for :meth:`step`.
        progress : callable, optional
            Called with the number of random configurations and the most. Ctrl-C ends the search with its error.

        Returns
        -------
        JointPath

        Raises
        ------
        NoPlanError
            No path was found.
        ValueError
            An end is beyond limits or overlaps, or other bodies are elsewhere at the goal; by name.

        Examples
        --------
        Fingers let go of a box and take it elsewhere:

        >>> system = qs.load("scenes/planar_hand.yml")
        >>> ranges = {name: (-0.12, 0.12) for name in ("left.x", "left.y", "right.x", "right.y")}
        >>> first, second = system.grasps(["left", "right"], "box", 2, ranges=ranges, clearance=0.004)
        >>> path = system.joint_path(first, second, margin=0.003)
        >>> path.holds, path.off < 0.001, path.moved
        (True, True, {})
        """
        start, goal = shaped("q0", q0, (self.n_q,)), shaped("q_goal", q_goal, (self.n_q,))
        before = shaped("u0", self.commanded(start) if u0 is None else u0, (self.n_u,))
        bounds = tuple(
            np.ascontiguousarray(np.broadcast_to(np.asarray(of, dtype=float), (self.n_u,)))
            for of in (lower, upper, rates)
        )
        data = _core.joint_path(self, start, before, goal, bounds, (margin, samples, seed), h, params, progress)
        return JointPath(
            data["holds"],
            data["corners"].reshape(-1, self.n_q),
            data["u"].reshape(-1, self.n_u),
            data["q"].reshape(-1, self.n_q),
            data["h"],
            data["off"],
            data["left"],
            data["failed"],
            data["moved"],
        )
