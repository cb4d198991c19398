"""A quasistep scene as a MuJoCo model.

`quasistep convert` writes the model; the program `world` of benches/ prints the commands and where coordinates are. What
MuJoCo has no counterpart for is refused.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ET
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import yaml
from machine import executable
from mujoco import rollout


# what a comparison may lose: MuJoCo's contacts are those of corners, its dampers resist velocity, and `controls` tells it of the
# command's rate
ACCEPTED = ("flat contacts rub as areas", "damping of the error to the command's rate")


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
    speculative: str = "disable"
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

        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "scene.xml"
            command = [executable("quasistep"), "convert", path, "-o", out, "--quiet"]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
            self.root = ET.parse(out).getroot()
        for line in told.splitlines():
            if not any(words in line for words in ACCEPTED):
                raise ValueError(f"{path}: cannot translate: {line}")
        # for each entry of q: the MuJoCo joint and its entry of qpos
        self.places: list[tuple[str, int]] = [("", 0)] * len(self.coordinates)
        # for each follower of a mimic joint: its joint, the entry of q that leads it, factor and offset
        self.followers: list[tuple[str, int, float, float]] = []
        for body in self.data["bodies"]:
            self.place(body)

    def to_mjcf(self, settings: Settings) -> str:
        """The model with these settings, as XML."""
        root = deepcopy(self.root)
        option = root.find("option")
        option.attrib.update(
            timestep=str(settings.timestep),
            cone=settings.cone,
            impratio=str(settings.impratio),
            integrator=settings.integrator,
            noslip_iterations=str(settings.noslip_iterations),
        )
        if settings.contact_time is not None:
            default = ET.Element("default")
            root.insert(0, default)
            for kind in ("geom", "pair"):
                solver = {"solref": f"{settings.contact_time} 1"}
                solver["solimp"] = f"{settings.contact_stiffness} 0.999 0.0001"
                ET.SubElement(default, kind, **solver)
        flags = {key: getattr(settings, key) for key in ("island", "multiccd", "speculative")}
        ET.SubElement(option, "flag", **flags)
        ET.indent(root)
        return ET.tostring(root, encoding="unicode")

    def place(self, body: dict) -> None:
        """Where the entries of `q` of a body's joint are in MuJoCo."""
        first, end = body["q"]
        name, kind = body["joint_name"], body["joint"]["type"]
        if kind == "free":
            # ours: quaternion, place; theirs: place, quaternion
            self.places[first:end] = [(name, k) for k in (3, 4, 5, 6, 0, 1, 2)]
        elif kind == "planar":
            self.places[first:end] = [(f"{name}.{part}", 0) for part in ("x", "y", "theta")]
        elif body["mimic"]:
            self.followers.append((name, *self.led_by(body)))
        else:
            self.places[first:end] = [(name, k) for k in range(end - first)]

    def led_by(self, body: dict) -> tuple[int, float, float]:
        """The entry of q that gives a hinge or slide its value, times a factor, plus an offset."""
        if not body["mimic"]:
            return body["q"][0], 1.0, 0.0
        leader, factor, offset = body["mimic"]
        entry, own_factor, own_offset = self.led_by(self.data["bodies"][leader - 1])
        return entry, factor * own_factor, factor * own_offset + offset

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
