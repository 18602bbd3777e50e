"""Record Clarabel's solutions into tests/data/consistent.json, which test_consistent compares.

cvxpy (Apache 2.0) and Clarabel (Apache 2.0) are no dependencies of forearm. To record anew, in an environment
that has them: python tools/record_consistent.py
The problems are random and stored with their solutions: few bodies, whose data contradict bodies that can
exist, priors of every strength and none, lower bounds, the total mass exactly, weighed and unknown.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import recording

TARGET = Path(__file__).parent.parent / "tests" / "data" / "consistent.json"
SEED, CASES = 22, 12
ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def body(rng: np.random.Generator) -> list[float]:
    """Ten parameters of a few point masses."""
    m, p = rng.uniform(0.2, 1.0, 5), rng.uniform(-0.2, 0.3, (5, 3))
    inertia = sum(mk * (pk @ pk * np.eye(3) - np.outer(pk, pk)) for mk, pk in zip(m, p, strict=True))
    return [m.sum(), *(m @ p), *(inertia[i, j] for i, j in ENTRIES)]


def problem(rng: np.random.Generator, k: int) -> dict[str, Any]:
    """A random problem; numbers are rounded, so that the file holds exactly what was solved."""
    bodies, others = 1 + k % 3, (0, 2, 3, 1)[k % 4]
    P = 10 * bodies + others
    truth = np.concatenate([*(body(rng) for _ in range(bodies)), rng.uniform(-0.5, 1.0, others)])
    units = np.array([1.0, *[0.1] * 3, *[0.02] * 6] * bodies + [0.3] * others)
    rows = P + 3 if k % 3 else max(P - 4, 3)
    R = rng.normal(size=(rows, P)) / units * 10.0 ** rng.uniform(-0.5, 1.0, (rows, 1))
    z = R @ truth + (0.3, 3.0, 30.0)[k % 3] * rng.normal(size=rows)
    mean, std = truth + 0.6 * units * rng.normal(size=P), units * 10.0 ** rng.uniform(-0.7, 1.0, P)
    if k % 3:
        std[rng.random(P) < 0.3] = np.inf
    for b in range(0, 10 * bodies, 10):
        mean[b] = max(mean[b], 0.3)
    mass = float(truth[0 : 10 * bodies : 10].sum())
    lower = np.where(rng.random(others) < 0.7, 0.0, -np.inf)
    return {
        "bodies": bodies,
        "R": np.round(R, 3).tolist(),
        "z": np.round(z, 3).tolist(),
        "mean": np.round(mean, 4).tolist(),
        "std": [float(f"{s:.3g}") for s in std],
        "lower": lower.tolist(),
        "total_mass": (None, round(mass, 3), (round(0.9 * mass, 3), 0.05))[(k // 2) % 3],
        "least": (1e-6, 1e-3)[k % 2],
    }


def size(mean: Any, std: Any) -> tuple[float, float]:
    """Mass and length that bring a pseudo-inertia to numbers near 1, as `consistent` states them."""
    mass, second = mean[0], 0.5 * (mean[4] + mean[6] + mean[9])
    lengths = [np.sqrt(second / mass)] if second > 0.0 else []
    lengths += [np.sqrt(std[9] / std[0])] if np.isfinite([std[9], std[0]]).all() else []
    return mass, max(lengths, default=0.1)


def pseudo(x: Any) -> Any:
    tensor = cp.bmat([[x[4], x[5], x[7]], [x[5], x[6], x[8]], [x[7], x[8], x[9]]])
    second = 0.5 * (x[4] + x[6] + x[9]) * np.eye(3) - tensor
    h = cp.reshape(x[1:4], (3, 1), order="C")
    return cp.bmat([[second, h], [h.T, cp.reshape(x[0], (1, 1), order="C")]])


def solved(case: dict[str, Any]) -> dict[str, Any]:
    """The problem with what Clarabel makes of it."""
    R, z, mean, std, lower = (np.array(case[key]) for key in ("R", "z", "mean", "std", "lower"))
    bodies, told = case["bodies"], np.isfinite(std)
    x = cp.Variable(len(mean))
    cost = cp.sum_squares(R @ x - z) + cp.sum_squares(cp.multiply(1.0 / std[told], x[told] - mean[told]))
    holds = [x[10 * bodies + k] >= low for k, low in enumerate(lower) if np.isfinite(low)]
    for b in range(bodies):
        ten = slice(10 * b, 10 * b + 10)
        m, L = size(mean[ten], std[ten])
        scale = 1.0 / (np.sqrt(m) * np.array([L, L, L, 1.0]))
        S = cp.multiply(np.outer(scale, scale), pseudo(x[ten]))
        holds.append(0.5 * (S + S.T) >> case["least"] * np.eye(4))
    mass = cp.sum(x[0 : 10 * bodies : 10])
    if isinstance(case["total_mass"], tuple):
        value, spread = case["total_mass"]
        cost += ((mass - value) / spread) ** 2
    elif case["total_mass"] is not None:
        holds.append(mass == case["total_mass"])
    task = cp.Problem(cp.Minimize(0.5 * cost), holds)
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    task.solve(solver=cp.CLARABEL, **tight)
    return case | {"objective": float(task.value), "x": [float(f"{v:.10g}") for v in x.value]}


if __name__ == "__main__":
    rng = np.random.default_rng(SEED)
    made = {
        "solver": f"Clarabel {version('clarabel')} by cvxpy {version('cvxpy')}",
        "cases": [solved(problem(rng, k)) for k in range(CASES)],
    }
    recording.write(made, TARGET, '{"bodies"')
