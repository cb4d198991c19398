"""Rollouts with the matrices of their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _core
from ._shapes import arrays_of, checked_threads, count, loads, shaped
from ._yaml import changes
from .derivatives import DifferentiableSystem, Kinks, Smooth, checked_kappa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from ._core import StepParams
    from ._records import Wrench
    from ._types import Array
    from .errors import QuasistepError

# a parameter is changed by this share of its value to see what it changes
_SHARE = 1e-3


class RolloutGradients(NamedTuple):
    r"""Gradients of :math:`\sum_k w_k \cdot x_{k+1}` of each rollout.

    Parameters
    ----------
    x0 : ndarray, shape (N, n_x)
        With respect to the state at the start.
    u : ndarray, shape (N, T, n_u_v)
        With respect to the command of every step.
    parameters : ndarray, shape (N, P)
        With respect to the parameters.

    Examples
    --------
    See :meth:`System.rollouts`.

    >>> qs.RolloutGradients._fields
    ('x0', 'u', 'parameters')
    """

    x0: Array
    u: Array
    parameters: Array


class Rollouts(NamedTuple):
    r"""Rollouts and the matrices of their steps: :math:`dx_{k+1} = A_k dx_k + B_k du_k + C_k d\theta`.

    A state x has ``n_x`` entries: ``n_v`` of the configuration on its tangent space, and ``n_v`` of the velocity
    if the motion carries it (``motion: dynamic``). Rows of steps that were not taken are NaN.

    Parameters
    ----------
    q : ndarray, shape (N, T, n_q)
        Configurations after each step.
    by_x : ndarray, shape (N, T, n_x, n_x)
        A.
    by_u : ndarray, shape (N, T, n_x, n_u_v)
        B.
    by_parameters : ndarray, shape (N, T, n_x, P)
        C.
    n_steps : ndarray of int, shape (N,)
        Steps taken.
    kinks : ndarray of int, shape (N, 10)
        Sums over the steps of the counts of :class:`Kinks`.
    overlaps : dict of int to tuple
        Relaxed rollouts whose bodies go into one another by more than ``max_overlap``, by sample: step, names of
        both shapes, and signed distance (m) at the first such place.
    errors : dict of int to QuasistepError
        Why rollouts ended early, by sample.
    contacts : ndarray or None
        Contacts of all steps, if wanted: dtype :data:`CONTACT` behind the fields ``sample`` and ``step``.

    Examples
    --------
    See :meth:`System.rollouts`.

    >>> qs.Rollouts._fields[:4]
    ('q', 'by_x', 'by_u', 'by_parameters')
    """

    q: Array
    by_x: Array
    by_u: Array
    by_parameters: Array
    n_steps: NDArray[np.int64]
    kinks: NDArray[np.int64]
    overlaps: dict[int, tuple[int, str, str, float]]
    errors: dict[int, QuasistepError]
    contacts: NDArray[np.void] | None = None

    def gradients(self, weights: ArrayLike) -> RolloutGradients:
        """Gradients of weighted sums of the states after each step, by one pass backwards.

        Parameters
        ----------
        weights : array_like, shape (N, T, n_x)
            The derivative of a cost by every state. Weights on the last step alone have zeros before.

        Returns
        -------
        RolloutGradients

        Raises
        ------
        ValueError
            The rollouts were made without matrices, or the shape is another one.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> runs = system.rollouts(np.tile(system.commanded(system.q0), (4, 1)))
        >>> runs.gradients(np.ones((1, 4, system.n_v))).x0.shape
        (1, 8)
        """
        n, T, n_x, _ = self.by_x.shape
        if T != self.q.shape[1]:
            raise ValueError("these rollouts have no matrices; make them with matrices=True")
        W = shaped("weights", weights, (n, T, n_x))
        by_parameters = np.swapaxes(self.by_parameters, 2, 3)
        x0, u, parameters = _core.rollout_gradients(self.by_x, self.by_u, by_parameters, W, n, n_x)
        return RolloutGradients(x0.reshape(n, n_x), u.reshape(n, T, -1), parameters.reshape(n, -1))


class RolloutSystem(DifferentiableSystem):
    """Rollouts that are differentiated: the part of :class:`System` for planners."""

    def rollouts(
        self,
        U: ArrayLike,
        *,
        q0: ArrayLike | None = None,
        mode: str | Smooth = "exact",
        parameters: Mapping[str, float] | None = None,
        matrices: bool = True,
        contacts: bool = False,
        h: float | None = None,
        t0: float = 0.0,
        V: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        tau: ArrayLike | None = None,
        params: StepParams | None = None,
        threads: int | None = None,
    ) -> Rollouts:
        """Rolls out command sequences, with the derivatives of every step, on all cores.

        Each rollout starts cold; every later step starts its solver from the one before. The same bits for any
        number of threads. ``mode=qs.Smooth(kappa)`` rolls out the relaxed step, whose contacts push before they
        touch. It sees the pairs within the margin, and their linearised gaps, so that large steps may go through
        bodies: ``overlaps`` has the true distances along the way.

        Parameters
        ----------
        U : array_like, shape (N, T, n_u) or (T, n_u)
            Commands at the ends of the steps.
        q0 : array_like, shape (N, n_q) or (n_q,), optional
            Where they start; the scene's start by default.
        mode : "exact" or Smooth
            The step itself, or the relaxed step.
        parameters : mapping of str to float, optional
            Keys of the scene, and their values: ``{"models.box.mass": 0.8}``. Masses, centres, stiffness, damping,
            friction and others, as for :func:`identify`.
        matrices : bool
            False for configurations alone.
        contacts : bool
            Keep the contacts of all steps.
        h, params
            As for :meth:`step`; the same ones for all samples and steps.
        wrenches, tau
            As for :meth:`simulate_batch`: shared, or for each step, or for each step of each sample.
        t0 : float
            Time at the start, in s.
        V : array_like, shape (N, T, n_u_v) or (T, n_u_v), optional
            Rates of the commands.
        velocity : array_like, shape (N, n_v) or (n_v,), optional
            At the start, in m/s and rad/s; rest by default.
        threads : int, optional
            All cores by default.

        Returns
        -------
        Rollouts

        Raises
        ------
        DerivativeError
            Such steps have no derivatives: ``integration: midpoint``, sizes by tolerance.
        ValueError
            A shape is wrong, or steps have no derivative by one of the parameters.

        Examples
        --------
        How far the box ends in x, by the commands of six steps and by its mass:

        >>> system = qs.load("scenes/planar_push.yml")
        >>> U = system.commanded(system.q0) + np.linspace(0, 0.05, 7)[1:, None] * [1, 0]
        >>> runs = system.rollouts(U, h=0.1, mode=qs.Smooth(1e-4), parameters={"models.box.mass": 0.8})
        >>> runs.q.shape, runs.by_x.shape, runs.by_u.shape, runs.by_parameters.shape
        ((1, 6, 9), (1, 6, 8, 8), (1, 6, 8, 2), (1, 6, 8, 1))
        >>> weights = np.zeros((1, 6, 8))
        >>> weights[:, -1, system.dofs.index("box.vx")] = 1
        >>> runs.gradients(weights).u.shape
        (1, 6, 2)
        """
        n = count({3: [U, V, tau, *arrays_of(wrenches)], 2: [q0, velocity]}, None)
        T = np.shape(U)[-2] if np.ndim(U) > 1 else 0
        U = np.broadcast_to(shaped("U", U, (n, T, self.n_u), broadcast=True), (n, T, self.n_u))
        if V is not None:
            V = np.broadcast_to(shaped("V", V, (n, T, self.n_u_v), broadcast=True), (n, T, self.n_u_v))
        start = shaped("q0", self.q0 if q0 is None else q0, (n, self.n_q), broadcast=True)
        if velocity is not None:
            velocity = shaped("velocity", velocity, (n, self.n_v), broadcast=True)
        if tau is not None:
            tau = shaped("tau", tau, (n, T, self.n_v), broadcast=True)
        given = {} if parameters is None else dict(parameters)
        data = _core.rollouts(
            self, start, velocity, U, V, n, T, t0, h, loads(wrenches, tau, (n, T)), params, checked_kappa(mode), self._changes(given, T),
            matrices, contacts, checked_threads(threads),
        )  # fmt: skip
        n_x, p, kept = data["n_x"], len(given), T if matrices else 0
        shapes = list(self.shapes)
        return Rollouts(
            data["q"].reshape(n, T, self.n_q),
            data["by_x"].reshape(n, kept, n_x, n_x),
            data["by_u"].reshape(n, kept, n_x, self.n_u_v),
            np.swapaxes(data["by_parameters"].reshape(n, kept, p, n_x), 2, 3),
            data["n_steps"],
            data["kinks"].reshape(n, len(Kinks._fields)),
            {
                i: (step, shapes[a], shapes[b], phi)
                for i, (step, a, b, phi) in enumerate(data["overlaps"])
                if step >= 0
            },
            data["errors"],
            data.get("contacts"),
        )

    def _changes(self, parameters: dict[str, float], n_steps: int) -> _core.Changes | None:
        """What a little less and a little more of each parameter make of the system."""
        if not parameters:
            return None
        by = [_SHARE * (abs(value) or 1.0) for value in parameters.values()]
        less, more = (
            [changes({key: value + side * d}) for (key, value), d in zip(parameters.items(), by, strict=True)]
            for side in (-0.5, 0.5)
        )
        found = _core.Changes(self, less, more, by, n_steps)
        lost = [key for k, key in enumerate(parameters) if k not in found.known]
        if lost:
            raise ValueError(f"steps have no derivative by {', '.join(f'`{key}`' for key in lost)}")
        return found
