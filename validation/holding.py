"""MuJoCo, Drake and quasistep hold a box in a two-finger gripper with four-bar fingers: how far it creeps in a minute.

All three have the scene scenes/four_bar_gripper.yml: the same links, loops, motor with its limit, box, friction and commands.
Runs take turns, so that whatever else the machine does falls on all.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import median

import mujoco
import numpy as np
import quasistep as qs
from drake_holding import DISSIPATION, MODULUS, HeldByDrake
from machine import cpu_model, versions

ROOT = Path(__file__).resolve().parent.parent
SCENE = ROOT / "scenes/four_bar_gripper.yml"
URDF = ROOT / "scenes/models/four_bar_gripper/gripper.urdf"
RESULTS = ROOT / "validation/results/holding.md"
# s: the box is lifted by then; it is held until the end
LIFTED, END = 3.0, 63.0
# kg: of the scene, and one with which friction has to carry three quarters of what it can
MASSES = (0.3, 1.0)
# m: half the height of a pad
PAD = 0.02
# N/m and N s/m of MuJoCo's and Drake's servo on the wrist, which quasistep prescribes
WRIST = (20000.0, 200.0)


@dataclass
class Held:
    """One run: CPU time of stepping, steps, and how far the box moves in the frame of the palm between LIFTED and END."""

    cpu_s: float
    steps: int
    creep: float  # m, of the box's middle
    turn: float  # rad
    grip: float  # N, normal force of the right pad at the end

    @property
    def kept(self) -> bool:
        """Whether the box is between the pads at the end."""
        return self.creep < PAD and self.grip > 1


@dataclass
class Setup:
    """An engine with its settings, and its runs, by the mass of the box."""

    name: str
    run: Callable[[float], Held]
    runs: dict[float, list[Held]] = field(default_factory=dict)


def moved(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """How far a pose (w, x, y, z, then m) is from another: m and rad."""
    turn = 2 * np.arccos(min(1.0, abs(before[:4] @ after[:4])))
    return float(np.linalg.norm(after[4:] - before[4:])), float(turn)


def commands(t: float) -> tuple[float, float]:
    """Height of the wrist and command of the right driver, as in the scene."""
    s = min(max(t - 1.5, 0.0), 1.0)
    return 0.1 + 0.06 * s * s * (3 - 2 * s), float(np.interp(t, [0, 1], [0.7, -0.2]))


def relative(base: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """A pose in a frame that is only shifted: the palm does not turn."""
    return np.concatenate([pose[:4], pose[4:] - base[4:]])


def quasistep_run(h: float, friction: str, mass: float) -> Held:
    """quasistep in steps of h."""
    changes = {"step.duration": END, "step.size": h, "step.friction": friction, "models.box.mass": mass}
    system = qs.load(SCENE, set=changes)
    began = time.process_time()
    run = system.simulate()
    cpu = time.process_time() - began
    poses = [relative(system.pose("gripper/palm", q), system.pose("box", q)) for q in (run.q[round(LIFTED / h)], run.q[-1])]
    grip = abs(run.force_on("box", "gripper/right_pad")[-1, 0])
    return Held(cpu, len(run.q) - 1, *moved(*poses), float(grip))


@cache
def mjcf(mass: float) -> str:
    """The scene for MuJoCo, with a stiff servo on the wrist."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "gripper.xml"
        convert = [sys.executable, "-m", "quasistep", "convert", SCENE, "-o", out, "--quiet", "--set", f"models.box.mass={mass}"]
        subprocess.run(convert, check=True, capture_output=True)
        text = out.read_text(encoding="utf-8")
    servo = 'kp="1000"'
    if text.count(servo) != 1:
        sys.exit(f"error: the converted scene has {text.count(servo)} servos of {servo}; the wrist's was expected")
    return text.replace(servo, f'kp="{WRIST[0]:g}" kv="{WRIST[1]:g}"')


def mujoco_run(options: dict, stiff: bool, mass: float) -> Held:
    """MuJoCo with these options."""
    model = mujoco.MjModel.from_xml_string(mjcf(mass))
    for name, value in options.items():
        setattr(model.opt, name, value)
    if stiff:
        # the least time that closes contacts, and least compliance
        for contacts in ("geom", "pair"):
            getattr(model, f"{contacts}_solref")[:] = 2 * model.opt.timestep, 1
            getattr(model, f"{contacts}_solimp")[:, :3] = 0.99, 0.999, 1e-4
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    palm, box, pad = (model.body(name).id for name in ("gripper/palm", "box/box", "gripper/right_pad"))
    h, poses, cpu = model.opt.timestep, [], 0.0
    pose = lambda: np.concatenate([data.xquat[box], data.xpos[box] - data.xpos[palm]])
    steps = round(END / h)
    for k in range(1, steps + 1):
        data.ctrl[:] = commands(k * h)
        began = time.process_time()
        mujoco.mj_step(model, data)
        cpu += time.process_time() - began
        if k in (round(LIFTED / h), steps):
            mujoco.mj_kinematics(model, data)
            poses.append(pose())
    mujoco.mj_forward(model, data)
    grip, force = 0.0, np.zeros(6)
    for k, contact in enumerate(data.contact):
        if {int(model.geom_bodyid[g]) for g in contact.geom} == {pad, box}:
            mujoco.mj_contactForce(model, data, k, force)
            grip += force[0]
    return Held(cpu, steps, *moved(*poses), grip)


def drake_run(settings: dict, mass: float) -> Held:
    """Drake with these settings."""
    plant = HeldByDrake(URDF, mass, WRIST, commands, END, **settings)
    began = time.process_time()
    plant.advance(LIFTED)
    before = plant.pose()
    plant.advance(END)
    cpu = time.process_time() - began
    h = settings.get("h")
    return Held(cpu, round(END / h) if h else plant.steps(), *moved(before, plant.pose()), plant.grip())


def setups() -> list[Setup]:
    """Every engine with what its users would choose, from the default on."""
    mine = [
        Setup(f"quasistep, {friction} friction", lambda mass, h=h, friction=friction: quasistep_run(h, friction, mass))
        for friction in ("exact", "convex")
        for h in (0.1, 0.05, 0.01, 0.002)
    ]
    theirs = [
        ("default", {}, False),
        ("impratio 10", {"impratio": 10}, False),
        ("impratio 100", {"impratio": 100}, False),
        ("impratio 100, stiff", {"impratio": 100}, True),
        ("impratio 1000, stiff", {"impratio": 1000}, True),
        ("noslip, 3 iterations", {"noslip_iterations": 3}, False),
        ("noslip, 30 iterations", {"noslip_iterations": 30}, False),
        ("noslip, 30 iterations, stiff", {"noslip_iterations": 30}, True),
        ("discrete, impratio 100", {"integrator": mujoco.mjtIntegrator.mjINT_DISCRETE, "impratio": 100}, False),
    ]
    mujocos = [
        Setup(f"MuJoCo, {name}", lambda mass, o={**options, "timestep": h}, stiff=stiff: mujoco_run(o, stiff, mass))
        for name, options, stiff in theirs
        for h in (0.001, 0.002, 0.005)
    ]
    drakes = [
        Setup(name, lambda mass, s=settings: drake_run(s, mass))
        for name, settings in [
            *[("Drake, lagged", {"h": h}) for h in (0.002, 0.005, 0.01)],
            *[("Drake, lagged, stiction 1 µm/s", {"h": h, "stiction": 1e-6}) for h in (0.002, 0.005, 0.01)],
            *[("Drake, SAP", {"h": h, "solver": "sap"}) for h in (0.002, 0.005, 0.01)],
            *[(f"Drake, CENIC, accuracy {a:g}", {"accuracy": a}) for a in (1e-3, 1e-4, 1e-5)],
            ("Drake, CENIC, accuracy 1e-05, stiction 1 µm/s", {"accuracy": 1e-5, "stiction": 1e-6}),
        ]
    ]
    return [*mujocos, *drakes, *mine]


def table(made: list[Setup]) -> str:
    """Creep beside time, as markdown."""
    rows = [[
        "engine", "step, ms", "CPU per simulated s, ms", "least to most", "grip, N",
        *[f"creep in a minute, {mass:g} kg, mm" for mass in MASSES], *[f"turn, {mass:g} kg, °" for mass in MASSES],
    ]]  # fmt: skip
    rows.append(["---", *["---:"] * (len(rows[0]) - 1)])
    for setup in made:
        runs = setup.runs[MASSES[0]]
        cpu = [1e3 * run.cpu_s / END for run in runs]
        last = [setup.runs[mass][0] for mass in MASSES]
        rows.append([
            setup.name, f"{1e3 * END / runs[0].steps:.3g}", f"{median(cpu):.2f}", f"{min(cpu):.2f} to {max(cpu):.2f}", f"{runs[0].grip:.2f}" if runs[0].kept else "–",
            *[length(held) for held in last], *[f"{np.degrees(held.turn):.3f}" if held.kept else "–" for held in last],
        ])  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in rows)


def length(held: Held) -> str:
    """A creep in mm."""
    if not held.kept:
        return "lost"
    return f"{1e3 * held.creep:.3f}" if held.creep > 1e-6 else f"{1e3 * held.creep:.1g}"


def heading(repetitions: int) -> str:
    """What was measured, where and when."""
    return f"""\
# A box held for a minute: MuJoCo, Drake and quasistep

`scenes/four_bar_gripper.yml`: pads on four-bar linkages, one motor at its limit of 1.2 N·m, a box of {MASSES[0]:g} kg (and of {MASSES[1]:g} kg). By virtual
work a pad presses with 10.708 N and carries 1.472 N; its friction of 0.6 could carry 6.4 N. Of the heavier box it carries 4.9 N of 7.0 N.
**Creep** is how far the box's middle moves in the gripper from {LIFTED:g} s to {END:g} s, **turn** how far the box turns; a box that is not between the pads
at the end is **lost**. Without slip both are 0: they are the error beside the time. **CPU** is that of stepping the lighter box, a median of {repetitions} runs in
turns with the other engines.

- **quasistep** prescribes the wrist; nothing is set but the step and the law of friction.
- **MuJoCo** has what `quasistep convert` writes: elliptic cones, loops as `connect`, the coupling as a fixed tendon. Its wrist has a servo of {WRIST[0]:g} N/m.
  `noslip` is a pass after the step; `discrete` its newest integrator; *stiff* are contacts with `solref` of two steps and `solimp` 0.99 0.999.
- **Drake** reads the same URDF. Loops are ball constraints, the fingers have a coupler constraint, drives are implicit and limited as the motor is; the wrist is
  MuJoCo's. Contact is hydroelastic: compliant boxes, modulus {1e-6 * MODULUS:g} MPa, dissipation {DISSIPATION:g} s/m. The tolerance of stiction is 0.1 mm/s, Drake's
  default, or 1 µm/s. CENIC chooses its steps.

{cpu_model()}, {platform.system()} {platform.machine()}; {date.today().isoformat()}; {versions()}; MuJoCo {mujoco.mj_versionString()}, Drake {version("drake")}, Python
{platform.python_version()}. `validation/run holding` makes this table.
"""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run holding", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="of the runs that are timed; default 3")
    parser.add_argument("--only", metavar="WORD", help="only settings whose name has it; no file is written")
    arguments = parser.parse_args()
    if arguments.repetitions < 1:
        parser.error("--repetitions: at least 1")
    made = [setup for setup in setups() if arguments.only is None or arguments.only in setup.name]
    for k in range(arguments.repetitions):
        for setup in made:
            for mass in MASSES[: 2 if k == 0 else 1]:
                setup.runs.setdefault(mass, []).append(setup.run(mass))
            print(f"{k + 1} of {arguments.repetitions}: {setup.name}, {setup.runs[MASSES[0]][-1]}", file=sys.stderr)
    text = f"{heading(arguments.repetitions)}\n{table(made)}\n"
    print(text)
    if arguments.only is None:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
