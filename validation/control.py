"""A controller: Gauss and Newton's method on relaxed rollouts of the step, one iteration for each command.

Commands of the last call, moved on by a step, are rolled out by `System.rollouts` with their matrices. One quadratic program (DAQP)
changes them all, within a box. The first is given to the plant, whose next state is where the next call starts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import daqp
import numpy as np
import quasistep as qs


@dataclass
class Weights:
    """Of squared errors."""

    place: float  # 1/m², of the object at the end of the horizon
    turn: float  # 1/rad²
    before: float = 0.1  # share of both at the other steps
    tips: float = 0.0  # 1/m², of the distances of points from the object
    command: float = 0.1  # 1/rad², of commands from where they are wanted


def rotation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation vector, in the world, that leads pose a to pose b."""
    w, v = a[:4] @ b[:4], a[0] * b[1:4] - b[0] * a[1:4] - np.cross(b[1:4], a[1:4])
    w, v = (-w, -v) if w < 0 else (w, v)
    sine = np.linalg.norm(v)
    return np.zeros(3) if sine == 0 else 2 * math.atan2(sine, w) / sine * v


def logarithm_jacobian(vector: np.ndarray) -> np.ndarray:
    """How a rotation vector changes with an angular velocity in the world."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    share = 1 / 12 if angle < 1e-3 else 1 / angle**2 - (1 + math.cos(angle)) / (2 * angle * math.sin(angle))
    return np.eye(3) - cross / 2 + share * cross @ cross


class Controller:
    """Commands that bring a frame to poses."""

    def __init__(self, system: qs.System, frame: str, weights: Weights, *, kappa: float, horizon: int, reach: float,
                 bounds: tuple[np.ndarray, np.ndarray], scale: tuple[float, ...] = (1,) * 6, tips: tuple[qs.Frame, ...] = ()) -> None:  # fmt: skip
        self.system, self.frame, self.weights, self.tips = system, frame, weights, tips
        self.kappa, self.horizon, self.reach, self.bounds = kappa, horizon, reach, bounds
        # of errors about x, y and z, then along them
        self.scale = np.array(scale, dtype=float)
        self.joints = np.array([system.coordinates.index(name) for name in system.commands])
        self.dofs = np.array([system.dofs.index(name) for name in system.commands])
        self.u: np.ndarray | None = None

    def command(self, q: np.ndarray, goals: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
        """The next command: the frame is to have the poses `goals` after each step; commands are to be `wanted`, or where the joints are.

        Where the step has no answer from here, the command is that of before, or where the joints are.
        """
        T, n = self.horizon, self.system.n_u
        q = q.copy()
        q[self.joints] = np.clip(q[self.joints], self.bounds[0] + 1e-6, self.bounds[1] - 1e-6)
        here = q[self.joints]
        U = self.start(here, wanted)
        runs = self.system.rollouts(U, q0=q, mode=qs.Smooth(self.kappa), threads=1)
        if runs.n_steps[0] < T:
            self.u = None
            return here if wanted is None else wanted[0]
        H, g = 1e-6 * np.eye(T * n), np.zeros(T * n)
        S, before = np.zeros((self.system.n_v, T * n)), here
        for k, (state, A, B) in enumerate(zip(runs.q[0], runs.by_x[0], runs.by_u[0], strict=True)):
            own = slice(k * n, (k + 1) * n)
            row = np.zeros((n, T * n)) if wanted is not None else -S[self.dofs]
            row[:, own] += np.eye(n)
            error = U[k] - (before if wanted is None else wanted[k])
            H += self.weights.command * row.T @ row
            g += self.weights.command * row.T @ error
            S = A @ S
            S[:, own] += B
            error, row = self.errors(state, goals[k], k == T - 1)
            row = row @ S
            H += row.T @ row
            g += row.T @ error
            before = state[self.joints]
        low, high = self.box(U, here, wanted)
        change, _, flag, _ = daqp.solve(H, g, np.zeros((0, T * n)), high.ravel(), low.ravel(), np.zeros(T * n, dtype=np.int32))
        if flag > 0:
            U = U + np.asarray(change).reshape(T, n)
        self.u = U
        return U[0]

    def start(self, here: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
        """The commands that are improved."""
        if wanted is not None:
            return wanted.copy()
        U = np.tile(here, (self.horizon, 1)) if self.u is None else np.vstack([self.u[1:], self.u[-1:]])
        U[0] = np.clip(U[0], here - self.reach, here + self.reach)
        for k in range(1, self.horizon):
            U[k] = np.clip(U[k], U[k - 1] - self.reach, U[k - 1] + self.reach)
        return U

    def box(self, U: np.ndarray, here: np.ndarray, wanted: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the changes."""
        low, high = np.maximum(-self.reach, self.bounds[0] - U), np.minimum(self.reach, self.bounds[1] - U)
        if wanted is None:
            low[0] = np.maximum(low[0], here - self.reach - U[0])
            high[0] = np.minimum(high[0], here + self.reach - U[0])
        return low, np.maximum(low, high)

    def errors(self, q: np.ndarray, goal: np.ndarray, last: bool) -> tuple[np.ndarray, np.ndarray]:
        """Weighted errors of a state, and their Jacobian."""
        share, w = (1.0 if last else self.weights.before), self.weights
        pose, J = self.system.pose(self.frame, q), self.system.jacobian(self.frame, q)
        turn = rotation(goal, pose)
        scale = self.scale * np.sqrt(share * np.repeat([w.turn, w.place], 3))
        errors = [scale * np.concatenate([turn, pose[4:] - goal[4:]])]
        rows = [scale[:, None] * np.vstack([logarithm_jacobian(turn) @ J[:3], J[3:]])]
        for tip in self.tips:
            errors.append(math.sqrt(w.tips) * (self.system.pose(tip, q)[4:] - pose[4:]))
            rows.append(math.sqrt(w.tips) * (self.system.jacobian(tip, q)[3:] - J[3:]))
        return np.concatenate(errors), np.vstack(rows)
