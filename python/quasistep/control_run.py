"""The closed loop of a scene, and what planners build their own models from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._whole import write_whole
from .control import Mpc, Plan
from .lcs import Lcs, LcsContact
from .names import NamedSystem, Names
from .run import Pictured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from ._core import Recording
    from ._types import Array
    from .errors import NoPlanError, StepError


class Linearisation(NamedTuple):
    """A system about one configuration, to first order; for planners of one's own.

    Parameters
    ----------
    mass : ndarray, shape (n_v, n_v)
        Mass matrix.
    gravity_force : ndarray, shape (n_v,)
        Generalised force of gravity, in N or N·m.
    phi : ndarray, shape (c,)
        Signed distances of the points within the margin, in m.
    p, n : ndarray, shape (c, 3)
        Points, in m, and unit normals from A into B, world frame.
    J_n : ndarray, shape (c, n_v)
        The gap opens at ``J_n @ v``.
    t : ndarray, shape (c, 2, 3)
        Directions along which a contact can slip; zero where it cannot.
    J_t : ndarray, shape (c, 2, n_v)
        Velocity of B against A along them is ``J_t @ v``.
    mu : ndarray, shape (c,)
    shape_a, shape_b, feature : ndarray of int, shape (c,)
        Places in :attr:`System.shapes`; identity of the point.

    Examples
    --------
    >>> system = qs.load("scenes/planar_hand.yml")
    >>> at = system.linearise(margin=0.1)
    >>> at.J_n.shape, at.J_t.shape
    ((2, 7), (2, 2, 7))
    """

    mass: Array
    gravity_force: Array
    phi: Array
    p: Array
    n: Array
    J_n: Array
    t: Array
    J_t: Array
    mu: Array
    shape_a: NDArray[np.int64]
    shape_b: NDArray[np.int64]
    feature: NDArray[np.int64]


class ControlRun(Pictured):
    """A closed loop of K steps that has ended: every plan, and what the scene did.

    Attributes
    ----------
    system : System
    plans : list of Plan
        The plan of each step; its first input was applied.
    x : ndarray, shape (K + 1, 2 n_v)
        Positions and velocities at the starts of the steps, and at the end of the last.
    inputs : ndarray, shape (K, n_u)
        Inputs applied.
    input_names, state_names : Names
    cost, bound, gap : ndarray, shape (K,)
    nodes : ndarray of int, shape (K,)
    prediction_error : ndarray, shape (K,)
        How far each step ended from where its plan saw it, in m or rad.
    wall_s : ndarray, shape (K,)
        Wall time of each step: look, plan, move.
    goal : ndarray, shape (2 n_v,)
        Wanted state; of a trajectory the one at its end.
    trajectory : ndarray, shape (k, 2 n_v)
        Wanted states from the start on, the last of them from then on.
    t, q, poses : ndarray
        Every step of the simulator, as of a :class:`Run`.
    time_step : float
        Of a plan, in s.
    columns : dict of str to str
        Columns of ``mpc.csv`` and what they hold.
    error : NoPlanError, StepError or None
        Why it ended early.

    Examples
    --------
    >>> run = qs.load("scenes/point_robot.yml", set={"mpc.steps": 20}).control()
    >>> run
    ControlRun('point_robot', 20 steps, 20 proven)
    >>> float(run.cost[0].round(4))
    155.9047
    """

    def __init__(
        self,
        system: PlannedSystem,
        recording: Recording,
        data: dict[str, Any],
        error: NoPlanError | StepError | None = None,
    ) -> None:
        self.system, self.recording, self.error = system, recording, error
        self._data = data
        n_x = 2 * system.n_v
        self.t: Array = data["t"]
        n = len(self.t)
        self.q: Array = data["q"].reshape(n, system.n_q)
        self.poses: Array = data["poses"].reshape(n, -1, 7)
        self.x: Array = data["x"].reshape(-1, n_x)
        self.goal: Array = np.array(data["goal"])
        self.trajectory: Array = np.array(data["trajectory"])
        self.time_step: float = data["time_step"]
        self.state_names = Names([*data["dofs"], *(f"rate of {dof}" for dof in data["dofs"])])
        self.input_names = Names(data["inputs"])
        self.columns: dict[str, str] = dict(data["columns"])
        n_u = len(self.input_names)
        self.plans = [
            Plan(plan, n_x, n_u, lcs_contacts(system, entries))
            for plan, entries in zip(data["plans"], data["contacts"], strict=True)
        ]
        self.inputs: Array = np.array([plan.inputs[0] for plan in self.plans]).reshape(
            len(self.plans), n_u
        )
        self.cost: Array = np.array([plan.cost for plan in self.plans])
        self.bound: Array = np.array([plan.bound for plan in self.plans])
        self.gap: Array = np.array([plan.gap for plan in self.plans])
        self.nodes: NDArray[np.int64] = np.array([plan.nodes for plan in self.plans], dtype=np.int64)
        self.prediction_error: Array = data["prediction_error"]
        self.wall_s: Array = data["wall_s"]

    @property
    def proven(self) -> int:
        """Steps whose plan is proven optimal."""
        return sum(plan.status == "optimal" for plan in self.plans)

    @property
    def csv(self) -> str:
        """The text of ``mpc.csv``."""
        text: str = self._data["csv"]
        return text

    def figures(self) -> dict[str, str]:
        """Plots of impulses, states, inputs and cost, as SVG.

        Returns
        -------
        dict of str to str
            File name to text.

        Examples
        --------
        >>> run = qs.load("scenes/point_robot.yml", set={"mpc.steps": 3}).control()
        >>> sorted(run.figures())
        ['cost.svg', 'impulses.svg', 'inputs.svg', 'state.svg']
        """
        return dict(self._data["figures"])

    def save(
        self, dir: str | os.PathLike[str], *, csv: bool = False, every: int = 1, page: bool = True
    ) -> list[Path]:
        """Writes mpc.csv, its plots, and the files of a run.

        Parameters
        ----------
        dir : path
            Folder, made if it is missing.
        csv, every, page
            As for :meth:`Run.save`.

        Returns
        -------
        list of Path

        Examples
        --------
        >>> import tempfile
        >>> run = qs.load("scenes/point_robot.yml", set={"mpc.steps": 3}).control()
        >>> with tempfile.TemporaryDirectory() as dir:
        ...     files = run.save(dir)
        >>> files[0].name
        'mpc.csv'
        """
        folder = Path(dir)
        rest = [Path(file) for file in self.recording.save(os.fspath(dir), csv, every, page)]
        table = folder / "mpc.csv"
        write_whole(table, self.csv)
        plots = []
        for name, svg in self.figures().items():
            plots.append(folder / "plots" / name)
            write_whole(plots[-1], svg)
        return [table, *rest, *plots]

    def __reduce__(self) -> tuple[Any, ...]:
        return ControlRun, (self.system, self.recording, self._data, self.error)

    def __repr__(self) -> str:
        return f"ControlRun({self.system.name!r}, {len(self.plans)} steps, {self.proven} proven)"


class PlannedSystem(NamedSystem):
    """What planners ask of a system: the part of :class:`System` that is about control."""

    def linearise(self, q: ArrayLike | None = None, *, margin: float = 0.02) -> Linearisation:
        """Mass, load, distances and contact Jacobians at a configuration, for planners of one's own.

        Parameters
        ----------
        q : array_like, shape (n_q,), optional
            Configuration; the scene's start by default.
        margin : float
            Points nearer than this, in m.

        Returns
        -------
        Linearisation

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> system.linearise().phi.round(6)            # four corners on the table, and the finger
        array([0.  , 0.  , 0.  , 0.  , 0.01])
        """
        at = _core.linearise(self, self.q0 if q is None else q, margin)
        n, c = self.n_v, len(at["phi"])
        shapes = {"mass": (n, n), "p": (c, 3), "n": (c, 3), "J_n": (c, n), "t": (c, 2, 3), "J_t": (c, 2, n)}
        return Linearisation(
            **{name: array.reshape(shapes.get(name, array.shape)) for name, array in at.items()}
        )

    def lcs(
        self,
        q: ArrayLike | None = None,
        *,
        model: str = "quasi_dynamic",
        inputs: Sequence[str] | None = None,
        h: float | None = None,
        margin: float = 1000.0,
        directions: int = 4,
    ) -> Lcs:
        """The step about a configuration as a linear complementarity system with exact Coulomb friction.

        States are the positions of all dofs, then their velocities; impulses are in N·s.

        Parameters
        ----------
        q : array_like, shape (n_q,), optional
            Where distances and Jacobians are taken; the scene's start by default.
        model : {"quasi_dynamic", "dynamic"}
            Pang21 (10): springs of actuated joints and the mass of passive bodies, no momentum; inputs are how far
            commands are ahead of actuated dofs, in m or rad. Or MpcNote (6) to (9): masses and velocities; inputs
            are forces on the dofs named, beside the springs of actuated joints, which are at rest at `q`.
        inputs : sequence of str, optional
            Of ``"dynamic"``: driven dofs, or patterns.
        h : float, optional
            Time step, in s; the scene's by default.
        margin : float
            Only points nearer than this are part of it, in m.
        directions : int
            Friction directions of a contact that slides in two: an even number.

        Returns
        -------
        Lcs
            With the names of dofs and contacts.

        Raises
        ------
        ProblemError
            Joints with orientations in space, prescribed ones, or dofs without mass and spring.

        Examples
        --------
        >>> lcs = qs.load("scenes/planar_hand.yml").lcs(margin=0.1)
        >>> lcs.states[-1], lcs.inputs[0], lcs.gammas[1]
        ('rate of box.theta', 'left.x', 'c: right on box')
        """
        if model not in ("quasi_dynamic", "dynamic"):
            raise ValueError(f"model is {model!r}; give 'quasi_dynamic' or 'dynamic'")
        if (model == "dynamic") != (inputs is not None):
            raise ValueError("`inputs` name the driven dofs of a dynamic model, and of no other")
        driven = None if inputs is None else [int(i) for i in self.dofs.indices(inputs)]
        h = self.h if h is None else h
        at = self.q0 if q is None else q
        return named_lcs(self, _core.prediction(self, at, driven, h, margin, directions))

    def mpc(self, q0: ArrayLike | None = None) -> Mpc:
        """The control problem of the scene's ``mpc`` section about a configuration.

        Parameters
        ----------
        q0 : array_like, shape (n_q,), optional
            Where the prediction is made, and where plans start; the scene's start by default.

        Returns
        -------
        Mpc

        Raises
        ------
        SceneError
            The scene has no ``mpc`` section.
        ProblemError
            It cannot be planned.

        Examples
        --------
        >>> system = qs.load("scenes/point_robot.yml", set={"mpc.horizon": 20})
        >>> round(system.mpc().plan().cost, 4)                 # MpcNote, Fig. 4: 505
        505.4259
        """
        task = _core.task(self)
        at = np.asarray(self.q0 if q0 is None else q0, dtype=float)
        dynamic = task["model"] == "dynamic"
        lcs = self.lcs(
            at,
            model=task["model"],
            inputs=[self.dofs[i] for i in task["inputs"]] if dynamic else None,
            h=task["time_step"],
            margin=task["margin"],
            directions=task["directions"],
        )
        x, u = lcs.n_x, lcs.n_u
        (state, soft), (input, soft_input), (rate, soft_rate) = (
            ((np.array(low), np.array(high)) if low else None, price)
            for low, high, price in (task["state"], task["input"], task["input_rate"])
        )
        return Mpc(
            lcs,
            horizon=task["horizon"],
            # of a trajectory what is ahead
            goal=task["goal"][: task["horizon"] + 1],
            Q=task["Q"].reshape(x, x),
            Q_f=task["Q_f"].reshape(x, x),
            R=task["R"].reshape(u, u),
            state=state,
            input=input,
            input_rate=rate,
            soft=soft,
            soft_input=soft_input,
            soft_input_rate=soft_rate,
            gap=task["gap"],
            max_nodes=task["max_nodes"],
            search="local" if task["local"] else "global",
            start=np.concatenate([at, task["v_start"]]),
        )

    def control(
        self,
        *,
        progress: Callable[[int, int], object] | None = None,
        on_error: str = "raise",
    ) -> ControlRun:
        """The closed loop of the scene's ``mpc`` section: look, plan, move, again, as ``quasistep mpc`` does.

        Parameters
        ----------
        progress : callable(done, total), optional
            Told of progress some times a second; may raise to stop.
        on_error : {"raise", "stop"}
            If there is no plan, or a step is not taken: raise the error, whose ``run`` is everything up to
            there, or return that, whose ``error`` it is.

        Returns
        -------
        ControlRun

        Raises
        ------
        SceneError
            The scene has no ``mpc`` section.
        ProblemError
            It cannot be planned.
        NoPlanError, StepError
            The loop ended early.

        Examples
        --------
        >>> system = qs.load("scenes/point_robot.yml", set={"mpc.steps": 10})
        >>> run = system.control()
        >>> run.proven, run.inputs.shape
        (10, (10, 2))
        """
        if on_error not in ("raise", "stop"):
            raise ValueError(f"on_error is {on_error!r}; give 'raise' or 'stop'")
        recording, data, error = _core.control_run(self, progress)
        run = ControlRun(self, recording, data, error)
        if error is not None and on_error == "raise":
            error.run = run
            raise error
        return run


def named_lcs(system: PlannedSystem, data: dict[str, Any]) -> Lcs:
    """The system of a prediction with the names of the scene."""
    n = system.n_v
    g = len(data["a"])
    contacts = lcs_contacts(system, data["contacts"])
    gammas = [""] * g
    for contact in contacts:
        gammas[contact.normal] = f"c: {contact.name}"
        for k, entry in enumerate(contact.tangents):
            gammas[entry] = f"beta{k + 1}: {contact.name}"
        if contact.slip is not None:
            gammas[contact.slip] = f"lambda: {contact.name}"
    dofs = system.dofs
    inputs = [dofs[dof] for dof in data["inputs"]]
    m = len(inputs)
    return Lcs(
        data["A"].reshape(2 * n, 2 * n),
        data["B"].reshape(2 * n, m),
        data["C"].reshape(2 * n, g),
        data["D"].reshape(g, 2 * n),
        data["E"].reshape(g, g),
        data["f"],
        data["a"],
        states=[*dofs, *(f"rate of {dof}" for dof in dofs)],
        inputs=inputs,
        gammas=gammas,
        contacts=contacts,
    )


def lcs_contacts(system: PlannedSystem, entries: list[Any]) -> list[LcsContact]:
    """Entries of gamma by contact, with the names of the scene."""
    shapes = system.shapes
    return [
        LcsContact(f"{_short(shapes[a])} on {_short(shapes[b])}", normal, tuple(tangents), slip)
        for a, b, normal, tangents, slip in entries
    ]


def _short(shape: str) -> str:
    """``model`` for the shape of a model of one body."""
    parts = shape.split("/")
    return parts[0] if len(parts) > 1 and parts[0] == parts[1] else "/".join(parts[:2])
