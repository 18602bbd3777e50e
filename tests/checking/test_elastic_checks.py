"""Every finding on springs and bristles, at both sides of its border; figures against formulas by hand, and
frequencies against the motion of the arm.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from checking.balances import balance_of

import forearm as fa
from forearm import Arm, Elasticity, Frame, Friction, Joint, Link, Motor
from forearm.arm.elastic import expanded, link_side
from forearm.checking import Finding, balance, check
from forearm.checking.bristles import DAMPED as BRISTLES_DAMPED
from forearm.checking.bristles import FAR, bristle_figures, bristle_findings
from forearm.checking.elasticity import (
    DAMPED,
    SAMPLED,
    SOFT,
    STEPS,
    STIFF,
    WIDE,
    elasticity_findings,
    fastest_oscillation,
    spring_figures,
)
from forearm.dynamics import forward, inertia_matrix

ABOVE, BELOW = 1.0 + 1e-6, 1.0 - 1e-6  # both sides of a border
N, J = -40.0, 5e-5
B = N * N * J
LINK, M = 0.7, 3.0  # what the turning joint moves, kg m^2, and the sliding one, kg
EFFORT = {"turn": 60.0, "slide": 100.0}
MOTOR = Motor(gear_ratio=N, rotor_inertia=J)
KINDS = ("revolute", "prismatic")


def one(kind: str = "revolute", **drive: Any) -> Arm:
    """One joint without gravity: a link of inertia LINK about the axis, or of mass M that slides along it."""
    link = Link(name="link", mass=M, inertia=np.diag([0.5, 0.6, LINK]))
    name = PLACE[kind]
    has = {"placement": Frame(), "limits": (-1.0, 1.0), "max_effort": EFFORT[name], "motor": MOTOR}
    joint = Joint(name=name, kind=kind, parent="base", child="link", **(has | drive))  # type: ignore[arg-type]
    return Arm(name="one", links=(Link(name="base"), link), tree=(joint,), gravity=np.zeros(3))


PLACE = {"revolute": "turn", "prismatic": "slide"}
MOVED = {"revolute": LINK, "prismatic": M}
LOAD = {kind: EFFORT[place] for kind, place in PLACE.items()}


def codes(arm: Arm) -> list[tuple[str, str, str]]:
    return [(f.level, f.code, f.place) for f in check(arm) if f.code != "gravity"]


def found(arm: Arm, level: str, code: str, words: str) -> None:
    """The arm has one finding besides the note on gravity: of this level and code, with these words."""
    (only,) = [f for f in check(arm) if f.code != "gravity"]
    assert (only.level, only.code, only.place) == (level, code, arm.joints[0].name)
    assert only.text.endswith(".")
    assert re.search(words, only.text)


def spring(**given: float) -> Elasticity:
    return Elasticity(**{"stiffness": 6e3, **given})  # type: ignore[arg-type]


def rubbing(side: str = "joint", **given: Any) -> Friction:
    return Friction(side=side, **{"coulomb": 0.02, "bristle_stiffness": 900.0, **given})  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------- springs


@pytest.mark.parametrize(
    ("kind", "curved", "words"),
    [
        ("revolute", True, "^turn: under 60 N m, its max_effort, its spring gives by 3 deg: .*3438 N m/rad"),
        ("prismatic", False, "^slide: under 100 N, its max_effort, its spring gives by 20 mm: .*N/mm, which"),
    ],
)
def test_soft_springs_look_like_other_units(kind: str, curved: bool, words: str) -> None:
    """K x = load at the border, and a curve whose last straight line goes through the same point."""
    x = SOFT[kind]

    def made(share: float) -> Arm:
        torque = LOAD[kind] * share
        curve = ((0.5 * x, 0.3 * torque), (0.75 * x, 0.65 * torque)) if curved else ()
        K = None if curved else torque / x
        return one(kind, elasticity=Elasticity(stiffness=K, curve=curve, half_gap=1e-4))

    assert codes(made(ABOVE)) == []
    found(made(BELOW), "warning", "units-stiffness", words)


@pytest.mark.parametrize("kind", KINDS)
def test_springs_that_do_not_give_are_as_good_as_none(kind: str) -> None:
    def warned(share: float) -> list[Finding]:
        arm = one(kind, elasticity=Elasticity(stiffness=share * LOAD[kind] / STIFF[kind]))
        return [f for f in check(arm) if f.level == "warning"]

    assert warned(BELOW) == []
    (stiff,) = warned(ABOVE)
    assert stiff.code == "units-stiffness"
    assert re.search("negligible: check whether its stiffness is in N.* or leave its elast", stiff.text)


def test_gravity_counts_where_it_is_more_than_the_effort() -> None:
    arm = random_arm(4, n=1, prismatic=False, drives=False)
    worst = float(balance(arm).worst[0])
    limp = [spring(stiffness=share * worst / SOFT["revolute"]) for share in (ABOVE, BELOW)]
    soft = [arm.with_joint("joint1", max_effort=None, motor=MOTOR, elasticity=e) for e in limp]
    said = [[f.text for f in check(a) if f.level == "warning"] for a in soft]
    assert said[0] == []
    under = f"joint1: under {worst:.4g} N m, the largest gravity torque"
    assert f"{under}, its spring gives by 3 deg" in said[1][0]


def test_nothing_is_known_of_a_spring_without_a_load() -> None:
    arm = one(elasticity=Elasticity(stiffness=1e-3)).with_joint("turn", max_effort=None)
    assert codes(arm) == []


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_critical_damping_and_wide_gaps_are_doubtful(kind: str) -> None:
    critical = DAMPED * 2.0 * math.sqrt(6e3 * MOVED[kind])
    sound = spring(damping=critical * BELOW, half_gap=WIDE[kind] * BELOW)
    assert codes(one(kind, elasticity=sound)) == []
    words = f"a damping of {critical:.4g}.* a damping ratio of 1 where gears have some hundredths"
    found(one(kind, elasticity=spring(damping=critical * ABOVE)), "warning", "elastic-damping", words)
    words = {
        "revolute": "a half_gap of 0.003491 rad is 0.2 deg of play to either side: it looks like degrees",
        "prismatic": "a half_gap of 0.0002 m to either side: it looks like millimetres",
    }[kind]
    found(one(kind, elasticity=spring(half_gap=WIDE[kind] * ABOVE)), "warning", "backlash", words)


def test_a_rotor_is_part_of_the_body_that_carries_it() -> None:
    """The second joint's rotor sits on a link that another, fixed on it, makes heavier about its axis."""
    about = np.array([0.6, 0.0, 0.8])
    tensor = np.diag([2e-4, 3e-4, 4e-4])
    links = [Link(name="base"), Link(name="arm", mass=1.0, inertia=tensor), Link(name="flange")]
    links.append(Link(name="tool", mass=1.0, com=np.array([0.1, 0.0, 0.0]), inertia=1e-2 * np.eye(3)))
    on = {"placement": Frame(xyz=(0.2, 0.0, 0.1)), "limits": (-1.0, 1.0), "motor": MOTOR}  # type: ignore[arg-type]
    tree = [
        Joint(name="a", kind="revolute", parent="base", child="arm", **on),  # type: ignore[arg-type]
        Joint(name="w", kind="fixed", parent="arm", child="flange", placement=Frame()),
        Joint(name="b", kind="revolute", parent="flange", child="tool", **on),  # type: ignore[arg-type]
    ]
    arm = Arm(name="two", links=tuple(links), tree=tuple(tree))
    has = 1.0 / float(about @ np.linalg.solve(tensor, about))  # tensor - J a a^T is then singular
    assert np.linalg.eigvalsh(tensor - has * np.outer(about, about))[0] == pytest.approx(0.0, abs=1e-18)

    def warnings_of(joint: str, share: float) -> list[Finding]:
        motor = Motor(gear_ratio=20.0, rotor_inertia=has * share)
        held = {"motor": motor, "elasticity": Elasticity(stiffness=300.0, rotor_axis=tuple(about))}
        return [f for f in check(arm.with_drives({joint: held})) if f.level == "warning"]

    assert warnings_of("b", BELOW) == []
    (only,) = warnings_of("b", ABOVE)
    assert (only.code, only.place) == ("rotor-carrier", "b")
    assert f"of which flange, which carries it, has room for {has:.4g}: a link's inertia" in only.text
    assert warnings_of("a", 2.0) == []  # the base does not move


# ---------------------------------------------------------------------------------------------- oscillations


STIFFENING = Elasticity(curve=((1e-3, 2.0), (3e-3, 14.0), (4e-3, 17.0)), damping=12.0)


@pytest.mark.parametrize("elasticity", [spring(damping=12.0), STIFFENING], ids=["stiffness", "largest slope"])
def test_figures_of_one_joint_are_the_formulas(elasticity: Elasticity) -> None:
    arm = one(elasticity=elasticity)
    (f,) = spring_figures(arm, np.array([0.3]))
    assert (f.joint, f.freedom) == ("turn", 0)
    assert (f.stiffness, f.link_inertia, f.rotor_inertia) == pytest.approx((6e3, LINK, B), rel=1e-12)
    fastest = math.sqrt(6e3 * (1.0 / B + 1.0 / LINK)) / (2.0 * math.pi)
    assert f.locked_motor_hz == pytest.approx(math.sqrt(6e3 / LINK) / (2.0 * math.pi), rel=1e-12)
    assert f.free_motor_hz == pytest.approx(fastest, rel=1e-12)
    assert fastest_oscillation(arm, np.zeros(1)) == pytest.approx((fastest, 0), rel=1e-12)
    assert f.damping_ratio == pytest.approx(12.0 / (2.0 * math.sqrt(6e3 * LINK)), rel=1e-12)


def test_a_link_behind_nothing_swings_without_end() -> None:
    arm = one(elasticity=spring()).with_link(Link(name="link", mass=M))
    (f,) = spring_figures(arm, np.array([0.3]))
    assert (f.locked_motor_hz, f.free_motor_hz) == (math.inf, math.inf)
    only = [f for f in check(arm) if f.code == "moves-nothing"]
    assert len(only) == 1
    assert only[0].text.endswith("give the links behind it mass.")
    assert not any(f.code == "elastic-frequency" for f in check(arm))


@pytest.mark.parametrize("full", [False, True])
def test_the_fastest_oscillation_is_that_of_the_equations_of_motion(full: bool) -> None:
    """Accelerations of links and rotors under the springs' torques, deflection by deflection, by forward
    dynamics; their eigenvalues are the squares of the frequencies. One joint of the three is rigid.
    """
    arm = random_arm(9, n=3, drives=False, prismatic=False).replace(gravity=np.zeros(3))
    axis = (0.3, -0.5, 0.8) if full else None
    for i, K in ((0, 900.0), (2, 350.0)):
        motor = Motor(gear_ratio=30.0 + i, rotor_inertia=3e-4)
        arm = arm.with_joint(
            arm.joints[i].name, motor=motor, elasticity=Elasticity(stiffness=K, rotor_axis=axis)
        )
    q = posture(arm, 2)
    whole = expanded(arm)
    at, still = np.append(q, np.zeros(2)), np.zeros(5)
    rows = []
    for k, (i, K) in enumerate(((0, 900.0), (2, 350.0))):
        torque = np.zeros(5)
        torque[i], torque[3 + k] = K, -K  # at a deflection of 1 of this spring
        qdd = forward(whole, at, still, torque)
        rows.append([qdd[3] - qdd[0], qdd[4] - qdd[2]])
    squares = -np.linalg.eigvals(np.array(rows).T)
    fastest, freedom = fastest_oscillation(arm, q)
    assert (2.0 * math.pi * fastest) ** 2 == pytest.approx(squares.real.max(), rel=1e-9)
    assert freedom in (0, 2)
    if not full:  # what swings along makes it faster than with all else held
        assert fastest > max(f.free_motor_hz for f in spring_figures(arm, q))


def test_springs_that_no_controller_sees_are_noted() -> None:
    """K (1 / B + 1 / LINK) = (2 pi 500 Hz)^2 at the border."""
    K = (math.pi * SAMPLED) ** 2 / (1.0 / B + 1.0 / LINK)
    assert codes(one(elasticity=Elasticity(stiffness=K * BELOW))) == []
    words = (
        "faster than 500 Hz, which a controller at 1 kHz cannot sample: turn 500 Hz.* has 500 Hz; a "
        f"simulation in fixed steps follows it with {1.0 / (500.0 * STEPS):.2g} s or"
    )
    found(one(elasticity=Elasticity(stiffness=K * ABOVE)), "note", "elastic-frequency", words)


def test_an_arm_that_swings_fast_as_a_whole_only_names_the_joint_that_does() -> None:
    """Two pendulums in a row, each slow with the other held."""
    links, tree = [Link(name="base")], []
    motor, stiff = Motor(gear_ratio=1.0, rotor_inertia=10.0), Elasticity(stiffness=1e6)
    for name, parent, at in (("first", "base", 0.0), ("second", "first", 1.0)):
        com = np.array([0.5, 0.0, 0.0])
        links.append(Link(name=name, mass=1.0, com=com, inertia=1e-3 * np.eye(3)))
        on: dict[str, Any] = {"placement": Frame(xyz=np.array([at, 0.0, 0.0])), "limits": (-0.1, 0.1)}
        on |= {"motor": motor, "elasticity": stiff}
        tree.append(Joint(name=name, kind="revolute", parent=parent, child=name, **on))
    arm = Arm(name="two", links=tuple(links), tree=tuple(tree), gravity=np.zeros(3))
    assert max(f.free_motor_hz for f in spring_figures(arm, np.zeros(2))) < 0.5 * SAMPLED
    assert fastest_oscillation(arm, np.zeros(2))[0] > 0.5 * SAMPLED
    (note,) = elasticity_findings(arm, balance(arm))
    assert (note.code, note.place) == ("elastic-frequency", "second")
    assert "cannot sample. The fastest oscillation, mostly of second, has" in note.text


# ------------------------------------------------------------------------------------------------- bristles


@pytest.mark.parametrize(
    ("kind", "side", "far"),
    [
        ("revolute", "joint", "1 deg"),
        ("revolute", "motor", "1 deg of the motor"),
        ("prismatic", "joint", "1 mm"),
        ("prismatic", "motor", "1 deg of the motor"),
    ],
)
def test_bristles_that_bend_far_look_like_other_units(kind: str, side: str, far: str) -> None:
    border = FAR["prismatic" if (kind, side) == ("prismatic", "joint") else "revolute"]
    below, above = (
        one(kind, friction=rubbing(side, coulomb=(0.01, -0.02), bristle_stiffness=0.02 / (border * share)))
        for share in (BELOW, ABOVE)
    )
    assert codes(below) == []
    words = (
        f"its bristles bend by {far} before they slip, coulomb / bristle_stiffness: see whether.* "
        rf"on the {side}'s side\.$"
    )
    found(above, "warning", "bristle-slip", words)
    (figures,) = bristle_figures(above)
    assert figures.slip == pytest.approx((0.5 * border, -border), rel=1e-5)
    assert (figures.side, figures.damping) == (side, 0.0)


# drive, side, and the inertia that its bristles stop, on that side
STOPPED = [
    ({}, "joint", LINK + B),
    ({}, "motor", (LINK + B) / N**2),
    ({"elasticity": spring()}, "joint", LINK),
    ({"elasticity": spring()}, "motor", J),
]


@pytest.mark.parametrize(("drive", "side", "inertia"), STOPPED)
def test_bristles_that_are_overdamped_or_that_no_controller_sees(
    drive: dict[str, Any], side: str, inertia: float
) -> None:
    critical = 2.0 * math.sqrt(900.0 * inertia)
    damping, sigma0 = BRISTLES_DAMPED * critical, (math.pi * SAMPLED) ** 2 * inertia

    def made(level: str, **rough: float) -> list[Finding]:
        findings = bristle_findings(one(friction=rubbing(side, **rough), **drive))
        return [f for f in findings if f.level == level]

    assert made("warning", bristle_damping=damping * BELOW) == []
    assert made("note", bristle_stiffness=sigma0 * BELOW) == []
    (only,) = made("warning", bristle_damping=damping * ABOVE)
    assert (only.code, only.place) == ("bristle-damping", "turn")
    assert f"is a damping ratio of 2 where the joint sticks; 1 has {critical:.4g}" in only.text
    (only,) = made("note", bristle_stiffness=sigma0 * ABOVE)
    assert (only.code, only.place) == ("bristle-frequency", "turn")
    assert re.search("on its bristles at 500 Hz.* fixed steps follows it with 0.0002 s or less", only.text)


def test_bristles_of_a_follower_stop_what_it_moves_its_leader_by() -> None:
    """m of its own side: M_ff / multiplier^2."""
    arm = random_arm(3, n=3, mimic=True, drives=False)
    body = next(b for b in arm.moving.bodies if b.joint.mimic is not None)
    rough = rubbing(bristle_damping=1e9)
    (only,) = [
        f
        for f in bristle_findings(arm.with_joint(body.joint.name, friction=rough))
        if f.code == "bristle-damping"
    ]
    said = float(only.text.split("1 has ")[1].split(". See")[0])
    inertias = [inertia_matrix(arm, q)[body.freedom, body.freedom] for q in posture(arm, 5, 200)]
    critical = [2.0 * math.sqrt(900.0 * m) / abs(body.multiplier) for m in (min(inertias), max(inertias))]
    assert critical[0] <= said <= critical[1] * 1.05


# ------------------------------------------------------------------------------------------------- sound arms


@cache
def panda() -> Arm:
    """Harmonic drives of ten thousand N m / rad, as they are known of such arms."""
    motor = Motor(gear_ratio=100.0, rotor_inertia=6e-5)
    friction = Friction(coulomb=(0.5, -0.4), viscous=0.3, bristle_stiffness=2e3, bristle_damping=2.0)
    return fa.load("panda").with_drives(
        motor=motor, friction=friction, elasticity=Elasticity(stiffness=1.4e4, damping=5.0, half_gap=5e-5)
    )


def test_a_sound_elastic_arm_has_no_finding() -> None:
    assert [f.code for f in check(panda(), balance_of("panda"))] == ["gravity"]


@pytest.mark.parametrize("name", [name for name in fa.arms() if name != "chainN"])
@pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning")
def test_built_in_arms_are_rigid_and_get_no_finding(name: str) -> None:
    arm = fa.load(name)
    assert link_side(arm) is arm
    assert elasticity_findings(arm, balance_of("panda")) == [], (
        "without springs nothing of the balance is read"
    )
    assert bristle_findings(arm) == []
