"""Sweeps: many rollouts in many processes, streamed to one file, resumed after any interruption.

The driver alone writes the file, a record for each finished shard. A record is whole or it is cut
off when the file is opened again, so nothing is lost but what was not finished, and nothing is there
twice. Results depend on the numbers of the rollouts alone, not on who computed them.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from ._types import Rows

FORMAT = "quasistep sweep"
VERSION = 1
# a shard that takes its worker down this often does so for a reason of its own
MOST_ATTEMPTS = 5


def sweep(
    function: Callable[[NDArray[np.int64]], Rows],
    n: int,
    path: str | os.PathLike[str],
    *,
    shard: int = 100,
    executor: str | Callable[[], Executor] = "processes",
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Computes rollouts 0 to n - 1 in several processes and streams them to a file.

    Called again with the same file it computes what is missing: after a worker was killed, the
    driver was killed, the machine was switched off. At most two shards for each worker are in memory.

    Parameters
    ----------
    function : callable(indices) -> dict of str to array
        Rollouts of these numbers, an int array of shape (k,); each array of the result has k rows.
        Travels to the workers by pickle. Seed random numbers with the rollouts' numbers.
    n : int
        Number of rollouts.
    path : path
        The file; made if it is missing.
    shard : int
        Rollouts that are computed together.
    executor : {"processes", "ray"} or callable() -> concurrent.futures.Executor
        Who computes: processes of this machine, a Ray cluster (``ray.init`` beforehand to choose
        one), or anything that has ``submit``.
    workers : int, optional
        Number of processes; as many as there are cores by default. A Ray cluster has its own.
    progress : callable(done, total), optional
        Told after each shard.

    Raises
    ------
    ValueError
        The file is another sweep's.
    RuntimeError
        A shard took its worker down time and again.

    Examples
    --------
    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def squares(indices):
    ...     return {"square": indices**2}
    >>> with tempfile.TemporaryDirectory() as dir:
    ...     qs.sweep(squares, 10, dir + "/squares", shard=3, executor=ThreadPoolExecutor)
    ...     qs.read_sweep(dir + "/squares")["square"]
    array([ 0,  1,  4,  9, 16, 25, 36, 49, 64, 81])
    """
    # as late as this: most programs sweep nothing
    from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait

    workers = workers or os.cpu_count() or 1
    make = _executor(executor, workers)
    with open(path, "ab+") as file:
        _lock(file)
        done = _open(file, {"format": FORMAT, "version": VERSION, "n": n, "shard": shard})
        shards = -(-n // shard)
        waiting = [k for k in range(shards) if k not in done][::-1]
        count = sum(min(shard, n - k * shard) for k in done)
        attempts: dict[int, int] = {}
        running: dict[Future[Any], int] = {}
        pool = make()
        try:
            while waiting or running:
                broken = False
                try:
                    while waiting and len(running) < 2 * workers:
                        k = waiting[-1]
                        indices = np.arange(k * shard, min((k + 1) * shard, n))
                        running[pool.submit(function, indices)] = k
                        waiting.pop()
                except BrokenExecutor:
                    broken = True
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    k = running.pop(future)
                    try:
                        rows = future.result()
                    except BrokenExecutor:
                        broken = True
                        attempts[k] = attempts.get(k, 0) + 1
                        if attempts[k] >= MOST_ATTEMPTS:
                            raise RuntimeError(
                                f"rollouts {k * shard} and on took their worker down "
                                f"{MOST_ATTEMPTS} times"
                            ) from None
                        waiting.append(k)
                        continue
                    size = min(shard, n - k * shard)
                    _append(file, k, size, rows)
                    count += size
                    if progress is not None:
                        progress(count, n)
                # processes of one pool go down together; a cluster loses the worker alone
                if broken and not getattr(pool, "survives", False):
                    waiting += running.values()
                    running.clear()
                    pool.shutdown(wait=False, cancel_futures=True)
                    pool = make()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def read_sweep(path: str | os.PathLike[str]) -> Rows:
    """The rows of a finished sweep, in the order of the rollouts' numbers.

    Parameters
    ----------
    path : path
        A file of :func:`sweep`.

    Returns
    -------
    dict of str to ndarray
        Each with n rows.

    Raises
    ------
    ValueError
        It is no such file, or some rollouts are missing.

    Examples
    --------
    See :func:`sweep`.

    >>> try:
    ...     qs.read_sweep("scenes/pinch.yml")
    ... except ValueError as error:
    ...     print(error)
    scenes/pinch.yml: not a file of a sweep
    """
    with open(path, "rb") as file:
        header = _header(file)
        records = {k: rows for k, rows, _ in _records(file)}
    shards = -(-header["n"] // header["shard"])
    missing = [k for k in range(shards) if k not in records]
    if missing:
        raise ValueError(f"{path}: {len(missing)} of {shards} shards are missing; sweep again")
    ordered = [records[k] for k in range(shards)]
    names = ordered[0] if ordered else {}
    return {name: np.concatenate([rows[name] for rows in ordered]) for name in names}


def _open(file: BinaryIO, header: dict[str, Any]) -> set[int]:
    """Shards that a file holds, whole; what follows them is cut off."""
    file.seek(0)
    line = file.readline()
    if not line.endswith(b"\n"):
        file.truncate(0)
        file.write(json.dumps(header).encode() + b"\n")
        _commit(file)
        return set()
    file.seek(0)
    seen = _header(file)
    if seen != header:
        raise ValueError(f"{file.name}: another sweep's file: {seen}; this one is {header}")
    done: set[int] = set()
    end = file.tell()
    for k, _, end in _records(file):
        if k in done:
            raise ValueError(f"{file.name}: shard {k} is there twice")
        done.add(k)
    file.seek(end)
    file.truncate()
    return done


def _header(file: BinaryIO) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(file.readline())
        if header["format"] == FORMAT and header["version"] == VERSION:
            return header
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{file.name}: not a file of a sweep")


def _records(file: BinaryIO) -> Iterator[tuple[int, Rows, int]]:
    """Whole records from here on: number of the shard, its rows, where it ends."""
    while line := file.readline():
        try:
            head = json.loads(line)
            body = file.read(head["bytes"])
            if len(body) < head["bytes"] or zlib.crc32(body) != head["crc"]:
                return
        except (ValueError, KeyError, TypeError):
            return
        rows: Rows = {}
        at = 0
        for name, kind, shape in head["arrays"]:
            dtype = np.dtype(kind)
            size = dtype.itemsize * int(np.prod(shape))
            rows[name] = np.frombuffer(body[at : at + size], dtype).reshape(shape)
            at += size
        yield head["shard"], rows, file.tell()


def _append(file: BinaryIO, k: int, size: int, rows: Rows) -> None:
    arrays = {name: np.ascontiguousarray(values) for name, values in rows.items()}
    for name, values in arrays.items():
        if values.shape[:1] != (size,) or values.dtype.hasobject or values.dtype.names:
            raise ValueError(
                f"`{name}` has shape {values.shape} and type {values.dtype}; "
                f"give {size} rows of numbers"
            )
    body = b"".join(values.tobytes() for values in arrays.values())
    shapes = [[name, values.dtype.str, values.shape] for name, values in arrays.items()]
    head = {"shard": k, "arrays": shapes, "bytes": len(body), "crc": zlib.crc32(body)}
    file.write(json.dumps(head).encode() + b"\n" + body)
    _commit(file)


def _commit(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _lock(file: BinaryIO) -> None:
    """Two drivers on one file would write everything twice."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"{file.name}: another sweep is writing this file") from None


def _executor(kind: str | Callable[[], Executor], workers: int) -> Callable[[], Executor]:
    if callable(kind):
        return kind
    if kind == "processes":
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        # a fresh process each: forking one that has threads is asking for trouble
        context = multiprocessing.get_context("spawn")
        return lambda: ProcessPoolExecutor(workers, mp_context=context)
    if kind == "ray":
        from ._ray import RayExecutor

        return RayExecutor
    raise ValueError(f"executor is {kind!r}; give 'processes', 'ray' or a callable")
