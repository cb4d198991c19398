"""Steps for PyTorch: ``from quasistep.torch import step``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._bridge import StepFunction

if TYPE_CHECKING:
    from ._core import StepParams
    from .derivatives import Smooth
    from .system import System

__all__ = ["step"]


def step(
    system: System,
    q: Any,
    u: Any,
    *,
    mode: str | Smooth = "exact",
    h: float | None = None,
    t: float = 0.0,
    params: StepParams | None = None,
    velocity: Any = None,
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
    velocity : tensor, shape (..., n_v), optional
        At the start, of a formulation that carries it over (``motion: dynamic``); rest by default.

    Returns
    -------
    tensor, shape (..., n_q)
        With ``velocity`` a pair: this, and the velocity at the end, shape (..., n_v).
        Of the dtype and on the device of ``q``; computed in double precision on the CPU.

    Raises
    ------
    ImportError
        PyTorch is not installed.
    StepError, DerivativeError
        Of the first sample that has no step or no derivative.

    Examples
    --------
    >>> import torch                                               # doctest: +SKIP
    >>> q = torch.tensor(system.q0)                                # doctest: +SKIP
    >>> u = torch.tensor([0.0, 0.1], requires_grad=True)           # doctest: +SKIP
    >>> qs.torch.step(system, q, u)[0].backward()                  # doctest: +SKIP
    """
    moving = velocity is not None
    function = StepFunction(system, mode, {"h": h, "t": t, "params": params}, moving)
    global _step
    _step = _step or _autograd_function()
    if not moving:
        return _step.apply(q, u, function)
    import torch

    shape = torch.broadcast_shapes(q.shape[:-1], velocity.shape[:-1])
    parts = [x.expand(*shape, x.shape[-1]) for x in (q, velocity)]
    x_next = _step.apply(torch.cat(parts, dim=-1), u, function)
    return x_next[..., : system.n_q], x_next[..., system.n_q :]


# made at the first call: importing PyTorch takes seconds
_step: Any = None


def _autograd_function() -> Any:
    """The step as an autograd function."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("quasistep.torch needs PyTorch: pip install torch") from error

    def numbers(tensor: Any) -> Any:
        return tensor.detach().to("cpu", torch.float64).numpy()

    def like(array: Any, tensor: Any) -> Any:
        return torch.from_numpy(array).to(tensor.device, tensor.dtype)

    def forward(ctx: Any, q: Any, u: Any, function: StepFunction) -> Any:
        ctx.save_for_backward(q, u)
        ctx.function = function
        return like(function.forward(numbers(q), numbers(u)), q)

    def backward(ctx: Any, g: Any) -> Any:
        q, u = ctx.saved_tensors
        by_q, by_u = ctx.function.backward(numbers(q), numbers(u), numbers(g))
        return like(by_q, q), like(by_u, u), None

    once = torch.autograd.function.once_differentiable
    members = {"forward": staticmethod(forward), "backward": staticmethod(once(backward))}
    return type("Step", (torch.autograd.Function,), members)
