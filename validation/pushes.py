"""Recorded pushes of a square: quasistep, MuJoCo and the ellipsoid limit surface predict where each one ends.

The data are 5000 pushes of 4 mm of a square of 90 mm, `data_residual_05_09_2018.mat` of the public repository
dtbinh/pushing_benchmark (`Simulation/Control/MPC_GP`), which has no licence and is read from where it lies.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import mujoco
import numpy as np
import quasistep as qs
from machine import cpu_model
from scipy.io import loadmat
from scipy.optimize import minimize_scalar

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation/results/pushes.md"
SIDE, HEIGHT, TIP, LENGTH = 0.09, 0.013, 0.004745, 0.004  # m; height and tip are those of the lab's other data
FIT = 1667  # pushes that parameters are fitted on; the others are predicted
MU = (0.05, 0.6)


@dataclass
class Pushes:
    """Where along a side the tip pushes, in m from its middle, in which direction, in rad, and where the square goes."""

    place: np.ndarray
    way: np.ndarray
    seen: np.ndarray

    def __getitem__(self, part: slice) -> Pushes:
        return Pushes(self.place[part], self.way[part], self.seen[part])

    def error(self, motion: np.ndarray) -> tuple[float, float]:
        """Mean error over mean motion of position and of angle, of motions x, y, angle in the frame of the pushed side."""
        c, s = np.cos(self.way), np.sin(self.way)
        # the data have x along the push, and y to its right
        x, y = c * motion[:, 0] + s * motion[:, 1], s * motion[:, 0] - c * motion[:, 1]
        off = np.hypot(x - self.seen[:, 0], y - self.seen[:, 1]).mean()
        turn = abs(motion[:, 2] - self.seen[:, 2]).mean()
        size = np.hypot(self.seen[:, 0], self.seen[:, 1]).mean()
        return off / size, turn / abs(self.seen[:, 2]).mean()


def read(path: Path) -> Pushes:
    data = loadmat(path)
    where, way = data["input_training"].T
    return Pushes((0.5 - where) * SIDE, way, data["output_training"])


def limit_surface(pushes: Pushes, mu: float, c: float) -> np.ndarray:
    """Motion under an ellipsoid limit surface of characteristic length `c`, in m (Lynch, Maekawa and Tanie 1992)."""
    out = []
    for y, way in zip(pushes.place, pushes.way, strict=True):
        r = np.array([-SIDE / 2, y])
        # velocity of the contact per force: the square's twist is (f, τ/c²)
        turn = np.array([-r[1], r[0]]) / c
        per_force = np.eye(2) + np.outer(turn, turn)
        v = LENGTH * np.array([np.cos(way), np.sin(way)])
        f = np.linalg.solve(per_force, v)
        if abs(f[1]) > mu * f[0]:
            edge = np.array([1.0, mu * np.sign(f[1])])
            f = edge * v[0] / (per_force @ edge)[0]
        out.append([f[0], f[1], (r[0] * f[1] - r[1] * f[0]) / c**2])
    return np.array(out)


def scene(mu: float, friction: str, cone: str, patch: str) -> qs.System:
    return qs.loads(f"""
format: 1
step: {{size: 0.01, duration: 0.01, friction: {friction}, cone: {cone}, inertia: none}}
friction: {{default: {{mu: 0.35, patch: {patch}}}, pairs: [{{a: tip, b: square, mu: {mu}, mu_spin: 0}}]}}
models:
  table: {{joint: fixed, shape: {{half_space: {{}}}}}}
  square:
    mass: 0.837
    pose: {{xyz: [0, 0, {HEIGHT / 2}]}}
    shape: {{box: {{size: [{SIDE}, {SIDE}, {HEIGHT}]}}}}
  tip:
    joint: [{{slide: x, axis: [1, 0, 0], role: prescribed}}, {{slide: y, axis: [0, 1, 0], role: prescribed}}]
    gravity: false
    pose: {{xyz: [0, 0, {HEIGHT / 2}]}}
    shape: {{sphere: {{radius: {TIP}}}}}
commands: [{{joint: tip.x, expr: "0"}}, {{joint: tip.y, expr: "0"}}]
collisions: {{exclude: [[tip, table]]}}
""")


def quasistep(friction: str, cone: str, patch: str, steps: int) -> Callable[[Pushes, float], np.ndarray]:
    def predict(pushes: Pushes, mu: float) -> np.ndarray:
        system = scene(mu, friction, cone, patch)
        names = system.coordinates
        q0 = np.repeat(system.q0[None], len(pushes.way), axis=0)
        start = np.stack([np.full(len(pushes.way), -SIDE / 2 - TIP), pushes.place], axis=1)
        q0[:, names.indices("tip.*")] = start
        step = LENGTH / steps * np.stack([np.cos(pushes.way), np.sin(pushes.way)], axis=1)
        u = start[:, None] + np.arange(1, steps + 1)[None, :, None] * step[:, None]
        q = system.simulate_batch(u, q0=q0, threads=1, keep="last")
        w, z, x, y = q[:, [names.index(f"square.{c}") for c in ("qw", "qz", "x", "y")]].T
        return np.stack([x, y, 2 * np.arctan2(z, w)], axis=1)

    return predict


def identified(pushes: Pushes, steps: int) -> tuple[dict[str, float], float]:
    """Friction of the tip and spin radius of the square, in m, by `qs.identify`, and the CPU time in s."""
    system = scene(0.3, "convex", "round", "area").with_({"friction.default.spin_radius": 0.04})
    names = system.coordinates
    tip = names.indices("tip.*")
    motions = []
    for y, way, (along, across, angle) in zip(pushes.place, pushes.way, pushes.seen, strict=True):
        c, s = np.cos(way), np.sin(way)
        q = np.full((steps + 1, system.n_q), np.nan)
        q[0] = system.q0
        q[0, tip] = start = [-SIDE / 2 - TIP, y]
        end = {"x": c * along + s * across, "y": s * along - c * across, "qw": np.cos(angle / 2), "qx": 0, "qy": 0, "qz": np.sin(angle / 2)}
        q[-1, [names.index(f"square.{name}") for name in end]] = list(end.values())
        motions.append(qs.Motion(q, start + LENGTH * np.arange(1, steps + 1)[:, None] / steps * [c, s]))
    parameters = {"mu": qs.Parameter("friction.pairs.0.mu", MU), "c": qs.Parameter("friction.default.spin_radius", (0.01, 0.07))}
    began = time.process_time()
    found = qs.identify(system, motions, parameters, loss="soft_l1", threads=1)
    return found.values, time.process_time() - began


def in_mujoco(pushes: Pushes, mu: float) -> np.ndarray:
    model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option timestep="0.002" cone="elliptic" impratio="100"/>
<worldbody><geom name="table" type="plane" size="1 1 1" friction="0.35 0.005 0.0001"/>
<body name="square" pos="0 0 {HEIGHT / 2}"><freejoint/>
<geom name="square" type="box" size="{SIDE / 2} {SIDE / 2} {HEIGHT / 2}" mass="0.837" friction="0.35 0.005 0.0001"/></body>
<body name="tip" mocap="true" pos="0 0 {HEIGHT / 2}"><geom name="tip" type="sphere" size="{TIP}" contype="0" conaffinity="0"/></body>
</worldbody>
<contact><pair geom1="tip" geom2="square" friction="{mu} {mu} 0.005 0.0001 0.0001"/></contact></mujoco>""")
    data = mujoco.MjData(model)
    steps = 200  # 4 mm at 10 mm/s
    out = []
    for y, way in zip(pushes.place, pushes.way, strict=True):
        mujoco.mj_resetData(model, data)
        start = np.array([-SIDE / 2 - TIP, y, HEIGHT / 2])
        v = LENGTH / steps * np.array([np.cos(way), np.sin(way), 0.0])
        for k in range(steps + 50):
            data.mocap_pos[0] = start + min(k + 1, steps) * v
            mujoco.mj_step(model, data)
        w, z = data.qpos[3], data.qpos[6]
        out.append([data.qpos[0], data.qpos[1], 2 * np.arctan2(z, w)])
    return np.array(out)


def fitted(predict: Callable[[Pushes, float], np.ndarray], pushes: Pushes) -> float:
    """The friction of the tip with the least sum of both errors."""
    found = minimize_scalar(lambda mu: sum(pushes.error(predict(pushes, mu))), bounds=MU, method="bounded", options={"xatol": 2e-3})
    return float(found.x)


def main() -> int:
    parser = argparse.ArgumentParser(prog="validation/run pushes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, metavar="PATH", help="data_residual_05_09_2018.mat, or the folder that holds it")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth push (default 1)")
    parser.add_argument("--no-mujoco", action="store_true", help="leave MuJoCo out")
    arguments = parser.parse_args()
    path = arguments.path / "data_residual_05_09_2018.mat" if arguments.path.is_dir() else arguments.path
    if not path.is_file():
        print(f"error: {path} is not there; get Simulation/Control/MPC_GP/data_residual_05_09_2018.mat of dtbinh/pushing_benchmark", file=sys.stderr)
        return 2
    pushes = read(path)
    fit, test = pushes[: FIT : arguments.every], pushes[FIT :: arguments.every]
    rows = []

    def row(name: str, what: str, predict: Callable[[Pushes], np.ndarray], steps: int) -> None:
        start = time.process_time()
        motion = predict(test)
        cost = 1e6 * (time.process_time() - start) / len(test.way) / max(steps, 1)
        position, angle = test.error(motion)
        rows.append(f"| {name} | {what} | {100 * position:.1f} % | {100 * angle:.1f} % | {cost:.0f} |" if steps else f"| {name} | {what} | {100 * position:.1f} % | {100 * angle:.1f} % | – |")
        print(rows[-1], flush=True)

    best = min(
        ((sum(fit.error(limit_surface(fit, mu, c))), mu, c) for mu in np.arange(0.18, 0.28, 0.01) for c in np.arange(0.031, 0.0385, 0.0005)),
    )
    row("ellipsoid limit surface, fitted", f"mu {best[1]:.3f}, c {1e3 * best[2]:.1f} mm", lambda p: limit_surface(p, best[1], best[2]), 0)
    settings = [
        ("exact", "round", "area", 1),
        ("exact", "round", "area", 5),
        ("convex", "round", "area", 5),
        ("convex", "4", "area", 5),
        ("exact", "round", "corners", 1),
        ("convex", "4", "corners", 5),
    ]
    for friction, cone, patch, steps in settings:
        predict = quasistep(friction, cone, patch, steps)
        mu = fitted(predict, fit)
        name = f"quasistep, `{friction}`, cone `{cone}`, patch `{patch}`, {steps} steps a push"
        row(name, f"mu {mu:.3f}", lambda p, predict=predict, mu=mu: predict(p, mu), steps)
    values, spent = identified(fit, 5)
    said = f"`qs.identify` on the same {len(fit.way)} pushes, `convex`, 5 steps each: mu {values['mu']:.3f}, c {1e3 * values['c']:.1f} mm, {spent:.0f} s of CPU."
    print(said, flush=True)
    if not arguments.no_mujoco:
        mu = fitted(in_mujoco, fit[:: max(1, 20 // arguments.every)])
        row("MuJoCo, elliptic, impratio 100, 2 ms", f"mu {mu:.3f}", lambda p: in_mujoco(p, mu), 250)
    text = f"""# Recorded pushes

`validation/run pushes PATH` on {date.today()}, {cpu_model()}, Python {platform.python_version()}, MuJoCo {mujoco.__version__}.

{len(test.way)} pushes of 4 mm on a square of 90 mm are predicted, with what is fitted on {len(fit.way)} others. Errors are mean error over
mean motion; cost is CPU time of a step in µs, cold.

| model | fitted | position | angle | µs a step |
|---|---|---|---|---|
""" + "\n".join(rows) + f"\n\n{said}\n"
    if arguments.every == 1 and not arguments.no_mujoco:
        RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
