"""The commands of a run for the controller of a robot."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._whole import write_whole

if TYPE_CHECKING:
    import os

    from ._core import Recording, System
    from ._types import Array


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """Commands of n joints at T times: the fields of ``trajectory_msgs/JointTrajectory``. Made by :meth:`Run.trajectory`.

    Velocities make the cubic spline of a controller monotone between two points (Fritsch and Carlson 1980), so that it does
    not leave the range of their positions; the joints stand still at the end.

    Attributes
    ----------
    joint_names : list of str
        Without their model, where that leaves them different.
    t : ndarray, shape (T,)
        From the start of the run, in s, > 0: the ends of the steps.
    positions, velocities : ndarray, shape (T, n)
        Commands, in m or rad, and their rates.
    effort : ndarray, shape (T, n)
        Drive forces of the run, in N or N·m.
    stiffness : ndarray, shape (n,)
        Of the joints' springs, in N/m or N·m/rad; infinite of a joint that moves as prescribed.
    left_out : list of str
        Commands that are not of joints.

    Examples
    --------
    >>> qs.load("scenes/gripper_2d.yml").simulate().trajectory()
    JointTrajectory(y, x_l, x_r: 35 points to 0.35 s)
    """

    joint_names: list[str]
    t: Array
    positions: Array
    velocities: Array
    effort: Array
    stiffness: Array
    left_out: list[str]
    _texts: tuple[str, str] = field(repr=False)

    def __repr__(self) -> str:
        end = f"{len(self.t)} points to {self.t[-1]:g} s"
        return f"JointTrajectory({', '.join(self.joint_names)}: {end})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it with stiffness and efforts, as YAML if the name ends in ``.yml`` or ``.yaml``, else as JSON.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> run.trajectory().save("/dev/null")
        """
        json, yaml = self._texts
        write_whole(path, yaml if Path(path).suffix in (".yml", ".yaml") else json)

    def to_ros(self, *, effort: bool = False) -> Any:
        """The message ``trajectory_msgs.msg.JointTrajectory``. ROS 2 must be installed, and its setup sourced.

        Parameters
        ----------
        effort : bool
            With the drive forces, which only some controllers take.

        Returns
        -------
        trajectory_msgs.msg.JointTrajectory

        Raises
        ------
        ImportError
            No ROS 2 is found.

        Examples
        --------
        >>> publisher.publish(run.trajectory().to_ros())   # doctest: +SKIP
        """
        try:
            from builtin_interfaces.msg import Duration  # type: ignore[import-not-found, unused-ignore]
            from trajectory_msgs.msg import (  # type: ignore[import-not-found, unused-ignore]
                JointTrajectory as Message,
            )
            from trajectory_msgs.msg import JointTrajectoryPoint
        except ImportError as error:
            raise ImportError(
                f"{error}: install ROS 2 with trajectory_msgs and source its setup file; save() writes the same fields as JSON or YAML"
            ) from error
        message = Message()
        message.joint_names = list(self.joint_names)
        for k, t in enumerate(self.t):
            seconds, nanoseconds = divmod(round(float(t) * 1e9), 10**9)
            point = JointTrajectoryPoint()
            point.positions = self.positions[k].tolist()
            point.velocities = self.velocities[k].tolist()
            if effort:
                point.effort = self.effort[k].tolist()
            point.time_from_start = Duration(sec=seconds, nanosec=nanoseconds)
            message.points.append(point)
        return message


def trajectory_of(recording: Recording, system: System, model: str | None) -> JointTrajectory:
    """The commands of a recording; of one model alone if it is given."""
    data = recording.trajectory(system, model)
    n = len(data["names"])
    rows = {name: np.reshape(np.array(data[name], dtype=float), (-1, n)) for name in ("positions", "velocities", "efforts")}
    stiffness = np.array([np.inf if k is None else k for k in data["stiffness"]])
    return JointTrajectory(
        data["names"], np.array(data["t"]), rows["positions"], rows["velocities"], rows["efforts"], stiffness,
        data["left_out"], (data["json"], data["yaml"]),
    )
