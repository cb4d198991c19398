"""Pairs of hulls of many corners: time of the contact points in MuJoCo and in quasistep, on the same hulls at the same poses."""

from __future__ import annotations

import argparse
import json
import subprocess
from statistics import mean, median

import numpy as np
from hull_pairs import COPIES, collision_us, copies
from machine import executable


def theirs(row: dict) -> float:
    """MuJoCo's mean time over the poses of a row, in µs."""
    times = []
    for poses in np.array(row["poses"]):
        hulls = [
            {"body": k, "pose": {"xyz": [0, 0, 0], "quat": [1, 0, 0, 0]}, "shape": {"vertices": hull}}
            for k, hull in enumerate(row["hulls"])
        ]
        models = [
            copies(hulls, poses[:, 4:], poses[:, :4], with_pairs=pairs) for pairs in (True, False)
        ]
        # what a model costs without its pairs is not theirs
        times.append(collision_us(*models[0]) - collision_us(*models[1]))
    return mean(times)


def main() -> None:
    """Prints a row for each number of corners and distance."""
    parser = argparse.ArgumentParser(
        description="MuJoCo and quasistep, interleaved, on pairs of hulls of 150 to 6000 corners."
    )
    parser.add_argument("--repetitions", type=int, default=3, help="default 3")
    arguments = parser.parse_args()
    found: dict[tuple[int, float], list[tuple[float, float]]] = {}
    for _ in range(arguments.repetitions):
        run = subprocess.run([executable("hull_time")], check=True, capture_output=True)
        for row in json.loads(run.stdout):
            if row["kind"] == "pair":
                key = (row["corners"], row["distance_m"])
                found.setdefault(key, []).append((row["us"], theirs(row)))
    print(f"contact points of one pair, us; MuJoCo's of {COPIES} copies")
    print("corners  distance, mm  quasistep  MuJoCo  quasistep / MuJoCo")
    for (corners, distance), times in found.items():
        ours, others = (median(side) for side in zip(*times, strict=True))
        print(f"{corners:7} {1e3 * distance:13.1f} {ours:10.2f} {others:7.2f} {ours / others:19.2f}")


if __name__ == "__main__":
    main()
