"""Drake and quasistep read SDFormat files and Drake's model directives, each by itself.

Compared are bodies by name, their masses, centres and inertias, the kinds, axes, limits and
resistance of joints, shapes and their poses on the bodies, and the poses of all bodies at random
configurations. What Drake refuses is no measure of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import date
from importlib import metadata
from pathlib import Path

import numpy as np
import pydrake
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Sphere,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from pydrake.multibody.tree import BodyIndex, JointIndex
from pydrake.systems.framework import DiagramBuilder

from machine import ROOT, example, versions

RESULTS = ROOT / "validation/results/sdf.md"
ENDINGS = (".sdf", ".world", ".dmd.yaml")
# how far apart both may be: m and 1, relative
POSE, MASS = 1e-10, 1e-9
# files that Drake understands otherwise than the format says
OTHERWISE = {
    "arm_with_gripper_merge_include.sdf": "to Drake all links of an included URDF start at one place",
    "particle_with_infinite_inertia.sdf": "libsdformat takes a radius of 0 as 1 m",
}


@dataclass
class Outcome:
    """What became of a file that Drake reads."""

    path: Path
    refused: str = ""
    wrong: list[str] = field(default_factory=list)
    bodies: int = 0


def files_below(folder: Path) -> list[Path]:
    """SDFormat files and directives, in order."""
    return sorted(p for p in folder.rglob("*") if p.name.endswith(ENDINGS) and p.is_file())


def packages_below(folder: Path) -> dict[str, Path]:
    """Packages by the names in their manifests; of two with one name the first."""
    found: dict[str, Path] = {}
    for manifest in sorted(folder.rglob("package.xml")):
        name = re.search(r"<name>\s*(.*?)\s*</name>", manifest.read_text(errors="replace"))
        if name:
            found.setdefault(name.group(1), manifest.parent)
    return found


def plant_of(path: Path, packages: dict[str, Path]) -> tuple[MultibodyPlant, object, object]:
    """Drake's model of a file, with its diagram and scene graph."""
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0)
    parser = Parser(plant)
    known = parser.package_map()
    for name, folder in packages.items():
        if known.Contains(name):
            known.Remove(name)
        known.Add(name, str(folder))
    parser.AddModels(str(path))
    plant.Finalize()
    return plant, builder.Build(), scene_graph


def ours(path: Path, packages: dict[str, Path], configurations: int) -> dict:
    """What quasistep says is in a file."""
    command = [example("quasistep-formats", "describe"), str(configurations), path]
    with tempfile.TemporaryDirectory() as shelf:
        # packages by their names, as a variable of ROS has them
        for name, folder in packages.items():
            (Path(shelf) / name).symlink_to(folder.resolve())
        environment = {**os.environ, "ROS_PACKAGE_PATH": shelf}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        return {"error": f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"}
    return json.loads(done.stdout)


def judge(path: Path, packages: dict[str, Path], configurations: int) -> Outcome | None:
    """Compares a file in a process of its own, which Drake may end; `None` if Drake refuses it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        answer = b""
        try:
            answer = json.dumps(compare(path, packages, configurations)).encode()
        finally:
            with os.fdopen(write, "wb") as out:
                out.write(answer)
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as source:
        answer = source.read()
    os.waitpid(child, 0)
    found = json.loads(answer) if answer else None
    return None if found is None else Outcome(path, **found)


def compare(path: Path, packages: dict[str, Path], configurations: int) -> dict | None:
    """The differences on one file, in words."""
    try:
        plant, diagram, scene_graph = plant_of(path, packages)
    except (RuntimeError, ValueError) as e:
        if os.environ.get("QUASISTEP_SHOW_REFUSED"):
            print(f"  Drake refuses {path}: {str(e).splitlines()[0]}", flush=True)
        return None
    found = ours(path, packages, configurations)
    if "error" in found:
        return {"refused": found["error"]}
    try:
        wrong = Comparison(plant, diagram, scene_graph, found).differences()
    except Exception as e:
        wrong = [f"not comparable: {type(e).__name__} {e}"]
    return {"wrong": wrong, "bodies": plant.num_bodies() - 1}


def transform(pose: dict) -> RigidTransform:
    """Our pose as Drake's."""
    quaternion = np.array(pose["quat"]) / np.linalg.norm(pose["quat"])
    return RigidTransform(Quaternion(quaternion), pose["xyz"])


def far(a: RigidTransform, b: RigidTransform) -> float:
    """The largest difference of two poses, in m and 1."""
    return float(np.abs(a.GetAsMatrix34() - b.GetAsMatrix34()).max())


class Comparison:
    """One file as Drake and as quasistep read it."""

    def __init__(
        self, plant: MultibodyPlant, diagram: object, scene_graph: object, found: dict
    ) -> None:
        self.plant, self.diagram, self.scene_graph, self.found = plant, diagram, scene_graph, found
        self.links = {link["name"]: k for k, link in enumerate(found["links"])}
        self.joints = {joint["name"]: joint for joint in found["joints"]}
        self.root = self.root_prefix()
        self.wrong: list[str] = []

    def root_prefix(self) -> str:
        """The name of the model that is the whole file: quasistep leaves it out."""
        names = {self.plant.GetModelInstanceName(b.model_instance()) for b in self.bodies()}
        if any(f"{name}::{body.name()}" in self.links for body in self.bodies() for name in names):
            whole = [n for n in names if f"{n}::{self.first(n)}" not in self.links]
            return whole[0] if len(whole) == 1 and self.first(whole[0]) in self.links else ""
        tops = {name.split("::")[0] for name in names}
        return tops.pop() if len(tops) == 1 else ""

    def first(self, instance: str) -> str:
        """The first body of an instance."""
        index = self.plant.GetModelInstanceByName(instance)
        return self.plant.get_body(self.plant.GetBodyIndices(index)[0]).name()

    def bodies(self) -> list:
        """All but the world."""
        return [
            self.plant.get_body(i) for i in self.indices() if i != self.plant.world_body().index()
        ]

    def indices(self) -> list:
        return [BodyIndex(k) for k in range(self.plant.num_bodies())]

    def name(self, element: object) -> str:
        """The scoped name of a body or joint."""
        instance = self.plant.GetModelInstanceName(element.model_instance())
        if self.root and (instance == self.root or instance.startswith(f"{self.root}::")):
            instance = instance[len(self.root) + 2 :]
        if instance == "WorldModelInstance":
            instance = ""
        return f"{instance}::{element.name()}" if instance else element.name()

    def say(self, words: str) -> None:
        self.wrong.append(words)

    def differences(self) -> list[str]:
        """What is not the same, a sentence each."""
        matched = {}
        for body in self.bodies():
            k = self.links.get(self.name(body))
            if k is None:
                self.say(f"body {self.name(body)} is missing")
            else:
                matched[body.index()] = k
                self.compare_inertia(body, self.found["links"][k])
        extra = [n for k, n in ((k, n) for n, k in self.links.items()) if k not in matched.values()]
        for name in extra:
            link = self.found["links"][self.links[name]]
            if link["inertial"] or link["collisions"] or link["visuals"]:
                self.say(f"body {name} is not in the file")
        if self.wrong:
            return self.wrong
        for index in self.plant.GetJointIndices():
            self.compare_joint(self.plant.get_joint(JointIndex(index)))
        self.compare_shapes(matched)
        self.compare_poses(matched)
        return self.wrong

    def compare_inertia(self, body: object, link: dict) -> None:
        """Mass, centre and moments about the body's origin."""
        name = self.name(body)
        context = self.plant.CreateDefaultContext()
        theirs = body.CalcSpatialInertiaInBodyFrame(context)
        repaired = any(
            "taken as the nearest" in w and f"`{body.name()}`" in w for w in self.found["warnings"]
        )
        own = link["inertial"]
        if own is None:
            # Drake gives a mass of 0 with moments the mass of a kilogram of water
            told = any("mass 0: taken as frames" in w for w in self.found["warnings"])
            if theirs.get_mass() > 0 and not told:
                self.say(f"body {name}: no mass, Drake's has {theirs.get_mass()}")
            return
        if repaired:
            return
        mass = theirs.get_mass()
        if abs(own["mass"] - mass) > MASS * max(mass, own["mass"]):
            self.say(f"body {name}: mass {own['mass']}, Drake {mass}")
        com = np.array(theirs.get_com())
        if np.abs(com - own["com"]).max() > MASS * max(1.0, np.abs(com).max()):
            self.say(f"body {name}: centre {own['com']}, Drake {com}")
        moments = theirs.Shift(com).CalcRotationalInertia().CopyToFullMatrix3()
        # a moment about the origin has the digits of mass times distance squared
        size = max(np.abs(moments).max(), mass * float(com @ com))
        if np.abs(moments - np.array(own["inertia"])).max() > MASS * size:
            self.say(f"body {name}: inertia {own['inertia']}, Drake {moments.tolist()}")

    def compare_joint(self, joint: object) -> None:
        """Kind, axis, limits, damping."""
        name, kind = self.name(joint), joint.type_name()
        if kind in ("quaternion_floating", "weld"):
            return
        if kind == "universal":
            if not (f"{name}_axis" in self.joints and f"{name}_axis2" in self.joints):
                self.say(f"universal joint {name} is missing")
            return
        own = self.own_joint(joint)
        closed = [c["name"] for c in self.found["constraints"]]
        if own is None:
            if name not in closed:
                self.say(f"joint {name} is missing")
            return
        words = {
            "revolute": ("revolute", "continuous"),
            "prismatic": ("prismatic",),
            "ball_rpy": ("ball",),
            "planar": ("planar",),
        }
        if own["kind"] not in words.get(kind, (kind,)):
            self.say(f"joint {name} is {own['kind']}, Drake's is {kind}")
            return
        if kind in ("revolute", "prismatic"):
            self.compare_limits(joint, own)
            damping = joint.default_damping()
            if abs(own["damping"] - damping) > MASS * max(damping, 1e-12):
                self.say(f"joint {name}: damping {own['damping']}, Drake {damping}")
            self.compare_motor(joint, own)

    def own_joint(self, joint: object) -> dict | None:
        """Our joint. Drake names one that crosses models by the model of its child."""
        exact = self.joints.get(self.name(joint))
        if exact is not None:
            return exact
        ends = {
            self.links.get(self.name(body)) for body in (joint.parent_body(), joint.child_body())
        }
        alike = [
            j
            for j in self.found["joints"]
            if j["name"].split("::")[-1] == joint.name() and ends & {j["parent"], j["child"]}
        ]
        return alike[0] if len(alike) == 1 else None

    def compare_limits(self, joint: object, own: dict) -> None:
        """Ends of travel; one that is 1e16 away is none."""
        theirs = [float(joint.position_lower_limits()[0]), float(joint.position_upper_limits()[0])]
        limits = own["limits"] or [None, None]
        ends = [x if x is not None else s * np.inf for x, s in zip(limits, (-1, 1), strict=True)]
        for mine, end in zip(ends, theirs, strict=True):
            same = (np.isinf(mine) and abs(end) >= 1e16) or abs(mine - end) <= MASS * max(
                1, abs(end)
            )
            if not same:
                self.say(f"joint {self.name(joint)}: limits {ends}, Drake {theirs}")
                return

    def compare_motor(self, joint: object, own: dict) -> None:
        """The effort limit, and the inertia of the rotor at the joint."""
        if not self.plant.HasJointActuatorNamed(joint.name(), joint.model_instance()):
            return
        motor = self.plant.GetJointActuatorByName(joint.name(), joint.model_instance())
        theirs = motor.default_rotor_inertia() * motor.default_gear_ratio() ** 2
        if abs(own["armature"] - theirs) > MASS * max(theirs, 1e-12):
            self.say(f"joint {self.name(joint)}: armature {own['armature']}, Drake {theirs}")
        effort = motor.effort_limit()
        mine = own["effort"] if own["effort"] is not None else np.inf
        if mine != effort and abs(mine - effort) > MASS * effort:
            self.say(f"joint {self.name(joint)}: effort {mine}, Drake {effort}")

    def compare_shapes(self, matched: dict) -> None:
        """Collision shapes by body, each with the nearest of its kind and size."""
        inspector = self.scene_graph.model_inspector()
        for index, k in matched.items():
            body = self.plant.get_body(index)
            theirs = []
            for geometry in self.plant.GetCollisionGeometriesForBody(body):
                shape = inspector.GetShape(geometry)
                kind, size = described(shape)
                # ours leaves shapes without extent out
                if not size or min(map(abs, size)) > 0:
                    theirs.append((kind, size, inspector.GetPoseInFrame(geometry)))
            own = [
                (*of_ours(part["geometry"]), transform(part["pose"]))
                for part in self.found["links"][k]["collisions"]
            ]
            if len(own) != len(theirs):
                self.say(f"body {self.name(body)}: {len(own)} shapes, Drake {len(theirs)}")
                continue
            for kind, size, pose in theirs:
                same = [
                    o
                    for o in own
                    if o[0] == kind
                    and np.allclose(o[1], size, rtol=MASS, atol=0)
                    and near(kind, o[2], pose)
                ]
                if not same:
                    self.say(f"body {self.name(body)}: no {kind} of {size} at Drake's pose")
                    break
                own.remove(same[0])

    def compare_poses(self, matched: dict) -> None:
        """Poses of all bodies: as the file says, and at random configurations."""
        context = self.diagram.CreateDefaultContext()
        own = self.plant.GetMyMutableContextFromRoot(context)
        for count, configuration in enumerate(self.found["configurations"]):
            if not self.set_positions(own, configuration):
                return
            worst, where = 0.0, ""
            for index, k in matched.items():
                body = self.plant.get_body(index)
                off = far(
                    self.plant.EvalBodyPoseInWorld(own, body), transform(configuration["poses"][k])
                )
                if off > worst:
                    worst, where = off, self.name(body)
            if worst > POSE:
                self.say(f"body {where} is off by {worst:.1e} at configuration {count}")
                return

    def put(self, context: object, joint: object, values: object) -> None:
        """Sets the coordinates of one joint."""
        q = self.plant.GetPositions(context)
        start = joint.position_start()
        q[start : start + joint.num_positions()] = values
        self.plant.SetPositions(context, q)

    def set_positions(self, context: object, configuration: dict) -> bool:
        """Our coordinates in Drake's order; false if a loop or a follower has none to compare."""
        names = (joint["name"] for joint in self.found["joints"])
        values = dict(zip(names, configuration["coordinates"], strict=True))
        links = self.found["links"]
        # free bodies by the link that moves
        free = {links[j["child"]]["name"]: j for j in self.found["joints"] if j["kind"] == "free"}
        for index in self.plant.GetJointIndices():
            joint = self.plant.get_joint(JointIndex(index))
            name, kind = self.name(joint), joint.type_name()
            if joint.num_positions() == 0:
                continue
            if kind == "quaternion_floating":
                child = self.name(joint.child_body())
                k = self.links[child]
                pose = transform(configuration["poses"][k])
                parent = joint.parent_body()
                if parent.index() == self.plant.world_body().index():
                    self.plant.SetFreeBodyPose(context, joint.child_body(), pose)
                elif child in free:
                    self.put(context, joint, values[free[child]["name"]])
                else:
                    self.say(f"free body {child} hangs on another joint")
                    return False
            elif kind == "universal":
                self.put(context, joint, [values[f"{name}_axis"][0], values[f"{name}_axis2"][0]])
            elif kind == "ball_rpy":
                own = values[self.own_joint(joint)["name"]]
                quaternion = Quaternion(np.array(own) / np.linalg.norm(own))
                self.put(context, joint, RotationMatrix(quaternion).ToRollPitchYaw().vector())
            elif (mine := self.own_joint(joint)) is not None:
                self.put(context, joint, values[mine["name"]])
            else:
                return False
        return True


def described(shape: object) -> tuple[str, list[float]]:
    """Kind and lengths of Drake's shape."""
    if isinstance(shape, Box):
        return "box", [shape.width() / 2, shape.depth() / 2, shape.height() / 2]
    if isinstance(shape, Sphere):
        return "sphere", [shape.radius()]
    if isinstance(shape, Cylinder):
        return "cylinder", [shape.radius(), shape.length() / 2]
    if isinstance(shape, Capsule):
        return "capsule", [shape.radius(), shape.length() / 2]
    if isinstance(shape, Ellipsoid):
        return "ellipsoid", [shape.a(), shape.b(), shape.c()]
    if isinstance(shape, HalfSpace):
        return "half_space", []
    if isinstance(shape, Mesh | Convex):
        return "mesh", list(np.ravel(shape.scale3()))
    return type(shape).__name__, []


def of_ours(geometry: dict) -> tuple[str, list[float]]:
    """Kind and lengths of our shape."""
    lengths = {
        "box": lambda g: g["half"],
        "sphere": lambda g: [g["radius"]],
        "cylinder": lambda g: [g["radius"], g["half_length"]],
        "capsule": lambda g: [g["radius"], g["half_length"]],
        "ellipsoid": lambda g: g["radii"],
        "mesh": lambda g: g["scale"],
    }
    kind = geometry["type"]
    return kind, list(lengths[kind](geometry)) if kind in lengths else []


def near(kind: str, a: RigidTransform, b: RigidTransform) -> bool:
    """Are two poses of a shape the same? A half-space may turn and slide in its plane."""
    if kind != "half_space":
        return far(a, b) <= POSE
    normal = a.rotation().matrix()[:, 2]
    height = float(normal @ (a.translation() - b.translation()))
    return abs(height) <= POSE and bool(np.abs(normal - b.rotation().matrix()[:, 2]).max() <= POSE)


def main() -> int:
    """Prints and writes a table of collections, and what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folders", nargs="*", type=Path, help="collections; default: the models in Drake's wheel"
    )
    parser.add_argument("--configurations", type=int, default=3, help="of each file, random")
    parser.add_argument("--write", action="store_true", help="write validation/results/sdf.md")
    arguments = parser.parse_args()
    folders = arguments.folders or [Path(pydrake.__file__).parent / "share/drake"]
    lines = [
        "| collection | Drake reads | read | refused | otherwise | wrong |",
        "|---|---|---|---|---|---|",
    ]
    notes: list[str] = []
    n_wrong = 0
    packages: dict[str, Path] = {}
    for folder in folders:
        for name, place in packages_below(folder).items():
            packages.setdefault(name, place)
    print(*lines, sep="\n")
    for folder in folders:
        known = {**packages, **packages_below(folder)}
        outcomes = [judge(path, known, arguments.configurations) for path in files_below(folder)]
        read = [o for o in outcomes if o is not None]
        refused = [o for o in read if o.refused]
        otherwise = [o for o in read if o.wrong and o.path.name in OTHERWISE]
        wrong = [o for o in read if o.wrong and o not in otherwise]
        n_wrong += len(wrong)
        counts = [len(read), len(read) - len(refused), *map(len, (refused, otherwise, wrong))]
        lines.append(f"| {folder.name} | {' | '.join(map(str, counts))} |")
        print(lines[-1], flush=True)

        def told(kind: str, outcome: Outcome, why: str, folder: Path = folder) -> str:
            own = why.replace(f"{folder}{os.sep}", "")
            return f"- {kind}: {folder.name}/{outcome.path.relative_to(folder)}: {own}"

        notes += [told("refused", o, o.refused.splitlines()[0]) for o in refused]
        notes += [told("otherwise", o, OTHERWISE[o.path.name]) for o in otherwise]
        notes += [told("wrong", o, words) for o in wrong for words in o.wrong[:3]]
    print("", *notes, sep="\n")
    if arguments.write:
        head = [
            "# SDFormat and Drake's model directives, read by Drake and by quasistep",
            "",
            f"{date.today()}, {versions()}, Drake {metadata.version('drake')}: "
            "`validation/run formats --sdf --write FOLDER...`",
            "",
        ]
        text = "\n".join([*head, *lines, "", *notes, ""])
        RESULTS.write_text(text, encoding="utf-8")
    return min(n_wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
