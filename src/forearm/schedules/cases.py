"""The document's special cases, derived by propagating zeros through arms that have them.
Dhanaraj 4.3.2, Tables 4.2 to 4.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from forearm.arm.arm import Arm, Hand
from forearm.arm.joint import Frame, Joint
from forearm.arm.link import Link
from forearm.errors import InputError
from forearm.schedules.assembly import subtask_work
from forearm.schedules.elimination import remaining
from forearm.schedules.formulas import AXES
from forearm.schedules.links import chain_of
from forearm.schedules.packing import STEPS

FULL = "xyz"
GENERAL_TWISTS = (0, -90, 90, -90, 90, -90)  # degrees; the first joint is along gravity
STANFORD_TWISTS = (0, -90, 90, 0, -90, 90)
# Table 4.4: non-zero elements of the centres of mass s and of the vectors p to the next link.
STANFORD_CENTRES = ("yz", "z", "z", "yz", "yz", "z")
STANFORD_WAYS = ("y", "y", "", "", "")
MIDDLE = 5  # a link before and after which every element that can differ from 0 does


def patterned_arm(
    kinds: str,
    centres: Sequence[str],
    ways: Sequence[str],
    twists: Sequence[int] = GENERAL_TWISTS,
    name: str = "patterned",
) -> Arm:
    """An arm with arbitrary numbers on the axes that the patterns name, and 0 elsewhere.

    `kinds` has R or P for each joint, `centres` the axes of each link's centre of mass, `ways` those of the
    vector to the next link; a prismatic joint's own displacement need not be named. Tensors are diagonal,
    gravity is along z of the base, twists are in degrees.
    """
    n = len(kinds)
    if len(centres) != n or len(ways) != n - 1 or len(twists) < n or set(kinds) - set("RP"):
        raise InputError(f"{n} joints R or P need {n} centres, {n - 1} ways and {n} twists.", name)
    links, joints = [Link(name="link0")], []
    for i, kind in enumerate(kinds):
        com = _numbers(centres[i], 0.05 + 0.011 * i)
        moments = np.array([0.021, 0.034, 0.042]) * (1.0 + 0.13 * i)
        links.append(Link(name=f"link{i + 1}", mass=2.3 + 0.7 * i, com=com, inertia=np.diag(moments)))
        way = _numbers(ways[i - 1], 0.21 + 0.017 * i) if i else np.zeros(3)
        placement = Frame(xyz=way, rpy=np.array([math.radians(twists[i]), 0.0, 0.0]))
        joints.append(
            Joint(
                name=f"joint{i + 1}",
                kind="revolute" if kind == "R" else "prismatic",
                parent=f"link{i}",
                child=f"link{i + 1}",
                placement=placement,
            )
        )
    return Arm(name=name, links=tuple(links), tree=tuple(joints), hand=Hand(link=f"link{n}"))


@cache
def general_arm(n: int = 6) -> Arm:
    """n revolute joints, neighbours at right angles, no zero in any vector."""
    twists = [0, *(90 if i % 2 else -90 for i in range(1, n))]
    return patterned_arm("R" * n, [FULL] * n, [FULL] * (n - 1), twists, f"general{n}")


@cache
def stanford_pattern() -> Arm:
    """An arm with the zeros of Table 4.4, those of the Stanford arm."""
    return patterned_arm("RRPRRR", STANFORD_CENTRES, STANFORD_WAYS, STANFORD_TWISTS, "stanford-pattern")


@cache
def derived_special() -> dict[str, frozenset[int]]:
    """Table 4.2 derived: the subtasks that are empty for a prismatic joint, the first and the last link."""
    general = remaining(chain_of(general_arm())).left_out()
    sliding = remaining(chain_of(patterned_arm("RRRRPR", [FULL] * 6, [FULL] * 5))).left_out()
    of = {"sliding": (sliding, MIDDLE), "first": (general, 1), "last": (general, 6)}
    return {
        case: frozenset(number for i, number in places if i == link) for case, (places, link) in of.items()
    }


@cache
def derived_steps() -> dict[str, tuple[int, int, int, int]]:
    """Table 4.5 derived: how many subtasks a + lambda p, a + lambda s, p x f and s x F need
    with 0, 1, 2 and 3 zeros.
    """
    made: dict[str, list[int]] = {name: [] for name in ("3", "4", "8 p", "8 s")}
    for zeros in range(4):
        pattern = FULL[zeros:]
        ways = [FULL] * 5
        centres = [FULL] * 6
        ways[MIDDLE - 2] = ways[MIDDLE - 1] = centres[MIDDLE - 1] = pattern
        work = subtask_work(patterned_arm("R" * 6, centres, ways), all_made=True)
        numbers = [number for i, number in work.layered.places if i == MIDDLE]
        for name, step in zip(made, STEPS, strict=True):
            made[name].append(sum(number in step for number in numbers))
    return {name: (counts[0], counts[1], counts[2], counts[3]) for name, counts in made.items()}


@cache
def derived_sparse() -> dict[int, int]:
    """Table 4.6 derived: how many subtasks of each link the zeros of Table 4.4 eliminate, by its vectors
    alone.

    T12 to T17 of a link use p of the link before; the first link has none before it.
    """
    steps = derived_steps()
    made = {}
    for i, centre in enumerate(STANFORD_CENTRES, start=1):
        to_it = STANFORD_WAYS[i - 2] if i > 1 else ""
        onwards = STANFORD_WAYS[i - 1] if i <= len(STANFORD_WAYS) else ""
        vectors = (("3", to_it), ("4", centre), ("8 p", onwards), ("8 s", centre))
        made[i] = sum(steps[step][0] - steps[step][len(FULL) - len(pattern)] for step, pattern in vectors)
    return made


def _numbers(pattern: str, size: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Numbers on the named axes, 0 on the others."""
    return np.array([size * (1.0 + 0.37 * k) if axis in pattern else 0.0 for k, axis in enumerate(AXES)])
