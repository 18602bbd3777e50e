"""Arms made from arms: the physics of the locked, loaded and bare arm against that of the full one."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
from arms import (
    DIFFERENCE,
    OFFSETS,
    Array,
    body_energy,
    every_kind,
    kinetic_energy,
    posture,
    potential_energy,
    random_arm,
    real_tensor,
    speed,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from nearness import assert_near
from refusals import refused

from forearm import Arm, Frame, Friction, Joint, Link, Motor, load
from forearm.dynamics import inverse
from forearm.kinematics import forward, link_poses

# products of ten poses with entries of order 1, relative to the energies and lengths of the arms
ROUNDING = 1e-12


def hold(arm: Arm, held: list[int], seed: int) -> tuple[Arm, Array, Array, Array, Array]:
    """The arm with these freedoms locked, and a state of both:
    (locked, q, qd of the full arm, q, qd of the locked).
    """
    q, qd = posture(arm, seed), speed(arm, seed)
    qd[held] = 0.0
    free = [i for i in range(arm.n) if i not in held]
    locked = arm.lock({arm.joints[i].name: float(q[i]) for i in held})
    return locked, q, qd, q[free], qd[free]


def assert_same_arm(locked: Arm, arm: Arm, q: Array, qd: Array, q_free: Array, qd_free: Array) -> None:
    height, moving = potential_energy(arm, q), kinetic_energy(arm, q, qd)
    assert potential_energy(locked, q_free) == pytest.approx(height, rel=ROUNDING, abs=1e-11)
    assert kinetic_energy(locked, q_free, qd_free) == pytest.approx(moving, rel=DIFFERENCE, abs=1e-12)
    assert locked.mass == pytest.approx(arm.mass, rel=1e-14)
    assert [x.name for x in locked.links] == [x.name for x in arm.links]
    assert [x.name for x in locked.tree] == [x.name for x in arm.tree]
    found = link_poses(locked, q_free) | {"hand": forward(locked, q_free)}
    for name, T in (link_poses(arm, q) | {"hand": forward(arm, q)}).items():
        assert_near(found[name], T, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("held", [[0], [4], [1, 2, 3], [0, 1, 2, 3, 4]])
def test_a_locked_arm_is_the_full_arm_with_those_joints_held(held: list[int]) -> None:
    for arm in every_kind(len(held), n=5):
        locked, *states = hold(arm, held, 3)
        assert [j.name for j in locked.joints] == [j.name for i, j in enumerate(arm.joints) if i not in held]
        assert_same_arm(locked, arm, *states)
        assert bool(locked.moving.bodies) == (len(held) < arm.n)


def test_a_locked_leader_locks_its_followers() -> None:
    for seed in range(3):
        arm = random_arm(seed, n=3, mimic=True, tree=True)
        leaders = [j.mimic.joint for j in arm.tree if j.mimic is not None]
        index = [j.name for j in arm.joints].index(next(x for x in leaders if x.startswith("joint")))
        locked, *states = hold(arm, [index], seed)
        assert locked.n == 2
        assert not any(j.mimic for j in locked.tree)
        assert_same_arm(locked, arm, *states)


def test_other_joints_stay_as_they_are_bit_for_bit() -> None:
    arm = random_arm(4, n=5)
    assert arm.lock({}) == arm
    locked = arm.lock({"joint3": 0.1})
    for mine, other in zip(arm.tree, locked.tree, strict=True):
        assert mine == other if mine.name != "joint3" else other.kind == "fixed" and not other.has_drive
    assert locked.replace(links=arm.links, tree=arm.tree) == arm
    weld = locked.joint("joint3")
    assert locked.link(weld.child).massless


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        (["joint4"], r"InputError: lock: expected positions by joint, such as .'joint4': 0\.3., got"),
        (None, ".*lock"),
        ({4: 0.1}, ".*lock"),
        ({"jiont4": 0.0}, "NameNotFound: lock, movable joint.*'jiont4'; did you mean 'joint4'"),
        ({"joint3": 0.0}, r"InputError.*lock: joint 'joint3': position 0 is outside its limits 0\.3048 to 1"),
        ({"joint3": 1.28}, r"InputError.*position 1\.28 is outside"),
        ({"joint3": math.nan}, "InputError.*lock, joint3: the number must be finite, got nan"),
        ({"joint3": "half"}, "InputError.*lock, joint3: expected a number"),
    ],
)
def test_lock_refuses(positions: Any, words: str) -> None:
    with refused(words):
        load("stanford").lock(positions)


def test_lock_at_a_limit_and_of_what_is_not_free() -> None:
    for end in (0.3048, 1.27):
        for position in (end, np.nextafter(end, 0.0), np.nextafter(end, 2.0)):
            assert load("stanford").lock({"joint3": float(position)}).n == 5
    for name in ("weld1", "follower1"):
        with refused(f"NameNotFound.*got '{name}'"):
            random_arm(1, mimic=True).lock({name: 0.0})


# ---------------------------------------------------------------------------------------------------- payload


def payload(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    mass = float(rng.uniform(0.5, 5.0))
    return {
        "mass": mass,
        "com": rng.uniform(-0.2, 0.2, 3),
        "inertia": real_tensor(rng, mass, rng.uniform(0.05, 0.2, 3)),
    }


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=2)
def test_a_payload_is_a_body_at_the_hand(seed: int) -> None:
    """By its energies, and by a link that is welded to the hand."""
    for arm in every_kind(seed, n=3):
        body = payload(seed)
        q, qd = posture(arm, seed), speed(arm, seed)
        loaded = arm.with_payload(**body)
        path = forward(arm, q + OFFSETS[:, None] * qd)
        more = kinetic_energy(loaded, q, qd) - kinetic_energy(arm, q, qd)
        alone = body_energy(path, body["mass"], body["com"], body["inertia"])
        assert more == pytest.approx(alone, rel=1e-8, abs=1e-9)  # a difference of two larger energies
        T = forward(arm, q)
        weight = -body["mass"] * float(arm.gravity @ (T[:3, :3] @ body["com"] + T[:3, 3]))
        height = potential_energy(loaded, q) - potential_energy(arm, q)
        assert height == pytest.approx(weight, rel=1e-10, abs=1e-10)
        assert loaded.with_link(arm.link(arm.hand.link)) == arm
        placement = Frame.from_pose(arm.hand.pose)
        weld = Joint(name="grip", kind="fixed", parent=arm.hand.link, child="load", placement=placement)
        by_hand = arm.replace(links=(*arm.links, Link(name="load", **body)), tree=(*arm.tree, weld))
        for mine, other in zip(loaded.moving.bodies, by_hand.moving.bodies, strict=True):
            assert mine.mass == pytest.approx(other.mass, rel=1e-14)
            assert_near(mine.com, other.com, ROUNDING)
            assert_near(mine.inertia, other.inertia, ROUNDING * np.abs(other.inertia).max())


def test_a_payload_without_mass_is_none_and_one_without_inertia_a_point() -> None:
    arm = random_arm(3)
    nothing: list[dict[str, Any]] = [
        {},
        {"com": (1.0, 2.0, 3.0), "inertia": np.zeros((3, 3))},
        {"longest": 0.5},
    ]
    for body in nothing:
        assert arm.with_payload(0.0, **body) == arm
    by_hand = arm.with_payload(2.0, (0.1, 0.2, 0.3), np.zeros((3, 3)))
    assert arm.with_payload(2.0, (0.1, 0.2, 0.3)) == by_hand
    assert arm.with_payload(2.0, (0.1, 0.2, 0.3), longest=0.0) == by_hand


def test_longest_dimension_is_a_rod_of_unknown_direction() -> None:
    arm = random_arm(3)
    loaded = arm.with_payload(3.0, (0.1, -0.2, 0.05), longest=0.6)
    by_hand = arm.with_payload(3.0, (0.1, -0.2, 0.05), np.eye(3) * 3.0 * 0.6**2 / 18.0)
    assert loaded.replace(notes=arm.notes) == by_hand
    note = loaded.notes.removeprefix(arm.notes + "\n")
    assert re.match(
        "Payload of 3 kg.*longest dimension 0.6 m.*slender rod of unknown direction.*0.06 kg m.2", note
    )
    assert not arm.replace(notes="").with_payload(1.0, longest=0.1).notes.startswith("\n")


def test_the_rod_is_the_average_over_directions() -> None:
    """m L^2 / 12 (1 - u u^T) averaged over the sphere by an exact product rule is m L^2 / 18."""
    z, w = np.polynomial.legendre.leggauss(4)
    height, angle = (grid.ravel() for grid in np.meshgrid(z, np.arange(8) * math.pi / 4.0, indexing="ij"))
    flat = np.sqrt(1.0 - height**2)
    u = np.array([flat * np.cos(angle), flat * np.sin(angle), height])
    mean = (np.eye(3) - (np.repeat(w, 8) / 16.0 * u) @ u.T) / 12.0
    assert_near(mean, np.eye(3) / 18.0, 1e-15)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"mass": -1.0}, "ModelError.*payload, mass: must be at least 0, got -1"),
        ({"mass": math.nan}, "InputError.*payload, mass: the number must be finite"),
        ({"mass": 1.0, "com": (0.0, 0.0, math.inf)}, "InputError.*payload, com: every number must be finite"),
        (
            {"mass": 1.0, "inertia": np.diag([1.0, 1.0, -1.0])},
            "ModelError.*link 'payload', inertia: must be positive",
        ),
        ({"mass": 1.0, "longest": 1e200}, ".*payload"),
        ({"mass": 1.0, "longest": -0.1}, "ModelError.*payload, longest: must be at least 0"),
        (
            {"mass": 1.0, "longest": 0.1, "inertia": np.eye(3)},
            "InputError.*payload: give the inertia or the longest",
        ),
        ({"mass": 0.0, "inertia": np.eye(3)}, "ModelError.*payload: inertia without mass; give the mass too"),
    ],
)
def test_payload_refused(given_: dict[str, Any], words: str) -> None:
    with refused(words):
        random_arm(3).with_payload(**given_)


# ------------------------------------------------------------------------------------------------------ rigid


def test_rigid_takes_the_drives_and_nothing_else() -> None:
    assert load("puma560").rigid() != load("puma560")
    for arm in every_kind(1):
        bare = arm.rigid()
        assert not any(j.has_drive for j in bare.tree)
        assert bare.rigid() == bare
        drives = ("motor", "friction", "bearings", "transmission")
        taken = {j.name: {name: getattr(j, name) for name in drives} for j in arm.tree}
        tree = tuple(dataclasses.replace(j, **taken[j.name]) for j in bare.tree)
        assert bare.replace(tree=tree) == arm
        q, qd = posture(arm, 1), speed(arm, 1)
        assert kinetic_energy(bare, q, qd) == kinetic_energy(arm, q, qd)


# -------------------------------------------------------------------------------------------------- one joint


def test_with_joint_changes_one_joint_and_nothing_else() -> None:
    arm = random_arm(5, drives=False)
    name = arm.joints[1].name
    friction = Friction(side="joint", viscous=0.7, coulomb=(0.3, -0.2))
    changed = arm.with_joint(name, friction=friction, max_effort=12.5)
    assert (changed.joint(name).friction, changed.joint(name).max_effort) == (friction, 12.5)
    assert changed.with_joint(name, friction=None, max_effort=arm.joint(name).max_effort) == arm
    q, qd = posture(arm, 5), speed(arm, 5)
    added = inverse(changed, q, qd, np.zeros(arm.n)) - inverse(arm, q, qd, np.zeros(arm.n))
    wanted = np.zeros(arm.n)
    wanted[1] = 0.7 * qd[1] + (0.3 if qd[1] > 0 else -0.2)
    assert np.allclose(added, wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("joint7", {"friction": None}, "NameNotFound.*joint: expected one of .*, got 'joint7'"),
        ("joint1", {"fricton": None}, "NameNotFound: with_joint, field.*'fricton'; did you mean 'friction'"),
        ("joint1", {"max_effort": -1.0}, ".*max_effort: must be at least 0"),
    ],
)
def test_with_joint_names_what_there_is(name: str, changes: dict[str, Any], words: str) -> None:
    with refused(words):
        load("puma560").with_joint(name, **changes)


# -------------------------------------------------------------------------------------------------- drives

MOTOR = Motor(gear_ratio=53.0, rotor_inertia=3e-4, torque_constant=0.11)
FRICTION = Friction(side="motor", viscous=1.3e-3, coulomb=(0.4, -0.5))


def test_with_drives_gives_every_freedom_the_same() -> None:
    arm = random_arm(5, drives=False)
    wanted = arm
    for joint in arm.joints:
        wanted = wanted.with_joint(joint.name, motor=MOTOR, friction=FRICTION)
    assert arm.with_drives(motor=MOTOR, friction=FRICTION) == wanted
    assert wanted.with_drives(motor=None, friction=None) == arm


def test_with_drives_changes_the_joints_that_are_named() -> None:
    arm = random_arm(5, drives=False)
    first, second, third = (joint.name for joint in arm.joints[:3])
    changed = arm.with_drives(
        {first: {"motor": {"gear_ratio": 80.0}}, second: {"motor": None, "friction": None}, third: {}},
        motor=MOTOR,
        friction=FRICTION,
    )
    assert changed.joint(first).motor == Motor(gear_ratio=80.0, rotor_inertia=3e-4, torque_constant=0.11)
    assert changed.joint(first).friction == FRICTION
    assert changed.joint(second) == arm.joint(second)
    assert changed.joint(third) == dataclasses.replace(arm.joint(third), motor=MOTOR, friction=FRICTION)
    fresh = arm.with_drives({first: {"friction": {"coulomb": 2.0, "viscous": 0.3}}})
    assert fresh == arm.with_joint(first, friction=Friction(viscous=0.3, coulomb=(2.0, -2.0)))


@pytest.mark.parametrize(
    ("drives", "words"),
    [
        (3, "InputError.*with_drives: expected drives by joint"),
        ({"joint7": {}}, "NameNotFound.*got 'joint7'; did you mean"),
        (
            {"joint1": FRICTION},
            "InputError.*joint 'joint1': expected parts of the drive, such as .'friction'",
        ),
        (
            {"joint1": {"fricton": FRICTION}},
            "NameNotFound.*with_drives, joint 'joint1': a drive has no 'fricton'; did you mean 'friction'?",
        ),
        (
            {"joint1": {"friction": {"visc": 1.0}}},
            "InputError.*with_drives, joint 'joint1', friction: unknown key 'visc'; did you mean",
        ),
        (
            {"joint1": {"friction": {"coulomb": -2.0}}},
            "ModelError.*with_drives, joint 'joint1', friction, coulomb: must be at least 0, got -2.",
        ),
        (
            {"joint1": {"transmission": {"breakaway": 2.0}}},
            "InputError.*transmission: missing key 'efficiency'",
        ),
        (
            {"joint1": {"motor": 50.0}},
            "InputError.*with_drives, joint 'joint1', motor: expected Motor or a table .*, got 50.0",
        ),
    ],
)
def test_with_drives_says_what_is_wrong(drives: Any, words: str) -> None:
    with refused(words):
        load("puma560").rigid().with_drives(drives)
