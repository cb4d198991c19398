"""Recorded tosses of a cube: quasistep and MuJoCo predict where it goes from its first pose and velocity.

The data are 570 tosses of ContactNets (Pfrommer, Halm and Posa 2020), `data/tosses_processed/*.pt` of the public repository
DAIRLab/contact-nets, BSD-3-Clause. Some of them are kept in `validation/tosses` with their notice; give the folder of all of them
as PATH.
"""

from __future__ import annotations

import argparse
import pickle
import platform
import struct
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import quasistep as qs
from machine import cpu_model

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results/tosses.md"
UNIT, SIDE, MASS, INERTIA, RATE = 0.0524, 0.1048, 0.37, 8.1e-4, 148.0
FIT = 100  # tosses that parameters are fitted on; the others are predicted

#: position, quaternion w x y z, velocity, angular velocity in the body, a row for each sample; m, rad, s
Toss = np.ndarray
Predict = Callable[[Toss], np.ndarray]


class _Tensors(pickle.Unpickler):
    """Reads the tensors of a file of torch without it: plain data, no code of the file's choosing."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "_rebuild_tensor_v2":
            return lambda storage, offset, size, *rest: (storage, size)
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if module == "torch" and name.endswith("Storage"):
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a tensor")

    def persistent_load(self, pid: Any) -> Any:
        return pid


def read(path: Path) -> Toss:
    if path.suffix == ".csv":
        return np.loadtxt(path, delimiter=",", skiprows=1)
    with path.open("rb") as file:
        for _ in range(3):
            _Tensors(file).load()
        storage, size = _Tensors(file).load()
        _Tensors(file).load()
        (count,) = struct.unpack("<q", file.read(8))
        kind = "<f4" if "Float" in storage[1] else "<f8"
        rows = np.frombuffer(file.read(), kind)[:count].reshape(size)[0].astype(float)
    rows[:, [0, 1, 2, 7, 8, 9]] *= UNIT
    return rows[:, :13]


def turned(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A vector of the body in the world."""
    w, x = q[0], q[1:]
    return v + 2 * np.cross(x, np.cross(x, v) + w * v)


def error(motion: np.ndarray, toss: Toss) -> tuple[float, float]:
    """Mean error of position over the cube's side, and of rotation in degrees; `motion` as quaternion and position."""
    position = np.linalg.norm(motion[:, 4:] - toss[:, :3], axis=1).mean() / SIDE
    cosine = abs((motion[:, :4] * toss[:, 3:7]).sum(1) / np.linalg.norm(toss[:, 3:7], axis=1))
    return position, float(np.degrees(2 * np.arccos(np.clip(cosine, 0, 1))).mean())


def quasistep(mu: float, cone: str, restitution: float = 0.0, compliance: float = 0.0, parts: int = 1) -> Predict:
    """With so many steps a sample; compliance of a corner in m/N."""
    system = qs.loads(f"""
format: 1
step: {{size: {1 / RATE / parts}, duration: 1, motion: dynamic, cone: {cone}}}
friction: {{default: {{mu: {mu}, restitution: {restitution}, compliance: {compliance:.1e}}}}}
models:
  floor: {{joint: fixed, shape: {{half_space: {{}}}}}}
  cube:
    mass: {MASS}
    inertia: [{INERTIA}, {INERTIA}, {INERTIA}]
    pose: {{xyz: [0, 0, 1]}}
    shape: {{box: {{size: [{SIDE}, {SIDE}, {SIDE}]}}}}
""")

    def predict(toss: Toss) -> np.ndarray:
        q = np.r_[toss[0, 3:7] / np.linalg.norm(toss[0, 3:7]), toss[0, :3]]
        v = np.r_[turned(q[:4], toss[0, 10:13]), toss[0, 7:10]]
        u = np.empty((parts * (len(toss) - 1), 0))
        rest = system.simulate_batch(u, q0=q, velocity=v[None], threads=1)[0, parts - 1 :: parts]
        return np.concatenate([q[None], rest])

    return predict


def in_mujoco(mu: float, solref: str, substeps: int) -> Predict:
    model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option timestep="{1 / RATE / substeps}" cone="elliptic"/>
<default><geom friction="{mu} 0.005 0.0001" solref="{solref}"/></default>
<worldbody><geom type="plane" size="9 9 1"/>
<body><freejoint/><inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
<geom type="box" size="{SIDE / 2} {SIDE / 2} {SIDE / 2}"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)

    def predict(toss: Toss) -> np.ndarray:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = np.r_[toss[0, :3], toss[0, 3:7] / np.linalg.norm(toss[0, 3:7])]
        data.qvel[:] = toss[0, 7:13]
        out = [data.qpos.copy()]
        for _ in range(len(toss) - 1):
            for _ in range(substeps):
                mujoco.mj_step(model, data)
            out.append(data.qpos.copy())
        return np.array(out)[:, [3, 4, 5, 6, 0, 1, 2]]

    return predict


def score(predict: Predict, tosses: Sequence[Toss]) -> tuple[float, float, float]:
    """Errors of position and rotation, and CPU time in ms for a second of motion."""
    start = time.process_time()
    motions = [predict(toss) for toss in tosses]
    spent = time.process_time() - start
    position, rotation = np.mean([error(m, t) for m, t in zip(motions, tosses, strict=True)], axis=0)
    return position, rotation, 1e3 * spent * RATE / sum(len(t) - 1 for t in tosses)


def main() -> int:
    parser = argparse.ArgumentParser(prog="validation/run tosses", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=HERE / "tosses", metavar="PATH", help="folder of all tosses (default: those kept here)")
    arguments = parser.parse_args()
    files = sorted(arguments.path.glob("*.pt"), key=lambda f: int(f.stem)) or sorted(arguments.path.glob("*.csv"))
    if not files:
        print(f"error: {arguments.path} holds no *.pt; get data/tosses_processed of DAIRLab/contact-nets", file=sys.stderr)
        return 2
    tosses = [read(file) for file in files]
    fit, test = (tosses[:FIT], tosses[FIT:]) if len(tosses) > FIT else (tosses, tosses)
    mus = (0.15, 0.16, 0.17, 0.175, 0.18, 0.19, 0.2)
    giving = [(mu, c) for mu in mus[2:6] for c in (1e-6, 2e-6, 3e-6, 5e-6, 1e-5)]
    engines: list[tuple[str, Sequence[Any], Callable[[Any], Predict]]] = [
        ("quasistep, `dynamic`, cone `round`", mus, lambda mu: quasistep(mu, "round")),
        ("quasistep, the same, a quarter of the step, compliance (m/N)", giving, lambda x: quasistep(x[0], "round", compliance=x[1], parts=4)),
        ("quasistep, the same, restitution 0.1", mus, lambda mu: quasistep(mu, "round", 0.1)),
        ("quasistep, `dynamic`, cone 4", mus, lambda mu: quasistep(mu, "4")),
        ("MuJoCo, elliptic cone", mus, lambda mu: in_mujoco(mu, "0.02 1", 1)),
        ("MuJoCo, elliptic cone, solref 0.004 1, a tenth of the step", mus, lambda mu: in_mujoco(mu, "0.004 1", 10)),
    ]
    rows = []
    for name, values, make in engines:
        # the least sum of both errors, each over its usual size
        cost = {value: (lambda s: s[0] / 0.13 + s[1] / 17)(score(make(value), fit)) for value in values}
        best = min(cost, key=cost.__getitem__)
        position, rotation, ms = score(make(best), test)
        found = ", ".join(f"{x:g}" for x in np.atleast_1d(best))
        rows.append(f"| {name} | {found} | {100 * position:.1f} % | {rotation:.1f}° | {ms:.1f} |")
        print(rows[-1], flush=True)
    text = f"""# Recorded tosses

`validation/run tosses PATH` on {date.today()}, {cpu_model()}, Python {platform.python_version()}, MuJoCo {mujoco.__version__}.

{len(test)} tosses of a cube are predicted, with the friction that is fitted on {len(fit)} others. Errors are means over each rollout:
of position over the cube's side, and of the angle of rotation. CPU time is in ms for a second of motion.

| engine | mu | position | rotation | ms |
|---|---|---|---|---|
""" + "\n".join(rows) + "\n"
    if len(tosses) > FIT:
        RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
