"""Pairs of convex hulls: time of the contact points in MuJoCo and in quasistep, on the same hulls at the same poses."""

from __future__ import annotations

import json
import subprocess
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import mujoco
import numpy as np
from machine import executable
from world import Settings, World

# copies of a pair in MuJoCo's model, m apart, and calls between two looks at the clock
COPIES, APART, CALLS = 64, 10.0, 20
# as contact_margin of a scene
MARGIN = 0.02


@dataclass
class Pair:
    """Two hulls whose boxes are near each other."""

    a: str
    b: str
    corners: list[int]
    distance: float
    models: list[tuple[mujoco.MjModel, mujoco.MjData]]
    ours_us: list[float] = field(default_factory=list)
    theirs_us: list[float] = field(default_factory=list)
    points: list[int] = field(default_factory=list)


class HullPairs:
    """The pairs of hulls of a robot, at random configurations; those that never touch in the scene too."""

    def __init__(self, path: Path, configurations: int) -> None:
        self.world = World(path, [], configurations)
        self.command = [executable("pair_time"), path, "--all"]
        self.command += ["--configurations", str(configurations)]
        self.pairs: dict[tuple[int, str, str], Pair] = {}
        model = mujoco.MjModel.from_xml_string(self.world.to_mjcf(Settings(0.001)))
        data = mujoco.MjData(model)
        geoms = {geom["name"]: geom for geom in self.world.data["geoms"]}
        poses = []
        for seen in self.world.data["configurations"]:
            self.world.set_q(model, data, seen["q"])
            mujoco.mj_kinematics(model, data)
            poses.append((data.xpos.copy(), data.xquat.copy()))
        for key, row in self.ours().items():
            hulls = [geoms[row[side]] for side in "ab"]
            models = [copies(hulls, *poses[key[0]], with_pairs=pairs) for pairs in (True, False)]
            corners, distance = row["corners"], row["distance_m"]
            self.pairs[key] = Pair(row["a"], row["b"], corners, distance, models)

    def ours(self) -> dict[tuple[int, str, str], dict]:
        """One run of quasistep's program: near pairs of hulls."""
        rows = json.loads(subprocess.run(self.command, check=True, capture_output=True).stdout)
        return {
            (row["configuration"], row["a"], row["b"]): row
            for row in rows
            if row["near"] and all(row["corners"])
        }

    def time(self) -> None:
        """Both once, one after the other."""
        for key, row in self.ours().items():
            self.pairs[key].ours_us.append(row["median_us"])
            self.pairs[key].points = [row["points"]]
        for pair in self.pairs.values():
            (model, data), (_, without) = pair.models
            # what a model costs without its pairs is not theirs
            us = collision_us(model, data) - collision_us(pair.models[1][0], without)
            pair.theirs_us.append(us)
            pair.points.append(data.ncon // COPIES)


def collision_us(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """CPU time of the contact points of one copy."""
    looks = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(CALLS):
            mujoco.mj_collision(model, data)
        looks.append(time.perf_counter() - start)
    return 1e6 * median(looks) / (CALLS * COPIES)


def copies(
    hulls: list[dict], places: np.ndarray, quats: np.ndarray, *, with_pairs: bool
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Two hulls many times, each at its pose; only the two of a copy meet."""
    root = ET.Element("mujoco")
    ET.SubElement(root, "size", memory="64M")
    assets, world = ET.SubElement(root, "asset"), ET.SubElement(root, "worldbody")
    contact = ET.SubElement(root, "contact")
    for k, hull in enumerate(hulls):
        vertex = numbers(np.ravel(hull["shape"]["vertices"]))
        ET.SubElement(assets, "mesh", name=f"hull{k}", vertex=vertex, inertia="convex")
    for copy in range(COPIES):
        for k, hull in enumerate(hulls):
            place = places[hull["body"]] + [APART * copy, 0, 0]
            body = ET.SubElement(
                world, "body", pos=numbers(place), quat=numbers(quats[hull["body"]])
            )
            ET.SubElement(body, "freejoint")
            geom = {"type": "mesh", "mesh": f"hull{k}", "contype": "0", "conaffinity": "0"}
            ET.SubElement(body, "geom", name=f"{copy}-{k}", **geom, **placement(hull["pose"]))
        if with_pairs:
            ends = {"geom1": f"{copy}-0", "geom2": f"{copy}-1"}
            ET.SubElement(contact, "pair", **ends, margin=str(MARGIN), gap="0")
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    return model, data


def heading(configurations: int) -> str:
    """What was measured."""
    return f"""\
## Pairs of hulls

The robots of each scene at {configurations} random configurations: pairs of convex hulls whose boxes are within
{1e3 * MARGIN:g} mm of each other, also those that the scene keeps from touching. Time of the contact points of one pair
within {1e3 * MARGIN:g} mm: `contact_patch` of quasistep through `pair_time` of `benches/`, `mj_collision` of MuJoCo with
multiccd on {COPIES} copies of the pair, less what it takes without the pairs. Both are called again and again at one
pose, in turns; a row is the pose with the least ratio, MuJoCo's time by quasistep's.
"""


def rows(pairs: list[Pair]) -> list[list[str]]:
    """Of the table, the one on which quasistep is slowest against MuJoCo first."""
    ratio = {id(p): median(p.theirs_us) / median(p.ours_us) for p in pairs}
    kinds = defaultdict(list)
    for pair in pairs:
        kinds[(pair.a, pair.b)].append(pair)
    found = []
    for (a, b), alike in kinds.items():
        worst = min(alike, key=lambda p: ratio[id(p)])
        least, most = (f(1e3 * p.distance for p in alike) for f in (min, max))
        found.append(
            [
                f"{a} – {b}",
                " and ".join(map(str, worst.corners)),
                str(len(alike)),
                f"{least:.1f} to {most:.1f}",
                f"{worst.points[0]} / {worst.points[1]}",
                f"{median(worst.ours_us):.2f}",
                f"{median(worst.theirs_us):.2f}",
                f"{ratio[id(worst)]:.2f}",
                f"{median(ratio[id(p)] for p in alike):.2f}",
            ]
        )
    return sorted(found, key=lambda row: float(row[-2]))


HEAD = [
    "hulls",
    "corners",
    "poses",
    "distance, mm",
    "points",
    "quasistep, µs",
    "MuJoCo, µs",
    "least ratio",
    "median ratio",
]

def placement(pose: dict) -> dict[str, str]:
    """A pose as attributes of an MJCF element."""
    return {"pos": numbers(pose["xyz"]), "quat": numbers(pose["quat"])}


def numbers(values) -> str:
    """Numbers for an XML attribute."""
    return " ".join(str(value) for value in values)

