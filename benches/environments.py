"""Control steps of vectorised environments a second, and the error of their step size.

    python benches/environments.py
"""

import os
import time

import gymnasium
import numpy as np

import quasistep as qs
import quasistep.gym  # makes the tasks known

TASK = "quasistep/PlanarPush-v0"
DIVISIONS = 10


def steps_a_second(n, threads, steps=200):
    """Wall and CPU time of random actions, the resets of ended episodes among them."""
    envs = gymnasium.make_vec(TASK, num_envs=n, threads=threads)
    envs.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (steps + 20, n, 2))
    for own in actions[:20]:
        envs.step(own)
    wall, cpu = time.perf_counter(), time.process_time()
    for own in actions[20:]:
        envs.step(own)
    count = n * steps
    return count / (time.perf_counter() - wall), 1e6 * (time.process_time() - cpu) / count


def error(n=200, steps=20):
    """How far boxes are after some pushes from where steps of a tenth of the size bring them: angle in rad, distance in m."""
    task = qs.gym.TASKS[TASK]
    size = qs.gym.Env(**task).control_step
    ends = []
    for divisions in (1, DIVISIONS):
        fine = {**task, "set": {"step.size": size / divisions}, "substeps": divisions, "max_steps": 10**6, "hold": 10**6}
        envs = qs.gym.VectorEnv(num_envs=n, **fine)
        envs.reset(seed=0)
        rng = np.random.default_rng(0)
        for _ in range(steps):
            envs.step(np.clip(rng.normal([0.4, 0.0], [0.3, 0.3], (n, 2)), -1, 1))
        ends.append(envs.q[:, envs.system.coordinates.indices(["box.x", "box.y", "box.theta"])])
    difference = ends[1] - ends[0]
    far = np.hypot(*(ends[1][:, :2] - [0, 0]).T)
    return np.abs(difference[:, 2]), np.hypot(*difference[:, :2].T), far


def main():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{TASK}, states, random actions, {cores} cores:")
    for n in (64, 256, 1024):
        for threads in sorted({1, cores}):
            rate, cpu = steps_a_second(n, threads)
            print(f"  {n:5} environments, {threads} threads: {rate:9,.0f} steps/s, {cpu:5.1f} CPU µs a step")
    angle, distance, way = error()
    print(
        f"error of the step size, against steps of a tenth, after 20 control steps of pushing: {1e3 * np.median(distance):.2f} mm, "
        f"{np.median(angle):.4f} rad (medians), {1e3 * np.quantile(distance, 0.9):.2f} mm, {np.quantile(angle, 0.9):.4f} rad (90 %), "
        f"on ways of {1e3 * np.median(way):.0f} mm"
    )


if __name__ == "__main__":
    main()
