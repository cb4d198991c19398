"""Plans through contact: commands that bring bodies to goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _core
from ._records import Frame
from ._shapes import checked_threads, shaped
from .kinematics import frame_argument
from .rollouts import RolloutSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from ._core import StepParams
    from ._types import Array
    from .roadmap import Roadmap


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """A pose that a frame is to have.

    Parameters
    ----------
    frame : str, int or Frame
        The name of a body, or a frame on it.
    pose : array_like, shape (7,)
        Unit quaternion w, x, y, z and position in m, in the world, as :meth:`System.pose` returns it.
    angle : float
        Permitted angle, in rad, > 0.
    distance : float
        Permitted distance, in m, > 0.
    counts : tuple of six bool
        Which components of the error count: rotation about the world's x, y, z, then position along them.

    Examples
    --------
    See :meth:`System.plan`.

    >>> qs.PoseGoal("box", [1, 0, 0, 0, 0.1, 0, 0.03]).distance
    0.005
    """

    frame: str | int | Frame
    pose: ArrayLike
    angle: float = 0.05
    distance: float = 0.005
    counts: tuple[bool, bool, bool, bool, bool, bool] = (True,) * 6


@dataclass(frozen=True)
class JointGoal:
    """A value that a joint is to have.

    Parameters
    ----------
    coordinate : str
        One of :attr:`System.coordinates`, of a joint without a quaternion.
    value : float
        In m or rad.
    tolerance : float
        Permitted error, in m or rad, > 0.

    Examples
    --------
    >>> qs.JointGoal("door.hinge", 1.0).tolerance
    0.01
    """

    coordinate: str
    value: float
    tolerance: float = 0.01


@dataclass(frozen=True)
class Regrasp:
    """A grasp that plans may take anew: links that are placed on bodies.

    Parameters
    ----------
    links, bodies : names or indices of bodies
        Each link touches the body at the same place of the other list. One body, or one link, stands for all.
    ranges : mapping of str to (float, float), optional
        Which joints are drawn, by their coordinates, and from which range, in m or rad; as in
        :meth:`System.grasps`.
    clearance : float
        Least distance of everything else on the way there, in m, > 0.
    distance, reach : float
        As in :meth:`System.grasps`, in m.

    Examples
    --------
    See :meth:`System.plan`.

    >>> qs.Regrasp("finger", "box").clearance
    0.003
    """

    links: Sequence[str | int] | str | int
    bodies: Sequence[str | int] | str | int
    ranges: Mapping[str, tuple[float, float]] | None = None
    clearance: float = 0.003
    distance: float = 1e-4
    reach: float = 1.0


class GoalPlan(NamedTuple):
    """Commands that were found, where they lead, and what the check of them says.

    Parameters
    ----------
    solved : bool
        Whether the check finds that the plan reaches all goals and keeps all bounds.
    status : str
        How the search ended: ``"reached"``, ``"stalled"``, ``"steps"``, ``"time"``, ``"stopped"``, or
        ``"failed: …"``.
    u : ndarray, shape (T, n_u)
        Commands at the ends of the steps. Without a solution they lead as near to the goal as was found.
    q : ndarray, shape (T + 1, n_q)
        Configurations from the start on.
    h : float
        Time between two commands, in s.
    reached : list of int
        Number of steps after which each goal is reached.
    errors : ndarray, shape (T + 1, 4)
        Of the goal in turn, after each step: angle (rad), distance (m), error of joints (m or rad), and the largest
        of them as a share of its tolerance.
    refusals : list of str
        What the check holds against the plan; empty if it is solved.
    u0 : ndarray, shape (n_u,)
        Command at the start.

    Examples
    --------
    See :meth:`System.plan`.

    >>> qs.GoalPlan._fields[:3]
    ('solved', 'status', 'u')
    """

    solved: bool
    status: str
    u: Array
    q: Array
    h: float
    reached: list[int]
    errors: NDArray[np.float64]
    refusals: list[str]
    u0: Array


_Goal = PoseGoal | JointGoal

_PLANNERS = ("local", "mppi", "cem")


class PlanningSystem(RolloutSystem):
    """Plans: the part of :class:`System` that is about goals."""

    def plan(
        self,
        goals: _Goal | Sequence[_Goal | Sequence[_Goal]],
        *,
        q0: ArrayLike | None = None,
        u0: ArrayLike | None = None,
        planner: str = "local",
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        rates: ArrayLike = np.inf,
        states: Mapping[str, tuple[float, float]] | None = None,
        regrasps: Regrasp | Sequence[Regrasp] = (),
        roadmap: Roadmap | None = None,
        region: float = 0.05,
        contact_region: bool = False,
        horizon: int = 10,
        kappa: Sequence[float] = (1e-2, 1e-3, 1e-4),
        samples: int | None = None,
        rounds: int = 2,
        share: float = 0.1,
        effort: float = 0.1,
        at_end: float = 100.0,
        steps: int = 100,
        patience: int = 10,
        attempts: int = 30,
        shortcuts: int = 0,
        time: float = np.inf,
        seed: int = 0,
        h: float | None = None,
        params: StepParams | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> GoalPlan:
        """Searches for commands that bring bodies and joints to goals, and checks them.

        Each step improves the commands of the next ``horizon`` steps, takes the first of them, and goes on from where
        it leads. The step itself takes it, in steps of ``h / 10``; with the scene's law of friction, true distances
        and certificates. At the end a check that shares no code with the planner replays the commands. What it
        refuses is not solved. Use a scene whose motion does not depend on the step size (``relaxation`` a time, the
        default). Plans have the same bits for any number of threads.

        Parameters
        ----------
        goals : goal, or sequence of goals
            Reached one after another; a list of goals among them is reached at one time.
        q0 : array_like, shape (n_q,), optional
            Start; the scene's by default.
        u0 : array_like, shape (n_u,), optional
            Command at the start; without command error by default.
        planner : "local", "mppi" or "cem"
            Quadratic programs along relaxed rollouts (:meth:`rollouts`), for robots with many joints in contact; or
            averages of random rollouts of the step itself, for few joints and changes of contact.
        lower, upper : array_like, shape (n_u,) or ()
            Bounds of the commands, in m or rad.
        rates : array_like, shape (n_u,) or ()
            Largest rates of the commands, in m/s or rad/s.
        region : float
            Largest change of a command by one program, or deviation of random changes per step, in m or rad.
        contact_region : bool
            Programs of the local planner also keep the linearised impulses of contacts in their cones, and gaps open:
            the contact trust region (Suh et al. 2025).
        horizon : int
            Number of steps of the horizon.
        kappa : sequence of float
            Of the programs of an improvement in turn, in J: :class:`Smooth`. A contact at 1 cm pushes with
            100 kappa N.
        samples : int, optional
            Number of random rollouts: 32 of the local planner, where no program helps; 96 of the others.
        rounds : int
            Rounds of random rollouts for each step.
        share : float
            Of ``"mppi"`` the temperature, as a share of the spread of the better half of the costs; of ``"cem"``
            the share of the best samples.
        effort : float
            Cost of a change of a command by ``region`` in a step. An error at its tolerance costs 1/2.
        at_end : float
            Weight of the error at the end of the horizon; that of the other states is 1.
        states : mapping, optional
            Bounds of coordinates by name, in m or rad, at the ends of all steps.
        regrasps : Regrasp, or sequence of Regrasp
            Grasps that may be taken anew where nothing else helps, one of them at a time: drawn at random, ranked by
            what the planner makes of them, and reached on a path of the joints.
        roadmap : Roadmap, optional
            What earlier searches from its start found. The first four attempts start at the states that are nearest to the
            first goal, each on another way; what this search finds is added. It takes the place of ``q0``, ``u0`` and ``h``.
        steps, patience : int
            An attempt ends after so many steps, or so many without progress.
        attempts : int
            Number of attempts. The first has the settings given here; the others start anywhere along the best plan
            so far, with other horizons, regions, kappas and seeds.
        shortcuts : int
            Number of tries to reach the goals in fewer steps, once they are reached.
        time : float
            Time after which the search ends, in s, with the best plan so far. Without it a search ends at the same
            plan on every machine.
        seed : int
            Of random changes.
        h, params
            As for :meth:`step`.
        threads : int, optional
            All cores by default.
        progress : callable, optional
            Called with the steps taken and the most steps of all attempts. Ctrl-C ends the search with its error.

        Returns
        -------
        GoalPlan

        Raises
        ------
        ValueError
            A goal, bound or setting makes no sense, for example a tolerance of 0 or a start outside of the bounds.

        Examples
        --------
        A finger pushes a box five centimetres ahead:

        >>> system = qs.load("scenes/planar_pusher.yml", set={"step.relaxation": 1, "step.size": 0.1})
        >>> pose = system.pose("box", system.q0) + [0, 0, 0, 0, 0.05, 0, 0]
        >>> plan = system.plan(qs.PoseGoal("box", pose, angle=0.2), planner="mppi", region=0.02, rates=0.5)
        >>> plan.solved, plan.refusals
        (True, [])
        """
        if planner not in _PLANNERS:
            raise ValueError(f"planner is {planner!r}; give one of {', '.join(map(repr, _PLANNERS))}")
        for name, count in {"horizon": horizon, "rounds": rounds, "steps": steps, "patience": patience,
                            "attempts": attempts}.items():
            if not count >= 1:
                raise ValueError(f"{name} is {count}; it must be ≥ 1")
        if not shortcuts >= 0:
            raise ValueError(f"shortcuts is {shortcuts}; it must be ≥ 0")
        for name, size in {"region": region, "share": share, "time": time, **{f"kappa[{i}]": k for i, k in enumerate(kappa)}}.items():
            if not (0 < size < np.inf or name == "time" and size == np.inf):
                raise ValueError(f"{name} is {size}; it must be > 0")
        if samples is None:
            samples = 32 if planner == "local" else 96
        if samples < (0 if planner == "local" else 2):
            raise ValueError(f"samples is {samples}; it must be ≥ 2")
        if roadmap is not None:
            if not (q0 is None and u0 is None and h is None):
                raise ValueError("`roadmap` has its own start and time step; leave out q0, u0 and h")
            if not roadmap.is_of(self):
                raise ValueError(f"{roadmap!r} is of another system; make one for this system")
            q0, u0, h = roadmap.q0, roadmap.u0, roadmap.h
        start = shaped("q0", self.q0 if q0 is None else q0, (self.n_q,))
        before = shaped("u0", self.commanded(start) if u0 is None else u0, (self.n_u,))
        low, high, fast = (
            np.ascontiguousarray(np.broadcast_to(np.asarray(of, dtype=float), (self.n_u,)))
            for of in (lower, upper, rates)
        )
        given = [_together(goals)] if isinstance(goals, PoseGoal | JointGoal) else [_together(at) for at in goals]
        listed = [regrasps] if isinstance(regrasps, Regrasp) else regrasps
        new = [grasps_argument(of.links, of.bodies, of.ranges, (of.distance, of.clearance, of.reach)) for of in listed]
        data = _core.plan(
            self, (start, before, None if roadmap is None else roadmap._core), given, (low, high, fast, effort, at_end),
            ([(name, (float(a), float(b))) for name, (a, b) in (states or {}).items()], new),
            (planner, horizon, [float(k) for k in kappa], (region, contact_region), samples, rounds, share, seed),
            (steps, patience, attempts, shortcuts, time, checked_threads(threads)), h, params, progress,
        )  # fmt: skip
        return self._plan_of(data, before)

    def plan_scene(
        self,
        *,
        q0: ArrayLike | None = None,
        u0: ArrayLike | None = None,
        reached: int = 0,
        seed: int | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> GoalPlan:
        """Plans to the goals of the scene with the planner of its section ``plan``, as ``quasistep plan`` does.

        Change its numbers by :func:`load` or :meth:`with_`: ``set={"plan.limits.shortcuts": 40}``. A closed loop plans
        again from what it measured.

        Parameters
        ----------
        q0 : array_like, shape (n_q,), optional
            Start; the scene's by default.
        u0 : array_like, shape (n_u,), optional
            Command at the start: the scene's by default, or without command error if q0 is given.
        reached : int
            Number of goals that are reached already.
        seed : int, optional
            In place of the scene's.
        threads, progress
            As for :meth:`plan`.

        Returns
        -------
        GoalPlan

        Raises
        ------
        ValueError
            The scene has no section ``plan``, or its goals make no sense.

        Examples
        --------
        A finger turns a lever, and opens a door:

        >>> system = qs.load("scenes/open_door.yml")
        >>> plan = system.plan_scene()
        >>> plan.solved, len(plan.reached)
        (True, 2)

        From the state after the first goal, to the second:

        >>> k = plan.reached[0]
        >>> rest = system.plan_scene(q0=plan.q[k], u0=plan.u[k - 1], reached=1)
        >>> rest.solved, len(rest.reached)
        (True, 1)
        """
        start = None if q0 is None else shaped("q0", q0, (self.n_q,))
        if u0 is None:
            before = None if start is None else self.commanded(start)
        else:
            before = shaped("u0", u0, (self.n_u,))
        if reached < 0:
            raise ValueError(f"reached is {reached}; it must be ≥ 0")
        data, before = _core.plan_scene(self, start, before, reached, seed, checked_threads(threads), progress)
        return self._plan_of(data, before)

    @property
    def goals(self) -> list[list[PoseGoal | JointGoal]]:
        """Goals of the scene's section ``plan``, one after another: the targets of each, which hold at one time.

        Empty if the scene has no such section.

        Examples
        --------
        >>> system = qs.load("scenes/open_door.yml")
        >>> [goal.coordinate for (goal,) in system.goals]
        ['lever.turn', 'door.hinge']
        """
        section = _core.plan_section(self)
        return [] if section is None else [[_goal_of(*target) for target in goal] for goal in section["goals"]]

    def goal_errors(self, goal: _Goal | Sequence[_Goal], q: ArrayLike) -> Array:
        """How far a configuration is from a goal.

        Parameters
        ----------
        goal : goal, or sequence of goals
            A sequence is reached at one time.
        q : array_like, shape (n_q,)

        Returns
        -------
        ndarray, shape (4,)
            As a row of :attr:`GoalPlan.errors`: largest angle (rad), distance (m) and error of a joint (m or rad), and
            the largest of all errors as a share of its tolerance, at most 1 at the goal.

        Raises
        ------
        ValueError
            A number of q or of the goal is not finite, a tolerance is not > 0, or the goal names what the system does not
            have.

        Examples
        --------
        A joint is half a tolerance off, then a frame 3 mm of 5 mm:

        >>> system = qs.load("scenes/planar_push.yml")
        >>> system.goal_errors(qs.JointGoal("finger.x", system.q0[0] + 0.005), system.q0).round(9)
        array([0.   , 0.   , 0.005, 0.5  ])
        >>> there = system.pose("finger", system.q0) + [0, 0, 0, 0, 0.003, 0, 0]
        >>> system.goal_errors(qs.PoseGoal("finger", there), system.q0).round(9)
        array([0.   , 0.003, 0.   , 0.6  ])
        """
        targets: Sequence[_Goal] = [goal] if isinstance(goal, PoseGoal | JointGoal) else goal
        check_targets(targets)
        return np.array(_core.goal_errors(self, _together(targets), shaped("q", q, (self.n_q,))))

    def _plan_of(self, data: Mapping[str, Any], before: Array) -> GoalPlan:
        return GoalPlan(
            data["status"] == "reached" and not data["refusals"],
            data["status"],
            data["u"].reshape(-1, self.n_u),
            data["q"].reshape(-1, self.n_q),
            data["h"],
            data["reached"],
            data["errors"].reshape(-1, 4),
            data["refusals"],
            before,
        )


def grasps_argument(
    links: Sequence[str | int] | str | int,
    bodies: Sequence[str | int] | str | int,
    ranges: Mapping[str, tuple[float, float]] | None,
    lengths: tuple[float, float, float],
) -> _core._Grasps:
    """Links and the bodies that they touch, in pairs; ranges of joints; distance, clearance and reach."""
    first, second = _listed(links), _listed(bodies)
    if len(first) != len(second) and 1 not in (len(first), len(second)):
        raise ValueError(f"{len(first)} links and {len(second)} bodies; give one body for all links, or one for each")
    pairs = max(len(first), len(second)) if first and second else 0
    touches = [(first[k % len(first)], second[k % len(second)]) for k in range(pairs)]
    given = None if ranges is None else [(name, (float(low), float(high))) for name, (low, high) in ranges.items()]
    return touches, given, lengths


def _listed(names: Sequence[str | int] | str | int) -> list[str | int]:
    return [names] if isinstance(names, str | int) else list(names)


def check_targets(targets: Sequence[_Goal]) -> None:
    """Checks that there are targets, whose tolerances are > 0 and whose numbers are finite."""
    if not targets:
        raise ValueError("no goal was given; give at least one PoseGoal or JointGoal")
    for target in targets:
        if not isinstance(target, PoseGoal | JointGoal):
            raise ValueError(f"{target!r} is no PoseGoal or JointGoal; give one goal, or a list of those that hold at one time")
        if not np.isfinite(np.asarray(target.pose if isinstance(target, PoseGoal) else target.value, dtype=float)).all():
            raise ValueError(f"{target!r} has a number that is not finite")
        tolerances = (target.angle, target.distance) if isinstance(target, PoseGoal) else (target.tolerance,)
        if not all(0 < tolerance < np.inf for tolerance in tolerances):
            raise ValueError(f"{target!r} has the tolerance {min(tolerances)}; it must be > 0")


def _together(goals: _Goal | Sequence[_Goal]) -> list[tuple[Any, ...]]:
    """The targets of a goal."""
    if isinstance(goals, PoseGoal | JointGoal):
        return [_target(goals)]
    return [_target(goal) for goal in goals]


def _target(goal: _Goal) -> tuple[Any, ...]:
    if isinstance(goal, JointGoal):
        return goal.coordinate, float(goal.value), float(goal.tolerance)
    pose = shaped("pose", goal.pose, (7,))
    counts = [bool(c) for c in goal.counts]
    if len(counts) != 6:
        raise ValueError(f"`counts` has {len(counts)} entries; it must have 6")
    return frame_argument(goal.frame), pose.tolist(), counts, float(goal.angle), float(goal.distance)


def _goal_of(*given: Any) -> _Goal:
    """A goal of a scene's section `plan`."""
    if isinstance(given[0], str):
        return JointGoal(*given)
    body, X_BF, X_WG, counts, angle, distance = given
    offset = np.array(X_BF)
    frame: int | Frame = body
    if (offset != [1, 0, 0, 0, 0, 0, 0]).any():
        frame = Frame(body, xyz=tuple(offset[4:]), rpy=_rpy(offset[:4]))
    return PoseGoal(frame, np.array(X_WG), angle, distance, tuple(counts))


def _rpy(q: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a unit quaternion, in rad."""
    w, x, y, z = q
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return float(roll), float(pitch), float(yaw)
