"""Plans to random goals: how many are solved, and in what time.

A goal counts as solved if the check of plans accepts it: the commands alone, replayed in steps of a
tenth, reach it within its tolerance, keep all bounds and overlap nothing. All numbers of a task are in
this file; goals come from a seed.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import mujoco
import numpy as np
import quasistep as qs

from control import Controller, Weights
from machine import cpu_model, versions
from plants import MujocoPlant as ScenePlant

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation/results/plans.md"
PUSHER_SCENE = ROOT / "scenes/push_to_pose.yml"


@dataclass
class Case:
    """A start, the command there, and a goal."""

    q0: np.ndarray
    u0: np.ndarray
    goal: Any


@dataclass
class Task:
    """A kind of goals, and how it is planned."""

    name: str
    tolerance: str
    wanted: str
    system: Callable[[], qs.System]
    cases: Callable[[qs.System, np.random.Generator], Iterator[Case]]
    settings: dict[str, Any] = field(default_factory=dict)
    share: int = 1  # one goal in so many of the others is tried


def turned(pose: np.ndarray, vector: np.ndarray, way: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    """A pose (w, x, y, z, then m), turned by a rotation vector in the world, and moved."""
    angle = np.linalg.norm(vector)
    axis = vector / angle if angle > 0 else np.zeros(3)
    w, v = math.cos(angle / 2), math.sin(angle / 2) * axis
    a, b = pose[0], pose[1:4]
    return np.array([w * a - v @ b, *(w * b + a * v + np.cross(v, b)), *(pose[4:] + way)])


BALL = "hand/sphere::sphere"
HAND_LINKS = ("hand/arm_left::link_2", "hand/arm_right::link_2")
HAND_RANGES = {
    f"hand.arm_{side}::joint_{k}": (-1.5, 1.5) if k == 1 else (-2.0, 2.0) for side in ("left", "right") for k in (1, 2)
}
TIPS = [f"hand/allegro_hand_right::link_{k}" for k in (3, 7, 11, 15)]


# --- the planar hand of quasistatic_simulator turns its ball ---


def hand_system() -> qs.System:
    # no gravity, and a motion that does not depend on the step size
    return qs.load(
        ROOT / "scenes/peer/planar_hand.yml",
        set={"gravity": [0, 0, 0], "step.contact_margin": 0.1, "step.relaxation": 1},
    )


def hand_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Turns up to 1.5 rad from grasps between whose normals there are more than 107 degrees."""
    y, z = (system.coordinates.index(f"hand.sphere::{axis}_slider") for axis in "yz")
    while True:
        q = system.q0.copy()
        q[y], q[z] = rng.uniform(-0.1, 0.1), rng.uniform(0.3, 0.45)
        grasps = system.grasps(HAND_LINKS, BALL, 1, seed=int(rng.integers(2**32)), q0=q, ranges=HAND_RANGES, distance=1e-3, tries=10)
        if not len(grasps):
            continue
        q = grasps[0]
        normals = system.linearise(q, margin=2e-3).n
        if len(normals) != 2 or normals[0] @ normals[1] > -0.3:
            continue
        pose = turned(system.pose(BALL, q), np.array([rng.uniform(-1.5, 1.5), 0, 0]))
        yield Case(q, system.commanded(q), qs.PoseGoal(BALL, pose, angle=0.01, distance=0.01))


# --- its Allegro hand turns a ball on the palm ---


def ball_system() -> qs.System:
    return qs.load(ROOT / "scenes/peer/allegro_ball.yml", set={"step.relaxation": 1})


def any_hand_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Turns up to π from such grasps."""
    for case in hand_cases(system, rng):
        pose = turned(system.pose(BALL, case.q0), np.array([rng.uniform(-np.pi, np.pi), 0, 0]))
        yield Case(case.q0, case.u0, qs.PoseGoal(BALL, pose, angle=0.01, distance=0.01))


def any_ball_cases(angle: float) -> Callable[[qs.System, np.random.Generator], Iterator[Case]]:
    def cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
        """Turns by 0.2 rad to π about any axis, from where the scene's grasp ends."""
        run = system.simulate()
        q0, u0 = run.q[-1], run.u[-1]
        while True:
            axis = rng.normal(size=3)
            vector = axis / np.linalg.norm(axis) * rng.uniform(0.2, np.pi)
            yield Case(q0, u0, qs.PoseGoal(BALL, turned(system.pose(BALL, q0), vector), angle=angle, distance=0.01))

    return cases


def ball_cases(angle: float) -> Callable[[qs.System, np.random.Generator], Iterator[Case]]:
    def cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
        """Turns by 0.2 to 0.79 rad about x, y or z, from where the scene's grasp ends."""
        run = system.simulate()
        q0, u0 = run.q[-1], run.u[-1]
        while True:
            vector = np.zeros(3)
            vector[rng.integers(3)] = rng.uniform(0.2, 0.79) * rng.choice([-1, 1])
            pose = turned(system.pose(BALL, q0), vector)
            yield Case(q0, u0, qs.PoseGoal(BALL, pose, angle=angle, distance=0.01))

    return cases


# --- a finger pushes a box that rubs on its support ---


def pusher_system() -> qs.System:
    return qs.load(PUSHER_SCENE)


def wide_pusher_system() -> qs.System:
    # relaxed contacts reach as far as the margin
    return qs.load(PUSHER_SCENE, set={"step.contact_margin": 0.1})


def pusher_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Any pose within 0.3 m and π."""
    u0, pose = system.commanded(system.q0), system.pose("box", system.q0)
    while True:
        r, way, turn = 0.3 * math.sqrt(rng.uniform()), rng.uniform(-np.pi, np.pi), rng.uniform(-np.pi, np.pi)
        goal = turned(pose, np.array([0, 0, turn]), (r * math.cos(way), r * math.sin(way), 0))
        yield Case(system.q0, u0, qs.PoseGoal("box", goal, angle=0.05, distance=0.005))


def tour_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Four such poses, one after another."""
    cases = pusher_cases(system, rng)
    while True:
        four = [next(cases) for _ in range(4)]
        yield Case(four[0].q0, four[0].u0, [case.goal for case in four])


# --- a Panda pushes a box on the floor ---


def panda_system() -> qs.System:
    return qs.load(ROOT / "scenes/robots/panda_plan.yml")


def panda_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Ahead by 5 to 15 cm, aside by up to 3 cm, turned by up to 0.3 rad."""
    u0, pose = system.commanded(system.q0), system.pose("box", system.q0)
    while True:
        way = (rng.uniform(0.05, 0.15), rng.uniform(-0.03, 0.03), 0)
        goal = turned(pose, np.array([0, 0, rng.uniform(-0.3, 0.3)]), way)
        yield Case(system.q0, u0, qs.PoseGoal("box", goal, angle=0.05, distance=0.005))


def obstacles_system() -> qs.System:
    return qs.load(ROOT / "scenes/robots/panda_obstacles.yml")


def obstacles_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Between two posts, 16 to 20 cm ahead, aside by up to 1.5 cm, turned by up to 0.15 rad."""
    u0, pose = system.commanded(system.q0), system.pose("box", system.q0)
    while True:
        way = (rng.uniform(0.16, 0.2), rng.uniform(-0.015, 0.015), 0)
        goal = turned(pose, np.array([0, 0, rng.uniform(-0.15, 0.15)]), way)
        yield Case(system.q0, u0, qs.PoseGoal("box", goal, angle=0.05, distance=0.005))


# --- two arms in a plane move and turn a cylinder: the planar iiwas of quasistatic_simulator ---

MODELS = ROOT / "target/robots/quasistatic_simulator/models/q_sys"


def arms_system() -> qs.System:
    return qs.load(
        MODELS / "iiwa_planar_bimanual_cylinder.yml",
        set={"gravity": [0, 0, 0], "step.size": 0.1, "step.contact_margin": 0.2, "step.relaxation": 1},
    )


ARMS = "iiwa_planar_bimanual_cylinder"


def arms_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Anywhere between the arms, turned by anything, from one start."""
    q0 = np.array([0.65, 0, 0, 0.7, 1.4, 0, -0.7, -1.4, 0])
    while True:
        place = rng.uniform([0.25, -0.3, -np.pi], [0.75, 0.3, np.pi])
        pose = system.pose(f"{ARMS}/box::box", np.array([*place, *q0[3:]]))
        yield Case(q0, system.commanded(q0), qs.PoseGoal(f"{ARMS}/box::box", pose, angle=0.01, distance=0.01))


def arms_regrasps() -> list[qs.Regrasp]:
    links = [(7, 7), (6, 6), (5, 5), (7, 6), (6, 7)]
    pairs = [(f"{ARMS}/iiwa_left::iiwa_link_{a}", f"{ARMS}/iiwa_right::iiwa_link_{b}") for a, b in links]
    return [qs.Regrasp(pair, f"{ARMS}/box::box", clearance=0.005, distance=1e-3) for pair in pairs]


# --- an Allegro hand on slides opens a door, and tips a plate against a wall ---


def at_hand(system: qs.System, name: str, joints: dict[int, float], place: np.ndarray) -> np.ndarray:
    q = system.q0.copy()
    values = {**{f"joint_{k}": v for k, v in joints.items()}, **dict(zip(("x_slider", "y_slider", "z_slider"), place, strict=True))}
    for key, value in values.items():
        q[system.coordinates.index(f"{name}.allegro_hand_right::{key}")] = value
    return q


DOOR, PLATE = "allegro_hand_door_push", "allegro_hand_plate"


def door_system() -> qs.System:
    return qs.load(MODELS / f"{DOOR}.yml", set={"step.size": 0.1, "step.contact_margin": 0.1, "step.relaxation": 1})


def door_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """The handle by 90°, which frees the door, and the door by 75°; the hand starts at the knob, a centimetre around."""
    fingers = [0.037, 0.749, 0.741, 0.833, -0.148, 0.736, 0.615, 0.701, -0.069, 0.785, 0.829, 0.904, 0.624, 1.025, 0.637, 0.826]
    handle = qs.JointGoal(f"{DOOR}.door::x_rotation", math.pi / 2, tolerance=0.2)
    door = qs.JointGoal(f"{DOOR}.door::z_rotation", -5 * math.pi / 12, tolerance=0.05)
    while True:
        place = np.array([-0.148, -0.078, -0.089]) + rng.uniform([-0.005, -0.01, -0.01], [0, 0.01, 0.01])
        q0 = at_hand(system, DOOR, dict(enumerate(fingers)), place)
        yield Case(q0, system.commanded(q0), [handle, door])


def plate_system() -> qs.System:
    return qs.load(MODELS / f"{PLATE}.yml", set={"step.size": 0.1, "step.contact_margin": 0.05, "step.relaxation": 1})


def plate_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """Upright against the wall; it lies on the floor beside it, the hand a few centimetres above."""
    up = [math.sqrt(0.5), math.sqrt(0.5), 0, 0, 0, -0.45, 0.15]
    goal = qs.PoseGoal(f"{PLATE}/plate::box", up, angle=0.1, distance=0.1, counts=(True, True, True, False, False, False))
    while True:
        place = np.array([0, -0.35, 0.13]) + rng.uniform([-0.02, -0.02, 0], [0.02, 0.02, 0.01])
        q0 = at_hand(system, PLATE, {12: 0.3}, place)
        q0[[system.coordinates.index(f"{PLATE}.plate::box.{axis}") for axis in "xyz"]] = 0, -0.35, 0.07
        yield Case(q0, system.commanded(q0), goal)


PEN = "allegro_hand_pen"


def pen_system() -> qs.System:
    return qs.load(MODELS / f"{PEN}.yml", set={"step.size": 0.1, "step.contact_margin": 0.05, "step.relaxation": 1})


def pen_cases(system: qs.System, rng: np.random.Generator) -> Iterator[Case]:
    """The pen is lifted and turned, by 0.3, 0.2 and 1 rad and 0.15 m along each axis, as in the peer's example; two centimetres around."""
    fingers = [0.035, 0.753, 0.741, 0.833, -0.144, 0.747, 0.619, 0.701, -0.069, 0.785, 0.829, 0.904, 0.633, 1.024, 0.641, 0.824]
    pose = turned(turned(turned(np.array([1.0, 0, 0, 0, 0.15, 0.15, 0.15]), np.array([0.3, 0, 0])), np.array([0, 0.2, 0])), np.array([0, 0, 1.0]))
    while True:
        q0 = at_hand(system, PEN, dict(enumerate(fingers)), rng.uniform(-0.005, 0.005, 3))
        q0[[system.coordinates.index(f"{PEN}.pen::pen.{axis}") for axis in "xyz"]] = -0.085, 0.012, 0.05
        there = pose + [0, 0, 0, 0, *rng.uniform(-0.02, 0.02, 3)]
        yield Case(q0, system.commanded(q0), qs.PoseGoal(f"{PEN}/pen::pen", there, angle=0.1, distance=0.02))


# --- closed loop: plans are made again from where a plant is, whose mass and friction are others ---


class OwnPlant:
    """The step itself, in steps of a tenth; mass and frictions of the box are scaled."""

    def __init__(self, case: Case, h: float, mass: float, friction: float) -> None:
        self.system = qs.load(PUSHER_SCENE, set={
            "models.box.mass": 0.5 * mass,
            "models.box.support.friction": 0.3 * friction,
            "friction.default": 0.4 * friction,
        })  # fmt: skip
        self.q, self.h = case.q0.copy(), h / 10
        self.most = 1.1 * 9.81 * 0.5 * mass * 0.3 * friction

    def advance(self, before: np.ndarray, u: np.ndarray, side: np.ndarray | None) -> None:
        for k in range(10):
            push = [] if side is None or k >= 2 else [qs.Wrench("box", force=(*(self.most * side), 0))]
            self.q, _ = self.system.step(self.q, before + (k + 1) / 10 * (u - before), h=self.h, wrenches=push)


class MujocoPlant:
    """A free box on a plane, and a finger on position servos, in steps of 1 ms."""

    def __init__(self, case: Case, h: float, mass: float, friction: float) -> None:
        model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option timestep="0.001" cone="elliptic" impratio="10" integrator="implicitfast"/>
<worldbody>
<geom name="floor" type="plane" size="2 2 1"/>
<body name="box" pos="0 0 0.02"><freejoint/><geom name="box" type="box" size="0.06 0.06 0.02" mass="{0.5 * mass}"/></body>
<body name="finger" pos="0 0 0.02" gravcomp="1">
<joint name="x" type="slide" axis="1 0 0" damping="12"/><joint name="y" type="slide" axis="0 1 0" damping="12"/>
<geom name="finger" type="sphere" size="0.015" mass="0.1"/></body>
</worldbody>
<contact>
<pair geom1="floor" geom2="box" condim="3" friction="{0.3 * friction} {0.3 * friction} 0.005 0.0001 0.0001"/>
<pair geom1="finger" geom2="box" condim="3" friction="{0.4 * friction} {0.4 * friction} 0.005 0.0001 0.0001"/>
</contact>
<actuator><position joint="x" kp="400"/><position joint="y" kp="400"/></actuator>
</mujoco>""")
        self.model, self.data = model, mujoco.MjData(model)
        self.data.qpos[7:9] = case.q0[:2]
        self.steps = round(h / 0.001)
        self.most = 1.1 * 9.81 * 0.5 * mass * 0.3 * friction

    @property
    def q(self) -> np.ndarray:
        """The configuration of the planar scene: finger x, y; box x, y, angle."""
        box, finger = self.data.qpos[:7], self.data.qpos[7:9]
        return np.array([*finger, *box[:2], 2 * math.atan2(box[6], box[3])])

    def advance(self, before: np.ndarray, u: np.ndarray, side: np.ndarray | None) -> None:
        for k in range(self.steps):
            self.data.ctrl[:] = before + (k + 1) / self.steps * (u - before)
            pushed = side is not None and 5 * k < self.steps
            self.data.xfrc_applied[1, :2] = self.most * side if pushed else 0
            mujoco.mj_step(self.model, self.data)


def in_loop(system: qs.System, case: Case, plant: Any, settings: dict[str, Any], rng: np.random.Generator) -> bool:
    """Follows a plan until the box is off it by a tolerance, then plans again; every tenth step pushes it aside."""
    u, taken = case.u0, 0
    for attempt in range(30):
        plan = system.plan(case.goal, q0=plant.q, u0=u, threads=1, seed=attempt, **settings)
        if plan.solved and not len(plan.u):
            return True
        for command, planned in zip(plan.u, plan.q[1:], strict=True):
            if taken == 200:
                return False
            way = rng.uniform(-np.pi, np.pi)
            side = np.array([math.cos(way), math.sin(way)]) if taken % 10 == 9 else None
            plant.advance(u, command, side)
            u, taken = command, taken + 1
            off = np.abs(plant.q - planned)[2:]
            if math.hypot(*off[:2]) > case.goal.distance or off[2] > case.goal.angle:
                break
    return False


def loop_rows(n: int, seed: int) -> list[str]:
    """Shares of goals that closed loops reach, by plant."""
    h = 0.1
    settings = {**PUSHER, "steps": 400, "patience": 8, "attempts": 10, "regrasps": BOX_GRASP}
    rows = []
    for name, kind, spread in [("ours, as planned", OwnPlant, 0.0), ("ours", OwnPlant, 0.3), ("MuJoCo", MujocoPlant, 0.3)]:
        # MuJoCo's box touches the floor at its corners
        spin = 0.0849 if kind is MujocoPlant else 0.046
        system = qs.load(PUSHER_SCENE, set={"models.box.support.spin_radius": spin, "step.contact_margin": 0.1})
        rng = np.random.default_rng(seed)
        cases, reached = pusher_cases(system, np.random.default_rng(seed)), 0
        began = time.process_time()
        for index in range(n):
            case, (mass, friction) = next(cases), 1 + rng.uniform(-spread, spread, 2)
            reached += in_loop(system, case, kind(case, h, mass, friction), settings, rng)
            print(f"\rclosed loop, {name}: {reached} of {index + 1}", end="", file=sys.stderr)
        print(file=sys.stderr)
        low, high = interval(reached, n)
        each = (time.process_time() - began) / n
        share = f"{reached} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"
        rows.append(said(f"| {name} | ± {100 * spread:.0f} % | {share} | {each:.2f} |"))
    return rows


HAND = {"region": 0.1, "horizon": 4, "patience": 5, "attempts": 100}
PLANAR_GRASP = qs.Regrasp(HAND_LINKS, BALL, HAND_RANGES, distance=1e-3)
BALL_GRASPS = [
    qs.Regrasp(tips, BALL, distance=1e-3)
    for tips in (TIPS, [TIPS[0], *TIPS[2:]], [TIPS[1], TIPS[3]], [*TIPS[:2], TIPS[3]])
]
ANY_BALL = {**HAND, "steps": 600, "kappa": (1e-3, 1e-4), "regrasps": BALL_GRASPS}
BOX_GRASP = qs.Regrasp("finger", "box", {"finger.x": (-0.5, 0.5), "finger.y": (-0.5, 0.5)}, clearance=0.005, distance=1e-3)
PUSHER = {"region": 0.02, "rates": 0.5, "lower": -0.6, "upper": 0.6, "steps": 150}
TASKS = [
    Task("planar hand turns a ball", "0.01 rad, 10 mm", "≥ 80 %, 0.05 s", hand_system, hand_cases, HAND),
    Task("Allegro hand turns a ball", "0.1 rad, 10 mm", "≥ 98 %, 0.3 s", ball_system, ball_cases(0.1), HAND),
    Task("Allegro hand turns a ball", "0.03 rad, 10 mm", "≥ 90 %, 0.3 s", ball_system, ball_cases(0.03), HAND),
    Task("finger pushes a box, local", "0.05 rad, 5 mm", "≥ 60 %, 3 s", wide_pusher_system, pusher_cases,
         {**PUSHER, "patience": 20}),
    Task("finger pushes a box, MPPI", "0.05 rad, 5 mm", "≥ 90 %, 3 s", pusher_system, pusher_cases,
         {**PUSHER, "planner": "mppi", "horizon": 12}),
    Task("Panda pushes a box", "0.05 rad, 5 mm", "≥ 90 %, 2 s", panda_system, panda_cases,
         {"region": 0.1, "rates": 1.0, "horizon": 6, "kappa": (1e-3, 1e-4, 1e-5)}, 4),
    Task("Allegro hand opens a door", "0.05 rad, handle 0.2 rad", "solved, 10 s", door_system, door_cases,
         {"region": 0.1, "horizon": 4, "rates": 2.0}, 10),
    Task("Allegro hand tips a plate", "0.1 rad", "solved, 10 s", plate_system, plate_cases,
         {"region": 0.15, "horizon": 6, "rates": 1.5, "attempts": 60}, 10),
    Task("Allegro hand lifts and turns a pen", "0.1 rad, 20 mm", "solved, 30 s", pen_system, pen_cases,
         {"region": 0.1, "horizon": 6, "patience": 8, "attempts": 60, "steps": 400}, 10),
    Task("Panda pushes a box between obstacles", "0.05 rad, 5 mm", "solved, 30 s", obstacles_system, obstacles_cases,
         {"region": 0.1, "rates": 1.0, "horizon": 6, "kappa": (1e-3, 1e-4, 1e-5)}, 10),
    Task("planar hand turns a ball by up to π, regrasps", "0.01 rad, 10 mm", "all, 1 s", hand_system, any_hand_cases,
         {**HAND, "steps": 400, "regrasps": PLANAR_GRASP}),
    Task("two planar arms move a cylinder, regrasps", "0.01 rad, 10 mm", "≥ 98 %, 5 s", arms_system, arms_cases,
         {**HAND, "steps": 600, "regrasps": arms_regrasps()}),
    Task("Allegro hand turns a ball by up to π, regrasps", "0.1 rad, 10 mm", "≥ 95 %, 3 s", ball_system, any_ball_cases(0.1), ANY_BALL),
    Task("Allegro hand turns a ball by up to π, regrasps", "0.03 rad, 10 mm", "≥ 95 %", ball_system, any_ball_cases(0.03), ANY_BALL),
    Task("finger pushes a box, regrasps", "0.05 rad, 5 mm", "all, 1 s", wide_pusher_system, pusher_cases,
         {**PUSHER, "steps": 400, "patience": 8, "attempts": 100, "regrasps": BOX_GRASP}),
]  # fmt: skip


#: Tasks whose goals share one start, and their tolerances.
ON_ROADMAPS = [("finger pushes a box, regrasps", "0.05 rad, 5 mm"), ("Allegro hand turns a ball by up to π, regrasps", "0.1 rad, 10 mm")]


# --- the tasks in closed loop: a plan is followed by a controller, on MuJoCo's model of the scene ---


@dataclass
class Loop:
    """A task on a plant of MuJoCo: which scene file it is converted from, and what is moved."""

    task: str
    tolerance: str
    scene: Path
    trials: int
    changes: tuple[str, ...] = ()
    # of the system that plans and predicts
    system: dict[str, Any] = field(default_factory=dict)
    # of the plans
    settings: dict[str, Any] = field(default_factory=dict)
    # the share of its squeeze with which a grasp of the start is held before the loop begins
    squeeze: float = 1.0


FLOATING = ("gravity=[0,0,0]",)
EXACT = {"step.friction": "exact"}
# the least that the plant may have, 0.7 of 0.8
LEAST_FRICTION = {"friction.pairs": [{"a": "hand/*", "b": BALL, "mu": 0.56}]}
LOOPS = [
    Loop("planar hand turns a ball", "0.01 rad, 10 mm", ROOT / "scenes/peer/planar_hand.yml", 10, FLOATING, {**EXACT, **LEAST_FRICTION},
         {"rates": 0.5, "regrasps": PLANAR_GRASP, "steps": 400, "attempts": 40}),
    Loop("Allegro hand turns a ball", "0.1 rad, 10 mm", ROOT / "scenes/peer/allegro_ball.yml", 10, (), EXACT, {"rates": 0.3}, 0.1),
]
# of a loop: most steps and plans, steps that the controller sees ahead, and steps at the goal in a row that end it
LOOP_STEPS, LOOP_PLANS, LOOP_HORIZON, AT_GOAL = 600, 40, 4, 5
# in tolerances: so far off its plan a body is planned for again, and so far from the goal it is lost
OFF, LOST = 5.0, 1000.0


def on_plant(system: qs.System, task: Task, loop: Loop, case: Case, plant: ScenePlant) -> tuple[bool, float, int]:
    """Whether the goal is reached and kept on the plant, the error at the end in tolerances, and the number of plans."""
    goal, free = case.goal, np.full(system.n_u, np.inf)
    weights = Weights(place=goal.distance**-2, turn=goal.angle**-2, before=0.3, command=400)
    controller = Controller(system, goal.frame, weights, kappa=1e-3, horizon=LOOP_HORIZON, reach=0.1, bounds=(-free, free))
    # a plan is to have a margin
    near = replace(goal, angle=goal.angle / 2, distance=goal.distance / 2)
    taken = plans = kept = 0
    while taken < LOOP_STEPS and plans < LOOP_PLANS:
        settings = {**task.settings, "attempts": 8, **loop.settings}
        plan = system.plan(near, q0=plant.q, u0=plant.u, threads=1, seed=plans, **settings)
        plans += 1
        for k in range(len(plan.u) + 2 * AT_GOAL):
            off = 0.0
            if len(plan.u):
                ahead = np.minimum(np.arange(k, k + LOOP_HORIZON), len(plan.u) - 1)
                wanted = controller.command(plant.q, system.pose(goal.frame, plan.q[ahead + 1]), plan.u[ahead])
                plant.advance(plant.u + np.clip(wanted - plant.u, -0.1, 0.1), system.h)
                there = replace(goal, pose=system.pose(goal.frame, plan.q[ahead[0] + 1]))
                off = system.goal_errors(there, plant.q)[3]
            else:
                plant.advance(plant.u, system.h)
            taken += 1
            error = float(system.goal_errors(goal, plant.q)[3])
            kept = kept + 1 if error <= 1 else 0
            if kept == AT_GOAL or off > OFF or taken == LOOP_STEPS:
                break
        # what has fallen off its support does not come back
        if kept == AT_GOAL or error > LOST:
            break
    return kept == AT_GOAL, error, plans


def plant_row(loop: Loop, seed: int) -> str:
    """A row of the table of plants."""
    task = next(task for task in TASKS if task.name == loop.task and task.tolerance == loop.tolerance)
    system = task.system().with_(loop.system)
    cases, rng = task.cases(system, np.random.default_rng(seed)), np.random.default_rng(seed)
    ends, began = [], time.process_time()
    for index in range(loop.trials):
        case, (mass, friction) = next(cases), 1 + rng.uniform(-0.3, 0.3, 2)
        plant = ScenePlant(system, loop.scene, loop.changes, case.q0, case.u0, mass, friction)
        if loop.squeeze < 1:
            still = system.commanded(case.q0)
            plant.u = still + loop.squeeze * (case.u0 - still)
            plant.advance(plant.u, 10 * system.h)
        ends.append(on_plant(system, task, loop, case, plant))
        print(f"\r{loop.task}, MuJoCo: {sum(end[0] for end in ends)} of {index + 1}", end="", file=sys.stderr)
    print(file=sys.stderr)
    reached, n = sum(end[0] for end in ends), loop.trials
    low, high = interval(reached, n)
    share = f"{reached} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"
    cpu = (time.process_time() - began) / n
    return said(f"| {loop.task} | {loop.tolerance} | {share} | {median(end[1] for end in ends):.2f} | {median(end[2] for end in ends):.0f} | {cpu:.1f} |")


def interval(solved: int, n: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    z, p = 1.96, solved / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def changes_of_contact(system: qs.System, plan: qs.GoalPlan) -> int:
    """How often a pair of bodies begins or ceases to press, seen at the ends of the steps of a plan."""
    contacts = system.simulate_plan(plan).contacts
    at_ends = contacts[(contacts["step"] % 10 == 0) & (contacts["fn"] > 0)]
    pairs: list[set[tuple[int, int]]] = [set() for _ in plan.q]
    for contact in at_ends:
        pairs[contact["step"] // 10].add((contact["a"], contact["b"]))
    return sum(len(now ^ then) for now, then in zip(pairs[1:], pairs[2:], strict=False))


def row(task: Task, n: int, seed: int, changes: dict[str, Any]) -> str:
    """Plans to n goals; a row of the table."""
    system = task.system()
    cases = task.cases(system, np.random.default_rng(seed))
    cpu: dict[bool, list[float]] = {True: [], False: []}
    for index in range(n):
        case = next(cases)
        began = time.process_time()
        plan = system.plan(case.goal, q0=case.q0, u0=case.u0, threads=1, seed=index, **{**task.settings, **changes})
        cpu[plan.solved].append(time.process_time() - began)
        print(f"\r{task.name}, {task.tolerance}: {len(cpu[True])} of {index + 1}", end="", file=sys.stderr)
    print(file=sys.stderr)
    solved, times = len(cpu[True]), sorted(cpu[True])
    low, high = interval(solved, n)
    share = f"{solved} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"
    middle, late = (f"{median(times):.3f}", f"{times[int(0.95 * len(times))]:.2f}") if times else ("–", "–")
    missed = f"{median(cpu[False]):.2f}" if cpu[False] else "–"
    return said(f"| {task.name} | {task.tolerance} | {task.wanted} | {share} | {middle} | {late} | {missed} |")


def long_rows(n: int, seed: int) -> list[str]:
    """Plans to four goals in turn, as they are found and with shortcuts; rows of their table."""
    system = wide_pusher_system()
    settings = {**PUSHER, "steps": 1600, "patience": 8, "attempts": 400, "regrasps": BOX_GRASP}
    rows = []
    for shortcuts in (0, 80):
        cases = tour_cases(system, np.random.default_rng(seed))
        cpu, plans = [], []
        for index in range(n):
            case = next(cases)
            began = time.process_time()
            plan = system.plan(case.goal, q0=case.q0, u0=case.u0, threads=1, seed=index, shortcuts=shortcuts, **settings)
            cpu.append(time.process_time() - began)
            plans += [plan] if plan.solved else []
            print(f"\rlong plans, {shortcuts} shortcuts: {len(plans)} of {index + 1}", end="", file=sys.stderr)
        print(file=sys.stderr)
        low, high = interval(len(plans), n)
        share = f"{len(plans)} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"
        times = f"{median(cpu):.2f} | {sorted(cpu)[int(0.95 * n)]:.2f}"
        length = median(plan.h * len(plan.u) for plan in plans) if plans else math.nan
        changes = median(changes_of_contact(system, plan) for plan in plans) if plans else math.nan
        rows.append(said(f"| {shortcuts} | {share} | {times} | {length:.1f} | {changes:.0f} |"))
    return rows


def roadmap_row(task: Task, n: int, seed: int, build: float = 60.0) -> str:
    """A roadmap of a minute of CPU time, by goals of another seed; then plans to n goals on it."""
    system = task.system()
    cases = task.cases(system, np.random.default_rng(seed + 1000))
    first = next(cases)
    roadmap = qs.Roadmap(system, first.q0, first.u0)
    plan = lambda case, index, **more: system.plan(case.goal, threads=1, seed=index, roadmap=roadmap, **{**task.settings, **more})
    began, index = time.process_time(), 0
    while time.process_time() - began < build:
        plan(next(cases), index, attempts=20)
        index += 1
    states, took = len(roadmap), time.process_time() - began
    cpu: list[float] = []
    solved, cases = 0, task.cases(system, np.random.default_rng(seed))
    for index in range(n):
        began = time.process_time()
        solved += plan(next(cases), index).solved
        cpu.append(time.process_time() - began)
        print(f"\r{task.name}, roadmap: {solved} of {index + 1}", end="", file=sys.stderr)
    print(file=sys.stderr)
    low, high = interval(solved, n)
    times = sorted(cpu)
    share = f"{solved} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"
    return said(f"| {task.name} | {took:.0f} | {states} | {share} | {median(times):.2f} | {times[int(0.95 * n)]:.2f} |")


def said(line: str) -> str:
    """A line, which is printed as soon as it is known."""
    print(line, flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(prog="validation/run plans", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goals", type=int, default=100, metavar="N", help="goals of each task (100)")
    parser.add_argument("--seed", type=int, default=1, help="of goals and planners (1)")
    parser.add_argument("--only", metavar="WORD", help="only tasks whose name has it, or loop, plants or roadmap; no file is written")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of planners, as of System.plan")
    arguments = parser.parse_args()
    changes = {key: eval(value) for key, _, value in (pair.partition("=") for pair in arguments.set)}  # noqa: S307
    tasks = [task for task in TASKS if arguments.only is None or arguments.only in task.name]
    rows = [row(task, max(arguments.goals // task.share, 1), arguments.seed, changes) for task in tasks]
    table = "\n".join([
        "| task | tolerance | wanted | solved (95 % interval) | CPU s, median | 95 % | where not solved |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ])  # fmt: skip
    head = f"{date.today()}, {cpu_model()}, {versions()}; one thread, goals of seed {arguments.seed}"
    loop = "\n".join([
        "| plant | mass and friction | reached (95 % interval) | CPU s a goal |",
        "|---|---|---|---|",
        *(loop_rows(max(arguments.goals // 10, 1), arguments.seed) if arguments.only in {None, "loop"} else []),
    ])  # fmt: skip
    plants = "\n".join([
        "| task | tolerance | reached (95 % interval) | error at the end in tolerances, median | plans, median | CPU s a trial |",
        "|---|---|---|---|---|---|",
        *(plant_row(loop, arguments.seed) for loop in LOOPS if arguments.only in {None, "plants"}),
    ])  # fmt: skip
    shared = [task for task in TASKS if (task.name, task.tolerance) in ON_ROADMAPS and arguments.only in {None, "roadmap"}]
    roads = "\n".join([
        "| task | CPU s to make it | states | solved (95 % interval) | CPU s a goal, median | 95 % |",
        "|---|---|---|---|---|---|",
        *(roadmap_row(task, arguments.goals, arguments.seed) for task in shared),
    ])  # fmt: skip
    long = "\n".join([
        "| shortcuts | solved (95 % interval) | CPU s, median | 95 % | length, s | changes of contact |",
        "|---|---|---|---|---|---|",
        *(long_rows(max(arguments.goals // 5, 1), arguments.seed) if arguments.only in {None, "long"} else []),
    ])  # fmt: skip
    text = f"# Plans to random goals\n\n{head}\n\n{table}\n\nClosed loop of the finger: planned again where the box is off the plan by a tolerance, pushed aside every ten steps:\n\n{loop}\n\nOther tasks on MuJoCo's model of their scenes, mass and friction ± 30 % (`--only plants`); a controller on the linearised relaxed step follows plans:\n\n{plants}\n\nOn a roadmap from one start, whose goals were others:\n\n{roads}\n\nLong plans: the finger brings the box to four random poses in turn, as the plans are found and made shorter:\n\n{long}\n"
    if arguments.only is None and not changes:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
