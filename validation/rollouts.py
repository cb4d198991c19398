"""Random pushes as a planner rolls them out: rollouts per CPU second, and how far off they end.

A round finger on springs follows a straight command for two seconds and pushes a box that lies on a
floor with friction. The error of a rollout is the distance between where the box ends and where it
ends in the same engine's run with small steps.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

import mujoco
import numpy as np
import quasistep as qs
from mujoco import rollout

from machine import cpu_model, versions

RESULTS = Path(__file__).resolve().parent / "results/rollouts.md"
DURATION = 2.0  # s
SIZE, MASS = (0.12, 0.08, 0.06), 0.5  # m, kg, of the box
RADIUS, STIFFNESS = 0.01, 1000.0  # m, N/m, of the finger
APART = 0.09  # m, from the box's middle to the finger's, along the push; they do not touch there
# MuJoCo's finger has a mass, and the damping that keeps it from swinging
FINGER_MASS, FINGER_DAMPING = 0.1, 20.0  # kg, N·s/m
# mean distance of a point of the box's face from its centre
SPIN_RADIUS = 0.0387  # m
GOOD = 1.0  # mm, median error of a step size that counts

MUJOCO_STEPS = (0.002, 0.004, 0.005, 0.00625, 0.008, 0.01, 0.0125)
MUJOCO_FINE = 0.00025
EULER_STEPS = (0.4, 0.2, 0.1, 0.08, 0.05, 0.02)
MIDPOINT_STEPS = (0.5, 0.4, 0.25, 0.2, 0.1, 0.05)
QUASISTEP_FINE = 0.001
PLAIN = 'iterations="100"'
QUICK = 'tolerance="1e-5"'


@dataclass
class Pushes:
    """Pushes in batches: a row for each, and the friction of each batch."""

    pose: np.ndarray  # x, y, angle of the box
    start: np.ndarray  # x, y of the finger
    velocity: np.ndarray  # of the finger's command
    floor: np.ndarray  # friction of floor and box, for each batch
    tip: np.ndarray  # friction of finger and box, for each batch

    def commands(self, h: float) -> np.ndarray:
        """Commands at the ends of all steps."""
        t = h * np.arange(1, round(DURATION / h) + 1)
        return self.start[:, None] + t[None, :, None] * self.velocity[:, None]

    def batch(self, k: int) -> slice:
        """The rows of a batch."""
        size = len(self.pose) // len(self.floor)
        return slice(k * size, (k + 1) * size)


def random_pushes(batches: int, size: int, seed: int) -> Pushes:
    """Random pushes; each batch has a friction of its own."""
    rng = np.random.default_rng(seed)
    n = batches * size
    pose = rng.uniform([-0.2, -0.2, -np.pi], [0.2, 0.2, np.pi], (n, 3))
    way = rng.uniform(-np.pi, np.pi, n)
    along = np.stack([np.cos(way), np.sin(way)], axis=1)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    offset = rng.uniform(-0.03, 0.03, (n, 1))
    speed = rng.uniform(0.03, 0.1, (n, 1))
    start = pose[:, :2] - APART * along + offset * across
    floor, tip = rng.uniform(0.2, 0.6, batches), rng.uniform(0.1, 0.6, batches)
    return Pushes(pose, start, speed * along, floor, tip)


@dataclass
class Run:
    """CPU time of all rollouts, and where the box ends in each."""

    cpu_s: float
    ends: np.ndarray


class Quasistep:
    """A free box on the floor, or one on a planar joint that rubs; everything else by default."""

    def __init__(self, pushes: Pushes, integration: str, planar: bool) -> None:
        self.name = f"quasistep, {'planar joint, ' if planar else ''}{integration}"
        self.group = "quasistep, planar joint" if planar else "quasistep"
        self.fine_key = self.group
        self.pushes, self.integration, self.planar = pushes, integration, planar
        frictions = zip(pushes.floor, pushes.tip, strict=True)
        self.systems = [self.system(floor, tip) for floor, tip in frictions]
        names = self.systems[0].coordinates
        places = ("x", "y", "theta") if planar else ("x", "y", "qw", "qz")
        self.box = [names.index(f"box.{place}") for place in places]
        self.finger = names.indices("finger.*")

    def system(self, floor: float, tip: float) -> qs.System:
        rests = "{joint: fixed, shape: {half_space: {}}}"
        support = f"{{friction: {floor}, spin_radius: {SPIN_RADIUS}}}"
        joint = f"joint: planar\n    support: {support}" if self.planar else "joint: free"
        models = "" if self.planar else f"  floor: {rests}\n"
        pair = "" if self.planar else f"{{a: floor, b: box, mu: {floor}}}, "
        exclude = "" if self.planar else "collisions: {exclude: [[finger, floor]]}\n"
        height = SIZE[2] / 2
        return qs.loads(f"""
format: 1
step: {{size: 0.1, duration: {DURATION}, integration: {self.integration}}}
friction: {{pairs: [{pair}{{a: finger, b: box, mu: {tip}}}]}}
models:
{models}  box:
    mass: {MASS}
    pose: {{xyz: [0, 0, {height}]}}
    shape: {{box: {{size: [{SIZE[0]}, {SIZE[1]}, {SIZE[2]}]}}}}
    {joint}
  finger:
    gravity: false
    joint:
      - {{slide: x, axis: [1, 0, 0], stiffness: {STIFFNESS}}}
      - {{slide: y, axis: [0, 1, 0], stiffness: {STIFFNESS}}}
    pose: {{xyz: [0, 0, {height}]}}
    shape: {{sphere: {{radius: {RADIUS}}}}}
{exclude}""")

    def run(self, h: float) -> Run:
        """All rollouts, in one call for each batch."""
        pushes = self.pushes
        x, y, angle = pushes.pose.T
        half = (np.cos(angle / 2), np.sin(angle / 2))
        q0 = np.repeat(self.systems[0].q0[None], len(x), axis=0)
        q0[:, self.finger] = pushes.start
        q0[:, self.box] = np.stack([x, y, angle] if self.planar else [x, y, *half], axis=1)
        u = pushes.commands(h)
        ends = []
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", qs.BatchWarning)
            for k, system in enumerate(self.systems):
                rows = pushes.batch(k)
                ends.append(
                    system.simulate_batch(u[rows], q0=q0[rows], h=h, keep="last", threads=1)
                )
        spent = time.process_time() - begun
        return Run(spent, np.concatenate(ends)[:, self.box[:2]])


class Mujoco:
    """MuJoCo with `mujoco.rollout`: a loop over its steps in C, on the calling thread."""

    group = "MuJoCo"

    def __init__(self, pushes: Pushes, name: str, cone: str, option: str, flag: str = "") -> None:
        self.name = self.fine_key = f"MuJoCo, {name}"
        self.pushes, self.cone, self.option, self.flag = pushes, cone, option, flag
        self.made: dict[float, list[mujoco.MjModel]] = {}

    def model(self, h: float, floor: float, tip: float) -> mujoco.MjModel:
        height, half = SIZE[2] / 2, " ".join(str(s / 2) for s in SIZE)
        drives = "".join(
            f'<position joint="{j}" kp="{STIFFNESS}" kv="{FINGER_DAMPING}"/>' for j in "xy"
        )
        return mujoco.MjModel.from_xml_string(f"""
<mujoco>
<option timestep="{h}" cone="{self.cone}" integrator="implicitfast" {self.option}>
<flag {self.flag}/></option>
<worldbody>
<geom name="floor" type="plane" size="0 0 1"/>
<body name="box" pos="0 0 {height}"><freejoint/>
<geom name="box" type="box" size="{half}" mass="{MASS}"/></body>
<body name="finger" pos="0 0 {height}" gravcomp="1">
<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
<geom name="finger" type="sphere" size="{RADIUS}" mass="{FINGER_MASS}" contype="0" conaffinity="0"/>
</body></worldbody>
<contact>
<pair geom1="floor" geom2="box" condim="3" friction="{floor} {floor} 0.005 0.0001 0.0001"/>
<pair geom1="finger" geom2="box" condim="3" friction="{tip} {tip} 0.005 0.0001 0.0001"/>
</contact>
<actuator>{drives}</actuator>
</mujoco>""")

    def models(self, h: float) -> list[mujoco.MjModel]:
        """A model for each push, made once for each step size."""
        if h not in self.made:
            pairs = zip(self.pushes.floor, self.pushes.tip, strict=True)
            of_batches = [self.model(h, floor, tip) for floor, tip in pairs]
            size = len(self.pushes.pose) // len(of_batches)
            self.made[h] = [model for model in of_batches for _ in range(size)]
        return self.made[h]

    def run(self, h: float) -> Run:
        """All rollouts, in one call."""
        models = self.models(h)
        data = mujoco.MjData(models[0])
        state = mujoco.mjtState.mjSTATE_FULLPHYSICS
        starts = np.empty((len(models), mujoco.mj_stateSize(models[0], state)))
        for row, (x, y, angle), finger in zip(
            starts, self.pushes.pose, self.pushes.start, strict=True
        ):
            quaternion = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
            data.qpos[:] = [x, y, SIZE[2] / 2, *quaternion, *finger]
            mujoco.mj_getState(models[0], data, row, state)
        u = self.pushes.commands(h)
        with rollout.Rollout(nthread=0) as pool:
            begun = time.process_time()
            states, _ = pool.rollout(models, data, starts, u)
            spent = time.process_time() - begun
        # time stands before the configuration
        return Run(spent, states[:, -1, 1:3])


@dataclass
class Setup:
    """An engine at a step size, and its runs."""

    engine: Quasistep | Mujoco
    h: float
    runs: list[Run] = field(default_factory=list)
    fine: np.ndarray | None = None

    def per_second(self) -> float:
        """Rollouts per CPU second."""
        return len(self.runs[0].ends) / median(run.cpu_s for run in self.runs)

    def errors(self) -> np.ndarray:
        """Errors in mm, ascending; rollouts that ended early are off without bound."""
        off = 1e3 * np.linalg.norm(self.runs[0].ends - self.fine, axis=1)
        return np.sort(np.where(np.isnan(off), np.inf, off))

    def row(self) -> list[str]:
        errors, steps = self.errors(), round(DURATION / self.h)
        rate = self.per_second()
        return [
            self.engine.name,
            f"{1e3 * self.h:g}",
            f"{rate:.0f}",
            f"{1e6 / rate / steps:.1f}",
            f"{np.median(errors):.2f}",
            f"{errors[int(0.95 * len(errors))]:.2f}",
            f"{np.isinf(errors).sum()}",
        ]


def measured(setups: Sequence[Setup], repetitions: int, say: Callable[[str], None]) -> None:
    """Runs everything, in turns, and each engine's own fine run once."""
    fine: dict[str, np.ndarray] = {}
    for setup in setups:
        key = setup.engine.fine_key
        if key not in fine:
            say(f"small steps: {setup.engine.name}")
            small = MUJOCO_FINE if isinstance(setup.engine, Mujoco) else QUASISTEP_FINE
            fine[key] = setup.engine.run(small).ends
        setup.fine = fine[key]
    for k in range(repetitions):
        say(f"repetition {k + 1} of {repetitions}")
        for setup in setups:
            setup.runs.append(setup.engine.run(setup.h))


def table(setups: Sequence[Setup]) -> str:
    head = ["engine", "step, ms", "rollouts per CPU s", "µs a step"]
    head += ["median error, mm", "95 %, mm", "ended early"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *(setup.row() for setup in setups)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def headline(setups: Sequence[Setup]) -> str:
    """The most rollouts per CPU second with a median error of at most a millimetre, and ratios."""
    best: dict[str, Setup] = {}
    for setup in setups:
        group = setup.engine.group
        good = np.median(setup.errors()) <= GOOD
        if good and (group not in best or setup.per_second() > best[group].per_second()):
            best[group] = setup
    lines = []
    for group, setup in best.items():
        error = np.median(setup.errors())
        line = f"- **{group}: {setup.per_second():.0f} rollouts per CPU second at {error:.2f} mm**"
        line += f" ({setup.engine.name}, {1e3 * setup.h:g} ms)"
        if group != "MuJoCo" and "MuJoCo" in best:
            ratio = setup.per_second() / best["MuJoCo"].per_second()
            line += f", {ratio:.1f} times MuJoCo's"
        lines.append(line)
    return "\n".join(lines)


def heading(n: int, batches: int, repetitions: int) -> str:
    return f"""# Random pushes as rollouts

`validation/run rollouts` on {date.today()}, {cpu_model()}, Python {platform.python_version()},
{versions()}, MuJoCo {mujoco.__version__}.

{n} random pushes of {DURATION:g} s in {batches} batches, each with a friction of its own. A round
finger on springs pushes a box that lies on a floor. The error is the distance between where the box
ends and where it ends in the same engine's run with small steps ({1e3 * MUJOCO_FINE:g} ms in
MuJoCo, {1e3 * QUASISTEP_FINE:g} ms in quasistep). CPU time is that of the process in the calls that
roll out, one thread, the median of {repetitions} runs of each, in turns. Models are made before.
quasistep has exact friction with round cones, and its default relaxation. With a planar joint the
box rubs on its support and has no floor; MuJoCo has no such joint.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="validation/run rollouts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="default 7")
    parser.add_argument("--batches", type=int, default=4, metavar="N", help="default 4")
    parser.add_argument("--size", type=int, default=25, metavar="N", help="of a batch; default 25")
    parser.add_argument("--seed", type=int, default=0, help="of the pushes; default 0")
    parser.add_argument(
        "-o", "--out", type=Path, default=RESULTS, metavar="FILE",
        help="file to write; default validation/results/rollouts.md",
    )  # fmt: skip
    arguments = parser.parse_args()
    if min(arguments.repetitions, arguments.batches, arguments.size) < 1:
        parser.error("--repetitions, --batches and --size are at least 1")
    pushes = random_pushes(arguments.batches, arguments.size, arguments.seed)
    no_islands = 'island="disable"'
    theirs = [
        Mujoco(pushes, "elliptic cone", "elliptic", PLAIN),
        Mujoco(pushes, "elliptic cone, no islands, tolerance 1e-5", "elliptic", QUICK, no_islands),
        Mujoco(pushes, "pyramids, no islands, tolerance 1e-5", "pyramidal", QUICK, no_islands),
    ]
    setups = [Setup(engine, h) for engine in theirs for h in MUJOCO_STEPS]
    for planar in (False, True):
        # midpoint first: its fine run stands for both
        for integration, steps in (("midpoint", MIDPOINT_STEPS), ("euler", EULER_STEPS)):
            engine = Quasistep(pushes, integration, planar)
            setups += [Setup(engine, h) for h in steps]
    measured(setups, arguments.repetitions, lambda text: print(text, file=sys.stderr, flush=True))
    head = heading(len(pushes.pose), arguments.batches, arguments.repetitions)
    text = f"{head}\n{headline(setups)}\n\n{table(setups)}\n"
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
