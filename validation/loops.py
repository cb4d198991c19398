"""Plans in closed loop on MuJoCo: planned again where an object is off its plan, with mass and friction that the planner does not know.

Masses of what no drive moves and all frictions of the plant are up to 30 % off, drawn from a seed. Plans take half of the tolerances, and the least
of those frictions that explain the steps seen so far about as well as the best of them does. A goal counts as reached if the plant is there in five
steps one after another.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from statistics import median
from typing import Any

import mujoco
import numpy as np
import quasistep as qs
import yaml
from machine import cpu_model, versions
from plants import MujocoPlant
from plans import interval

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation/results/loops.md"
# most relative error of the plant's mass and friction, and factors of the scene's friction that plans and predictions try
SPREAD, FRICTIONS = 0.3, (0.7, 0.85, 1.0, 1.15, 1.3)
# most steps and plans, steps at the last goal one after another
STEPS, PLANS, AT_GOAL = 600, 20, 5
# a plan is made again where the error is larger, in tolerances, but not in its first steps
OFF, FIRST = 3.0, 4
# most error of a step's prediction, in tolerances, and how much more than the least sum of them explains the steps, too
UNLIKE, AS_GOOD = 2.0, 1.2
# times the plan's own time, since robots and objects of the plant have inertia; s, time in which the command waits for the next plan
SLOWER, PLANNING = 3, 0.5


#: Scenes and most trials of each.
SCENES = {"open_door": 10, "tip_plate": 10, "push_around": 10, "turn_disc": 10, "two_planar_arms": 10, "pen": 10, "peg_search": 10, "robots/allegro_turn": 2}
#: Coordinates whose facts tell that scenes without a section `plan` have done what they are for: the peg is through the plate.
DONE = {"peg_search": "peg.z"}


def halved(goals: list[Any]) -> list[list[dict[str, Any]]]:
    """Goals of a scene's file with half of the tolerances."""
    usual = lambda target: {"tolerance": 0.01} if "joint" in target else {"angle": 0.05, "distance": 0.005}
    half = lambda target: {key: 0.5 * target.get(key, value) for key, value in usual(target).items()}
    return [[{**target, **half(target)} for target in (goal if isinstance(goal, list) else [goal])] for goal in goals]


def at(system: qs.System, goal: list[Any], q: np.ndarray) -> list[Any]:
    """The goal to be where the goal's frames and joints are at a configuration."""
    place = lambda target: (
        {"pose": system.pose(target.frame, q)}
        if isinstance(target, qs.PoseGoal)
        else {"value": q[system.coordinates.index(target.coordinate)]}
    )
    return [replace(target, **place(target)) for target in goal]


def with_friction(scene: dict[str, Any], factor: float) -> dict[str, Any]:
    """Changes that scale all friction of a scene."""
    friction = scene.get("friction", {})
    changes: dict[str, Any] = {"friction.default": factor * friction.get("default", 0.5)}
    if "pairs" in friction:
        changes["friction.pairs"] = [{**pair, "mu": factor * pair["mu"]} for pair in friction["pairs"]]
    return changes


def surprise(system: qs.System, goal: list[Any], before: np.ndarray, u: np.ndarray, after: np.ndarray) -> float:
    """Error of the system's prediction of a step, in tolerances of a goal, at most UNLIKE."""
    try:
        predicted = system.simulate([u], q0=before).q[-1]
    except qs.StepError:
        return UNLIKE
    return min(UNLIKE, system.goal_errors(at(system, goal, predicted), after)[3])


def trial(name: str, seed: int) -> tuple[bool, float, int, int, float]:
    """Whether all goals are reached, the error at the end in tolerances, numbers of plans and steps, and CPU time in s."""
    path = ROOT / f"scenes/{name}.yml"
    scene = yaml.safe_load(path.read_text(encoding="utf-8"))
    mass, friction = 1 + np.random.default_rng(seed).uniform(-SPREAD, SPREAD, 2)
    if name in DONE:
        fact = next(fact for fact in scene["facts"] if fact.get("coordinate") == DONE[name])
        return replay(path, fact, mass, friction)
    goals = qs.load(path).goals
    halves = {"plan.goals": halved(scene["plan"]["goals"])}
    systems = [qs.load(path, set={**with_friction(scene, factor), **halves}) for factor in FRICTIONS]
    system, surprises = systems[0], np.zeros(len(systems))
    miss = lambda goal, q: system.goal_errors(goal, q)[3]
    reached = kept = steps = plans = 0
    plant = None
    began = time.process_time()
    while steps < STEPS and plans < PLANS and kept < AT_GOAL:
        system = systems[int(np.argmax(surprises <= AS_GOOD * surprises.min()))]
        from_where = {} if plant is None else {"q0": plant.q, "u0": plant.u}
        plan = system.plan_scene(**from_where, reached=reached, seed=plans, threads=1)
        plant = plant or MujocoPlant(system, path, (), system.q0, plan.u0, mass, friction)
        plans += 1
        first = reached
        for k in range(len(plan.u) + AT_GOAL):
            before = plant.q
            plant.advance(plan.u[k] if k < len(plan.u) else plant.u, SLOWER * plan.h)
            steps += 1
            surprises += [surprise(one, goals[reached], before, plant.u, plant.q) for one in systems]
            there = miss(goals[reached], plant.q) <= 1
            if there and reached + 1 < len(goals):
                reached += 1
                continue
            kept = kept + 1 if there else 0
            off = miss(at(system, goals[reached], plan.q[min(k + 1, len(plan.u))]), plant.q)
            # the plan may be at another goal by now
            behind = sum(k >= end for end in plan.reached[:-1]) + first
            if kept == AT_GOAL or steps == STEPS or off > OFF and k + 1 >= FIRST or behind != reached and k >= len(plan.u):
                break
        if kept < AT_GOAL:
            plant.advance(plant.u, PLANNING)
    return kept == AT_GOAL, miss(goals[reached], plant.q), plans, steps, time.process_time() - began


def replay(path: Path, fact: dict[str, Any], mass: float, friction: float) -> tuple[bool, float, int, int, float]:
    """The same of a scene without plans, whose own commands are to lead a coordinate of the plant to what a fact tells of the end."""
    began = time.process_time()
    system = qs.load(path)
    run = system.simulate()
    plant = MujocoPlant(system, path, (), system.q0, run.u[0], mass, friction)
    for u in run.u:
        plant.advance(u, system.h)
    off = abs(plant.q[system.coordinates.index(fact["coordinate"])] - fact["value"]) / fact["tolerance"]
    return off <= 1, off, 0, len(run.u), time.process_time() - began


def row(scene: str, n: int, seed: int, map_trials: Callable[..., Any]) -> str:
    """A row of the table."""
    ends = []
    for end in map_trials(partial(trial, scene), range(seed, seed + n)):
        ends.append(end)
        print(f"\r{scene}: {sum(e[0] for e in ends)} of {len(ends)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    reached = sum(end[0] for end in ends)
    low, high = interval(reached, n)
    share = f"{reached} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"
    middle = [median(end[k] for end in ends) for k in range(1, 5)]
    line = f"| `scenes/{scene}.yml` | {share} | {middle[0]:.2f} | {middle[1]:.0f} | {middle[2]:.0f} | {middle[3]:.1f} |"
    print(line, flush=True)
    return line


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="validation/run loops", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10, metavar="N", help="most of each scene (10); there are no more than 2 of robots/allegro_turn")
    parser.add_argument("--seed", type=int, default=1, help="of the first trial (1)")
    parser.add_argument("--only", metavar="WORD", help="only scenes whose name has it; no file is written")
    arguments = parser.parse_args()
    scenes = [scene for scene in SCENES if arguments.only is None or arguments.only in scene]
    if any(scene.startswith("robots/") for scene in scenes):
        subprocess.run(["cargo", "xtask", "robots"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    # as .cargo/config.toml has it, for programs that cargo does not start
    os.environ["ROS_PACKAGE_PATH"] = str(ROOT / "target/robots/share")
    with Pool() as pool:
        rows = [row(scene, min(arguments.trials, SCENES[scene]), arguments.seed, pool.imap) for scene in scenes]
    table = "\n".join([
        "| scene | reached (95 % interval) | error at the end in tolerances, median | plans, median | steps, median | CPU s a trial, median |",
        "|---|---|---|---|---|---|",
        *rows,
    ])  # fmt: skip
    head = f"{date.today()}, {cpu_model()}, {versions()}, MuJoCo {mujoco.mj_versionString()}; one thread a trial, seeds from {arguments.seed}"
    text = f"# Plans in closed loop on MuJoCo\n\n{head}. Mass and friction are up to ± 30 % off. `validation/run loops` makes this table.\n\n{table}\n"
    if arguments.only is None and arguments.trials == 10:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
