"""MuJoCo, Drake's CENIC and quasistep on scenes/iiwa_stacking.yml: CPU time of stepping beside accuracy.

All start from the same files. Runs alternate, so that whatever else the machine does falls on
all; every figure of time is a median over repetitions.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

import matplotlib
import mujoco
import numpy as np
from machine import cpu_model, executable, versions
from matplotlib import pyplot
from world import Settings, World

ROOT = Path(__file__).resolve().parent.parent
SCENE = ROOT / "scenes/iiwa_stacking.yml"
TRUTH = ROOT / "crates/quasistep-reproduce/data/iiwa_stacking/redcube_drake_sap_50us.csv"
RESULTS = ROOT / "validation/results/stacking.md"
PICTURE = ROOT / "docs/pictures/stacking_error.svg"
DRAKE = Path(__file__).resolve().parent / "drake_world.py"
RED_CUBE = "red_cube/red_cube"

# Cheap settings that keep the cube, about as true as MuJoCo gets. Friction of pyramids, and of
# cones at the default impratio, creeps until the cube is lost; islands cost some 6 % here.
ELLIPTIC = {"cone": "elliptic", "impratio": 100, "island": "disable"}
SPECULATIVE = {**ELLIPTIC, "speculative": "enable"}
DISCRETE = {**ELLIPTIC, "integrator": "discrete"}
MUJOCO = [
    *[("MuJoCo, Euler", Settings(h, **ELLIPTIC)) for h in (0.002, 0.005, 0.0065, 0.008)],
    *[("MuJoCo, Euler, speculative", Settings(h, **SPECULATIVE)) for h in (0.005, 0.0065)],
    *[("MuJoCo, discrete", Settings(h, **DISCRETE)) for h in (0.005, 0.01, 0.02, 0.05)],
    *[("MuJoCo, discrete, speculative", Settings(h, **DISCRETE, speculative="enable")) for h in (0.01, 0.02)],
    ("MuJoCo, Euler, default cone", Settings(0.002)),
]
# accuracies of Drake's CENIC, and the s between two of the commands that it interpolates
CENIC = [1e-2, 1e-3, 1e-4, 1e-5]
CENIC_COMMANDS = 0.005
CENIC_ROWS = 0.1
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


def drake_setup(world: World, accuracy: float) -> Setup:
    """Drake's CENIC on the scene, in a process of its own."""
    cube = [world.coordinates.index(f"red_cube.{k}") for k in ("qw", "qx", "qy", "qz", "x", "y", "z")]
    scene = {
        **{key: world.data[key] for key in ("start", "coordinates", "drives", "bodies", "duration_s")},
        "mjcf": world.to_mjcf(Settings(CENIC_COMMANDS)),
        "commands": world.commands[CENIC_COMMANDS].tolist(),
        "commands_every_s": CENIC_COMMANDS,
        "rows_every_s": CENIC_ROWS,
        "accuracy": accuracy,
    }

    def run() -> Run:
        command = [sys.executable, "-B", DRAKE]
        told = subprocess.run(command, input=json.dumps(scene), check=True, capture_output=True, text=True)
        seen = json.loads(told.stdout)
        q = np.array(seen["q"])
        t = CENIC_ROWS * np.arange(len(q))
        return Run(seen["cpu_s"], seen["steps"], world.duration, np.column_stack([t, q[:, cube]]))

    return Setup(f"Drake, CENIC, accuracy {accuracy:g}", run)


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


def picture(setups: list[Setup], world: World) -> None:
    """Draws the error over the CPU time of the runs that keep the cube."""
    truth = np.genfromtxt(TRUTH, delimiter=",", skip_header=1)
    lines = defaultdict(list)
    for setup in setups:
        if is_kept(setup.runs[0].poses, world):
            name = setup.name.split(", accuracy")[0].split(" mm")[0]
            name = name[: name.index(", to ")] + ", by tolerance" if ", to " in name else name
            lines[name].append((median(setup.cpu_ms()), err7(setup.runs[0].poses, truth)))
    matplotlib.rcParams.update({"svg.hashsalt": "stacking", "svg.fonttype": "none", "font.size": 9})
    figure, axes = pyplot.subplots(figsize=(7, 4.4), layout="constrained")
    for name, points in lines.items():
        ours = name.startswith("quasistep")
        style = {"linewidth": 2, "marker": "o"} if ours else {"linewidth": 1, "marker": "s", "linestyle": "--"}
        axes.loglog(*np.array(sorted(points)).T, label=name, markersize=4, **style)
    axes.set_xlabel("CPU per simulated second (ms)")
    axes.set_ylabel("err7 over 20 s (Pang21 (13))")
    axes.set_title("An arm stacks cubes: error against CPU time")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(fontsize=7)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})


def heading(ours: str, repetitions: int) -> str:
    """What was measured, where and when."""
    return f"""\
## An arm stacks cubes: MuJoCo, Drake's CENIC and quasistep

20 simulated seconds of `scenes/iiwa_stacking.yml`, 69 dofs, one thread. CPU time of stepping and
setting the commands only; medians of {repetitions} runs, the two engines in turns. err7 is the
integral error of the red cube's quaternion and position over 20 s against the ground truth,
Pang21 (13), in which differences below 0.007 mean nothing. "CPU, relative" is against the cheapest
setting of MuJoCo here that keeps the cube. "to 1 mm" are steps that choose their size by that tolerance, with their mean size
and the time of all that were tried; so are CENIC's. MuJoCo has elliptic cones and impratio 100 (at the default cone the cube is
lost). Drake has balls of 0.1 mm at the corners of the cubes, as the ground truth has.
`validation/run stacking` makes this table and [the plot](../../docs/pictures/stacking_error.svg).

- {cpu_model()}, {platform.system()} {platform.machine()}; {date.today().isoformat()}
- {ours}; MuJoCo {mujoco.mj_versionString()}, Drake {version('drake')}, Python {platform.python_version()}
"""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run stacking",
        description="MuJoCo, Drake's CENIC and quasistep, interleaved, on the arm that stacks cubes.",
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
        world = World(SCENE, sorted({CENIC_COMMANDS, *(settings.timestep for _, settings in MUJOCO)}))
        binary = executable("step_time")
        theirs = [mujoco_setup(name, world, settings) for name, settings in MUJOCO]
        theirs += [drake_setup(world, accuracy) for accuracy in CENIC]
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
    picture(theirs + ours, world)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
