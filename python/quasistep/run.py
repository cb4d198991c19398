"""Runs: arrays, pictures, files."""

from __future__ import annotations

import io
import os
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._records import Certificate, Checkpoint
from ._whole import write_whole
from .trajectory import JointTrajectory, trajectory_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ._core import Recording
    from ._records import Uniqueness
    from ._types import Array
    from .errors import StepError
    from .live import Live
    from .names import Names
    from .system import System


class Pictured:
    """What has a recording: shows itself as the 3-D page."""

    recording: Recording
    t: Array

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the 3-D page: one self-contained file.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> run.save_html("/dev/null")
        """
        write_whole(path, self.recording.page())

    def save_mcap(self, path: str | os.PathLike[str]) -> None:
        """Writes an MCAP file for Foxglove: poses, shapes, contact arrows, joint states, commands and sensors, as JSON.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> run.save_mcap("/dev/null")                     # doctest: +SKIP
        """
        self.recording.mcap(os.fspath(path))

    def show(self) -> Any:
        """Shows the 3-D page: in a notebook below the cell, else in the browser.

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> run.show()                                     # doctest: +SKIP
        """
        if _in_notebook():
            from IPython.display import display

            shows: Any = display
            return shows(self)
        import tempfile
        import webbrowser

        # the browser reads it after this call has returned: it is left to the system's cleaner
        with tempfile.NamedTemporaryFile(
            "w", suffix=".html", prefix="quasistep-", delete=False, encoding="utf-8"
        ) as file:
            file.write(self.recording.page())
        webbrowser.open(Path(file.name).as_uri())
        return None

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self.recording.page(), quote=True)
        style = "width:100%;height:600px;border:0"
        return f'<iframe srcdoc="{page}" style="{style}" sandbox="allow-scripts allow-downloads"></iframe>'


    def still(
        self,
        t: float | None = None,
        *,
        direction: Sequence[float] = (-0.55, 0.75, -0.42),
        size: tuple[int, int] = (960, 640),
    ) -> bytes:
        """A picture at one time, drawn in software: contact points and force arrows in it.

        Parameters
        ----------
        t : float, optional
            The frame nearest to this time, in s; the last one by default.
        direction : sequence of 3 float
            Where the camera looks, in the world's axes.
        size : tuple of int
            Width and height, in px.

        Returns
        -------
        bytes
            Of a PNG. In a notebook ``IPython.display.Image(run.still(1.0))`` shows it.

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> run.still(0.2)[1:4]
        b'PNG'
        """
        frame = len(self.t) - 1 if t is None else int(np.argmin(np.abs(self.t - t)))
        return bytes(self.recording.still(frame, list(direction), *size))

    def save_video(
        self,
        path: str | os.PathLike[str],
        *,
        direction: Sequence[float] | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Writes a moving picture, drawn in software, as ``quasistep view DIR --video`` does: a GIF that repeats, 12.5 pictures
        a second.

        It shows real time; a run of more than 30 s is shown faster, in 30 s.

        Parameters
        ----------
        path : path
            It ends in ``.gif``.
        direction : sequence of 3 float, optional
            Where the camera looks, in the world's axes; by default it is where the page's first view looks.
        size : tuple of int, optional
            Width and height, in px; 640 × 420 by default.

        Raises
        ------
        ValueError
            The file does not end in ``.gif``, or a side of the picture is not of 1 to 8192 px.

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> run.save_video("push.gif", size=(320, 210))    # doctest: +SKIP
        >>> run.save_video("push.mp4")
        Traceback (most recent call last):
        ValueError: push.mp4: the file must end in .gif; the button `Video` of a page saves WebM
        """
        self.recording.video(os.fspath(path), None if direction is None else list(direction), size)


class Run(Pictured):
    """A finished run of K steps. In a notebook it shows itself as the 3-D page.

    Attributes
    ----------
    system : System
    recording : Recording
        What pictures are drawn from.
    error : StepError or None
        Why it ended early.
    t : ndarray, shape (K + 1,)
        Times, in s; row 0 is the start.
    q : ndarray, shape (K + 1, n_q)
        Configurations: m, rad and unit quaternions.
    poses : ndarray, shape (K + 1, n_bodies, 7)
        Unit quaternion w, x, y, z and position x, y, z in m, of each body in the world.
    u : ndarray, shape (K, n_u)
        Commands at the ends of the steps.
    v : ndarray, shape (K, n_v)
        Velocities during the steps, in m/s or rad/s.
    h : ndarray, shape (K,)
        Sizes of the steps, in s.
    step_errors : ndarray, shape (K,)
        Where steps choose their size: how far two of them are from one of twice the size, in m, in the
        second row of the two; NaN elsewhere.
    rejected : int
        How many sizes were too large.
    unresolved : ndarray
        Times (s) at the ends of steps of the smallest size that exceed the tolerance: the motion jumps.
    effort : ndarray, shape (K, n_u_v)
        Drive forces, in N or N·m.
    sensors : dict of str to ndarray
        Readings in each step, by the name of the sensor. Force-torque sensors: shape (K, 6), fx, fy, fz in N
        and tx, ty, tz in N·m along the axes of the sensor's frame. Pressure arrays: shape (K, n, m), in Pa or
        N as the scene says, entry [k, i, j] at taxel i along x and j along y. Proximity: shape (K,), in m.
    certificates : ndarray, shape (K, 8)
        In the order of :class:`Certificate`.
    contacts : ndarray
        All contacts: dtype :data:`CONTACT` behind fields ``t`` (end of the step, s) and ``step``
        (from 1).

    Examples
    --------
    >>> run = qs.load("scenes/gripper_2d.yml").simulate()
    >>> run
    Run('gripper_2d', 35 steps to 0.35 s)
    >>> left = run.contacts_of("gripper/left", "ball/ball")
    >>> float(left["fn"][left["step"] == 8][0].round(6))          # 10 N at 0.08 s, Pang21
    10.0
    """

    def __init__(
        self,
        system: System,
        recording: Recording,
        arrays: dict[str, Any],
        error: StepError | None = None,
    ) -> None:
        self.system = system
        self.recording = recording
        self.error = error
        self._arrays = arrays
        self.t: Array = arrays["t"]
        n = len(self.t)
        self.q: Array = arrays["q"].reshape(n, system.n_q)
        self.poses: Array = arrays["poses"].reshape(n, -1, 7)
        self.u: Array = arrays["u"].reshape(n - 1, system.n_u)
        self.v: Array = arrays["v"].reshape(n - 1, system.n_v)
        self.effort: Array = arrays["effort"].reshape(n - 1, system.n_u_v)
        self.sensors = readings(recording, arrays["sensors"], n - 1)
        self.certificates: Array = arrays["certificate"].reshape(n - 1, 8)
        self.contacts: NDArray[np.void] = arrays["contacts"]
        self.h: Array = arrays["h"]
        self.step_errors: Array = arrays["error"]
        self.rejected: int = arrays["rejected"]
        self.unresolved: Array = arrays["unresolved"]
        # -1 is not told from no rows
        self._stage_ns = arrays["stage_ns"].reshape(n - 1, len(arrays["stage_ns"]) // max(n - 1, 1))

    def __reduce__(self) -> tuple[Any, ...]:
        return Run, (self.system, self.recording, self._arrays, self.error)

    def __repr__(self) -> str:
        return f"Run({self.system.name!r}, {len(self.t) - 1} steps to {self.t[-1]:g} s)"

    @property
    def checkpoint(self) -> Checkpoint:
        """Where another run goes on with the same bits: ``system.simulate(start=run.checkpoint)``."""
        return Checkpoint(
            float(self.t[-1]), self.q[-1].copy(), self._arrays["velocity"], self._arrays["warm"],
            self._arrays["attached"].reshape(-1, 8),
        )

    def live(self) -> Live:
        """The run goes on in real time from where it ended, with its page in the browser: :meth:`System.live`.

        Examples
        --------
        >>> with qs.load("scenes/gripper_2d.yml").simulate(duration=0.1).live() as live:
        ...     live.is_open
        True
        """
        return self.system.live(start=self.checkpoint)

    @cached_property
    def worst(self) -> Certificate:
        """Worst residual of each kind over the run; the smallest true distance."""
        if len(self.certificates) == 0:
            return Certificate(*[np.nan] * 8)
        worst = self.certificates.max(axis=0)
        worst[3] = self.certificates[:, 3].min()
        return Certificate(*map(float, worst))

    @property
    def uniqueness(self) -> list[Uniqueness | None]:
        """Whether each step's answer was the only one: K entries, ``None`` where the scene does not ask.

        Examples
        --------
        >>> asked = {"step.friction": "exact", "step.uniqueness": True}
        >>> run = qs.load("scenes/gripper_2d.yml").with_(asked).simulate(duration=0.05)
        >>> [answer.motion for answer in run.uniqueness]
        ['unique', 'unique', 'unique', 'unique', 'unique']
        """
        return self.recording.uniqueness

    @property
    def step_us(self) -> Array:
        """Wall time of each step, shape (K,), in µs."""
        total: Array = self._stage_ns.sum(axis=1) * 1e-3
        return total

    def coordinate(self, name: str) -> Array:
        """A coordinate over time.

        Parameters
        ----------
        name : str
            As in :attr:`System.coordinates`.

        Returns
        -------
        ndarray, shape (K + 1,)

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> float(run.coordinate("ball.x_c")[0])
        0.0
        """
        return self.q[:, self.system.coordinates.index(name)]

    def contacts_of(self, a: str, b: str = "*") -> NDArray[np.void]:
        """Contacts of a body, or of two bodies, whichever of them is A.

        Parameters
        ----------
        a, b : str
            Bodies, ``model/link``, models of one body, or patterns in which ``*`` stands for any text.

        Returns
        -------
        ndarray
            Rows of :attr:`contacts`.

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> len(run.contacts_of("gripper/*", "ball/ball"))
        70
        """
        return between(self.contacts, self.system.bodies, a, b)

    def force_on(self, body: str, by: str = "*") -> Array:
        """The force that contacts exert on a body over time: friction and normal forces, whichever body comes first in the file.

        Parameters
        ----------
        body, by : str
            As for :meth:`contacts_of`. Forces between two bodies of ``body`` cancel.

        Returns
        -------
        ndarray, shape (K, 3)
            In each step, in the world, in N. Row k is of the step that ends at ``t[k + 1]``.

        Examples
        --------
        The table carries a box of 0.8 kg; the finger pushes it ahead:

        >>> run = qs.load("scenes/planar_push.yml").simulate()
        >>> float(run.force_on("box", "table")[-1, 2].round(3))
        7.848
        >>> bool(run.force_on("box", "finger")[-1, 0] > 2.5 > 0 > run.force_on("finger", "box")[-1, 0])
        True
        """
        on, others = self.system.bodies.indices(body), self.system.bodies.indices(by)
        a, b, force = self.contacts["a"], self.contacts["b"], self.contacts["f"]
        total = np.zeros((len(self.t) - 1, 3))
        # the file has the force on body b
        for which, other, sign in ((b, a, 1.0), (a, b, -1.0)):
            rows = np.isin(which, on) & np.isin(other, others)
            np.add.at(total, self.contacts["step"][rows] - 1, sign * force[rows])
        return total

    def trajectory(self, model: str | None = None) -> JointTrajectory:
        """The commands of the joints, as a robot's controller reads them, with stiffness and predicted efforts.

        The command line writes it by ``quasistep run --trajectory FILE`` and ``quasistep plan --trajectory FILE``.

        Parameters
        ----------
        model : str, optional
            Joints of this model alone.

        Returns
        -------
        JointTrajectory

        Raises
        ------
        ValueError
            No joint has a command.

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> trajectory = run.trajectory()
        >>> trajectory.joint_names, trajectory.positions.shape
        (['y', 'x_l', 'x_r'], (35, 3))
        >>> trajectory.stiffness
        array([1000., 1000., 1000.])
        """
        return trajectory_of(self.recording, self.system, model)

    def save(
        self, dir: str | os.PathLike[str], *, csv: bool = False, every: int = 1, page: bool = True
    ) -> list[Path]:
        """Writes the files of a run: recording.qsr, view.html, plots; tables if asked for.

        Parameters
        ----------
        dir : path
            Folder, made if it is missing. ``quasistep view`` and :func:`read_run` read it.
        csv : bool
            Also write states.csv, contacts.csv, and sensors.csv of a scene with sensors.
        every : int
            Keep every n-th step, and the last one.
        page : bool
            Write the 3-D page.

        Returns
        -------
        list of Path

        Examples
        --------
        >>> import tempfile
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> with tempfile.TemporaryDirectory() as dir:
        ...     files = run.save(dir, csv=True, page=False)
        >>> [file.name for file in files[:3]]
        ['recording.qsr', 'states.csv', 'contacts.csv']
        """
        if every < 1:
            raise ValueError(f"every is {every!r}; give a whole number from 1 on")
        return [Path(file) for file in self.recording.save(os.fspath(dir), csv, every, page)]

    def plot(self, coordinates: str | Iterable[str] | None = None) -> Any:
        """Draws coordinates, drive forces and normal forces over time with matplotlib.

        Parameters
        ----------
        coordinates : str or iterable of str, optional
            Names or patterns; the commanded coordinates by default, or all if there are none.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it below the cell.

        Raises
        ------
        ImportError
            matplotlib is not installed.

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> figure = run.plot(["gripper.*", "ball.x_c"])
        >>> len(figure.axes)
        3
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("run.plot() needs matplotlib: pip install matplotlib") from error
        if coordinates is None:
            coordinates = self.system.commands or self.system.coordinates
        figure = Figure(figsize=(8, 8), layout="constrained")
        # a notebook without pyplot would show a figure's name
        figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
        top, middle, bottom = figure.subplots(3, 1, sharex=True)
        for i in self.system.coordinates.indices(coordinates):
            top.plot(self.t, self.q[:, i], label=self.system.coordinates[i])
        for i, name in enumerate(self.system.efforts):
            middle.plot(self.t[1:], self.effort[:, i], label=name)
        for pair, force in self._normal_forces().items():
            bottom.plot(self.t[1:], force, label=pair)
        top.set_ylabel("coordinates (m, rad)")
        middle.set_ylabel("drive forces (N, N·m)")
        bottom.set_ylabel("normal forces (N)")
        bottom.set_xlabel("t (s)")
        for axes in (top, middle, bottom):
            _widen(axes)
            if axes.lines and len(axes.lines) <= 12:
                axes.legend(fontsize="small")
        return figure

    def _normal_forces(self) -> dict[str, Array]:
        """Sum of the normal forces of each pair of bodies in each step, shape (K,)."""
        pairs: dict[str, Array] = {}
        names = self.system.bodies
        for a, b in sorted({(int(c["a"]), int(c["b"])) for c in self.contacts[["a", "b"]]}):
            own = self.contacts[(self.contacts["a"] == a) & (self.contacts["b"] == b)]
            if not own["fn"].any():
                continue
            force = np.zeros(len(self.t) - 1)
            np.add.at(force, own["step"] - 1, own["fn"])
            pairs[f"{names[a]} – {names[b]}"] = force
        return pairs

    def to_rerun(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Sends the run to Rerun: bodies, contact points, forces, coordinates over time.

        Parameters
        ----------
        path : path, optional
            An ``.rrd`` file to write; without it a viewer is opened.

        Returns
        -------
        rerun.RecordingStream

        Raises
        ------
        ImportError
            rerun is not installed.

        Examples
        --------
        >>> run = qs.load("scenes/gripper_2d.yml").simulate()
        >>> run.to_rerun("run.rrd")                        # doctest: +SKIP
        """
        from ._rerun import send

        return send(self, path)


def readings(recording: Recording, flat: Array, steps: int) -> dict[str, Array]:
    """Readings of each sensor of a recording, by name: first axis over steps, then those of its array."""
    columns = flat.reshape(steps, len(flat) // max(steps, 1))
    sensors: dict[str, Array] = {}
    at = 0
    for name, _unit, shape in recording.head()["sensors"]:
        n = int(np.prod(shape, dtype=int))
        sensors[name] = columns[:, at : at + n].reshape(steps, *shape)
        at += n
    return sensors


def _png(figure: Any) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def between(contacts: NDArray[np.void], bodies: Names, a: str, b: str) -> NDArray[np.void]:
    """Contacts of two bodies, whichever of them is A."""
    first, second = bodies.indices(a), bodies.indices(b)
    A, B = contacts["a"], contacts["b"]
    one = np.isin(A, first) & np.isin(B, second)
    other = np.isin(A, second) & np.isin(B, first)
    return contacts[one | other]


def _widen(axes: Any) -> None:
    """Shows what differs by rounding alone as the line it is: at least a millionth of the values as height."""
    axes.ticklabel_format(axis="y", useOffset=False)
    values = [y for line in axes.lines for y in line.get_ydata()]
    if not values:
        return
    low, high = min(values), max(values)
    least = 1e-6 * max(abs(low), abs(high))
    if high - low < least:
        axes.set_ylim(*sorted((low - 0.05 * abs(low) - least, high + 0.05 * abs(high) + least)))


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
