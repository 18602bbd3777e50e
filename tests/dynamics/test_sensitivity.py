"""No parameter is read over: 1 % more of any of them moves some torque, or it is listed here with
the proof that it cannot.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from arms import Style, random_arm
from dynamics.cases import Array, Load, random_load, random_state, with_armature, with_kinds

from forearm import DH, Arm, Frame, Hand, Joint, Link, dynamics
from forearm.spatial import pose, rotation_rpy

MOVES = 1e-9  # of the joint's largest torque: what 1 % of a parameter that matters does at the least
NOTHING = 1e-12  # and what rounding does
MORE = 1.01
STATES = 2

# Where q stands for a turn about z of the first joint, and g is gravity; every claim is about a base at rest.
TRANSLATION = "it moves the whole arm without turning it, and gravity is the same everywhere"
ABOUT_Z = (
    "link 1 only turns about its own z: of its tensor only Izz works, and its centre's "
    "height only moves it along z"
)
ONLY_SLIDES = "link 1 only slides: nothing but its mass is ever accelerated, at whatever point"
BEHIND_A_SLIDE = (
    "link 1 only slides, so this moves all behind it without turning it, as if it stood before joint 1"
)
ABOUT_Z_ON_A_SLIDE = "behind a sliding link 1, link 2 only turns about its own z, whose direction stays"
NOT_ABOUT_X = (
    "link 1 turns about z of link 0, which has no x in the axes of link 1: these have no part "
    "in the moment about it"
)
STANDS_STILL = "the base does not move"
NO_LOAD = "the hand's frame only says where a load acts, and there is none"
ORIGIN_OF_ANGLE = "a turn about the first axis, along which gravity points: the arm looks the same from there"

X_ROW = ("Ixx", "Ixy", "Ixz")
TENSOR = (*X_ROW, "Iyy", "Iyz", "Izz")


def listed(*reasons: tuple[str, tuple[str, ...]]) -> dict[str, str]:
    """Names of parameters with their reason, from reasons with their names."""
    return {name: reason for reason, names in reasons for name in names}


def of(owner: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{owner} {name}" for name in names)


HAND = of("hand", "x", "y", "z", "roll", "pitch", "yaw")
BASE = of("link0", "mass", "com0", "com1", "com2", *TENSOR)
FRAME_1 = of("joint1", "xyz0", "xyz1", "xyz2")

# kinds, convention, gravity along the first axis? -> what provably cannot matter while the base is at
# rest and the hand free
CASES: dict[str, tuple[str, Style, bool, dict[str, str]]] = {
    "frames": (
        "RRPR",
        "frames",
        False,
        listed((STANDS_STILL, BASE), (NO_LOAD, HAND), (TRANSLATION, FRAME_1)),
    ),
    "modified": (
        "RRPR",
        "modified",
        False,
        listed(
            (STANDS_STILL, BASE),
            (NO_LOAD, HAND),
            (TRANSLATION, of("joint1", "a", "d")),
            (ABOUT_Z, of("link1", "com2", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz")),
        ),
    ),
    "standard": (
        "RPRR",
        "standard",
        False,
        listed(
            (STANDS_STILL, BASE),
            (NO_LOAD, HAND),
            (TRANSLATION, of("joint1", "d")),
            (NOT_ABOUT_X, of("link1", *X_ROW)),
        ),
    ),
    "modified, sliding first": (
        "PRRP",
        "modified",
        False,
        listed(
            (STANDS_STILL, BASE),
            (NO_LOAD, HAND),
            (TRANSLATION, of("joint1", "a", "d")),
            (BEHIND_A_SLIDE, of("joint2", "a", "d")),
            (ONLY_SLIDES, of("link1", "com0", "com1", "com2", *TENSOR)),
            (ABOUT_Z_ON_A_SLIDE, of("link2", "com2", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz")),
        ),
    ),
    "modified, upright": (
        "RRPR",
        "modified",
        True,
        listed(
            (STANDS_STILL, BASE),
            (NO_LOAD, HAND),
            (TRANSLATION, of("joint1", "a", "d")),
            (ORIGIN_OF_ANGLE, of("joint1", "theta")),
            (ABOUT_Z, of("link1", "com2", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz")),
        ),
    ),
    "standard, upright": (
        "RRRP",
        "standard",
        True,
        listed(
            (STANDS_STILL, BASE),
            (NO_LOAD, HAND),
            (TRANSLATION, of("joint1", "d")),
            (ORIGIN_OF_ANGLE, of("joint1", "theta")),
            (NOT_ABOUT_X, of("link1", *X_ROW)),
        ),
    ),
}


def arm_of(kinds: str, style: Style, upright: bool) -> Arm:
    """A generic chain with links link0 to link4 and rotors;
    upright means that gravity is along the first joint's axis.
    """
    arm = with_kinds(random_arm(7, 4, style, fixed=False), kinds)
    names = {link.name: f"link{i}" for i, link in enumerate(arm.links)}
    links = tuple(dataclasses.replace(link, name=names[link.name]) for link in arm.links)
    tree = tuple(dataclasses.replace(j, parent=names[j.parent], child=names[j.child]) for j in arm.tree)
    first = arm.joints[0]
    gravity = 9.7 * (first.before[:3, :3] @ first.axis) if upright else arm.gravity
    arm = Arm(
        name="generic", links=links, tree=tree, gravity=gravity, hand=Hand(link="link4", pose=arm.hand.pose)
    )
    return with_armature(arm, np.array([0.11, 0.23, 0.17, 0.31]))


def changed_arms(arm: Arm) -> Iterator[tuple[str, Arm]]:
    """Every number that describes the arm, one at a time 1 % larger."""
    for link in arm.links:
        for name, more in changed_links(link):
            yield f"{link.name} {name}", arm.with_link(more)
    for joint in arm.tree:
        for name, other in changed_joints(joint):
            yield (
                f"{joint.name} {name}",
                arm.replace(tree=tuple(other if j.name == joint.name else j for j in arm.tree)),
            )
    for i in range(3):
        if arm.gravity[i]:
            yield f"gravity{i}", arm.replace(gravity=one_larger(arm.gravity, i))
    yield from changed_hands(arm)


def changed_links(link: Link) -> Iterator[tuple[str, Link]]:
    yield "mass", dataclasses.replace(link, mass=MORE * link.mass)
    for i in range(3):
        yield f"com{i}", dataclasses.replace(link, com=one_larger(link.com, i))
    for i, k in combinations_with_replacement(range(3), 2):
        inertia = link.inertia.copy()
        inertia[i, k] = inertia[k, i] = MORE * inertia[i, k]
        yield f"I{'xyz'[i]}{'xyz'[k]}", dataclasses.replace(link, inertia=inertia)


def changed_joints(joint: Joint) -> Iterator[tuple[str, Joint]]:
    place: Any = joint.placement
    if isinstance(place, DH):
        for name in ("a", "alpha", "d", "theta"):
            yield (
                name,
                dataclasses.replace(
                    joint, placement=dataclasses.replace(place, **{name: MORE * getattr(place, name)})
                ),
            )
    elif isinstance(place, Frame):
        for name in ("xyz", "rpy", "axis"):
            for i in range(3):
                more = dataclasses.replace(place, **{name: one_larger(getattr(place, name), i)})
                yield f"{name}{i}", dataclasses.replace(joint, placement=more)
    if joint.motor is not None:
        yield (
            "rotor",
            dataclasses.replace(
                joint, motor=dataclasses.replace(joint.motor, rotor_inertia=MORE * reflected(joint))
            ),
        )
        yield "gear", dataclasses.replace(joint, motor=dataclasses.replace(joint.motor, gear_ratio=MORE))


def changed_hands(arm: Arm) -> Iterator[tuple[str, Arm]]:
    T = arm.hand.pose
    for i, name in enumerate("xyz"):
        yield f"hand {name}", arm.replace(hand=pose(T[:3, :3], one_larger(T[:3, 3], i)))
    for i, name in enumerate(("roll", "pitch", "yaw")):
        yield f"hand {name}", arm.replace(hand=pose(T[:3, :3] @ rotation_rpy(0.01 * np.eye(3)[i]), T[:3, 3]))


def reflected(joint: Joint) -> float:
    return joint.motor.reflected_inertia if joint.motor is not None else 0.0


def one_larger(vector: Array, index: int) -> Array:
    more = vector.copy()
    more[index] *= MORE
    return more


def torques(arm: Arm, load: Load) -> Array:
    states = [random_state(arm, seed) for seed in range(STATES)]
    return np.array([dynamics.inverse(arm, *state, "newton-euler", *load) for state in states])


def moved_by(arm: Arm, loads: tuple[Load, ...]) -> Iterator[tuple[str, list[float]]]:
    """For each parameter, how far 1 % of it moves the torque that it moves most under each load,
    against that joint's largest.
    """
    before = [torques(arm, load) for load in loads]
    scale = [np.abs(tau).max(axis=0) for tau in before]
    for name, more in changed_arms(arm):
        after = [torques(more, load) for load in loads]
        yield name, [float((np.abs(a - b) / s).max()) for a, b, s in zip(after, before, scale, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "style", "upright", "cannot"), CASES.values(), ids=CASES.keys())
def test_every_parameter_matters_or_is_listed(
    kinds: str, style: Style, upright: bool, cannot: dict[str, str]
) -> None:
    """What is listed comes back when the base turns and something pulls: all but the base's own mass.

    A sliding first joint leaves link 1 at the base's angular motion, and the tensor then works in
    moments that no joint feels.
    """
    moved = dict(moved_by(arm_of(kinds, style, upright), (Load(), random_load(1))))
    always = set(BASE) | set(of("link1", *TENSOR) if kinds[0] == "P" else ())
    for k, expected in enumerate((set(cannot), always)):
        unclear = [name for name, sizes in moved.items() if NOTHING < sizes[k] < MOVES]
        assert not unclear, "neither moves anything nor does not"
        assert {name for name, sizes in moved.items() if sizes[k] <= NOTHING} == expected
    assert set(BASE) <= set(cannot)


def test_drawings_of_the_arm_that_no_torque_knows() -> None:
    """Limits, speeds, names and the place of the base in the world are no dynamics."""
    arm = arm_of("RRPR", "frames", False)
    before = torques(arm, random_load(1))
    still = arm.replace(tree=tuple(dataclasses.replace(j, max_speed=1.0, max_effort=2.0) for j in arm.tree))
    assert np.array_equal(torques(still, random_load(1)), before)
    elsewhere = arm.replace(base=pose(rotation_rpy((0.1, 0.2, 0.3)), (1.0, 2.0, 3.0)), gravity=arm.gravity)
    assert np.array_equal(torques(elsewhere, random_load(1)), before)
    tilted = arm.replace(base=pose(rotation_rpy((0.1, 0.2, 0.3))))
    assert np.abs(torques(tilted, random_load(1)) - before).max() > 0.1, (
        "a tilted base alone turns gravity in base axes"
    )
