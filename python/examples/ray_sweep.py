"""A sweep of 10 000 rollouts on a Ray cluster, streamed to a file that survives interruptions.

    pip install ray
    python ray_sweep.py sweep.bin [rollouts]

Stop it, kill its workers, start it again: it goes on where it was. On a real cluster call
`ray.init("auto")` first; without Ray, executor="processes" does the same on one machine.
"""

import functools
import sys

import numpy as np

import quasistep as qs


def rollouts(system, indices):
    """Random pushes of 2 s: rollout i has the random numbers of seed i, wherever it runs."""
    noise = np.array([np.random.default_rng(i).standard_normal((40, 2)) for i in indices])
    U = system.commanded(system.q0) + 0.005 * noise.cumsum(axis=1)
    q, report = system.simulate_batch(U, h=0.05, keep="last", threads=1, report=True)
    return {"q": q, "ok": report.ok}


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "sweep.bin"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    try:
        import ray  # noqa: F401

        executor = "ray"
    except ImportError:
        executor = "processes"
    system = qs.load("scenes/planar_push.yml")
    work = functools.partial(rollouts, system)
    qs.sweep(work, n, path, executor=executor, progress=lambda done, n: print(f"{done} of {n}"))
    rows = qs.read_sweep(path)
    ok = rows["ok"]
    moved = np.linalg.norm(rows["q"][ok, -3:-1], axis=1)
    print(f"{ok.sum()} of {n} rollouts went well; the box moves {1e3 * moved.mean():.1f} mm on average")
