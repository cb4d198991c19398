"""Small plain data: what goes in and comes out beside arrays."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Mode(IntEnum):
    """What a contact does during a step: the ``mode`` of a contact.

    ``SEPARATE`` carries no force; ``STICK`` does not move; ``SLIDE`` slips faster than
    :data:`SLIP_SPEED_THRESHOLD` (m/s), or spins.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> _, report = system.step(system.q0)
    >>> bool((report.contacts["mode"] == qs.Mode.STICK).any())
    True
    """

    SEPARATE = 0
    STICK = 1
    SLIDE = 2


class Certificate(NamedTuple):
    """Residuals of a step, from physical forces and geometry, not from the solver.

    Parameters
    ----------
    force_balance : float
        Largest unbalanced force on a translational dof, in N.
    torque_balance : float
        Largest unbalanced torque on a rotational dof, in N·m.
    penetration : float
        Largest linearised overlap after the step beyond what a bounded recovery leaves, in m.
    true_distance : float
        Smallest true distance of any pair after the step, in m; negative is an overlap.
    cone_violation : float
        Largest normal force that a contact lacks for its friction, in N.
    complementarity : float
        Largest abs(impulse × gap speed) of a row, in J.
    force_scale : float
        Largest force in the step, in N or N·m: what the residuals are judged against.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> _, report = system.step(system.q0)
    >>> report.certificate.penetration <= 1e-9
    True
    """

    force_balance: float
    torque_balance: float
    penetration: float
    true_distance: float
    cone_violation: float
    complementarity: float
    force_scale: float


class Wrench(NamedTuple):
    """A force and a torque on a body, constant over a step.

    Parameters
    ----------
    body : str or int
        ``model/link``, a model of one body, or an index of :attr:`System.bodies`.
    force, torque : tuple of float, shape (3,)
        In the world frame, in N and N·m.
    at : tuple of float, shape (3,)
        Point of attack in the body's frame, in m.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> _, report = system.step(system.q0, wrenches=[qs.Wrench("held", force=(0, 0, -1))])
    >>> round(float(report.contacts["f"][:, 2].sum()), 3)    # the pads carry it, and 45 g
    1.441
    """

    body: str | int
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)


class HeldWrench(NamedTuple):
    """Answer of :meth:`System.largest_wrench`: factors on the wrench that was asked about.

    Parameters
    ----------
    held : float
        The system rests under this much of it.
    lost : float
        It does not rest under this much; infinite if ``held`` is the largest that was to be tried.
    q : ndarray, shape (n_q,)
        Configuration at rest under ``held``.
    trials : int
        Loads that were tried.

    Examples
    --------
    See :meth:`System.largest_wrench`.

    >>> qs.HeldWrench._fields
    ('held', 'lost', 'q', 'trials')
    """

    held: float
    lost: float
    q: NDArray[np.float64]
    trials: int
