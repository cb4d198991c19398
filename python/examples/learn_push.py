"""Trains a finger to push a box to a goal: PPO of skrl on a vector of environments.

    pip install 'quasistep[gym]' 'skrl[jax]' matplotlib
    python python/examples/learn_push.py                      # some minutes on two cores
    python python/examples/learn_push.py --steps 20000        # a short one
"""

import argparse
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import flax.linen as nn
import gymnasium
import jax.numpy as jnp
import numpy as np
from skrl.agents.jax.ppo import PPO
from skrl.envs.wrappers.jax import wrap_env
from skrl.memories.jax import RandomMemory
from skrl.models.jax import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.jax import RunningStandardScaler
from skrl.trainers.jax import SequentialTrainer

import quasistep.gym

TASK = "quasistep/PlanarPush-v0"
ROLLOUT = 32


class Policy(GaussianMixin, Model):
    """Means of the actions by a small network; deviations that do not depend on the observation."""

    def __init__(self, observation_space, action_space):
        Model.__init__(self, observation_space=observation_space, action_space=action_space)
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

    def __init__(self, observation_space, action_space):
        Model.__init__(self, observation_space=observation_space, action_space=action_space)
        DeterministicMixin.__init__(self)

    @nn.compact
    def __call__(self, inputs, role):
        x = inputs["observations"]
        for _ in range(2):
            x = nn.tanh(nn.Dense(128)(x))
        return nn.Dense(1)(x), {}


def agent_of(envs, num_envs, seed):
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
    envs = gymnasium.make_vec(TASK, num_envs=episodes, autoreset_mode="Disabled")
    observations, _ = envs.reset(seed=seed)
    open_, reached = np.ones(episodes, dtype=bool), np.zeros(episodes, dtype=bool)
    agent.enable_training_mode(False)
    while open_.any():
        _, outputs = agent.act(jnp.asarray(observations, dtype=jnp.float32), None, timestep=1, timesteps=1)
        observations, _, terminated, truncated, _ = envs.step(np.asarray(outputs["mean_actions"]))
        reached |= open_ & terminated
        open_ &= ~(terminated | truncated)
        if open_.any() and not open_.all():
            # those that ended go on from a new start, and count no more
            observations, _ = envs.reset(options={"reset_mask": ~open_ & (terminated | truncated)}) if (terminated | truncated).any() else (observations, None)
    return reached.mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4_000_000, help="control steps of all environments")
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=10, help="number of times that the success is measured")
    arguments = parser.parse_args()
    from skrl.utils import set_seed

    set_seed(arguments.seed)
    envs = wrap_env(gymnasium.make_vec(TASK, num_envs=arguments.envs, autoreset_mode="SameStep"), verbose=False)
    agent = agent_of(envs, arguments.envs, arguments.seed)
    each = max(ROLLOUT, arguments.steps // arguments.envs // arguments.rounds)
    trainer = SequentialTrainer(env=envs, agents=agent, cfg={"timesteps": each, "headless": True, "disable_progressbar": True, "close_environment_at_exit": False})
    start = time.perf_counter()
    for k in range(arguments.rounds):
        trainer.train()
        rate = success_rate(agent)
        print(f"{(k + 1) * each * arguments.envs} steps, {time.perf_counter() - start:.0f} s: {rate:.0%} of 256 pushes reach their goals", flush=True)


if __name__ == "__main__":
    main()
