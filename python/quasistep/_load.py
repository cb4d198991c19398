"""Systems from files, text and dicts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._yaml import changes, to_json
from .system import System

if TYPE_CHECKING:
    from collections.abc import Mapping


def load(path: str | os.PathLike[str], set: Mapping[str, Any] | None = None) -> System:
    """Reads a scene file, or a robot's file.

    Parameters
    ----------
    path : path
        The file. For a robot's or MuJoCo's (``.urdf``, ``.xacro``, ``.xml``) the scene is that which ``quasistep new`` writes,
        without its box.
    set : mapping of str to value, optional
        Values replaced by their dotted keys, as ``--set`` of the command line does:
        ``{"step.size": 0.05, "models.*.friction": 0.3}``.

    Returns
    -------
    System

    Raises
    ------
    SceneError
        The first mistake in the file or a file that it names: ``file``, ``line``, ``key``.

    Examples
    --------
    >>> qs.load("scenes/pinch.yml", set={"models.held.mass": 0.1}).duration
    60.0
    """
    loaded: System = System._load(os.fspath(path), changes(set or {}))
    return loaded


def loads(
    text: str, name: str = "scene", dir: str | os.PathLike[str] = ".", *, file: str = ""
) -> System:
    """Reads a scene from text.

    Parameters
    ----------
    text : str
        A scene file's text.
    name : str
        Name of the scene.
    dir : path
        Folder at which paths start.
    file : str
        Name of the file in errors; without it they have keys only.

    Returns
    -------
    System

    Examples
    --------
    >>> qs.loads("models: {ball: {mass: 1, shape: {sphere: {radius: 0.1}}}}").dofs[3:]
    ('ball.vx', 'ball.vy', 'ball.vz')
    """
    # paths start there, wherever the program goes later
    return System(text, file, name, os.path.abspath(dir), [])


def from_dict(
    tree: Mapping[str, Any], name: str = "scene", dir: str | os.PathLike[str] = "."
) -> System:
    """Makes a system from the scene grammar as dicts, lists, numbers and arrays.

    Keys whose value is None count as not given.

    Parameters
    ----------
    tree : mapping
        What a scene file would say.
    name, dir
        As for :func:`loads`.

    Returns
    -------
    System

    Raises
    ------
    SceneError
        The first mistake, by its key.

    Examples
    --------
    >>> qs.from_dict({"models": {"ball": {"mass": 1, "shape": qs.sphere(0.1)}}}).n_v
    6
    """
    return loads(to_json(dict(tree)), name, dir)
