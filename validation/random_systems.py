"""Random systems: what SCIP proves about our plans, and whether Gurobi finds them in our files.

SCIP gets each problem from its matrices: all of gamma, nothing reduced, every pair an ordered set. It checks our plan,
and is then asked for one that costs less by more than a tolerance: a search that ends without proves ours optimal.
The cost is a sum of squares of one linear form each, so that planes cut them off one by one; as one quadratic objective
they keep SCIP from coming to an end.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from machine import executable

INFINITY = math.inf

# demands in SCIP's search: the second where what it found with the first is only cheaper for what it violates
FEASIBILITY = (1e-7, 1e-9)
# CPU seconds of the search for something cheaper; where it is longer, one for the least cost, to this gap, takes its place
BRIEF = 1.0
GAP = 1e-7
# by how much a plan would have to cost less than ours, relative to max(1, cost)
CHEAPER = 1e-6
# our plan, held against the matrices, and its cost there
PLAN_HOLDS = 1e-8
# costs by Gurobi from our files, relative to max(1, cost)
SAME_COST = 1e-7

FORMS = {"sos1": "SOS1", "big-m": "big-M", "indicator": "indicators"}


class Problem:
    """A problem's matrices, as `mpc_random` prints them."""

    def __init__(self, data: dict) -> None:
        self.x0 = np.array(data["x0"], float)
        n_x = len(self.x0)
        self.models = []
        for model in data["models"]:
            g = model["n_gamma"]
            shapes = {"A": (n_x, n_x), "B": (n_x, -1), "C": (n_x, g), "D": (g, n_x), "E": (g, g)}
            arrays = {name: np.array(model[name], float).reshape(shape) for name, shape in shapes.items()}
            arrays |= {name: np.array(model[name], float) for name in ("f", "a")}
            most = np.full(g, INFINITY)
            if data["impulse"] is not None:
                most[model["bounded"]] = data["impulse"]
            self.models.append(arrays | {"most": most})
        self.n_u = self.models[0]["B"].shape[1]
        self.Q, self.Q_f = (np.array(data[name], float).reshape(n_x, n_x) for name in ("Q", "Q_f"))
        self.R = np.array(data["R"], float).reshape(self.n_u, self.n_u)
        self.goals = [np.array(goal, float) for goal in data["goal"]]
        sizes = {"state": n_x, "input": self.n_u, "input_rate": self.n_u}
        self.limits = {}
        for name, size in sizes.items():
            lower, upper = data[name]["lower"], data[name]["upper"]
            self.limits[name] = (
                np.array([-INFINITY if v is None else v for v in lower] or [-INFINITY] * size, float),
                np.array([INFINITY if v is None else v for v in upper] or [INFINITY] * size, float),
            )

    def goal(self, k: int) -> np.ndarray:
        return self.goals[min(k, len(self.goals) - 1)]

    def weight(self, k: int) -> np.ndarray:
        return self.Q_f if k == len(self.models) else self.Q

    def audit(self, plan: dict) -> tuple[float, float]:
        """Worst violation of anything, and the cost, from the definitions."""
        x = [np.array(v) for v in plan["states"]]
        u = [np.array(v) for v in plan["inputs"]]
        cost = sum((v - self.goal(k)) @ self.weight(k) @ (v - self.goal(k)) for k, v in enumerate(x))
        off = [float(np.max(np.abs(x[0] - self.x0)))]

        def within(values: np.ndarray, name: str) -> None:
            lower, upper = self.limits[name]
            off.extend([float(np.max(lower - values)), float(np.max(values - upper))])

        for k, model in enumerate(self.models):
            cost += u[k] @ self.R @ u[k]
            gamma = np.array(plan["impulses"][k])
            moved = model["A"] @ x[k] + model["B"] @ u[k] + model["C"] @ gamma + model["f"]
            row = model["D"] @ x[k + 1] + model["E"] @ gamma + model["a"]
            off += [float(np.max(np.abs(moved - x[k + 1]))), float(np.max(np.minimum(gamma, row)))]
            off += [float(np.max(v)) for v in (-gamma, -row, gamma - model["most"])]
            within(x[k + 1], "state")
            within(u[k], "input")
            if k > 0:
                within(u[k] - u[k - 1], "input_rate")
        return max(off), float(cost)


class Scip:
    """The whole problem in SCIP, nothing left out."""

    def __init__(self, problem: Problem, feasibility: float, seconds: float) -> None:
        from pyscipopt import SCIP_PARAMSETTING, Model

        self.model = Model()
        self.model.hideOutput()
        for name, value in [
            ("numerics/feastol", feasibility),
            ("numerics/dualfeastol", feasibility),
            ("limits/time", seconds),
            ("timing/clocktype", 1),  # CPU time
        ]:
            self.model.setParam(name, value)
        self.off = SCIP_PARAMSETTING.OFF
        self.problem = problem
        # squares, and the matrix whose rows dotted with (values − wanted) they are
        self.squares: list[tuple] = []
        self.steps: list[tuple] = []
        self.write()

    def variables(self, lower, upper) -> list:
        pairs = zip(lower, upper, strict=True)
        return [
            self.model.addVar(lb=a if a > -INFINITY else None, ub=b if b < INFINITY else None) for a, b in pairs
        ]

    def write(self) -> None:
        model, problem = self.model, self.problem
        x, before = [float(v) for v in problem.x0], None
        start = problem.x0 - problem.goal(0)
        model.addObjoffset(float(start @ problem.Q @ start))
        for k, system in enumerate(problem.models):
            none, endless = np.zeros(len(system["a"])), np.full(len(system["a"]), INFINITY)
            u = self.variables(*problem.limits["input"])
            after = self.variables(*problem.limits["state"])
            gamma = self.variables(none, system["most"])
            row = self.variables(none, endless)
            for i, state in enumerate(after):
                moved = along(system["A"][i], x) + along(system["B"][i], u) + along(system["C"][i], gamma)
                model.addCons(state - moved == float(system["f"][i]))
            for i, level in enumerate(row):
                pushed = along(system["D"][i], after) + along(system["E"][i], gamma)
                model.addCons(level - pushed == float(system["a"][i]))
                model.addConsSOS1([gamma[i], level])
            if before is not None:
                for now, then, lower, upper in zip(u, before, *problem.limits["input_rate"], strict=True):
                    if lower > -INFINITY:
                        model.addCons(now - then >= float(lower))
                    if upper < INFINITY:
                        model.addCons(now - then <= float(upper))
            self.add_cost(problem.weight(k + 1), after, problem.goal(k + 1))
            self.add_cost(problem.R, u, np.zeros(problem.n_u))
            self.steps.append((u, after, gamma, row))
            x, before = after, u

    def add_cost(self, weight: np.ndarray, values: list, wanted: np.ndarray) -> None:
        sizes, vectors = np.linalg.eigh(weight)
        for size, vector in zip(sizes, vectors.T, strict=True):
            if size > 1e-12 * max(sizes):
                square = self.model.addVar(lb=0.0, obj=float(size))
                form = along(vector, values) - float(vector @ wanted)
                self.model.addCons(form * form <= square)
                self.squares.append((square, vector, values, wanted))

    def accepts(self, plan: dict) -> bool:
        """True if a plan satisfies all that SCIP was given."""
        model = self.model
        at = model.createSol()
        values = {}
        for k, (u, after, gamma, row) in enumerate(self.steps):
            system = self.problem.models[k]
            x, impulses = np.array(plan["states"][k + 1]), np.array(plan["impulses"][k])
            level = system["D"] @ x + system["E"] @ impulses + system["a"]
            for variables, numbers in [(u, plan["inputs"][k]), (after, x), (gamma, impulses), (row, level)]:
                for variable, number in zip(variables, numbers, strict=True):
                    values[variable.name] = float(number)
                    model.setSolVal(at, variable, float(number))
        for square, vector, variables, wanted in self.squares:
            form = vector @ (np.array([values[v.name] for v in variables]) - wanted)
            model.setSolVal(at, square, float(form * form))
        accepted = model.checkSol(at, original=True)
        model.freeSol(at)
        return accepted

    def search_below(self, limit: float | None) -> tuple[str, float, float]:
        """Status, lower bound and cost of the best plan found that costs no more than a limit."""
        # a proof that there is none needs no help to find plans
        self.model.setHeuristics(self.off)
        if limit is not None:
            self.model.setObjlimit(limit)
        return self.search()

    def search(self) -> tuple[str, float, float]:
        """Status, lower bound and cost of the best plan found."""
        self.model.setParam("limits/absgap", GAP)
        self.model.optimize()
        found = self.model.getObjVal() if self.model.getNSols() > 0 else INFINITY
        return self.model.getStatus(), self.model.getDualbound(), found


def along(row, values):
    from pyscipopt import quicksum

    return quicksum(float(a) * v for a, v in zip(row, values, strict=True) if abs(a) > 1e-15)


@dataclass
class Verdict:
    """What a plan and SCIP's search amount to."""

    kind: str
    violation: float
    # feasibilities tried
    looks: int
    seconds: float
    # by how much a plan may be cheaper than ours for all that SCIP proved, relative to max(1, cost)
    gap: float
    said: str


def plans(kind: str, first: int, count: int, *options: str) -> list[dict]:
    """Problems and our plans."""
    command = [executable("mpc_random"), "--kind", kind, "--first", str(first), "--count", str(count), *options]
    ours = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in ours.stdout.splitlines()]


def judge(line: dict, limit: float) -> Verdict:
    """Holds one plan against SCIP; `limit` in s of a search."""
    began = time.process_time()
    problem, plan = Problem(line["problem"]), line["plan"]
    ours, own = plan["status"], plan["cost"]
    highest, holds, violation, looks = None, ours in ("Optimal", "Infeasible"), 0.0, 0
    if ours == "Optimal":
        violation, cost = problem.audit(plan)
        room = max(1.0, abs(own))
        holds = violation <= PLAN_HOLDS and abs(cost - own) <= PLAN_HOLDS * room
        highest = own - CHEAPER * room
    status, bound, found = "", -INFINITY, INFINITY
    for feasibility in FEASIBILITY:
        looks += 1
        scip = Scip(problem, feasibility, BRIEF if looks == 1 else limit)
        holds = holds and (ours == "Infeasible" or scip.accepts(plan))
        status, bound, found = scip.search_below(highest)
        if found == INFINITY:
            break
    closed = status == "infeasible"
    if found == INFINITY and not closed:
        looks += 1
        status, bound, best = Scip(problem, FEASIBILITY[0], limit).search()
        closed = status == "infeasible" if highest is None else bound >= highest
        # with a limit, what costs more than it is no contradiction
        found = best if highest is None or best < highest else INFINITY
    if not holds or found < INFINITY:
        kind = "unlike"
    elif not closed:
        kind = "open"
    else:
        kind = "proven" if ours == "Optimal" else "infeasible"
    said = f"seed {line['seed']}: {ours} {own}, off by {violation}, SCIP {status}, {bound} to {found}"
    gap = INFINITY if highest is None else (own - bound) / max(1.0, abs(own))
    return Verdict(kind, violation, looks, time.process_time() - began, gap, said)


def compare_proofs(kind: str, first: int, count: int, limit: float, jobs: int) -> list[str]:
    """A row of the table of proofs, and what is unlike."""
    verdicts = []
    with Pool(jobs) as pool:
        for verdict in pool.imap(partial(judge, limit=limit), plans(kind, first, count)):
            verdicts.append(verdict)
            if verdict.kind in ("open", "unlike") or verdict.seconds > 5.0:
                print(f"  {verdict}", file=sys.stderr, flush=True)
            if len(verdicts) % 50 == 0:
                print(f"  {len(verdicts)} of {count}", file=sys.stderr, flush=True)
    counts = Counter(verdict.kind for verdict in verdicts)
    return [
        f"| {kind} | {count} ({first} to {first + count - 1}) | {counts['proven']} | {counts['infeasible']} "
        f"| {counts['open']} ({max((v.gap for v in verdicts if v.kind == 'open'), default=0.0):.0e}) | {sum(v.looks > 1 for v in verdicts)} | {counts['unlike']} "
        f"| {max(v.violation for v in verdicts):.1e} | {sum(v.seconds for v in verdicts):.0f} |",
        *(v.said for v in verdicts if v.kind == "unlike"),
    ]


def gurobi_answer(text: str, mps: bool) -> tuple[int, float]:
    """Status and cost of a file."""
    import gurobipy as gp

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"problem.{'mps' if mps else 'lp'}"
        path.write_text(text, encoding="utf-8")
        environment = gp.Env(params={"OutputFlag": 0, "LogToConsole": 0})
        model = gp.read(str(path), environment)
    for name, value in [
        ("Threads", 1),
        ("MIPGap", 0.0),
        ("MIPGapAbs", 1e-9),
        ("FeasibilityTol", 1e-9),
        ("OptimalityTol", 1e-9),
        ("IntFeasTol", 1e-9),
        ("DualReductions", 0),
        ("TimeLimit", 20),
    ]:
        model.setParam(name, value)
    model.optimize()
    return model.Status, model.ObjVal if model.SolCount else INFINITY


def compare_files(kind: str, first: int, count: int, form: str, mps: bool) -> list[str]:
    """A row of the table of files."""
    optimal, infeasible, time_limit = 2, 3, 9
    same, none, limits, relaxed, worst = 0, 0, 0, 0, 0.0
    unlike = []
    for line in plans(kind, first, count, "--form", form, *(["--mps"] if mps else [])):
        status, cost = gurobi_answer(line["file"], mps)
        plan = line["plan"]
        if status == optimal and plan["status"] == "Optimal":
            difference = abs(cost - plan["cost"]) / max(1.0, abs(cost))
            if difference <= SAME_COST:
                same += 1
                relaxed += plan["relaxed"] > 0
                worst = max(worst, difference)
                continue
        elif status == infeasible and plan["status"] == "Infeasible":
            none += 1
            continue
        elif status == time_limit:
            limits += 1
            continue
        unlike.append(f"seed {line['seed']}: {plan['status']} {plan['cost']}, Gurobi {status} {cost}")
    return [
        f"| {kind} | {FORMS[form]} | {'MPS' if mps else 'LP'} | {count} | {same} ({relaxed}) | {none} "
        f"| {limits} | {len(unlike)} | {worst:.1e} |",
        *unlike,
    ]
