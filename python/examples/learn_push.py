"""Trains a finger to push a box to a goal: PPO of skrl on a vector of environments.

    pip install 'quasistep[gym]' 'skrl[jax]' matplotlib
    python python/examples/learn_push.py                                  # some minutes on two cores
    python python/examples/learn_push.py --steps 20000 --rounds 1         # a short one
"""

import argparse
import logging
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import flax.linen as nn
import gymnasium
import jax.numpy as jnp
import numpy as np
from skrl import logger
from skrl.agents.jax.ppo import PPO
from skrl.envs.wrappers.jax import wrap_env
from skrl.memories.jax import RandomMemory
from skrl.models.jax import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.jax import RunningStandardScaler
from skrl.trainers.jax import SequentialTrainer
from skrl.utils import set_seed

import quasistep.gym

logger.setLevel(logging.ERROR)
TASK = "quasistep/PlanarPush-v0"
ROLLOUT = 32


class Policy(GaussianMixin, Model):
    """Means of the actions by a small network; deviations that do not depend on the observation."""

    def __init__(self, observation_space, action_space, state_space=None, device=None, **kwargs):
        Model.__init__(
            self, observation_space=observation_space, action_space=action_space, state_space=state_space, device=device, **kwargs
        )
        GaussianMixin.__init__(self, clip_actions=False, clip_log_std=True, min_log_std=-3.0)

    @nn.compact
    def __call__(self, inputs, role):
        x = inputs["observations"]
        for _ in range(2):
            x = nn.tanh(nn.Dense(128)(x))
        means = nn.Dense(self.num_actions, kernel_init=nn.initializers.orthogonal(0.01))(x)
        return means, {"log_std": self.param("log_std", lambda _: -0.5 * jnp.ones(self.num_actions))}


class Value(DeterministicMixin, Model):
    """What is still to be earned."""

    def __init__(self, observation_space, action_space, state_space=None, device=None, **kwargs):
        Model.__init__(
            self, observation_space=observation_space, action_space=action_space, state_space=state_space, device=device, **kwargs
        )
        DeterministicMixin.__init__(self)

    @nn.compact
    def __call__(self, inputs, role):
        x = inputs["observations"]
        for _ in range(2):
            x = nn.tanh(nn.Dense(128)(x))
        return nn.Dense(1)(x), {}


def agent_of(envs, num_envs):
    """A PPO agent for these environments."""
    spaces = envs.observation_space, envs.action_space
    models = {"policy": Policy(*spaces), "value": Value(*spaces)}
    for role, model in models.items():
        model.init_state_dict(role=role)
    cfg = {
        "rollouts": ROLLOUT, "learning_epochs": 5, "mini_batches": 8, "discount_factor": 0.98, "gae_lambda": 0.95,
        "learning_rate": 5e-4, "ratio_clip": 0.2, "value_clip": 0.2, "entropy_loss_scale": 0.0, "value_loss_scale": 1.0,
        "grad_norm_clip": 0.5, "time_limit_bootstrap": True,
        "observation_preprocessor": RunningStandardScaler, "observation_preprocessor_kwargs": {"size": spaces[0]},
        "value_preprocessor": RunningStandardScaler, "value_preprocessor_kwargs": {"size": 1},
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},
    }  # fmt: skip
    memory = RandomMemory(memory_size=ROLLOUT, num_envs=num_envs)
    return PPO(models=models, memory=memory, observation_space=spaces[0], action_space=spaces[1], cfg=cfg)


def success_rate(agent, episodes=256, seed=10_000):
    """Share of episodes with other seeds that reach the goal, by the means of the actions."""
    envs = gymnasium.make_vec(TASK, num_envs=episodes)
    observations, _ = envs.reset(seed=seed)
    running, reached = np.ones(episodes, dtype=bool), np.zeros(episodes, dtype=bool)
    agent.enable_training_mode(False)
    while running.any():
        _, outputs = agent.act(jnp.asarray(observations, dtype=jnp.float32), None, timestep=1, timesteps=1)
        observations, _, terminated, truncated, _ = envs.step(np.asarray(outputs["mean_actions"]))
        # an episode counts to its end; its environment starts anew on its own
        reached |= running & terminated
        running &= ~(terminated | truncated)
    return reached.mean()


def weights(agent):
    """The policy as arrays: what observations are less and over, then matrix and offset of each layer."""
    layers = agent.models["policy"].state_dict.params["params"]
    arrays = {f"{name}_{part}": layers[name][part] for name in sorted(layers) if name != "log_std" for part in ("kernel", "bias")}
    scaler = agent._observation_preprocessor
    arrays |= {"mean": scaler.running_mean, "variance": scaler.running_variance}
    return {name: np.asarray(array, dtype=np.float32) for name, array in arrays.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3_000_000, help="control steps of all environments")
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=12, help="how often the success is measured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="a .npz file for the policy and its learning curve")
    arguments = parser.parse_args()

    set_seed(arguments.seed)
    envs = wrap_env(gymnasium.make_vec(TASK, num_envs=arguments.envs, autoreset_mode="SameStep"), verbose=False)
    agent = agent_of(envs, arguments.envs)
    each = max(ROLLOUT, arguments.steps // arguments.envs // arguments.rounds)
    cfg = {"timesteps": each, "headless": True, "disable_progressbar": True, "close_environment_at_exit": False}
    trainer = SequentialTrainer(env=envs, agents=agent, cfg=cfg)
    curve, start = [], time.perf_counter()
    for k in range(arguments.rounds):
        trainer.train()
        curve.append(((k + 1) * each * arguments.envs, time.perf_counter() - start, success_rate(agent)))
        print("{:,} steps, {:.0f} s: {:.0%} of 256 pushes reach their goals".format(*curve[-1]), flush=True)
    if arguments.save:
        np.savez_compressed(arguments.save, curve=np.array(curve), **weights(agent))


if __name__ == "__main__":
    main()
