"""A scene of quasistep as a plant of MuJoCo, whose mass and friction are others than those of the scene."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
import quasistep as qs

# s: time in which a drive without a damper of its own follows, in which what moves without weight comes to rest, and what rolls
LAG, REST, ROLL = 0.02, 0.05, 0.5
# s: MuJoCo's step, and the time in which its contacts close
STEP, CONTACT = 0.001, 0.005
# kg: links of less have no mass in their scene; their drives get an armature, by which these are damped critically
MASSLESS = 1e-6
# m: radius of feet
FOOT = 0.001


@cache
def mjcf(scene: Path, changes: tuple[str, ...]) -> str:
    """What `quasistep convert` writes of a scene."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scene.xml"
        convert = [sys.executable, "-m", "quasistep", "convert", scene, "-o", out, "--quiet"]
        subprocess.run([*convert, *(word for change in changes for word in ("--set", change))], check=True, capture_output=True)
        return out.read_text(encoding="utf-8")


def on_feet(spec: mujoco.MjSpec) -> None:
    """Puts bodies of planar joints on three feet and a table, so that slides and turns share the friction of their support."""
    for key in list(spec.keys):
        spec.delete(key)
    for body in spec.bodies:
        if len(body.joints) != 3 or not all(joint.frictionloss > 0 for joint in body.joints):
            continue
        slide, _, turn = (joint.frictionloss for joint in body.joints)
        for joint in body.joints:
            joint.frictionloss = 0
        mu = slide / (body.mass * np.linalg.norm(spec.option.gravity))
        body.add_joint(name=f"{body.name}.z", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
        free = {"contype": 0, "conaffinity": 0}
        table = f"{body.name}/table"
        spec.worldbody.add_geom(name=table, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1], pos=[0, 0, body.pos[2] - FOOT], **free)
        for k in range(3):
            angle = 2 / 3 * np.pi * k
            place = turn / slide * np.array([np.cos(angle), np.sin(angle), 0])
            foot = f"{body.name}/foot_{k}"
            body.add_geom(name=foot, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[FOOT, 0, 0], pos=place, mass=0, **free)
            spec.add_pair(geomname1=foot, geomname2=table, condim=3, friction=[mu, mu, 0, 0, 0])


class MujocoPlant:
    """A scene in MuJoCo, in steps of 1 ms with elliptic cones.

    Masses of the bodies that no drive moves are scaled, and all frictions. Drives are servos whose dampers resist the error to the command's rate.
    What neither friction nor a floor brings to rest would float on for ever: its joints are damped.
    """

    def __init__(self, system: qs.System, scene: Path, changes: tuple[str, ...], q: np.ndarray, u: np.ndarray, mass: float, friction: float) -> None:  # fmt: skip
        spec = mujoco.MjSpec.from_string(mjcf(scene, changes))
        on_feet(spec)
        model = spec.compile()
        model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        model.opt.cone, model.opt.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10
        model.geom_friction[:, 0] *= friction
        model.pair_friction[:, :2] *= friction
        driven = {model.actuator_trnid[k, 0] for k in range(model.nu)}
        moving = [joint for joint in range(model.njnt) if self.moves_freely(model, joint, driven)]
        bodies = sorted({model.jnt_bodyid[joint] for joint in moving})
        model.body_mass[bodies] *= mass
        model.body_inertia[bodies] *= mass
        for solref in (model.geom_solref, model.pair_solref, model.jnt_solref, model.dof_solref):
            solref[:] = CONTACT, 1
        self.places, data = [], mujoco.MjData(model)
        for name in system.coordinates:
            self.places.append(self.place(model, name))
        self.model, self.data = model, data
        self.actuators = [model.actuator(name).id for name in system.commands]
        self.damp(driven)
        mujoco.mj_setConst(model, data)
        data.qpos[self.places] = q
        self.u = u.copy()
        data.ctrl[self.actuators] = u
        mujoco.mj_forward(model, data)

    @staticmethod
    def moves_freely(model: mujoco.MjModel, joint: int, driven: set[int]) -> bool:
        """Whether no joint of the tree of this one is driven."""
        root = model.body_rootid[model.jnt_bodyid[joint]]
        return all(model.body_rootid[model.jnt_bodyid[k]] != root for k in driven)

    @staticmethod
    def place(model: mujoco.MjModel, name: str) -> int:
        """The entry of qpos that a coordinate of quasistep has."""
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if joint >= 0:
            return int(model.jnt_qposadr[joint])
        name, _, part = name.rpartition(".")
        return int(model.jnt_qposadr[model.joint(name).id]) + ("x", "y", "z", "qw", "qx", "qy", "qz").index(part)

    def damp(self, driven: set[int]) -> None:
        """Gives drives dampers, and brings what has no weight to rest."""
        model = self.model
        for k in range(model.nu):
            dof = model.jnt_dofadr[model.actuator_trnid[k, 0]]
            if model.dof_damping[dof] == 0:
                model.dof_damping[dof] = LAG * model.actuator_gainprm[k, 0]
            if model.body_mass[model.dof_bodyid[dof]] < MASSLESS:
                model.dof_armature[dof] = 0.25 * LAG * model.dof_damping[dof]
        dofs = model.jnt_dofadr[model.actuator_trnid[:, 0]]
        # s: dampers over stiffnesses, by actuator
        self.damping = model.dof_damping[dofs] / model.actuator_gainprm[:, 0]
        mujoco.mj_forward(model, self.data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, self.data, mass)
        for joint in range(model.njnt):
            # gravity and the floor bring free bodies to rest, also such that roll, and bodies on feet; friction those joints that have it
            first, free = model.jnt_dofadr[joint], model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
            stands = model.body_jntnum[model.jnt_bodyid[joint]] == 4
            rests = np.any(model.opt.gravity) if free or stands else model.dof_frictionloss[first] > 0
            if self.moves_freely(model, joint, driven) and (free or not rests):
                for dof in range(first, first + (6 if free else 1)):
                    model.dof_damping[dof] += mass[dof, dof] / (ROLL if rests else REST)

    @property
    def q(self) -> np.ndarray:
        """The configuration, in quasistep's order."""
        return self.data.qpos[self.places].copy()

    def advance(self, u: np.ndarray, h: float) -> None:
        """Leads the command to u on a straight line within h."""
        steps = round(h / STEP)
        rate = (u - self.u) / h
        for k in range(steps):
            now = self.u + (k + 1) / steps * (u - self.u)
            self.data.ctrl[self.actuators] = now + self.damping[self.actuators] * rate
            mujoco.mj_step(self.model, self.data)
        self.u = u.copy()
