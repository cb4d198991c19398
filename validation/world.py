"""A quasistep scene as a MuJoCo model.

The program `world` of benches/ reads the scene, with its robots, meshes and commands, and prints it as plain
numbers; here they become MJCF. What MuJoCo has no counterpart for is refused.
"""

from __future__ import annotations

import json
import subprocess
import time
import xml.etree.ElementTree as ET
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import mujoco
import numpy as np
import yaml
from machine import executable
from mujoco import rollout


# MuJoCo's own coefficients of spin and roll, which contacts of three dimensions do not use
SPIN_AND_ROLL = (0.005, 0.0001)


@dataclass
class Settings:
    """How MuJoCo steps; the defaults are MuJoCo's own.

    Its default integrator, Euler, takes the damping of joints implicitly.
    """

    timestep: float
    # time constant of contacts, s, and their least stiffness, 0 to 1 (solref, solimp); None: MuJoCo's
    contact_time: float | None = None
    contact_stiffness: float = 0.99
    cone: str = "pyramidal"
    impratio: float = 1.0
    island: str = "enable"
    integrator: str = "Euler"
    multiccd: str = "disable"
    noslip_iterations: int = 0


@dataclass
class Run:
    """One run of MuJoCo: CPU time of stepping, and `q` after each step in quasistep's order."""

    cpu_s: float
    steps: int
    t: np.ndarray
    q: np.ndarray


class World:
    """A scene file, translated; models differ by their settings only."""

    def __init__(self, path: Path, steps: list[float], configurations: int = 0) -> None:
        self.path = path
        self.facts = yaml.safe_load(path.read_text(encoding="utf-8")).get("facts", [])
        command = [executable("world"), path]
        command += [word for h in steps for word in ("--step", str(h))]
        command += ["--configurations", str(configurations)]
        out = subprocess.run(command, check=True, capture_output=True).stdout
        self.data = json.loads(out)
        self.duration = self.data["duration_s"]
        self.coordinates = self.data["coordinates"]
        self.limits = {q: (low, high) for q, low, high in self.data["limits"]}
        self.commands = {c["step_size_s"]: np.array(c["q_cmd"]) for c in self.data["commands"]}

        self.root = ET.Element("mujoco", model=path.stem)
        ET.SubElement(self.root, "compiler", angle="radian", autolimits="true")
        self.assets = ET.SubElement(self.root, "asset")
        self.elements = [ET.SubElement(self.root, "worldbody")]
        self.equalities = ET.SubElement(self.root, "equality")
        # for each entry of q: the MuJoCo joint and its entry of qpos
        self.places: list[tuple[str, int]] = [("", 0)] * len(self.coordinates)
        # for each follower of a mimic joint: its joint, the entry of q that leads it, factor and offset
        self.followers: list[tuple[str, int, float, float]] = []
        for body in self.data["bodies"]:
            self.add_body(body)
        self.geoms = [self.add_geom(k, geom) for k, geom in enumerate(self.data["geoms"])]
        contact = ET.SubElement(self.root, "contact")
        self.set_friction(contact)
        self.exclude_pairs(contact)
        self.add_drives(ET.SubElement(self.root, "actuator"))

    def refuse(self, what: str) -> ValueError:
        """The scene has something that would be lost."""
        return ValueError(f"{self.path}: cannot translate {what}")

    def to_mjcf(self, settings: Settings) -> str:
        """The model with these settings, as XML."""
        root = deepcopy(self.root)
        option = ET.SubElement(
            root,
            "option",
            timestep=str(settings.timestep),
            cone=settings.cone,
            impratio=str(settings.impratio),
            integrator=settings.integrator,
            noslip_iterations=str(settings.noslip_iterations),
            gravity=numbers(self.data["gravity"]),
        )
        if settings.contact_time is not None:
            default = ET.SubElement(root, "default")
            for kind in ("geom", "pair"):
                solver = {"solref": f"{settings.contact_time} 1"}
                solver["solimp"] = f"{settings.contact_stiffness} 0.999 0.0001"
                ET.SubElement(default, kind, **solver)
        ET.SubElement(option, "flag", island=settings.island, multiccd=settings.multiccd)
        ET.indent(root)
        return ET.tostring(root, encoding="unicode")

    def add_body(self, body: dict) -> None:
        """A body with its joints, at its place in the tree."""
        name, joint, pose = body["name"], body["joint"], placement(body["pose"])
        gravcomp = "0" if body["gravity"] else "1"
        element = ET.SubElement(
            self.elements[body["parent"]], "body", name=name, gravcomp=gravcomp, **pose
        )
        self.elements.append(element)
        first, end = body["q"]
        full = body["joint_name"]
        kind = joint["type"]
        if kind == "free":
            ET.SubElement(element, "freejoint", name=full)
            # ours: quaternion, place; theirs: place, quaternion
            self.places[first:end] = [(full, k) for k in (3, 4, 5, 6, 0, 1, 2)]
        elif kind == "planar":
            axes = (("slide", "1 0 0"), ("slide", "0 1 0"), ("hinge", "0 0 1"))
            for k, (part, axis) in enumerate(axes):
                slide = ET.SubElement(element, "joint", name=f"{full}.{k}", type=part, axis=axis)
                slide.set("damping", str(body["joint_damping"][k]))
                slide.set("frictionloss", str(body["joint_friction"][k]))
                self.places[first + k] = (f"{full}.{k}", 0)
        elif kind in ("hinge", "slide"):
            own = ET.SubElement(element, "joint", name=full, type=kind, axis=numbers(joint["axis"]))
            if body["mimic"]:
                leader, factor, offset = body["mimic"]
                self.followers.append((full, *self.led_by(body)))
                leader = self.data["bodies"][leader - 1]["joint_name"]
                ET.SubElement(
                    self.equalities,
                    "joint",
                    joint1=full,
                    joint2=leader,
                    polycoef=numbers([offset, factor, 0, 0, 0]),
                )
            else:
                self.places[first] = (full, 0)
                low, high = self.limits.get(first, (None, None))
                if low is not None and high is not None:
                    own.set("range", numbers([low, high]))
                own.set("damping", str(body["joint_damping"][0]))
                own.set("frictionloss", str(body["joint_friction"][0]))
        elif kind != "fixed":
            raise self.refuse(f"a {kind} joint")
        if body["mass"] > 0:
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = body["inertia"]
            ET.SubElement(
                element,
                "inertial",
                pos=numbers(body["com"]),
                mass=str(body["mass"]),
                fullinertia=numbers([xx, yy, zz, xy, xz, yz]),
            )

    def led_by(self, body: dict) -> tuple[int, float, float]:
        """The entry of q that gives a hinge or slide its value, times a factor, plus an offset."""
        if not body["mimic"]:
            return body["q"][0], 1.0, 0.0
        leader, factor, offset = body["mimic"]
        entry, own_factor, own_offset = self.led_by(self.data["bodies"][leader - 1])
        return entry, factor * own_factor, factor * own_offset + offset

    def add_geom(self, index: int, geom: dict) -> ET.Element:
        """A collision shape."""
        shape, attributes = geom["shape"], placement(geom["pose"])
        kind = shape["type"]
        if kind == "mesh":
            mesh = f"hull{index}"
            vertex = numbers(np.ravel(shape["vertices"]))
            ET.SubElement(self.assets, "mesh", name=mesh, vertex=vertex, inertia="convex")
            attributes["mesh"] = mesh
        elif kind == "plane":
            attributes["size"] = "5 5 0.1"
        else:
            attributes["size"] = numbers(shape["size"])
        attributes["name"] = f"geom{index}"
        return ET.SubElement(self.elements[geom["body"]], "geom", type=kind, **attributes)

    def set_friction(self, contact: ET.Element) -> None:
        """Gives every geometry the coefficient of its pairs.

        MuJoCo takes the greater of two coefficients, or that of the geometry with priority: here of those that never
        move. All of them get the coefficient that most of their pairs have; pairs with another one are named,
        one by one.
        """
        bodies = self.data["bodies"]

        def still(body: int) -> bool:
            return body == 0 or (
                bodies[body - 1]["joint"]["type"] == "fixed" and still(bodies[body - 1]["parent"])
            )

        fixed = [still(geom["body"]) for geom in self.data["geoms"]]
        pairs = self.data["pairs"]

        def usual(own) -> float:
            seen = Counter(mu for a, b, mu in pairs if own(a, b))
            return max(seen, key=seen.__getitem__, default=0.0)

        moving = usual(lambda a, b: not (fixed[a] or fixed[b]))
        of = [
            usual(lambda a, b, k=k: k in (a, b)) if fixed[k] else moving for k in range(len(fixed))
        ]
        for k, element in enumerate(self.geoms):
            element.set("friction", numbers([of[k], *SPIN_AND_ROLL]))
            element.set("condim", "3")
            if fixed[k]:
                element.set("priority", "1")
        for a, b, mu in pairs:
            if mu != of[a if fixed[a] else b]:
                # of two directions of sliding, then spin and roll
                friction = numbers([mu, mu, SPIN_AND_ROLL[0], *SPIN_AND_ROLL[1:] * 2])
                names = {f"geom{k}": self.geoms[g].get("name") for k, g in ((1, a), (2, b))}
                ET.SubElement(contact, "pair", **names, friction=friction, condim="3")

    def exclude_pairs(self, contact: ET.Element) -> None:
        """Pairs of bodies that never touch, one by one."""
        of = [geom["body"] for geom in self.data["geoms"]]
        touch = {frozenset((of[a], of[b])) for a, b, _ in self.data["pairs"]}
        bodies = self.data["bodies"]
        for a, b in combinations(sorted(set(of)), 2):
            if a > 0 and frozenset((a, b)) not in touch:
                names = {"body1": bodies[a - 1]["name"], "body2": bodies[b - 1]["name"]}
                ET.SubElement(contact, "exclude", **names)

    def add_drives(self, actuators: ET.Element) -> None:
        """Joint springs as position servos, their dampers as damping of the joints."""
        joints = {e.get("name"): e for e in self.root.iter("joint")}
        for drive in self.data["drives"]:
            if drive.get("prescribed") or len(drive["stiffness"]) != 1:
                raise self.refuse(f"the drive of {drive['joint']}")
            ((stiffness,), (damping,), (effort,)) = (
                drive[key] for key in ("stiffness", "damping", "effort_limit")
            )
            name = drive["joint"]
            position = ET.SubElement(
                actuators, "position", name=name, joint=name, kp=str(stiffness)
            )
            if effort is not None:
                position.set("forcerange", numbers([-effort, effort]))
            joints[name].set("damping", str(damping))

    def controls(self, h: float) -> np.ndarray:
        """What each actuator is told in each step: the command at its end, as in quasistep."""
        commands = self.commands[h]
        start = [self.data["start"][self.coordinates.index(d["joint"])] for d in self.data["drives"]]
        rates = np.diff(np.vstack([start, commands]), axis=0) / h
        controls = commands.copy()
        for k, drive in enumerate(self.data["drives"]):
            if drive["on_command_error"]:
                # kp (command + shift rate - q) - d v is kp (command - q) + d (rate - v)
                controls[:, k] += drive["damping"][0] / drive["stiffness"][0] * rates[:, k]
        return controls

    def set_q(self, model: mujoco.MjModel, data: mujoco.MjData, q) -> np.ndarray:
        """Sets the configuration, quasistep's `q`, and returns where its entries are in `qpos`."""
        at = np.array(
            [model.jnt_qposadr[model.joint(name).id] + k for name, k in self.places], dtype=int
        )
        data.qpos[at] = q
        for name, entry, factor, offset in self.followers:
            data.qpos[model.jnt_qposadr[model.joint(name).id]] = factor * q[entry] + offset
        return at

    def simulate(self, settings: Settings) -> Run:
        """Steps MuJoCo through the scene; everything but stepping is left out of the time."""
        model = mujoco.MjModel.from_xml_string(self.to_mjcf(settings))
        controls = self.controls(settings.timestep)
        data = mujoco.MjData(model)
        at = self.set_q(model, data, self.data["start"])
        mujoco.mj_forward(model, data)
        spec = mujoco.mjtState.mjSTATE_FULLPHYSICS  # time, qpos, qvel, …
        state = np.empty((len(controls) + 1, mujoco.mj_stateSize(model, spec)))
        mujoco.mj_getState(model, data, state[0], spec)
        # sets ctrl and calls mj_step in C: a loop in Python would cost MuJoCo some 2 % more
        start = time.process_time_ns()
        rollout.rollout(model, data, state[0], controls[None], state=state[None, 1:])
        cpu_s = 1e-9 * (time.process_time_ns() - start)
        return Run(cpu_s, len(controls), settings.timestep * np.arange(len(state)), state[:, 1 + at])


def placement(pose: dict) -> dict[str, str]:
    """A pose as attributes."""
    return {"pos": numbers(pose["xyz"]), "quat": numbers(pose["quat"])}


def numbers(values) -> str:
    """Numbers for an XML attribute."""
    return " ".join(str(value) for value in values)
