"""What Python costs: time that a call adds to a step, and how batches use the cores.

    python benches/python_calls.py

Runs from the root of the checkout with the package installed. Alternatives are interleaved. Beside the
gain of a second thread stands what the machine has to give at that moment: two processes, each with a
batch of its own, against one.
"""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

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


def roll_out(system: qs.System, U: np.ndarray, threads: int) -> None:
    system.simulate_batch(U, threads=threads, keep="last")


def differentiate(system: qs.System, Q: np.ndarray, U: np.ndarray, weights: np.ndarray | None, threads: int) -> None:
    system.derivatives_batch(Q, U, weights=weights, threads=threads)


def scaling(pool: ProcessPoolExecutor, what: str, call: Callable[..., None], *arguments: object) -> None:
    """Two threads against one, and two processes against one, of ``call(*arguments, threads)``."""

    def seconds(f: Callable[[], None]) -> float:
        start = time.perf_counter()
        f()
        return time.perf_counter() - start

    def processes(count: int) -> None:
        for future in [pool.submit(call, *arguments, 1) for _ in range(count)]:
            future.result()

    processes(2)
    gain, limit, cpu = [], [], {1: [], 2: []}
    for _ in range(REPEAT):
        wall = {}
        for threads in (1, 2):
            used = time.process_time()
            wall[threads] = seconds(lambda: call(*arguments, threads))
            cpu[threads].append(time.process_time() - used)
        gain.append(wall[1] / wall[2])
        limit.append(2 * seconds(lambda: processes(1)) / seconds(lambda: processes(2)))
    print(
        f"{what}: 2 threads are {np.median(gain):.2f} times faster (median; best {max(gain):.2f}), with "
        f"{min(cpu[2]) / min(cpu[1]):.2f} times the CPU time; 2 processes do {np.median(limit):.2f} times the work of "
        f"one (best {max(limit):.2f})"
    )


def rollouts(pool: ProcessPoolExecutor, name: str, n: int, n_steps: int) -> None:
    system = qs.load(f"scenes/{name}.yml")
    rng = np.random.default_rng(0)
    own = np.array([system.command((k + 1) * system.h)[0] for k in range(n_steps)])
    U = own + 1e-4 * rng.standard_normal((n, n_steps, system.n_u))
    scaling(pool, f"{name}, {n} rollouts of {n_steps} steps", roll_out, system, U)


def samples(name: str, n: int) -> tuple[qs.System, np.ndarray, np.ndarray, np.ndarray]:
    """One state of a run under many commands, and weights on its next configuration."""
    system = qs.load(f"scenes/{name}.yml")
    run = system.simulate(duration=system.duration / 2)
    U = run.u[-1] + 1e-4 * np.random.default_rng(0).standard_normal((n, system.n_u))
    return system, np.tile(run.q[-1], (n, 1)), U, np.ones((n, system.n_v))


def derivatives_on_threads(pool: ProcessPoolExecutor, name: str, n: int) -> None:
    system, Q, U, weights = samples(name, n)
    scaling(pool, f"{name}, {n} times the matrices", differentiate, system, Q, U, None)
    scaling(pool, f"{name}, {n} gradients", differentiate, system, Q, U, weights)


def derivatives(name: str, n: int) -> None:
    system, Q, U, weights = samples(name, n)
    least: dict[str, float] = {}
    for _ in range(REPEAT):
        for what, call in {
            "step": lambda: system.step_batch(Q, U, threads=1),
            "matrices": lambda: system.derivatives_batch(Q, U, threads=1),
            "gradient": lambda: system.derivatives_batch(Q, U, weights=weights, threads=1),
        }.items():
            used = time.process_time()
            call()
            used = time.process_time() - used
            least[what] = min(least.get(what, np.inf), used)
    step, matrices, gradient = (1e6 * least[what] / n for what in ("step", "matrices", "gradient"))
    print(
        f"{name}: a cold step {step:.1f} µs; with its matrices by q and u {matrices:.1f} µs, with a gradient "
        f"{gradient:.1f} µs of CPU (least of {REPEAT})"
    )


if __name__ == "__main__":
    for scene in ("gripper_2d", "planar_push", "pinch", "iiwa_stacking"):
        added_to_a_step(scene)
    for scene in ("gripper_2d", "planar_push", "pinch", "ball_in_hand"):
        derivatives(scene, 500)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        rollouts(pool, "planar_push", 1000, 20)
        rollouts(pool, "iiwa_stacking", 40, 40)
        derivatives_on_threads(pool, "planar_push", 4000)
        derivatives_on_threads(pool, "ball_in_hand", 1000)
        derivatives_on_threads(pool, "iiwa_stacking", 200)
