"""Recorded motions: read from files, and compared with the step."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _core
from ._mcap import motion_of
from ._shapes import shaped
from ._whole import read_text
from .recorded import read_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from ._types import Array
    from .recorded import RecordedRun
    from .run import Run
    from .system import System


@dataclass(frozen=True)
class Motion:
    """One recorded motion: commands, and where things were seen.

    Attributes
    ----------
    q : array_like, shape (T + 1, n_q)
        Configurations, the first one at the start. NaN where nothing was seen, but not in the first row.
    u : array_like, shape (T, n_u)
        Commands at the ends of the steps.
    v0 : array_like, shape (n_v,), optional
        Velocity at the start, of a formulation that carries it over.

    Examples
    --------
    >>> system = qs.load("scenes/planar_push.yml")
    >>> run = system.simulate(duration=0.5)
    >>> motion = qs.Motion(run.q, run.u)
    """

    q: ArrayLike
    u: ArrayLike
    v0: ArrayLike | None = None

    @classmethod
    def read(
        cls,
        system: System,
        path: str | os.PathLike[str],
        *,
        h: float | None = None,
        names: Mapping[str, str | None] | None = None,
    ) -> Motion:
        """From the folder of a run; from a CSV file with a head, a row for the start and one for the end of each step; or
        from an MCAP file.

        Columns of a CSV file are names of coordinates (``box.x``) and, with ``u.`` before them, of commands
        (``u.finger.x``). Coordinates without a column start as the scene does and count as unseen; empty cells are unseen,
        too.

        Of an MCAP file joint states, commands and poses are read: Foxglove's schemas as JSON, as ``quasistep run --mcap``
        writes them, and the messages of ROS 2 that :doc:`/files` lists. A joint may have its name without the model. Poses
        give the coordinates of bodies that nothing drives. Rows are ``h`` apart: positions between two messages are
        interpolated, and unseen where these are further apart than usual; a command holds until the next one.

        Parameters
        ----------
        system : System
            Whose names they are.
        path : path
            The folder or the file.
        h : float, optional
            Time between rows of an MCAP file, in s; the scene's time step by default.
        names : mapping of str to str or None, optional
            Of an MCAP file: names of joints and frames there, and those of coordinates and bodies here. None leaves one
            out.

        Returns
        -------
        Motion

        Raises
        ------
        ValueError
            The file's name, line and column, and what it must hold.

        Examples
        --------
        >>> motion = qs.Motion.read(system, "push.csv")  # doctest: +SKIP
        >>> motion = qs.Motion.read(system, "bag.mcap", names={"tag_3": "box"})  # doctest: +SKIP
        """
        if os.path.isfile(os.path.join(path, "recording.qsr")):
            run = read_run(path)
            for mine, theirs, what in [
                (system.coordinates, run.coordinates, "coordinates"),
                (system.commands, run.commands, "commands"),
            ]:
                if list(mine) != list(theirs):
                    raise ValueError(f"{path}: its {what} are {', '.join(theirs)}; those of the system are {', '.join(mine)}")
            return cls(run.q, run.u, run.v[0] if system.params["motion"] == "dynamic" else None)
        if os.fspath(path).endswith(".mcap"):
            return cls(*motion_of(system, os.fspath(path), h, dict(names or {})))
        rows = list(csv.reader(io.StringIO(read_text(path), newline="")))
        if len(rows) < 3:
            raise ValueError(f"{path}: {len(rows)} lines; a head, a row for the start and one for each step are needed")
        head = [name.strip() for name in rows[0]]
        q = np.full((len(rows) - 1, system.n_q), np.nan)
        u = np.full((len(rows) - 1, system.n_u), np.nan)
        for column, name in enumerate(head):
            if name == "t":
                continue
            table, known = (u, system.commands) if name.startswith("u.") else (q, system.coordinates)
            try:
                place = known.index(name.removeprefix("u."))
            except KeyError as error:
                raise ValueError(f"{path}, line 1, column {column + 1}: {error.args[0]}") from None
            for line, row in enumerate(rows[1:], 2):
                cell = row[column].strip() if column < len(row) else ""
                if cell:
                    try:
                        table[line - 2, place] = float(cell)
                    except ValueError:
                        raise ValueError(
                            f"{path}, line {line}, column {column + 1} ({name}): {cell!r} is no number"
                        ) from None
        q[0] = np.where(np.isnan(q[0]), system.q0, q[0])
        if np.isnan(u[1:]).any():
            line, place = np.argwhere(np.isnan(u[1:]))[0]
            missing = f"u.{system.commands[place]}"
            help = "" if missing in head else f"; give a column `{missing}`, or the folder of a run"
            raise ValueError(f"{path}, line {line + 3}: no command for `{system.commands[place]}`{help}")
        return cls(q, u[1:])


class Comparison(NamedTuple):
    """How far the step is from a recorded motion of T steps.

    Parameters
    ----------
    steps : ndarray, shape (T, n_v)
        What a step from each recorded row reaches, less the next row, on each dof, in m or rad. NaN where a row was not
        seen, or a step was not taken.
    replay : ndarray, shape (K, n_v)
        The same of a run from the first row on; K < T if it ended early.
    stopped : str or None
        Why it ended early.

    Examples
    --------
    See :func:`compare`.

    >>> qs.Comparison._fields
    ('steps', 'replay', 'stopped')
    """

    steps: Array
    replay: Array
    stopped: str | None


def compare(system: System, motion: Motion | Run | RecordedRun, *, h: float | None = None) -> Comparison:
    """Compares a recorded motion with the step: from each recorded row, and from the first one on.

    The command line has it as ``quasistep compare``.

    Parameters
    ----------
    system : System
    motion : Motion, Run or RecordedRun
        With the commands of all joints. Rows that were not seen in full are skipped.
    h : float, optional
        Time between two rows of a :class:`Motion`, in s; the scene's time step by default.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        The commands of the motion are not those of the system.

    Examples
    --------
    >>> system = qs.load("scenes/planar_push.yml")
    >>> run = system.simulate()
    >>> float(abs(qs.compare(system, run).steps).max()) < 1e-9
    True
    >>> heavier = system.with_({"models.box.mass": 1.6})
    >>> float(abs(qs.compare(heavier, run).steps).max()) > 1e-4
    True
    """
    if isinstance(motion, Motion):
        q = shaped("q", motion.q, (None, system.n_q))
        u = shaped("u", motion.u, (len(q) - 1, system.n_u))
        step = system.params["size"] if h is None else h
        if not step > 0:
            raise ValueError(f"h is {step!r}; it must be > 0")
        rates = None
        if system.params["motion"] == "dynamic":
            start = np.zeros(system.n_v) if motion.v0 is None else shaped("v0", motion.v0, (system.n_v,))
            rates = np.vstack([start, *[system.difference(a, b)[None] / step for a, b in pairwise(q)]])
        data = _core.compare(system, None, (np.arange(len(q)) * step, q, rates, u))
    else:
        data = _core.compare(system, motion.recording, None)
    n_v = system.n_v
    steps, replay = (np.reshape(data[name], (-1, n_v)) for name in ("steps", "replay"))
    return Comparison(steps, replay, data["stopped"])
