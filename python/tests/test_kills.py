"""Kills at random moments: what was whole stays, nothing is there twice, no process is left.

`QUASISTEP_KILLS=300 pytest python/tests/test_kills.py` kills as often; a few times by default.
"""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import quasistep as qs

KILLS = int(os.environ.get("QUASISTEP_KILLS", "4"))
# variable of the environment by which a driver's processes are found, whoever their parent is now
MARK = "QUASISTEP_KILL_TEST"
# seconds in which the last process of a killed driver ends
PATIENCE = 20
# seconds in which the last process of a Ray node ends whose driver was killed: Ray's own watch is slow
RAY_PATIENCE = 240
N, SHARD = 400, 10


def rollouts(system, indices):
    """Pushes with seeds of their own; a shard takes some milliseconds."""
    noise = np.array([np.random.default_rng(i).standard_normal((4, system.n_u)) for i in indices])
    U = system.commanded(system.q0) + 0.01 * noise.cumsum(axis=1)
    q, report = system.simulate_batch(U, h=0.05, keep="last", threads=1, report=True)
    time.sleep(0.01)
    return {"index": indices, "q": q, "ok": report.ok}


def sweep(path, executor):
    """The driver that is killed."""
    work = functools.partial(rollouts, qs.load("scenes/planar_push.yml"))
    print("ready", flush=True)
    qs.sweep(work, N, path, shard=SHARD, workers=2, executor=executor)


def batches(folder):
    """Batches on two threads, and the files of runs, again and again."""
    system = qs.load("scenes/gripper_2d.yml")
    runs = [system.simulate(duration=t) for t in (0.1, 0.2)]
    print("ready", flush=True)
    U = np.repeat(system.commanded(system.q0)[None, None], 4, axis=1) + np.zeros((200, 1, 1))
    while True:
        for run in runs:
            system.simulate_batch(U, threads=2)
            run.save(folder, csv=run is runs[0], page=False)


def start(call, mark):
    """A process that calls something of this file, in a group of its own."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_kills; test_kills.{call}"
    environment = {**os.environ, MARK: mark, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    return subprocess.Popen(
        [sys.executable, "-c", f"if __name__ == '__main__':\n    {script}"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def marked(mark):
    """Processes with this mark that have not ended, with what they run."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ")[:200]
        except OSError:
            continue
    return found


def check_none_is_left(mark, patience=PATIENCE):
    end = time.monotonic() + patience
    while left := marked(mark):
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.02)


def kill_at_random(driver, mark, rng, longest):
    """Waits until it works, then kills it or, now and then, one of its workers; true if it was the driver."""
    driver.stdout.readline()
    time.sleep(rng.uniform(0, longest))
    children = [pid for pid, words in marked(mark).items() if pid != driver.pid and b"spawn_main" in words]
    if children and rng.random() < 0.2:
        try:
            os.kill(int(rng.choice(children)), signal.SIGKILL)
        except ProcessLookupError:
            pass
        return False
    driver.send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
    return True


def check_sweeps(path, executor, kills, longest, seed):
    """Kills drivers one after another; each goes on with the file of the one before."""
    rng = np.random.default_rng(seed)
    system = qs.load("scenes/planar_push.yml")
    undisturbed = rollouts(system, np.arange(N))
    before = b""
    for k in range(kills):
        mark = f"{os.getpid()}-{executor}-{k}"
        driver = start(f"sweep({str(path)!r}, {executor!r})", mark)
        if not kill_at_random(driver, mark, rng, longest):
            driver.wait(timeout=60)
        driver.wait(timeout=60)
        if executor != "ray":
            check_none_is_left(mark)
        now = path.read_bytes() if path.exists() else b""
        # the file only grows, but for a record that was cut off
        whole = before[: whole_bytes(path.with_suffix(".copy"), before)]
        assert now.startswith(whole), f"kill {k}: {len(whole)} bytes were whole"
        if driver.returncode == 0:
            for name, values in qs.read_sweep(path).items():
                np.testing.assert_array_equal(values, undisturbed[name])
            path.unlink()
            now = b""
        before = now
    if executor == "ray":
        for k in range(kills):
            check_none_is_left(f"{os.getpid()}-{executor}-{k}", RAY_PATIENCE)
    work = functools.partial(rollouts, system)
    qs.sweep(work, N, path, shard=SHARD, workers=2)
    for name, values in qs.read_sweep(path).items():
        np.testing.assert_array_equal(values, undisturbed[name])


def whole_bytes(path, content):
    """Bytes of a sweep's file up to the end of its last whole record."""
    from quasistep import _sweep_file

    if not content:
        return 0
    path.write_bytes(content)
    with path.open("rb") as file:
        head = _sweep_file._read_head(file, path)
        end = file.tell()
        for record in _sweep_file._records(file, path, head):
            end = record[1]
    return end


def test_killed_sweeps_lose_and_double_nothing(tmp_path):
    check_sweeps(tmp_path / "sweep", "processes", KILLS, 2.5, 1)


def test_a_worker_that_computes_ends_with_its_driver(tmp_path):
    """In the middle of a shard that takes a minute."""
    mark = f"{os.getpid()}-long"
    driver = start(f"long_sweep({str(tmp_path / 'sweep')!r})", mark)
    driver.stdout.readline()
    end = time.monotonic() + 60
    while not list(tmp_path.glob("started-*")):
        assert time.monotonic() < end and driver.poll() is None
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    check_none_is_left(mark)


def long_sweep(path):
    print("ready", flush=True)
    qs.sweep(functools.partial(a_minute, str(Path(path).parent)), 4, path, shard=1, workers=2)


def a_minute(folder, indices):
    Path(folder, f"started-{indices[0]}").touch()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
    return {"i": indices}


def test_killed_batches_leave_whole_files(tmp_path):
    """A folder of `Run.save` holds the old run or the new one, whenever its writer is killed."""
    rng = np.random.default_rng(2)
    runs = [qs.load("scenes/gripper_2d.yml").simulate(duration=t) for t in (0.1, 0.2)]
    for k in range(KILLS):
        mark = f"{os.getpid()}-batch-{k}"
        driver = start(f"batches({str(tmp_path / 'run')!r})", mark)
        kill_at_random(driver, mark, rng, 1.0)
        driver.wait(timeout=60)
        check_none_is_left(mark)
        if not (tmp_path / "run/recording.qsr").exists():
            continue
        read = qs.read_run(tmp_path / "run")
        assert read.stopped is None
        which = next(run for run in runs if len(run.t) == len(read.t))
        np.testing.assert_array_equal(read.q, which.q)
        table = tmp_path / "run/states.csv"
        assert not table.exists() or len(table.read_text().splitlines()) == len(runs[0].t) + 1


@pytest.mark.ray
def test_killed_sweeps_on_a_cluster_lose_and_double_nothing(tmp_path):
    pytest.importorskip("ray")
    check_sweeps(tmp_path / "sweep", "ray", KILLS, 8.0, 3)
