"""MuJoCo and quasistep on scenes/iiwa_stacking.yml: CPU time of stepping beside accuracy.

Both start from the same files. Runs alternate, so that whatever else the machine does falls on
both; every figure of time is a median over repetitions.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

import mujoco
import numpy as np
from machine import cpu_model, executable, versions
from world import Settings, World

ROOT = Path(__file__).resolve().parent.parent
SCENE = ROOT / "scenes/iiwa_stacking.yml"
TRUTH = ROOT / "crates/quasistep-reproduce/data/iiwa_stacking/redcube_drake_sap_50us.csv"
RESULTS = ROOT / "validation/results/stacking.md"
RED_CUBE = "red_cube/red_cube"

# Cheap settings that keep the cube, about as true as MuJoCo gets. Friction of pyramids, and of
# cones at the default impratio, creeps until the cube is lost; islands cost some 6 % here.
ELLIPTIC = {"cone": "elliptic", "impratio": 100, "island": "disable"}
MUJOCO = [
    ("MuJoCo, elliptic cone, impratio 100", Settings(0.005, **ELLIPTIC)),
    ("MuJoCo, elliptic cone, impratio 100", Settings(0.0065, **ELLIPTIC)),
    ("MuJoCo, elliptic cone, impratio 100", Settings(0.008, **ELLIPTIC)),
    ("MuJoCo, default cone", Settings(0.002)),
    ("MuJoCo, default cone", Settings(0.005)),
]
QUASISTEP_STEPS = [0.02, 0.05, 0.1, 0.2, 0.4]
# m; steps choose their size
TOLERANCES = [3e-3, 1e-3]


@dataclass
class Run:
    """One run: CPU time of stepping, and rows of t, qw, qx, qy, qz, x, y, z of the red cube."""

    cpu_s: float
    steps: int
    simulated_s: float
    poses: np.ndarray


@dataclass
class Setup:
    """An engine with its settings, and the runs that it has made."""

    name: str
    run: Callable[[], Run]
    runs: list[Run] = field(default_factory=list)

    def cpu_ms(self) -> list[float]:
        """CPU time per simulated second of every run, in ms."""
        return [1e3 * run.cpu_s / run.simulated_s for run in self.runs]

    def h(self) -> float:
        """Mean size of a step, in s."""
        return self.runs[0].simulated_s / self.runs[0].steps


def mujoco_setup(name: str, world: World, settings: Settings) -> Setup:
    """MuJoCo on the scene."""
    cube = [world.coordinates.index(f"red_cube.{k}") for k in ("qw", "qx", "qy", "qz", "x", "y", "z")]

    def run() -> Run:
        seen = world.simulate(settings)
        simulated = seen.steps * settings.timestep
        return Run(seen.cpu_s, seen.steps, simulated, np.column_stack([seen.t, seen.q[:, cube]]))

    return Setup(name, run)


def quasistep_setup(binary: Path, integration: str, key: str, value: float) -> Setup:
    """quasistep on the scene as it is shipped, with another step size or tolerance and integration."""

    def run() -> Run:
        command = [binary, SCENE, "--body", RED_CUBE]
        command += ["--set", f"step.{key}={value}", "--set", f"step.integration={integration}"]
        out = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        cpu = 1e-9 * out["cpu_ns"]["total"]
        return Run(cpu, out["steps"], out["simulated_s"], np.array(out["poses"]))

    told = "" if key == "size" else f", to {1e3 * value:g} mm"
    return Setup(f"quasistep, {integration}{told}", run)


def at_times(poses: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Poses at other times: linear interpolation, held at the ends."""
    # q and -q are one rotation: the sign that continues the one before
    flips = np.where(np.sum(poses[1:, 1:5] * poses[:-1, 1:5], axis=1) < 0, -1.0, 1.0)
    q7 = poses[:, 1:].copy()
    q7[1:, :4] *= np.cumprod(flips)[:, None]
    return np.column_stack([np.interp(t, poses[:, 0], column) for column in q7.T])


def err7(poses: np.ndarray, truth: np.ndarray) -> float:
    """Pang21 (13) over quaternion and position, as crates/quasistep-reproduce computes it."""
    q7 = at_times(poses, truth[:, 0])
    q7[:, :4] *= np.where(np.sum(q7[:, :4] * truth[:, 1:5], axis=1) < 0, -1.0, 1.0)[:, None]
    return float(np.trapezoid(np.linalg.norm(q7 - truth[:, 1:], axis=1), truth[:, 0]))


def is_kept(poses: np.ndarray, world: World) -> bool:
    """Whether the scene's own fact on the height of the red cube holds."""
    (fact,) = (f for f in world.facts if f.get("height") == RED_CUBE)
    height = at_times(poses, np.array([fact["at"]]))[0, 6]
    return abs(height - fact["value"]) <= fact["tolerance"]


def measure(theirs: list[Setup], ours: list[Setup], repetitions: int) -> None:
    """Runs theirs and ours in turns until each has its repetitions."""
    for k in range(repetitions):
        print(f"repetition {k + 1} of {repetitions}", file=sys.stderr)
        # the shorter list is gone through again: a run of the one always follows one of the other
        for i in range(max(len(theirs), len(ours))):
            for setup in (theirs[i % len(theirs)], ours[i % len(ours)]):
                setup.runs.append(setup.run())


def table(setups: list[Setup], world: World) -> str:
    """Time beside accuracy, as markdown."""
    truth = np.genfromtxt(TRUTH, delimiter=",", skip_header=1)
    kept = {id(s): is_kept(s.runs[0].poses, world) for s in setups}
    # what the others are held against: the cheapest MuJoCo that does the task
    base = min(
        (s for s in setups if kept[id(s)] and s.name.startswith("MuJoCo")),
        key=lambda s: median(s.cpu_ms()),
        default=setups[0],
    )
    rows = [
        [
            "engine",
            "step, ms",
            "CPU per simulated s, ms",
            "least to most",
            "CPU, relative",
            "CPU per step, µs",
            "err7",
            "red cube",
        ],
        ["---", *["---:"] * 6, "---"],
    ]
    for s in setups:
        cpu = s.cpu_ms()
        error = err7(s.runs[0].poses, truth)
        rows.append(
            [
                s.name,
                f"{1e3 * s.h():g}",
                f"{median(cpu):.2f}",
                f"{min(cpu):.2f} to {max(cpu):.2f}",
                f"{median(cpu) / median(base.cpu_ms()):.2f}",
                f"{1e3 * median(cpu) * s.h():.0f}",
                f"{error:.3f}" if kept[id(s)] else "–",
                "kept" if kept[id(s)] else "lost",
            ]
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = (
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    )
    return "\n".join(lines)


def heading(version: str, repetitions: int) -> str:
    """What was measured, where and when."""
    return f"""\
## An arm stacks cubes: MuJoCo and quasistep

20 simulated seconds of `scenes/iiwa_stacking.yml`, 69 dofs, one thread. CPU time of stepping and
setting the commands only; medians of {repetitions} runs, the two engines in turns. err7 is the
integral error of the red cube's quaternion and position over 20 s against the ground truth,
Pang21 (13), in which differences below 0.007 mean nothing. "CPU, relative" is against the cheapest
setting of MuJoCo here that keeps the cube. "to 1 mm" are steps that choose their size by that tolerance, with their mean size
and the time of all that were tried. `validation/run stacking` makes this table.

- {cpu_model()}, {platform.system()} {platform.machine()}; {date.today().isoformat()}
- {version}; MuJoCo {mujoco.mj_versionString()}, Python {platform.python_version()}
"""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run stacking",
        description="MuJoCo and quasistep, interleaved, on the arm that stacks cubes.",
        epilog="examples:\n"
        "  validation/run stacking\n"
        "  validation/run stacking --repetitions 9 --quasistep-steps 0.1 0.4\n"
        "  validation/run stacking -o out/stacking.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument(
        "--quasistep-steps",
        type=float,
        nargs="+",
        default=QUASISTEP_STEPS,
        metavar="H",
        help=f"step sizes of quasistep, s; default {' '.join(map(str, QUASISTEP_STEPS))}",
    )
    parser.add_argument(
        "--tolerances",
        type=float,
        nargs="*",
        default=TOLERANCES,
        metavar="M",
        help=f"tolerances of quasistep, m; default {' '.join(map(str, TOLERANCES))}",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=RESULTS,
        metavar="FILE",
        help="file to write; default validation/results/stacking.md",
    )
    arguments = parser.parse_args()
    if arguments.repetitions < 1:
        parser.error("--repetitions: at least 1")
    try:
        world = World(SCENE, sorted({settings.timestep for _, settings in MUJOCO}))
        binary = executable("step_time")
        theirs = [mujoco_setup(name, world, settings) for name, settings in MUJOCO]
        ours = [
            quasistep_setup(binary, integration, key, value)
            for integration in ("euler", "midpoint")
            for key, values in (("size", arguments.quasistep_steps), ("tolerance", arguments.tolerances))
            for value in values
        ]
        measure(theirs, ours, arguments.repetitions)
    except FileNotFoundError as e:
        sys.exit(f"error: {e.filename} was not found")
    except subprocess.CalledProcessError as e:
        # what is not captured has been shown
        sys.exit(e.stderr.decode().strip() if e.stderr else f"error: {e.cmd[0]} failed")
    text = f"{heading(versions(), arguments.repetitions)}\n{table(theirs + ours, world)}\n"
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
