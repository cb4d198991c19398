"""Sweeps: nothing lost, nothing doubled, whatever is killed."""

import functools
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import quasistep as qs
from quasistep import _sweep_file


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
        qs.sweep(work, n, path, shard=20, executor=threads, progress=stop, name="pushes")
    with pytest.raises(ValueError, match="shards are missing"):
        qs.read_sweep(path)
    # a record that was cut off while it was written
    whole = path.read_bytes()
    record = whole.index(b"shard ")
    path.write_bytes(whole + whole[record : record + 700])
    computed = []
    qs.sweep(counted(work, computed), n, path, shard=20, executor=threads, name="pushes")
    assert path.read_bytes().startswith(whole) and path.stat().st_size > len(whole)
    # what was there is not computed again: at most n less the hundred
    assert len(computed) <= n - 100 and len(set(computed)) == len(computed)
    check_whole(path, push, n)


def test_a_finished_sweep_computes_nothing(tmp_path):
    computed = []
    work = counted(numbers, computed)
    for _ in range(2):
        qs.sweep(work, 10, tmp_path / "sweep", shard=4, executor=threads, name="numbers")
    assert sorted(computed) == list(range(10))


def numbers(indices):
    return {"i": indices, "half": indices / 2}


@pytest.mark.parametrize(
    "foreign", [b'{"my": "data"}', b"a: 1\n", b"{", b"quasistep", b"shard 1\n", b"\0", b"\n" * 3_000_000]
)
def test_a_file_that_is_no_sweep_s_keeps_its_bytes(tmp_path, foreign):
    path = tmp_path / "file"
    path.write_bytes(foreign)
    for _ in range(2):
        with pytest.raises(ValueError, match="not a file of a sweep"):
            qs.sweep(numbers, 10, path, executor=threads)
        with pytest.raises(ValueError, match="not a file of a sweep"):
            qs.read_sweep(path)
    assert path.read_bytes() == foreign


def test_what_is_no_file_is_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, tmp_path, "/dev/zero", "/dev/full"):
        for use in (lambda p: qs.sweep(numbers, 10, p, executor=threads), qs.read_sweep):
            with pytest.raises((ValueError, OSError)):
                use(place)


LIMIT = 3


def powers(exponent, offset, indices):
    return {"p": np.minimum(indices**exponent + offset["by"], LIMIT)}


def test_another_sweep_s_rows_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "sweep"
    work = functools.partial(powers, 2, {"by": np.arange(1)})
    sweep = functools.partial(qs.sweep, path=path, shard=5, executor=threads)
    sweep(work, 10)
    made = path.read_bytes()
    for other, words in {
        functools.partial(powers, 3, {"by": np.arange(1)}): "argument `exponent` is 2 there, 3 now",
        functools.partial(powers, 2, {"by": np.arange(2)}): "argument `offset` is dict .* there, dict .* now",
        functools.partial(powers, 2, offset={"by": 0}): "argument `offset`",
        numbers: "`function` is 'test_sweep.powers' there, 'test_sweep.numbers' now",
    }.items():
        with pytest.raises(ValueError, match=words):
            sweep(other, 10)
    with pytest.raises(ValueError, match="`n` is 10 there, 20 now.*Give another path, or remove the file"):
        sweep(work, 20)
    with pytest.raises(ValueError, match="`shard` is 5 there, 4 now"):
        sweep(work, 10, shard=4)
    with pytest.raises(ValueError, match="made without `name`, now with"):
        sweep(work, 10, name="mine")
    # what the function looks up counts as its code does
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "LIMIT", 4)
        with pytest.raises(ValueError, match="the function's code, or a value that it looks up"):
            sweep(work, 10)
    with monkeypatch.context() as patch:
        patch.setattr(qs._core, "__version__", "0.1.9")
        with pytest.raises(ValueError, match="`quasistep` is .* there, '0.1.9' now"):
            sweep(work, 10)
    assert path.read_bytes() == made
    with pytest.raises(ValueError, match="give 'processes', 'ray' or a callable"):
        sweep(work, 10, executor="clouds")
    with pytest.raises(ValueError, match="argument `offset` cannot be compared.*give `name=`"):
        sweep(functools.partial(powers, 2, {"by": threading.Lock()}), 10)
    with pytest.raises(ValueError, match="shard is 0; give a whole number from 1 on"):
        sweep(work, 10, shard=0)
    old = b'{"format": "quasistep sweep", "version": 1, "n": 10, "shard": 5}\n'
    path.write_bytes(old)
    with pytest.raises(ValueError, match="of version 1, which does not tell by which function"):
        sweep(work, 10)
    assert path.read_bytes() == old


def test_another_process_finds_its_own_function(tmp_path):
    """Order of sets, places in memory and seeds of hashes do not count."""
    script = tmp_path / "described.py"
    script.write_text(
        "import functools, pickle\n"
        "from quasistep._fingerprint import description\n"
        "import quasistep as qs, numpy as np\n"
        "SEEN = {'a', 'b', 'c'}\n"
        "class Model:\n"
        "    def __init__(self): self.words = {'x', 'y', 'z'}\n"
        "    def run(self, indices): return helper(self, indices)\n"
        "def helper(model, indices): return SEEN, [k in {'u', 'v'} for k in indices]\n"
        "system = qs.load('scenes/gripper_2d.yml')\n"
        "work = functools.partial(helper, system, rng=np.random.default_rng(1), f=lambda k: k + 1)\n"
        "for part in (work, Model().run): print(description(part))\n"
    )
    told = set()
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        output = subprocess.run(
            [sys.executable, script], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        told.add(output.stdout)
    assert len(told) == 1 and "System" in told.pop()


@pytest.fixture
def unsafe(monkeypatch):
    """A disk that is not waited for."""
    monkeypatch.setattr(os, "fsync", lambda number: None)


def small(path):
    """A sweep's file of a few hundred bytes."""
    qs.sweep(numbers, 7, path, shard=3, executor=threads)
    return path.read_bytes()


def test_a_byte_that_changes_is_found(tmp_path, unsafe):
    """Whatever byte of a file turns: its rows come out right, or it is refused and stays as it is."""
    path = tmp_path / "sweep"
    made = small(path)
    for at in range(len(made)):
        for flip in (0x01, 0x80, made[at] ^ 0x0A or 0x20):
            spoilt = made[:at] + bytes([made[at] ^ flip]) + made[at + 1 :]
            path.write_bytes(spoilt)
            try:
                qs.sweep(numbers, 7, path, shard=3, executor=threads)
            except ValueError:
                assert path.read_bytes() == spoilt
                continue
            rows = qs.read_sweep(path)
            assert rows["i"].tolist() == list(range(7)), at
            assert rows["half"].tolist() == [i / 2 for i in range(7)], at


def test_a_file_that_ends_anywhere_goes_on(tmp_path, unsafe):
    path = tmp_path / "sweep"
    made = small(path)
    first = made.index(b"\n") + 1
    for end in range(first, len(made)):
        path.write_bytes(made[:end])
        qs.sweep(numbers, 7, path, shard=3, executor=threads)
        assert qs.read_sweep(path)["i"].tolist() == list(range(7))
    # no driver of ours leaves a part of the first line
    path.write_bytes(made[: first - 1])
    with pytest.raises(ValueError, match="spoilt"):
        qs.sweep(numbers, 7, path, shard=3, executor=threads)


def test_lengths_that_lie_are_refused(tmp_path):
    """Heads with right checksums that promise what is not there cost no memory."""
    path = tmp_path / "sweep"
    made = small(path)
    head = made[: made.index(b"\n") + 1]
    big = 10**15
    lies = [
        {"shard": 0, "arrays": [["i", "<i8", [3, big]]], "crc": 0},
        {"shard": 0, "arrays": [["i", f"<U{2**28}", [3]]], "crc": 0},
        {"shard": -1, "arrays": [], "crc": 0},
        {"shard": 7, "arrays": [["i", "<i8", [3]]], "crc": 0},
        {"shard": 0, "arrays": [["i", "|O", [3]]], "crc": 0},
        {"shard": 0, "arrays": [["i", "<i8", [4]]], "crc": 0},
        {"shard": 0, "arrays": [["i", "<i8", [-3, -1]]], "crc": 0},
        {"shard": 0},
        [],
        None,
    ]
    for lie in lies:
        path.write_bytes(head + _sweep_file._line(b"shard", lie) + b"12345678\n" * 9)
        with pytest.raises(ValueError):
            qs.read_sweep(path)
    for n, shard in ((big, 1), (1, 0), (-1, 1), ("1", 1), (True, 1)):
        path.write_bytes(_sweep_file._line(_sweep_file.HEAD, {"n": n, "shard": shard}))
        with pytest.raises(ValueError):
            qs.read_sweep(path)


def test_rows_of_different_shapes_are_told(tmp_path):
    def ragged(indices):
        return {"x": np.zeros((len(indices), 1 + int(indices[0] > 4)))}

    path = tmp_path / "sweep"
    qs.sweep(ragged, 10, path, shard=5, executor=threads)
    with pytest.raises(ValueError, match="rows of shard 1 are .*2.*; of those before .*1"):
        qs.read_sweep(path)


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
