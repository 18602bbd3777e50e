"""Simulations against closed forms, single steps, energy, and each other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from numpy.typing import NDArray
from one_joint import MASS, beam, block

import forearm as fa
from forearm.drives import DAC, torque_of
from forearm.simulation import Schedule, Simulation, Status, load_simulation, without_inductance
from forearm.simulation.methods import explicit_step, tableau_of

Floats = NDArray[np.float64]
ROUNDING = 1e-12
RUBBING = fa.Friction(coulomb=(2.0, -3.0))
MOTOR = fa.Motor(gear_ratio=9.0, rotor_inertia=1e-4, torque_constant=0.12, resistance=1.5, max_voltage=24.0)
RIGID = random_arm(5, 3, drives=False)
METHODS = ("rk3", "rk4", "gill", "dp45", "dp87", "radau")
FIXED = METHODS[:3]


def two_blocks() -> fa.Arm:
    """Blocks on two level tables of one base: m q'' = tau for each."""
    one = block()
    joint, (table, load) = one.tree[0], one.links
    fields = {f: getattr(joint, f) for f in joint.__dataclass_fields__}
    joints = tuple(fa.Joint(**fields | {"name": name, "child": f"{name} block"}) for name in ("first", "second"))
    links = [fa.Link(name=j.child, mass=load.mass, com=load.com, inertia=load.inertia) for j in joints]
    return fa.Arm(name="two", links=(table, *links), tree=joints, gravity=one.gravity)


def kinds(simulation: Simulation) -> list[tuple[str, str | None]]:
    return [(event.kind, event.joint) for event in simulation.events]


def same(a: Simulation, b: Simulation, rows: slice) -> bool:
    names = ("t", "q", "qd", "qdd", "tau")
    return all(np.array_equal(getattr(a, name)[rows], getattr(b, name)) for name in names)


# Shapes and ends


@pytest.mark.parametrize("method", METHODS)
def test_everything_has_a_row_a_sample(method: str) -> None:
    run = fa.simulate(RIGID, posture(RIGID, 1), speed(RIGID, 1), 0.05, method=method)
    samples = len(run.t)
    assert run.t[0] == 0.0
    assert run.t[-1] == pytest.approx(0.05, abs=1e-15)
    assert {v.shape for v in (run.q, run.qd, run.qdd, run.tau, *run.lost.values())} == {(samples, 3)}
    assert {v.shape for v in run.energy.values()} == {(samples,)}
    assert (run.method, run.message, run.voltage) == (method, "the end was reached", None)
    assert (run.step is None) == (method not in FIXED)
    assert np.allclose(run.qdd, [fa.dynamics.forward(RIGID, *v) for v in zip(run.q, run.qd, run.tau, strict=True)], rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_no_time_gives_the_start(method: str) -> None:
    run = fa.simulate(RIGID, [0.1, 0.2, 0.3], [1.0, 0.0, -1.0], 0.0, method=method, controller=lambda t, q, qd: q)
    assert np.array_equal(run.q, [[0.1, 0.2, 0.3]])
    assert np.array_equal(run.tau, run.q)
    assert run.energy["supplied"][0] == 0.0


@pytest.mark.parametrize(("record", "shown"), [(1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), (4, [0, 4, 8, 10]), (99, [0, 10])])
@pytest.mark.parametrize("controlled", [False, True])
def test_every_so_manieth_step_and_the_last_are_kept(record: int, shown: list[int], controlled: bool) -> None:
    given: dict[str, Any] = {"controller": lambda t, q, qd: np.ones(3)} if controlled else {"torque": np.ones(3)}
    start = posture(RIGID, 1), speed(RIGID, 1), 0.010
    whole, part = (fa.simulate(RIGID, *start, record=k, **given) for k in (1, record))
    assert np.array_equal(part.t, whole.t[shown])
    assert np.array_equal(part.q, whole.q[shown])


def test_the_last_step_is_as_long_as_what_is_left() -> None:
    ramp = Schedule(times=np.array([0.0, 1.0]), values=np.array([[0.0], [1.0]]), how="linear")
    run = fa.simulate(block(), [0.0], [0.0], 0.25, step=0.1, method="rk4", torque=ramp)
    assert run.t == pytest.approx([0.0, 0.1, 0.2, 0.25], abs=1e-15)
    assert run.q[:, 0] == pytest.approx(run.t**3 / 6.0 / MASS, rel=ROUNDING)
    assert run.tau[:, 0] == pytest.approx(run.t, rel=ROUNDING)


# What drives it


def by_hand(arm: fa.Arm, q: Floats, qd: Floats, h: float, torques: list[Any]) -> Floats:
    """The positions after steps of RK4, each with its own torque(qd)."""
    for torque in torques:

        def f(t: float, q: Floats, qd: Floats, torque: Any = torque) -> Any:
            return fa.dynamics.forward(arm, q, qd, torque(qd))

        q, qd = explicit_step(tableau_of("rk4"), f, 0.0, q, qd, h)
    return q


def test_a_held_schedule_switches_at_its_times_whatever_rounding_makes_of_them() -> None:
    h, count = 1e-3, 700
    times = np.array([round(0.007 * k, 3) for k in range(100)])
    values = np.random.default_rng(1).normal(size=(100, 1))
    run = fa.simulate(block(), [0.0], [0.0], count * h, torque=Schedule(times=times, values=values), step=h, method="rk4")
    assert np.array_equal(run.tau[:-1, 0], np.repeat(values[:, 0], 7))
    assert run.qd[-1, 0] == pytest.approx(values.sum() * 7 * h / MASS, rel=1e-11)


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_a_converter_holds_in_steps_within_its_span(method: str) -> None:
    arm, dac = beam(motor=MOTOR), DAC(period=4e-3, bits=5, span=2.0, gain=3.0)
    run = fa.simulate(
        arm, [0.3], [0.0], 0.04, voltage=lambda t: [9.0 * math.sin(70.0 * t)], dac=dac, method=method, step=1e-3, rtol=1e-10,
        atol=1e-12,
    )  # fmt: skip
    assert run.voltage is not None
    volts = [float(dac.voltage(dac.out([9.0 * math.sin(70.0 * 4e-3 * k)])[0])[0]) for k in range(10)]
    assert max(map(abs, volts)) == 6.0 - 6.0 / 16.0  # the highest of 32 levels, one of which is 0
    if method == "rk4":
        assert np.array_equal(run.voltage[:-1, 0], np.repeat(volts, 4))
    torques = [lambda qd, V=V: torque_of(arm, [V], qd) for V in volts for _ in range(4)]
    assert run.q[-1] == pytest.approx(by_hand(arm, np.array([0.3]), np.zeros(1), 1e-3, torques), rel=1e-8)


@pytest.mark.parametrize("method", ["rk3", "dp45"])
def test_a_controller_is_asked_once_a_period_and_given_copies(method: str) -> None:
    asked: list[float] = []

    def controller(t: float, q: Floats, qd: Floats) -> Floats:
        asked.append(t)
        tau = -4.0 * q - 2.0 * qd
        q[:], qd[:] = 99.0, 99.0
        return tau

    run = fa.simulate(block(), [1.0], [0.0], 0.1, controller=controller, dac=DAC(period=0.01), method=method)
    assert asked == pytest.approx(0.01 * np.arange(10), abs=1e-12)
    assert np.abs(run.q).max() <= 1.0
    q, qd = 1.0, 0.0
    for _ in range(10):
        a = (-4.0 * q - 2.0 * qd) / MASS
        q, qd = q + 0.01 * qd + 0.5e-4 * a, qd + 0.01 * a
    assert run.q[-1, 0] == pytest.approx(q, rel=1e-9)


@pytest.mark.parametrize("method", ["rk3", "dp45"])
def test_a_controller_without_a_converter_is_given_copies_too(method: str) -> None:
    def controller(t: float, q: Floats, qd: Floats) -> Floats:
        tau = -4.0 * q
        q[:], qd[:] = 99.0, 99.0
        return tau

    run = fa.simulate(block(), [1.0], [0.0], 1.0, controller=controller, method=method, rtol=1e-9)
    assert run.q[-1, 0] == pytest.approx(math.cos(math.sqrt(4.0 / MASS)), abs=1e-8 if method == "dp45" else 1e-3)


@pytest.mark.parametrize("method", ["rk3", "dp45"])
def test_what_a_function_raises_comes_through(method: str) -> None:
    def fails(t: float) -> Floats:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fa.simulate(block(), [0.0], [0.0], 0.1, torque=fails, method=method)


# Dry friction


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("speed0", "rub"), [(1.3, 2.0), (-1.3, 3.0)])
def test_a_block_slows_down_evenly_and_stands_for_good(method: str, speed0: float, rub: float) -> None:
    end = abs(speed0) * MASS / rub
    run = fa.simulate(block(friction=RUBBING), [0.2], [speed0], 2.0, method=method, rtol=1e-10, atol=1e-13)
    (event,) = run.events
    assert (event.kind, event.joint) == ("stick", "way")
    assert event.t == pytest.approx(end, abs=1e-3 if method in FIXED else 1e-9)
    assert not run.qd[run.t >= event.t].any()
    assert np.unique(run.q[run.t >= event.t]).size == 1
    assert run.q[-1, 0] == pytest.approx(0.2 + speed0 * end / 2.0, abs=1e-5 if method in FIXED else 1e-9)
    assert run.energy["lost"][-1] == pytest.approx(0.5 * MASS * speed0**2, rel=1e-3 if method in FIXED else 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_it_takes_more_than_friction_to_begin(method: str) -> None:
    arm = block(friction=fa.Friction(coulomb=(2.0, -3.0), static=(2.5, -4.0), stribeck_speed=0.05))
    for torque, moves in ((2.499, 0.0), (2.501, 1.0), (-3.999, 0.0), (-4.001, -1.0)):
        run = fa.simulate(arm, [0.1], [0.0], 1.0, torque=[torque], method=method)
        assert np.array_equal(np.unique(np.sign(run.qd[1:])), [moves]), torque
        assert kinds(run) == ([("slip", "way")] if moves else [])
        if not moves:
            assert np.unique(run.q).size == 1
            assert not any(v.any() for v in run.lost.values())
    fast = fa.simulate(arm, [0.1], [0.0], 1.0, torque=[3.0], method=method)
    assert fast.qdd[-1, 0] == pytest.approx(1.0 / MASS, rel=1e-9), "Coulomb's is left at speed"


@pytest.mark.parametrize("method", METHODS)
def test_a_rising_push_sets_it_going_when_it_is_enough(method: str) -> None:
    ramp = Schedule(times=np.array([0.0, 2.0]), values=np.array([[0.0], [5.0]]), how="linear")
    run = fa.simulate(block(friction=RUBBING), [0.0], [0.0], 2.0, torque=ramp, method=method, rtol=1e-9)
    (event,) = run.events
    assert event.kind == "slip"
    assert event.t == pytest.approx(0.8, abs=1.1e-3 if method in FIXED else 1e-9)
    assert not run.qd[run.t <= event.t].any()
    assert run.qd[-1, 0] == pytest.approx(2.5 * 1.2**2 / 2.0 / MASS, rel=3e-3 if method in FIXED else 1e-8)


def test_turning_round_is_not_standing() -> None:
    for method in ("rk4", "dp45"):
        run = fa.simulate(block(friction=RUBBING), [0.0], [1.0], 2.0, torque=[-8.0], method=method)
        assert kinds(run) == []
        assert run.qd[-1, 0] == pytest.approx(-5.0 / MASS * (2.0 - MASS / 10.0), rel=2e-3)


@pytest.mark.parametrize("method", ["rk4", "dp45", "radau"])
def test_a_gear_holds_against_gravity(method: str) -> None:
    pull = MASS * 9.81 * 0.3
    gear = fa.Transmission(efficiency=((0.0, 0.5), (1.0, 0.5)), rated_torque=10.0, breakaway=0.6 * pull)
    run = fa.simulate(beam(transmission=gear), [0.0], [0.0], 0.5, method=method)
    assert np.array_equal(run.q, np.zeros_like(run.q)), "half of the pull is left behind the gear, less than breaks it away"
    loose = fa.Transmission(efficiency=((0.0, 0.5), (1.0, 0.5)), rated_torque=10.0, breakaway=0.4 * pull)
    down = fa.simulate(beam(transmission=loose), [0.0], [0.0], 0.1, method=method)
    assert kinds(down) == [("slip", "way")]
    assert down.q[-1, 0] < 0.0


def test_a_standing_joint_is_set_going_by_another() -> None:
    arm = random_arm(1, 3)
    start = posture(arm, 1), speed(arm, 1), 0.1
    torque = np.random.default_rng(1).uniform(-20.0, 20.0, 3)
    fine = fa.simulate(arm, *start, torque=torque, method="dp45", rtol=1e-9, atol=1e-11)
    assert ("slip", "joint3") in kinds(fine)
    fixed = fa.simulate(arm, *start, torque=torque, method="rk4", step=1e-5)
    assert kinds(fixed) == kinds(fine)
    assert [e.t for e in fixed.events] == pytest.approx([e.t for e in fine.events], abs=2e-5)


# Arms with all that drives have


@pytest.mark.parametrize("seed", [1, 4, 6, 10])
@pytest.mark.parametrize("kind", ["torque", "voltage"])
def test_energy_is_accounted_for(seed: int, kind: str) -> None:
    arm = without_inductance(random_arm(seed, 3))
    start = posture(arm, seed), speed(arm, seed), 0.3
    given: dict[str, Any] = {kind: np.random.default_rng(seed).uniform(-20.0, 20.0, 3)}
    run = fa.simulate(arm, *start, method="dp45", rtol=1e-9, atol=1e-11, **given)
    energy = run.energy
    stored = energy["kinetic"] + energy["potential"]
    exchanged = np.abs(energy["supplied"]).max() + np.abs(np.diff(stored)).sum() + energy["lost"][-1]
    assert np.abs(energy["supplied"] - (stored - stored[0]) - energy["lost"]).max() <= 1e-6 * exchanged
    assert set(run.lost) == {"bearing", "gear", "friction", "winding"}
    assert all((np.diff(v, axis=0) >= 0.0).all() for v in run.lost.values())
    assert all(v[-1].sum() > 0.0 for name, v in run.lost.items() if name != "winding")
    assert (run.lost["winding"][-1].sum() > 0.0) == (kind == "voltage")
    fixed = fa.simulate(arm, *start, method="rk4", step=2e-5, record=500, **given)
    # A step in which a joint comes to stand, or which leaps over Stribeck's friction, is of first order.
    assert np.abs(fixed.q[-1] - run.q[-1]).max() <= 5e-4
    assert np.isfinite(fixed.qdd).all()


def test_friction_that_leaves_no_motion_is_said() -> None:
    arm = random_arm(3, 3)
    for method in ("rk4", "dp45"):
        run = fa.simulate(arm, posture(arm, 3), speed(arm, 3), 0.1, torque=[1.0, -2.0, 3.0], method=method)
        assert run.message == "no acceleration fits the torques: friction that grows with the load jams the arm, at 0 s"
        assert (run.events[-1].kind, run.events[-1].joint) == ("diverged", None)
        with pytest.raises(fa.ModelError, match="friction of 'random3' that depends on the load"):
            fa.dynamics.forward(arm, run.q[-1], run.qd[-1], [1.0, -2.0, 3.0])
        assert np.isfinite(run.q).all()


def test_without_friction_energy_is_kept_to_the_order_of_the_method() -> None:
    def drift(**how: Any) -> float:
        run = fa.simulate(RIGID, posture(RIGID, 1), speed(RIGID, 1), 1.0, **how)
        total = run.energy["kinetic"] + run.energy["potential"]
        return float(np.abs(total - total[0]).max())

    coarse, fine = drift(method="rk4", step=0.02), drift(method="rk4", step=0.01)
    assert 3.6 <= math.log2(coarse / fine) <= 5.6
    assert drift(method="dp45", rtol=1e-12, atol=1e-13) <= 1e-10


@pytest.mark.parametrize("method", ["rk4", "dp45", "dp87"])
@pytest.mark.parametrize("kind", ["held", "straight", "function", "controller"])
def test_what_torques_supply_is_what_a_rigid_arm_has(method: str, kind: str) -> None:
    u = np.array([3.0, -2.0, 4.0])
    ways: dict[str, dict[str, Any]] = {
        "held": {"torque": u}, "function": {"torque": lambda t: u * math.sin(9.0 * t)},
        "straight": {"torque": Schedule(times=np.array([0.0, 0.2]), values=np.array([u, -u]), how="linear")},
        "controller": {"controller": lambda t, q, qd: u - q},
    }  # fmt: skip
    run = fa.simulate(RIGID, posture(RIGID, 1), speed(RIGID, 1), 0.3, method=method, rtol=1e-10, atol=1e-12, **ways[kind])
    stored = run.energy["kinetic"] + run.energy["potential"]
    assert np.abs(run.energy["supplied"]).max() > 0.05
    assert run.energy["supplied"] == pytest.approx(stored - stored[0], abs=1e-7)


# Going on


@pytest.mark.parametrize("kind", ["torque", "voltage", "schedule", "controller", "callable"])
@pytest.mark.parametrize("seed", [1, 6])
def test_going_on_gives_the_bits_of_one_run(kind: str, seed: int, tmp_path: Path) -> None:
    arm = without_inductance(random_arm(seed, 3))
    start = posture(arm, seed), speed(arm, seed)
    u = np.random.default_rng(seed).uniform(-20.0, 20.0, 3)
    table = Schedule(times=np.array([0.0, 0.013, 0.05]), values=np.array([u, -u, 2.0 * u]))
    ways: dict[str, dict[str, Any]] = {
        "torque": {"torque": u}, "voltage": {"voltage": u}, "schedule": {"voltage": table, "dac": DAC(period=5e-3)},
        "controller": {"controller": lambda t, q, qd: u * math.cos(30.0 * t) - q},
        "callable": {"torque": lambda t: u * math.cos(30.0 * t)},
    }  # fmt: skip
    given = ways[kind]
    whole = fa.simulate(arm, *start, 0.1, **given)
    first = fa.simulate(arm, *start, 0.037, **given)
    assert kinds(whole), "joints stand"
    first.save(tmp_path / "first.npz")
    for before in (first, load_simulation(tmp_path / "first.npz")):
        second = fa.simulate(arm, *start, 0.063, continued=before, **given)
        third = fa.simulate(arm, *start, 0.0, continued=second, **given)
        assert same(whole, first, slice(0, 38)) or kind == "controller", "which is not asked at the end"
        assert np.array_equal(whole.q[:38], first.q)
        assert same(whole, second, slice(37, None))
        assert np.array_equal(whole.q[-1:], third.q)


def test_going_on_after_an_end_before_time_begins_at_the_last_sample() -> None:
    arm = block(friction=RUBBING)
    first = fa.simulate(arm, [0.0], [1.0], 2.0, until=lambda t, q, qd: float(q[0]) - 0.1)
    assert first.t[-1] < 0.2
    second = fa.simulate(arm, [0.0], [0.0], 0.5, continued=first)
    assert second.t[0] == first.t[-1]
    assert np.array_equal(second.q[0], first.q[-1])
    whole = fa.simulate(arm, [0.0], [1.0], 1.0)
    assert np.array_equal(second.q[-1], whole.q[len(first.t) + len(second.t) - 2])


@pytest.mark.parametrize("arm", [RIGID, without_inductance(random_arm(1, 3))], ids=["rigid", "drives"])
@pytest.mark.parametrize("kind", ["torque", "voltage"])
def test_many_are_as_one_by_one(arm: fa.Arm, kind: str) -> None:
    if kind == "voltage" and arm is RIGID:
        pytest.skip("no motors")
    rng = np.random.default_rng(1)
    q, qd = posture(arm, 2, 21), rng.normal(size=(21, 3))
    u = rng.uniform(-9.0, 9.0, (21, 3))
    found = fa.simulate_many(arm, q, qd, 0.0205, **{kind: u})  # type: ignore[arg-type]
    for k in (0, 7, 20):
        given: dict[str, Any] = {kind: u[k]}
        one = fa.simulate(arm, q[k], qd[k], 0.0205, method="rk4", **given)
        assert np.array_equal(one.checkpoint["q"][0] if one.checkpoint else (), found[0][k], equal_nan=True)
        assert np.array_equal(one.checkpoint["qd"][0] if one.checkpoint else (), found[1][k], equal_nan=True)


# Ends before time


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_it_ends_at_a_limit(method: str) -> None:
    run = fa.simulate(block(), [2.0], [0.5], 9.0, stops=True, method=method, rtol=1e-9)
    (event,) = run.events
    assert (event.kind, event.joint, event.text) == ("stop", "way", "way is at its limit")
    assert event.t == run.t[-1] == pytest.approx(2.0, abs=1e-8 if method == "dp45" else 1.1e-3)
    assert run.message == f"way is at its limit, at {event.t:g} s"
    from_the_limit = fa.simulate(block(), [3.0], [0.5], 9.0, stops=True, method=method)
    assert from_the_limit.t[-1] <= 1e-3
    beyond = fa.simulate(block(), [3.1], [0.5], 9.0, stops=True, method=method)
    assert (len(beyond.t), kinds(beyond)) == (1, [("stop", "way")])
    back = fa.simulate(block(), [3.0], [-0.5], 1.0, stops=True, method=method)
    assert back.message == "the end was reached"


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_it_ends_where_a_condition_passes_zero(method: str) -> None:
    run = fa.simulate(block(), [0.0], [1.0], 9.0, until=lambda t, q, qd: float(q[0]) - 0.5, method=method)
    assert kinds(run) == [("condition", None)]
    assert run.t[-1] == pytest.approx(0.5, abs=1.1e-3 if method == "rk4" else 1e-9)
    never = fa.simulate(block(), [0.0], [1.0], 1.0, until=lambda t, q, qd: 1.0 + float(q[0]), method=method)
    assert never.message == "the end was reached", "it was past zero from the start"


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_what_leaves_all_numbers_ends_with_time_and_joint(method: str) -> None:
    with np.errstate(all="ignore"):
        run = fa.simulate(
            RIGID,
            [0.0] * 3,
            [0.0] * 3,
            1.0,
            controller=lambda t, q, qd: np.clip(1e9 * qd**3 + 1.0, -1e300, 1e300),
            method=method,
        )
    if method == "rk4":
        (event,) = run.events
        assert event.kind == "diverged"
        assert event.joint in [j.name for j in RIGID.joints]
        assert f"{event.joint} went beyond all numbers; take shorter steps, at {event.t:g} s" == run.message
    assert run.t[-1] < 1.0
    assert run.message != "the end was reached"
    assert np.isfinite(run.q).all()
    assert run.checkpoint is not None
    assert np.array_equal(run.checkpoint["q"][0], run.q[-1])


@pytest.mark.parametrize("record", [1, 7])
def test_the_joint_that_went_first_is_named(record: int) -> None:
    """Two blocks that know nothing of each other, the second driven without measure: all numbers of the first stay finite."""
    arm = two_blocks()
    push = [0.0, 1e306]
    run = fa.simulate(arm, [0.0, 0.0], [5.0, 0.0], 900.0, torque=push, step=1.0, record=record)
    (event,) = run.events
    assert (event.kind, event.joint) == ("diverged", "second")
    exact = fa.simulate(arm, [0.0, 0.0], [5.0, 0.0], 900.0, torque=push, step=1.0).events[0].t
    assert event.t == exact, "to the step, however few samples are kept"
    assert run.t[-1] <= event.t - 1.0


def test_of_joints_that_went_together_the_fastest_is_named() -> None:
    for fast in (0, 1):
        push = np.where(np.arange(2) == fast, 1.01e306, 1e306)  # both go in one step
        run = fa.simulate(two_blocks(), [0.0, 0.0], [0.0, 0.0], 900.0, torque=push, step=1.0)
        assert run.events[0].joint == ("first", "second")[fast]


@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_how_it_ended_is_a_status(method: str) -> None:
    well = fa.simulate(block(), [0.0], [1.0], 0.1, method=method)
    assert (well.status, well.ok, well.checked()) == (Status.END, True, well)
    stopped = fa.simulate(block(), [2.9], [1.0], 9.0, stops=True, method=method)
    assert (stopped.status, stopped.ok) == (Status.EVENT, True)
    arm = random_arm(3, 3)
    jammed = fa.simulate(arm, posture(arm, 3), speed(arm, 3), 0.1, torque=[1.0, -2.0, 3.0], method=method)
    assert (jammed.status, jammed.ok) == (Status.JAMMED, False)
    with pytest.raises(
        fa.ForearmError, match=f"simulation of '{arm.name}' by {method}: no acc.*look at the friction that grows"
    ):
        jammed.checked()
    with pytest.raises(fa.InputError, match=r"continued: that run failed: no acceleration.*Start a new one before that"):
        fa.simulate(arm, posture(arm, 3), speed(arm, 3), 0.1, continued=jammed, method=method)


# What is refused


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"method": "rk5"}, "simulate: there is no method 'rk5'; did you mean"),
        ({"torque": [1.0], "voltage": [1.0]}, "one of torque, voltage and controller drives the arm; came torque and voltage"),
        ({"torque": [1.0, 2.0]}, "simulate, torque: 1 finite numbers are needed"),
        ({"torque": ["x"]}, "simulate, torque: 1 numbers are needed"),
        ({"torque": lambda t: [math.nan]}, "simulate, torque: 1 finite numbers are needed"),
        ({"controller": lambda t, q, qd: [1.0, 2.0]}, "simulate, controller: 1 finite numbers are needed"),
        ({"voltage": [1.0]}, "voltages need torque_constant and resistance of every motor"),
        ({"record": 0}, "simulate, record: a whole number of at least 1 is needed, and at most 1000000; came 0"),
        ({"record": True}, "simulate, record: a whole number"),
        ({"step": 0.0}, "simulate, step"),
        ({"step": 1e-12}, "too many to keep; keep every tenth with record=10"),
        ({"dac": DAC(period=1.5e-3)}, "the DAC's period 0.0015 s must be a whole number of steps of 0.001 s"),
        ({"torque": Schedule.constant([1.0], start=0.5)}, "it begins at 0.5 s"),
        ({"torque": Schedule.constant([1.0, 2.0])}, "has 1 joints"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_what_cannot_be_done_is_said(given: dict[str, Any], text: str) -> None:
    with pytest.raises(fa.ForearmError) as caught:
        fa.simulate(block(), [0.0], [0.0], 1.0, **given)
    assert text in str(caught.value)


def test_another_arm_is_not_gone_on_with() -> None:
    first = fa.simulate(block(), [0.0], [1.0], 0.1)
    renamed = block().replace(name="the same", notes="by another name")
    assert fa.simulate(renamed, [0.0], [0.0], 0.1, continued=first).q[0] == first.q[-1]
    for other in (block(friction=RUBBING), beam(), block().with_payload(mass=0.1)):
        with pytest.raises(
            fa.InputError, match=r"whose numbers are not those of 'one'\. Start a new one from its last q and qd"
        ):
            fa.simulate(other, [0.0], [0.0], 0.1, continued=first)


@pytest.mark.parametrize("name", ["q", "qd", "way", "free", "t", "origin", "done", "step"])
def test_a_damaged_checkpoint_is_refused(name: str) -> None:
    first = fa.simulate(block(friction=RUBBING), [0.0], [1.0], 0.1)
    assert first.checkpoint is not None
    fields = {f: getattr(first, f) for f in first.__dataclass_fields__}
    for wrong in (np.zeros((1, 5)), np.array([[math.nan]]), "x", [["x"]], None):
        bad = Simulation(**fields | {"checkpoint": first.checkpoint | {name: wrong}})
        with pytest.raises(fa.InputError, match="simulate, continued: "):
            fa.simulate(first.arm, [0.0], [0.0], 0.1, continued=bad)


def test_states_are_checked() -> None:
    with pytest.raises(fa.ForearmError, match="many go to simulate_many"):
        fa.simulate(block(), [[0.0], [1.0]], [[0.0], [1.0]], 1.0)
    with pytest.raises(fa.ForearmError, match="finite"):
        fa.simulate(block(), [math.nan], [0.0], 1.0)
    with pytest.raises(fa.ForearmError, match="duration"):
        fa.simulate(block(), [0.0], [0.0], -1.0)
    other = fa.simulate(block(), [0.0], [0.0], 0.0)
    with pytest.raises(fa.ForearmError, match="a simulation of this arm with its checkpoint is needed"):
        fa.simulate(RIGID, [0.0] * 3, [0.0] * 3, 1.0, continued=other)
    with pytest.raises(fa.ForearmError, match="simulate_many: there is no method 'dp45'"):
        fa.simulate_many(block(), [[0.0]], [[0.0]], 1.0, method="dp45")
    with pytest.raises(fa.ForearmError, match="simulate_many: states"):
        fa.simulate_many(block(), [0.0], [0.0], 1.0)
    with pytest.raises(fa.ForearmError, match="simulate_many: states"):
        fa.simulate_many(block(), [[0.0]], [[0.0]], 1.0, torque=[1.0], voltage=[1.0])
