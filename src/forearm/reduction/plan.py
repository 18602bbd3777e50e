"""A plan: all choices about a chain that do not change any torque. `search` looks for a good one.

Origins can be shifted along revolute axes, and anywhere on bodies of prismatic joints; the last frame of a
branch can roll about its axis; moments can move across joints; the unit of length can change; squares of
velocities can be computed in several ways; moments can be passed along runs of parallel axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from forearm.errors import ModelError
from forearm.model import Array, Scalar
from forearm.portable import atan2, dot
from forearm.reduction.chain import Chain, Segment, about_x, about_z, moved
from forearm.reduction.regroup import Choice, Kept, once, regrouped
from forearm.spatial import rotation_z
from forearm.symbols.scalars import is_zero, objects, same

DIGITS = 15  # of a constant: digits beyond are rounding


@dataclass(frozen=True)
class ReductionPlan:
    """The choices by segment; segments not listed stay as built by `frames`.

    `origins`: "next" shifts a revolute segment's origin to where the step to the next is perpendicular to the
    axis; "centre" puts a prismatic segment's origin at its centre of mass. `unit` is (segment, entry of l):
    the length that becomes 1 internally.
    """

    choices: dict[int, Choice] = field(default_factory=dict)
    origins: dict[int, str] = field(default_factory=dict)
    rolled: frozenset[int] = frozenset()
    unit: tuple[int, int] | None = None
    squares: dict[int, str] = field(default_factory=dict)
    straight: frozenset[int] = frozenset()


PLAIN_PLAN = ReductionPlan()


def planned(chain: Chain, plan: ReductionPlan = PLAIN_PLAN) -> Chain:
    """The chain transformed by the plan: the same joint torques, other operations.
    ModelError if the plan does not fit.
    """
    return settled(placed(chain, plan), plan)


def placed(chain: Chain, plan: ReductionPlan) -> Chain:
    """The first half of the plan: origins and frames."""
    for i, how in sorted(plan.origins.items()):
        chain = slid(chain, i, _slide(chain, i, how))
    for i in sorted(plan.rolled):
        chain = rolled(chain, i)
    return chain


def settled(chain: Chain, plan: ReductionPlan, kept: Kept | None = None) -> Chain:
    """The second half: moments, units, and how the recursion proceeds.

    Plans of one chain that share `kept` reuse what they have in common.
    """
    kept = {} if kept is None else kept
    chain = regrouped(chain, plan.choices, kept)
    if plan.unit is not None:
        chain = in_units(chain, plan.unit, kept)
    runs, on = chain.runs(), chain.children()
    segments = [
        once(kept, _tidy, s, not on[i], plan.squares.get(i, "both"), i in plan.straight and runs[i] != i)
        for i, s in enumerate(chain.segments)
    ]
    return replace(chain, segments=tuple(segments), g=_round(chain.g))


def is_round(s: Segment) -> bool:
    """Whether it is rotationally symmetric about its axis."""
    off = (s.h[0], s.h[1], s.J[0, 1], s.J[0, 2], s.J[1, 2])
    return s.revolute and all(is_zero(x) for x in off) and same(s.J[0, 0], s.J[1, 1])


def slid(chain: Chain, i: int, v: Array) -> Chain:
    """Segment i with its origin shifted by v, in its own axes:
    along its axis if revolute, in any direction if prismatic.
    """
    s = chain.segments[i]
    m, h, J = moved(s.m, s.h, s.J, np.eye(3), -v)
    l, offset = s.l + about_z(s.phi, about_x(s.alpha, v)), s.offset  # noqa: E741
    if not s.revolute:  # a shift along the joint's axis only offsets its coordinate
        along = dot(s.axis, l)
        l, offset = l - s.axis * along, offset + along  # noqa: E741
    chain = chain.changed(
        i, m=m, h=_cut(h, s.h, s.m * v), J=_cut(J, s.J, np.outer(s.h, v)), l=_cut(l, s.l, v), offset=offset
    )
    for c in chain.children()[i]:
        before = chain.segments[c].l
        chain = chain.changed(c, l=_cut(before - v, before, v))
    return chain


def _slide(chain: Chain, i: int, how: str) -> Array:
    s = chain.segments[i]
    if how == "centre" and not s.revolute and isinstance(s.m, float) and s.m > 0.0:
        return objects(s.h / s.m)
    steps = [chain.segments[c].l[2] for c in chain.children()[i]]
    if how == "next" and s.revolute and steps and not is_zero(steps[0]):
        return objects([0.0, 0.0, steps[0]])
    raise ModelError(f"the origin of segment {i} cannot be moved to {how!r}.", "plan")


def rolled(chain: Chain, i: int) -> Chain:
    """Segment i, a leaf, with its frame rotated about its axis so that hy vanishes."""
    s = chain.segments[i]
    if chain.children()[i] or not s.revolute or is_zero(s.h[1]) or not all(isinstance(x, float) for x in s.h):
        raise ModelError(f"the frame of segment {i} cannot be rolled.", "plan")
    angle = atan2(s.h[1], s.h[0])
    m, h, J = moved(s.m, s.h, s.J, rotation_z(angle).T, np.zeros(3))
    h[1] = 0.0
    return chain.changed(i, m=m, h=h, J=J, offset=s.offset + angle)


def in_units(chain: Chain, unit: tuple[int, int], kept: Kept | None = None) -> Chain:
    """Lengths in units of one of the arm's own, masses in units such that torques stay N m.
    For arms with revolute joints only.
    """
    length = chain.segments[unit[0]].l[unit[1]]
    if is_zero(length) or not all(s.revolute for s in chain.segments):
        raise ModelError("this length cannot be the unit.", "plan")
    length = abs(length) if isinstance(length, float) else length
    kept = {} if kept is None else kept
    segments = [once(kept, _scaled, s, length) for s in chain.segments]
    return replace(chain, segments=tuple(segments), g=chain.g / length, grounded=chain.grounded * length)


def _scaled(s: Segment, length: Scalar) -> Segment:
    return replace(s, l=s.l / length, m=s.m * (length * length), h=s.h * length)


def _tidy(s: Segment, is_tip: bool, squares: str, straight: bool) -> Segment:
    m = _round(objects([s.m]))[0]
    s = replace(s, m=m, h=_round(s.h), J=_round(s.J), l=_round(s.l), squares=squares, straight=straight)
    return replace(s, still=True) if is_tip and is_round(s) else replace(s, still=False) if s.still else s


def _round(array: Array) -> Array:
    """Numbers rounded to DIGITS digits, so that 0.30000000000000004 becomes 0.3;
    a tenth of the required agreement.
    """
    made = objects(array)
    flat = made.reshape(-1)
    for k, value in enumerate(flat.tolist()):
        if isinstance(value, float) and value:
            flat[k] = float(f"{value:.{DIGITS}g}")
    return made


def _cut(array: Array, *terms: Array) -> Array:
    """Zero for sums whose value is rounding error."""
    made = objects(array)
    largest = max([0.0, *(abs(x) for term in terms for x in term.flat if isinstance(x, float))])
    for index, value in np.ndenumerate(made):
        if isinstance(value, float) and abs(value) < 1e-15 * largest:
            made[index] = 0.0
    return made
