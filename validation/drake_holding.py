"""The gripper of scenes/four_bar_gripper.yml and its box as a plant of Drake.

Drake reads the same URDF. Its loops are ball constraints, which SAP and its kin take, and its fingers are coupled by a coupler
constraint. Pads, box and table are hydroelastic: a pair of boxes has a single contact point in Drake otherwise.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    HalfSpace,
    ProximityProperties,
    RoleAssign,
)
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import PdControllerGains, PrismaticJoint, SpatialInertia
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import TrajectorySource
from pydrake.trajectories import PiecewisePolynomial

# Pa and m: rubber, and the size of the mesh of its pressure (a box needs one only where it is rigid)
MODULUS, RESOLUTION = 1e7, 0.02
# s/m, of Hunt and Crossley
DISSIPATION = 1.0
FRICTION, TABLE_FRICTION = 0.6, 0.5
# N m/rad, N m s/rad and N m: the motor of the fingers
DRIVER, EFFORT = (50.0, 0.5), 1.2
OPEN = 0.7


class HeldByDrake:
    """The plant, at its start; `h` is the step of a discrete solver, `accuracy` that of CENIC."""

    def __init__(self, urdf: Path, mass: float, wrist: tuple[float, float], commands, end: float, *,
                 h: float = 0.0, solver: str = "lagged", stiction: float = 1e-4, accuracy: float | None = None) -> None:  # fmt: skip
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=h, contact_model="hydroelastic", discrete_contact_approximation=solver, stiction_tolerance=stiction)
        self.plant, scene_graph = AddMultibodyPlant(config, builder)
        plant = self.plant
        (gripper,) = Parser(plant).AddModels(str(urdf))
        plant.set_gravity_enabled(gripper, False)
        body = plant.GetBodyByName
        lift = plant.AddJoint(PrismaticJoint("lift", plant.world_frame(), body("palm").body_frame(), [0, 0, 1]))
        plant.AddJointActuator("lift", lift).set_controller_gains(PdControllerGains(p=wrist[0], d=wrist[1]))
        driver = plant.GetJointByName("right_driver")
        plant.AddJointActuator("driver", driver, EFFORT).set_controller_gains(PdControllerGains(p=DRIVER[0], d=DRIVER[1]))
        for side, way in (("right", 1), ("left", -1)):
            plant.AddBallConstraint(body(f"{side}_follower"), [0, 0, -0.06], body(f"{side}_pad"), [way * 0.02, 0, 0.012])
        plant.AddCouplerConstraint(driver, plant.GetJointByName("left_driver"), 1.0)

        self.box = plant.AddRigidBody("box", plant.AddModelInstance("box"), SpatialInertia.SolidBoxWithMass(mass, 0.05, 0.05, 0.05))
        soft = material(FRICTION)
        plant.RegisterCollisionGeometry(self.box, RigidTransform(), Box(0.05, 0.05, 0.05), "box", soft)
        plant.RegisterCollisionGeometry(
            plant.world_body(), RigidTransform(), HalfSpace(), "table", material(TABLE_FRICTION, rigid=True)
        )
        for side in ("right", "left"):
            for geometry in plant.GetCollisionGeometriesForBody(body(f"{side}_pad")):
                scene_graph.AssignRole(plant.get_source_id(), geometry, material(FRICTION), RoleAssign.kReplace)
        plant.Finalize()
        # every 5 ms until nothing moves any more
        times = np.append(np.arange(0, 3, 0.005), end)
        source = builder.AddSystem(
            TrajectorySource(PiecewisePolynomial.FirstOrderHold(times, np.array([commands(t) for t in times]).T), 1)
        )
        builder.Connect(source.get_output_port(), plant.get_desired_state_input_port(gripper))
        self.diagram = builder.Build()
        self.simulator = Simulator(self.diagram)
        if accuracy is not None:
            ApplySimulatorConfig(
                SimulatorConfig(integration_scheme="cenic", accuracy=accuracy, max_step_size=0.1, use_error_control=True),
                self.simulator,
            )
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        lift.set_translation(self.context, commands(0)[0])
        for joint in ("driver", "follower", "pad"):
            for side in ("right", "left"):
                plant.GetJointByName(f"{side}_{joint}").set_angle(self.context, OPEN)
        plant.SetFreeBodyPose(self.context, self.box, RigidTransform([0, 0, 0.025]))
        self.simulator.Initialize()

    def advance(self, t: float) -> None:
        self.simulator.AdvanceTo(t)

    def steps(self) -> int:
        """Steps of CENIC."""
        return self.simulator.get_integrator().get_num_steps_taken()

    def pose(self) -> np.ndarray:
        """The box in the frame of the palm, which does not turn: w, x, y, z, then m."""
        box, palm = (self.plant.EvalBodyPoseInWorld(self.context, body) for body in (self.box, self.plant.GetBodyByName("palm")))
        return np.concatenate([box.rotation().ToQuaternion().wxyz(), box.translation() - palm.translation()])

    def grip(self) -> float:
        """Normal force of the right pad on the box, which presses along x."""
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        pad = self.plant.GetCollisionGeometriesForBody(self.plant.GetBodyByName("right_pad"))
        infos = [results.hydroelastic_contact_info(k) for k in range(results.num_hydroelastic_contacts())]
        mine = [i for i in infos if {i.contact_surface().id_M(), i.contact_surface().id_N()} & set(pad)]
        return sum(abs(float(i.F_Ac_W().translational()[0])) for i in mine)


def material(friction: float, *, rigid: bool = False) -> ProximityProperties:
    """What a shape is of."""
    properties = ProximityProperties()
    AddContactMaterial(DISSIPATION, None, CoulombFriction(friction, friction), properties)
    if rigid:
        AddRigidHydroelasticProperties(RESOLUTION, properties)
    else:
        AddCompliantHydroelasticProperties(RESOLUTION, MODULUS, properties)
    return properties
