"""A quasistep scene file as a MuJoCo model (MJCF).

Reads what scenes/iiwa_stacking.yml uses and refuses the rest: a robot that stands on the ground, a
tool on it, free bodies of one box each, a ground, position commands.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

import numpy as np
import yaml
from scipy.interpolate import CubicSpline

DRAKE = "{http://drake.mit.edu}"
ZERO = (0.0, 0.0, 0.0)
SCENE_KEYS = {"format", "title", "gravity", "step", "models", "commands", "facts"}
SCENE_KEYS |= {"friction", "collisions"}
BODY_KEYS = {"joint", "pose", "mass", "inertia", "friction", "shape"}
ROBOT_KEYS = {"urdf", "parent", "pose", "gravity", "joints"}
JOINT_KEYS = {"stiffness", "damping", "damping_on", "start"}


@dataclass
class Settings:
    """How MuJoCo steps; the defaults are MuJoCo's own.

    Its default integrator, Euler, takes the damping of joints implicitly.
    """

    timestep: float
    cone: str = "pyramidal"
    impratio: float = 1.0
    island: str = "enable"


@dataclass
class Surface:
    """A collision geometry and the coefficient that its file gives it."""

    geom: ET.Element
    mu: float
    fixed: bool


class Scene:
    """A scene file, translated; models differ by their settings only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.duration = float(self.data["step"]["duration"])
        self.bodies: dict[str, ET.Element] = {}
        self.drives: dict[str, dict] = {}
        self.surfaces: list[Surface] = []
        self.check(self.data, SCENE_KEYS, "the scene")

        self.root = ET.Element("mujoco", model=path.stem)
        # capital letters: the fixed axes of URDF's roll, pitch, yaw
        ET.SubElement(self.root, "compiler", angle="radian", eulerseq="XYZ", autolimits="true")
        world = ET.SubElement(self.root, "worldbody")
        for name, model in self.data["models"].items():
            is_robot = "urdf" in model
            self.check(model, ROBOT_KEYS if is_robot else BODY_KEYS, f"models.{name}")
            (self.add_robot if is_robot else self.add_body)(world, name, model)
        self.mix_friction()
        self.exclude_collisions(ET.SubElement(self.root, "contact"))
        actuators = ET.SubElement(self.root, "actuator")
        for joint, drive in self.drives.items():
            limit = drive["effort"]
            attributes = {"kp": str(drive["stiffness"]), "forcerange": numbers([-limit, limit])}
            ET.SubElement(actuators, "position", name=joint, joint=joint, **attributes)

    def to_mjcf(self, settings: Settings) -> str:
        """The model with these settings, as XML."""
        root = deepcopy(self.root)
        option = ET.SubElement(
            root,
            "option",
            timestep=str(settings.timestep),
            cone=settings.cone,
            impratio=str(settings.impratio),
            gravity=numbers(self.data["gravity"]),
        )
        ET.SubElement(option, "flag", island=settings.island)
        ET.indent(root)
        return ET.tostring(root, encoding="unicode")

    def check(self, data: dict, known: set[str], what: str) -> None:
        """Refuses keys that would be lost."""
        if unknown := data.keys() - known:
            raise ValueError(f"{self.path}: {what}: cannot translate {sorted(unknown)}")

    def start(self) -> dict[str, float]:
        """Where the driven joints start."""
        return {joint: drive["start"] for joint, drive in self.drives.items()}

    def controls(self, h: float) -> np.ndarray:
        """What each actuator is told in each step: the command at its end, as in quasistep."""
        n = int(np.ceil(self.duration / h - 1e-9))
        t = h * np.arange(n + 1)
        commands: dict[str, np.ndarray] = {}
        for entry in self.data["commands"]:
            values = self.spline(entry["csv"], t) if "csv" in entry else lines(entry["linear"], t)
            commands.update(zip(entry["joints"], values.T, strict=True))
        controls = np.empty((n, len(self.drives)))
        for k, (joint, drive) in enumerate(self.drives.items()):
            controls[:, k] = commands[joint][1:]
            if drive.get("damping_on") == "command_error":
                # kp (command + shift rate - q) - d v is kp (command - q) + d (rate - v)
                shift = drive["damping"] / drive["stiffness"]
                controls[:, k] += shift * np.diff(commands[joint]) / h
        return controls

    def spline(self, csv: dict, t: np.ndarray) -> np.ndarray:
        """Cubic segments, at rest at both ends of each."""
        table = np.genfromtxt(self.path.parent / csv["file"], delimiter=",", names=True)
        values = np.empty((len(t), len(csv["columns"])))
        for segment in np.unique(table[csv["segment"]]):
            knots = table[table[csv["segment"]] == segment]
            q = np.column_stack([knots[column] for column in csv["columns"]])
            inside = t >= knots["t"][0]
            at = np.minimum(t[inside], knots["t"][-1])
            values[inside] = CubicSpline(knots["t"], q, bc_type="clamped")(at)
        return values

    def add_body(self, world: ET.Element, name: str, model: dict) -> None:
        """A model of one body, free or part of the world."""
        full = f"{name}/{name}"
        fixed = model.get("joint") == "fixed"
        if fixed:
            # the same as the world, which is the body that exclusions have to name
            body = self.bodies[full] = world
        else:
            body = ET.SubElement(world, "body", name=full, **self.placement(model))
            self.bodies[full] = body
            ET.SubElement(body, "freejoint", name=name)
            inertial(body, model["mass"], ZERO, [*model["inertia"], *ZERO])
        ((kind, size),) = ((k, v) for k, v in model["shape"].items() if k != "color")
        if kind == "half_space":
            geom = ET.SubElement(body, "geom", type="plane", size="5 5 0.1")
        elif kind == "box":
            geom = ET.SubElement(body, "geom", type="box", size=half(size["size"]))
        else:
            raise ValueError(f"{self.path}: models.{name}.shape: cannot translate {kind}")
        self.surfaces.append(Surface(geom, model["friction"], fixed))

    def add_robot(self, world: ET.Element, name: str, model: dict) -> None:
        """A model from a URDF file; its root is fixed to the world or another robot's link."""
        robot = ET.parse(self.path.parent / model["urdf"]).getroot()
        links = {link.get("name"): link for link in robot.iter("link")}
        joints = robot.findall("joint")
        (root,) = links.keys() - {joint.find("child").get("link") for joint in joints}
        parent = self.bodies[model["parent"]] if "parent" in model else world
        gravcomp = "0" if model.get("gravity", True) else "1"

        def add_link(parent: ET.Element, link: str, pose: dict[str, str]) -> ET.Element:
            full = f"{name}/{link}"
            body = ET.SubElement(parent, "body", name=full, gravcomp=gravcomp, **pose)
            self.bodies[full] = body
            of = links[link].find("inertial")
            inertia = of.find("inertia")
            order = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
            mass = float(of.find("mass").get("value"))
            inertial(
                body, mass, of.find("origin").get("xyz").split(), [inertia.get(i) for i in order]
            )
            for collision in links[link].iter("collision"):
                self.add_collision(body, collision)
            return body

        add_link(parent, root, self.placement(model))
        # a URDF file lists a joint after the one that carries it
        for joint in joints:
            above = self.bodies[f"{name}/{joint.find('parent').get('link')}"]
            body = add_link(above, joint.find("child").get("link"), origin(joint))
            limit = joint.find("limit")
            full = f"{name}.{joint.get('name')}"
            drive = dict(model["joints"][joint.get("name")])
            self.check(drive, JOINT_KEYS, full)
            drive["effort"] = float(limit.get("effort"))
            self.drives[full] = drive
            ET.SubElement(
                body,
                "joint",
                name=full,
                type={"revolute": "hinge", "prismatic": "slide"}[joint.get("type")],
                axis=joint.find("axis").get("xyz"),
                range=f"{limit.get('lower')} {limit.get('upper')}",
                damping=str(drive["damping"]),
            )

    def placement(self, model: dict) -> dict[str, str]:
        """The pose of a model."""
        pose = model.get("pose", {})
        self.check(pose, {"xyz", "rpy"}, "pose")
        return {"pos": numbers(pose.get("xyz", ZERO)), "euler": numbers(pose.get("rpy", ZERO))}

    def add_collision(self, body: ET.Element, collision: ET.Element) -> None:
        """A box or a sphere of a URDF link."""
        (shape,) = collision.find("geometry")
        if shape.tag == "box":
            size = half(shape.get("size").split())
        elif shape.tag == "sphere":
            size = shape.get("radius")
        else:
            raise ValueError(f"cannot translate collision geometry {shape.tag}")
        geom = ET.SubElement(body, "geom", type=shape.tag, size=size, **origin(collision))
        mu = collision.find(f"{DRAKE}proximity_properties/{DRAKE}mu_static").get("value")
        self.surfaces.append(Surface(geom, float(mu), fixed=False))

    def mix_friction(self) -> None:
        """Gives every geometry the coefficient of its pairs, 2ab/(a + b).

        MuJoCo takes the greater of two coefficients, or that of the geometry with priority: the
        scene's rule can be said if all that moves has one coefficient.
        """
        if self.data["friction"] != {"rule": "harmonic_mean"}:
            raise ValueError(f"{self.path}: friction: cannot translate {self.data['friction']}")
        (mu,) = {surface.mu for surface in self.surfaces if not surface.fixed}
        for surface in self.surfaces:
            pair = 2 * mu * surface.mu / (mu + surface.mu)
            surface.geom.set("friction", numbers([pair, 0.005, 0.0001]))
            surface.geom.set("condim", "3")
            if surface.fixed:
                surface.geom.set("priority", "1")

    def exclude_collisions(self, contact: ET.Element) -> None:
        """The scene's excluded pairs, one by one."""
        for a, b in combinations(self.bodies, 2):
            if any(
                (fnmatchcase(a, p) and fnmatchcase(b, q))
                or (fnmatchcase(b, p) and fnmatchcase(a, q))
                for p, q in self.data["collisions"]["exclude"]
            ):
                names = (self.bodies[body].get("name", "world") for body in (a, b))
                ET.SubElement(contact, "exclude", dict(zip(("body1", "body2"), names, strict=True)))


def lines(linear: dict, t: np.ndarray) -> np.ndarray:
    """Knots joined by lines."""
    values = np.asarray(linear["values"], dtype=float)
    return np.column_stack([np.interp(t, linear["t"], column) for column in values.T])


def inertial(body: ET.Element, mass: float, com, inertia) -> None:
    """Mass in kg, centre in m, inertia (xx, yy, zz, xy, xz, yz) about it in kg m^2."""
    ET.SubElement(body, "inertial", pos=numbers(com), mass=str(mass), fullinertia=numbers(inertia))


def origin(element: ET.Element) -> dict[str, str]:
    """The pose of a URDF element."""
    of = element.find("origin")
    return {"pos": of.get("xyz"), "euler": of.get("rpy", "0 0 0")}


def half(size) -> str:
    """MuJoCo gives boxes by half their edges."""
    return numbers([float(edge) / 2 for edge in size])


def numbers(values) -> str:
    """Numbers for an XML attribute."""
    return " ".join(str(value) for value in values)
