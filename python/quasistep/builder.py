"""A system made in code: the scene grammar as Python calls.

It has the keys and the errors of scene files; `docs/scene-format.md` and `docs/scene` are the grammar of both.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._whole import write_whole
from ._yaml import to_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from .system import System


class SystemBuilder:
    """A scene that is put together call by call, and then built.

    Parameters
    ----------
    title : str, optional
        Words for people.
    gravity : array_like, shape (3,), optional
        Acceleration of free fall, in m/s²; (0, 0, -9.81) by default.
    step : mapping, optional
        How time is stepped: ``size`` (s), ``duration`` (s), ``cone``, ``inertia``, …
    **keys
        Any other key of a scene file.

    Examples
    --------
    A box on a table, pushed by a finger on a spring:

    >>> scene = qs.SystemBuilder(step={"size": 0.05, "duration": 1, "inertia": "mass"})
    >>> scene.model("table", joint="fixed", friction=0.4, shape=qs.half_space())
    >>> scene.model("finger", gravity=False, pose={"xyz": [0, 0, 0.03]}, shape=qs.sphere(0.01),
    ...             joint=[qs.slide("x", [1, 0, 0], stiffness=800, start=-0.11)])
    >>> scene.model("box", mass=0.8, friction=0.4, pose={"xyz": [0, 0, 0.03]},
    ...             shape=qs.box([0.18, 0.12, 0.06]))
    >>> scene.command("finger.x", expr="-0.11 + 0.05*t")
    >>> scene.exclude("finger", "table")
    >>> system = scene.build()
    >>> run = system.simulate()
    >>> round(float(run.q[-1, system.coordinates.index("box.x")]), 3)
    0.036
    """

    def __init__(
        self,
        title: str | None = None,
        *,
        gravity: ArrayLike | None = None,
        step: Mapping[str, Any] | None = None,
        **keys: Any,
    ) -> None:
        self.tree: dict[str, Any] = {"format": 1}
        given = {"title": title, "gravity": gravity, "step": step, **keys}
        self.tree.update({key: value for key, value in given.items() if value is not None})
        for key in ("models", "friction", "collisions"):
            self.tree[key] = dict(self.tree.get(key, {}))
        for key in ("commands", "wrenches", "facts"):
            self.tree[key] = list(self.tree.get(key, []))

    def model(self, name: str, **keys: Any) -> None:
        """Adds a model: a body, several bodies, or a robot.

        Parameters
        ----------
        name : str
            Its name; its body is ``name/name``, its joint ``name``.
        **keys
            Keys of a model: ``joint``, ``parent``, ``pose``, ``shape``, ``shapes``, ``mass`` (kg),
            ``density`` (kg/m³), ``friction``, ``bodies``, ``urdf``, ``joints``, ``repeat``, …

        Examples
        --------
        >>> scene = qs.SystemBuilder(step={"inertia": "mass"})
        >>> scene.model("ball", mass=1.0, shape=qs.sphere(0.1))
        >>> scene.build().coordinates
        ('ball.qw', 'ball.qx', 'ball.qy', 'ball.qz', 'ball.x', 'ball.y', 'ball.z')
        """
        if name in self.tree["models"]:
            raise ValueError(f"a second model `{name}` was seen; names must differ")
        self.tree["models"][name] = keys

    def command(self, joint: str | Sequence[str] | None = None, **kind: Any) -> None:
        """Tells driven joints, a frame, a pad, or a switch what to do over time.

        Parameters
        ----------
        joint : str or sequence of str, optional
            Coordinates by name, as ``finger.x``; none for a frame, a pad or a switch.
        **kind
            One of ``constant``, ``expr``, ``linear``, ``cubic``, ``csv``, ``pose``; or ``frame`` and ``knots`` with
            what else a command of a frame says. With ``pad``, a name, the share of its pull; with ``switch``,
            the name of a constraint, on above 0.5.

        Examples
        --------
        >>> scene = qs.SystemBuilder()
        >>> scene.model("stage", joint=[qs.slide("x", [1, 0, 0], stiffness=100)])
        >>> scene.command("stage.x", linear={"t": [0, 1], "values": [0, 0.1]})
        >>> float(scene.build().command(0.5)[0][0])
        0.05

        The same by its frame:

        >>> scene = qs.SystemBuilder()
        >>> scene.model("stage", joint=[qs.slide("x", [1, 0, 0], stiffness=100)])
        >>> scene.command(frame="stage", knots=[[0, {}], [1, {"xyz": [0.1, 0, 0]}]])
        >>> float(scene.build().command(0.5)[0][0].round(9))
        0.05
        """
        key = "joint" if isinstance(joint, str) else "joints"
        self.tree["commands"].append(kind if joint is None else {key: joint, **kind})

    def wrench(self, body: str, **keys: Any) -> None:
        """Adds a force from outside.

        Parameters
        ----------
        body : str
            The body.
        **keys
            ``force`` (N), ``torque`` (N·m), each three numbers or expressions of t in the world's
            axes; ``at``, a point of the body (m).

        Examples
        --------
        >>> scene = qs.SystemBuilder(gravity=[0, 0, 0])
        >>> scene.model("stage", joint=[qs.slide("x", [1, 0, 0], stiffness=100)])
        >>> scene.wrench("stage", force=[5, 0, 0])
        >>> q, report = scene.build().equilibrium()
        >>> float(q[0].round(6))                          # 5 N on 100 N/m
        0.05
        """
        self.tree["wrenches"].append({"body": body, **keys})

    def exclude(self, a: str, b: str) -> None:
        """Two bodies, or patterns with ``*``, that never touch.

        Examples
        --------
        >>> scene = qs.SystemBuilder()
        >>> scene.model("table", joint="fixed", shape=qs.half_space())
        >>> scene.model("ball", mass=1.0, shape=qs.sphere(0.1))
        >>> scene.exclude("ball", "table")
        >>> scene.tree["collisions"]
        {'exclude': [['ball', 'table']]}
        """
        self.tree["collisions"].setdefault("exclude", []).append([a, b])

    def friction_pair(self, a: str, b: str, **keys: float) -> None:
        """Friction of two bodies, or patterns, with one another.

        Parameters
        ----------
        a, b : str
            Bodies, or patterns with ``*``.
        **keys
            ``mu``, ``mu_spin`` (m), ``mu_roll`` (m), ``patch_radius`` (m).

        Examples
        --------
        >>> scene = qs.SystemBuilder()
        >>> scene.friction_pair("finger", "box", mu=0.9)
        >>> scene.tree["friction"]
        {'pairs': [{'a': 'finger', 'b': 'box', 'mu': 0.9}]}
        """
        self.tree["friction"].setdefault("pairs", []).append({"a": a, "b": b, **keys})

    def to_yaml(self) -> str:
        """The scene file that says the same.

        Examples
        --------
        >>> scene = qs.SystemBuilder("a ball", step={"inertia": "mass"})
        >>> scene.model("ball", mass=1.0, shape=qs.sphere(0.1))
        >>> print(scene.to_yaml())
        format: 1
        title: "a ball"
        step:
          inertia: mass
        models:
          ball: {mass: 1.0, shape: {sphere: {radius: 0.1}}}
        """
        return to_yaml({key: value for key, value in self.tree.items() if value not in ({}, [])})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scene file.

        Examples
        --------
        >>> scene = qs.SystemBuilder()
        >>> scene.save("/dev/null")
        """
        write_whole(path, self.to_yaml() + "\n")

    def build(self, name: str = "scene", dir: str | os.PathLike[str] = ".") -> System:
        """The system.

        Parameters
        ----------
        name : str
            Name of the scene.
        dir : path
            Folder at which paths in the scene start.

        Returns
        -------
        System

        Raises
        ------
        SceneError
            The first mistake, by its key.

        Examples
        --------
        >>> scene = qs.SystemBuilder()
        >>> scene.model("ball", mass=-1.0, shape=qs.sphere(0.1))
        >>> try:
        ...     scene.build()
        ... except qs.SceneError as error:
        ...     print(error)
        models.ball.mass: -1 was seen; it must be > 0 kg
        """
        from ._load import from_dict

        return from_dict(self.tree, name, dir)


def sphere(radius: float, **keys: Any) -> dict[str, Any]:
    """A ball: radius in m; ``keys`` are ``name``, ``pose``, ``friction``, ``color``, ….

    Examples
    --------
    >>> qs.sphere(0.1, friction=0.5)
    {'sphere': {'radius': 0.1}, 'friction': 0.5}
    """
    return {"sphere": {"radius": radius}, **keys}


def box(size: ArrayLike, **keys: Any) -> dict[str, Any]:
    """A box: full edges, shape (3,), in m.

    Examples
    --------
    >>> qs.box([0.1, 0.1, 0.2])
    {'box': {'size': [0.1, 0.1, 0.2]}}
    """
    return {"box": {"size": size}, **keys}


def capsule(radius: float, length: float, **keys: Any) -> dict[str, Any]:
    """A capsule along z: radius and the length between the centres of its caps, in m.

    Examples
    --------
    >>> qs.capsule(0.01, 0.1)
    {'capsule': {'radius': 0.01, 'length': 0.1}}
    """
    return {"capsule": {"radius": radius, "length": length}, **keys}


def cylinder(radius: float, length: float, **keys: Any) -> dict[str, Any]:
    """A cylinder along z, in m.

    Examples
    --------
    >>> qs.cylinder(0.05, 0.1)
    {'cylinder': {'radius': 0.05, 'length': 0.1}}
    """
    return {"cylinder": {"radius": radius, "length": length}, **keys}


def ellipsoid(radii: ArrayLike, **keys: Any) -> dict[str, Any]:
    """An ellipsoid: half axes along x, y and z, shape (3,), in m.

    Examples
    --------
    >>> qs.ellipsoid([0.03, 0.02, 0.01])
    {'ellipsoid': {'radii': [0.03, 0.02, 0.01]}}
    """
    return {"ellipsoid": {"radii": radii}, **keys}


def height_field(
    heights: Any = None,
    *,
    size: Any,
    image: str | None = None,
    height: float | None = None,
    base: float | None = None,
    **keys: Any,
) -> dict[str, Any]:
    """Ground below heights on a grid, for a body that is fixed to the world.

    Parameters
    ----------
    heights : array_like, shape (rows, columns)
        Heights in m. The first row is at the largest y, columns go along x.
    size : (float, float)
        Extent along x and y, m; the middle is at the origin.
    image, height : str, float
        In place of `heights` a grey PNG file, and the height of white above black, m.
    base : float
        Thickness of the ground below its lowest point, m; default 1.

    Examples
    --------
    >>> qs.height_field([[0, 0], [0, 0.1]], size=[1, 2])
    {'height_field': {'size': [1.0, 2.0], 'heights': [[0.0, 0.0], [0.0, 0.1]]}}
    """
    given: dict[str, Any] = {"size": [float(s) for s in size]}
    if heights is not None:
        given["heights"] = [[float(z) for z in row] for row in heights]
    for key, value in (("image", image), ("height", height), ("base", base)):
        if value is not None:
            given[key] = value
    return {"height_field": given, **keys}


def half_space(**keys: Any) -> dict[str, Any]:
    """Solid below z = 0 of its frame: a table, a floor.

    Examples
    --------
    >>> qs.half_space()
    {'half_space': {}}
    """
    return {"half_space": {}, **keys}


def mesh(
    file: str | os.PathLike[str],
    scale: ArrayLike = 1.0,
    parts: str | None = None,
    **keys: Any,
) -> dict[str, Any]:
    """A mesh file, such as an ``.obj`` or ``.stl``; ``scale`` is a number or shape (3,).

    ``parts`` is ``"hull"``, ``"groups"``, ``"split"`` or ``"surface"``, a sheet without thickness that
    is solid from both sides. ``None``: a solid is its convex hull, a flat or open mesh is a sheet.

    Examples
    --------
    >>> qs.mesh("stone.obj", scale=0.01)
    {'mesh': {'file': 'stone.obj', 'scale': 0.01}}
    >>> qs.mesh("bowl.obj", parts="surface")
    {'mesh': {'file': 'bowl.obj', 'scale': 1.0, 'parts': 'surface'}}
    """
    chosen = {} if parts is None else {"parts": parts}
    return {"mesh": {"file": os.fspath(file), "scale": scale, **chosen}, **keys}


def points(points: ArrayLike, **keys: Any) -> dict[str, Any]:
    """The convex hull of points, shape (k, 3), in m; at least four.

    Examples
    --------
    >>> qs.points([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], name="wedge")["name"]
    'wedge'
    """
    return {"points": points, **keys}


def slide(name: str, axis: ArrayLike, **keys: Any) -> dict[str, Any]:
    """A joint that slides along an axis, shape (3,).

    ``keys`` are ``stiffness`` (N/m), ``damping`` (N·s/m), ``effort_limit`` (N), ``limits`` (m),
    ``start`` (m), ``role``.

    Examples
    --------
    >>> qs.slide("x", [1, 0, 0], stiffness=800)
    {'slide': 'x', 'axis': [1, 0, 0], 'stiffness': 800}
    """
    return {"slide": name, "axis": axis, **keys}


def hinge(name: str, axis: ArrayLike, **keys: Any) -> dict[str, Any]:
    """A joint that turns about an axis, shape (3,); the keys of :func:`slide` in rad and N·m.

    Examples
    --------
    >>> qs.hinge("elbow", [0, 0, 1], limits=[-1, 1])
    {'hinge': 'elbow', 'axis': [0, 0, 1], 'limits': [-1, 1]}
    """
    return {"hinge": name, "axis": axis, **keys}
