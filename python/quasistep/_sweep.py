"""Sweeps: many rollouts in many processes, streamed to one file, resumed after any interruption.

The driver alone writes the file, a record for each finished shard. A record is whole or it is cut
off when the file is opened again, so nothing is lost but what was not finished, and nothing is there
twice. Results depend on the numbers of the rollouts alone, not on who computed them.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _sweep_file
from ._fingerprint import description

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from ._types import Rows

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
    name: str | None = None,
) -> None:
    """Computes rollouts 0 to n - 1 in several processes and streams them to a file.

    Called again with the same file it computes what is missing: after a worker was killed, the
    driver was killed, the machine was switched off. At most two shards for each worker are in memory.
    Workers end with their driver, however that ends.

    The file has the function, the arguments and the versions of Python and quasistep that made its rows. A
    sweep that differs is refused, and so is a file that is no sweep's; it stays unchanged. Compared are
    the function's code, values bound to its parameters (`functools.partial`, closures), and the
    functions, classes and values of its own module that it looks up.

    Parameters
    ----------
    function : callable(indices) -> dict of str to array
        Rollouts of these numbers, an int array of shape (k,); each array of the result has k rows.
        Travels to the workers by pickle. Seed random numbers with the rollouts' numbers.
    n : int
        Number of rollouts.
    path : path
        The file; made if it is missing. It must be empty or this sweep's own.
    shard : int
        Rollouts that are computed together.
    executor : {"processes", "ray"} or callable() -> concurrent.futures.Executor
        Who computes: processes of this machine, a Ray cluster (``ray.init`` beforehand to choose
        one), or anything that has ``submit``.
    workers : int, optional
        Number of processes; as many as there are cores by default. A Ray cluster has its own.
    progress : callable(done, total), optional
        Told after each shard.
    name : str, optional
        Says what makes the rows, in place of the function's code and arguments: for functions that
        cannot be compared, or that differ in what changes no row.

    Raises
    ------
    ValueError
        The file is another sweep's, no sweep's, or spoilt.
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

    for key, value in {"n": n, "shard": shard}.items():
        if isinstance(value, bool) or value != int(value) or value < (key == "shard"):
            raise ValueError(f"{key} is {value!r}; give a whole number from {int(key == 'shard')} on")
    n, shard = int(n), int(shard)
    workers = workers or os.cpu_count() or 1
    make = _executor(executor, workers)
    file, done = _sweep_file.open_own(path, {"n": n, "shard": shard, **_made_by(function, name)})
    with file:
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
                    _sweep_file.append(file, k, size, rows)
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
    return _sweep_file.read(path)


def _made_by(function: Callable[..., Any], name: str | None) -> dict[str, Any]:
    """What rows follow from, beside their numbers."""
    if name is not None:
        return {"quasistep": _core.__version__, "name": str(name)}
    try:
        called, code, arguments = description(function)
    except TypeError as error:
        raise ValueError(f"{error}; give `name=`, which says what makes the rows") from error
    # the code of a function differs between versions of Python
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    made = {"quasistep": _core.__version__, "python": python, "function": called, "code": code}
    return {**made, "arguments": arguments}


def _end_with_driver() -> None:
    """Ends this process with the one that started it, however that ends."""
    import multiprocessing
    import threading

    driver = multiprocessing.parent_process()
    assert driver is not None  # workers alone call this

    def follow() -> None:
        driver.join()
        # a shard that is being computed has no one to go to
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _executor(kind: str | Callable[[], Executor], workers: int) -> Callable[[], Executor]:
    if callable(kind):
        return kind
    if kind == "processes":
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        # a fresh process each: forking one that has threads is asking for trouble
        context = multiprocessing.get_context("spawn")
        return lambda: ProcessPoolExecutor(workers, context, _end_with_driver)
    if kind == "ray":
        from ._ray import RayExecutor

        return RayExecutor
    raise ValueError(f"executor is {kind!r}; give 'processes', 'ray' or a callable")
