"""A translated scene as a plant of Drake, with steps that choose their size (CENIC).

Reads from standard input what `world.World` knows of a scene, as JSON, and prints the run, as JSON. It is a process of its own, so
that a crash of Drake is told as an error of its command.

Drake has one contact point for a pair of boxes. So each free box is what the ground truth of the stacking scene has: a core that
is `INSET` smaller, and a small ball at each corner.
"""

from __future__ import annotations

import json
import sys
import time
import xml.etree.ElementTree as ET
from itertools import product
from xml.etree.ElementTree import Element

import numpy as np
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (
    AddContactMaterial,
    Box,
    CollisionFilterDeclaration,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SpatialInertia,
    UnitInertia,
    WeldJoint,
)
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import Multiplexer, TrajectorySource
from pydrake.trajectories import PiecewisePolynomial

# m: what the ground truth takes off each side of a free box, and the radius of the balls at its corners
INSET = 5e-4
CORNER = 1e-4
# N/m and s/m: a point of a box of 5 kg gives by 3 µm
STIFFNESS = 5e6
DISSIPATION = 10.0


def numbers(text: str | None, default: str) -> np.ndarray:
    """Numbers of an attribute."""
    return np.array([float(word) for word in (text or default).split()])


def pose(element: Element) -> RigidTransform:
    """`pos` and `quat` of an element of MJCF."""
    quat = numbers(element.get("quat"), "1 0 0 0")
    return RigidTransform(Quaternion(quat / np.linalg.norm(quat)), numbers(element.get("pos"), "0 0 0"))


class DrakeWorld:
    """A scene as a plant; steps of any accuracy start from the scene's start."""

    def __init__(self, scene: dict) -> None:
        self.scene, self.root = scene, ET.fromstring(scene["mjcf"])
        self.builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(self.builder, 0.0)
        self.plant.set_contact_model(ContactModel.kPoint)
        # bodies by whether they have weight: gravity is a property of a model instance
        self.instances = {heavy: self.plant.AddModelInstance(f"heavy {heavy}") for heavy in (False, True)}
        self.plant.set_gravity_enabled(self.instances[False], False)
        self.plant.mutable_gravity_field().set_gravity_vector(
            numbers(self.root.find("option").get("gravity"), "0 0 -9.81")
        )
        for body in self.root.find("worldbody").findall("body"):
            self.add(body, self.plant.world_body())
        self.add_drives()
        self.plant.Finalize()
        self.exclude()
        self.command()
        self.diagram = self.builder.Build()

    def add(self, element: Element, parent: RigidBody) -> None:
        """Adds a body with its joint and shapes, and all below it."""
        heavy = element.get("gravcomp") != "1"
        inertial = element.find("inertial")
        body = self.plant.AddRigidBody(
            element.get("name"), self.instances[heavy], inertia(inertial) if inertial is not None else SpatialInertia.NaN()
        )
        joint = element.find("joint")
        free = element.find("freejoint") is not None or (joint is not None and joint.get("type") == "free")
        if joint is not None and not free:
            kind = {"hinge": RevoluteJoint, "slide": PrismaticJoint}[joint.get("type")]
            low, high = numbers(joint.get("range"), "-inf inf")
            self.plant.AddJoint(
                kind(joint.get("name"), self.on(parent, element), body.body_frame(), numbers(joint.get("axis"), "0 0 1"), low, high)
            )
        elif not free:
            self.plant.AddJoint(WeldJoint(element.get("name"), self.on(parent, element), body.body_frame(), RigidTransform()))
        for geom in element.findall("geom"):
            self.add_shapes(geom, body, free)
        for child in element.findall("body"):
            self.add(child, body)

    def on(self, parent: RigidBody, element: Element):
        """The frame on the parent where a body starts."""
        frame = FixedOffsetFrame(f"{element.get('name')} on its parent", parent.body_frame(), pose(element), self.instances[True])
        return self.plant.AddFrame(frame)

    def add_shapes(self, geom: Element, body: RigidBody, free: bool) -> None:
        """Adds what of a geom collides."""
        size, at, name = numbers(geom.get("size"), "1"), pose(geom), geom.get("name")
        friction = numbers(geom.get("friction"), "1")[0]
        properties = ProximityProperties()
        AddContactMaterial(DISSIPATION, STIFFNESS, CoulombFriction(friction, friction), properties)

        def register(at: RigidTransform, shape, name: str) -> None:
            self.plant.RegisterCollisionGeometry(body, at, shape, name, properties)

        if geom.get("type") == "plane":
            # a half-space and small balls end in a segmentation fault of Drake 1.58: a thick slab
            register(at @ RigidTransform([0, 0, -0.5]), Box(10, 10, 1), name)
        elif geom.get("type") == "sphere":
            register(at, Sphere(size[0]), name)
        elif geom.get("type") == "box" and free:
            register(at, Box(*(2 * (size - INSET))), name)
            for signs in product((-1, 1), repeat=3):
                corner = RigidTransform(np.array(signs) * (size - CORNER))
                register(at @ corner, Sphere(CORNER), f"{name} {signs}")
        elif geom.get("type") == "box":
            register(at, Box(*(2 * size)), name)
        else:
            raise ValueError(f"{name}: no shape of Drake for {geom.get('type')}")

    def add_drives(self) -> None:
        """Adds a spring with damper for each drive: implicit in Drake's step."""
        for drive in self.scene["drives"]:
            joint = self.plant.GetJointByName(drive["joint"])
            actuator = self.plant.AddJointActuator(f"{drive['joint']} drive", joint)
            actuator.set_controller_gains(PdControllerGains(p=drive["stiffness"][0], d=drive["damping"][0]))

    def exclude(self) -> None:
        """Excludes what the scene excludes."""
        manager = self.scene_graph.collision_filter_manager()
        for pair in self.root.findall("contact/exclude"):
            ids = [
                GeometrySet(self.plant.GetCollisionGeometriesForBody(self.plant.GetBodyByName(pair.get(key))))
                for key in ("body1", "body2")
            ]
            manager.Apply(CollisionFilterDeclaration().ExcludeBetween(*ids))

    def command(self) -> None:
        """Connects the commanded positions, and velocities for dampers that resist the error to the command's rate."""
        drives, h = self.scene["drives"], self.scene["commands_every_s"]
        start = [self.scene["start"][self.scene["coordinates"].index(drive["joint"])] for drive in drives]
        commands = np.vstack([start, self.scene["commands"]])
        times = h * np.arange(len(commands))
        rated = np.array([drive["on_command_error"] for drive in drives], dtype=float)
        # the rate of a command, 0 where a damper resists the joint's own velocity
        rates = np.gradient(commands, h, axis=0) * rated
        position = PiecewisePolynomial.FirstOrderHold(times, commands.T)
        rate = PiecewisePolynomial.FirstOrderHold(times, rates.T)
        position.ConcatenateInTime(PiecewisePolynomial.FirstOrderHold([times[-1], times[-1] + 10], commands[[-1, -1]].T))
        rate.ConcatenateInTime(PiecewisePolynomial.FirstOrderHold([times[-1], times[-1] + 10], rates[[-1, -1]].T))
        both = self.builder.AddSystem(Multiplexer([len(drives), len(drives)]))
        for k, trajectory in enumerate((position, rate)):
            source = self.builder.AddSystem(TrajectorySource(trajectory))
            self.builder.Connect(source.get_output_port(), both.get_input_port(k))
        self.builder.Connect(
            both.get_output_port(), self.plant.get_desired_state_input_port(self.instances[False])
        )

    def simulate(self, accuracy: float, every: float) -> dict:
        """Steps by CENIC to an accuracy; everything but stepping is left out of the time."""
        simulator = Simulator(self.diagram)
        config = SimulatorConfig(
            integration_scheme="cenic", accuracy=accuracy, max_step_size=0.1, use_error_control=True
        )
        ApplySimulatorConfig(config, simulator)
        context = self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        places = self.set_start(context)
        simulator.Initialize()
        rows, cpu = [], 0
        for t in every * np.arange(int(round(self.scene["duration_s"] / every)) + 1):
            before = time.process_time_ns()
            simulator.AdvanceTo(t)
            cpu += time.process_time_ns() - before
            rows.append(self.plant.GetPositions(context)[places])
        steps = simulator.get_integrator().get_num_steps_taken()
        return {"cpu_s": 1e-9 * cpu, "steps": steps, "q": [list(row) for row in rows]}

    def set_start(self, context) -> np.ndarray:
        """Sets the scene's start; returns where quasistep's coordinates are among Drake's positions."""
        places = []
        for body in self.scene["bodies"]:
            first, end = body["q"]
            if body["joint"]["type"] == "free":
                at = self.plant.GetBodyByName(body["name"]).floating_positions_start()
                places += range(at, at + 7)
            elif end > first:
                places.append(self.plant.GetJointByName(body["joint_name"]).position_start())
        q = self.plant.GetPositions(context).copy()
        q[places] = self.scene["start"]
        self.plant.SetPositions(context, q)
        return np.array(places)


def inertia(inertial: Element) -> SpatialInertia:
    """A body's inertia about its origin."""
    mass, com = float(inertial.get("mass")), numbers(inertial.get("pos"), "0 0 0")
    full = inertial.get("fullinertia")
    ixx, iyy, izz, ixy, ixz, iyz = numbers(full, "") if full else (*numbers(inertial.get("diaginertia"), ""), 0, 0, 0)
    unit = UnitInertia(*(np.array([ixx, iyy, izz, ixy, ixz, iyz]) / mass))
    return SpatialInertia.MakeFromCentralInertia(mass, com, unit * mass)


def main() -> None:
    """Runs the scene on standard input."""
    scene = json.load(sys.stdin)
    json.dump(DrakeWorld(scene).simulate(scene["accuracy"], scene["rows_every_s"]), sys.stdout)


if __name__ == "__main__":
    main()
