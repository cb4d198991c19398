"""Step solvers on recorded step problems: time, residual and failures, interleaved, in one run.

Every problem goes to every solver in turn, so that whatever else the machine does falls on all.
Data are ready in memory; the others are charged the time that they report for themselves, without
the calls from Python and, but for DAQP, without set-up; quasistep is charged everything from the
problem to the answer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from machine import cpu_model, executable, versions
from others import OTHERS, Answer
from recorded import RECORDED, Problem, sequence

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "validation/results/solvers.md"

# Medians in µs of solvers that PyPI does not have, measured on a 2.5 GHz Cascade Lake.
ELSEWHERE = {
    ("bunny13", "qpOASES hot"): 24,
    ("bunny13", "qpOASES cold"): 67,
    ("bunny13", "HPIPM speed"): 55,
    ("bunny13", "HPIPM balance"): 84,
    ("stack69", "qpOASES hot"): 5_900,
    ("stack69", "qpOASES cold"): 12_500,
    ("stack69", "HPIPM speed"): 1_800,
    ("stack69", "HPIPM balance"): 1_400,
    ("pile50", "HPIPM speed"): 86_000,
    ("pile50", "HPIPM balance"): 69_000,
}
# Most problems of a sequence, evenly spread.
MOST = {
    "bunny13": 100,
    "stack69": 30,
    "pile50": 12,
    "pile200": 4,
    "scene:planar_push": 20,
    "scene:iiwa_stacking": 20,
    "scene:pile": 5,
}
# A residual above this is a failure.
SOLVED = 1e-6


class Quasistep:
    """The solver of this project, in a process that keeps its memory."""

    def __init__(self, start: str, accuracy: float = 0.0) -> None:
        self.name = f"quasistep {start}"
        self.warm = start == "warm"
        self.accuracy = accuracy
        command = [executable("solve_recorded")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def fits(self, problem: Problem) -> bool:
        """The problems of scenes come without the identities that a warm start needs."""
        return not (self.warm and problem.name.startswith("scene:"))

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves by name: the other process has the same files."""
        words = [p.name, p.t, int(p.mass), int(p.round), int(self.warm), repeats, self.accuracy]
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(f"error: {answer['error']}")
        if answer["status"] != "Solved":
            return Answer(answer["us"])
        return Answer(answer["us"], np.array(answer["x"]), np.array(answer["z"]))


@dataclass
class Column:
    """What one solver did on one kind of problem."""

    solver: str
    us: list[float] = field(default_factory=list)
    setup_us: list[float] = field(default_factory=list)
    residual: float = 0.0
    failed: int = 0


KINDS = [("pyramids", True, False), ("without mass", False, False), ("round cones", True, True)]


def solvers() -> list:
    """All that can be imported, ours first."""
    ours: list = [Quasistep("warm"), Quasistep("cold"), Quasistep("cold, 1e-8", 1e-8)]
    for make in OTHERS:
        try:
            ours.append(make())
        except ImportError as e:
            print(f"left out: {e}", file=sys.stderr)
    return ours


def compare(names: list[str], repeats: int, most: int | None) -> list[tuple[str, str, int, list]]:
    """Every problem by every solver that it fits."""
    everyone, out = solvers(), []
    for name in names:
        recorded = sequence(name)
        count = min(most or MOST.get(name, 20), len(recorded))
        chosen = np.unique(np.linspace(0, len(recorded) - 1, count).astype(int))
        for kind, mass, is_round in KINDS[:1] if name.startswith("scene:") else KINDS:
            columns: dict[str, Column] = {}
            unbounded = 0
            for done, t in enumerate(chosen):
                progress = f"\r{name}, {kind}: {done + 1} of {len(chosen)}  "
                if sys.stderr.isatty() or done + 1 == len(chosen):
                    print(progress, end="", file=sys.stderr, flush=True)
                problem = recorded.problem(int(t), mass, is_round)
                answers = [(s.name, s.solve(problem, repeats)) for s in everyone if s.fits(problem)]
                errors = [np.inf if a.v is None else problem.residual(a.v, a.z) for _, a in answers]
                # bodies without mass may fall without end: no solver has an answer then
                if not mass and min(errors) > SOLVED:
                    unbounded += 1
                    continue
                for (solver, answer), error in zip(answers, errors, strict=True):
                    column = columns.setdefault(solver, Column(solver))
                    column.us.append(answer.us)
                    column.setup_us.append(answer.setup_us)
                    if error <= SOLVED:
                        column.residual = max(column.residual, error)
                    else:
                        column.failed += 1
            print(file=sys.stderr)
            if not columns:
                continue
            n = len(chosen) - unbounded
            title = f"{name}, {kind}" + (f" ({unbounded} unbounded left out)" if unbounded else "")
            out.append((name, title, n, list(columns.values())))
    return out


def table(name: str, title: str, count: int, columns: list[Column]) -> str:
    """One kind of problem as markdown."""
    n = sequence(name).n
    lines = [
        f"### {title}: n = {n}, {count} problems",
        "",
        "| solver | median, µs | p95, µs | set-up, µs | over quasistep warm | over cold | over cold, 1e-8 | residual | failed |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    named = {c.solver: float(np.median(c.us)) for c in columns}
    own = [named.get(f"quasistep {start}") for start in ("warm", "cold", "cold, 1e-8")]
    for c in columns:
        median = float(np.median(c.us))
        ratios = " | ".join(f"{median / o:.1f}" if o else "" for o in own)
        p95 = float(np.quantile(c.us, 0.95))
        setup = float(np.median(c.setup_us))
        times = [f"{median:.4g}", f"{p95:.4g}", f"{setup:.3g}" if setup > 0 else ""]
        cells = [c.solver, *times, ratios, f"{c.residual:.0e}", c.failed]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    if "pyramids" in title:
        for (recorded, solver), us in ELSEWHERE.items():
            if recorded == name:
                lines.append(f"| {solver} † | {us} | | | | | | | |")
    return "\n".join(lines) + "\n"


def heading(repeats: int) -> str:
    """What was measured, where and when."""
    packages = ["daqp", "piqp", "proxsuite", "clarabel", "osqp", "quadprog", "highspy", "gurobipy"]
    found = []
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return f"""\
## Step solvers on recorded problems

The sequences of `benches/recorded` and every tenth step of some scenes, thinned; every problem by
every solver in turn, the least of {repeats} repetitions each, one thread. Ratios are of medians of
this run. Others are charged what they report for themselves, DAQP with set-up, without which its
rows are not formed, the rest without: it has a column of its own where they tell. A step of a
simulation, whose contacts come and go, needs it. quasistep is charged everything from the problem to
the answer. Warm: from the answer to the problem one step before. quasistep gives all digits, on the
exact active set and with the smallest multipliers; with 1e-8 it may be off as much as the others
are, `Settings::accuracy`. PIQP's tolerance is 3e-10: with 1e-8 its residuals are up to 2e-7.
Residual: largest relative error of balance, cones and complementarity over the problems that were
solved; failed: no answer, or a residual above {SOLVED:.0e}. † was measured elsewhere, on a 2.5 GHz
Cascade Lake: PyPI does not have that solver.
`validation/run solvers` makes these tables.

- {cpu_model()}, {platform.system()} {platform.machine()}; {date.today().isoformat()}
- {versions()}; Python {platform.python_version()}, {", ".join(found)}
"""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="validation/run solvers",
        description="Step solvers on recorded problems, interleaved.",
        epilog="examples:\n"
        "  validation/run solvers\n"
        "  validation/run solvers --sequences bunny13 --problems 10\n"
        "  validation/run solvers -o out/solvers.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    everything = [name for name in MOST if ":" in name or (RECORDED / f"{name}.npz").exists()]
    parser.add_argument(
        "--sequences", nargs="+", choices=everything, default=everything, metavar="NAME",
        help=f"of {', '.join(everything)}; default all",
    )  # fmt: skip
    parser.add_argument("--problems", type=int, metavar="N", help="at most, of every sequence")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument(
        "-o", "--out", type=Path, default=RESULTS, metavar="FILE",
        help="file to write; default validation/results/solvers.md",
    )  # fmt: skip
    arguments = parser.parse_args()
    if arguments.repeats < 1 or (arguments.problems is not None and arguments.problems < 1):
        parser.error("--repeats and --problems: at least 1")
    try:
        results = compare(arguments.sequences, arguments.repeats, arguments.problems)
    except subprocess.CalledProcessError as e:
        sys.exit(f"error: {e.cmd[0]} failed")
    text = heading(arguments.repeats) + "\n" + "\n".join(table(*result) for result in results)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
