"""The world to be stepped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._records import HeldWrench, Uniqueness, Wrench
from ._shapes import arrays_of, checked_threads, count, loads, shaped
from ._yaml import changes
from .batch import finish, varied
from .errors import StepError
from .live import Live
from .paths import PathSystem
from .run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from ._core import StepParams, StepReport, WarmStart
    from ._records import Checkpoint
    from ._types import Array
    from .planning import GoalPlan


class System(PathSystem):
    """A world to be stepped: bodies, joints, shapes, friction, and how its scene drives it.

    Immutable. Pickles and copies carry the scene with every file that it was read from: they work in
    another process or on another machine, with the same bits. Made by :func:`load`, :func:`loads`,
    :func:`from_dict` or :class:`SystemBuilder`.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> system
    System('pinch', 8 dofs, 2 commands)
    >>> import pickle
    >>> pickle.loads(pickle.dumps(system)).n_q
    9
    """

    def with_(self, set: Mapping[str, Any]) -> System:
        """The same system with values of its scene replaced by their dotted keys.

        Parameters
        ----------
        set : mapping of str to value
            As ``--set`` of the command line: ``{"step.size": 0.05, "models.ball.mass": 2}``.

        Returns
        -------
        System

        Raises
        ------
        SceneError
            A change that fits nothing, or a value that is not valid.

        Examples
        --------
        >>> qs.load("scenes/pinch.yml").with_({"step.size": 0.05}).h
        0.05
        """
        changed: System = self._with_changes(changes(set))
        return changed

    def check(self) -> str:
        """What ``quasistep check`` prints: what the scene contains, and how it starts.

        Returns
        -------
        str

        Raises
        ------
        StepError
            The first step cannot be taken: the step problem is not well posed at the start.

        Examples
        --------
        >>> print(qs.load("scenes/pinch.yml").check())       # doctest: +ELLIPSIS
        pinch: A pinch that holds a body for a minute
          3 bodies, 3 shapes, 3 pairs of shapes may touch
          8 dofs: 2 actuated, 0 prescribed, 6 passive
          600 steps of 0.1 s, ...
          at the start: 8 contact points within 0.02 m
          nearest pair: ...
          the first step is certified: forces balance to ...
        ok
        """
        contents, start = self._check()
        warnings = [f"warning: {warning}" for warning in self.warnings]
        return "\n".join([contents, *warnings, start, "ok"])

    def simulate(
        self,
        U: ArrayLike | None = None,
        *,
        h: float | None = None,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        t0: float = 0.0,
        start: Checkpoint | None = None,
        duration: float | None = None,
        V: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        params: StepParams | None = None,
        progress: Callable[[float, float], object] | None = None,
        on_error: str = "raise",
        every: float | None = None,
        most_steps: int = 3_600_000,
    ) -> Run:
        """A run: many steps, each from where the last one ended.

        Parameters
        ----------
        U : array_like, shape (T, n_u), optional
            Commands at the ends of the steps; the scene's own commands over its own duration by
            default.
        h : float, optional
            Time step, in s, of steps of one size; the scene's by default. A scene with
            ``step.tolerance`` chooses sizes unless ``h`` is given.
        q0 : array_like, shape (n_q,), optional
            Start; the scene's by default.
        v0 : array_like, shape (n_v,), optional
            Velocity at the start, of a formulation that carries it over; the scene's by default.
        t0 : float
            Time at the start, in s.
        start : Checkpoint, optional
            In place of ``q0``, ``v0`` and ``t0``: where a run ended, ``run.checkpoint``. This one goes on
            with the bits of a run that did not end there.
        duration : float, optional
            Simulated time, in s, of a run with the scene's own commands.
        V : array_like, shape (T, n_u_v), optional
            Rates of the commands; zero for a given ``U``.
        tau : array_like, shape (T, n_v), optional
            Generalised forces on every dof in each step, in N or N·m, beside springs: motors that are
            driven by force. The scene's own torque commands by default.
        wrenches : sequence of Wrench, optional
            Forces from outside at every step, beside the scene's.
        params : StepParams, optional
            How steps are taken.
        progress : callable(done, total), optional
            Told of progress some times a second, in steps; in s if steps choose their size. May raise
            to stop.
        on_error : {"raise", "stop"}
            If a step is not taken: raise its error, whose ``run`` is the run up to there, or return
            that run, whose ``error`` it is.
        every : float, optional
            Where steps choose their size: a step ends at each multiple of this time, in s; the scene's
            ``output.every`` by default. With ``U`` or ``tau`` it is the time between their rows, and
            needed. Between two rows prescribed joints move evenly; other commands arrive at their
            rates ``V``: without ``V`` they jump at the start of the row.
        most_steps : int
            A run that would take more steps is refused before its first one: an hour at a
            millisecond a step by default.

        Returns
        -------
        Run

        Raises
        ------
        StepError
            A step was not taken.
        ValueError
            More than ``most_steps`` were asked for.
        KeyboardInterrupt
            Ctrl-C, or what ``progress`` raised; its ``run`` is the run up to there.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> run = system.simulate()                        # the scene's own commands
        >>> U = system.command(0.0)[0] + np.linspace(0, 0.1, 50)[:, None] * [1, 0]
        >>> system.simulate(U, h=0.05).q.shape
        (51, 9)

        Steps that choose their size:

        >>> run = system.with_({"step.tolerance": 1e-4}).simulate(every=0.5)
        >>> bool(run.h.max() > 4 * run.h.min())
        True
        >>> bool(np.isin(np.arange(9) * 0.5, run.t).all())
        True
        """
        if on_error not in ("raise", "stop"):
            raise ValueError(f"on_error is {on_error!r}; give 'raise' or 'stop'")
        if duration is not None and not (isinstance(duration, (int, float, np.number)) and 0 < duration < np.inf):
            raise ValueError(f"duration is {duration!r}; it must be a number > 0, in s")
        n_steps = None
        if U is None:
            if V is not None:
                raise ValueError("V was given without U; the scene's own commands have their rates")
        else:
            if duration is not None:
                raise ValueError("U and duration were given; the rows of U say how long it is")
            U = shaped("U", U, (None, self.n_u))
            n_steps = len(U)
            V = None if V is None else shaped("V", V, (n_steps, self.n_u_v))
        if tau is not None:
            if duration is not None:
                raise ValueError("tau and duration were given; the rows of tau say how long it is")
            tau = shaped("tau", tau, (n_steps, self.n_v))
            n_steps = len(tau)
        warm = attached = None
        if start is not None:
            if q0 is not None or v0 is not None or t0 != 0.0:
                raise ValueError("start was given with q0, v0 or t0; it says all of these")
            t0, q0, v0, warm, attached = start
        q0 = self.q0 if q0 is None else q0
        every = self._checked_every(every, h, params, needed=n_steps is not None)
        recording, arrays, error = _core.run(
            self, q0, v0, t0, warm, attached, n_steps, duration, U, V, tau, h, every, wrenches, params, most_steps, progress
        )
        stopped = error if isinstance(error, StepError) else None
        run = Run(self, recording, arrays, stopped)
        if error is not None and (on_error == "raise" or stopped is None):
            vars(error)["run"] = run
            raise error
        return run

    def simulate_plan(self, plan: GoalPlan, *, divisions: int = 10, params: StepParams | None = None) -> Run:
        """The run of a plan as it was checked: commands on straight lines, in steps of a tenth.

        With other ``divisions`` the run says how much the plan depends on the step size.

        Parameters
        ----------
        plan : GoalPlan
        divisions : int
            Number of steps for one of the plan, >= 1.
        params
            As for :meth:`simulate`.

        Returns
        -------
        Run

        Raises
        ------
        StepError
            A step was not taken.

        Examples
        --------
        >>> system = qs.load("scenes/planar_pusher.yml", set={"step.relaxation": 1, "step.size": 0.1})
        >>> pose = system.pose("box", system.q0) + [0, 0, 0, 0, 0.05, 0, 0]
        >>> plan = system.plan(qs.PoseGoal("box", pose, angle=0.2), planner="mppi", region=0.02, rates=0.5)
        >>> run = system.simulate_plan(plan)
        >>> bool(abs(run.q[::10] - plan.q).max() < 1e-6)
        True
        """
        if divisions < 1:
            raise ValueError(f"divisions is {divisions!r}; it must be >= 1")
        ends = np.vstack([plan.u0, plan.u])
        shares = np.arange(1, divisions + 1)[:, None] / divisions
        lines = ends[:-1, None] + shares * (ends[1:] - ends[:-1])[:, None]
        return self.simulate(lines.reshape(-1, self.n_u), h=plan.h / divisions, q0=plan.q[0], params=params)

    def live(self, *, start: Checkpoint | None = None) -> Live:
        """A run that goes on in real time, with its page in the browser: commands by sliders, bodies pulled with the
        mouse, parameters by number.

        Parameters
        ----------
        start : Checkpoint, optional
            Where it begins, and where a reset goes back to; the scene's start by default.

        Returns
        -------
        Live
            It runs beside the program, and shows itself in a notebook.

        Raises
        ------
        OSError
            No address of this machine is free.

        Examples
        --------
        >>> live = qs.load("scenes/gripper_2d.yml").live()
        >>> live.show()                                    # doctest: +SKIP
        >>> live.close()
        """
        t, q, velocity, warm, attached = (0.0, self.q0, None, None, None) if start is None else start
        return Live(_core.live(self, q, velocity, t, warm, attached), self.name)

    def step_batch(
        self,
        Q: ArrayLike,
        U: ArrayLike,
        *,
        h: float | None = None,
        t: float = 0.0,
        V: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        tau: ArrayLike | None = None,
        params: StepParams | None = None,
        warm: Sequence[WarmStart] | None = None,
        velocity: ArrayLike | None = None,
        attached: ArrayLike | None = None,
        vary: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        report: bool = False,
    ) -> Any:
        """One step of many samples, on all cores.

        Each sample is a pure function of its own row: the results have the same bits for any number
        of threads, and those of :meth:`step`. The GIL is released.

        Parameters
        ----------
        Q : array_like, shape (N, n_q) or (n_q,)
            Configurations; one row stands for all samples.
        U : array_like, shape (N, n_u) or (n_u,)
            Commands at the end of the step.
        h, t, params
            As for :meth:`step`, the same ones for all samples.
        V : array_like, shape of U with n_u_v columns, optional
            Rates of the commands.
        wrenches : sequence of Wrench, optional
            Forces from outside, beside the scene's. Each array of a wrench is one for all samples, shape (3,), or
            one for each, shape (N, 3).
        tau : array_like, shape (N, n_v) or (n_v,), optional
            Generalised forces on every dof, as for :meth:`step`.
        warm : sequence of N WarmStart, optional
            Where the solver starts; cold by default.
        velocity : array_like, shape (N, n_v) or (n_v,), optional
            Velocities at the start, of a formulation that carries them over; rest by default.
        attached : array_like, shape (N, n_switches, 8) or (n_switches, 8), optional
            What switched constraints hold at the start, as for :meth:`step`; nothing by default.
        vary : mapping of str to array_like, shape (N, ...), optional
            Values of the scene by their dotted keys, one for each sample, as :meth:`with_` takes them:
            ``{"models.box.mass": masses, "models.*.friction": mus, "step.size": sizes}``. Each sample then
            makes a system of its own when its turn comes; one whose scene is not valid is marked with its
            :class:`SceneError`. ``params`` and ``h`` stand above what a sample says, and the given commands
            above the scene's own: keys of ``commands`` change torques alone.
        threads : int, optional
            Number of threads; as many as there are cores by default.
        progress : callable(done, total), optional
            Told of finished samples some times a second; may raise to stop.
        report : bool
            Also return a :class:`BatchReport`.

        Returns
        -------
        Q_next : ndarray, shape (N, n_q)
            Rows of samples that could not be stepped are NaN, with a :class:`BatchWarning` unless
            there is a report.
        report : BatchReport
            If asked for.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> U = system.commanded(system.q0) + [[0.0, 0.0], [0.02, 0.0], [0.04, 0.0]]
        >>> system.step_batch(system.q0, U, h=0.05).shape
        (3, 9)

        The same push of boxes from 0.2 to 2 kg:

        >>> masses = np.geomspace(0.2, 2, 5)
        >>> u = system.commanded(system.q0) + [0.03, 0.0]
        >>> Q1 = system.step_batch(system.q0, u, h=0.05, vary={"models.box.mass": masses})
        >>> bool((np.diff(Q1[:, system.coordinates.index("box.x")]) < 0).all())
        True
        """
        threads = checked_threads(threads)
        changes, n_varied = varied(vary)
        n = count({2: [Q, U, V, velocity, tau, *arrays_of(wrenches)]}, n_varied)
        velocity = self._velocities(velocity, n)
        tau = None if tau is None else shaped("tau", tau, (n, self.n_v), broadcast=True)
        Q = shaped("Q", Q, (n, self.n_q), broadcast=True)
        U = shaped("U", U, (n, self.n_u), broadcast=True)
        V = None if V is None else shaped("V", V, (n, self.n_u_v), broadcast=True)
        q, rest = _core.batch(
            self, Q, velocity, attached, U, V, n, 1, t, h, None, loads(wrenches, tau, (n,)), params, warm, changes,
            threads, False, report, progress,
        )
        return finish(q.reshape(n, self.n_q), rest, report)

    def simulate_batch(
        self,
        U: ArrayLike,
        *,
        h: float | None = None,
        q0: ArrayLike | None = None,
        t0: float = 0.0,
        V: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        tau: ArrayLike | None = None,
        params: StepParams | None = None,
        warm: Sequence[WarmStart] | None = None,
        velocity: ArrayLike | None = None,
        attached: ArrayLike | None = None,
        vary: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        keep: str = "all",
        report: bool = False,
        every: float | None = None,
    ) -> Any:
        """Many runs, on all cores.

        Parameters
        ----------
        U : array_like, shape (N, T, n_u) or (T, n_u)
            Commands at the ends of the steps; one table stands for all samples.
        q0 : array_like, shape (N, n_q) or (n_q,), optional
            Starts; the scene's by default.
        h, t0, params
            As for :meth:`simulate`, the same ones for all samples.
        V : array_like, shape of U with n_u_v columns, optional
            Rates of the commands.
        wrenches : sequence of Wrench, optional
            Forces from outside, beside the scene's. Each array of a wrench is one for all samples and steps, shape
            (3,), one for each step, (T, 3), or one for each step of each sample, (N, T, 3).
        tau : array_like, shape (N, T, n_v) or (T, n_v), optional
            Generalised forces on every dof in each step, as for :meth:`simulate`.
        warm, velocity, attached, vary, threads, progress, report
            As for :meth:`step_batch`.
        keep : {"all", "last"}
            Keep the configurations after every step, or the last one: N n_q numbers in all.
        every : float, optional
            Time between rows of ``U``, in s, where steps choose their size; the scene's
            ``output.every`` by default. Each sample chooses its own sizes; row k is its state at the
            end of row k of ``U``, which is read as by :meth:`simulate`.

        Returns
        -------
        Q : ndarray, shape (N, T, n_q) or (N, n_q)
            Row k is the end of step k. Rows of steps that were not taken are NaN.
        report : BatchReport
            If asked for.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> rng = np.random.default_rng(0)
        >>> U = system.commanded(system.q0) + 0.01 * rng.standard_normal((100, 5, 2)).cumsum(axis=1)
        >>> system.simulate_batch(U, h=0.05, keep="last").shape
        (100, 9)
        """
        if keep not in ("all", "last"):
            raise ValueError(f"keep is {keep!r}; give 'all' or 'last'")
        start = self.q0 if q0 is None else q0
        threads = checked_threads(threads)
        changes, n_varied = varied(vary)
        n = count({2: [start, velocity], 3: [U, V, tau, *arrays_of(wrenches)]}, n_varied)
        velocity = self._velocities(velocity, n)
        start = shaped("q0", start, (n, self.n_q), broadcast=True)
        U = shaped("U", U, (n, None, self.n_u), broadcast=True)
        T = U.shape[-2]
        V = None if V is None else shaped("V", V, (n, T, self.n_u_v), broadcast=True)
        tau = None if tau is None else shaped("tau", tau, (n, T, self.n_v), broadcast=True)
        rows = keep == "all"
        sized = any("step.tolerance" in dict(own) for own in changes or [])
        every = self._checked_every(every, h, params, needed=True, sized=sized)
        q, rest = _core.batch(
            self, start, velocity, attached, U, V, n, T, t0, h, every, loads(wrenches, tau, (n, T)), params, warm, changes,
            threads, rows, report, progress,
        )  # fmt: skip
        shape = (n, T, self.n_q) if rows else (n, self.n_q)
        return finish(q.reshape(shape), rest, report)

    def _checked_every(
        self,
        every: float | None,
        h: float | None,
        params: StepParams | None,
        *,
        needed: bool,
        sized: bool = False,
    ) -> float | None:
        """Time between rows or outputs where steps choose their size; ``None`` for steps of one size."""
        words = (self.params if params is None else params).asdict()
        if h is not None or not (sized or "tolerance" in words):
            if every is not None:
                raise ValueError(
                    "every was given, but steps have one size: leave h out and give a step.tolerance, or leave every out"
                )
            return None
        every = self.every if every is None else every
        if every is None and needed:
            raise ValueError(
                "steps choose their size (step.tolerance): give every, the time between rows in s, or h for steps of one size"
            )
        if every is not None and not 0 < every < np.inf:
            raise ValueError(f"every is {every!r}; it must be a number > 0, in s")
        return every

    def _velocities(self, velocity: ArrayLike | None, n: int) -> Array | None:
        return None if velocity is None else shaped("velocity", velocity, (n, self.n_v), broadcast=True)

    def uniqueness(
        self,
        q: ArrayLike | None = None,
        u: ArrayLike | None = None,
        *,
        h: float | None = None,
        t: float = 0.0,
        v: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        params: StepParams | None = None,
    ) -> Uniqueness:
        """Whether a step with exact Coulomb friction has another answer than the one found.

        Parameters
        ----------
        q : array_like, shape (n_q,), optional
            Configuration; the scene's start by default.
        u, h, t, v, wrenches, params
            As for :meth:`step`, which takes the step with ``friction: exact`` and no fallback.

        Returns
        -------
        Uniqueness
            Of the next configuration and of the contact forces, by the names of bodies and dofs.

        Raises
        ------
        StepError
            The step has no answer, or none was found.

        Examples
        --------
        >>> system = qs.load("scenes/gripper_2d.yml")
        >>> print(system.uniqueness().text)
        the motion is the only one at its normal forces; the contact forces are the only ones
        """
        exact = (self.params if params is None else params).replace(
            friction="exact", fallback="none"
        )
        start = self.q0 if q is None else q
        _, report = self.step(
            start, u, h=h, t=t, v=v, wrenches=wrenches, params=exact, uniqueness=True
        )
        assert report.uniqueness is not None  # an exact step without a fallback has one
        return report.uniqueness

    def equilibrium(
        self,
        q0: ArrayLike | None = None,
        u: ArrayLike | None = None,
        *,
        t: float = 0.0,
        h: float | None = None,
        wrenches: Sequence[Wrench] | None = None,
        params: StepParams | None = None,
        rest_speed: float = 1e-8,
        max_steps: int = 1000,
    ) -> tuple[Array, StepReport]:
        r"""Where the system comes to rest under a constant command: joint torques, contact forces.

        At rest :math:`0 = K_a (q_\text{cmd} - q) + \tau + J^T f` with contact forces inside their
        friction cones (Pang21 (9) with v = 0): statics with Coulomb friction.

        Parameters
        ----------
        q0 : array_like, shape (n_q,), optional
            Where it starts; the scene's start by default.
        u : array_like, shape (n_u,), optional
            Command; the scene's at time ``t`` by default.
        h, wrenches, params
            As for :meth:`step`.
        rest_speed : float
            No dof moves faster at rest, in m/s or rad/s.
        max_steps : int
            Steps that it may take.

        Returns
        -------
        q : ndarray, shape (n_q,)
            Configuration at rest.
        report : StepReport
            ``effort`` are the joint torques and forces, ``contacts`` the contact forces.

        Raises
        ------
        NotAtRestError
            It still moves.
        StepError
            A step on the way was not taken.

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> q, report = system.equilibrium()
        >>> report.effort.round(6)
        array([ 3., -3.])
        """
        start = self.q0 if q0 is None else q0
        return _core.settle(self, start, u, t, h, wrenches, params, rest_speed, max_steps)

    def largest_wrench(
        self,
        wrench: Wrench,
        q0: ArrayLike | None = None,
        u: ArrayLike | None = None,
        *,
        most: float = 1000.0,
        tolerance: float = 1e-4,
        t: float = 0.0,
        h: float | None = None,
        wrenches: Sequence[Wrench] | None = None,
        params: StepParams | None = None,
        rest_speed: float = 1e-8,
        max_steps: int = 1000,
        slip: float = 0.05,
    ) -> HeldWrench:
        """The largest multiple of a wrench that the system holds: the margin of a grasp.

        The system first comes to rest without the wrench; a multiple is held if it comes to rest
        under it from there, and if the body has not slipped: what slides out of a grasp and lies still on
        the table was not held. Robots yield as their springs do. Found by bisection.

        Parameters
        ----------
        wrench : Wrench
            Direction and unit: a force of 1 N makes the factors newtons.
        q0, u, t, h, wrenches, params, rest_speed, max_steps
            As for :meth:`equilibrium`.
        most : float
            The largest factor to be tried.
        tolerance : float
            Relative width of the bracket (held, lost). If ``held`` is ``most``, ``lost`` is infinite: at least so much.
        slip : float
            How far the points at which others carry the body may slip on it, as a share of its size; infinite to
            count whatever comes to rest.

        Returns
        -------
        HeldWrench

        Raises
        ------
        StepError
            It does not rest even without the wrench.

        Examples
        --------
        Two pads press with 3 N each on a body of 45 g, mu = 0.7: friction carries 4.2 N, less its
        weight of 0.441 N.

        >>> system = qs.load("scenes/pinch.yml", set={"step.cone": "round"})
        >>> answer = system.largest_wrench(qs.Wrench("held", force=(0, 0, -1)), most=20)
        >>> round(answer.held, 2)
        3.76
        """
        start = self.q0 if q0 is None else q0
        given = (most, tolerance, params, (rest_speed, max_steps, slip))
        return HeldWrench(
            *_core.largest_wrench(self, start, u, t, h, wrench, wrenches, *given)
        )

    def __repr__(self) -> str:
        return f"System({self.name!r}, {self.n_v} dofs, {self.n_u} commands)"
