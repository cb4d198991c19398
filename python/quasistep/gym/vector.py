"""Many environments at once, in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as GymnasiumVectorEnv
from gymnasium.vector.utils import batch_space

from .env import checked_mode
from .rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._types import Array
    from ..system import System
    from .rows import Goal, Scene, Taken


class VectorEnv(GymnasiumVectorEnv[Any, Any, Any]):
    """Many environments of one task, stepped on all cores, as a gymnasium vector environment.

    Environment i has the results of an :class:`Env` with its seed, to the bit, for any number of environments and
    of threads.

    Parameters
    ----------
    scene : System, path or str
    num_envs : int
    autoreset_mode : AutoresetMode or str
        Whether an environment whose episode ended starts anew in the step after it, in the same step
        (``infos["final_obs"]`` and ``infos["final_info"]`` then have the ends), or by the caller
        (``options["reset_mask"]``).
    threads : int, optional
        As many as there are cores by default.
    goal, goal_range, start, vary, actions, bounds, observe, forces, goal_observation, reward, max_steps, hold, \
substeps, set, render_mode, camera, size
        As for :class:`Env`.

    Attributes
    ----------
    system : System
        Of the scene, without what is varied.

    Examples
    --------
    >>> envs = qs.gym.VectorEnv("push_to_pose", 64, vary={"models.box.mass": (0.3, 0.8)})
    >>> observations, infos = envs.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape
    ((64, 13), (64,))
    """

    def __init__(
        self,
        scene: Scene,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        goal: Goal | None = None,
        goal_range: Mapping[str, tuple[float, float]] | None = None,
        start: Mapping[str, float | tuple[float, float]] | None = None,
        vary: Mapping[str, tuple[float, float]] | None = None,
        actions: Mapping[str, float] | float | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        observe: Sequence[str] | None = None,
        forces: Sequence[tuple[str, str]] = (),
        goal_observation: bool = False,
        reward: str = "dense",
        max_steps: int = 100,
        hold: int = 1,
        substeps: int = 1,
        set: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        camera: Sequence[float] = (-0.3, 0.55, -0.75),
        size: tuple[int, int] = (480, 360),
    ) -> None:
        if not num_envs >= 1:
            raise ValueError(f"num_envs is {num_envs}; it must be ≥ 1")
        self._rows = Rows(
            num_envs, scene, goal=goal, goal_range=goal_range, start=start, vary=vary, actions=actions, bounds=bounds,
            observe=observe, forces=forces, goal_observation=goal_observation, reward=reward, max_steps=max_steps, hold=hold,
            substeps=substeps, set=set, threads=threads,
        )  # fmt: skip
        self.num_envs = num_envs
        self.render_mode = checked_mode(render_mode)
        self._look = camera, size
        self._mode = AutoresetMode(autoreset_mode)
        self.single_observation_space = self._rows.observation_space
        self.single_action_space = self._rows.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {
            "render_modes": ["rgb_array"], "render_fps": 1 / self._rows.control_step, "autoreset_mode": self._mode,
        }  # fmt: skip
        self._rngs: list[np.random.Generator] = []
        self._ended = np.zeros(num_envs, dtype=bool)

    @property
    def system(self) -> System:
        return self._rows.system

    @property
    def q(self) -> Array:
        """The current configurations, shape (num_envs, n_q)."""
        return self._rows.told[:, : self.system.n_q].copy()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts episodes.

        Parameters
        ----------
        seed : int or sequence of int, optional
            Of environment i: ``seed + i``, or its own.
        options : dict, optional
            As for :meth:`Env.reset`, for all; and ``"reset_mask"``, shape (num_envs,): which of them start anew.

        Returns
        -------
        observations
        infos : dict
            Of :meth:`Env.reset`, as arrays.
        """
        n = self.num_envs
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        chosen = np.ones(n, dtype=bool) if mask is None else np.asarray(mask)
        if chosen.shape != (n,) or chosen.dtype != bool or not chosen.any():
            raise ValueError(f"options['reset_mask'] is {mask!r}; give {n} booleans, at least one of them True")
        seeds: list[int | None] = [None] * n
        if seed is not None:
            seeds = [seed + i for i in range(n)] if isinstance(seed, int) else list(seed)
        if len(seeds) != n:
            raise ValueError(f"{len(seeds)} seeds were given for {n} environments")
        if not self._rngs:
            self._rngs = [seeding.np_random(own)[0] for own in seeds]
        for i, own in enumerate(seeds):
            if chosen[i] and own is not None:
                self._rngs[i] = seeding.np_random(own)[0]
        self._restart(np.flatnonzero(chosen), options)
        self._ended[chosen] = False
        return self._rows.observations(), self._infos(self._rows.share, chosen)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Takes a control step of every environment.

        Parameters
        ----------
        actions : array_like, shape (num_envs, n_actions)

        Returns
        -------
        observations, rewards, terminated, truncated, infos
            Arrays, one entry for each environment. ``infos`` are those of :meth:`Env.step`.
        """
        if not self._rngs:
            raise RuntimeError("step was called before reset")
        n, rows = self.num_envs, self._rows
        waiting = np.flatnonzero(self._ended)
        if self._mode == AutoresetMode.DISABLED and len(waiting):
            raise RuntimeError(
                f"the episode of environment {waiting[0]} has ended; reset it with options={{'reset_mask': …}}, or choose another autoreset_mode"
            )
        taken = rows.step(actions, waiting.tolist())
        rewards, terminated, truncated = taken.rewards, taken.terminated, taken.truncated
        chosen = np.ones(n, dtype=bool)
        if len(waiting):
            # these start anew in this step, whatever their actions
            self._restart(waiting, {})
            rewards[waiting], terminated[waiting], truncated[waiting] = 0.0, False, False
        self._ended = terminated | truncated
        infos = self._infos(rows.share, chosen, taken)
        observations = rows.observations()
        if self._mode == AutoresetMode.SAME_STEP and self._ended.any():
            ended = np.flatnonzero(self._ended)
            final = self._infos(rows.share, self._ended, taken)
            self._restart(ended, {})
            infos = self._infos(rows.share, chosen)
            infos |= {"final_obs": _each(observations, ended, n), "_final_obs": self._ended.copy()}
            infos |= {"final_info": final, "_final_info": self._ended.copy()}
            self._ended = np.zeros(n, dtype=bool)
            observations = rows.observations()
        return observations, rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """Pictures of all environments; None without a ``render_mode``."""
        if self.render_mode is None:
            return None
        return tuple(self._rows.picture(i, *self._look) for i in range(self.num_envs))

    def _restart(self, rows: Any, options: dict[str, Any]) -> None:
        self._rows.reset(rows, [self._rngs[i] for i in rows], options)

    def _infos(self, share: Array, chosen: Any, taken: Taken | None = None) -> dict[str, Any]:
        """Infos of those that are chosen, as arrays with their masks."""
        infos = {
            "is_success": (share <= 1.0) & chosen, "_is_success": chosen.copy(),
            "goal_error": np.where(chosen, share, 0.0), "_goal_error": chosen.copy(),
        }  # fmt: skip
        failures = {} if taken is None else {i: text for i, text in taken.failures.items() if chosen[i]}
        if failures:
            texts = np.full(len(share), None, dtype=object)
            texts[list(failures)] = list(failures.values())
            infos |= {"failure": texts, "_failure": np.array([text is not None for text in texts])}
        return infos


def _each(observations: Any, rows: Any, n: int) -> Any:
    """Observations of some rows, each by itself."""
    each = np.full(n, None, dtype=object)
    for i in rows:
        each[i] = {key: of[i] for key, of in observations.items()} if isinstance(observations, dict) else observations[i]
    return each
