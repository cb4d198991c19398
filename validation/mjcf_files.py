"""MuJoCo and quasistep on the MJCF files of public packages: bodies, joints, geoms, drives, poses.

Each reads the file by itself. MuJoCo's compiler is told to keep bodies that are welded to their
parents, and the frames of free bodies where the file puts them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import mujoco
import numpy as np
from machine import ROOT, cpu_model, example, versions

RESULTS = ROOT / "validation/results/mjcf.md"
PACKAGES = [
    "mujoco",
    "dm_control",
    "gymnasium_robotics",
    "robosuite",
    "metaworld",
    "robosuite_models",
]
CONFIGURATIONS = 3
# how far apart both may be: relative to the largest entry, m and 1, m and 1
INERTIA, FRAME, POSE = 1e-9, 1e-9, 1e-10
# MuJoCo's principal axes of a mesh: its Jacobi iteration (`mjuu_eig3`) ends at turns of cosine
# 1 - 1e-12, 1.4e-6 rad each
AXES = 5e-6
WORDS = {
    int(mujoco.mjtGeom.mjGEOM_PLANE): "half_space",
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "capsule",
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): "ellipsoid",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_BOX): "box",
    int(mujoco.mjtGeom.mjGEOM_MESH): "mesh",
}
SINGLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
FREE = int(mujoco.mjtJoint.mjJNT_FREE)
TO_JOINTS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
TENDON = int(mujoco.mjtTrn.mjTRN_TENDON)
WRAPS_JOINT = int(mujoco.mjtWrap.mjWRAP_JOINT)
KINDS = {
    int(mujoco.mjtJoint.mjJNT_FREE): ("free",),
    int(mujoco.mjtJoint.mjJNT_BALL): ("ball",),
    int(mujoco.mjtJoint.mjJNT_SLIDE): ("prismatic",),
    int(mujoco.mjtJoint.mjJNT_HINGE): ("revolute", "continuous"),
}


class Differs(Exception):
    """Both read a file, differently."""


def matrix(quat: list[float]) -> np.ndarray:
    """The rotation matrix of a quaternion w x y z."""
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.array(quat, float) / np.linalg.norm(quat))
    return out.reshape(3, 3)


@dataclass
class Frame:
    """A rotation and a place."""

    R: np.ndarray
    p: np.ndarray

    @staticmethod
    def of(quat: list[float], xyz: list[float]) -> Frame:
        return Frame(matrix(quat), np.array(xyz, float))

    def __mul__(self, other: Frame) -> Frame:
        return Frame(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Frame:
        return Frame(self.R.T, -self.R.T @ self.p)

    def distance(self, other: Frame) -> float:
        return max(np.abs(self.R - other.R).max(), np.abs(self.p - other.p).max())


def told(pose: dict) -> Frame:
    return Frame.of(pose["quat"], pose["xyz"])


def near(what: str, ours: object, theirs: object, tolerance: float) -> None:
    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    off = np.abs(a - b).max(initial=0.0) / max(1.0, np.abs(b).max(initial=0.0))
    if a.shape != b.shape or not off <= tolerance:
        raise Differs(f"{what}: {ours} is not {theirs}")


def first(values: np.ndarray, n: int) -> np.ndarray:
    """The first of the coefficients of each of `n` springs or dampers."""
    return values.reshape(n, -1)[:, 0].copy() if n else np.zeros(0)


def compile_file(path: Path) -> tuple[mujoco.MjModel, mujoco.MjSpec]:
    """MuJoCo's model with all bodies of the file, in the frames that the file gives them."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    spec.compiler.alignfree = False
    spec.compiler.discardvisual = False
    for joint in spec.joints:
        joint.align = mujoco.mjtAlignFree.mjALIGNFREE_FALSE
    return spec.compile(), spec


def unreadable(model: mujoco.MjModel) -> str | None:
    """What of a model is no rigid body or joint, and acts."""
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    fields = (int(mujoco.mjtGeom.mjGEOM_HFIELD), int(mujoco.mjtGeom.mjGEOM_SDF))
    if model.nflex:
        return "a body that bends"
    if (collides & np.isin(model.geom_type, fields)).any():
        return "a height field or distance field"
    if model.nplugin:
        return "a plugin"
    for k in range(model.ntendon):
        spatial = model.wrap_type[model.tendon_adr[k]] != WRAPS_JOINT
        acts = model.tendon_limited[k] or model.tendon_frictionloss[k] > 0
        acts = (
            acts
            or model.tendon_armature[k] > 0
            or model.tendon_stiffness[k].max() > 0
            or model.tendon_damping[k].max() > 0
        )
        if spatial and acts:
            return "a spatial tendon that acts"
    for k in range(model.neq):
        polynomial = model.eq_type[k] in (
            int(mujoco.mjtEq.mjEQ_JOINT),
            int(mujoco.mjtEq.mjEQ_TENDON),
        )
        if model.eq_active0[k] and polynomial and np.abs(model.eq_data[k, 2:5]).max() > 0:
            return "a polynomial of joints"
    return None


class Both:
    """A file as both read it."""

    def __init__(self, model: mujoco.MjModel, spec: mujoco.MjSpec, ours: dict) -> None:
        self.m, self.spec, self.ours = model, spec, ours
        # geoms that stand in for a mesh: their axes are the mesh's
        self.fitted = {
            g.id for g in spec.geoms if g.meshname and g.type != mujoco.mjtGeom.mjGEOM_MESH
        }
        index = {link["name"]: k for k, link in enumerate(ours["links"])}
        names = [model.body(k).name or f"body_{k}" for k in range(model.nbody)]
        lost = [name for name in names[1:] if name not in index]
        if lost:
            raise Differs(f"no links {lost}")
        self.link = [index.get(name) for name in names]
        # slides that stand for tendons
        self.tendons = {
            c["terms"][-1][0]
            for c in ours["constraints"]
            if c["type"] == "coupling" and ours["joints"][c["terms"][-1][0]]["name"] == c["name"]
        }
        self.joints = [
            k
            for k, joint in enumerate(ours["joints"])
            if joint["kind"] != "fixed" and k not in self.tendons
        ]
        if len(self.joints) != model.njnt:
            raise Differs(f"{len(self.joints)} joints, not {model.njnt}")

    def bodies(self) -> None:
        m = self.m
        for k in range(1, m.nbody):
            link = self.ours["links"][self.link[k]]
            own = link["inertial"] or {"mass": 0, "com": [0, 0, 0], "inertia": np.zeros((3, 3))}
            own_geoms = range(m.body_geomadr[k], m.body_geomadr[k] + m.body_geomnum[k])
            fitted = not self.fitted.isdisjoint(own_geoms)
            tolerance = AXES if fitted else INERTIA
            unit = max(m.body_mass[k], 1e-12)
            near(f"mass of {link['name']}", own["mass"] / unit, m.body_mass[k] / unit, tolerance)
            R = matrix(m.body_iquat[k])
            theirs = R @ np.diag(m.body_inertia[k]) @ R.T
            if m.body_mass[k] > 0:
                near(f"centre of {link['name']}", own["com"], m.body_ipos[k], tolerance)
                scale = max(theirs.max(), 1e-300)
                here, there = np.array(own["inertia"]) / scale, theirs / scale
                of_meshes = (m.geom_dataid[m.geom_bodyid == k] >= 0).any() or fitted
                near(f"inertia of {link['name']}", here, there, AXES if of_meshes else INERTIA)
                near(
                    f"sum of moments of {link['name']}", np.trace(here), np.trace(there), tolerance
                )
            if link["weightless"] != (m.body_gravcomp[k] == 1):
                raise Differs(f"gravity of {link['name']}")

    def joint_facts(self) -> None:
        m = self.m
        stiffness, damping = first(m.jnt_stiffness, m.njnt), np.zeros(m.njnt)
        passive = first(m.dof_damping, m.nv)
        armature = m.dof_armature.copy()
        driven = np.zeros(m.njnt, bool)
        for k in range(len(m.actuator_trntype)):
            if m.actuator_trntype[k] not in TO_JOINTS:
                continue
            j = m.actuator_trnid[k, 0]
            fixed = m.actuator_gaintype[k] == int(mujoco.mjtGain.mjGAIN_FIXED)
            affine = m.actuator_biastype[k] == int(mujoco.mjtBias.mjBIAS_AFFINE)
            _, slope, speed = m.actuator_biasprm[k, :3]
            square = m.actuator_gear[k, 0] ** 2
            if m.jnt_type[j] not in SINGLE or not (fixed and affine) or square == 0 or slope > 0:
                continue
            if slope < 0:
                driven[j] = True
                stiffness[j] -= slope * square
                damping[j] -= min(speed, 0) * square
            elif speed < 0:
                passive[m.jnt_dofadr[j]] -= speed * square
        for k, index in enumerate(self.joints):
            joint, dof = self.ours["joints"][index], m.jnt_dofadr[k]
            name = joint["name"]
            if joint["kind"] not in KINDS[int(m.jnt_type[k])] or m.jnt(k).name not in ("", name):
                raise Differs(f"joint {name} is {joint['kind']}")
            near(f"friction of {name}", joint["friction"], m.dof_frictionloss[dof], INERTIA)
            near(f"armature of {name}", joint["armature"], armature[dof], INERTIA)
            if m.jnt_type[k] not in SINGLE:
                near(f"damping of {name}", joint["damping"], passive[dof], INERTIA)
                continue
            near(f"axis of {name}", joint["axis"], m.jnt_axis[k], FRAME)
            limits = self.limits(k)
            if (joint["limits"] is None) != (limits is None):
                raise Differs(f"limits of {name}: {joint['limits']}, {limits}")
            if limits is not None:
                near(f"limits of {name}", joint["limits"], limits, FRAME)
            drive = joint["drive"] or {"stiffness": 0, "damping": 0}
            near(f"stiffness of {name}", drive["stiffness"], stiffness[k], INERTIA)
            near(
                f"damping of the drive of {name}", drive["damping"] * driven[k], damping[k], INERTIA
            )
            near(f"damping of {name}", joint["damping"], passive[dof], INERTIA)

    def limits(self, joint: int) -> list[float] | None:
        """The range of a joint, also by tendons that it has for itself and that do nothing else."""
        m = self.m
        ends = [np.array([-np.inf, np.inf])]
        if m.jnt_limited[joint]:
            ends.append(m.jnt_range[joint])
        driven = {
            int(m.actuator_trnid[k, 0])
            for k in range(len(m.actuator_trntype))
            if m.actuator_trntype[k] == TENDON
        }
        for k in range(m.ntendon):
            at = m.tendon_adr[k]
            alone = (
                m.tendon_num[k] == 1
                and m.wrap_type[at] == WRAPS_JOINT
                and m.wrap_objid[at] == joint
            )
            if (
                alone
                and m.tendon_limited[k]
                and m.wrap_prm[at]
                and k not in driven
                and not first(m.tendon_stiffness, m.ntendon)[k]
            ):
                ends.append(np.sort(m.tendon_range[k] / m.wrap_prm[at]))
        low, high = max(e[0] for e in ends), min(e[1] for e in ends)
        return None if low == -np.inf and high == np.inf else [low, high]

    def geoms(self) -> None:
        m = self.m
        paired = set(m.pair_geom1.tolist()) | set(m.pair_geom2.tolist())
        off = m.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        for body in range(m.nbody):
            own = range(m.body_geomadr[body], m.body_geomadr[body] + m.body_geomnum[body])
            touching = [g for g in own if m.geom_contype[g] or m.geom_conaffinity[g] or g in paired]
            touching = [] if off else touching
            shown = [g for g in own if m.geom_group[g] <= 2 and int(m.geom_type[g]) in WORDS]
            if self.link[body] is None:
                continue
            link = self.ours["links"][self.link[body]]
            for kind, theirs in (("collisions", touching), ("visuals", shown)):
                parts = link[kind]
                if kind == "visuals":
                    # colours without opacity are not drawn
                    theirs = [g for g in theirs if self.opacity(g) > 0]
                if len(parts) != len(theirs):
                    raise Differs(f"{kind} of {link['name']}: {len(parts)}, not {len(theirs)}")
                for part, geom in zip(parts, theirs, strict=True):
                    self.geom(link["name"], part, geom)

    def opacity(self, geom: int) -> float:
        material = self.m.geom_matid[geom]
        grey = np.allclose(self.m.geom_rgba[geom], [0.5, 0.5, 0.5, 1], atol=1e-6)
        return self.m.mat_rgba[material, 3] if material >= 0 and grey else self.m.geom_rgba[geom, 3]

    def geom(self, link: str, part: dict, geom: int) -> None:
        m = self.m
        what = f"geom {m.geom(geom).name or geom} of {link}"
        shape, size = part["geometry"], m.geom_size[geom]
        word = WORDS[int(m.geom_type[geom])]
        if shape["type"] != word and not (word == "mesh" and shape["type"] == "points"):
            raise Differs(f"{what} is {shape['type']}, not {word}")
        X = Frame.of(m.geom_quat[geom], m.geom_pos[geom])
        ours = told(part["pose"])
        if word == "mesh":
            mesh = m.geom_dataid[geom]
            asset = X * Frame.of(m.mesh_quat[mesh], m.mesh_pos[mesh]).inverse()
            given = self.spec.mesh(m.mesh(mesh).name)
            reference = Frame.of(given.refquat, given.refpos)
            if shape["type"] == "mesh":
                near(f"scale of {what}", shape["scale"], given.scale, FRAME)
                back = reference.R.T
                asset = asset * Frame(back, np.array(given.scale) * (back @ -reference.p))
            if ours.distance(asset) > FRAME:
                raise Differs(f"pose of {what}: {ours} is not {asset}")
        else:
            sizes = {
                "half_space": lambda: ([], 0),
                "sphere": lambda: ([shape["radius"]], 1),
                "capsule": lambda: ([shape["radius"], shape["half_length"]], 2),
                "cylinder": lambda: ([shape["radius"], shape["half_length"]], 2),
                "ellipsoid": lambda: (shape["radii"], 3),
                "box": lambda: (shape["half"], 3),
            }
            seen, n = sizes[word]()
            tolerance = AXES if geom in self.fitted else FRAME
            near(f"size of {what}", seen, size[:n], tolerance)
            near(f"place of {what}", ours.p, X.p, tolerance)
            # what tells one orientation of the shape from another
            spread = {
                "half_space": None,
                "sphere": [1, 1, 1],
                "capsule": [1, 1, 2],
                "cylinder": [1, 1, 2],
            }
            weights = spread.get(word, size)
            if weights is None:
                near(f"normal of {what}", ours.R[:, 2], X.R[:, 2], FRAME)
            else:
                tensors = [F.R @ np.diag(np.square(weights)) @ F.R.T for F in (ours, X)]
                near(f"turn of {what}", *tensors, tolerance)
        slide, spin, roll = m.geom_friction[geom]
        condim = m.geom_condim[geom]
        wanted = [
            0 if condim == 1 else slide,
            spin if condim > 3 else None,
            roll if condim == 6 else None,
        ]
        if part["friction"] != wanted:
            raise Differs(f"friction of {what}: {part['friction']}, not {wanted}")
        if part["masks"] != [
            int(m.geom_contype[geom]) & 0xFFFFFFFF,
            int(m.geom_conaffinity[geom]) & 0xFFFFFFFF,
        ]:
            raise Differs(f"masks of {what}: {part['masks']}")

    def configuration(self, ours: dict) -> None:
        """Poses, contacts and equalities at one configuration."""
        m, d = self.m, mujoco.MjData(self.m)
        for k, index in enumerate(self.joints):
            q, at = ours["coordinates"][index], m.jnt_qposadr[k]
            if m.jnt_type[k] == FREE:
                origin = self.ours["joints"][index]["origin"]
                frame = told(origin) * Frame.of(q[:4], q[4:])
                d.qpos[at : at + 3] = frame.p
                mujoco.mju_mat2Quat(d.qpos[at + 3 : at + 7], frame.R.flatten())
            else:
                d.qpos[at : at + len(q)] = q
        mujoco.mj_forward(m, d)
        frames = [told(pose) for pose in ours["poses"]]
        for k in range(1, m.nbody):
            theirs = Frame.of(d.xquat[k], d.xpos[k])
            size = max(1.0, np.abs(theirs.p).max())
            if not frames[self.link[k]].distance(theirs) <= POSE * size:
                raise Differs(
                    f"pose of {m.body(k).name}: off by {frames[self.link[k]].distance(theirs):.1e}"
                )
        self.contacts(d)
        self.equalities(d, frames, ours["coordinates"])

    def contacts(self, d: mujoco.MjData) -> None:
        """Whatever touches there may touch here."""
        m = self.m
        never = {frozenset(pair) for pair in self.ours["never_touch"]}
        for contact in d.contact:
            a, b = (int(m.geom_bodyid[g]) for g in contact.geom)
            if frozenset((self.link[a], self.link[b])) in never:
                raise Differs(f"{m.body(a).name} and {m.body(b).name} never touch here")

    def equalities(self, d: mujoco.MjData, frames: list[Frame], coordinates: list) -> None:
        m = self.m
        active = [k for k in range(m.neq) if m.eq_active0[k]]
        own = [c for k, c in enumerate(self.ours["constraints"]) if k not in self.ours["inactive"]]
        own = [c for c in own if not self.is_tendon(c)]
        if len(own) != len(active):
            raise Differs(f"{len(own)} equalities, not {len(active)}")
        for k, equality in zip(active, own, strict=True):
            rows = (d.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)) & (d.efc_id == k)
            theirs = d.efc_pos[rows]
            if not len(theirs):
                # constraints are off, or rows without effect are left out
                continue
            what = f"equality {equality['name']}"
            if equality["type"] == "coupling":
                terms = equality["terms"]
                value = sum(c * coordinates[j][0] for j, c in terms) - equality["offset"]
                near(what, value, theirs[0], FRAME)
                continue
            world = Frame(np.eye(3), np.zeros(3))
            at = [world if link is None else frames[link] for link in equality["links"]]
            if equality["type"] == "connect":
                theirs = theirs[:3]
                ends = [
                    F.R @ np.array(p) + F.p for F, p in zip(at, equality["points"], strict=True)
                ]
            else:
                both = [F * told(pose) for F, pose in zip(at, equality["poses"], strict=True)]
                ends = [F.p for F in both]
                turned = np.linalg.norm(theirs[3:]) > FRAME
                if turned != (np.abs(both[0].R - both[1].R).max() > FRAME):
                    raise Differs(f"turn of {what}")
            near(what, np.linalg.norm(ends[0] - ends[1]), np.linalg.norm(theirs[:3]), FRAME)

    def is_tendon(self, constraint: dict) -> bool:
        """Is it the tie of a tendon to its joints?"""
        if constraint["type"] != "coupling":
            return False
        return constraint["terms"][-1][0] in self.tendons

    def compare(self) -> None:
        self.bodies()
        self.joint_facts()
        self.geoms()
        for configuration in self.ours["configurations"]:
            self.configuration(configuration)


@dataclass
class Collection:
    """What became of the files of a package."""

    name: str
    files: int = 0
    compiled: int = 0
    rigid: int = 0
    read: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    others: Counter = field(default_factory=Counter)
    wrong: list[tuple[str, str]] = field(default_factory=list)


def is_mjcf(path: Path) -> bool:
    try:
        return ET.parse(path).getroot().tag == "mujoco"
    except (ET.ParseError, OSError):
        return False


def judge(name: str, folder: Path, describe: Path, verbose: bool) -> Collection:
    """Reads every MJCF file in a folder."""
    found = Collection(name)
    for path in sorted(folder.rglob("*.xml")):
        if not is_mjcf(path):
            continue
        found.files += 1
        try:
            model, spec = compile_file(path)
        except ValueError:
            continue
        found.compiled += 1
        shown = str(path.relative_to(folder))
        reason = unreadable(model)
        found.rigid += reason is None
        try:
            command = [describe, str(CONFIGURATIONS), str(path)]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
            ours = (
                json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}
            )
            if "error" not in ours:
                Both(model, spec, ours).compare()
        except subprocess.TimeoutExpired:
            ours = {"error": "took more than 120 s"}
        except Differs as e:
            found.wrong.append((shown, str(e)))
            continue
        if "error" not in ours:
            found.read += reason is None
            if reason:
                found.others["read all the same"] += 1
        elif reason:
            found.others[reason] += 1
        else:
            found.refused.append((shown, ours["error"].replace(str(folder) + "/", "")))
        if verbose:
            print(shown, ours.get("error", ours.get("warnings")), file=sys.stderr)
    return found


def table(collections: list[Collection], packages: list[str]) -> str:
    known = ", ".join(f"{name} {version(name.replace('_', '-'))}" for name in packages)
    lines = [
        f"# MJCF files that MuJoCo {mujoco.__version__} compiles, read by quasistep",
        "",
        f"`validation/run formats --mjcf`, {date.today()}, {cpu_model()}, {versions()}; {known}.",
        "",
        "| collection | files | compiled | rigid | read | refused | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    for c in collections:
        share = f"{c.read} ({100 * c.read / max(c.rigid, 1):.0f} %)"
        lines.append(
            f"| {c.name} | {c.files} | {c.compiled} | {c.rigid} | {share} "
            f"| {len(c.refused)} | {len(c.wrong)} |"
        )
    rigid, read = sum(c.rigid for c in collections), sum(c.read for c in collections)
    wrong = sum(len(c.wrong) for c in collections)
    lines += [
        "",
        f"Of {rigid} rigid models {read} are read ({100 * read / max(rigid, 1):.1f} %), "
        f"{wrong} differ.",
        "",
        f"Masses and moments of inertia to {INERTIA:g} relative (axes of meshes to {AXES:g}, as "
        f"MuJoCo has them), frames of joints and geoms, sizes, equalities to {FRAME:g}, poses at "
        f"{CONFIGURATIONS} random configurations to {POSE:g}.",
        "",
    ]
    for c in collections:
        lines += [f"- {c.name}, refused: {path}: {why}" for path, why in c.refused]
        lines += [f"- {c.name}, WRONG: {path}: {why}" for path, why in c.wrong]
        lines += [f"- {c.name}, not rigid: {why}: {n}" for why, n in sorted(c.others.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="validation/run formats --mjcf")
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="folders with more files")
    parser.add_argument(
        "--packages", nargs="*", default=PACKAGES, help="packages of Python to look in"
    )
    parser.add_argument("--verbose", action="store_true", help="print each file with its warnings")
    parser.add_argument(
        "--describe", type=Path, help="the example of that name of quasistep-formats, if it is built"
    )
    arguments = parser.parse_args()
    describe = arguments.describe or example("quasistep-formats", "describe")
    collections = []
    for package in arguments.packages:
        found = importlib.util.find_spec(package)
        if found is None:
            sys.exit(f"error: the package {package} is not installed")
        folder = Path(next(iter(found.submodule_search_locations)))
        collections.append(judge(package, folder, describe, arguments.verbose))
        print(f"{package}: done", file=sys.stderr)
    collections += [
        judge(folder.name, folder, describe, arguments.verbose) for folder in arguments.also
    ]
    text = table(collections, arguments.packages)
    print(text)
    if not arguments.also and arguments.packages == PACKAGES:
        RESULTS.write_text(text, encoding="utf-8")
    if any(c.wrong for c in collections):
        sys.exit(1)


if __name__ == "__main__":
    main()
