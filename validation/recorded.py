"""Recorded step problems, benches/recorded/*.npz."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from machine import executable

RECORDED = Path(__file__).resolve().parent.parent / "benches/recorded"


@dataclass
class Problem:
    """`min 1/2 vᵀPv + qᵀv` with `s = A v - c` at least 0, or in round cones of the given sizes."""

    name: str
    t: int
    mass: bool
    round: bool
    P: np.ndarray
    q: np.ndarray
    A: sp.csr_matrix
    c: np.ndarray
    cones: list[int]
    keys: list[tuple[int, int, int, int]]

    def residual(self, v: np.ndarray, z: np.ndarray) -> float:
        """Largest relative error of balance, cones and complementarity."""
        Pv, Av, Az = self.P @ v, self.A @ v, self.A.T @ z
        force = max(np.abs(self.q).max(), np.abs(Pv).max(), np.abs(Az).max(), 1e-30)
        speed = max(np.abs(self.c).max(initial=0.0), np.abs(Av).max(initial=0.0), 1e-30)
        s = Av - self.c
        if self.round:
            starts = np.concatenate([[0], np.cumsum(self.cones)])[:-1]
            spans = [slice(a, a + k) for a, k in zip(starts, self.cones, strict=True)]
            out = [np.linalg.norm(s[k][1:]) - s[k][0] for k in spans]
            pull = [np.linalg.norm(z[k][1:]) - z[k][0] for k in spans]
            product = [abs(s[k] @ z[k]) for k in spans]
        else:
            out, pull, product = -s, -z, np.abs(s * z)
        errors = [
            np.abs(Pv + self.q - Az).max() / force,
            max(np.max(out, initial=0.0), 0.0) / speed,
            max(np.max(pull, initial=0.0), 0.0) / force,
            np.max(product, initial=0.0) / (force * speed),
        ]
        return float(np.nan_to_num(max(errors), nan=np.inf))


class Sequence:
    """A recorded sequence; benches/recorded/README.md describes the file."""

    def __init__(self, name: str) -> None:
        self.name = name
        with np.load(RECORDED / f"{name}.npz") as file:
            self.data = {key: file[key] for key in file.files}
        self.first = np.concatenate([[0], np.cumsum(self.data["nc"])])
        self.offset = np.concatenate([[0], np.cumsum(self.data["blocks"])])

    def __len__(self) -> int:
        return len(self.data["nc"])

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.offset[-1])

    def problem(self, t: int, mass: bool, is_round: bool) -> Problem:
        """Problem `t`; without mass only the last block, the robot's, has a cost."""
        data, offset = self.data, self.offset
        P = np.zeros((self.n, self.n))
        last = len(data["blocks"]) - 1
        for i, d in enumerate(data["blocks"]):
            if mass or i == last:
                P[offset[i] : offset[i + 1], offset[i] : offset[i + 1]] = data["Q"][t, i, :d, :d]
        rows, columns, values, c, cones, keys = [], [], [], [], [], []
        seen: dict[tuple[int, int], int] = {}
        for contact in range(self.first[t], self.first[t + 1]):
            k, mu, mu_spin, bound = data["par"][contact]
            k = int(k)
            if is_round:
                E = np.diag([1.0, mu, mu, mu_spin][:k])
            else:
                E = np.array([[1, mu, 0, 0], [1, 0, mu, 0], [1, -mu, 0, 0], [1, 0, -mu, 0]])[:, :k]
                if k == 4:
                    E = np.vstack([E, [[1, 0, 0, mu_spin], [1, 0, 0, -mu_spin]]])
            pair = tuple(int(b) for b in data["blk"][contact])
            number = seen[pair] = seen.get(pair, -1) + 1
            for side, block in enumerate(pair):
                if block >= 0:
                    d = data["blocks"][block]
                    part = E @ data["J"][contact, side, :k, :d]
                    at = np.indices(part.shape)
                    rows.append((len(c) + at[0]).ravel())
                    columns.append((offset[block] + at[1]).ravel())
                    values.append(part.ravel())
            # the rows of a pyramid all have the normal's bound; of a round cone only its first
            c.extend([bound] * len(E) if not is_round else [bound] + [0.0] * (k - 1))
            keys.extend((*pair, number, row) for row in range(len(E)))
            cones.append(len(E))
        shape = (len(c), self.n)
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        A = sp.csr_matrix(entries, shape=shape)
        q = -data["b"][t].astype(float)
        return Problem(self.name, t, mass, is_round, P, q, A, np.array(c), cones, keys)


class SceneSequence:
    """The problems of every tenth step of a shipped scene, from the program that runs it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [executable("solve_recorded")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: str) -> dict:
        """One line to the program, one line of JSON back."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __len__(self) -> int:
        return self.ask(f"length {self.name}")["length"]

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.ask(f"data {self.name} 0")["n"]

    def problem(self, t: int, mass: bool, is_round: bool) -> Problem:
        """Problem `t`, as it is."""
        data = self.ask(f"data {self.name} {t}")
        n, c = data["n"], np.array(data["c"])
        entries = (data["values"], (data["rows"], data["columns"]))
        A = sp.csr_matrix(entries, shape=(len(c), n))
        P = np.array(data["P"]).reshape(n, n)
        q = np.array(data["q"])
        keys = [(t, i, 0, 0) for i in range(len(c))]  # unlike those of any other problem
        return Problem(self.name, t, mass, is_round, P, q, A, c, [], keys)


@cache
def sequence(name: str) -> Sequence | SceneSequence:
    """A sequence, read once."""
    return SceneSequence(name) if name.startswith("scene:") else Sequence(name)
