"""Every finding on an arm made to have exactly that fault, at both sides of its border,
and none on a sound arm.
"""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import DIFFERENCE, every_kind, kinetic_energy, posture, random_arm
from checking.balances import balance_of

from forearm import DH, Arm, Frame, Friction, Hand, Joint, Limits, Link, ModelWarning, Motor, load
from forearm.arm.dh import MOST_RADIANS
from forearm.checking import Finding, balance, check
from forearm.checking.balancing import gravity_findings
from forearm.checking.drives import HEAVY_ROTOR, WEAK
from forearm.checking.limits import FAST, LONG_STROKE, MANY_TURNS
from forearm.checking.magnitudes import (
    DENSEST,
    LIGHTEST,
    LONGEST_ARM,
    SHORTEST_ARM,
    STRONGEST_GRAVITY,
    reach,
    solid_density,
)
from forearm.checking.structure import carried_inertia, structure_findings
from forearm.kinematics import forward
from forearm.spatial import pose

ABOVE, BELOW = 1.0 + 1e-6, 1.0 - 1e-6  # both sides of a border


def warnings_of(arm: Arm) -> list[Finding]:
    return [f for f in check(arm) if f.level != "note"]


def sound() -> Arm:
    """Two joints, one of them sliding, without a complaint: the arm that is then given one fault."""
    return random_arm(4, n=2, convention="modified", fixed=False, drives=False)


def with_joint(arm: Arm, index: int, **changes: Any) -> Arm:
    name = arm.joints[index].name
    return arm.replace(
        tree=tuple(dataclasses.replace(j, **changes) if j.name == name else j for j in arm.tree)
    )


def with_link(arm: Arm, **changes: Any) -> Arm:
    return arm.with_link(dataclasses.replace(arm.links[-1], **changes))


Change = Callable[[Arm], Arm]
NOTHING = np.zeros((3, 3))


def slider(arm: Arm) -> int:
    return next(i for i, j in enumerate(arm.joints) if j.kind == "prismatic")


def turner(arm: Arm) -> int:
    return next(i for i, j in enumerate(arm.joints) if j.kind == "revolute")


def a_row(**changes: Any) -> Change:
    """The DH row of the second joint changed."""
    return lambda arm: with_joint(arm, 1, placement=dataclasses.replace(arm.joints[1].placement, **changes))


def a_turn(**changes: Any) -> Change:
    return lambda arm: with_joint(arm, turner(arm), **changes)


def a_slide(**changes: Any) -> Change:
    return lambda arm: with_joint(arm, slider(arm), **changes)


def first(**changes: Any) -> Change:
    return lambda arm: with_joint(arm, 0, **changes)


def body(**changes: Any) -> Change:
    return lambda arm: with_link(arm, **changes)


def triangle(excess: float) -> Change:
    """Principal moments 1, 2 and 3 + excess, in a thousandth, turned so that no element shows it."""

    def change(arm: Arm) -> Arm:
        Q = np.linalg.qr(np.array([[0.3, 0.5, 0.7], [0.2, -0.9, 0.4], [0.8, 0.1, -0.6]]))[0]
        tensor = Q @ np.diag([1e-3, 2e-3, 3e-3 * (1.0 + excess)]) @ Q.T
        return with_link(arm, inertia=0.5 * (tensor + tensor.T))

    return change


def com_at(factor: float) -> Change:
    return lambda arm: with_link(arm, com=np.array([0.6, 0.0, -0.8]) * factor * reach(arm))


def ball(density: float) -> Change:
    """The last link a ball of 5 cm of this density, about its com."""
    mass = density * 4.0 / 3.0 * math.pi * 0.05**3
    return body(mass=mass, inertia=np.eye(3) * 0.4 * mass * 0.05**2)


def gyration_of(factor: float) -> Change:
    """A link of 1 kg whose largest radius of gyration is this many times the reach of the arm."""

    def change(arm: Arm) -> Arm:
        square = (factor * reach(arm)) ** 2
        return with_link(arm, mass=1.0, inertia=np.diag([1.0, 1.0, 1e-9]) * square)

    return change


def with_hand_at(distance: float) -> Change:
    """The arm shrunk to a point but for a tool of this length."""

    def change(arm: Arm) -> Arm:
        arm = arm.replace(hand=pose(p=(0.0, 0.6 * distance, 0.8 * distance)))
        for index, link in enumerate(arm.links[1:]):
            arm = with_joint(arm, index, placement=DH(convention="modified"), limits=(0.0, 1e-12))
            arm = arm.with_link(dataclasses.replace(link, com=np.zeros(3)))
        return arm

    return change


def with_turner(**changes: Any) -> Change:
    """The weightless arm with its turning joint changed, of which no other bounds are known."""
    known = {"max_speed": None, "max_effort": None, **changes}
    return lambda arm: with_joint(arm.replace(gravity=(0.0, 0.0, 0.0)), turner(arm), **known)


def rotor(share: float, ratio: float = 50.0) -> Change:
    """A rotor that the turning joint feels as this share of the arm's mass times its reach squared."""

    def change(arm: Arm) -> Arm:
        whole = sum(link.mass for link in arm.links[1:]) * reach(arm) ** 2
        return with_joint(
            arm, turner(arm), motor=Motor(gear_ratio=-ratio, rotor_inertia=share * whole / ratio**2)
        )

    return change


def motor(**given: float) -> Motor:
    """A motor that turns its joint at 48 V by 6 rad/s, and gives it 100 N m by 12.5 A."""
    return Motor(
        **{"gear_ratio": -100.0, "torque_constant": 0.08, "max_voltage": 48.0, "max_current": 12.5, **given}
    )


GRIPPING = Friction(side="motor", viscous=1e-4, coulomb=(0.03, -0.05))  # at 100: 5 N m, and 1 N m s / rad


def holding(share: float) -> Change:
    """The first joint with this share of the effort that gravity needs at most."""
    return lambda arm: with_joint(arm, 0, max_effort=float(balance(arm).worst[0]) * share)


# code, place, change, words of the text
ONE_FAULT: list[tuple[str, str, Change, str]] = [
    ("triangle-inequality", "part2", triangle(1e-6), r"no real body.*part2 \(0.001 \+ 0.002 < 0.003"),
    ("inertia-without-mass", "part2", body(mass=0.0), "inertia without mass: part2"),
    ("mass-without-inertia", "part2", body(inertia=NOTHING), "part2.*point mass"),
    ("units-length", "random4", a_row(a=LONGEST_ARM), "millimetres"),
    ("units-length", "random4", with_hand_at(SHORTEST_ARM * BELOW), "kilometres"),
    ("units-angle", "joint2", a_row(alpha=MOST_RADIANS * ABOVE), '6.28.*"90 deg"'),
    ("units-angle", "joint2", a_row(theta=-90.0), "-90 rad.*degrees"),
    ("units-com", "part2", com_at(30.0 * ABOVE), "part2.*millimetres"),
    ("com-far", "part2", com_at(1.5 * ABOVE), "part2"),
    ("com-far", "part2", com_at(30.0 * BELOW), "centre of mass.*reaches"),
    ("units-inertia", "part2", gyration_of(30.0 * ABOVE), "radius of gyration.*kg mm.2"),
    ("density", "part2", ball(DENSEST * ABOVE), r"2.5e\+04 kg/m.3.*denser than any metal"),
    ("density", "part2", ball(LIGHTEST * BELOW), "0.5 kg/m.3.*lighter than air"),
    ("limits-empty", "joint{turner}", a_turn(limits=(0.5, 0.5)), "0.5 to 0.5"),
    ("limits-empty", "joint{slider}", a_slide(limits=(0.0, 0.0)), "cannot move"),
    ("limits-empty", "joint1", first(max_speed=0.0), "max_speed is 0"),
    ("limits-empty", "joint1", first(max_effort=0.0), "max_effort is 0"),
    ("units-limits", "joint{turner}", a_turn(limits=(-MANY_TURNS * ABOVE, 1.0)), "25.13.*degrees"),
    ("units-limits", "joint{slider}", a_slide(limits=(0.0, LONG_STROKE * ABOVE)), "20.*millimetres"),
    ("units-speed", "joint{turner}", a_turn(max_speed=FAST["revolute"] * ABOVE), "200.*degrees a second"),
    ("units-speed", "joint{slider}", a_slide(max_speed=FAST["prismatic"] * ABOVE), "50.*mm/s"),
    ("limits-missing", "joint{slider}", a_slide(limits=Limits()), "lower, upper"),
    ("limits-missing", "joint{slider}", a_slide(limits=(0.0, math.inf)), ""),
    (
        "moves-nothing",
        "joint2",
        body(mass=0.0, inertia=NOTHING),
        "neither mass nor inertia.*forward dynamics.*rotor inertia",
    ),
    ("gear-ratio", "joint{turner}", with_turner(motor=Motor(gear_ratio=-BELOW)), "motor angle / joint angle"),
    ("units-rotor", "joint{turner}", rotor(HEAVY_ROTOR * ABOVE), "rotor.*full reach.*g cm.2"),
    ("motor-speed", "joint{turner}", with_turner(motor=motor(), max_speed=6.0 / WEAK * ABOVE), "6 rad/s"),
    (
        "motor-speed",
        "joint{turner}",
        with_turner(motor=motor(torque_constant=80.0), max_speed=0.1),
        "0.006 rad/s",
    ),
    (
        "motor-torque",
        "joint{turner}",
        with_turner(motor=motor(), max_effort=100.0 / WEAK * ABOVE),
        "1000 N m.*100 N m|100 N m.*1000",
    ),
    (
        "friction-effort",
        "joint{turner}",
        with_turner(motor=motor(), friction=GRIPPING, max_effort=5.0 * BELOW),
        "5 N m.*motor's side",
    ),
    (
        "friction-effort",
        "joint{turner}",
        with_turner(motor=motor(), friction=GRIPPING, max_speed=2.0, max_effort=7.0 * BELOW),
        "7 N m.*at max_speed.*motor's side|at max_speed.*7 N m.*motor's side",
    ),
    (
        "units-gravity",
        "random4",
        lambda a: a.replace(gravity=(0.0, 0.0, STRONGEST_GRAVITY * ABOVE)),
        "mm/s.2",
    ),
    ("gravity-effort", "joint1", holding(BELOW), "gravity alone"),
]


@pytest.mark.parametrize(("code", "place", "change", "words"), ONE_FAULT)
def test_one_fault_one_finding(code: str, place: str, change: Change, words: str) -> None:
    arm = sound()
    place = place.format(turner=turner(arm) + 1, slider=slider(arm) + 1)
    found = warnings_of(change(arm))
    assert [(f.level, f.code, f.place) for f in found] == [("warning", code, place)]
    assert re.search(rf"({words}).*\.$", found[0].text)


BORDERS: dict[str, Change] = {
    "triangle met with equality": triangle(0.0),
    "triangle within rounding": triangle(1e-10),
    "triangle kept": triangle(-1e-6),
    "long arm": a_row(a=LONGEST_ARM - 3.0),
    "short arm": with_hand_at(SHORTEST_ARM * ABOVE),
    "a full turn": a_row(alpha=2.0 * math.pi, theta=-MOST_RADIANS * BELOW),
    "com": com_at(1.5 * BELOW),
    "gyration": gyration_of(30.0 * BELOW),
    "dense": ball(DENSEST * BELOW),
    "light": ball(LIGHTEST * ABOVE),
    "many turns": a_turn(limits=(-MANY_TURNS, MANY_TURNS), max_speed=200.0),
    "endless turns": a_turn(limits=Limits(), max_speed=None, max_effort=None),
    "long stroke": a_slide(limits=(-LONG_STROKE, LONG_STROKE), max_speed=50.0),
    "narrow": a_slide(limits=(0.0, 5e-324)),
    "a rotor behind nothing": lambda a: with_joint(
        with_link(a, mass=0.0, inertia=NOTHING), 1, motor=Motor(gear_ratio=50.0, rotor_inertia=1e-4)
    ),
    "as fast as its motor": with_turner(motor=Motor(gear_ratio=-1.0)),
    "a heavy rotor": rotor(HEAVY_ROTOR * BELOW),
    "a fast motor": with_turner(motor=motor(), max_speed=6.0 / WEAK * BELOW),
    "a motor for a tenth": with_turner(motor=motor(), max_effort=100.0 / WEAK * BELOW),
    "friction that can be overcome": with_turner(
        motor=motor(), friction=GRIPPING, max_speed=2.0, max_effort=7.0 * ABOVE
    ),
    "friction of the joint": with_turner(
        motor=motor(), friction=Friction(viscous=9.0, coulomb=(5.0, -5.0)), max_speed=2.0, max_effort=5.0
    ),
    "strong gravity": lambda a: a.replace(gravity=(0.0, 60.0, -80.0)),
    "just strong enough": holding(ABOVE),
    "no gravity": lambda a: with_joint(a.replace(gravity=(0.0, 0.0, 0.0)), 0, max_effort=1e-9),
}


@pytest.mark.parametrize("border", BORDERS)
def test_this_side_of_the_border_is_sound(border: str) -> None:
    assert warnings_of(BORDERS[border](sound())) == []


def test_a_hand_that_no_joint_moves_is_the_only_complaint() -> None:
    (found,) = warnings_of(sound().replace(hand="pedestal"))
    assert (found.code, found.place) == ("hand-fixed", "pedestal")
    assert "name another link as hand" in found.text
    assert structure_findings(random_arm(1, n=0)) == []


def test_links_of_a_long_branch_beside_a_short_hand() -> None:
    """A torso with a small head, which is the hand, and a boom of 2 m whose link has its com
    halfway: a sound tree.
    """
    links, tree = [Link(name="torso")], []
    for name, parent, at, size, com in (
        ("boom", "torso", (0.0, 0.0, 0.0), 0.7, (1.0, 0.0, 0.0)),
        ("elbow", "boom", (2.0, 0.0, 0.0), 0.07, (0.1, 0.0, 0.0)),
        ("head", "torso", (0.0, 0.0, 0.3), 0.007, (0.0, 0.05, 0.0)),
    ):
        tensor = size * np.diag([1.0, 1.0, 0.07])
        links.append(Link(name=name, mass=2.0, com=np.array(com), inertia=tensor))
        placement = Frame(xyz=np.array(at))
        tree.append(Joint(name=name, kind="revolute", parent=parent, child=name, placement=placement))
    arm = Arm(name="torso", links=tuple(links), tree=tuple(tree), hand=Hand(link="head"))
    assert [f.code for f in warnings_of(arm)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "stanford", "ur5", "ur10", "ascher2", "cmu-dd", "chain6"])
@pytest.mark.sweep(first=3)
def test_sound_arms_have_no_warnings(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = load(name)
    found = check(arm, balance_of(name))
    assert [(f.level, f.code) for f in found] == [("note", "gravity")]


@pytest.mark.slow
def test_random_arms_have_no_warnings() -> None:
    for arm in every_kind(1, n=2):
        assert warnings_of(arm) == []


@pytest.mark.slow
def test_what_the_published_puma_is_warned_about(tmp_path: Path) -> None:
    arm = load("puma560")
    arm.save(tmp_path / "mine.toml")
    with pytest.warns(ModelWarning) as caught:
        load(tmp_path / "mine.toml")
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2
    assert texts[0].startswith("puma560: the principal moments violate the triangle inequality")
    assert "link1 (0 + 0 < 0.35 kg m^2), link3 (0.0125 + 0.066 < 0.086 kg m^2)" in texts[0]
    assert texts[1].startswith("puma560: inertia without mass: link1.")
    places = {f.code: f.place for f in warnings_of(arm)}
    assert places == {"triangle-inequality": "link1, link3", "inertia-without-mass": "link1"}


def test_the_base_may_be_a_mass_without_inertia_or_a_lump_anywhere() -> None:
    arm = sound()
    odd = Link(name="pedestal", mass=400.0, com=np.array([0.0, 0.0, -50.0]))
    assert warnings_of(arm.with_link(odd)) == []


def test_the_note_says_what_gravity_costs() -> None:
    arm = sound()
    found = balance(arm)
    notes = [f for f in check(arm) if f.level == "note"]
    assert [n.code for n in notes] == ["gravity"]
    for joint, worst in zip(arm.joints, found.worst, strict=True):
        assert f"{joint.name} {worst:.4g}" in notes[0].text
    free = gravity_findings(arm.replace(gravity=np.zeros(3)), balance(arm.replace(gravity=np.zeros(3))))
    assert [f.text for f in free] == ["the arm is balanced: gravity exerts no torque."]


# ------------------------------------------------------------------------------ the numbers behind the checks


def test_density_is_that_of_the_ellipsoid() -> None:
    radii = np.array([0.1, 0.2, 0.35])
    mass = 2700.0 * 4.0 / 3.0 * math.pi * float(radii.prod())
    tensor = mass / 5.0 * np.diag((radii**2).sum() - radii**2)
    assert solid_density(Link(name="x", mass=mass, inertia=tensor)) == pytest.approx(2700.0, rel=1e-12)
    for flat in ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 2.0)):  # a point, a rod, a plate
        assert solid_density(Link(name="x", mass=1.0, inertia=np.diag(flat))) is None
    assert solid_density(Link(name="x", inertia=np.eye(3))) is None


@pytest.mark.parametrize("seed", range(2))
def test_no_posture_goes_beyond_the_reach(seed: int) -> None:
    for arm in every_kind(seed):
        away = np.linalg.norm(forward(arm, posture(arm, seed, 1000))[:, :3, 3], axis=1)
        assert 0.3 * reach(arm) < away.max() <= reach(arm) * (1.0 + 1e-12)


def test_carried_inertia_is_twice_the_energy_at_unit_speed() -> None:
    for arm in every_kind(1, n=3):
        q = posture(arm, 1)
        links = carried_inertia(arm.rigid(), q)
        energies = [kinetic_energy(arm, q, unit) for unit in np.eye(arm.n)]
        assert links == pytest.approx(2.0 * np.array(energies), rel=DIFFERENCE)
        rotors = np.zeros(arm.n)
        for moving in arm.moving.bodies:
            if moving.joint.motor is not None:
                rotors[moving.freedom] += moving.multiplier**2 * moving.joint.motor.reflected_inertia
        assert carried_inertia(arm, q) - links == pytest.approx(rotors, rel=1e-9, abs=1e-12)
