"""Waters II to IV: orientation, wrist, phase plane, switching, orders, matrix operations, interaction."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from forearm.arm.dh import from_dh
from forearm.dynamics import inertia_matrix
from forearm.files.builtin import load_builtin
from forearm.kinematics import forward
from forearm.reproduce.recompute import Figures
from forearm.spatial import Floats, tilde
from forearm.symbols.recorder import Recorder
from forearm.trajectories import MotionLimits, Switching, bang_bang

ARM, JOINTS = "stanford", 6  # Scheinman's arm
ACCELERATION, VELOCITY, LOWER, UPPER = 0.5, 3.0, -1.0, 9.0  # of Fig. 5
LASTING = 1e-6  # s: shorter segments are rounding errors, of which times take the square root
PAIRS = 400  # pairs of states between which motions are planned


def orientation() -> Figures:
    """Waters II: the fewest points of a body in general position whose velocities relative to the first
    determine its angular velocity.
    """
    points = np.random.default_rng(2).standard_normal((5, 3))
    for k in range(2, len(points) + 1):
        relative = np.concatenate([-tilde(point - points[0]) for point in points[1:k]])  # w -> w x (p - p1)
        if np.linalg.matrix_rank(relative) == 3:
            return {"points that fix the orientation": k}
    raise AssertionError


def wrist() -> Figures:
    """Waters II: displacement (m) of the wrist W of Scheinman's arm with q4, q5, q6, and its distance from
    the position computed from the hand's pose.
    """
    arm, q, _ = _state()
    others = np.random.default_rng(4).uniform(-1.5, 1.5, (50, 3))
    moved = np.array([forward(arm, np.r_[q[:3], turn], link="link5")[:3, 3] for turn in others])
    T = np.array([forward(arm, np.r_[q[:3], turn]) for turn in others])
    length = np.linalg.norm(T[:, :3, 3] - moved, axis=1)
    from_hand = T[:, :3, 3] - length.mean() * T[:, :3, 2]
    return {
        "W moved by q4, q5, q6": np.ptp(moved, axis=0).max(),
        "distance of W and H, change": np.ptp(length),
        "W from hand position and orientation alone": np.abs(from_hand - moved).max(),
    }


def plane() -> Figures:
    """Waters III, Fig. 5: deviation from a straight line of motions of constant acceleration, plotted as a
    power of v over x.
    """
    t = np.linspace(0.0, 4.0, 41)
    x, v = 1.0 + t + 0.5 * ACCELERATION * t**2, 1.0 + ACCELERATION * t
    return {f"in {name}": _bent(x, v**power) for name, power in (("v^2", 2.0), ("the root of v", 0.5))}


def switching() -> Figures:
    """Waters III: the largest number of acceleration changes in a time-optimal motion, and of intersecting
    pairs of extremal lines.
    """
    changes: dict[bool, list[int]] = {False: [], True: []}
    for motion in _motions():
        accelerations = [a for a, _ in _phases(motion)]
        changes[0.0 in accelerations].append(sum(a != b for a, b in pairwise(accelerations)))
    limits = MotionLimits(ACCELERATION, VELOCITY, LOWER, UPPER)
    ways = max(_meeting(*ends) for ends in _ends())
    slow = bang_bang([1.0], [1.0], [5.0], [-1.0], limits)
    return {
        "changes, velocity limit not reached": max(changes[False]),
        "changes, velocity limit reached": max(changes[True]),
        "intersecting pairs at most": ways,
        "changes from A to a B of negative velocity": len(_phases(slow)) - 1,
    }


def orders() -> Figures:
    """Waters IV: the order in n of his stages, counted in his way."""
    from forearm.counting import waters
    from forearm.counting.polynomial import fit

    polynomials = {
        "naive, matrix products": fit(lambda n: waters.naive_shared(n).m),
        "naive, order-16 operations": fit(lambda n: waters.naive_shared(n).a),
        "improved, matrix products": fit(lambda n: waters.final(n).m),
        "improved, order-16 operations": fit(lambda n: waters.final(n).a),
    }
    return {name: polynomial.degree for name, polynomial in polynomials.items()}


def matrices() -> Figures:
    """Waters IV: scalar operations of one 4x4 matrix operation, and products for the U_ij of six joints."""
    graph = Recorder()
    X, Y, v, s = graph.inputs("X", 4, 4), graph.inputs("Y", 4, 4), graph.inputs("v", 4), graph.input("s")
    rows, from_hand = _recurrence(JOINTS), _from_hand(JOINTS)
    every = [u for row in rows for u in row]
    one = {
        "a matrix product": X @ Y,
        "scalar times matrix": X * s,
        "vector times matrix": v @ X,
        "the trace of a product": (X * Y).sum(),
    }
    return {f"multiplications of {name}": graph.counts(result).mul for name, result in one.items()} | {
        "additions of a sum": graph.counts(X + Y).add,
        "U_ij of six joints": len(every),
        "products for all U_ij over those for the U_ni": _products(every) / _products(rows[-1]),
        "the same, the U_ni multiplied from both ends": _products(every) / _products(from_hand),
    }


def factors() -> Figures:
    """Waters IV: the gain of 3x3 over 4x4 matrices for one product, and by Hollerbach's counts as Dhanaraj
    prints them.
    """
    from forearm.counting.printed import figure

    big, small = (sum(figure(f"dhanaraj-1.1-hollerbach-{size}")["printed"]) for size in ("4x4", "3x3"))
    return {
        "3x3 for 4x4, by Hollerbach's counts": big / small,
        "3x3 for 4x4, of one product": 4.0**3 / 3.0**3,
    }


def interaction() -> Figures:
    """Waters IV: the largest off-diagonal inertia of three orthogonal prismatic joints with a wrist."""
    down, up = -np.pi / 2.0, np.pi / 2.0
    rows = [
        (0.0, up, 0.3, up),
        (0.0, up, 0.2, up),
        (0.0, 0.0, 0.4, 0.0),
        (0.0, down, 0.1, 0.4),
        (0.05, up, 0.0, 0.7),
    ]
    inertia = [np.diag([0.02, 0.03, 0.025]) for _ in rows]
    arm = from_dh(
        "cartesian",
        rows,
        convention="standard",
        joints="PPPRR",
        mass=[5.0, 4.0, 3.0, 2.0, 1.0],
        com=[(0.01, 0.02, -0.03)] * len(rows),
        inertia=inertia,
    )
    M = inertia_matrix(arm, np.array([0.3, 0.5, 0.4, 0.6, -0.8]))[:3, :3]
    return {"elements between sliding joints, kg": np.abs(M - np.diag(np.diag(M))).max()}


def _state() -> tuple[Any, Floats, Floats]:
    arm = load_builtin(ARM).rigid()
    q, qd = np.random.default_rng(1979).uniform(0.3, 0.9, (2, arm.n))
    return arm, q, qd


def _bent(x: Floats, y: Floats) -> float:
    """The largest distance of a curve from its chord, relative to the height of the chord."""
    line = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    return float(np.abs(y - line).max() / abs(y[-1] - y[0]))


def _ends() -> list[tuple[float, float, float, float]]:
    rng = np.random.default_rng(5)
    x, v = rng.uniform(LOWER, UPPER, (PAIRS, 2)), rng.uniform(-VELOCITY, VELOCITY, (PAIRS, 2))
    return [(x0, v0, x1, v1) for (x0, x1), (v0, v1) in zip(x.tolist(), v.tolist(), strict=True)]


@lru_cache(maxsize=1)
def _motions() -> tuple[Switching, ...]:
    """Time-optimal motions between states in the box of Fig. 5, without its position limits, which not every
    motion can respect.
    """
    limits = MotionLimits(ACCELERATION, VELOCITY, -1e3, 1e3)
    return tuple(bang_bang([x0], [v0], [x1], [v1], limits) for x0, v0, x1, v1 in _ends())


def _phases(motion: Switching) -> list[tuple[float, float]]:
    """Acceleration and duration of each segment."""
    times = np.unique(np.concatenate([[0.0], motion.switches, [motion.duration]]))
    made = []
    for start, end in pairwise(times):
        if end - start > LASTING:
            made.append((round(float(motion.at(0.5 * (start + end))[2][0]), 9), end - start))
    return made


def _meeting(x0: float, v0: float, x1: float, v1: float) -> int:
    """The number of extremal lines leaving one state that meet one of opposite sign entering the other, in
    forward time.
    """
    found = 0
    for a in (-ACCELERATION, ACCELERATION):
        square = 0.5 * (v0**2 + v1**2) + a * (x1 - x0)
        roots = [] if square < 0.0 else [-np.sqrt(square), np.sqrt(square)]
        found += any((c - v0) / a >= 0.0 and (c - v1) / a >= 0.0 for c in roots)
    return found


def _recurrence(n: int) -> list[list[Any]]:
    """U_ij for all j <= i, row by row: U_ij = U_(i-1)j A_i, U_ii = W_(i-1) dA_i."""
    A, dA = _links(n)
    rows, W = [[dA[0]]], A[0]
    for i in range(1, n):
        rows.append([*(u @ A[i] for u in rows[-1]), W @ dA[i]])
        W = W @ A[i]
    return rows


def _from_hand(n: int) -> list[Any]:
    """U_nj alone: W_(j-1) dA_j jW_n, with the products of the A_i stored from both ends."""
    A, dA = _links(n)
    before, behind = [A[0]], [A[-1]]
    for i in range(1, n - 1):
        before.append(before[-1] @ A[i])
        behind.insert(0, A[n - 1 - i] @ behind[0])
    first, last = dA[0] @ behind[0], before[-1] @ dA[-1]
    return [first, *(before[j - 1] @ dA[j] @ behind[j] for j in range(1, n - 1)), last]


def _links(n: int) -> tuple[list[Any], list[Any]]:
    from forearm.counting.matrices import Matrix

    rng = np.random.default_rng(3)
    return tuple([Matrix(rng.standard_normal((4, 4))) for _ in range(n)] for _ in range(2))  # type: ignore[return-value]


def _products(matrices: list[Any]) -> float:
    from forearm.counting.matrices import claimed

    return float(sum(node.counts.m for node in claimed([matrix.node for matrix in matrices], set())))
