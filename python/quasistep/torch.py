"""Steps for PyTorch: ``from quasistep.torch import step``. Needs torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import torch
except ImportError as error:
    raise ImportError("quasistep.torch needs PyTorch: pip install torch") from error

from ._bridge import StepFunction

if TYPE_CHECKING:
    from ._core import StepParams
    from .derivatives import Smooth
    from .system import System


def step(
    system: System,
    q: Any,
    u: Any,
    *,
    mode: str | Smooth = "exact",
    h: float | None = None,
    t: float = 0.0,
    params: StepParams | None = None,
) -> Any:
    """One step as a differentiable function of tensors.

    Parameters
    ----------
    system : System
    q : tensor, shape (..., n_q)
    u : tensor, shape (..., n_u)
        Leading dimensions are samples, computed on all cores.
    mode : "exact" or Smooth
        Whose derivatives: :meth:`System.derivatives`.
    h, t, params
        As for :meth:`System.step`.

    Returns
    -------
    tensor, shape (..., n_q)
        Of the dtype and on the device of ``q``; computed in double precision on the CPU.

    Raises
    ------
    StepError, DerivativeError
        Of the first sample that has no step or no derivative.
    """
    function = StepFunction(system, mode, {"h": h, "t": t, "params": params})
    return _Step.apply(q, u, function)


class _Step(torch.autograd.Function):  # type: ignore[misc]  # torch has no types where it is not installed
    @staticmethod
    def forward(ctx: Any, q: Any, u: Any, function: StepFunction) -> Any:
        ctx.save_for_backward(q, u)
        ctx.function = function
        return _like(function.forward(_numbers(q), _numbers(u)), q)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, g: Any) -> Any:
        q, u = ctx.saved_tensors
        by_q, by_u = ctx.function.backward(_numbers(q), _numbers(u), _numbers(g))
        return _like(by_q, q), _like(by_u, u), None


def _numbers(tensor: Any) -> Any:
    return tensor.detach().to("cpu", torch.float64).numpy()


def _like(array: Any, tensor: Any) -> Any:
    return torch.from_numpy(array).to(tensor.device, tensor.dtype)
