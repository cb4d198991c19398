"""Rows of a motion from the messages of an MCAP file."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._types import Array
    from .system import System

#: One nanosecond, in s.
_NANO = 1e-9
#: Times that differ by less than this share of a row are the same.
_SAME = 1e-6
#: Steps of Newton's method from a pose to the coordinates of a body.
_MOST_STEPS = 20


def motion_of(system: System, path: str, h: float | None, names: dict[str, str | None]) -> tuple[Array, Array, Array | None]:
    """Configurations, commands, and the velocity at the start, which a file does not say."""
    step: float = system.params["size"] if h is None else h
    if not step > 0:
        raise ValueError(f"h is {step!r}; it must be > 0")
    data = _core.mcap_motion(path)
    # times of robots are large: doubles would lose digits
    zero = min((t for part in ("positions", "commands", "poses") for series in data[part].values() for t in series[0]), default=0)
    seen = {name for part in data.values() for name in part}
    for name in names:
        if name not in seen:
            raise ValueError(f"{path}: `names`: it has nothing about `{name}`{_near(name, seen)}")
    positions = _joints(path, data["positions"], zero, system.coordinates, names)
    commands = _joints(path, data["commands"], zero, system.commands, names)
    bodies = _bodies(path, system, data, zero, names, set(positions))
    first, last = _span(path, data, positions, commands, bodies, step)
    times: Array = first + step * np.arange(int((last - first) / step + 1 + _SAME), dtype=float)
    if len(times) < 2:
        raise ValueError(f"{path}: it lasts {last - first:g} s; at least one step of {step:g} s is needed")

    q = np.full((len(times), system.n_q), np.nan)
    for name, (t, values) in positions.items():
        q[:, system.coordinates.index(name)] = _interpolated(times, t, values, step)
    _normalise(system, q)
    for body, (t, poses) in bodies.items():
        _place(system, q, body, np.column_stack([_interpolated(times, t, column, step) for column in poses.T]))
    q[0] = np.where(np.isnan(q[0]), system.q0, q[0])

    u = np.full((len(times) - 1, system.n_u), np.nan)
    for name, (t, values) in commands.items():
        held = np.searchsorted(t, times[1:] + _SAME * step, side="right") - 1
        u[:, system.commands.index(name)] = np.where(held >= 0, values[held], np.nan)
    for place, name in enumerate(system.commands):
        unknown = np.flatnonzero(np.isnan(u[:, place]))
        if len(unknown):
            given = ", ".join(sorted(commands)) or "none"
            raise ValueError(
                f"{path}: no command for `{name}` at {times[1 + unknown[0]] - first:g} s; commands seen: {given}; they are "
                "joint states on a topic that ends in `joint_commands`, or states of a trajectory controller"
            )
    return q, u, None


def _joints(
    path: str, data: dict[str, Any], zero: int, own: Iterable[str], names: dict[str, str | None]
) -> dict[str, tuple[Array, Array]]:
    """Series by the name that the system has for them."""
    own = list(own)
    found = {}
    for theirs, (t, values) in data.items():
        if theirs in names:
            name = names[theirs]
            if name is None:
                continue
            matches = [name] if name in own else []
        else:
            matches = [theirs] if theirs in own else [name for name in own if name.endswith(f".{theirs}")]
            name = theirs
        if len(matches) != 1:
            what = f"may be {' or '.join(matches)}" if matches else f"is unknown{_near(name, own)}"
            raise ValueError(
                f"{path}: `{name}` {what}; the system has {', '.join(own)}; say which one by `names`, None to leave it out"
            )
        found[matches[0]] = (_NANO * (np.array(t) - zero), np.array(values, dtype=float))
    return found


def _bodies(
    path: str, system: System, data: dict[str, Any], zero: int, names: dict[str, str | None], known: set[str]
) -> dict[str, tuple[Array, Array]]:
    """World poses of the bodies that nothing drives and whose coordinates are not known."""
    found = {}
    by_rates = system.coordinate_matrix(_anywhere(system)) != 0
    driven = np.any([by_rates[system.coordinates.index(c)] for c in system.commands if c in system.coordinates] or [False], axis=0)
    for theirs in data["poses"]:
        ours = names.get(theirs, theirs)
        if ours is None:
            continue
        matches = [body for body in system.bodies if ours in (body, body.split("/")[0], body.split("/")[-1])]
        body = matches[0] if len(matches) == 1 else ours if ours in matches else None
        if body is None:
            if theirs in names:
                raise ValueError(f"{path}: `names`: `{theirs}` is to be `{ours}`, which is no body; bodies are {', '.join(system.bodies)}")
            continue
        dofs = _dofs_of(system, body)
        coordinates = {name for name, row in zip(system.coordinates, by_rates, strict=True) if (row & dofs).any()}
        if not dofs.any() or (dofs & driven).any() or coordinates <= known:
            continue
        t, parents, poses = data["poses"][theirs]
        chained = [_in_world(data, parent, at, pose, 0) for at, parent, pose in zip(t, parents, poses, strict=True)]
        poses = np.array(chained)
        # of two signs of a quaternion, that which is near the one before
        for k in range(1, len(poses)):
            if poses[k, :4] @ poses[k - 1, :4] < 0:
                poses[k, :4] *= -1
        found[body] = (_NANO * (np.array(t) - zero), poses)
    return found


def _anywhere(system: System) -> Array:
    """A configuration at which no entry of a Jacobian is zero by chance."""
    return system.integrate(system.q0, 0.1 + 0.3 * np.sin(np.arange(system.n_v)))


def _dofs_of(system: System, body: str) -> Array:
    """Which dofs move a body."""
    moved: Array = np.abs(system.jacobian(body, _anywhere(system))).max(axis=0) > 0
    return moved


def _in_world(data: dict[str, Any], parent: str, at: int, pose: Any, depth: int) -> Any:
    """A pose in the frame that has no parent."""
    if depth > 100:
        raise ValueError(f"frames form a circle at `{parent}`")
    if parent in data["fixed"]:
        above, own = data["fixed"][parent]
    elif parent in data["poses"]:
        times, parents, poses = data["poses"][parent]
        k = max(int(np.searchsorted(times, at, side="right")) - 1, 0)
        above, own = parents[k], poses[k]
    else:
        return pose
    return _in_world(data, above, at, _product(own, pose), depth + 1)


def _product(a: Any, b: Any) -> list[float]:
    """Of two poses, unit quaternion w, x, y, z and position."""
    (w, x, y, z), p = a[:4], np.array(a[4:7])
    W, X, Y, Z = b[:4]
    axis = np.array([x, y, z])
    twice = 2 * np.cross(axis, b[4:7])
    turned = b[4:7] + w * twice + np.cross(axis, twice)
    return [
        w * W - x * X - y * Y - z * Z,
        w * X + x * W + y * Z - z * Y,
        w * Y - x * Z + y * W + z * X,
        w * Z + x * Y - y * X + z * W,
        *(p + turned),
    ]


def _span(
    path: str,
    data: dict[str, Any],
    positions: dict[str, tuple[Array, Array]],
    commands: dict[str, tuple[Array, Array]],
    bodies: dict[str, tuple[Array, Array]],
    step: float,
) -> tuple[float, float]:
    """From when everything is seen, and until when: a step before the first commands at most."""
    seen = [t for t, _ in [*positions.values(), *bodies.values()]]
    if not seen:
        others = ", ".join(sorted({name for part in data.values() for name in part}))
        raise ValueError(f"{path}: it has no coordinate of the system; it has {others}; say which is which by `names`")
    first = max(t[0] for t in seen)
    last = max(t[-1] for t in seen)
    if commands:
        first = max(first, max(t[0] for t, _ in commands.values()) - step)
    return first, last


def _interpolated(times: Array, t: Array, values: Array, step: float) -> Array:
    """Values between messages; NaN where these are further apart than usual, and outside of them."""
    known = ~np.isnan(values)
    t, values = t[known], values[known]
    if not len(t):
        return np.full(len(times), np.nan)
    out: Array = np.interp(times, t, values, left=np.nan, right=np.nan)
    before = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 1)
    after = np.minimum(before + 1, len(t) - 1)
    usual = max(2 * float(np.median(np.diff(t))) if len(t) > 1 else 0.0, 1.5 * step)
    out[t[after] - t[before] > usual] = np.nan
    for near in (before, after):
        same = np.abs(t[near] - times) <= _SAME * step
        out[same] = values[near][same]
    return out


def _normalise(system: System, q: Array) -> None:
    """Makes quaternions unit ones again."""
    names = list(system.coordinates)
    for k, name in enumerate(names):
        parts = [name[:-1] + part for part in "wxyz"]
        if name.endswith(".qw") and names[k : k + 4] == parts:
            norm = np.linalg.norm(q[:, k : k + 4], axis=1)
            far = np.abs(norm - 1) > 1e-12
            q[far, k : k + 4] /= norm[far, None]


def _place(system: System, q: Array, body: str, poses: Array) -> None:
    """Writes the coordinates at which a body has given poses, or is nearest to them, into the rows of ``q``."""
    own = _dofs_of(system, body)
    rows = (system.coordinate_matrix(_anywhere(system)) != 0)[:, own].any(axis=1)
    at = system.q0.copy()
    for k, pose in enumerate(poses):
        if np.isnan(pose).any():
            continue
        target = np.concatenate([pose[:4] / np.linalg.norm(pose[:4]), pose[4:]])
        for _ in range(_MOST_STEPS):
            rate = np.zeros(system.n_v)
            jacobian = system.jacobian(body, at)[:, own]
            rate[own] = np.linalg.lstsq(jacobian, _apart(system.pose(body, at), target), rcond=None)[0]
            at = system.integrate(at, rate)
            if np.abs(rate).max() < 1e-12:
                break
        q[k, rows] = at[rows]


def _apart(pose: Array, target: Array) -> Array:
    """Rotation vector in the world, and shift, from a pose to another."""
    inverse = [pose[0], -pose[1], -pose[2], -pose[3], 0, 0, 0]
    w, *axis = _product([*target[:4], 0, 0, 0], inverse)[:4]
    sine = float(np.linalg.norm(axis))
    turn = np.array(axis) * (2 * np.arctan2(sine, abs(w)) / sine * np.sign(w or 1) if sine > 0 else 0)
    return np.concatenate([turn, target[4:] - pose[4:7]])


def _near(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), 1)
    return f" (did you mean `{close[0]}`?)" if close else ""
