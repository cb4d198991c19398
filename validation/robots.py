"""MuJoCo and quasistep on the tasks of scenes/robots: the largest steps that do them, and their CPU time.

A task is done if what its scene states about coordinates and bodies holds. Each engine is given a ladder of step
sizes and MuJoCo several settings; each is timed at the largest step that does the task, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

import mujoco
import numpy as np
import hull_pairs
from machine import ROOT, cpu_model, executable, versions
from world import Settings, World

SCENES = ROOT / "scenes/robots"
RESULTS = ROOT / "validation/results/robots.md"
# steps that are tried, largest first, s
MUJOCO_STEPS = [0.05, 0.04, 0.03, 0.02, 0.01, 0.005, 0.004, 0.0025, 0.002, 0.001, 0.0005]
QUASISTEP_STEPS = [2.0, 1.0, 0.5, 0.4, 0.25, 0.2, 0.1, 0.05, 0.025, 0.02, 0.01]
# MuJoCo's cones, and contacts as stiff as a step of h allows: its time constant is at least 2 h
ELLIPTIC = {"cone": "elliptic", "island": "disable", "multiccd": "enable"}
MUJOCO = {
    "default": {"multiccd": "enable"},
    "default, stiff": {"multiccd": "enable", "contact_time": 2},
    "implicitfast": {"multiccd": "enable", "integrator": "implicitfast"},
    "elliptic, impratio 10": {**ELLIPTIC, "impratio": 10},
    "elliptic, impratio 10, stiff": {**ELLIPTIC, "impratio": 10, "contact_time": 2},
    "elliptic, impratio 10, noslip": {**ELLIPTIC, "impratio": 10, "noslip_iterations": 10},
    "elliptic, impratio 100": {**ELLIPTIC, "impratio": 100},
    "elliptic, impratio 100, stiff": {**ELLIPTIC, "impratio": 100, "contact_time": 2},
}
# facts about places; the others are about forces, modes and numbers of the step
KINDS = ("coordinate", "height", "tilt", "drift", "turn")
# facts whose source cites this are about the layer h mu v under sliding bodies, which only the convex step has
BOUNDARY_LAYER = "IV-A.2"
# the task is looked at with the tolerances that the scene states, and with more
SLACKS = (1, 10)


@dataclass
class Run:
    """CPU time of a run, and its rows of t and q in quasistep's order."""

    cpu_s: float
    steps: int
    t: np.ndarray
    q: np.ndarray


class Task:
    """A scene with its goals."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.path = path
        self.world = World(path, MUJOCO_STEPS)
        self.goals = [
            fact
            for fact in self.world.facts
            if any(kind in fact for kind in KINDS) and BOUNDARY_LAYER not in fact["source"]
        ]
        if not self.goals:
            raise ValueError(f"{path}: no fact about a coordinate or a body's place")
        # bodies' poses follow from q with MuJoCo's kinematics, for both engines
        self.model = mujoco.MjModel.from_xml_string(self.world.to_mjcf(Settings(0.001)))
        self.data = mujoco.MjData(self.model)

    def poses(self, run: Run, body: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins and quaternions of a body: between steps on the way from one to the next."""
        index = self.model.body(body if "/" in body else f"{body}/{body}").id
        places, quats = [], []
        for q in rows_at(run, times):
            self.world.set_q(self.model, self.data, q)
            mujoco.mj_kinematics(self.model, self.data)
            places.append(self.data.xpos[index].copy())
            quats.append(self.data.xquat[index].copy())
        return np.array(places), np.array(quats)

    def misses(self, run: Run) -> list[tuple[float, str]]:
        """How far off each goal is, as a share of its tolerance, and in words; the farthest first."""
        if not np.isfinite(run.q).all():
            return [(np.inf, "not a number")]
        missed = []
        for fact in self.goals:
            (kind,) = (kind for kind in KINDS if kind in fact)
            seen = self.measure(run, kind, fact)
            when = f"at {fact['at']}" if "at" in fact else f"{fact['from']} to {fact['to']}"
            words = f"{kind} {fact[kind]} {when} s: {seen:.4g}, not {fact['value']:.4g}"
            missed.append((abs(seen - fact["value"]) / fact["tolerance"], words))
        return sorted(missed, reverse=True)

    def measure(self, run: Run, kind: str, fact: dict) -> float:
        """What a fact is about, as in docs/scene-format.md."""
        if kind == "coordinate":
            column = self.world.coordinates.index(fact[kind])
            return float(np.interp(fact["at"], run.t, run.q[:, column]))
        if kind in ("height", "tilt"):
            times = np.array([0.0, fact["at"]])
        else:
            inside = run.t[(run.t > fact["from"]) & (run.t < fact["to"])]
            # a thousand places show the greatest
            inside = inside[:: max(1, len(inside) // 1000)]
            times = np.array([fact["from"], *inside, fact["to"]])
        places, quats = self.poses(run, fact[kind], times)
        if kind == "height":
            return float(places[-1, 2])
        if kind == "drift":
            return float(np.linalg.norm(places - places[0], axis=1).max())
        angles = 2 * np.arccos(np.clip(np.abs(quats @ quats[0]), 0, 1))
        return float(angles[-1] if kind == "tilt" else angles.max())

    def mujoco(self, settings: Settings) -> Run:
        """MuJoCo on the scene."""
        seen = self.world.simulate(settings)
        return Run(seen.cpu_s, seen.steps, seen.t, seen.q)

    def quasistep(self, h: float) -> Run | str:
        """quasistep on the scene as it is shipped, with another step size; or why not."""
        command = [executable("step_time"), self.path, "--states", "--set", f"step.size={h}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
        out = json.loads(done.stdout)
        states = np.array(out["states"])
        return Run(1e-9 * out["cpu_ns"]["total"], out["steps"], states[:, 0], states[:, 1:])


@dataclass
class Setup:
    """An engine at a step: how far the task is from done, as a share of the tolerances, and why."""

    engine: str
    h: float
    off: float
    why: str
    settings: Settings | None
    cpu_ms: list[float] = field(default_factory=list)

    def time(self, task: Task) -> None:
        """One more run: CPU time per simulated second, in ms."""
        run = task.mujoco(self.settings) if self.settings else task.quasistep(self.h)
        failed = isinstance(run, str)
        self.cpu_ms.append(np.nan if failed else 1e3 * run.cpu_s / (run.steps * self.h))


def rows_at(run: Run, times: np.ndarray) -> np.ndarray:
    """q at these times; quaternions need no more than their direction."""
    return np.column_stack([np.interp(times, run.t, column) for column in run.q.T])


def ladder(task: Task, engine: str, more: dict | None) -> dict[int, Setup]:
    """The largest step that does the task, for each slack; else the one that is nearest to it."""
    tried: list[Setup] = []
    for h in MUJOCO_STEPS if more is not None else QUASISTEP_STEPS:
        if h > task.world.duration:
            continue
        settings = None
        if more is not None:
            settings = Settings(h, **more)
            if settings.contact_time is not None:
                settings.contact_time *= h
        run = task.mujoco(settings) if settings else task.quasistep(h)
        off, why = (np.inf, run) if isinstance(run, str) else task.misses(run)[0]
        print(f"  {engine}, {1e3 * h:g} ms: {off:.3g} of the tolerance, {why}", file=sys.stderr)
        tried.append(Setup(engine, h, off, why, settings))
        if off <= min(SLACKS):
            break
    nearest = min(tried, key=lambda setup: setup.off)
    return {
        slack: next((setup for setup in tried if setup.off <= slack), nearest) for slack in SLACKS
    }


def measure(task: Task, repetitions: int) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of the table, one for each slack, and of the table of settings."""
    found = {f"MuJoCo, {name}": more for name, more in MUJOCO.items()} | {"quasistep": None}
    setups = {engine: ladder(task, engine, more) for engine, more in found.items()}
    distinct = {id(s): s for ladders in setups.values() for s in ladders.values()}
    for _ in range(repetitions):
        for setup in distinct.values():
            setup.time(task)
    rows, details = [], []
    for slack in SLACKS:
        *theirs, own = (setups[engine][slack] for engine in setups)
        done = [s for s in theirs if s.off <= slack]
        best = min(done or theirs, key=lambda s: median(s.cpu_ms))
        ratio = f"{median(best.cpu_ms) / median(own.cpu_ms):.0f}"
        rows.append([task.name, f"× {slack}"])
        for setup in (best, own):
            cpu = f"{median(setup.cpu_ms):.3f}"
            step = f"{1e3 * setup.h:g}"
            rows[-1] += [step if setup.off <= slack else f"none; {step}", cpu]
        rows[-1] += [ratio if done and own.off <= slack else f"({ratio})"]
    for setup in distinct.values():
        cpu = setup.cpu_ms
        spread = f"{min(cpu):.3f} to {max(cpu):.3f}"
        row = [task.name, setup.engine, f"{1e3 * setup.h:g}", f"{median(cpu):.3f}", spread]
        details.append([*row, f"{setup.off:.2g}", setup.why])
    return rows, details


def heading(repetitions: int) -> str:
    """What was measured, where and when."""
    return f"""\
## Tasks of robots: MuJoCo and quasistep

The scenes of `scenes/robots`, one thread. Each engine at the largest step at which all that the scene states about
coordinates and places of bodies holds, within the tolerances stated and within ten times these; of MuJoCo the cheapest
setting. Steps tried: {" ".join(f"{1e3 * h:g}" for h in MUJOCO_STEPS)} ms for MuJoCo, {" ".join(f"{1e3 * h:g}" for h in QUASISTEP_STEPS)} ms
for quasistep. "none": at no step; the step and time are those of the run that comes nearest, the ratio stands in
brackets. CPU time of stepping, medians of {repetitions} runs in turns; quasistep's includes sampling the commands.
`validation/run robots` makes this table.

- {cpu_model()}, {platform.system()} {platform.machine()}; {date.today().isoformat()}
- {versions()}; MuJoCo {mujoco.mj_versionString()}, Python {platform.python_version()}
"""


HEAD = [
    "task",
    "tolerances",
    "MuJoCo: step, ms",
    "CPU per simulated s, ms",
    "quasistep: step, ms",
    "CPU per simulated s, ms",
    "ratio",
]
DETAILS = [
    "task",
    "engine",
    "step, ms",
    "CPU per simulated s, ms",
    "least to most",
    "off, in tolerances",
    "farthest off",
]


def table(rows: list[list[str]]) -> str:
    """Markdown, of a head and rows."""
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run robots",
        description="MuJoCo and quasistep, interleaved, on the tasks of scenes/robots and pairs of their hulls.",
        epilog="examples:\n"
        "  validation/run robots\n"
        "  validation/run robots panda_push drawer --repetitions 9\n"
        "  validation/run robots --scenes out/scenes -o out/robots.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="scenes; default all")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument(
        "--configurations",
        type=int,
        default=8,
        metavar="N",
        help="random configurations for pairs of hulls; default 8",
    )
    parser.add_argument(
        "--scenes", type=Path, default=SCENES, metavar="DIR", help="default scenes/robots"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=RESULTS,
        metavar="FILE",
        help="file to write; default validation/results/robots.md",
    )
    arguments = parser.parse_args()
    if arguments.repetitions < 1:
        parser.error("--repetitions: at least 1")
    if arguments.configurations < 1:
        parser.error("--configurations: at least 1")
    known = {path.stem: path for path in sorted(arguments.scenes.glob("*.yml"))}
    for name in arguments.tasks:
        if name not in known:
            parser.error(f"`{name}` is no scene of {arguments.scenes}: {', '.join(known)}")
    rows, details, pairs = [HEAD], [DETAILS], []
    # as .cargo/config.toml has it, for programs that cargo does not start
    os.environ["ROS_PACKAGE_PATH"] = str(ROOT / "target/robots/share")
    try:
        subprocess.run(
            ["cargo", "xtask", "robots"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )
        for name in arguments.tasks or known:
            print(name, file=sys.stderr)
            task = Task(known[name])
            more_rows, more_details = measure(task, arguments.repetitions)
            rows += more_rows
            details += more_details
            hulls = hull_pairs.HullPairs(known[name], arguments.configurations)
            for _ in range(arguments.repetitions):
                hulls.time()
            pairs += hulls.pairs.values()
    except FileNotFoundError as e:
        sys.exit(f"error: {e.filename} was not found")
    except subprocess.CalledProcessError as e:
        sys.exit(e.stderr.decode().strip() if e.stderr else f"error: {e.cmd[0]} failed")
    except ValueError as e:
        sys.exit(f"error: {e}")
    text = f"{heading(arguments.repetitions)}\n{table(rows)}\n\n{table(details)}\n"
    if pairs:
        configurations = arguments.configurations
        text += f"\n{hull_pairs.heading(configurations)}\n{table([hull_pairs.HEAD, *hull_pairs.rows(pairs)])}\n"
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
