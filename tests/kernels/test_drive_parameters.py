"""Friction and motors left open: what a kernel of the arm with other drives gives, against the reference."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from codegen.running import run
from codegen.truths import assert_true
from codegen.truths import given as given_states
from dynamics.cases import simple_drives
from kernels.truths import FUNCTIONS, REFERENCE, allowed, assert_close, states

import forearm as fa
from forearm.codegen.generate import generate, program_for
from forearm.drives.parameters import drive_values
from forearm.kernels.kernel import Kernel

STRIBECK: dict[str, Any] = {"coulomb": (0.4, -0.3), "static": (0.7, -0.5), "stribeck_speed": 0.8}
GEAR = fa.Transmission(efficiency=((0.01, 0.35), (0.09, 0.56), (0.5, 0.8)), rated_torque=40.0, breakaway=0.6)
BEARING = fa.Bearing(kind="journal", mu=0.05, radius=0.04, distance=0.2)


@cache
def arm_of(name: str) -> fa.Arm:
    if name == "tree":
        return simple_drives(random_arm(31, 3, "frames", tree=True, mimic=True))
    turning = random_arm(34, 3, "modified", prismatic=False, fixed=False, drives=False)
    motor = fa.Motor(gear_ratio=-3.0, rotor_inertia=0.02)
    driven = turning.with_drives(motor=motor, friction=fa.Friction(side="motor", viscous=0.05, coulomb=0.2))
    if name == "stribeck":
        return driven.with_drives(
            {"joint2": {"friction": STRIBECK}, "joint3": {"friction": {"side": "joint"}}}
        )
    if name == "gears":
        return driven.with_drives({"joint1": {"friction": {"side": "joint"}}}, transmission=GEAR)
    return driven.with_drives({"joint2": {"bearings": (BEARING,)}}, friction=fa.Friction(**STRIBECK))


ARMS = ("tree", "stribeck", "gears", "bearings")


def others(arm: fa.Arm, seed: int) -> dict[str, float]:
    """Other figures, with the signs of the arm's own and greater static friction than Coulomb's."""
    rng = np.random.default_rng(seed)
    made = {}
    for name, own in drive_values(arm).items():
        low = 1.3 if ".static." in name else 0.5
        made[name] = (own or 0.03) * float(rng.uniform(low, low + 0.7))
    return made


def with_figures(arm: fa.Arm, values: dict[str, float]) -> fa.Arm:
    """The arm that really has these drives."""
    drives: dict[str, Any] = {}
    for name, value in values.items():
        joint, part, field, *way = name.split(".")
        figures = drives.setdefault(joint, {}).setdefault(part, {})
        figures[field] = (*figures.get(field, ()), value) if way else value
    return arm.with_drives(drives)


@cache
def kernel_of(name: str) -> Kernel:
    return fa.compile(arm_of(name), parameters="drives")


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep(first=2)
def test_figures_make_another_arm(name: str) -> None:
    """The arm's own, others for all states, others for each state."""
    arm, kernel = arm_of(name), kernel_of(name)
    assert kernel.parameters == drive_values(arm)
    given = states(arm, 9)
    table = np.array([list(others(arm, seed).values()) for seed in range(9)])
    for values, other in ((None, arm), (table[0], with_figures(arm, others(arm, 0)))):
        for function in ("inverse_dynamics", "forward_dynamics", "inertia_matrix"):
            some = given[: FUNCTIONS[function]]
            found = getattr(kernel, function)(*some, parameters=values)
            assert_close(found, REFERENCE[function](other, *some), allowed(other, function, given[0]))
    each = kernel.inverse_dynamics(*given, parameters=table)
    for k in (0, 4, 8):
        truth = fa.dynamics.inverse(with_figures(arm, others(arm, k)), *(x[k] for x in given))
        assert_close(each[k], truth)


def test_every_figure_matters() -> None:
    arm, kernel = arm_of("stribeck"), kernel_of("stribeck")
    q, qd, qdd = states(arm, 9)
    own = kernel.inverse_dynamics(q, qd, qdd)
    for name, value in kernel.parameters.items():
        changed = kernel.inverse_dynamics(q, qd, qdd, parameters={name: 1.01 * value})
        moved = np.abs(changed - own).max(axis=0) > 1e-9
        assert moved.tolist() == [name.startswith(f"{joint.name}.") for joint in arm.joints]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stribeck", "gears"])
def test_generated_c_takes_them(name: str, tmp_path: Any) -> None:
    arm = arm_of(name)
    g = given_states(arm, 5)
    program = program_for(arm, ("inverse_dynamics", "inertia_matrix"), ["drives"], name="both")
    for p, truth in ((None, arm), (others(arm, 2), with_figures(arm, others(arm, 2)))):
        values = None if p is None else np.array(list(p.values()))
        tau, M = run(program, "c", tmp_path, g._asdict(), values).values()
        assert_true([tau], truth, "inverse_dynamics", g)
        assert_true([M], truth, "inertia_matrix", g)


def test_all_and_a_whole_joint_leave_drives_alone() -> None:
    arm = arm_of("stribeck")
    assert not any(
        ".friction." in name or ".motor." in name for name in fa.compile(arm, parameters="all").parameters
    )
    assert list(fa.compile(arm, parameters="joint2").parameters) == [
        f"joint2.{x}" for x in ("a", "alpha", "d", "theta")
    ]
    assert list(fa.compile(arm, parameters=["joint1.friction", "joint2.motor.gear_ratio"]).parameters) == [
        "joint1.friction.viscous",
        "joint1.friction.coulomb.positive",
        "joint1.friction.coulomb.negative",
        "joint2.motor.gear_ratio",
    ]


@pytest.mark.parametrize(
    ("arm", "asked", "text"),
    [
        ("chain3", "drives", "no joint has friction or a motor; add them with arm.with_drives."),
        ("chain3", "joint2.friction", "the joint has no friction; add it with arm.with_drives."),
        ("chain3", "joint2.motor.gear_ratio", "the joint has no motor; add it with arm.with_drives."),
        ("puma560", "joint2.motor.gear", "did you mean 'joint2.motor.gear_ratio'"),
        ("puma560", "joint2.motor.inductance", "JOINT.friction, JOINT.motor, or drives"),
    ],
)
def test_what_is_not_there_is_told(arm: str, asked: str, text: str) -> None:
    with pytest.raises(fa.NameNotFound) as caught:
        generate(fa.load(arm), "inverse_dynamics", parameters=asked)
    assert text in str(caught.value)
