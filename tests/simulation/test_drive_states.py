"""States of drives where they meet the rest: postures that change inertias, joints that follow others, open
parameters, limits of currents, runs that go on, and what does not hold such states.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from one_joint import beam, two_masses
from simulation.making import books

import forearm as fa

ROUGH = fa.Friction(
    coulomb=1.0, static=1.5, stribeck_speed=0.02, viscous=0.1, bristle_stiffness=1e5, bristle_damping=300.0
)
WOUND = fa.Motor(gear_ratio=9.0, torque_constant=0.12, resistance=1.5, inductance=4e-3, rotor_inertia=1e-3)


def turntable() -> fa.Arm:
    """A light table with a slider of 2 kg: 0.009 kg m^2 with that near the axis, 2 in mid-range."""
    rows = [(0.0, np.pi / 2, 0.0, np.pi / 2), (0.0, 0.0, 0.0, 0.0)]
    arm = fa.from_dh(
        "turntable",
        rows,
        convention="standard",
        joints="RP",
        mass=[0.3, 2.0],
        inertia=[0.002 * np.eye(3)] * 2,
        limits=[(-9.0, 9.0), (0.0, 2.0)],
        gravity=(0.0, 0.0, 0.0),
    )
    return arm.with_joint("joint1", friction=ROUGH)


@pytest.mark.parametrize("method", ["rk3", "rk4"])
@pytest.mark.parametrize(("torque", "near"), [(1.2, 0.02), (2.0, 0.03)], ids=["sticks", "slides"])
def test_bristles_are_followed_where_the_arm_is_lighter_than_in_mid_range(
    method: str, torque: float, near: float
) -> None:
    given = turntable(), [0.0, 0.05], [0.0, 0.0], 0.2
    fine = fa.simulate(*given, torque=[torque, 0.0], method="radau")
    run = fa.simulate(*given, torque=[torque, 0.0], method=method, step=1e-3)
    assert run.q[-1, 0] == pytest.approx(fine.q[-1, 0], rel=near)


def test_figures_that_a_simulation_takes_as_numbers_are_not_open() -> None:
    for arm, name in (
        (two_masses(stiffness=250.0), "way.motor.rotor_inertia"),
        (beam(friction=ROUGH), "way.friction.viscous"),
    ):
        with pytest.raises(fa.InputError, match=f"{name}: motor and friction parameters of elastic joints"):
            fa.generate(arm, "integration_step", parameters=[name])


def test_the_bristle_of_a_joint_is_its_own_and_not_that_of_what_follows_it() -> None:
    leader, follower = (
        fa.Joint(
            name=name,
            kind="revolute",
            parent="base",
            child=child,
            placement=fa.Frame(xyz=np.array([x, 0.0, 0.0])),
            mimic=mimic,
            friction=fa.Friction(coulomb=level, bristle_stiffness=stiffness),
        )
        for name, child, x, mimic, level, stiffness in (
            ("first", "a", 0.0, None, 2.0, 500.0),
            ("second", "b", 0.3, fa.Mimic(joint="first", multiplier=-0.7), 1.5, 300.0),
        )
    )
    links = (fa.Link(name="base"), *(fa.Link(name=k, mass=1.0, inertia=0.1 * np.eye(3)) for k in "ab"))
    arm = fa.Arm(name="pair", links=links, tree=(leader, follower), gravity=np.zeros(3))
    run = fa.simulate(arm, [0.0], [1.0], 0.05, torque=[8.0], method="rk4")
    assert run.drives["bristle"][-1, 0] == pytest.approx(2.0 / 500.0, rel=1e-6), "sliding: coulomb / sigma0"


def test_energies_add_up_where_a_current_of_fixed_steps_is_limited() -> None:
    motor = fa.Motor(
        gear_ratio=9.0,
        torque_constant=0.12,
        resistance=1.5,
        inductance=4e-3,
        max_current=1.0,
        rotor_inertia=1e-3,
    )
    arm = beam(motor=motor)
    for step in (1e-3, 2.5e-4):
        run = fa.simulate(arm, [0.3], [0.0], 0.1, voltage=[-15.0], method="rk4", step=step)
        assert np.abs(run.drives["current"]).max() == 1.0
        assert books(run) < 1e-5
    fine = fa.simulate(arm, [0.3], [0.0], 0.1, voltage=[-15.0], method="dp87")
    assert run.energy["supplied"][-1] == pytest.approx(fine.energy["supplied"][-1], rel=0.01)


def test_a_current_above_what_effort_limits_allow_goes_on_from_there() -> None:
    motor = fa.Motor(
        gear_ratio=9.0, torque_constant=0.12, resistance=1.5, inductance=4e-3, rotor_inertia=1e-3
    )
    arm = beam(motor=motor).with_joint("way", max_effort=1.0)
    first = fa.simulate(arm, [0.3], [0.0], 0.02, voltage=[5.0], method="dp45")
    assert first.tau[-1, 0] > 1.5
    second = fa.simulate(
        arm, [0], [0], 0.02, voltage=[5.0], method="dp45", continued=first, effort_limits=True
    )
    assert np.abs(second.tau[1:]).max() <= 1.0


def test_what_does_not_hold_such_states_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arm = two_masses(stiffness=250.0)
    zeros = np.zeros((2, 11, 1))
    with pytest.raises(fa.ModelError, match=r"simulate_gradient: .* has elastic joints"):
        fa.compile(arm).simulate_gradient((zeros, zeros), (zeros, zeros), steps=10, step=1e-3, record=1)
    with pytest.raises(fa.ModelError, match=r"fa.simulate_many do. Use the arm without springs"):
        fa.compile(arm).simulate(np.zeros(1), np.zeros(1), steps=3, step=1e-3)
    with pytest.raises(fa.ModelError, match=r"LuGre friction in way, .*without bristle_stiffness"):
        fa.fmu(beam(friction=ROUGH), "beam.fmu")
    with pytest.warns(fa.ModelWarning, match="which the page does not simulate"):
        fa.studio(beam(friction=ROUGH), "beam.html")
    with pytest.warns(fa.LossWarning, match="to_mujoco: the elasticity of way is left out"):
        fa.to_mujoco(arm)
    run = fa.simulate(arm, [0.0], [0.0], 0.01)
    with pytest.raises(fa.InputError, match="motor0: with continued= the motors continue"):
        fa.simulate(arm, [0.0], [0.0], 0.01, continued=run, motor0=([0.0], [0.0]))
