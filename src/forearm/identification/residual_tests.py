"""Whether what a fit leaves still hangs together with something: a wrong structure of friction shows here.

To the columns of a joint further ones are added that another structure would have. If the model is right they
explain no more than chance does: the drop of the sum of squares over the variance is chi^2 distributed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from forearm.arm.arm import Arm
from forearm.identification.condensed import Triangles
from forearm.identification.effort_model import EffortModel
from forearm.identification.result import ResidualTest
from forearm.identification.samples import Samples
from forearm.spatial import Floats

# What each test adds, by column.
ADDED = {"speed": slice(0, 4), "load": slice(4, 5), "position": slice(5, 7)}
COUNT = 7
SLOW = (0.03, 0.12)  # of the largest speed: widths of what friction may do beside viscous and Coulomb's
RARE = 1e-3  # probability of an alarm in a whole identification whose model is right
WORTH = 0.01  # of what is left: less is not worth a word, however sure
SENTENCES = {
    "speed": (
        "what is left of {joint} follows its speed ({share:.0%} of its variance): friction is not viscous "
        "and Coulomb's alone; try friction='stribeck'"
    ),
    "load": (
        "what is left of {joint} follows its load times the direction ({share:.0%} of its variance): "
        "friction depends on the load; try load=True"
    ),
    "position": (
        "what is left of {joint} follows its position ({share:.0%} of its variance): a spring, a cable, a "
        "counterbalance, or geometry that is not as the arm file says"
    ),
}


class StructureColumns:
    """Further columns (T, n, COUNT) from samples and the torques of the rigid arm."""

    def __init__(self, fastest: Floats, middle: Floats) -> None:
        self.fastest = np.maximum(fastest, 1e-12)
        self.middle = middle

    def __call__(self, s: Samples, rigid: Floats) -> Floats:
        """By sample and joint."""
        v, way = s.qd / self.fastest, np.sign(s.qd)
        q = s.q - self.middle
        parts = [way * np.exp(-((v / a) ** 2)) for a in SLOW]
        parts += [v * np.abs(v), v**3, np.abs(rigid) * way, q, q * q]
        return np.stack(parts, axis=2)


def residual_tests(
    arm: Arm, model: EffortModel, data: Sequence[Sequence[Triangles]]
) -> tuple[ResidualTest, ...]:
    """Every test of every joint, on whitened rows that have the further columns."""
    made = []
    alarm = RARE / (len(ADDED) * arm.n)
    for i, joint in enumerate(arm.joints):
        R = np.concatenate([triangles.R[i] for parts in data for triangles in parts])
        count = sum(triangles.counts[i] for parts in data for triangles in parts)
        first = model.width + 1
        own, y = R[:, :first], R[:, -1]
        free = own[:, own.any(axis=0)]
        left, rank = _left(free, y)
        for name, which in ADDED.items():
            more = R[:, first + which.start : first + which.stop]
            fewer, ranked = _left(np.column_stack([free, more]), y)
            freedom = count - ranked
            drop = max(float(left @ left - fewer @ fewer), 0.0)
            variance = float(fewer @ fewer) / freedom if freedom > 0.0 else math.inf
            p = (
                chi_squared_beyond(drop / variance, ranked - rank)
                if variance > 0.0 and ranked > rank
                else 1.0
            )
            share = drop / float(left @ left) if left.any() else 0.0
            said = (
                SENTENCES[name].format(joint=joint.name, share=share) if p < alarm and share > WORTH else ""
            )
            made.append(ResidualTest(joint.name, name, p, share, said))
    return tuple(made)


def _left(A: Floats, y: Floats) -> tuple[Floats, int]:
    """What columns leave of y, and their rank."""
    sizes = np.linalg.norm(A, axis=0)
    A = A[:, sizes > 0.0] / sizes[sizes > 0.0]
    if not A.size:
        return y, 0
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, values > 1e-9 * values[0]]
    return np.asarray(y - U @ (U.T @ y)), U.shape[1]


def chi_squared_beyond(x: float, freedom: int) -> float:
    """The probability that chi^2 with so many degrees of freedom exceeds x, after Wilson and Hilferty."""
    if freedom <= 0:
        return 1.0
    spread = 2.0 / (9.0 * freedom)
    return 1.0 - NormalDist().cdf(((x / freedom) ** (1.0 / 3.0) - (1.0 - spread)) / math.sqrt(spread))
