"""What can go wrong, in the sentences of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .run import Run


class QuasistepError(Exception):
    """Base of all errors of this package.

    Details are attributes, by name; an error travels between processes with them.

    Examples
    --------
    >>> issubclass(qs.SceneError, qs.QuasistepError) and issubclass(qs.StepError, qs.QuasistepError)
    True
    """

    def __init__(self, sentence: str, **details: Any) -> None:
        super().__init__(sentence)
        self._details = details
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
    --set step.size: -1 was seen; it must be > 0 s
    """

    file: str
    line: int | None
    key: str


class StepError(QuasistepError):
    """A step was not taken.

    Attributes
    ----------
    run : Run or None
        Of :meth:`System.simulate`: everything up to there.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> try:
    ...     system.step(system.q0, [0.0])
    ... except qs.StepError as error:
    ...     print(error)
    `q_cmd` has 1 entries; this system has 2
    """

    run: Run | None = None


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
    limits take part.

    Examples
    --------
    >>> issubclass(qs.InfeasibleError, qs.StepError)
    True
    """

    pairs: list[tuple[str, str, float]]
    joints: list[str]


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
