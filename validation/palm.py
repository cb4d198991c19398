"""An Allegro hand turns a cube on its palm, MuJoCo as the plant: quasistep predicts, and ComFree's own code; its task and criteria.

Model file and code are those of asu-iris/Complementarity-Free-Dexterous-Manipulation, which has no licence: they are read where they lie. The
start, the goals, the plant's steps and what counts as success are those of its examples/mpc/allegro/cube: the cube anywhere near the
palm's middle, turned by up to 90° to either side; its goal exactly 90° to the left or right of that and 1 cm above the palm; a command
each 0.1 s, within 0.2 rad of where the joints are; success is 1 − (q·q*)² < 0.04 in 21 steps one after another, within 500.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
from collections import Counter
from datetime import date
from multiprocessing import Pool
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import mujoco
import numpy as np
import quasistep as qs
from control import Controller, Weights, rotation
from machine import cpu_model, versions
from plans import interval

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation/results/palm.md"
MODEL = "envs/xmls/env_allegro_cube.xml"
# of its params.py and test.py
START = [0.125, 1.13, 1.45, 1.24, -0.02, 0.445, 1.17, 1.5, -0.459, 1.54, 1.11, 1.23, 0.638, 1.85, 1.5, 1.26]
REACH, STEPS, HELD, NEAR = 0.2, 500, 20, 0.04
PLANT_STEPS, H = 50, 0.1
# how it ended, steps, errors in rad and m at the end, and the CPU time of each command in s
Trial = tuple[str, int, float, float, list[float]]
# m: its sites of fingertips on the last links
TIPS = {"ff": 0.0384, "mf": 0.0384, "rf": 0.0384, "th": 0.054}
# chosen by trials of seeds 2000 to 2119
WEIGHTS = Weights(place=10000, turn=25, before=0.1, tips=1, command=0.1)
SETTINGS = {"kappa": 1e-4, "horizon": 6, "scale": (3, 3, 1, 2, 2, 1)}
SCENE = """\
format: 1
title: An Allegro hand and a cube
# a cone of four edges takes a quarter of the time; objects resist a step's motion five times as much as their mass does
step: {{size: 0.1, friction: exact, inertia: mass, cone: 4, contact_margin: 0.03, passive_mass_scale: 5, max_overlap: .inf}}
models:
  scene: {{mjcf: "{model}"}}
# less than MuJoCo's, for safety
friction:
  pairs:
    - {{a: "scene/*_*", b: scene/obj, mu: 0.7}}
    - {{a: scene/palm, b: scene/obj, mu: 0.35}}
collisions:
  exclude: [[scene/palm, "scene/*_*"], ["scene/*_*", "scene/*_*"]]
"""


def model_system(model: Path) -> qs.System:
    """The hand and the cube, as quasistep predicts them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "palm.yml"
        path.write_text(SCENE.format(model=model.resolve()), encoding="utf-8")
        return qs.load(path)


def yawed(angle: float, place: np.ndarray) -> np.ndarray:
    """A pose that is turned about z."""
    return np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2), *place])


class Predicting:
    """quasistep's controller."""

    name = "quasistep predicts"

    def __init__(self, folder: Path, model: mujoco.MjModel) -> None:
        self.system = model_system(folder / MODEL)
        joint = lambda name: model.jnt_qposadr[model.joint(name).id]
        cube = joint("cube_table")
        names = [name.removeprefix("scene.") for name in self.system.coordinates]
        places = {f"cube_table.{part}": cube + k for k, part in enumerate(("x", "y", "z", "qw", "qx", "qy", "qz"))}
        self.places = [places[name] if name in places else joint(name) for name in names]
        driven = [model.joint(model.actuator_trnid[k, 0]).name for k in range(model.nu)]
        self.actuators = [driven.index(name.removeprefix("scene.")) for name in self.system.commands]
        tips = tuple(qs.Frame(f"scene/{finger}_distal", (0, 0, z)) for finger, z in TIPS.items())
        self.controller = Controller(
            self.system, "scene/obj", WEIGHTS, **SETTINGS, reach=REACH, tips=tips,
            bounds=tuple(model.actuator_ctrlrange[self.actuators].T),
        )  # fmt: skip

    def start(self, goal: np.ndarray) -> None:
        """Begins a trial."""
        self.controller.u, self.goals = None, np.tile(goal, (self.controller.horizon, 1))

    def command(self, data: mujoco.MjData) -> np.ndarray:
        """The next command of the actuators."""
        u = np.empty(len(self.actuators))
        u[self.actuators] = self.controller.command(data.qpos[self.places], self.goals)
        return u


class ComFree:
    """That of the authors, as their test runs it."""

    name = "ComFree, its own code"

    def __init__(self, folder: Path, model: mujoco.MjModel) -> None:
        sys.path.insert(0, str(folder))
        # its parameters name the model file from there
        os.chdir(folder)
        from contact.allegro_collision_detection import Contact
        from examples.mpc.allegro.cube.params import ExplicitMPCParams
        from planning.mpc_explicit import MPCExplicit

        parameters = ExplicitMPCParams()
        self.model, self.contact, self.planner = model, Contact(parameters), MPCExplicit(parameters)

    def start(self, goal: np.ndarray) -> None:
        """Begins a trial."""
        self.goal, self.guess = goal, None

    def command(self, data: mujoco.MjData) -> np.ndarray:
        """The next command of the actuators."""
        q = np.concatenate([data.qpos[16:], data.qpos[:16]])
        rows = self.contact.detect_once(SimpleNamespace(model_=self.model, data_=data))
        with contextlib.redirect_stdout(io.StringIO()):
            plan = self.planner.plan_once(self.goal[4:], self.goal[:4], q, *rows, sol_guess=self.guess)
        self.guess = plan["sol_guess"]
        return q[7:] + plan["action"]


class Palm:
    """The plant, and those who command it."""

    def __init__(self, folder: Path) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(folder / MODEL))
        self.pose = self.model.jnt_qposadr[self.model.joint("cube_table").id] + np.array([3, 4, 5, 6, 0, 1, 2])
        self.controllers = [kind(folder, self.model) for kind in (Predicting, ComFree)]

    def trial(self, seed: int, controller: Predicting | ComFree) -> Trial:
        """Runs a trial."""
        rng, data = np.random.default_rng(seed), mujoco.MjData(self.model)
        place = np.array([-0.03, -0.01]) + 0.005 * rng.standard_normal(2)
        yaw = rng.uniform(-np.pi / 2, np.pi / 2)
        goal = yawed(yaw + rng.choice([-np.pi / 2, np.pi / 2]), np.array([-0.01, 0, 0.05]))
        data.qpos[:16] = START
        data.qpos[self.pose] = yawed(yaw, np.array([*place, 0.04]))
        mujoco.mj_forward(self.model, data)
        controller.start(goal)
        held, cpu = 0, []
        for step in range(1, STEPS + 1):  # noqa: B007
            began = time.process_time()
            data.ctrl[:] = controller.command(data)
            cpu.append(time.process_time() - began)
            mujoco.mj_step(self.model, data, PLANT_STEPS)
            pose = data.qpos[self.pose]
            held = held + 1 if 1 - (pose[:4] @ goal[:4]) ** 2 < NEAR else 0
            # a cube that has fallen beside the palm stays there
            if held > HELD or pose[6] < 0:
                break
        upright = 1 - 2 * (pose[1] ** 2 + pose[2] ** 2)
        end = "done" if held > HELD else "the cube fell off the palm" if pose[6] < 0 else "it tipped over" if upright < 0.7 else "it was not turned in time"
        return end, step, float(np.linalg.norm(rotation(goal, pose))), float(np.linalg.norm(pose[4:] - goal[4:])), cpu


def prepare(folder: Path) -> None:
    """Makes the controllers and the plant of a process."""
    globals()["PALM"] = Palm(folder)


def trials(seed: int) -> list[Trial]:
    """A trial of each controller, in a process of the pool."""
    palm = globals()["PALM"]
    return [palm.trial(seed, controller) for controller in palm.controllers]


def row(name: str, runs: list[Trial]) -> str:
    """A row of the table, and how the other trials ended."""
    done = [run for run in runs if run[0] == "done"]
    low, high = interval(len(done), len(runs))
    cpu = sorted(t for run in runs for t in run[4])
    turn, place = (np.array([run[k] for run in done]) for k in (2, 3))
    ends = Counter(run[0] for run in runs if run[0] != "done").most_common()
    missed = ", ".join(f"{end} ({count})" for end, count in ends) or "–"
    return (
        f"| {name} | {len(done)} of {len(runs)} ({100 * low:.1f} to {100 * high:.1f} %) | {np.degrees(turn.mean()):.1f}° ({np.degrees(median(turn)):.1f}°)"
        f" | {1e3 * place.mean():.1f} mm ({1e3 * median(place):.1f} mm) | {median(run[1] for run in done):.0f}"
        f" | {1 / median(cpu):.0f} Hz by the median CPU time of {1e3 * median(cpu):.1f} ms, 95 % {1e3 * cpu[int(0.95 * len(cpu))]:.1f} ms | {missed} |"
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run palm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="clone of asu-iris/Complementarity-Free-Dexterous-Manipulation")
    parser.add_argument("--trials", type=int, default=200, metavar="N", help="default 200; with others no file is written")
    parser.add_argument("--seed", type=int, default=1000, help="of the first trial; default 1000")
    arguments = parser.parse_args()
    if not (arguments.path / MODEL).exists():
        sys.exit(f"error: {arguments.path} has no {MODEL}")
    folder, runs = arguments.path.resolve(), []
    with Pool(initializer=prepare, initargs=(folder,)) as pool:
        for both in pool.imap(trials, range(arguments.seed, arguments.seed + arguments.trials)):
            runs.append(both)
            good = [sum(run[0] == "done" for run in own) for own in zip(*runs, strict=True)]
            print(f"\r{good[0]} and {good[1]} of {len(runs)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows = "\n".join(row(kind.name, list(own)) for kind, own in zip((Predicting, ComFree), zip(*runs, strict=True), strict=True))
    text = f"""\
# An Allegro hand turns a cube on its palm, with MuJoCo as the plant

{date.today()}, {cpu_model()}, {versions()}, MuJoCo {mujoco.mj_versionString()}; one thread a trial. Seeds {arguments.seed} to {arguments.seed + arguments.trials - 1}. Goals are exactly ±90° from a random
yaw and 1 cm above the palm; success is 1 − (q·q*)² < {NEAR} in {HELD + 1} steps one after another, within {STEPS}. Errors are those of the
trials that succeed, at their end. Both have the same starts and goals. `validation/run palm PATH` makes this table. The last row is that of the README of ComFree (2408.07855), over
all its objects and hands.

| | success (95 % interval) | turn, mean (median) | place, mean (median) | steps, median | control | the other trials |
|---|---|---|---|---|---|---|
{rows}
| ComFree, printed | 96.5 % | 11° | 7.8 mm | – | > 70 Hz | – |
"""
    print(text)
    if arguments.trials == 200:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
