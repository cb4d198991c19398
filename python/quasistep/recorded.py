"""Runs that were written to disk, read without their scene."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._core import Recording
from .names import BodyNames, Names
from .run import Pictured, between, readings

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from ._types import Array


class RecordedRun(Pictured):
    """A run as its file keeps it: N frames, the first of them the start. Made by :func:`read_run`.

    Attributes
    ----------
    recording : Recording
    scene, title : str
    h : float
        Time step, in s; frames may be further apart.
    stopped : str or None
        Why the run ended early, or that its file was cut off.
    bodies, shapes, coordinates, dofs, commands : Names
    t : ndarray, shape (N,)
        In s.
    q : ndarray, shape (N, n_q)
        Configurations: m, rad and unit quaternions.
    v : ndarray, shape (N, n_v)
        Velocities that the next steps begin with; no columns if none are carried over.
    poses : ndarray, shape (N, n_bodies, 7)
        Unit quaternion w, x, y, z and position x, y, z in m, of each body in the world.
    u, effort : ndarray, shape (N - 1, n_commands)
        Commands and drive forces of the steps that end at the frames.
    sensors : dict of str to ndarray
        Readings in those steps, first axis N - 1, as of :class:`Run`.
    sensor_units : dict of str to str
        Units of the readings: ``N, N·m``, ``Pa``, ``N`` or ``m``.
    contacts : ndarray
        Fields of :data:`CONTACT` that a file keeps, to seven digits, behind ``t`` (end of the step, s)
        and ``step`` (number of the frame).

    Examples
    --------
    >>> import tempfile
    >>> run = qs.load("scenes/gripper_2d.yml").simulate()
    >>> with tempfile.TemporaryDirectory() as dir:
    ...     files = run.save(dir)
    ...     again = qs.read_run(dir)
    >>> again
    RecordedRun('gripper_2d', 36 frames to 0.35 s)
    >>> bool((again.q == run.q).all())
    True
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        head, arrays = recording.head(), recording.arrays()
        self.scene: str = head["scene"]
        self.title: str = head["title"]
        self.h: float = head["h"]
        self.stopped: str | None = head["stopped"]
        self.bodies = BodyNames(head["bodies"])
        self.shapes = Names(head["shapes"])
        self.coordinates = Names(head["coordinates"])
        self.dofs = Names(head["dofs"])
        self.commands = Names(head["commands"])
        self.t: Array = arrays["t"]
        n = len(self.t)
        steps = max(n - 1, 0)
        self.q: Array = arrays["q"].reshape(n, len(self.coordinates))
        self.v: Array = arrays["v"].reshape(n, len(self.dofs))
        self.poses: Array = arrays["poses"].reshape(n, len(self.bodies), 7)
        self.u: Array = arrays["u"].reshape(steps, len(self.commands))
        self.effort: Array = arrays["effort"].reshape(steps, len(self.commands))
        self.sensors = readings(recording, arrays["sensors"], steps)
        self.sensor_units: dict[str, str] = {name: unit for name, unit, _ in head["sensors"]}
        self.contacts: NDArray[np.void] = arrays["contacts"]

    def coordinate(self, name: str) -> Array:
        """A coordinate over time, shape (N,).

        Examples
        --------
        >>> recorded = qs.RecordedRun(qs.load("scenes/gripper_2d.yml").simulate().recording)
        >>> recorded.coordinate("ball.x_c").shape
        (36,)
        """
        return self.q[:, self.coordinates.index(name)]

    def contacts_of(self, a: str, b: str = "*") -> NDArray[np.void]:
        """Contacts of a body, or of two bodies, as of :meth:`Run.contacts_of`.

        Examples
        --------
        >>> recorded = qs.RecordedRun(qs.load("scenes/gripper_2d.yml").simulate().recording)
        >>> len(recorded.contacts_of("gripper/*", "ball"))
        70
        """
        return between(self.contacts, self.bodies, a, b)

    @cached_property
    def n_frames(self) -> int:
        """Number of frames N."""
        return len(self.t)

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordedRun, (self.recording,)

    def __repr__(self) -> str:
        end = f"{self.n_frames} frames to {self.t[-1]:g} s" if self.n_frames else "no frame"
        return f"RecordedRun({self.scene!r}, {end})"


def read_run(path: str | os.PathLike[str]) -> RecordedRun:
    """Reads a run that ``quasistep run`` or :meth:`Run.save` wrote. A file that was cut off is read up to there, and so is
    that of a run that goes on: ``stopped`` says up to which time.

    Parameters
    ----------
    path : path
        Folder of a run, or its ``recording.qsr``.

    Returns
    -------
    RecordedRun

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is no recording, or spoilt; the sentence says where.

    Examples
    --------
    >>> qs.read_run("out/pile")                            # doctest: +SKIP
    RecordedRun('pile', 201 frames to 2 s)
    """
    file = Path(path)
    if file.is_dir():
        folder = file
        file = folder / "recording.qsr"
        unfinished = folder / "unfinished" / "recording.qsr"
        if unfinished.exists() and not file.exists():
            file = unfinished
    return RecordedRun(Recording.read(file))
