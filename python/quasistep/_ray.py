"""A Ray cluster as an executor of `concurrent.futures`; ray is an optional dependency."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Executor, Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class RayExecutor(Executor):
    """Calls run as tasks of the cluster that `ray.init` chose; it is started here if none was."""

    survives = True
    """A worker that dies takes its own calls with it, no others."""

    def __init__(self) -> None:
        try:
            import ray
        except ImportError as error:
            raise ImportError("this executor needs ray: pip install ray") from error
        self._ray: Any = ray
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        # the driver repeats what a lost worker leaves, so Ray need not
        self._call = ray.remote(max_retries=0)(_call)
        self._shared: dict[int, tuple[Any, Any]] = {}
        self._running: set[Future[Any]] = set()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Starts a call; a worker that dies breaks its own calls alone."""
        if id(function) not in self._shared:
            # the function, with the system in it, is sent to each worker once
            self._shared[id(function)] = (function, self._ray.put(function))
        task = self._call.remote(self._shared[id(function)][1], args, kwargs)
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        self._running.add(outer)

        def finish(inner: Future[Any]) -> None:
            self._running.discard(outer)
            error = inner.exception()
            if isinstance(error, self._ray.exceptions.WorkerCrashedError):
                outer.set_exception(BrokenExecutor(str(error)))
            elif error is not None:
                outer.set_exception(error)
            else:
                outer.set_result(inner.result())

        task.future().add_done_callback(finish)
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster as it is."""
        self._shared.clear()


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)
