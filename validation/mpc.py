"""Planning through contact: the same problems by SCIP and Gurobi.

robot:  MpcNote's point robot at states of its closed loop; Gurobi gets a compact form that fits its
        free licence (inputs, normal and signed tangential impulses, one binary per mode, only the contacts
        within reach), the two alternate. Time, nodes and the difference of the costs.
random: random systems from their matrices in SCIP, complementarity as SOS1; every status, plan and cost.
files:  the LP and MPS files of random systems in Gurobi.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
from machine import cpu_model, executable, versions
from random_systems import (
    BRIEF,
    CHEAPER,
    FEASIBILITY,
    PLAN_HOLDS,
    SAME_COST,
    compare_files,
    compare_proofs,
)

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation/results/mpc.md"
STEP = 0.1
MU = 0.8
GOAL = np.array([3.0, -5.0, 0.0, 0.0])
HALF = np.sqrt(0.5)
NORMALS = np.array([[HALF, -HALF], [0.0, 1.0], [-1.0, 0.0]])
TANGENTS = np.array([[HALF, HALF], [1.0, 0.0], [0.0, 1.0]])
ALPHA = np.array([-0.6, 4.4, 4.4])
# Impulses, gaps and speeds at |v| <= 1 and |q| <= 5 stay below these.
BIG_IMPULSE, BIG_GAP, BIG_SPEED = 3.0, 10.0, 1.5


def gurobi_model(x0: np.ndarray, horizon: int, reachable: list[list[int]]):
    """The compact form."""
    import gurobipy as gp

    environment = gp.Env(params={"OutputFlag": 0})
    model = gp.Model(env=environment)
    for name, value in [
        ("Threads", 1),
        ("MIPGap", 0.0),
        ("MIPGapAbs", 1e-7),
        ("FeasibilityTol", 1e-9),
        ("OptimalityTol", 1e-9),
        ("IntFeasTol", 1e-9),
        ("TimeLimit", 15),
    ]:
        model.setParam(name, value)
    binary = gp.GRB.BINARY
    cost = gp.QuadExpr((x0 - GOAL) @ (x0 - GOAL))
    q, v = [gp.LinExpr(a) for a in x0[:2]], [gp.LinExpr(a) for a in x0[2:]]
    for k in range(horizon):
        u = [model.addVar(lb=-1, ub=1) for _ in range(2)]
        cost += 10 * (u[0] * u[0] + u[1] * u[1])
        contacts = []
        push = [STEP * u[0], STEP * u[1]]
        for surface in (i for step, i in reachable if step == k):
            c = model.addVar(lb=0, ub=BIG_IMPULSE)
            t = model.addVar(lb=-MU * BIG_IMPULSE, ub=MU * BIG_IMPULSE)
            contacts.append((surface, c, t))
            for axis in range(2):
                push[axis] += NORMALS[surface, axis] * c + TANGENTS[surface, axis] * t
        v = [v[axis] + push[axis] for axis in range(2)]
        q = [q[axis] + STEP * v[axis] for axis in range(2)]
        for value, bound in [(q[0], 5), (q[1], 5), (v[0], 1), (v[1], 1)]:
            model.addConstr(value <= bound)
            model.addConstr(value >= -bound)
        for surface, c, t in contacts:
            normal, tangent = NORMALS[surface], TANGENTS[surface]
            gap = normal[0] * q[0] + normal[1] * q[1] + ALPHA[surface]
            speed = tangent[0] * v[0] + tangent[1] * v[1]
            stick, forth, back = (model.addVar(vtype=binary) for _ in range(3))
            opened = model.addVar(vtype=binary)
            model.addConstr(opened + stick + forth + back == 1)
            model.addConstr(gap >= 0)
            model.addConstr(gap <= BIG_GAP * opened)
            model.addConstr(c <= BIG_IMPULSE * (1 - opened))
            model.addConstr(t <= MU * c)
            model.addConstr(t >= -MU * c)
            model.addConstr(speed <= BIG_SPEED * (forth + opened))
            model.addConstr(speed >= -BIG_SPEED * (back + opened))
            model.addConstr(t + MU * c <= 2 * MU * BIG_IMPULSE * (1 - forth))
            model.addConstr(MU * c - t <= 2 * MU * BIG_IMPULSE * (1 - back))
        for value, wanted in zip([*q, *v], GOAL, strict=True):
            cost += (value - wanted) * (value - wanted)
    model.setObjective(cost)
    return model


def compare_robot(horizon: int, every: int) -> list[str]:
    """Our closed loop, and Gurobi at some of its states."""
    import gurobipy as gp

    command = [executable("mpc_time"), "--horizon", str(horizon), "--json", "--repetitions", "3"]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    steps = [json.loads(line) for line in ran.stdout.splitlines()][::every]
    rows, left_out, limits = [], 0, 0
    worst = 0.0
    for step in steps:
        try:
            model = gurobi_model(np.array(step["x"]), horizon, step["reachable"])
            # minimum of three; one for problems that take long
            times = []
            while len(times) < 3 and sum(times) < 2.0:
                model.reset(1)
                start = time.process_time()
                model.optimize()
                times.append(time.process_time() - start)
        except gp.GurobiError:
            left_out += 1
            continue
        if model.Status == gp.GRB.TIME_LIMIT:
            limits += 1
        else:
            worst = max(worst, abs(model.ObjVal - step["cost"]))
        rows.append((step["ms"], 1e3 * min(times), step["nodes"], model.NodeCount))
        print(f"  k = {step['k']}: {step['ms']:.3f} ms, Gurobi {rows[-1][1]:.1f} ms", file=sys.stderr)
    if not rows:
        return [f"| {horizon} | 0 | – | – | – | – | – | – | – |"]
    ours, theirs, nodes, their_nodes = zip(*rows, strict=True)
    note = f"{left_out} too large for the licence, {limits} at its limit of 15 s"
    ratios = [g / q for q, g in zip(ours, theirs, strict=True)]
    return [
        f"| {horizon} | {len(rows)} ({note}) | {median(ours):.3f} / {max(ours):.2f} "
        f"| {median(theirs):.1f} / {max(theirs):.0f} | {median(theirs) / median(ours):.0f} "
        f"| {sum(theirs) / sum(ours):.0f} | {min(ratios):.0f} "
        f"| {median(nodes):.0f} / {max(nodes)} and {median(their_nodes):.0f} / {max(their_nodes):.0f} "
        f"| {worst:.1e} |"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="validation/run mpc")
    parser.add_argument("--systems", type=int, default=2000, help="small random systems (default 2000)")
    parser.add_argument("--larger", type=int, default=20, help="larger ones (default 20)")
    parser.add_argument("--first", type=int, default=1, help="first seed (default 1)")
    parser.add_argument("--files", type=int, default=50, help="systems per kind of file (default 50)")
    parser.add_argument(
        "--scip-time", type=float, default=5, help="CPU seconds per search; its bounds then still hold (default 5)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="random systems at a time (default 1)")
    parser.add_argument("--horizons", type=int, nargs="*", default=[5, 20])
    parser.add_argument("--every", type=int, default=3, help="every n-th step (default 3)")
    arguments = parser.parse_args()

    names = {name: version(name) for name in ("gurobipy", "PySCIPOpt")}
    lines = [
        "# Planning through contact",
        "",
        f"`validation/run {' '.join(['mpc', *sys.argv[1:]])}` on {date.today()}, {cpu_model()}; "
        f"{versions()}; " + ", ".join(f"{n} {v}" for n, v in names.items()) + ". One thread.",
        "",
    ]
    if arguments.horizons:
        lines += [
            "MpcNote's point robot. Times in ms, median / largest over the states; ratios Gurobi to quasistep "
            "of medians, of sums, and the least at any state. quasistep is charged everything from "
            "the state to the plan, Gurobi the CPU time of `optimize`, without building the model.",
            "",
            "| N | states | quasistep | Gurobi | median × | sum × | least × | nodes | costs differ |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for horizon in arguments.horizons:
            lines += compare_robot(horizon, arguments.every)
        lines.append("")
    first = arguments.first
    kinds = [("small", arguments.systems), ("larger", arguments.larger)]
    if any(count for _, count in kinds):
        lines += [
            "Random systems in SCIP, from their matrices, complementarity as SOS1. Proven: our plan satisfies the "
            f"matrices to {PLAN_HOLDS:g} (and SCIP's own check) and costs there what it says, and SCIP's search for a "
            f"plan that costs less by {CHEAPER:g} of max(1, cost), demands held to {FEASIBILITY[0]:g}, ended without "
            f"one. Second look: it found one that was cheaper only for that tolerance, and none at {FEASIBILITY[1]:g}; "
            f"or it took more than {BRIEF:g} s of CPU time, and a search for the least cost proved as much. "
            f"Open: both were cut short, the latter after {arguments.scip_time:g} s, and its "
            "bound leaves room for a plan that is cheaper by at most what is in brackets. Small: one or two "
            "walls with friction or pairs without meaning, 1 to 3 steps; larger: two walls, 4 to 6 steps.",
            "",
            "| kind | systems (seeds) | proven | infeasible for both | open (by at most) | second look | unlike | plans violate at most | CPU s of SCIP |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        unlike = []
        for kind, count in kinds:
            if count:
                row, *others = compare_proofs(kind, first, count, arguments.scip_time, arguments.jobs)
                lines.append(row)
                unlike += others
        lines += ["", *(f"- {line}" for line in unlike), ""] if unlike else [""]
    if arguments.files:
        lines += [
            f"Files that Gurobi read and solved to a gap of 1e-9; costs agree to {SAME_COST:g} of max(1, cost). Soft: "
            "bounds that mostly cannot be kept; in brackets the plans in which they gave way.",
            "",
            "| kind | complementarity | format | systems | same cost | infeasible for both | at its limit of 20 s "
            "| unlike | costs differ |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        unlike = []
        for kind, forms in [("small", ("sos1", "big-m", "indicator")), ("soft", ("sos1", "indicator"))]:
            for form in forms:
                for mps in (False, True):
                    row, *others = compare_files(kind, first, arguments.files, form, mps)
                    lines.append(row)
                    unlike += others
        lines += ["", *(f"- {line}" for line in unlike), ""] if unlike else [""]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
