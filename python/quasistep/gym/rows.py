"""Environments as rows of arrays: all that single and vectorised ones share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium import spaces

from .. import _core
from .._load import load, loads
from .._shapes import checked_threads, shaped
from .._yaml import changes
from ..kinematics import frame_argument
from ..planning import JointGoal, PoseGoal
from ..system import System
from .goals import GoalRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from .._types import Array

Goal = PoseGoal | JointGoal | Sequence[PoseGoal | JointGoal]
Scene = System | str | os.PathLike[str]

REWARDS = ("dense", "sparse")
OBSERVATIONS = ("q", "u", "error", "v", "effort", "force")
# entries of observations without a bound have this one: a finite number, as spaces want it
_FAR = float(np.finfo(np.float32).max)
# a start may overlap by so much more than that of the scene, in m
_OVERLAP = 1e-6
_DRAWS = 100


class Taken(NamedTuple):
    """What a control step led to, one row for each environment."""

    rewards: Array
    terminated: Any
    truncated: Any
    share: Array
    failures: dict[int, str]


def system_of(scene: Scene, set: Mapping[str, Any] | None) -> System:
    """The system of a path, of the name of a scene that the package carries, or itself."""
    if isinstance(scene, System):
        return scene.with_(set) if set else scene
    text = _core.packaged_scene(scene) if isinstance(scene, str) else None
    if text is None:
        return load(scene, set)
    system = loads(text, str(scene))
    return system.with_(set) if set else system


class Rows:
    """``n`` environments of one task. Their random numbers are the caller's."""

    def __init__(
        self,
        n: int,
        scene: Scene,
        *,
        goal: Goal | None,
        goal_range: Mapping[str, tuple[float, float]] | None,
        start: Mapping[str, float | tuple[float, float]] | None,
        vary: Mapping[str, tuple[float, float]] | None,
        actions: Mapping[str, float] | float | None,
        bounds: Mapping[str, tuple[float, float]] | None,
        observe: Sequence[str] | None,
        forces: Sequence[tuple[str, str]],
        goal_observation: bool,
        reward: str,
        max_steps: int,
        hold: int,
        substeps: int,
        set: Mapping[str, Any] | None,
        threads: int | None,
    ) -> None:
        self.system = system = system_of(scene, set)
        if system.tolerance is not None:
            raise ValueError("`step.tolerance` was seen in the scene; environments take steps of one size: give `step.size` alone")
        for name, count in {"max_steps": max_steps, "hold": hold, "substeps": substeps}.items():
            if not count >= 1:
                raise ValueError(f"{name} is {count}; it must be ≥ 1")
        if reward not in REWARDS:
            raise ValueError(f"reward is {reward!r}; give one of {', '.join(map(repr, REWARDS))}")
        if observe is None:
            observe = ("q", "u") if goal_observation else ("q", "u", "error")
        if goal_observation and "error" in observe:
            raise ValueError("observe has 'error', which is not that of other goals; leave it out with goal_observation=True")
        for part in observe:
            if part not in OBSERVATIONS:
                raise ValueError(f"observe has {part!r}; give some of {', '.join(map(repr, OBSERVATIONS))}")
        self.n, self.reward, self.max_steps, self.hold, self.substeps = n, reward, max_steps, hold, substeps
        self.observe, self.goal_observation = tuple(observe), goal_observation
        section = _core.plan_section(system)
        if goal is None:
            if section is None:
                raise ValueError(f"the scene {system.name!r} has no `plan` section with a goal; give goal=")
            goal = system.goals[0]
        self.goals = GoalRows(system, goal)
        self._set_actions(section, actions, bounds)
        self._set_draws(goal_range or {}, start or {}, vary or {})
        self.pairs = pairs = [(str(a), str(b)) for a, b in forces]
        frames = [frame_argument(frame) for frame in self.goals.frames()]
        self.instances = _core.Instances(system, n, frames, pairs, checked_threads(threads))
        self._overlap = float(self.instances.reset([0], system.q0, None)[1][0])
        widths = [system.n_q, system.n_v, system.n_u_v, 7 * len(frames), 3 * len(pairs)]
        self._columns = [slice(end - width, end) for width, end in zip(widths, np.cumsum(widths), strict=True)]
        self.told = np.zeros((n, sum(widths)))
        self.u = np.zeros((n, system.n_u))
        self.desired = np.tile(self.goals.given, (n, 1))
        self.achieved = self.desired.copy()
        self.errors = np.zeros((n, len(self.goals.counted)))
        self.distance, self.first = np.zeros((2, n))
        self.steps, self.held = np.zeros((2, n), dtype=np.int64)
        self.observation_space = self._observation_space()
        self.action_space = spaces.Box(-1.0, 1.0, (len(self.acted),), np.float32)
        self.camera: Any = None

    @property
    def control_step(self) -> float:
        """Time of a control step, in s."""
        return self.system.h * self.substeps

    def _set_actions(
        self,
        section: dict[str, Any] | None,
        actions: Mapping[str, float] | float | None,
        bounds: Mapping[str, tuple[float, float]] | None,
    ) -> None:
        """Which commands change, by how much at most in a control step, and between which bounds."""
        system = self.system
        limits = np.tile([-np.inf, np.inf], (system.n_u, 1))
        rates = np.full(system.n_u, np.inf)
        if section is not None:
            limits, rates = section["bounds"].reshape(-1, 2), section["rates"]
        for name, (low, high) in (bounds or {}).items():
            if not low <= high:
                raise ValueError(f"bounds[{name!r}] is ({low}, {high}); give (low, high)")
            limits[system.commands.indices(name)] = low, high
        most = rates * self.control_step
        if isinstance(actions, int | float):
            most = np.full(system.n_u, float(actions))
        elif actions is not None:
            most = np.full(system.n_u, np.nan)
            for name, value in actions.items():
                most[system.commands.indices(name)] = value
        self.acted = np.flatnonzero(~np.isnan(most))
        self.scale = most[self.acted]
        if not (len(self.acted) and (self.scale > 0).all() and (self.scale < np.inf).all()):
            raise ValueError(
                f"the largest changes of the commands {', '.join(system.commands)} in a control step are {most.tolist()}; give "
                "actions={name: change in m or rad}, numbers > 0, or `plan.rates` in the scene"
            )
        self.lower, self.upper = limits[self.acted].T
        self._limits = limits
        # other commands stay as the scene begins
        self._u0 = system.command(0.0)[0]

    def _set_draws(
        self,
        goal_range: Mapping[str, tuple[float, float]],
        start: Mapping[str, float | tuple[float, float]],
        vary: Mapping[str, tuple[float, float]],
    ) -> None:
        """What is drawn at each reset: one uniform number for each range."""
        system = self.system
        pairs = {name: _pair("start", name, value) for name, value in start.items()}
        self._start_at = np.array([system.coordinates.index(name) for name in pairs], dtype=np.intp)
        turned = [name for name in pairs if name.rsplit(".", 1)[-1] in ("qw", "qx", "qy", "qz")]
        if turned:
            raise ValueError(f"start has {turned[0]!r}, a number of a quaternion; give options={{'start': q}} at each reset")
        self._vary = {name: _pair("vary", name, value) for name, value in vary.items()}
        low, high = self.goals.ranges(goal_range)
        self._goal_drawn = np.flatnonzero(high > low)
        self._goal_low = low
        ranges = np.array([*pairs.values(), *np.stack([low, high], axis=1)[self._goal_drawn], *self._vary.values()])
        self._low, self._span = ranges.reshape(-1, 2)[:, 0], np.diff(ranges.reshape(-1, 2), axis=1)[:, 0]
        if self._vary:
            # names and values that are not valid are errors before the first reset
            system.with_({name: pair[0] for name, pair in self._vary.items()})

    def _observation_space(self) -> spaces.Box | spaces.Dict:
        system = self.system
        widths = {"q": system.n_q, "u": system.n_u, "error": int(self.goals.counted.sum()), "v": system.n_v}
        widths |= {"effort": system.n_u_v, "force": self._columns[4].stop - self._columns[4].start}
        limits = [self._limits if part == "u" else np.tile([-np.inf, np.inf], (widths[part], 1)) for part in self.observe]
        if not (limits or self.goal_observation):
            raise ValueError("observe is empty; give some of " + ", ".join(map(repr, OBSERVATIONS)))
        low, high = np.clip(np.concatenate([np.zeros((0, 2)), *limits]), -_FAR, _FAR).T
        box = spaces.Box(low, high, low.shape, np.float64)
        if not self.goal_observation:
            return box
        goal = spaces.Box(-_FAR, _FAR, (len(self.goals.given),), np.float64)
        return spaces.Dict({"observation": box, "achieved_goal": goal, "desired_goal": goal})

    def reset(
        self, rows: NDArray[np.intp], rngs: Sequence[np.random.Generator], options: Mapping[str, Any] | None = None
    ) -> None:
        """Starts these rows anew, each with its own random numbers."""
        options = options or {}
        unknown = [key for key in options if key not in ("goal", "start")]
        if unknown:
            raise ValueError(f"options has {unknown[0]!r}; give 'goal', 'start' or both")
        start, goal = options.get("start"), options.get("goal")
        if start is not None:
            start = self.system.q_vector(start) if hasattr(start, "items") else shaped("options['start']", start, (self.system.n_q,))
        if goal is not None:
            goal = self.goals.row(goal, self.system)
        left, own = rows, list(rngs)
        for _ in range(_DRAWS):
            overlaps = self._start(left, own, start, goal)
            if start is not None:
                break
            bad = overlaps > self._overlap + _OVERLAP
            if not bad.any():
                break
            left, own = left[bad], [rng for rng, again in zip(own, bad, strict=True) if again]
        else:
            raise ValueError(f"{_DRAWS} starts that were drawn overlap, the last one by {overlaps[bad].max():g} m; give other ranges of start")
        self.u[rows] = self._u0
        commanded = self.system.commanded(self.told[rows][:, self._columns[0]])
        self.u[np.ix_(rows, self.acted)] = commanded[:, self.acted]
        self.steps[rows] = self.held[rows] = 0
        self._measure()
        self.first[rows] = np.maximum(self.distance[rows], 1.0)

    def _start(self, rows: Any, rngs: Sequence[np.random.Generator], start: Array | None, goal: Array | None) -> Array:
        """Draws and places these rows; returns their overlaps, in m."""
        drawn = self._low + self._span * np.array([rng.random(len(self._low)) for rng in rngs]).reshape(len(rows), -1)
        n_start, n_goal = len(self._start_at), len(self._goal_drawn)
        q = np.tile(self.system.q0 if start is None else start, (len(rows), 1))
        if start is None:
            q[:, self._start_at] = drawn[:, :n_start]
        by = np.tile(self._goal_low, (len(rows), 1))
        by[:, self._goal_drawn] = drawn[:, n_start : n_start + n_goal]
        self.desired[rows] = self.goals.moved(by) if goal is None else goal
        own = None
        if self._vary:
            values = drawn[:, n_start + n_goal :]
            own = [changes(dict(zip(self._vary, row.tolist(), strict=True))) for row in values]
        told, overlaps, errors = self.instances.reset(rows.tolist(), q, own)
        for error in errors.values():
            raise error
        self.told[rows] = told.reshape(len(rows), -1)
        return overlaps

    def step(self, actions: Array, skip: Sequence[int] = ()) -> Taken:
        """A control step of all rows but those to be skipped."""
        before = self.distance
        actions = shaped("action", actions, (self.n, len(self.acted)))
        if not np.isfinite(actions).all():
            raise ValueError("an action is not a finite number")
        wanted = np.clip(actions, -1.0, 1.0) * self.scale + self.u[:, self.acted]
        u = self.u.copy()
        u[:, self.acted] = np.clip(wanted, self.lower, self.upper)
        if self.substeps == 1:
            path = u
        else:
            share = np.arange(1, self.substeps + 1)[:, None] / self.substeps
            path = self.u[:, None, :] + (u - self.u)[:, None, :] * share
            path[:, -1] = u
        kept = self.u
        told, failed = self.instances.step(path, self.substeps, list(skip))
        self.told = told.reshape(self.n, -1)
        if len(skip):
            u[skip] = kept[skip]
        self.u = u
        self._measure()
        self.steps += 1
        share, success = self.share, self.share <= 1.0
        self.held = np.where(success, self.held + 1, 0)
        terminated = self.held >= self.hold
        lost = np.zeros(self.n, dtype=bool)
        lost[list(failed)] = True
        terminated &= ~lost
        truncated = ((self.steps >= self.max_steps) | lost) & ~terminated
        if self.reward == "sparse":
            rewards = np.where(success, 0.0, -1.0)
        else:
            rewards = (before - self.distance) / self.first + terminated
        return Taken(rewards, terminated, truncated, share, {i: str(error) for i, error in failed.items()})

    def _measure(self) -> None:
        q, _, _, poses, _ = (self.told[:, columns] for columns in self._columns)
        self.achieved = self.goals.achieved(q, poses)
        self.errors = self.goals.errors(self.achieved, self.desired)
        self.share, self.distance = self.goals.measures(self.errors)

    def observations(self) -> Any:
        """Observations of all rows; new arrays."""
        q, v, effort, _, force = (self.told[:, columns] for columns in self._columns)
        parts = {"q": q, "u": self.u, "error": self.errors[:, self.goals.counted], "v": v, "effort": effort, "force": force}
        flat = np.concatenate([np.zeros((self.n, 0)), *(parts[part] for part in self.observe)], axis=1)
        if not self.goal_observation:
            return flat
        return {"observation": flat, "achieved_goal": self.achieved.copy(), "desired_goal": self.desired.copy()}

    def observation_names(self) -> list[str]:
        """Names of the entries of a flat observation."""
        system = self.system
        errors = [name for name, counted in zip(self.goals.names(), self.goals.counted, strict=True) if counted]
        parts = {
            "q": list(system.coordinates),
            "u": [f"command {name}" for name in system.commands],
            "error": errors,
            "v": list(system.dofs),
            "effort": [f"effort {name}" for name in system.efforts],
            "force": [f"force {a} {b} {axis}" for a, b in self.pairs for axis in "xyz"],
        }
        return [name for part in self.observe for name in parts[part]]

    def compute_reward(self, achieved: Any, desired: Any, _info: Any = None) -> Any:
        """The sparse reward of goals that were achieved instead of others."""
        if self.reward != "sparse":
            raise ValueError(f"reward is {self.reward!r}, which depends on the step before; give reward='sparse' for other goals")
        errors = self.goals.errors(np.asarray(achieved, dtype=float), np.asarray(desired, dtype=float))
        return np.where(self.goals.measures(errors)[0] <= 1.0, 0.0, -1.0)

    def picture(self, row: int, direction: Sequence[float], size: tuple[int, int]) -> Any:
        """Pixels of a row, with bodies at their goals, translucent; shape (height, width, 3)."""
        width, height = size
        if self.camera is None:
            corners = np.tile(self.system.q0, (3, 1))
            own = self.system._name_lists["u_in_q"]
            for corner, limit in zip(corners[1:], self._limits.T, strict=True):
                for command, coordinate in enumerate(own):
                    # bounds are often wide: a picture shows half of the way to them
                    if np.isfinite(limit[command]):
                        corner[coordinate] = (corner[coordinate] + limit[command]) / 2
            self.camera = self.instances.camera(corners, list(direction), width / height)
        goals = self.desired[row, : 7 * len(self.goals.poses)].reshape(-1, 7)
        pixels = self.instances.picture(row, goals.tolist(), self.camera, width, height)
        return np.frombuffer(pixels, dtype=np.uint8).reshape(height, width, 3).copy()


def _pair(what: str, name: str, value: float | tuple[float, float]) -> tuple[float, float]:
    low, high = (value, value) if isinstance(value, int | float) else value
    if not -np.inf < low <= high < np.inf:
        raise ValueError(f"{what}[{name!r}] is {value!r}; give (low, high)")
    return float(low), float(high)
