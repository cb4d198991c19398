"""The step of pangtao22/quasistatic_simulator, assembled from its published equations, and quasistep's, on every scene it ships.

The reference knows nothing of quasistep: Drake reads the scene and says where bodies are, what is near what, Jacobians, masses and weight;
the program of Pang21 (10) with the mass of passive bodies is assembled here and solved exactly:

    min 1/2 v'Q v - b'v    s.t.  phi_i/h + (n_i + mu_i d_ij)' J_i v >= 0        every edge j of every pair i

Both then follow their own motion for some steps from the same start under the same random commands.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np
import yaml
from machine import ROOT, cpu_model
from pydrake.geometry import Role, Sphere
from pydrake.math import RotationMatrix
from pydrake.multibody.parsing import LoadModelDirectives, Parser, ProcessModelDirectives
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CalcContactFrictionFromSurfaceProperties
from pydrake.multibody.tree import JacobianWrtVariable, ModelInstanceIndex
from pydrake.systems.framework import DiagramBuilder

RESULTS = ROOT / "validation/results/peer.md"
COMMIT = "c9177559ab5393ba800ebd264b3d97e4f7113fe9"
URL = re.compile(r"package://([^/]+)/([^<\s]+)")
# m and rad
BOUND = 1e-9
# numbers that the simulator leaves at NaN or to its caller
STEP = 0.1


class NoAnswer(Exception):
    """The program has no feasible motion."""


class Undecided(Exception):
    """The reference has too few digits: its rows depend on one another but for rounding."""


def resolve(url: str, packages: dict[str, Path]) -> Path:
    """The file of a `package://` address."""
    name, rest = re.match(URL, url).groups()
    return packages[name] / rest


class Peer:
    """A system as the simulator reads it: objects by name, then directives, each joint of a robot with its stiffness."""

    def __init__(self, path: Path, packages: dict[str, Path]) -> None:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(builder, 1e-3)
        parser = Parser(self.plant)
        for name, folder in packages.items():
            if parser.package_map().Contains(name):
                parser.package_map().Remove(name)
            parser.package_map().Add(name, str(folder))
        objects = {o["name"]: resolve(o["file"], packages) for o in config.get("objects") or []}
        self.objects = []
        for name in sorted(objects):
            (instance,) = parser.AddModels(str(objects[name]))
            self.plant.RenameModelInstance(instance, name)
            self.objects.append(instance)
        directives = LoadModelDirectives(str(resolve(config["model_directive"], packages)))
        ProcessModelDirectives(directives, self.plant, parser)
        given = config["quasistatic_sim_params"]
        self.plant.mutable_gravity_field().set_gravity_vector(given["gravity"])
        self.plant.Finalize()
        diagram = builder.Build()
        self.context = diagram.CreateDefaultContext()
        self.at = self.plant.GetMyContextFromRoot(self.context)
        self.edges = given["nd_per_contact"]
        self.margin = float(given["contact_detection_tolerance"])
        self.has_mass = given.get("is_quasi_dynamic", True)
        self.mass_scale = float(given.get("unactuated_mass_scale", np.nan))
        self.h = given.get("h", STEP)
        n = self.plant.num_velocities()
        self.K = np.zeros(n)
        self.actuated = np.zeros(n, dtype=bool)
        for robot in config["robots"]:
            instance = self.plant.GetModelInstanceByName(robot["name"])
            where = self.plant.GetVelocitiesFromArray(instance, np.arange(n)).astype(int)
            self.K[where] = robot["Kp"]
            self.actuated[where] = True
        self.query = self.scene_graph.get_query_output_port()
        self.inspector = self.scene_graph.model_inspector()

    def name(self, body) -> str:
        return f"{self.plant.GetModelInstanceName(body.model_instance())}::{body.name()}"

    def body_of(self, geometry):
        return self.plant.GetBodyFromFrameId(self.inspector.GetFrameId(geometry))

    def friction(self, a, b) -> float:
        surfaces = [
            self.inspector.GetProximityProperties(g).GetProperty("material", "coulomb_friction") for g in (a, b)
        ]
        return CalcContactFrictionFromSurfaceProperties(*surfaces).static_friction()

    def velocity_of(self, body, p_W) -> np.ndarray:
        """Jacobian of the point of a body that is at `p_W`, world axes."""
        world = self.plant.world_frame()
        frame = body.body_frame()
        p_B = frame.CalcPoseInWorld(self.at).inverse() @ p_W
        return self.plant.CalcJacobianTranslationalVelocity(
            self.at, JacobianWrtVariable.kV, frame, p_B, world, world
        )

    def directions(self, n: np.ndarray) -> np.ndarray:
        """Edges of a pyramid about `n`, one a column."""
        if self.edges == 2:
            t = np.cross([1.0, 0.0, 0.0], n)
            return np.column_stack([t, -t])
        angles = 2 * np.pi / self.edges * np.arange(self.edges)
        flat = np.stack([np.cos(angles), np.sin(angles), np.zeros(self.edges)])
        return RotationMatrix.MakeFromOneVector(n, 2).matrix() @ flat

    def contacts(self, others) -> list[tuple]:
        """`(a, b, p_WCa, p_WCb, n from a to b, phi)`. Where neither geometry is a sphere the nearest points are not one pair: these
        are taken from `others(a, b)`."""
        query = self.query.Eval(self.scene_graph.GetMyContextFromRoot(self.context))
        is_sphere = {
            g: isinstance(self.inspector.GetShape(g), Sphere)
            for g in self.inspector.GetAllGeometryIds(Role.kProximity)
        }
        found = []
        for pair in query.ComputeSignedDistancePairwiseClosestPoints(self.margin):
            a, b = pair.id_A, pair.id_B
            if not (is_sphere[a] or is_sphere[b]):
                found += [(a, b, *point) for point in others(a, b)]
                continue
            points = []
            for geometry, p_G in ((a, pair.p_ACa), (b, pair.p_BCb)):
                X_WB = self.plant.EvalBodyPoseInWorld(self.at, self.body_of(geometry))
                points.append(X_WB @ (self.inspector.GetPoseInFrame(geometry) @ p_G))
            found.append((a, b, *points, -pair.nhat_BA_W, pair.distance))
        return found

    def mass(self, M: np.ndarray) -> np.ndarray:
        """Of passive bodies, each model scaled on its own."""
        out = np.zeros_like(M)
        if not self.has_mass:
            return out
        n = len(M)
        for instance in self.objects:
            where = self.plant.GetVelocitiesFromArray(instance, np.arange(n)).astype(int)
            own = M[np.ix_(where, where)]
            if not np.isnan(self.mass_scale):
                softest = self.K[self.actuated].min() * self.h**2
                own = own * (softest / own.diagonal().max() / self.mass_scale)
            out[np.ix_(where, where)] = own
        return out

    def step(self, q: np.ndarray, target: np.ndarray, others) -> tuple[np.ndarray, int]:
        """The next configuration, and how many rows push; `target` is the command at the places of actuated coordinates."""
        plant, h = self.plant, self.h
        plant.SetPositions(self.at, q)
        M = plant.CalcMassMatrix(self.at)
        weight = plant.CalcGravityGeneralizedForces(self.at)
        stretch = plant.MapQDotToVelocity(self.at, target - q)
        Q = self.mass(M) + np.diag(h**2 * self.K)
        b = h * np.where(self.actuated, self.K * stretch, weight)
        rows, gaps = [], []
        for a, other, p_a, p_b, n, phi in self.contacts(others):
            J = self.velocity_of(self.body_of(other), p_b) - self.velocity_of(self.body_of(a), p_a)
            mu = self.friction(a, other)
            for d in self.directions(n).T:
                rows.append((n + mu * d) @ J)
                gaps.append(phi / h)
        v, pushing = solve(Q, b, np.array(rows).reshape(-1, len(b)), -np.array(gaps))
        # the quaternion is its own rate further, and then made one
        q_next = q + h * plant.MapVelocityToQDot(self.at, v)
        for joint in floating(plant):
            first = joint.position_start()
            q_next[first : first + 4] /= np.linalg.norm(q_next[first : first + 4])
        return q_next, pushing


def floating(plant):
    return [plant.get_joint(i) for i in plant.GetJointIndices() if plant.get_joint(i).num_positions() == 7]


def nnls(E: np.ndarray, f: np.ndarray) -> np.ndarray:
    """`min |E x - f|` over `x >= 0`: Lawson and Hanson's active set, which ends with independent columns."""
    n = E.shape[1]
    x, passive = np.zeros(n), np.zeros(n, dtype=bool)
    scale = np.abs(E).sum(axis=0) + 1e-300
    for _ in range(3 * n + 100):
        w = E.T @ (f - E @ x)
        w[passive] = -np.inf
        k = np.argmax(w / scale)
        if w[k] <= 1e-13 * scale[k]:
            return x
        passive[k] = True
        while True:
            s = np.zeros(n)
            s[passive] = np.linalg.lstsq(E[:, passive], f, rcond=None)[0]
            if (s[passive] > 0).all():
                break
            bad = passive & (s <= 0)
            alpha = np.min(x[bad] / (x[bad] - s[bad]))
            x = x + alpha * (s - x)
            gone = passive & (x <= 1e-15 * max(1.0, x.max()))
            if not (gone & bad).any():
                gone |= bad & (x == x[bad].min())
            passive[gone] = False
            x[gone] = 0.0
        x = s
    raise Undecided("the active set did not end")


def solve(Q: np.ndarray, b: np.ndarray, A: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, int]:
    """`min 1/2 v'Q v - b'v, A v >= low` as a problem of least distance, then its equations at the rows that push."""
    free = np.linalg.solve(Q, b)
    if not len(A) or (A @ free >= low).all():
        return free, 0
    L = np.linalg.cholesky(Q)
    G = np.linalg.solve(L, A.T).T
    g = low - A @ free
    size = np.linalg.norm(G, axis=1)
    keep = size > 1e-14 * size.max()
    if (g[~keep] > 1e-12).any():
        raise NoAnswer
    G, g, A, low, size = G[keep], g[keep], A[keep], low[keep], size[keep]
    # rows of length one, and lengths of which the answer is about one
    unit = max((g / size).max(), 1e-300)
    E = np.vstack([(G / size[:, None]).T, (g / size / unit)[None]])
    f = np.zeros(len(E))
    f[-1] = 1.0
    x = nnls(E, f)
    if np.linalg.norm(E @ x - f) < 1e-7:
        raise NoAnswer
    active = x > 0
    n, m = len(Q), int(active.sum())
    KKT = np.block([[Q, -A[active].T], [A[active], np.zeros((m, m))]])
    right = np.concatenate([b, low[active]])
    answer = np.linalg.solve(KKT, right)
    answer += np.linalg.solve(KKT, right - KKT @ answer)
    v, push = answer[:n], answer[n:]
    # what is optimal: proven, not hoped for
    lack = (low - A @ v).max() / max(1.0, np.abs(low).max())
    pull = -push.min() / max(1e-300, np.abs(push).max())
    if lack > 1e-10 or pull > 1e-10:
        raise Undecided(f"rows lack {lack:.1e}, forces pull {pull:.1e}")
    return v, m


@dataclass
class Compared:
    """A scene on which both agree or not."""

    name: str
    dofs: int
    pairs: list[int]
    steps: int = 0
    loaded: int = 0
    shared: int = 0
    undecided: int = 0
    opened: int = 0
    worst: float = 0.0
    poses: float = 0.0
    refused: str = ""
    notes: list[str] = field(default_factory=list)


class Both:
    """A scene as both read it, and how their vectors go into one another."""

    def __init__(self, path: Path, packages: dict[str, Path], qs) -> None:
        self.peer = Peer(path, packages)
        self.ours = qs.load(path)
        self.prefix = self.ours.bodies[1].split("/")[0]
        plant = self.peer.plant
        # place in our q of each of Drake's coordinates
        place = np.zeros(plant.num_positions(), dtype=int)
        suffixes = ["qw", "qx", "qy", "qz", "x", "y", "z"]
        for joint in (plant.get_joint(i) for i in plant.GetJointIndices()):
            first, n = joint.position_start(), joint.num_positions()
            name = f"{self.prefix}.{plant.GetModelInstanceName(joint.model_instance())}::{joint.name()}"
            names = [name] if n == 1 else [f"{name}.{suffix}" for suffix in suffixes]
            for k, name in enumerate(names[:n]):
                place[first + k] = self.ours.coordinates.index(name)
        self.place = place
        self.commands = [self.ours.coordinates.index(name) for name in self.ours.commands]
        numbers: dict[str, int] = {}
        self.shapes = []
        for shape in self.ours.shapes:
            body = shape.split("/")[1]
            self.shapes.append((body, numbers.get(body, 0)))
            numbers[body] = numbers.get(body, 0) + 1
        found = {}
        bodies = [plant.get_body(i) for m in all_instances(plant) for i in plant.GetBodyIndices(m)]
        for body in bodies:
            for k, geometry in enumerate(plant.GetCollisionGeometriesForBody(body)):
                found[geometry] = (self.peer.name(body), k)
        self.of_geometry = found

    def to_ours(self, q: np.ndarray) -> np.ndarray:
        out = np.array(self.ours.q0)
        out[self.place] = q
        return out

    def to_peer(self, q: np.ndarray) -> np.ndarray:
        return q[self.place]

    def poses_apart(self, q: np.ndarray) -> float:
        """Largest difference of a body's pose."""
        plant = self.peer.plant
        plant.SetPositions(self.peer.at, q)
        poses = self.ours.poses(self.to_ours(q))
        worst = 0.0
        # a joint off its body's origin has a body of its own here
        bodies = [plant.get_body(i) for m in all_instances(plant)[1:] for i in plant.GetBodyIndices(m)]
        for body in bodies:
            pose = poses[self.ours.bodies.index(f"{self.prefix}/{self.peer.name(body)}")]
            X = plant.EvalBodyPoseInWorld(self.peer.at, body)
            theirs = X.rotation().ToQuaternion().wxyz()
            sign = np.sign(theirs @ pose[:4])
            worst = max(worst, np.abs(pose[:4] - sign * theirs).max(), np.abs(pose[4:] - X.translation()).max())
        return worst

    def points(self, q: np.ndarray) -> dict:
        """Near points of ours, by pair of geometries: both points, the normal, the distance."""
        out: dict = {}
        at = self.ours.linearise(q, margin=self.peer.margin)
        for a, b, p, n, phi in zip(at.shape_a, at.shape_b, at.p, at.n, at.phi, strict=True):
            half = 0.5 * phi * n
            out.setdefault((self.shapes[a], self.shapes[b]), []).append((p - half, p + half, n, phi))
        return out

    def run(self, q: np.ndarray, rng: np.random.Generator, steps: int, compared: Compared) -> None:
        """Steps from `q`, both on their own."""
        mine, theirs = self.to_ours(q), np.array(q)
        for _ in range(steps):
            u = mine[self.commands] + rng.uniform(-0.1, 0.1, len(self.commands))
            target = np.array(mine)
            target[self.commands] = u
            target = self.to_peer(target)
            # passive coordinates have no command
            command = np.where(np.isin(self.place, self.commands), target, theirs)
            report = None
            try:
                mine_next, report = self.ours.step(mine, u, h=self.peer.h)
            except Exception as error:  # noqa: BLE001 - what it says is counted
                why = str(error)
            own = self.points(mine)

            def others(a, b, own=own):
                a, b = self.of_geometry[a], self.of_geometry[b]
                forward = own.get((a, b), [])
                backward = [(p_b, p_a, -n, phi) for p_a, p_b, n, phi in own.get((b, a), [])]
                return forward + backward

            try:
                theirs_next, pushing = self.peer.step(theirs, command, others)
            except Undecided:
                compared.undecided += 1
                return
            except NoAnswer:
                if report is None:
                    compared.shared += 1
                    return
                # what nothing moves along its normal is opened another way here
                compared.opened += 1
                return
            if report is None:
                compared.notes.append(f"quasistep has no answer: {why}")
                compared.worst = np.inf
                return
            mine, theirs = mine_next, theirs_next
            apart = np.abs(self.to_peer(mine) - theirs).max()
            compared.worst = max(compared.worst, apart)
            compared.steps += 1
            compared.loaded += pushing > 0


def all_instances(plant):
    return [ModelInstanceIndex(k) for k in range(plant.num_model_instances())]


def starts(both: Both, rng: np.random.Generator, wanted: int, tries: int) -> list[np.ndarray]:
    """Random configurations that overlap by less than a millimetre: robots amid their joints, objects among the robots' shapes."""
    peer = both.peer
    plant = peer.plant
    robots = {i for i in range(plant.num_velocities()) if peer.actuated[i]}
    found = []
    for _ in range(tries):
        if len(found) == wanted:
            break
        q = plant.GetDefaultPositions()
        for joint in (plant.get_joint(i) for i in plant.GetJointIndices()):
            if joint.num_velocities() == 1 and joint.velocity_start() in robots:
                low, high = joint.position_lower_limits()[0], joint.position_upper_limits()[0]
                q[joint.position_start()] = rng.uniform(max(low, -0.6), min(high, 0.6)) if low < high else 0.0
        plant.SetPositions(peer.at, q)
        centres = []
        for geometry in peer.inspector.GetAllGeometryIds(Role.kProximity):
            body = peer.body_of(geometry)
            X = plant.EvalBodyPoseInWorld(peer.at, body) @ peer.inspector.GetPoseInFrame(geometry)
            if body.model_instance() not in peer.objects:
                centres.append(X.translation())
        low, high = (np.min(centres, axis=0), np.max(centres, axis=0)) if centres else (np.zeros(3), np.zeros(3))
        middle, half = 0.5 * (low + high), np.minimum(0.5 * (high - low), 0.5) + rng.uniform(0.05, 0.8)
        for joint in (plant.get_joint(i) for i in plant.GetJointIndices()):
            if joint.model_instance() not in peer.objects:
                continue
            first = joint.position_start()
            if joint.num_positions() == 7:
                turn = np.concatenate([[1.0], rng.uniform(-0.2, 0.2, 3)])
                q[first : first + 4] = turn / np.linalg.norm(turn)
                q[first + 4 : first + 7] = rng.uniform(middle - half, middle + half)
            elif joint.type_name() == "prismatic":
                axis = joint.translation_axis()
                q[first] = rng.uniform(-1, 1) * (np.abs(axis) @ half) + axis @ middle
            elif joint.num_positions() == 1:
                q[first] = rng.uniform(-0.5, 0.5)
        plant.SetPositions(peer.at, q)
        query = peer.query.Eval(peer.scene_graph.GetMyContextFromRoot(peer.context))
        near = query.ComputeSignedDistancePairwiseClosestPoints(0.02)
        least = min((p.distance for p in near if moves(peer, p)), default=0.1)
        if least > -1e-3 and (least < 0.02 or len(found) < wanted // 4):
            found.append(q)
    return found


def moves(peer: Peer, pair) -> bool:
    """Can the robots, or a free body, undo an overlap of this pair? An object on slides may lie in the ground for good."""
    bodies = [peer.body_of(g) for g in (pair.id_A, pair.id_B)]
    joints = [peer.plant.get_joint(i) for i in peer.plant.GetJointIndices()]
    robots = {joint.model_instance() for joint in joints if joint.num_velocities()} - set(peer.objects)
    return any(body.is_floating_base_body() or body.model_instance() in robots for body in bodies)


def compare(path: Path, packages: dict[str, Path], qs, arguments) -> Compared:
    rng = np.random.default_rng(20231109)
    compared = Compared(path.stem, 0, [0, 0])
    try:
        both = Both(path, packages, qs)
    except Exception as error:  # noqa: BLE001 - the reason stands in the table
        compared.refused = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return compared
    compared.dofs = both.peer.plant.num_velocities()
    candidates = both.peer.inspector.GetCollisionCandidates()
    spheres = [any(isinstance(both.peer.inspector.GetShape(g), Sphere) for g in pair) for pair in candidates]
    compared.pairs = [len(candidates), len(candidates) - sum(spheres)]
    for q in starts(both, rng, arguments.starts, arguments.tries):
        compared.poses = max(compared.poses, both.poses_apart(q))
        both.run(q, rng, arguments.steps, compared)
    return compared


def stubs(models: Path, folder: Path, given: dict[str, Path]) -> dict[str, Path]:
    """Packages that only pictures name, as empty files: Drake refuses what is not there, and looks at none of them."""
    packages = dict(given)
    # packages may be links
    walked = [found for where in (models, *given.values()) for found in os.walk(where, followlinks=True)]
    for sdf in [Path(at) / name for at, _, names in walked for name in names if name.endswith(".sdf")]:
        for name, rest in URL.findall(sdf.read_text(encoding="utf-8")):
            if name in given:
                continue
            file = folder / name / rest
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            packages[name] = folder / name
    return packages


def table(rows: list[Compared]) -> str:
    lines = [
        "| scene | dofs | pairs (of no sphere) | steps (loaded) | no answer: both, program alone | reference undecided | poses, m | q apart, m and rad |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        if r.refused:
            lines.append(f"| {r.name} | | | | | | | refused: {r.refused} |")
            continue
        lines.append(
            f"| {r.name} | {r.dofs} | {r.pairs[0]} ({r.pairs[1]}) | {r.steps} ({r.loaded}) | {r.shared}, {r.opened} | {r.undecided} | "
            f"{r.poses:.1e} | {r.worst:.1e}{'' if not r.notes else '; ' + r.notes[0][:120]} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="validation/run peer", description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help=f"a checkout of the simulator, at {COMMIT[:12]}")
    parser.add_argument("--package", action="append", default=[], metavar="NAME=FOLDER", help="a package that scenes name")
    parser.add_argument("--scenes", nargs="*", help="names of scenes; all without")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--tries", type=int, default=2000)
    arguments = parser.parse_args()
    models = arguments.path / "models"
    files = sorted((models / "q_sys").glob("*.yml"))
    if not files:
        parser.error(f"{models / 'q_sys'} has no scenes")
    if arguments.scenes:
        files = [f for f in files if f.stem in arguments.scenes]
    given = {"quasistatic_simulator": models.resolve()}
    given |= {name: Path(folder).resolve() for name, _, folder in (p.partition("=") for p in arguments.package)}
    with tempfile.TemporaryDirectory() as folder:
        # where quasistep looks: each package by its name in one folder
        links = Path(folder) / "packages"
        links.mkdir()
        for name, target in given.items():
            (links / name).symlink_to(target)
        os.environ["ROS_PACKAGE_PATH"] = str(links)
        import quasistep as qs

        packages = stubs(models, Path(folder) / "stubs", given)
        rows = []
        for file in files:
            rows.append(compare(file, packages, qs, arguments))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    judged = [r for r in rows if not r.refused]
    agree = [r for r in judged if r.worst < BOUND and r.steps]
    commit = subprocess.run(
        ["git", "-C", arguments.path, "rev-parse", "HEAD"], check=False, capture_output=True, text=True
    ).stdout.strip()
    if not arguments.scenes:
        RESULTS.write_text(
            f"# The peer's step\n\npangtao22/quasistatic_simulator at {commit or COMMIT}, {date.today()}, {cpu_model()}\n\n"
            f"{table(rows)}\n\n{len(agree)} of {len(rows)} scenes agree to {BOUND:g}; {len(rows) - len(judged)} were refused.\n",
            encoding="utf-8",
        )
    print(f"{len(agree)} of {len(rows)} scenes agree to {BOUND:g}")
    return 0 if len(agree) == len(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
