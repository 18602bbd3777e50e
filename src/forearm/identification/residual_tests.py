"""Tests whether residuals still depend on speed, load, position or acceleration, which reveals a wrong model
structure.

Columns of another structure are added to those of a joint. If the model is correct they explain no more than
chance: the reduction of the sum of squares over the variance is chi^2 distributed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np

from forearm.errors import Keyword, Sentence
from forearm.identification.condensed import Triangles
from forearm.identification.least_squares import FitSolution
from forearm.identification.result import ResidualTest
from forearm.identification.samples import Samples
from forearm.spatial import Floats

# Columns of each test, by index.
ADDED = {"speed": slice(0, 4), "load": slice(4, 5), "position": slice(5, 7), "acceleration": slice(7, 8)}
COUNT = 8
SLOW = (0.03, 0.12)  # of the largest speed: widths of friction features other than viscous and Coulomb
RARE = 1e-3  # probability of a false alarm in a whole identification
WORTH = 0.01  # of the residual variance: smaller shares are not reported, however significant
NEARLY = 0.7  # of the best explanation: others that explain as much are reported, too
SENTENCES: dict[str, tuple[str | Keyword, ...]] = {
    "speed": ("speed", "friction is not just viscous and Coulomb; try ", Keyword("friction", "stribeck")),
    "load": ("load times direction", "friction is load-dependent; try ", Keyword("load", True)),
    "position": ("position", "a spring, a cable, a counterbalance, or wrong geometry in the arm file"),
    "acceleration": (
        "acceleration",
        "rotor inertia is visible; was the torque measured before the gear, ",
        Keyword("torque_side", "motor"),
        "?",
    ),
}


class StructureColumns:
    """Test columns (T, n, COUNT) from samples and the torques of the rigid arm."""

    def __init__(self, fastest: Floats, middle: Floats) -> None:
        self.fastest = np.maximum(fastest, 1e-12)
        self.middle = middle

    def __call__(self, s: Samples, rigid: Floats) -> Floats:
        """By sample and joint."""
        v, way = s.qd / self.fastest, np.sign(s.qd)
        q = s.q - self.middle
        parts = [way * np.exp(-((v / a) ** 2)) for a in SLOW]
        parts += [v * np.abs(v), v**3, np.abs(rigid) * way, q, q * q, s.qdd]
        return np.stack(parts, axis=2)


def residual_tests(
    solution: FitSolution,
    data: Sequence[Sequence[Triangles]],
    as_they_are: Callable[[], Sequence[Sequence[Triangles]]],
) -> tuple[ResidualTest, ...]:
    """All tests for every joint.

    Args:
        solution: of the fit.
        data: whitened rows with the test columns, which decide significance.
        as_they_are: returns unwhitened rows, called after a significant test to find its cause: whitening
            hides slow changes.
    """
    model, made = solution.unknowns.model, []
    alarm = RARE / (len(ADDED) * model.arm.n)
    plain: Sequence[Sequence[Triangles]] | None = None
    for i, joint in enumerate(model.arm.joints):
        tests = _tests_of(_joint_rows(solution, data, i))
        if not any(p < alarm and share > WORTH for p, share in tests.values()):
            made += [ResidualTest(joint.name, name, p, share, "") for name, (p, share) in tests.items()]
            continue
        plain = as_they_are() if plain is None else plain
        shares = {name: share for name, (_, share) in _tests_of(_joint_rows(solution, plain, i)).items()}
        for name, (p, _) in tests.items():
            is_meant = shares[name] >= NEARLY * max(shares.values())
            what, *rest = SENTENCES[name]
            head = (
                f"the residual of {joint.name} depends on its {what} ({shares[name]:.0%} of its variance): "
            )
            said = Sentence(head, *rest) if is_meant else ""
            made.append(ResidualTest(joint.name, name, p, shares[name], said))
    return tuple(made)


def _tests_of(rows: tuple[Floats, Floats, Floats, float]) -> dict[str, tuple[float, float]]:
    """For every kind of test columns the p-value, and the share that they explain."""
    free, more, y, count = rows
    left, rank = _left(free, y)
    made = {}
    for name, which in ADDED.items():
        fewer, ranked = _left(np.column_stack([free, more[:, which]]), y)
        freedom = count - ranked
        drop = max(float(left @ left - fewer @ fewer), 0.0)
        variance = float(fewer @ fewer) / freedom if freedom > 0.0 else math.inf
        p = chi_squared_beyond(drop / variance, ranked - rank) if variance > 0.0 else 1.0
        made[name] = p, drop / float(left @ left) if left.any() and ranked > rank else 0.0
    return made


def _joint_rows(
    solution: FitSolution, data: Sequence[Sequence[Triangles]], joint: int
) -> tuple[Floats, Floats, Floats, float]:
    """Condensed rows of a joint in all logs: unknowns, test columns, right side; count."""
    unknowns, parts, count = solution.unknowns, [], 0.0
    first = unknowns.model.width + 1
    for log, triangles in enumerate(data):
        for one in triangles:
            R = one.R[joint]
            G, y = unknowns.rows(log, joint, R, solution.x)
            parts.append((G @ unknowns.E, R[:, first : first + COUNT], y - G @ unknowns.fixed))
            count += float(one.counts[joint])
    free, more, y = (np.concatenate(some) for some in zip(*parts, strict=True))
    return free[:, free.any(axis=0)], more, y, count


def _left(A: Floats, y: Floats) -> tuple[Floats, int]:
    """Residual of y after projection on columns, and their rank."""
    sizes = np.linalg.norm(A, axis=0)
    A = A[:, sizes > 0.0] / sizes[sizes > 0.0]
    if not A.size:
        return y, 0
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, values > 1e-9 * values[0]]
    return y - U @ (U.T @ y), U.shape[1]


def chi_squared_beyond(x: float, freedom: int) -> float:
    """Upper tail probability of chi^2 with these degrees of freedom, Wilson-Hilferty approximation."""
    if freedom <= 0:
        return 1.0
    spread = 2.0 / (9.0 * freedom)
    return 1.0 - NormalDist().cdf(((x / freedom) ** (1.0 / 3.0) - (1.0 - spread)) / math.sqrt(spread))
