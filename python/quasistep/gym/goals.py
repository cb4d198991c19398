"""Goals as rows of numbers: what environments compare with where frames and joints are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._shapes import shaped
from ..planning import JointGoal, PoseGoal, check_targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._records import Frame
    from .._types import Array
    from ..system import System

_COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")


class GoalRows:
    """A goal of one or more targets. A row has seven numbers for each pose (unit quaternion w, x, y, z,
    position in m) and one for each joint (m or rad).
    """

    def __init__(self, system: System, goal: PoseGoal | JointGoal | Sequence[PoseGoal | JointGoal]) -> None:
        self.targets = [goal] if isinstance(goal, PoseGoal | JointGoal) else list(goal)
        check_targets(self.targets)
        self.poses = [target for target in self.targets if isinstance(target, PoseGoal)]
        self._joints = [target for target in self.targets if isinstance(target, JointGoal)]
        self._coordinates = np.array([system.coordinates.index(joint.coordinate) for joint in self._joints], dtype=np.intp)
        self._counts = np.array([target.counts for target in self.poses], dtype=float).reshape(-1, 6)
        per_pose = [[target.angle] * 3 + [target.distance] * 3 for target in self.poses]
        self._tolerances = np.array(per_pose, dtype=float).reshape(-1, 6)
        self._joint_tolerances = np.array([joint.tolerance for joint in self._joints], dtype=float)
        rows = [shaped("pose", target.pose, (7,)) for target in self.poses]
        for row in rows:
            row[:4] /= np.linalg.norm(row[:4])
        self.given = np.concatenate([*rows, [joint.value for joint in self._joints]])
        self.counted = np.concatenate([self._counts.ravel() > 0, np.ones(len(self._joints), dtype=bool)])

    def achieved(self, q: Array, poses: Array) -> Array:
        """Rows of where things are: from configurations, shape (n, n_q), and poses, shape (n, k, 7)."""
        return np.concatenate([poses.reshape(len(q), -1), q[:, self._coordinates]], axis=1)

    def errors(self, achieved: Array, desired: Array) -> Array:
        """Rotation vector (rad) and displacement (m) from each goal, in the world, and errors of joints.

        Components that do not count are zero. Shapes (…, G) to (…, 6 k + j).
        """
        k = len(self.poses)
        # equal rows have equal bits in any number: all arrays are contiguous, and nothing is summed by numpy
        a = np.ascontiguousarray(np.moveaxis(achieved[..., : 7 * k].reshape(*achieved.shape[:-1], k, 7), -1, 0))
        d = np.ascontiguousarray(np.moveaxis(desired[..., : 7 * k].reshape(*desired.shape[:-1], k, 7), -1, 0))
        # the rotation from the goal to where it is: q_a times the conjugate of q_d
        w = a[0] * d[0] + a[1] * d[1] + a[2] * d[2] + a[3] * d[3]
        x = a[1] * d[0] - a[0] * d[1] + a[3] * d[2] - a[2] * d[3]
        y = a[2] * d[0] - a[0] * d[2] + a[1] * d[3] - a[3] * d[1]
        z = a[3] * d[0] - a[0] * d[3] + a[2] * d[1] - a[1] * d[2]
        norm = np.sqrt(x * x + y * y + z * z)
        angle = 2 * np.arctan2(norm, np.abs(w))
        scale = np.copysign(np.where(norm > 0, angle / np.where(norm > 0, norm, 1), 2.0), w)
        parts = np.stack([x * scale, y * scale, z * scale, a[4] - d[4], a[5] - d[5], a[6] - d[6]], axis=-1)
        poses = (parts * self._counts).reshape(*achieved.shape[:-1], 6 * k)
        return np.concatenate([poses, achieved[..., 7 * k :] - desired[..., 7 * k :]], axis=-1)

    def measures(self, errors: Array) -> tuple[Array, Array]:
        """The largest error as a share of its tolerance, as the check of plans measures it: at most 1 at the goal.
        And the root of the summed squares of all shares.
        """
        k = len(self.poses)
        e = errors[..., : 6 * k].reshape(*errors.shape[:-1], k, 6) / self._tolerances
        squares = np.moveaxis(e * e, -1, 0)
        turns, ways = squares[0] + squares[1] + squares[2], squares[3] + squares[4] + squares[5]
        joints = (errors[..., 6 * k :] / self._joint_tolerances) ** 2
        parts = np.ascontiguousarray(np.moveaxis(np.concatenate([turns, ways, joints], axis=-1), -1, 0))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return np.sqrt(parts.max(axis=0)), np.sqrt(total)

    def ranges(self, given: Mapping[str, tuple[float, float]]) -> tuple[Array, Array]:
        """Lower and upper displacements of the goal that are drawn, six for each pose and one for each joint."""
        low, high = np.zeros((2, len(self.counted)))
        names = [*_COMPONENTS, *(joint.coordinate for joint in self._joints)]
        for name, (a, b) in given.items():
            if name not in names:
                raise ValueError(f"goal_range has {name!r}; give {', '.join(names)}")
            if not -np.inf < a <= b < np.inf:
                raise ValueError(f"goal_range[{name!r}] is ({a}, {b}); give (low, high)")
            if name in _COMPONENTS:
                at = np.arange(len(self.poses)) * 6 + _COMPONENTS.index(name)
            else:
                at = np.array([6 * len(self.poses) + names.index(name) - 6])
            low[at], high[at] = a, b
        return low, high

    def moved(self, by: Array) -> Array:
        """The given goal, displaced: turned about the world's axes, then shifted. Shape (n, 6 k + j) to (n, G)."""
        rows = np.tile(self.given, (len(by), 1))
        for k in range(len(self.poses)):
            own, d = rows[:, 7 * k : 7 * k + 7], by[:, 6 * k : 6 * k + 6]
            angle = np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2 + d[:, 2] ** 2)
            sine = np.where(angle > 0, np.sin(angle / 2) / np.where(angle > 0, angle, 1), 0.5)
            w, (x, y, z) = np.cos(angle / 2), (d[:, i] * sine for i in range(3))
            a, b, c, e = own[:, 0].copy(), own[:, 1].copy(), own[:, 2].copy(), own[:, 3].copy()
            own[:, 0] = w * a - x * b - y * c - z * e
            own[:, 1] = w * b + x * a + y * e - z * c
            own[:, 2] = w * c - x * e + y * a + z * b
            own[:, 3] = w * e + x * c - y * b + z * a
            own[:, 4:] += d[:, 3:]
        rows[:, 7 * len(self.poses) :] += by[:, 6 * len(self.poses) :]
        return rows

    def row(self, goal: Any, system: System) -> Array:
        """The row of another goal with the same targets, or the row itself."""
        if isinstance(goal, PoseGoal | JointGoal) or (
            not isinstance(goal, np.ndarray) and any(isinstance(one, PoseGoal | JointGoal) for one in goal)
        ):
            other = GoalRows(system, goal)
            same = [(type(t), getattr(t, "coordinate", None)) for t in other.targets]
            if same != [(type(t), getattr(t, "coordinate", None)) for t in self.targets]:
                raise ValueError("options['goal'] has other targets than the environment; give a goal of the same kinds in the same order")
            return other.given
        return shaped("options['goal']", goal, (len(self.given),))

    def names(self) -> list[str]:
        """Names of errors: six for each pose, one for each joint."""
        poses = [f"error {target.frame} {component}" for target in self.poses for component in _COMPONENTS]
        return [*poses, *(f"error {joint.coordinate}" for joint in self._joints)]

    def frames(self) -> list[str | int | Frame]:
        """Frames of the poses."""
        return [target.frame for target in self.poses]
