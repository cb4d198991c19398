"""Episodes, and their files for imitation learning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np

from .env import Env

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .._types import Array


class Episode(NamedTuple):
    """An episode of T control steps.

    Parameters
    ----------
    observations : ndarray, shape (T + 1, n)
        The last row is that at the end.
    actions : ndarray, shape (T, n_actions)
    rewards : ndarray, shape (T,)
    success : ndarray of bool, shape (T,)
        Whether the goal was reached after each step.
    pictures : ndarray of uint8, shape (T + 1, height, width, 3), or None

    Examples
    --------
    See :class:`Recorder`.

    >>> qs.gym.Episode._fields[:2]
    ('observations', 'actions')
    """

    observations: Array
    actions: Array
    rewards: Array
    success: NDArray[np.bool_]
    pictures: NDArray[np.uint8] | None


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps the episodes of an environment, and writes them as a LeRobot dataset.

    Parameters
    ----------
    env : gymnasium environment
        An :class:`Env`, wrapped or not, whose observation is one array.
    pictures : bool
        Also keep the picture before each step; the environment needs ``render_mode="rgb_array"``.

    Attributes
    ----------
    episodes : list of Episode
        Those that ended, by their end or by a reset.

    Examples
    --------
    >>> env = qs.gym.Recorder(qs.gym.Env("push_to_pose", max_steps=5))
    >>> _ = env.reset(seed=0)
    >>> while not env.step(env.action_space.sample())[3]:
    ...     pass
    >>> env.episodes[0].actions.shape
    (5, 2)
    >>> env.write_lerobot("out/pushes", "me/pushes")                     # doctest: +SKIP
    """

    def __init__(self, env: gymnasium.Env[Any, Any], pictures: bool = False) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, Env) or not isinstance(env.observation_space, gymnasium.spaces.Box):
            raise TypeError("Recorder takes a quasistep.gym.Env whose observation is one array (goal_observation=False)")
        if pictures and env.render_mode is None:
            raise ValueError("pictures were asked for, but the environment has no render_mode; give render_mode='rgb_array'")
        self.episodes: list[Episode] = []
        self._pictured = pictures
        self._rows: list[list[Any]] = [[], [], [], [], []]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode; that before it is kept, if it has a step."""
        self._end()
        observation, info = self.env.reset(seed=seed, options=options)
        self._keep(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Takes a control step, as :meth:`Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        for rows, value in zip(self._rows[1:4], (action, reward, info["is_success"]), strict=True):
            rows.append(np.array(value))
        self._keep(observation)
        if terminated or truncated:
            self._end()
        return observation, reward, terminated, truncated, info

    def write_lerobot(
        self,
        root: str | os.PathLike[str],
        repo_id: str,
        *,
        task: str | None = None,
        videos: bool = False,
    ) -> Path:
        """Writes the episodes as a LeRobot dataset (v3) by the package ``lerobot``.

        Features are ``observation.state``, ``action``, ``next.reward``, ``next.success`` and, with pictures,
        ``observation.images.camera``. Row t has the observation before action t.

        Parameters
        ----------
        root : path
            A folder that is not there yet.
        repo_id : str
            Name of the dataset, ``user/name``. Nothing is uploaded.
        task : str, optional
            The task in words; the scene's title by default.
        videos : bool
            Store pictures as video; as images otherwise.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        ImportError
            The package is not installed.
        ValueError
            There is no episode.
        """
        try:
            from lerobot.datasets.lerobot_dataset import LeRobotDataset
        except ImportError as error:
            raise ImportError("write_lerobot needs the package lerobot: pip install 'lerobot[dataset]'") from error
        if not self.episodes:
            raise ValueError("no episode has ended yet; there is nothing to write")
        env: Any = self.unwrapped
        dataset = LeRobotDataset.create(
            repo_id=repo_id, fps=max(1, round(1 / env.control_step)), features=self._features(videos), root=Path(root),
            robot_type=env.system.name, use_videos=videos,
        )  # fmt: skip
        for episode in self.episodes:
            for t in range(len(episode.actions)):
                frame = {
                    "observation.state": episode.observations[t].astype(np.float32),
                    "action": episode.actions[t].astype(np.float32),
                    "next.reward": episode.rewards[t : t + 1].astype(np.float32),
                    "next.success": episode.success[t : t + 1],
                    "task": task or env.system.title or env.system.name,
                }
                if episode.pictures is not None:
                    frame["observation.images.camera"] = episode.pictures[t]
                dataset.add_frame(frame)
            dataset.save_episode()
        dataset.finalize()
        return Path(root)

    def _features(self, videos: bool) -> dict[str, Any]:
        env: Any = self.unwrapped
        first = self.episodes[0]
        features: dict[str, Any] = {
            "observation.state": _feature("float32", env.observation_names),
            "action": _feature("float32", env.action_names),
            "next.reward": _feature("float32", ["reward"]),
            "next.success": _feature("bool", ["success"]),
        }
        if first.pictures is not None:
            features["observation.images.camera"] = {
                "dtype": "video" if videos else "image", "shape": first.pictures.shape[1:], "names": ["height", "width", "channels"],
            }  # fmt: skip
        return features

    def _keep(self, observation: Any) -> None:
        self._rows[0].append(np.array(observation))
        if self._pictured:
            self._rows[4].append(self.env.render())

    def _end(self) -> None:
        observations, actions, rewards, success, pictures = self._rows
        if actions:
            seen = np.array(pictures) if self._pictured else None
            self.episodes.append(Episode(np.array(observations), np.array(actions), np.array(rewards), np.array(success), seen))
        self._rows = [[], [], [], [], []]


def _feature(dtype: str, names: Sequence[str]) -> dict[str, Any]:
    return {"dtype": dtype, "shape": (len(names),), "names": list(names)}
