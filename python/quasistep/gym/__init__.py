"""Worlds to learn in: gymnasium environments of scenes, single and vectorised. Needs ``quasistep[gym]``.

>>> import gymnasium
>>> import quasistep.gym
>>> env = gymnasium.make("quasistep/PlanarPush-v0")
>>> envs = gymnasium.make_vec("quasistep/PlanarPush-v0", num_envs=8)
>>> envs.reset(seed=0)[0].shape
(8, 9)
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError as _error:
    raise ImportError("quasistep.gym needs gymnasium: pip install 'quasistep[gym]'") from _error

from .env import Env
from .recorder import Episode, Recorder
from .tasks import TASKS, register
from .vector import VectorEnv

__all__ = ["TASKS", "Env", "Episode", "Recorder", "VectorEnv"]

register()
