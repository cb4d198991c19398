"""Standard and random convex programs: quasistep's doors beside Clarabel and PIQP, time beside what was solved.

The Maros–Mészáros programs are read from PATH, a folder of `.mat` files as `qpsolvers/maros_meszaros_qpbenchmark` has them
(`l ≤ A x ≤ u`, the bounds of variables among the rows); those of at most 1000 variables. Random quadratic, linear and
second-order cone programs have an answer by construction.

A program is *solved* if the residuals of the answer, computed here from the program's own numbers, are at most 1e-6 (beside
1 and the largest number that they are sums of) within 20 s; an answer that is called one and is not, is *wrong*.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import clarabel
import numpy as np
import piqp
import scipy.io
import scipy.sparse as sp
from machine import cpu_model, example, versions

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation/results/qp.md"
# Most variables of a program.
MOST = 1000
# Residual of a solved program, and wall time for it, in s.
SOLVED = 1e-6
LIMIT = 20.0
# A bound beyond this is none, as in the files.
NONE = 1e19


@dataclass
class Program:
    """`min 1/2 xᵀPx + cᵀx` with `A x ≥ b`, the last rows in second-order cones of the sizes `cones`."""

    name: str
    P: sp.csr_matrix
    c: np.ndarray
    A: sp.csr_matrix
    b: np.ndarray
    cones: list[int] = field(default_factory=list)

    @property
    def plain(self) -> int:
        """Rows that are no part of a second-order cone."""
        return len(self.b) - sum(self.cones)

    def outside(self, s: np.ndarray) -> float:
        """How far a vector of rows is outside of the cones."""
        worst = max(-s[: self.plain].min(initial=0.0), 0.0)
        first = self.plain
        for k in self.cones:
            worst = max(worst, np.linalg.norm(s[first + 1 : first + k]) - s[first])
            first += k
        return float(worst)

    def residual(self, x: np.ndarray, z: np.ndarray) -> float:
        """Largest of the optimality conditions, beside 1 and the largest of the terms."""
        Px, Ax, Az = self.P @ x, self.A @ x, self.A.T @ z
        big = lambda *parts: max([1.0, *(np.abs(p).max(initial=0.0) for p in parts)])  # noqa: E731
        gap = abs(x @ Px + self.c @ x - self.b @ z)
        errors = [
            np.abs(Px + self.c - Az).max() / big(Px, self.c, Az),
            self.outside(Ax - self.b) / big(Ax, self.b),
            self.outside(z) / big(z),
            gap / max(1.0, abs(x @ Px), abs(self.c @ x), abs(self.b @ z)),
        ]
        return float(np.nan_to_num(max(errors), nan=np.inf))


def maros_meszaros(folder: Path) -> list[Program]:
    """The programs of a folder with at most `MOST` variables."""
    programs = []
    for file in sorted(folder.glob("*.mat")):
        data = scipy.io.loadmat(file)
        if data["P"].shape[0] > MOST:
            continue
        A = sp.csr_matrix(data["A"].astype(float))
        low, high = data["l"].T[0].astype(float), data["u"].T[0].astype(float)
        below, above = low > -NONE, high < NONE
        P = sp.csc_matrix(data["P"].astype(float))
        # some files hold one triangle
        P = P if abs(P - P.T).max() == 0 else sp.triu(P) + sp.triu(P, 1).T
        rows = sp.vstack([A[below], -A[above]]).tocsr()
        b = np.concatenate([low[below], -high[above]])
        programs.append(Program(file.stem, sp.csr_matrix(P), data["q"].T[0].astype(float), rows, b))
    return programs


def random_programs(kind: str, count: int) -> list[Program]:
    """Programs with an answer: `x` and `z` are drawn first."""
    programs = []
    for seed in range(count):
        rng = np.random.default_rng([seed, len(kind)])
        n = int(rng.integers(2, 60))
        rank = 0 if kind == "LP" else int(rng.integers(1, n + 1))
        B = rng.normal(size=(rank, n))
        m = int(rng.integers(n, 3 * n))
        cones = [int(k) for k in rng.integers(2, 8, size=n // 4 + 1)] if kind == "SOCP" else []
        A = rng.normal(size=(m + sum(cones), n)) * (rng.random((m + sum(cones), n)) < 0.5)
        scale = 10.0 ** rng.uniform(-3, 3, size=n) if seed % 3 == 0 else np.ones(n)
        x = rng.normal(size=n)
        # every other row is active, with a multiplier
        active = rng.random(m) < min(1.0, 0.5 * n / m)
        s, z = [np.where(active, 0.0, rng.random(m))], [np.where(active, rng.random(m), 0.0)]
        for k in cones:
            rest = rng.normal(size=k - 1)
            length = np.linalg.norm(rest)
            # slack and multiplier on the boundary, opposite one another; or inside and zero
            if rng.random() < 0.5:
                s.append(np.concatenate([[length], rest]))
                z.append(rng.random() * np.concatenate([[length], -rest]))
            else:
                s.append(np.concatenate([[length + rng.random()], rest]))
                z.append(np.zeros(k))
        s, z = np.concatenate(s), np.concatenate(z)
        P, b = B.T @ B, A @ x - s
        c = A.T @ z - P @ x
        S = sp.diags(scale)
        programs.append(Program(f"{kind} {seed}", sp.csr_matrix(S @ P @ S), scale * c, sp.csr_matrix(A @ S), b, cones))
    return programs


Answer = tuple[float, np.ndarray, np.ndarray] | None


def least(run: Callable[[], Answer]) -> Answer:
    """The quickest of up to five runs within a tenth of a second."""
    begin = time.perf_counter()
    best = run()
    for _ in range(4):
        if best is None or time.perf_counter() - begin > 0.1:
            break
        best = min(best, run() or best, key=lambda answer: answer[0])
    return best


def by_clarabel(p: Program) -> Answer:
    """Clarabel at its default tolerances."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = LIMIT
    cones = [clarabel.NonnegativeConeT(p.plain)] if p.plain else []
    cones += [clarabel.SecondOrderConeT(k) for k in p.cones]
    start = time.perf_counter()
    solver = clarabel.DefaultSolver(sp.triu(p.P).tocsc(), p.c, (-p.A).tocsc(), -p.b, cones, settings)
    solution = solver.solve()
    spent = time.perf_counter() - start
    if str(solution.status) != "Solved":
        return None
    return spent, np.array(solution.x), np.array(solution.z)


def by_piqp(p: Program) -> Answer:
    """PIQP, sparse, at its default tolerances; it has no second-order cones."""
    solver = piqp.SparseSolver()
    start = time.perf_counter()
    solver.setup(p.P.tocsc(), p.c, None, None, p.A.tocsc(), p.b, None)
    status = solver.solve()
    spent = time.perf_counter() - start
    if status != piqp.PIQP_SOLVED:
        return None
    return spent, solver.result.x, solver.result.z_l - solver.result.z_u


def quasistep_at(door: str, p: Program) -> Answer:
    """One of quasistep's doors, in a process that is ended when the time is over."""
    lists = lambda M: [  # noqa: E731
        [row.indices.tolist(), row.data.tolist()] for row in (M[[i]] for i in range(M.shape[0]))
    ]
    task = {"door": door, "P": lists(p.P), "c": p.c.tolist(), "A": lists(p.A), "b": p.b.tolist(), "cones": p.cones}
    try:
        done = subprocess.run(
            [example("quasistep-solvers", "solve_program")], input=json.dumps(task) + "\n", text=True, capture_output=True, timeout=2 * LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    answer = json.loads(done.stdout)
    if answer["status"] != "Solved":
        return None
    return answer["seconds"], np.array(answer["x"]), np.array(answer["z"])


def by_qp(p: Program) -> Answer:
    """The dense door."""
    return quasistep_at("qp", p)


def by_socp(p: Program) -> Answer:
    """The sparse door."""
    return quasistep_at("socp", p)


SOLVERS = {
    "quasistep `QpSolver`": by_qp,
    "quasistep `SocpSolver`": by_socp,
    "Clarabel": by_clarabel,
    "PIQP": by_piqp,
}


def put(queue: multiprocessing.Queue, name: str, p: Program) -> None:
    """Solves in a process of its own."""
    run = SOLVERS[name]
    queue.put(run(p) if name.startswith("quasistep") else least(lambda: run(p)))


def within_limit(name: str, p: Program) -> Answer:
    """An answer, or none in time; a solver that crashes takes its process along."""
    queue: multiprocessing.Queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=put, args=(queue, name, p))
    process.start()
    end = time.monotonic() + 3 * LIMIT
    answer = None
    while time.monotonic() < end:
        try:
            answer = queue.get(timeout=0.5)
            break
        except Exception:  # noqa: BLE001 (queue.Empty of any start method)
            if not process.is_alive() and queue.empty():
                break
    process.terminate()
    process.join()
    return answer


def table(title: str, programs: list[Program]) -> list[str]:
    """Every solver on some programs."""
    lines = [f"| {title}: {len(programs)} | solved | wrong | median, ms | not solved |", "|---|---|---|---|---|"]
    for name in SOLVERS:
        if programs[0].cones and name in ("PIQP", "quasistep `QpSolver`"):
            continue
        spent, wrong, failed = [], [], []
        for p in programs:
            answer = within_limit(name, p)
            if answer is None or answer[0] > LIMIT:
                failed.append(p.name)
            elif p.residual(*answer[1:]) > SOLVED:
                wrong.append(p.name)
            else:
                spent.append(answer[0])
        unsolved = ", ".join([*failed, *(f"{w} (wrong)" for w in wrong)][:12])
        more = len(failed) + len(wrong) - 12
        unsolved += f" and {more} more" if more > 0 else ""
        median = 1e3 * statistics.median(spent) if spent else float("nan")
        lines.append(f"| {name} | {len(spent)} | {len(wrong)} | {median:.2f} | {unsolved} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("path", nargs="?", type=Path, help="folder of the Maros–Mészáros files; without it random ones alone")
    parser.add_argument("--random", type=int, default=200, help="random programs of each kind")
    parser.add_argument("--only", nargs="*", help="these programs of the folder alone")
    arguments = parser.parse_args()
    example("quasistep-solvers", "solve_program")
    parts = []
    if arguments.path:
        programs = maros_meszaros(arguments.path)
        if arguments.only:
            programs = [p for p in programs if p.name in arguments.only]
        parts.append(table(f"Maros–Mészáros, n ≤ {MOST}", programs))
    if not arguments.only:
        parts += [table(f"random {kind}s", random_programs(kind, arguments.random)) for kind in ("QP", "LP", "SOCP")]
    head = [
        "# Standard and random convex programs",
        "",
        "`validation/run qp PATH` writes this page. *Solved*: residuals of at most 1e-6 by the program's own numbers, beside 1 and",
        "the largest of their terms, in 20 s; *wrong*: called solved with more. Time is the least wall time of up to five cold solves with set-up.",
        "",
        f"{date.today()}, {cpu_model()}, {platform.system()}; {versions()}; Clarabel {version('clarabel')}, PIQP {version('piqp')}.",
    ]
    text = "\n".join(head) + "\n" + "".join("\n" + "\n".join(lines) + "\n" for lines in parts)
    print(text)
    if not arguments.only:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
