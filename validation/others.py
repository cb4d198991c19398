"""Solvers that PyPI has, behind one interface."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from recorded import Problem, sequence

# Most variables that a dense solver is given.
DENSE = 400


@dataclass
class Answer:
    """Times in µs, and the point, or None where the solver gave none."""

    us: float
    v: np.ndarray | None = None
    z: np.ndarray | None = None
    # what is not in `us`
    setup_us: float = 0.0


def least(repeats: int, run: Callable[[], Answer]) -> Answer:
    """The quickest of some runs."""
    return min((run() for _ in range(repeats)), key=lambda answer: answer.us)


class Daqp:
    """DAQP; warm from the active rows of the problem before, matched by contact."""

    def __init__(self, warm: bool) -> None:
        self.name = f"DAQP {'warm' if warm else 'cold'}"
        self.warm = warm
        self.module = importlib.import_module("daqp")
        self.before: tuple[Problem, set] | None = None

    def fits(self, p: Problem) -> bool:
        """It factors the cost: that must be definite."""
        if self.warm and p.name.startswith("scene:"):
            return False
        return p.mass and not p.round and len(p.q) <= DENSE

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves; set-up counts: it forms the rows in the metric of the cost."""
        A, m = np.ascontiguousarray(-p.A.toarray()), len(p.c)
        lower = np.full(m, -1e30)
        active: set = set()
        if self.warm:
            active = self.active_before(p)
        sense = np.array([1 if key in active else 0 for key in p.keys], dtype=np.int32)

        def run() -> Answer:
            v, _, flag, info = self.module.solve(
                p.P, p.q, A, -p.c, lower, sense.copy(), primal_tol=1e-9, dual_tol=1e-9
            )
            us = 1e6 * (info["solve_time"] + info["setup_time"])
            return Answer(us, v, info["lam"][:m]) if flag == 1 else Answer(us)

        return least(repeats, run)

    def active_before(self, p: Problem) -> set:
        """Rows with a multiplier one problem earlier."""
        if p.t == 0:
            return set()
        q = sequence(p.name).problem(p.t - 1, p.mass, p.round)
        A = np.ascontiguousarray(-q.A.toarray())
        lower, sense = np.full(len(q.c), -1e30), np.zeros(len(q.c), dtype=np.int32)
        _, _, flag, info = self.module.solve(
            q.P, q.q, A, -q.c, lower, sense, primal_tol=1e-9, dual_tol=1e-9
        )
        if flag != 1:
            return set()
        return {key for key, z in zip(q.keys, info["lam"], strict=False) if z > 0}


class Piqp:
    """PIQP, dense or sparse."""

    def __init__(self, sparse: bool) -> None:
        self.name = f"PIQP {'sparse' if sparse else 'dense'}"
        self.sparse = sparse
        self.module = importlib.import_module("piqp")

    def fits(self, p: Problem) -> bool:
        """It has no second-order cones."""
        return not p.round and (self.sparse or len(p.q) <= DENSE)

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves cold: it has no warm start."""
        P, A = (sp.csc_matrix(p.P), p.A.tocsc()) if self.sparse else (p.P, p.A.toarray())

        def run() -> Answer:
            solver = (self.module.SparseSolver if self.sparse else self.module.DenseSolver)()
            # residuals of 1e-8, as for all: 1e-8 here leaves them up to 2e-7
            solver.settings.eps_abs = 3e-10
            solver.settings.eps_rel = 0.0
            solver.settings.compute_timings = True
            solver.setup(P, p.q, None, None, A, p.c, None)
            status = solver.solve()
            info = solver.result.info
            us, setup = 1e6 * info.solve_time, 1e6 * info.setup_time
            if status != self.module.PIQP_SOLVED:
                return Answer(us, setup_us=setup)
            return Answer(us, solver.result.x, solver.result.z_l - solver.result.z_u, setup)

        return least(repeats, run)


class Proxqp:
    """ProxQP, dense."""

    name = "ProxQP cold"

    def __init__(self) -> None:
        self.module = importlib.import_module("proxsuite").proxqp

    def fits(self, p: Problem) -> bool:
        """It has no second-order cones."""
        return not p.round and len(p.q) <= 100

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves."""
        A, upper = p.A.toarray(), np.full(len(p.c), 1e20)

        def run() -> Answer:
            solver = self.module.dense.QP(len(p.q), 0, len(p.c))
            solver.settings.eps_abs = 1e-8
            solver.settings.eps_rel = 0.0
            solver.settings.compute_timings = True
            # by default it goes on for minutes where it does not converge
            solver.settings.max_iter = 500
            solver.settings.max_iter_in = 100
            solver.init(p.P, p.q, None, None, A, p.c, upper)
            solver.solve()
            info = solver.results.info
            if info.status != self.module.QPSolverOutput.PROXQP_SOLVED:
                return Answer(info.solve_time, setup_us=info.setup_time)
            return Answer(
                info.solve_time, solver.results.x.copy(), -solver.results.z, info.setup_time
            )

        return least(repeats, run)


class Clarabel:
    """Clarabel, the reference for round cones."""

    name = "Clarabel"

    def __init__(self) -> None:
        self.module = importlib.import_module("clarabel")

    def fits(self, p: Problem) -> bool:
        """Any problem fits."""
        return True

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves `P v + q` over `s = A v - c` in the cones."""
        module = self.module
        settings = module.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        if p.round:
            cones = [module.SecondOrderConeT(k) for k in p.cones]
        else:
            cones = [module.NonnegativeConeT(len(p.c))]
        P, A = sp.triu(sp.csc_matrix(p.P)).tocsc(), (-p.A).tocsc()

        def run() -> Answer:
            solution = module.DefaultSolver(P, p.q, A, -p.c, cones, settings).solve()
            us = 1e6 * solution.solve_time
            if str(solution.status) != "Solved":
                return Answer(us)
            return Answer(us, np.array(solution.x), np.array(solution.z))

        return least(repeats, run)


class Osqp:
    """OSQP, to 1e-6: a first-order method."""

    name = "OSQP 1e-6"

    def __init__(self) -> None:
        self.module = importlib.import_module("osqp")

    def fits(self, p: Problem) -> bool:
        """It has no second-order cones."""
        return not p.round and len(p.q) <= DENSE

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves."""
        P, A = sp.triu(sp.csc_matrix(p.P)).tocsc(), p.A.tocsc()

        def run() -> Answer:
            solver = self.module.OSQP()
            solver.setup(
                P, p.q, A, p.c, np.full(len(p.c), np.inf),
                verbose=False, eps_abs=1e-6, eps_rel=0.0, max_iter=20_000, polishing=False,
            )  # fmt: skip
            result = solver.solve(raise_error=False)
            us, setup = 1e6 * result.info.solve_time, 1e6 * result.info.setup_time
            if result.info.status_val != 1:
                return Answer(us, setup_us=setup)
            return Answer(us, result.x, -result.y, setup)

        return least(repeats, run)


class Quadprog:
    """quadprog: Goldfarb and Idnani, dense."""

    name = "quadprog"

    def __init__(self) -> None:
        self.module = importlib.import_module("quadprog")

    def fits(self, p: Problem) -> bool:
        """It factors the cost: that must be definite."""
        return p.mass and not p.round and len(p.q) <= 100

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves; it reports no time, so the call from Python is in it."""
        A = np.ascontiguousarray(p.A.toarray().T)

        def run() -> Answer:
            start = time.process_time_ns()
            try:
                v, _, _, _, z, _ = self.module.solve_qp(p.P, -p.q, A, p.c)
            except ValueError:
                return Answer(1e-3 * (time.process_time_ns() - start))
            return Answer(1e-3 * (time.process_time_ns() - start), v, z)

        return least(repeats, run)


class Highs:
    """HiGHS' active-set QP solver."""

    name = "HiGHS"

    def __init__(self) -> None:
        self.module = importlib.import_module("highspy")

    def fits(self, p: Problem) -> bool:
        """It has no second-order cones, and takes seconds where there are many variables."""
        return not p.round and len(p.q) <= 100

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves once."""
        module = self.module
        n, m = len(p.q), len(p.c)
        model = module.HighsModel()
        lp = model.lp_
        lp.num_col_, lp.num_row_ = n, m
        lp.col_cost_ = p.q
        lp.col_lower_, lp.col_upper_ = np.full(n, -module.kHighsInf), np.full(n, module.kHighsInf)
        lp.row_lower_, lp.row_upper_ = p.c, np.full(m, module.kHighsInf)
        A, P = p.A.tocsc(), sp.tril(sp.csc_matrix(p.P)).tocsc()
        lp.a_matrix_.format_ = module.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = A.indptr, A.indices
        lp.a_matrix_.value_ = A.data
        model.hessian_.dim_ = n
        model.hessian_.format_ = module.HessianFormat.kTriangular
        model.hessian_.start_, model.hessian_.index_ = P.indptr, P.indices
        model.hessian_.value_ = P.data
        solver = module.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("time_limit", 5.0)
        solver.passModel(model)
        start = time.process_time_ns()
        solver.run()
        us = 1e-3 * (time.process_time_ns() - start)
        if solver.getModelStatus() != module.HighsModelStatus.kOptimal:
            return Answer(us)
        solution = solver.getSolution()
        return Answer(us, np.array(solution.col_value), np.array(solution.row_dual))


class Gurobi:
    """Gurobi's barrier; without a licence of one's own problems up to n = 200."""

    name = "Gurobi"

    def __init__(self) -> None:
        self.module = importlib.import_module("gurobipy")
        with contextlib.redirect_stdout(sys.stderr):
            self.env = self.module.Env(empty=True)
            self.env.setParam("OutputFlag", 0)
            self.env.start()

    def fits(self, p: Problem) -> bool:
        """The free licence ends at 200 quadratic variables."""
        return not p.round and len(p.q) <= 200

    def solve(self, p: Problem, repeats: int) -> Answer:
        """Solves once, on one thread."""
        with self.module.Model(env=self.env) as model:
            model.Params.Threads = 1
            model.Params.BarConvTol = 1e-10
            v = model.addMVar(len(p.q), lb=-np.inf)
            model.setObjective(0.5 * (v @ sp.csr_matrix(p.P) @ v) + p.q @ v)
            rows = model.addConstr(p.A @ v >= p.c)
            model.optimize()
            us = 1e6 * model.Runtime
            if model.Status != self.module.GRB.OPTIMAL:
                return Answer(us)
            return Answer(us, v.X, rows.Pi)


OTHERS: list[Callable] = [
    lambda: Daqp(warm=True),
    lambda: Daqp(warm=False),
    lambda: Piqp(sparse=False),
    lambda: Piqp(sparse=True),
    Proxqp,
    Clarabel,
    Osqp,
    Quadprog,
    Highs,
    Gurobi,
]
