"""Pinocchio and quasistep on public robot files: poses, Jacobians, mass matrices and forces of gravity.

Each reads the file by itself. Pinocchio then gets the inertias that quasistep uses, which are those of the file
but where no rigid body has such an inertia. Followers of mimic joints are joints of their own to Pinocchio; their
angles and rates are given by those of their leaders, and forces and masses summed up accordingly.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pinocchio as pin
import yaml
from machine import ROOT, cpu_model, executable, versions

ROBOTS = ROOT / "target/robots/share"
RESULTS = ROOT / "validation/results/pinocchio.md"
# what a robot's root sits on, here and there
ROOTS = {"fixed": None, "planar": pin.JointModelPlanar, "free": pin.JointModelFreeFlyer}
MODEL = "robot"
# how far apart both may be: m and 1, m and 1, relative, relative
BOUNDS = {"pose": 1e-12, "Jacobian": 1e-10, "mass matrix": 1e-9, "gravity": 1e-9}


class NotRead(Exception):
    """One of the two does not read a file."""


@dataclass
class Compared:
    """A robot on which both agree or not: the largest differences over roots and configurations."""

    name: str
    links: int
    dofs: int
    followers: int
    worst: dict[str, float]


def ours(path: Path, root: str, configurations: int) -> dict:
    """What quasistep says of a robot at random configurations within its limits."""
    robot = {"urdf": str(path), "joint": root, "self_collision": "none"}
    robot["joints"] = {"*": {"stiffness": 1}}
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "scene.yml"
        scene.write_text(yaml.safe_dump({"models": {MODEL: robot}}), encoding="utf-8")
        command = [executable("world"), scene, "--configurations", str(configurations)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise NotRead(done.stderr.strip().removeprefix("error: "))
    return json.loads(done.stdout)


def theirs(path: Path, root: str, bodies: list[dict]) -> tuple[pin.Model, list[int]]:
    """Pinocchio's model with these inertias, and its frame of each body."""
    joint = ROOTS[root]
    more = [joint()] if joint else []
    try:
        model = pin.buildModelFromUrdf(str(path), *more)
    except ValueError as e:
        raise NotRead(str(e).splitlines()[0]) from e
    for index in range(model.njoints):
        model.inertias[index] = pin.Inertia.Zero()
    frames = []
    for body in bodies:
        frame = model.getFrameId(body["name"].removeprefix(f"{MODEL}/"), pin.FrameType.BODY)
        place = model.frames[frame]
        own = pin.Inertia(body["mass"], np.array(body["com"]), np.array(body["inertia"]))
        # what is welded to the world moves nothing
        if place.parentJoint > 0 and body["mass"] > 0:
            model.inertias[place.parentJoint] += place.placement.act(own)
        frames.append(frame)
    return model, frames


class Dofs:
    """Their coordinates and rates from ours: `v_theirs = G v_ours`."""

    def __init__(self, model: pin.Model, bodies: list[dict], n_v: int) -> None:
        self.model, self.bodies, self.n_v = model, bodies, n_v
        self.of_joint = {body["joint_name"]: body for body in bodies}
        # the root's joint is the model's
        self.of_joint["root_joint"] = self.of_joint.pop(MODEL)

    def body(self, joint: str) -> dict:
        """Our body on one of their joints."""
        return self.of_joint.get(f"{MODEL}.{joint}") or self.of_joint[joint]

    def single(self, body: dict, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Value of a hinge or slide, and its rate as a row of G."""
        if body["mimic"]:
            leader, factor, offset = body["mimic"]
            value, row = self.single(self.bodies[leader - 1], q)
            return factor * value + offset, factor * row
        return q[body["q"][0]], np.eye(self.n_v)[body["v"][0]]

    def translate(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Their q, and G."""
        theirs = pin.neutral(self.model)
        G = np.zeros((self.model.nv, self.n_v))
        for name, joint in zip(self.model.names[1:], self.model.joints[1:], strict=True):
            body = self.body(name)
            at, rates = (
                slice(joint.idx_q, joint.idx_q + joint.nq),
                slice(joint.idx_v, joint.idx_v + joint.nv),
            )
            own, first = q[slice(*body["q"])], body["v"][0]
            if body["joint"]["type"] == "free":
                # ours: quaternion, place, rates in the parent; theirs: place, quaternion, rates in the body
                w, x, y, z, *place = own
                theirs[at] = [*place, x, y, z, w]
                R = pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
                G[rates, first : first + 6] = np.block(
                    [[np.zeros((3, 3)), R.T], [R.T, np.zeros((3, 3))]]
                )
            elif body["joint"]["type"] == "planar":
                x, y, angle = own
                c, s = np.cos(angle), np.sin(angle)
                theirs[at] = [x, y, c, s]
                G[rates, first : first + 3] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
            else:
                value, G[joint.idx_v] = self.single(body, q)
                theirs[at] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
        return theirs, G


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference as a share of the largest entry."""
    return float(np.max(np.abs(a - b), initial=0.0) / (np.max(np.abs(b), initial=0.0) or 1.0))


def compare(path: Path, name: str, configurations: int) -> Compared:
    """Both on one robot, on each root."""
    worst = dict.fromkeys(BOUNDS, 0.0)

    def note(what: str, difference: float) -> None:
        # a NaN is the worst of all
        worst[what] = max(worst[what], difference if difference >= 0 else np.inf)

    for root in ROOTS:
        # the rest of the work is in vain if they do not read it
        theirs(path, root, [])
        world = ours(path, root, configurations)
        bodies = world["bodies"]
        model, frames = theirs(path, root, bodies)
        data = model.createData()
        n_v = len(world["configurations"][0]["gravity_force"]) if configurations else 0
        dofs = Dofs(model, bodies, n_v)
        for seen in world["configurations"]:
            q, G = dofs.translate(np.array(seen["q"]))
            pin.framesForwardKinematics(model, data, q)
            if n_v > 0:
                pin.computeJointJacobians(model, data, q)
            for frame, body in zip(frames, seen["bodies"], strict=True):
                X = data.oMf[frame]
                w, x, y, z = body["pose"]["quat"]
                R = pin.Quaternion(w, x, y, z).toRotationMatrix()
                note("pose", float(np.abs(X.translation - body["pose"]["xyz"]).max()))
                note("pose", float(np.abs(X.rotation - R).max()))
                # on a model without dofs these calls end the process
                if n_v == 0:
                    continue
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED) @ G
                own = np.array(body["jacobian"]).reshape(6, n_v)
                # ours: angular velocity first
                note("Jacobian", float(np.abs(np.roll(J, 3, axis=0) - own).max(initial=0.0)))
            if n_v == 0:
                continue
            M = np.triu(pin.crba(model, data, q))
            M = G.T @ (M + np.triu(M, 1).T) @ G
            note("mass matrix", relative(np.array(seen["mass_matrix"]).reshape(n_v, n_v), M))
            # theirs holds the robot up, ours pulls it down
            g = -G.T @ pin.computeGeneralizedGravity(model, data, q)
            note("gravity", relative(np.array(seen["gravity_force"]), g))
        if root == "fixed":
            followers = sum(body["mimic"] is not None for body in bodies)
            found = Compared(name, len(bodies), n_v, followers, worst)
    return found


def table(robots: list[Compared]) -> str:
    """Differences of each robot, as markdown."""
    rows = [
        ["robot", "links", "dofs", "followers", *BOUNDS],
        ["---", *["---:"] * (3 + len(BOUNDS))],
    ]
    for robot in robots:
        numbers = [str(robot.links), str(robot.dofs), str(robot.followers)]
        rows.append([robot.name, *numbers, *(f"{robot.worst[what]:.1e}" for what in BOUNDS)])
    most = {what: max(robot.worst[what] for robot in robots) for what in BOUNDS}
    rows.append(["largest", "", "", "", *(f"{most[what]:.1e}" for what in BOUNDS)])
    rows.append(["allowed", "", "", "", *(f"{bound:.0e}" for bound in BOUNDS.values())])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def heading(configurations: int) -> str:
    """What was compared, how and when."""
    return f"""\
## Robot files: Pinocchio and quasistep

Every URDF of the wheel `example-robot-data` and of a clone of the public repository RobotLocomotion/models that both
read, at {configurations} random configurations within the joints' limits on each of three roots: fixed, planar and
free. Poses and Jacobians of all links: largest difference of an entry, m and 1. Mass matrix and forces of gravity:
largest difference as a share of the largest entry. Pinocchio has quasistep's inertias, which are the file's or, where
no rigid body has these, the nearest possible. Followers are joints that mimic another one.
`validation/run pinocchio` makes this table.

- {cpu_model()}, {platform.system()} {platform.machine()}; {date.today().isoformat()}
- {versions()}; Pinocchio {pin.__version__}, Python {platform.python_version()}
"""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run pinocchio",
        description="Pinocchio and quasistep on public robot files: poses, Jacobians, masses, gravity.",
        epilog="examples:\n"
        "  validation/run pinocchio\n"
        "  validation/run pinocchio --also ../models --configurations 100\n"
        "  validation/run pinocchio --only panda -o out/pinocchio.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--configurations", type=int, default=20, metavar="N", help="default 20")
    parser.add_argument(
        "--also",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="more folders with robot files",
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="files with this in their path")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=RESULTS,
        metavar="FILE",
        help="file to write; default validation/results/pinocchio.md",
    )
    arguments = parser.parse_args()
    if arguments.configurations < 1:
        parser.error("--configurations: at least 1")
    robots, left_out = [], []
    try:
        subprocess.run(
            ["cargo", "xtask", "robots"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )
        for folder in [ROBOTS, *arguments.also]:
            folder = folder.resolve(strict=True)
            for path in sorted(folder.rglob("*.urdf")):
                name = str(path.relative_to(folder).with_suffix("")).removeprefix(
                    "example-robot-data/robots/"
                )
                if arguments.only not in str(path):
                    continue
                try:
                    robots.append(compare(path, name, arguments.configurations))
                except NotRead as e:
                    left_out.append(f"- `{name}`: {str(e).replace(f'{path.parent}/', '')}")
                print(f"{name}", file=sys.stderr)
    except FileNotFoundError as e:
        sys.exit(f"error: {e.filename} was not found")
    except subprocess.CalledProcessError as e:
        sys.exit(f"error: {' '.join(map(str, e.cmd))} failed")
    if not robots:
        sys.exit("error: no robot that both read")
    text = f"{heading(arguments.configurations)}\n{table(robots)}\n"
    if left_out:
        text += (
            "\nLeft out, with what the one that does not read it says:\n\n"
            + "\n".join(left_out)
            + "\n"
        )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)
    beyond = [f"{r.name} {what}" for r in robots for what, b in BOUNDS.items() if r.worst[what] > b]
    if beyond:
        sys.exit(f"error: further apart than allowed: {', '.join(beyond)}")


if __name__ == "__main__":
    main()
