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
REPEAT = 8


def steps_a_second(n, threads, steps=60):
    """The most steps a second and the least CPU time (µs) of several runs of random actions, resets of ended episodes among them."""
    envs = gymnasium.make_vec(TASK, num_envs=n, threads=threads)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    rates, times = [], []
    for _ in range(REPEAT):
        actions = rng.uniform(-1, 1, (steps, n, 2))
        wall, cpu = time.perf_counter(), time.process_time()
        for own in actions:
            envs.step(own)
        count = n * steps
        rates.append(count / (time.perf_counter() - wall))
        times.append(1e6 * (time.process_time() - cpu) / count)
    return max(rates), min(times)


def error(substeps, n=200, steps=20):
    """How far boxes are after some pushes from where steps of a tenth bring them: angle (rad), distance, and way (m)."""
    task = qs.gym.TASKS[TASK]
    size = qs.gym.Env(**task).control_step
    ends = []
    for divisions in (substeps, DIVISIONS * substeps):
        fine = {**task, "set": {"step.size": size / divisions}, "substeps": divisions, "max_steps": 10**6, "hold": 10**6}
        envs = qs.gym.VectorEnv(num_envs=n, **fine)
        envs.reset(seed=0)
        rng = np.random.default_rng(0)
        for _ in range(steps):
            envs.step(np.clip(rng.normal([0.4, 0.0], [0.3, 0.3], (n, 2)), -1, 1))
        ends.append(envs.q[:, envs.system.coordinates.indices(["box.x", "box.y", "box.theta"])])
    x, y, angle = (ends[1] - ends[0]).T
    return np.median(np.abs(angle)), np.median(np.hypot(x, y)), np.median(np.hypot(*ends[1][:, :2].T))


def main():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{TASK}, states, random actions, {cores} cores:")
    for n in (64, 256, 1024):
        for threads in sorted({1, cores}):
            rate, cpu = steps_a_second(n, threads)
            print(f"  {n:5} environments, {threads} threads: {rate:9,.0f} steps/s, {cpu:5.1f} CPU µs a step")
    print("error of the step size after 20 control steps of pushing, against steps of a tenth, medians of 200:")
    for substeps in (1, 2, 5):
        angle, distance, way = error(substeps)
        print(f"  substeps {substeps}: {1e3 * distance:.1f} mm, {angle:.3f} rad, on ways of {1e3 * way:.0f} mm")


if __name__ == "__main__":
    main()
