"""What can go wrong, in the sentences of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from .control_run import ControlRun
    from .run import Run


class QuasistepError(Exception):
    """Base of all errors of this package.

    Details are attributes, by name; an error travels between processes with them. A note below the error says how to read
    what it means: ``quasistep explain NAME``.

    Examples
    --------
    >>> issubclass(qs.SceneError, qs.QuasistepError) and issubclass(qs.StepError, qs.QuasistepError)
    True
    """

    def __init__(self, sentence: str, **details: Any) -> None:
        super().__init__(sentence)
        self._details = details
        help = _core.help(sentence, type(self).__name__)
        if help is not None:
            # what add_note does, from Python 3.11 on
            self.__notes__ = [help]
        for name, value in details.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), self._details)


def _rebuild(kind: type[QuasistepError], sentence: str, details: dict[str, Any]) -> QuasistepError:
    return kind(sentence, **details)


class SceneError(QuasistepError, ValueError):
    """A mistake in a scene, or in a file that it names.

    Attributes
    ----------
    file : str
        The file; empty for a scene made in code, or a mistake in an argument.
    line : int or None
        The line, from 1, where one can be named.
    key : str
        The dotted key.

    Examples
    --------
    >>> try:
    ...     qs.load("scenes/pinch.yml", set={"step.size": -1})
    ... except qs.SceneError as error:
    ...     print(error)
    set["step.size"]: -1 was seen; it must be > 0 s
    """

    file: str
    line: int | None
    key: str


class NotReachedError(QuasistepError):
    """A frame does not reach a pose, or a place on its path.

    Attributes
    ----------
    frame : str
        Body of the frame.
    point : int or None
        Number of the place on its path, from 0.
    q : list of float
        The configuration found nearest to it, within limits.
    position_error, rotation_error : float
        How far the frame is off there, in m and rad.
    at_limit : list of str
        Joints at a limit there.
    singular : bool
        No motion of the joints brings it nearer there, limits aside: the arm is stretched, or folded.
    too_near : tuple of (str, str, float) or None
        Two bodies and their distance, in m, if it is ``avoid`` or less.
    jump : tuple of (str, float) or None
        The joint that would have to jump for the path to go on, and how far, in m or rad.

    Examples
    --------
    >>> system = qs.load("scenes/planar_push.yml", set={"models.finger.joint.0.limits": [-1, 1]})
    >>> try:
    ...     system.inverse_kinematics("finger", [2, 0, 0.03])
    ... except qs.NotReachedError as error:
    ...     print(round(error.position_error, 6), error.at_limit)
    1.0 ['finger.x']
    """

    frame: str
    point: int | None
    q: list[float]
    position_error: float
    rotation_error: float
    at_limit: list[str]
    singular: bool
    too_near: tuple[str, str, float] | None
    jump: tuple[str, float] | None


class StepError(QuasistepError):
    """A step was not taken.

    Attributes
    ----------
    run : Run, ControlRun or None
        Of :meth:`System.simulate` and :meth:`System.control`: everything up to there.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> try:
    ...     system.step(system.q0, [0.0])
    ... except qs.StepError as error:
    ...     print(error)
    `q_cmd` has 1 entries; this system has 2
    """

    run: Run | ControlRun | None = None


class ParameterError(StepError, ValueError):
    """A step parameter breaks its rule: ``name`` is the parameter.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> try:
    ...     system.step(system.q0, h=0.0)
    ... except qs.ParameterError as error:
    ...     print(error)
    step parameter `time_step` is 0; it must be > 0 s
    """

    name: str


class LengthError(StepError, ValueError):
    """A vector does not fit the system: ``what`` has ``got`` entries, the system ``want``.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> try:
    ...     system.step(system.q0[:3])
    ... except qs.LengthError as error:
    ...     print(error.what, error.got, error.want)
    q 3 9
    """

    what: str
    got: int
    want: int


class InputError(StepError, ValueError):
    """A number is NaN, infinite or no valid configuration: ``what`` names it.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> try:
    ...     system.step(system.q0, [float("nan"), 0.0])
    ... except qs.InputError as error:
    ...     print(error)
    q_cmd: entry 0 is NaN; it must be a finite number
    """

    what: str


class UnsupportedError(StepError):
    """Nothing balances the load on these ``bodies``, free to move along ``direction``.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml", set={"step.inertia": "none"})
    >>> try:
    ...     system.step(system.q_vector({"left.x": -0.1, "right.x": 0.1}))     # no pad holds it
    ... except qs.UnsupportedError as error:
    ...     print(error.bodies)
    ['held/held']
    """

    bodies: list[str]
    direction: list[tuple[str, float]]


class InfeasibleError(StepError):
    """No motion satisfies these contacts and limits together.

    ``pairs`` are the pairs of bodies with the depth of their overlap in m, ``joints`` those whose
    limits take part; ``crushed`` says that gaps alone contradict one another.

    Examples
    --------
    >>> issubclass(qs.InfeasibleError, qs.StepError)
    True
    """

    pairs: list[tuple[str, str, float]]
    joints: list[str]
    crushed: bool


class JammedError(StepError):
    """With exact Coulomb friction gaps and forces can each be met, but not together: proven.

    ``pairs`` and ``joints`` as of :class:`InfeasibleError`.

    Examples
    --------
    >>> issubclass(qs.JammedError, qs.StepError)
    True
    """

    pairs: list[tuple[str, str, float]]
    joints: list[str]


class UndecidedError(StepError):
    """Neither a solution with exact Coulomb friction nor a proof that there is none was found, or the step's
    ``work_limit`` ended before.

    Examples
    --------
    >>> issubclass(qs.UndecidedError, qs.StepError)
    True
    """


class ConstraintError(StepError):
    """Closed loops or couplings called ``names`` cannot be kept: they contradict one another or what is prescribed.

    Examples
    --------
    >>> issubclass(qs.ConstraintError, qs.StepError)
    True
    """

    names: list[str]


class OverlapError(StepError):
    """A step would overlap a pair by more than ``max_overlap``, or push over a gap, and took no substeps that help.

    ``pair`` is its names and its depth in m (negative: the gap), ``time`` when in s from the step's start, ``size``
    the largest step in s that would do.

    Examples
    --------
    >>> issubclass(qs.OverlapError, qs.StepError)
    True
    """

    pair: tuple[str, str, float]
    time: float
    size: float


class NotSolvedError(StepError):
    """The solver stopped early after ``iterations``, or its answer did not pass the certificate.

    Examples
    --------
    >>> issubclass(qs.NotSolvedError, qs.StepError)
    True
    """

    iterations: int


class NotAtRestError(StepError):
    """No rest after ``steps``: ``dof`` still moves at ``speed`` (m/s or rad/s).

    Examples
    --------
    >>> ball = qs.SystemBuilder(step={"inertia": "mass"})
    >>> ball.model("ball", mass=1.0, shape=qs.sphere(0.1))
    >>> try:
    ...     ball.build().equilibrium(max_steps=10)        # it falls
    ... except qs.NotAtRestError as error:
    ...     print(error.dof, error.steps)
    ball.vz 10
    """

    steps: int
    dof: str
    speed: float


class ProblemError(QuasistepError, ValueError):
    """A control problem that cannot be set up: the sentence names what does not fit.

    Examples
    --------
    >>> try:
    ...     qs.Lcs(A=[[1]], B=[[1]], C=[[1, 2]], D=[[1]], E=[[0]], f=[0], a=[0])
    ... except qs.ProblemError as error:
    ...     print(error)
    `C` has shape (1, 2); beside `f` of 1 and `a` of 1 entries it must have (1, 1)
    """


class NoPlanError(QuasistepError):
    """No plan keeps all bounds of a closed loop; the sentence names those that clash.

    Attributes
    ----------
    run : ControlRun or None
        Of :meth:`System.control`: everything up to there.

    Examples
    --------
    >>> issubclass(qs.NoPlanError, qs.QuasistepError)
    True
    """

    run: ControlRun | None = None


class DerivativeError(QuasistepError):
    """A step has no derivatives; the sentence says why.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml", set={"step.integration": "midpoint"})
    >>> try:
    ...     system.derivatives()
    ... except qs.DerivativeError as error:
    ...     print(error)
    no derivative of such a step: `integration` is midpoint; it must be euler
    """
