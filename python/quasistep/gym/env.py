"""One environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from .rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .._types import Array
    from ..system import System
    from .rows import Goal, Scene


class Env(gymnasium.Env[Any, Any]):
    """A manipulation task as a gymnasium environment: bring bodies and joints of a scene to a goal.

    An action changes the commands of driven joints, the step moves what they touch. Steps are those of
    :meth:`System.step`, with certificates: a step that fails ends the episode as truncated, with its sentence in
    ``info["failure"]``; observation and reward are then those of the state before it.

    Parameters
    ----------
    scene : System, path or str
        A system, a scene file, or the name of a scene that the package carries: ``"push_to_pose"``,
        ``"planar_hand"``, ``"ball_in_hand"``, ``"door"``.
    goal : PoseGoal, JointGoal or list of these, optional
        Reached together, each within its tolerance; the first goal of the scene's ``plan`` section by default.
    goal_range : mapping of str to (float, float), optional
        Displacements of the goal that are drawn at each reset: of poses ``"x"``, ``"y"``, ``"z"`` (m) and ``"rx"``,
        ``"ry"``, ``"rz"`` (rad) about the world's axes; of joints by their coordinates.
    start : mapping of str to float or (float, float), optional
        Coordinates at the start, and ranges from which they are drawn at each reset, in m or rad. A start that
        overlaps is drawn again.
    vary : mapping of str to (float, float), optional
        Values of the scene by their dotted keys that are drawn at each reset: ``{"models.box.mass": (0.3, 0.8)}``.
    actions : mapping of str to float, or float, optional
        Commands that actions change, and by how much at most in a control step, in m or rad; ``plan.rates`` of the
        scene by default. Other commands stay as the scene begins.
    bounds : mapping of str to (float, float), optional
        Bounds of commands, beside those of the scene's ``plan`` section, in m or rad.
    observe : sequence of str, optional
        Parts of the observation, ``("q", "u", "error")`` by default: ``"q"`` (configuration), ``"u"`` (commands), ``"error"`` (rotation vector, rad, and
        displacement, m, from the goal in the world, and errors of joints), ``"v"`` (velocities of the last step),
        ``"effort"`` (drive forces, N or N·m), ``"force"``.
    forces : sequence of (str, str)
        Pairs of bodies: of ``"force"``, the sum of the contact forces of the first on the second, in N.
    goal_observation : bool
        Observations are dicts of ``observation``, ``achieved_goal`` and ``desired_goal``, as hindsight replay needs
        them: a pose as quaternion w, x, y, z and position, a joint as its value. ``"error"`` is then not observed.
    reward : "dense" or "sparse"
        Dense: the way made to the goal in this step, as a share of the whole way, and 1 at its end. Sparse: 0
        within the tolerance of the goal, else -1.
    max_steps : int
        Control steps after which an episode is truncated.
    hold : int
        Control steps in turn within the tolerance that end an episode as terminated.
    substeps : int
        Steps of the scene's size in a control step; commands move evenly over them.
    set : mapping of str to value, optional
        Values of the scene replaced by their dotted keys, as for :func:`load`.
    render_mode : "rgb_array", optional
        :meth:`render` then returns a picture, drawn in software.
    camera : sequence of 3 float
        Where the camera looks, in the world's axes.
    size : tuple of int
        Width and height of pictures, in px.

    Attributes
    ----------
    system : System
        Of the scene, without what is varied.
    compute_reward : callable(achieved_goal, desired_goal, info)
        With ``goal_observation``, for hindsight replay: the sparse rewards, shape (...), of goals that were achieved, shape
        (..., G), had others been desired.

    Examples
    --------
    >>> env = qs.gym.Env("push_to_pose", start={"box.y": (-0.05, 0.05)}, goal_range={"x": (-0.05, 0.05)})
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step([1.0, 0.0])     # the finger is told 5 cm ahead
    >>> env.u.round(6)
    array([-0.07,  0.02])
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    compute_reward: Callable[[Any, Any, Any], Any]

    def __init__(
        self,
        scene: Scene,
        *,
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
        self._rows = Rows(
            1, scene, goal=goal, goal_range=goal_range, start=start, vary=vary, actions=actions, bounds=bounds, observe=observe,
            forces=forces, goal_observation=goal_observation, reward=reward, max_steps=max_steps, hold=hold, substeps=substeps,
            set=set, threads=1,
        )  # fmt: skip
        self.render_mode = checked_mode(render_mode)
        self._look = camera, size
        # libraries take an environment that has it for one of goals
        if goal_observation:
            self.compute_reward = self._rows.compute_reward
        self.observation_space = self._rows.observation_space
        self.action_space = self._rows.action_space
        self.metadata = {**self.metadata, "render_fps": 1 / self._rows.control_step}

    @property
    def system(self) -> System:
        return self._rows.system

    @property
    def q(self) -> Array:
        """The current configuration, shape (n_q,)."""
        q: Array = self._rows.told[0, : self.system.n_q].copy()
        return q

    @property
    def u(self) -> Array:
        """The current command, shape (n_u,)."""
        u: Array = self._rows.u[0].copy()
        return u

    @property
    def control_step(self) -> float:
        """Time of a control step, in s."""
        return self._rows.control_step

    @property
    def observation_names(self) -> list[str]:
        """Names of the entries of the flat observation."""
        return self._rows.observation_names()

    @property
    def action_names(self) -> list[str]:
        """Names of the commands that actions change."""
        return [self.system.commands[i] for i in self._rows.acted]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode.

        Parameters
        ----------
        seed : int, optional
            Of all that is drawn from here on.
        options : dict, optional
            ``"start"``: a configuration, or coordinates by name, in place of a drawn start. ``"goal"``: goals of the
            same kinds in place of a drawn one.

        Returns
        -------
        observation
        info : dict
            ``is_success`` and ``goal_error``, the largest error as a share of its tolerance.
        """
        super().reset(seed=seed)
        self._rows.reset(np.zeros(1, dtype=np.intp), [self.np_random], options)
        return first(self._rows.observations()), self._info(self._rows.share[0])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes a control step.

        Parameters
        ----------
        action : array_like, shape (n_actions,)
            From -1 to 1: changes of commands, as shares of the largest ones.

        Returns
        -------
        observation, reward, terminated, truncated, info
            ``info`` has ``failure`` if a step was not taken.
        """
        taken = self._rows.step(np.asarray(action)[None])
        info = self._info(taken.share[0])
        if taken.failures:
            info["failure"] = taken.failures[0]
        rewards, terminated, truncated = float(taken.rewards[0]), bool(taken.terminated[0]), bool(taken.truncated[0])
        return first(self._rows.observations()), rewards, terminated, truncated, info

    def render(self) -> Any:
        """A picture, shape (height, width, 3), bodies at their goals translucent; None without a ``render_mode``."""
        return None if self.render_mode is None else self._rows.picture(0, *self._look)

    @staticmethod
    def _info(share: Any) -> dict[str, Any]:
        return {"is_success": bool(share <= 1.0), "goal_error": float(share)}


def checked_mode(mode: str | None) -> str | None:
    """The mode, if there is one of this name."""
    if mode not in (None, "rgb_array"):
        raise ValueError(f"render_mode is {mode!r}; give 'rgb_array' or None")
    return mode


def first(observations: Any) -> Any:
    """The observation of the first row."""
    if isinstance(observations, dict):
        return {key: rows[0] for key, rows in observations.items()}
    return observations[0]
