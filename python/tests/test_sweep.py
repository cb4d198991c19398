"""Sweeps: nothing lost, nothing doubled, whatever is killed."""

import functools
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import quasistep as qs


def rollouts(system, folder, victims, indices):
    """Short pushes with seeds of their own; the first to reach a victim shard dies at once."""
    for victim in victims:
        mark = Path(folder) / f"died_at_{victim}"
        if victim in indices and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    noise = np.array([np.random.default_rng(i).standard_normal((4, system.n_u)) for i in indices])
    U = system.commanded(system.q0) + 0.01 * noise.cumsum(axis=1)
    q, report = system.simulate_batch(U, h=0.05, keep="last", threads=1, report=True)
    return {"index": indices, "q": q, "ok": report.ok, "force": report.effort}


def check_whole(path, system, n):
    """Every rollout is there once, in order, with the bits of one that nothing disturbed."""
    rows = qs.read_sweep(path)
    undisturbed = rollouts(system, ".", (), np.arange(n))
    assert rows.keys() == undisturbed.keys()
    for name, values in undisturbed.items():
        np.testing.assert_array_equal(rows[name], values)
    # hardly any random push is beyond the solver
    assert rows["ok"].mean() > 0.99


def test_killed_workers_lose_and_double_nothing(push, tmp_path):
    n, path = 600, tmp_path / "sweep"
    work = functools.partial(rollouts, push, str(tmp_path), (130, 333))
    seen = []
    qs.sweep(work, n, path, shard=50, workers=2, progress=lambda done, n: seen.append(done))
    assert (tmp_path / "died_at_130").exists() and (tmp_path / "died_at_333").exists()
    assert seen == sorted(set(seen)) and seen[-1] == n
    check_whole(path, push, n)


def test_a_driver_that_stops_goes_on_where_it_was(push, tmp_path):
    n, path = 300, tmp_path / "sweep"
    work = functools.partial(rollouts, push, str(tmp_path), ())

    def stop(done, n):
        if done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        qs.sweep(work, n, path, shard=20, executor=threads, progress=stop)
    with pytest.raises(ValueError, match="shards are missing"):
        qs.read_sweep(path)
    # a record that was cut off while it was written
    whole = path.stat().st_size
    with open(path, "ab") as file:
        file.write(path.read_bytes()[200:900])
    computed = []
    qs.sweep(counted(work, computed), n, path, shard=20, executor=threads)
    assert path.stat().st_size > whole
    # what was there is not computed again: at most n less the hundred
    assert len(computed) <= n - 100 and len(set(computed)) == len(computed)
    check_whole(path, push, n)


def test_a_finished_sweep_computes_nothing(tmp_path):
    computed = []
    work = counted(lambda indices: {"i": indices}, computed)
    for _ in range(2):
        qs.sweep(work, 10, tmp_path / "sweep", shard=4, executor=threads)
    assert sorted(computed) == list(range(10))


def test_another_sweep_s_file_is_refused(tmp_path):
    work = functools.partial(dict, i=np.zeros(5))
    path = tmp_path / "sweep"
    qs.sweep(lambda indices: {"i": indices}, 10, path, shard=5, executor=threads)
    with pytest.raises(ValueError, match="another sweep's file"):
        qs.sweep(work, 20, path, shard=5, executor=threads)
    with pytest.raises(ValueError, match="give 'processes', 'ray' or a callable"):
        qs.sweep(work, 20, path, executor="clouds")


def test_results_of_the_wrong_shape_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"`x` has shape \(2,\).*give 5 rows"):
        qs.sweep(lambda indices: {"x": np.zeros(2)}, 10, tmp_path / "s", shard=5, executor=threads)


def threads():
    return ThreadPoolExecutor(2)


def counted(work, computed):
    def call(indices):
        computed.extend(int(i) for i in indices)
        return work(indices)

    return call
