"""Arms with other parameters: round trips, torques by the regressor and the drives, deviations by chance."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from arms import every_kind, posture, random_arm, real_tensor, speed

import forearm as fa
from forearm.drives.parameters import drive_values
from forearm.dynamics.reference import inertial_parameters
from forearm.errors import ForearmError
from forearm.identification.deviations import deviations_of
from forearm.identification.new_arm import arm_with, main_link
from forearm.identification.payload.physical import parameters_of_body
from forearm.spatial import TENSOR, Floats

EQUAL = 1e-12


def bodies(arm: fa.Arm, seed: int) -> Floats:
    """Parameters of other bodies than the arm has, some heavier and some much lighter."""
    rng = np.random.default_rng(seed)
    made = []
    for body in arm.moving.bodies:
        m = body.mass * float(rng.uniform(0.2, 2.0))
        com = body.com + rng.uniform(-0.05, 0.05, 3)
        made.append(parameters_of_body(m, com, real_tensor(rng, m, rng.uniform(0.05, 0.15, 3))))
    return np.concatenate(made)


def figures(arm: fa.Arm, seed: int) -> dict[str, float]:
    """Other figures of every drive."""
    rng = np.random.default_rng(seed)
    made = {name: x * float(rng.uniform(0.96, 1.04)) for name, x in drive_values(arm).items()}
    for joint in arm.joints:
        if joint.motor is not None:
            made[f"{joint.name}.motor.torque_constant"] = float(rng.uniform(0.1, 0.2))
            made[f"{joint.name}.motor.resistance"] = float(rng.uniform(1.0, 2.0))
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_an_arm_gives_back_what_it_was_made_of(seed: int) -> None:
    shrunk = 0
    for k, arm in enumerate(every_kind(seed)):
        pi, drives = bodies(arm, seed + k), figures(arm, seed + k)
        made, notes = arm_with(arm, pi, drives)
        back = inertial_parameters(made)
        assert np.abs(back - pi).max() < EQUAL * np.abs(pi).max()
        assert drive_values(made) == {name: drives[name] for name in drive_values(arm)}
        assert all(made.joint(j.name).placement == j.placement for j in arm.tree)
        shrunk += any("unphysical" in note for note in notes)
        for joint in arm.joints:
            if joint.motor is not None:
                motor = made.joint(joint.name).motor
                assert motor is not None
                assert motor.resistance == drives[f"{joint.name}.motor.resistance"]
                assert motor.inductance == joint.motor.inductance
    assert shrunk  # links on fixed joints were in the way of some


def simple(friction: fa.Friction | None) -> fa.Friction | None:
    """Viscous and Coulomb friction alone, on the side where it was."""
    return friction and dataclasses.replace(friction, static=None, stribeck_speed=None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [3, 6, 9])
def test_torques_are_those_of_regressor_and_drives(kind: int) -> None:
    arm = every_kind(4, 3)[kind]
    plain = {"bearings": (), "transmission": None}
    tree = [dataclasses.replace(j, friction=simple(j.friction), **plain) for j in arm.tree]  # type: ignore[arg-type]
    arm = arm.replace(tree=tuple(tree))
    pi, drives = bodies(arm, kind), figures(arm, kind)
    made, _ = arm_with(arm, pi, drives)
    q, qd, qdd = posture(arm, 1), speed(arm, 2), speed(arm, 3)
    expected = fa.dynamics.regressor(arm, q, qd, qdd) @ pi
    for body in arm.moving.bodies:
        name, motor, friction = body.joint.name, body.joint.motor, body.joint.friction
        if motor is None or friction is None:
            continue
        rate, rise = body.multiplier * qd[body.freedom], body.multiplier * qdd[body.freedom]
        N = abs(drives[f"{name}.motor.gear_ratio"])
        ratio = N if friction.side == "motor" else 1.0
        dry = drives[f"{name}.friction.coulomb.{'positive' if rate > 0.0 else 'negative'}"]
        torque = ratio * (drives[f"{name}.friction.viscous"] * ratio * rate + dry)
        torque += N * N * drives[f"{name}.motor.rotor_inertia"] * rise
        expected[body.freedom] += body.multiplier * torque
    assert fa.dynamics.inverse(made, q, qd, qdd) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_what_stays_changes_by_no_bit() -> None:
    for arm in every_kind(3)[:7]:
        made, notes = arm_with(arm, inertial_parameters(arm), drive_values(arm))
        assert made == arm
        assert notes == ()


def test_the_main_link_takes_the_change_and_others_keep_theirs() -> None:
    arm = random_arm(2, 3)
    index = next(k for k, body in enumerate(arm.moving.bodies) if len(links_on(arm, k)) > 1)
    pi = inertial_parameters(arm)
    heavier = pi.copy()
    heavier[10 * index : 10 * index + 10] *= 3.0  # the rest is a body
    made, notes = arm_with(arm, heavier)
    main = main_link(arm, index).name
    assert main == arm.moving.bodies[index].joint.child
    assert notes == ()
    assert [link for link in made.links if link != arm.link(link.name)] == [made.link(main)]
    lighter = pi.copy()
    lighter[10 * index : 10 * index + 10] *= 1e-3
    made, notes = arm_with(arm, lighter)
    others = [name for name in links_on(arm, index) if name != main]
    assert len(notes) == 1
    assert all(name in notes[0] for name in others)
    assert "nothing is kept" in notes[0]
    assert all(made.link(name).massless for name in others)
    assert inertial_parameters(made) == pytest.approx(lighter, rel=EQUAL, abs=1e-15)


def links_on(arm: fa.Arm, index: int) -> list[str]:
    return [name for name, (on, _) in arm.moving.frames.items() if on == index]


def test_a_link_without_mass_leaves_the_change_to_what_is_fixed_on_it() -> None:
    arm = random_arm(2, 3)
    index = next(k for k, body in enumerate(arm.moving.bodies) if len(links_on(arm, k)) > 1)
    child = arm.moving.bodies[index].joint.child
    arm = arm.with_link(fa.Link(name=child))
    pi = bodies(arm, 5)
    made, _ = arm_with(arm, pi)
    assert main_link(arm, index).name != child
    assert made.link(child).massless
    assert inertial_parameters(made) == pytest.approx(pi, rel=1e-10, abs=1e-12)


def test_joints_without_drives_get_them() -> None:
    arm = random_arm(5, 3, drives=False)
    given = {
        "joint1.friction.viscous": 0.3,
        "joint2.friction.coulomb.positive": 0.5,
        "joint2.friction.coulomb.negative": -0.4,
        "joint3.motor.rotor_inertia": 0.02,
    }
    made, _ = arm_with(arm, inertial_parameters(arm), given)
    assert made.joint("joint1").friction == fa.Friction(viscous=0.3)
    assert made.joint("joint2").friction == fa.Friction(coulomb=(0.5, -0.4))
    assert made.joint("joint3").motor == fa.Motor(rotor_inertia=0.02)
    assert made.joint("joint1").motor is None
    moved, _ = arm_with(arm, inertial_parameters(arm), given, side="motor")
    assert moved.joint("joint1").friction == fa.Friction(side="motor", viscous=0.3)
    assert moved.joint("joint1").motor == fa.Motor()
    speedy = {"joint1.friction.static.positive": 0.3, "joint1.friction.stribeck_speed": 0.1}
    made, _ = arm_with(arm, inertial_parameters(arm), speedy)
    assert made.joint("joint1").friction == fa.Friction(static=(0.3, 0.0), stribeck_speed=0.1)


def test_static_friction_is_never_less_than_coulombs() -> None:
    arm = random_arm(5, 3)
    friction = arm.joint("joint1").friction
    assert friction is not None
    made, notes = arm_with(arm, inertial_parameters(arm), {"joint1.friction.coulomb.positive": 2.0})
    changed = made.joint("joint1").friction
    assert changed is not None
    assert (changed.side, changed.coulomb) == (friction.side, (2.0, friction.coulomb[1]))
    assert changed.static == (2.0, friction.static[1])  # type: ignore[index]
    assert notes == ("joint1: static friction is raised to the level of Coulomb friction.",)


@pytest.mark.parametrize(
    ("change", "drives", "text"),
    [
        ((0, -0.5), {}, "mass of -0.5 kg"),
        ((0, 0.0), {}, "without mass"),
        ((4, -1.0), {}, "positive semidefinite"),
        (None, {"joint1.friction.viscos": 1.0}, "did you mean 'joint1.friction.viscous'"),
        (None, {"weld1.friction.viscous": 1.0}, "unknown name 'weld1.friction.viscous'"),
        (None, {"joint1.friction.viscous": -1.0}, "joint 'joint1'"),
        (None, {"joint1.friction.static.positive": 1.0}, "stribeck_speed"),
        (None, {"joint1.friction.coulomb.negative": 1.0}, "at most 0"),
    ],
)
def test_what_no_arm_can_have_is_refused(change: Any, drives: dict[str, float], text: str) -> None:
    arm = random_arm(5, 3, drives=False, fixed=False)
    pi = inertial_parameters(arm)
    if change is not None:
        pi[change[0]] = change[1]
    with pytest.raises(ForearmError, match=text):
        arm_with(arm, pi, drives)


@pytest.mark.slow
def test_deviations_are_those_of_many_arms() -> None:
    arm, rng, count = random_arm(2, 3), np.random.default_rng(1), 300
    pi = inertial_parameters(arm)
    units = [body.mass * np.array([1.0, *[0.1] * 3, *[0.01] * 6]) for body in arm.moving.bodies]
    sizes = np.append(np.concatenate(units), 0.1)
    root = 1e-5 * sizes[:, None] * rng.normal(size=(len(sizes), len(sizes)))
    covariance = root @ root.T
    predicted = deviations_of(arm, covariance, ["joint1.friction.viscous"])
    assert predicted.pop("joint1.friction.viscous") == pytest.approx(np.sqrt(covariance[-1, -1]))
    names = [main_link(arm, index).name for index in range(len(arm.moving.bodies))]
    drawn = []
    for draw in pi + (root @ rng.normal(size=(len(sizes), count)))[:-1].T:
        made, notes = arm_with(arm, draw)
        assert notes == ()
        links = [made.link(name) for name in names]
        drawn.append([(x.mass, *x.com, *(x.inertia[place] for place in TENSOR.values())) for x in links])
    keys = ("mass", *(f"com.{axis}" for axis in "xyz"), *(f"inertia.{entry}" for entry in TENSOR))
    std = np.std(drawn, axis=0)
    found = {
        f"{name}.{key}": x
        for name, row in zip(names, std, strict=True)
        for key, x in zip(keys, row, strict=True)
    }
    assert found == pytest.approx(predicted, rel=5.0 / np.sqrt(2.0 * count))


def test_deviations_are_infinite_where_nothing_is_known() -> None:
    arm = random_arm(3, 2, fixed=False)
    covariance = np.diag(np.full(20, 1e-6))
    covariance[14, 14] = np.inf  # Ixx of the second body
    covariance[0, 0] = np.inf  # the mass of the first
    found = deviations_of(arm, covariance)
    first, second = (body.joint.child for body in arm.moving.bodies)
    endless = {name for name, value in found.items() if np.isinf(value)}
    assert endless == {name for name in found if name.startswith(f"{first}.")} | {f"{second}.inertia.xx"}
    with pytest.raises(ForearmError, match="non-negative diagonal"):
        deviations_of(arm, -np.eye(20))
    light = deviations_of(arm.with_link(fa.Link(name=first)), np.eye(20))
    assert light[f"{first}.mass"] == 1.0
    assert np.isinf(light[f"{first}.com.x"])
