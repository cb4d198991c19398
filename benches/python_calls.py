"""What Python costs: time that a call adds to a step, and how batches use the cores.

    python benches/python_calls.py

Runs from the root of the checkout with the package installed. Alternatives are interleaved; on a busy
machine look at the CPU time: a batch on two threads that takes as much of it as on one loses nothing
to locks, copies or memory.
"""

import time

import numpy as np

import quasistep as qs

REPEAT = 15


def added_to_a_step(name: str) -> None:
    system = qs.load(f"scenes/{name}.yml")
    u = system.command(system.h)[0]
    warm = system.step(system.q0, u)[1].warm_start
    inside, added = [], []
    for _ in range(2000):
        start = time.perf_counter_ns()
        _, report = system.step(system.q0, u, warm=warm)
        whole = 1e-3 * (time.perf_counter_ns() - start)
        inside.append(sum(report.timing.values()))
        added.append(whole - inside[-1])
    print(f"{name}: a step takes {np.median(inside):.1f} µs, Python adds {np.median(added):.1f} µs (median)")


def batch(name: str, n: int, n_steps: int) -> None:
    system = qs.load(f"scenes/{name}.yml")
    rng = np.random.default_rng(0)
    own = np.array([system.command((k + 1) * system.h)[0] for k in range(n_steps)])
    U = own + 1e-4 * rng.standard_normal((n, n_steps, system.n_u))
    wall: dict[int, list[float]] = {1: [], 2: []}
    cpu: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(REPEAT):
        for threads in (1, 2):
            start, used = time.perf_counter(), time.process_time()
            system.simulate_batch(U, threads=threads, keep="last")
            wall[threads].append(time.perf_counter() - start)
            cpu[threads].append(time.process_time() - used)
    ratios = np.array(wall[1]) / np.array(wall[2])
    print(
        f"{name}, {n} rollouts of {n_steps} steps: 2 threads are {np.median(ratios):.2f} times faster "
        f"(median; best {ratios.max():.2f}), with {min(cpu[2]) / min(cpu[1]):.2f} times the CPU time"
    )


for scene in ("gripper_2d", "planar_push", "pinch", "iiwa_stacking"):
    added_to_a_step(scene)
batch("planar_push", 1000, 20)
batch("iiwa_stacking", 40, 40)
