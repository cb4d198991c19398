"""Tasks of the scenes that the package carries, by their ids."""

from __future__ import annotations

import math
from typing import Any

import gymnasium

from ..planning import JointGoal, PoseGoal

_IDENTITY = (1.0, 0.0, 0.0, 0.0)
_IN_PLANE = (False, False, False, True, True, False)
_AROUND = {"box.x": (-0.05, 0.05), "box.y": (-0.05, 0.05), "box.theta": (-math.pi, math.pi)} | {
    f"finger.{axis}": (-0.25, 0.25) for axis in "xy"
}

#: Arguments of :class:`Env` for each registered id.
TASKS: dict[str, dict[str, Any]] = {
    "quasistep/PlanarPush-v0": {
        "scene": "push_to_pose",
        "goal": PoseGoal("box", (*_IDENTITY, 0.2, 0, 0), distance=0.01, counts=_IN_PLANE),
        "goal_range": {"x": (-0.1, 0.1), "y": (-0.1, 0.1)},
        "start": {"box.theta": (-0.3, 0.3), "finger.y": (-0.04, 0.04)},
        "max_steps": 50,
    },
    "quasistep/PlanarPushPose-v0": {
        "scene": "push_to_pose",
        "goal": PoseGoal("box", (*_IDENTITY, 0, 0, 0), angle=0.1, distance=0.01),
        "goal_range": {"x": (-0.2, 0.2), "y": (-0.2, 0.2), "rz": (-math.pi, math.pi)},
        "start": _AROUND,
        "max_steps": 200,
    },
    "quasistep/PlanarHand-v0": {
        "scene": "planar_hand",
        "goal": [JointGoal("box.x", 0.0, 0.01), JointGoal("box.y", 0.0, 0.01), JointGoal("box.theta", 0.0, 0.1)],
        "goal_range": {"box.x": (-0.05, 0.05), "box.y": (-0.05, 0.08), "box.theta": (-0.8, 0.8)},
        "actions": 0.01,
        "bounds": {"*": (-0.3, 0.3)},
        "set": {"step.relaxation": 1},
    },
    "quasistep/BallInHand-v0": {
        "scene": "ball_in_hand",
        "goal": PoseGoal("ball", (*_IDENTITY, 0, 0, 0.035), angle=0.1, distance=0.02),
        "goal_range": {"rz": (0.3, 0.8)},
        "actions": {"*.swing": 0.05, "*.curl": 0.05},
        "bounds": {"*.swing": (-0.4, 0.4), "*.curl": (-0.2, 0.2)},
        "substeps": 3,
    },
    "quasistep/Door-v0": {
        "scene": "door",
        "goal": JointGoal("door.hinge", -0.8, 0.02),
        "goal_range": {"door.hinge": (-0.4, 0.4)},
        "actions": 0.03,
        "bounds": {"finger.x": (0.1, 0.6), "finger.y": (-0.6, 0.2)},
        "start": {"finger.x": (0.2, 0.45), "finger.y": (0.04, 0.1)},
    },
}


def register() -> None:
    """Makes the tasks known to ``gymnasium.make`` and ``gymnasium.make_vec``."""
    for name, arguments in TASKS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name, entry_point="quasistep.gym:Env", vector_entry_point="quasistep.gym:VectorEnv", kwargs=arguments
            )
