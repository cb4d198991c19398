"""MuJoCo and quasistep on the tasks of scenes/robots: the largest steps that do them, and their CPU time.

A task is done if what its scene states about coordinates and bodies holds. Each engine is given a ladder of step
sizes and MuJoCo several settings; of the largest steps that do the task the cheapest counts. Then both are timed in
turns.
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
from machine import ROOT, cpu_model, executable, versions
from world import Settings, World

SCENES = ROOT / "scenes/robots"
RESULTS = ROOT / "validation/results/robots.md"
# steps that are tried, largest first, s
MUJOCO_STEPS = [0.02, 0.01, 0.005, 0.004, 0.0025, 0.002, 0.001, 0.0005]
QUASISTEP_STEPS = [1.0, 0.5, 0.4, 0.25, 0.2, 0.1, 0.05, 0.025, 0.02, 0.01]
ELLIPTIC = {"cone": "elliptic", "island": "disable"}
MUJOCO = {
    "default": {},
    "default, multiccd": {"multiccd": "enable"},
    "implicitfast": {"integrator": "implicitfast"},
    "elliptic, impratio 10": {**ELLIPTIC, "impratio": 10},
    "elliptic, impratio 10, multiccd": {**ELLIPTIC, "impratio": 10, "multiccd": "enable"},
    "elliptic, impratio 100, multiccd": {**ELLIPTIC, "impratio": 100, "multiccd": "enable"},
}
# facts about places; the others are about forces, modes and numbers of the step
KINDS = ("coordinate", "height", "tilt", "drift", "turn")


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
        self.goals = [f for f in self.world.facts if any(kind in f for kind in KINDS)]
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

    def misses(self, run: Run) -> list[str]:
        """Goals that do not hold."""
        if not np.isfinite(run.q).all():
            return ["not a number"]
        missed = []
        for fact in self.goals:
            (kind,) = (kind for kind in KINDS if kind in fact)
            seen = self.measure(run, kind, fact)
            if not abs(seen - fact["value"]) <= fact["tolerance"]:
                when = f"at {fact['at']}" if "at" in fact else f"{fact['from']} to {fact['to']}"
                missed.append(f"{kind} {fact[kind]} {when} s: {seen:.4g}, not {fact['value']:.4g}")
        return missed

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
    """An engine at the largest step that does a task, or at the smallest tried."""

    engine: str
    h: float
    missed: list[str]
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


def largest(engine: str, steps: list[float], attempt) -> Setup:
    """The largest step that does the task."""
    missed = ["no step tried"]
    for h in steps:
        settings, run, missed = attempt(h)
        print(f"  {engine}, {1e3 * h:g} ms: {'; '.join(missed) or 'done'}", file=sys.stderr)
        if not missed:
            break
    return Setup(engine, h, missed, settings)


def setups(task: Task) -> list[Setup]:
    """Each engine and setting at its largest step; quasistep is the last."""
    found = []
    for name, more in MUJOCO.items():

        def theirs(h: float, more: dict = more):
            settings = Settings(h, **more)
            run = task.mujoco(settings)
            return settings, run, task.misses(run)

        found.append(largest(f"MuJoCo, {name}", MUJOCO_STEPS, theirs))

    def ours(h: float):
        run = task.quasistep(h)
        return None, run, [run] if isinstance(run, str) else task.misses(run)

    steps = [h for h in QUASISTEP_STEPS if h <= task.world.duration]
    found.append(largest("quasistep", steps, ours))
    return found


def lines(task: Task, found: list[Setup]) -> list[list[str]]:
    """Rows of the table, the cheapest MuJoCo that does the task first of all."""
    own = found[-1]
    rows = []
    for setup in sorted(found, key=lambda s: (s is own, bool(s.missed), median(s.cpu_ms))):
        cpu = median(setup.cpu_ms)
        rows.append(
            [
                task.name,
                setup.engine,
                f"{1e3 * setup.h:g}",
                setup.missed[0] if setup.missed else "done",
                f"{cpu:.3f}",
                f"{min(setup.cpu_ms):.3f} to {max(setup.cpu_ms):.3f}",
                f"{cpu / median(own.cpu_ms):.1f}",
            ]
        )
    return rows


def heading(repetitions: int) -> str:
    """What was measured, where and when."""
    return f"""\
## Tasks of robots: MuJoCo and quasistep

The scenes of `scenes/robots`, one thread. Each engine and setting at the largest step at which all that the scene
states about coordinates and places of bodies holds, within the tolerances stated ("done"), of the steps
{" ".join(f"{1e3 * h:g}" for h in MUJOCO_STEPS)} ms for MuJoCo and {" ".join(f"{1e3 * h:g}" for h in QUASISTEP_STEPS)} ms for
quasistep; else at the smallest, with the first statement that fails. CPU time of stepping, medians of {repetitions}
runs in turns; quasistep's includes sampling the commands. "Ratio" is CPU time against quasistep's.
`validation/run robots` makes this table.

- {cpu_model()}, {platform.system()} {platform.machine()}; {date.today().isoformat()}
- {versions()}; MuJoCo {mujoco.mj_versionString()}, Python {platform.python_version()}
"""


def table(rows: list[list[str]]) -> str:
    """Markdown."""
    head = [
        "task",
        "engine",
        "step, ms",
        "task",
        "CPU per simulated s, ms",
        "least to most",
        "ratio",
    ]
    rows = [head, ["---", "---", "---:", "---", "---:", "---:", "---:"], *rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run robots",
        description="MuJoCo and quasistep, interleaved, on the tasks of scenes/robots.",
        epilog="examples:\n"
        "  validation/run robots\n"
        "  validation/run robots panda_push drawer --repetitions 9\n"
        "  validation/run robots --scenes out/scenes -o out/robots.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="scenes; default all")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="default 5")
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
    known = {path.stem: path for path in sorted(arguments.scenes.glob("*.yml"))}
    for name in arguments.tasks:
        if name not in known:
            parser.error(f"`{name}` is no scene of {arguments.scenes}: {', '.join(known)}")
    rows = []
    # as .cargo/config.toml has it, for programs that cargo does not start
    os.environ["ROS_PACKAGE_PATH"] = str(ROOT / "target/robots/share")
    try:
        subprocess.run(
            ["cargo", "xtask", "robots"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )
        for name in arguments.tasks or known:
            print(name, file=sys.stderr)
            task = Task(known[name])
            found = setups(task)
            for _ in range(arguments.repetitions):
                for setup in found:
                    setup.time(task)
            rows += lines(task, found)
    except FileNotFoundError as e:
        sys.exit(f"error: {e.filename} was not found")
    except subprocess.CalledProcessError as e:
        sys.exit(e.stderr.decode().strip() if e.stderr else f"error: {e.cmd[0]} failed")
    except ValueError as e:
        sys.exit(f"error: {e}")
    text = f"{heading(arguments.repetitions)}\n{table(rows)}\n"
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
