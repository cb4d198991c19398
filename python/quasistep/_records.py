"""Small plain data: what goes in and comes out beside arrays."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ._core import WarmStart


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


class Checkpoint(NamedTuple):
    """Where a run goes on with the bits of one that was not interrupted: ``simulate(start=...)``.

    Plain data that pickles. A step makes one as well: time and velocity at its end, its
    ``warm_start`` and what is ``attached``.

    Parameters
    ----------
    t : float
        Time, in s.
    q : ndarray, shape (n_q,)
        Configuration.
    velocity : ndarray, shape (n_v,) or (0,)
        Velocity that the next step begins with; empty where a formulation carries none over.
    warm : WarmStart or None
        What the next step's solver starts from; without it the answer is the same to the solver's
        tolerance.
    attached : ndarray, shape (n_switches, 8), optional
        What switched constraints hold: ``report.attached``. Without it nothing is attached.

    Examples
    --------
    >>> system = qs.load("scenes/gripper_2d.yml")
    >>> whole = system.simulate(duration=0.2)
    >>> half = system.simulate(duration=0.1)
    >>> rest = system.simulate(duration=0.1, start=half.checkpoint)
    >>> bool((rest.q[-1] == whole.q[-1]).all())
    True
    """

    t: float
    q: NDArray[np.float64]
    velocity: NDArray[np.float64]
    warm: WarmStart | None
    attached: NDArray[np.float64] | None = None


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
    constraint : float
        Largest distance of a row of a constraint from what it asks for, linearised, in m or rad.

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
    constraint: float = 0.0


class Wrench(NamedTuple):
    """A force and a torque on a body, constant over a step.

    Parameters
    ----------
    body : str or int
        ``model/link``, a model of one body, or an index of :attr:`System.bodies`.
    force, torque : array_like, shape (3,); in batches also (N, 3), in batches of runs (T, 3) or (N, T, 3)
        In the world frame, in N and N·m: of all samples and steps, or of each of N samples and T steps.
    at : array_like, shaped as they are
        Point of attack in the body's frame, in m.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> _, report = system.step(system.q0, wrenches=[qs.Wrench("held", force=(0, 0, -1))])
    >>> round(float(report.contacts["f"][:, 2].sum()), 3)    # the pads carry it, and 45 g
    1.441

    Three samples, pulled down by 0, 1 and 2 N:

    >>> pull = qs.Wrench("held", force=[[0, 0, 0], [0, 0, -1], [0, 0, -2]])
    >>> _, report = system.step_batch(system.q0, [-0.028, 0.028], wrenches=[pull], report=True)
    >>> [round(float(r.contacts["f"][:, 2].sum()), 3) for r in report.reports]
    [0.441, 1.441, 2.441]
    """

    body: str | int
    force: ArrayLike = (0.0, 0.0, 0.0)
    torque: ArrayLike = (0.0, 0.0, 0.0)
    at: ArrayLike = (0.0, 0.0, 0.0)


class Frame(NamedTuple):
    """A frame fixed to a body; the name of a body alone is the body's own frame.

    Parameters
    ----------
    body : str or int
        ``model/link``, a model of one body, or an index of :attr:`System.bodies`.
    xyz : tuple of float, shape (3,)
        Its origin in the body's frame, in m.
    rpy : tuple of float, shape (3,)
        Its roll, pitch and yaw about the body's axes, in rad, as in URDF.

    Examples
    --------
    >>> system = qs.load("scenes/planar_push.yml")
    >>> tip = qs.Frame("finger", xyz=(0.01, 0, 0))
    >>> system.pose(tip, system.q0)[4:]
    array([-0.1 ,  0.02,  0.03])
    """

    body: str | int
    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)


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


class SharedForce(NamedTuple):
    """A contact whose force is not the only one.

    Parameters
    ----------
    contact : int
        Place in the report's contacts.
    a, b : str
        Bodies.
    normal_is_unique : bool
        Its normal force is the only one; friction is what may differ.

    Examples
    --------
    See :class:`Uniqueness`.

    >>> qs.SharedForce._fields
    ('contact', 'a', 'b', 'normal_is_unique')
    """

    contact: int
    a: str
    b: str
    normal_is_unique: bool


class DeterminedSum(NamedTuple):
    """The sum of forces on a body by several contacts, where it is the only one and they are not.

    Parameters
    ----------
    body : str
    contacts : list of int
        Places in the report's contacts.
    axes : str
        Axes of the world along which the sum is determined, as ``"xz"``.

    Examples
    --------
    See :class:`Uniqueness`.

    >>> qs.DeterminedSum._fields
    ('body', 'contacts', 'axes')
    """

    body: str
    contacts: list[int]
    axes: str


class Uniqueness(NamedTuple):
    """What else could have come out of a step with exact Coulomb friction, Trinkle05 Proposition 1.

    Parameters
    ----------
    motion : {"unique", "free", "unknown"}
        Is the next configuration the only one at its normal forces?
    bodies : list of str
        If it is free: the bodies that may move otherwise,
    direction : dict of str to float
        and the dofs along which they do, with their share of the motion.
    forces : {"unique", "shared", "unknown"}
        Are the contact forces the only ones at this motion?
    contacts : list of SharedForce
        If they are shared: between which contacts,
    joints : list of str
        joints whose limits take part,
    sums : list of DeterminedSum
        and what is determined all the same.
    text : str
        All of it in words.

    Examples
    --------
    A block that slides on its four corners has one more than balance needs:

    >>> scene = qs.SystemBuilder(step={"size": 0.05, "inertia": "mass"})
    >>> scene.model("table", joint="fixed", friction=0.5, shape=qs.half_space())
    >>> scene.model("block", mass=1, pose={"xyz": [0, 0, 0.05]}, shape=qs.box([0.1, 0.1, 0.1]))
    >>> answer = scene.build().uniqueness(wrenches=[qs.Wrench("block", force=(10, 0, 0))])
    >>> answer.motion, answer.forces, answer.sums[0].axes
    ('unique', 'shared', 'xz')
    """

    motion: str
    bodies: list[str]
    direction: dict[str, float]
    forces: str
    contacts: list[SharedForce]
    joints: list[str]
    sums: list[DeterminedSum]
    text: str

    @classmethod
    def _of(
        cls,
        motion: str,
        bodies: list[str],
        direction: list[tuple[str, float]],
        forces: str,
        contacts: list[tuple[int, str, str, bool]],
        joints: list[str],
        sums: list[tuple[str, list[int], str]],
        text: str,
    ) -> Uniqueness:
        shared = [SharedForce(*contact) for contact in contacts]
        determined = [DeterminedSum(*each) for each in sums]
        return cls(motion, bodies, dict(direction), forces, shared, joints, determined, text)
