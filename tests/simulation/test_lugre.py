"""LuGre's friction over time, with the values of C. Canudas de Wit et al. (1995), against the printed
equations solved apart, Dahl's closed form, and what it tends to.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from one_joint import ROTOR, block, two_masses
from simulation.making import FIXED, books

import forearm as fa
from forearm.drives.friction import friction_torque
from forearm.simulation import Accuracy, Ending, Schedule

integrate: Any = import_module("scipy.integrate")
Floats = NDArray[np.float64]
Rates = Callable[[float, Floats], list[float]]
SIGMA0, SIGMA1, SIGMA2, FC, FS, VS = 1e5, math.sqrt(1e5), 0.4, 1.0, 1.5, 1e-3  # of a mass of 1 kg
PRINTED = fa.Friction(
    viscous=SIGMA2, coulomb=FC, static=FS, stribeck_speed=VS, bristle_stiffness=SIGMA0, bristle_damping=SIGMA1
)
STRIBECK = fa.Friction(viscous=SIGMA2, coulomb=FC, static=FS, stribeck_speed=VS)
TIGHT = Accuracy(1e-10, 1e-13)
TINY = np.array([1e-10, 1e-10, 1e-14])  # errors of x, v and z in a step of the reference


def solved(rates: Rates, times: list[float], start: list[float], rtol: float, atol: Floats) -> Floats:
    """y at the times (T,) from y' = rates(t, y), (T, n), by SciPy's Radau."""
    ends = times[0], times[-1]
    done = integrate.solve_ivp(rates, ends, start, "Radau", times, rtol=rtol, atol=atol)
    assert done.success, done.message
    return np.asarray(done.y.T)


def bend(v: float, z: float) -> tuple[float, float]:
    """dz/dt and F by the printed equations."""
    g = FC + (FS - FC) * math.exp(-min((v / VS) ** 2, 700.0))
    zd = v - SIGMA0 * abs(v) * z / g
    return zd, SIGMA0 * z + SIGMA1 * zd + SIGMA2 * v


def pushed(force: Callable[[float], float]) -> Rates:
    """Of x, v and z of a unit mass."""

    def rates(t: float, y: Floats) -> list[float]:
        zd, F = bend(float(y[1]), float(y[2]))
        return [float(y[1]), force(t) - F, zd]

    return rates


def on_the_motor(friction: Any, N: float) -> Any:
    """What is the same on the other side of a gear."""
    return dataclasses.replace(
        friction,
        side="motor",
        viscous=friction.viscous / N**2,
        coulomb=tuple(np.divide(friction.coulomb, abs(N))),
        static=tuple(np.divide(friction.static, abs(N))),
        stribeck_speed=friction.stribeck_speed * abs(N),
        bristle_stiffness=friction.bristle_stiffness / N**2,
        bristle_damping=friction.bristle_damping / N**2,
    )


def ramp(*corners: tuple[float, float]) -> tuple[Schedule, Callable[[float], float]]:
    """A force that goes straight from corner to corner, as a schedule and as a function."""
    t, u = np.array(corners).T
    return Schedule(times=t, values=u[:, None], how="linear"), lambda at: float(np.interp(at, t, u))


# ------------------------------------------------------------------------------- what the authors show


BELOW_BREAK_AWAY = [(0.0, 0.0), (1.0, 1.425), (2.0, 0.0), (3.0, -1.425), (4.0, 0.0)]


@pytest.mark.slow
def test_before_it_slides_it_is_a_spring_with_hysteresis() -> None:
    """A force up to 95 % of what breaks it loose, and to as much backwards: some microns, of which most stay
    when the force is gone.
    """
    schedule, force = ramp(*BELOW_BREAK_AWAY)
    times = [t for t, _ in BELOW_BREAK_AWAY]
    truth = solved(pushed(force), times, [0.0, 0.0, 0.0], 1e-7, 1e-3 * TINY)
    run = fa.simulate(
        block(1.0, friction=PRINTED), [0.0], [0.0], 4.0, torque=schedule, method="radau", accuracy=TIGHT
    )
    found = np.array([run.at(t)[0][0] for t in times])
    assert found == pytest.approx(truth[:, 0], abs=1e-9)
    assert run.at(0.05)[0][0] == pytest.approx(force(0.05) / SIGMA0, rel=0.06), "at first a spring"
    up, back = found[1], found[2]
    assert 2.0 * FS / SIGMA0 < up < 5e-5
    assert 0.5 * up < back < up
    assert np.abs(run.q).max() < 6e-5
    assert run.energy["lost"][-1] == pytest.approx(
        np.sum(0.5 * np.diff(run.q[:, 0]) * (run.tau[1:, 0] + run.tau[:-1, 0])), rel=2e-3
    ), "the area of the loop of force and way"


@pytest.mark.slow
def test_the_break_away_force_falls_with_the_rate_of_the_force() -> None:
    """Force at which the speed passes 1 cm/s; the printed equations have that speed there."""
    found = []
    for rate in (0.5, 50.0):
        schedule, force = ramp((0.0, 0.0), (10.0, 10.0 * rate))
        run = fa.simulate(
            block(1.0, friction=PRINTED),
            [0.0],
            [0.0],
            10.0,
            torque=schedule,
            method="radau",
            accuracy=Accuracy(1e-9, 1e-12),
            ending=Ending(until=lambda t, q, qd: float(qd[0]) - 0.01),
        )
        end = float(run.t[-1])
        assert run.status is fa.simulation.Status.EVENT
        truth = solved(pushed(force), [0.0, end], [0.0, 0.0, 0.0], 1e-8, 1e-2 * TINY)[-1]
        assert truth[1] == pytest.approx(0.01, rel=1e-4)
        found.append(float(np.max(run.tau[:, 0] - run.qdd[:, 0])))
    assert FS > found[0] > found[1] + 0.1 > FC + 0.1


@pytest.mark.slow
def test_friction_lags_behind_the_speed() -> None:
    """A mass so heavy that its speed is what it is driven to: forwards, up and down. At the same speed
    friction is larger on the way up.
    """
    mass, w = 1e7, 10.0

    def v(t: float) -> float:
        return 2e-3 - 1.5e-3 * math.cos(w * t)

    rest, static = v(0.0), FC + (FS - FC) * math.exp(-((v(0.0) / VS) ** 2))

    def rates(t: float, y: Floats) -> list[float]:
        return [bend(v(t), float(y[0]))[0]]

    times = np.linspace(0.0, 2.0 * math.pi / w, 41)
    z = solved(rates, times.tolist(), [static / SIGMA0], 1e-9, np.array([1e-16]))[:, 0]
    run = fa.simulate(
        block(mass, friction=PRINTED),
        [0.0],
        [rest],
        float(times[-1]),
        torque=lambda t: [mass * 1.5e-3 * w * math.sin(w * t)],
        method="rk4",
        step=float(times[-1]) / 4000,
    )
    bent = run.drives["bristle"][::100, 0]
    assert run.qd[::100, 0] == pytest.approx([v(t) for t in times], rel=1e-3)
    assert bent == pytest.approx(z, rel=2e-3)
    rubbed = np.array([bend(v(t), float(x))[1] for t, x in zip(times, z, strict=True)])
    up, down = rubbed[5:13], rubbed[35:27:-1]  # at the same speeds, below 2.5 times Stribeck's
    assert (up > down + 1e-4).all()
    assert (up - down).max() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("side", "method"), [("joint", "rk4"), ("motor", "dp45")])
def test_a_mass_pulled_by_a_spring_sticks_and_slips(side: Any, method: str) -> None:
    """A spring of 2 N/m and 0.1 m/s. What pulls is the rotor of an elastic joint, a ton, and what rubs the
    block; or the other way round.
    """
    N = -4.0
    on = PRINTED if side == "joint" else on_the_motor(PRINTED, N)
    link, rotor = (1.0, HEAVY) if side == "joint" else (HEAVY, 1.0)
    motor = fa.Motor(gear_ratio=N, rotor_inertia=rotor / N**2)
    arm = two_masses(link, motor, {"friction": on}, stiffness=PULL)
    first, motor0 = (0.0, [0.1]) if side == "joint" else (0.1, [0.0])
    run = fa.simulate(
        arm, [0.0], [first], 11.0, motor0=([0.0], motor0), method=method, accuracy=Accuracy(1e-8, 1e-11)
    )
    times, truth = stick_slip()
    places, rates = (run.q, run.qd) if side == "joint" else (run.drives["motor_q"], run.drives["motor_qd"])
    found = hermite(times, run.t, places[:, 0], rates[:, 0])
    assert found == pytest.approx(truth[:, 0], abs=2e-6)
    name = "bristle" if side == "joint" else "motor_bristle"
    assert set(run.drives) == {"motor_q", "motor_qd", "spring", name}
    assert run.drives[name][-1, 0] == pytest.approx(truth[-1, 2], abs=2e-3 * FS / SIGMA0)
    steps = np.diff(found)
    assert steps.min() < 1e-4 < 0.2 < steps.max(), "it stands and slides"
    assert books(run) <= 1e-6


PULL, HEAVY = 2.0, 1000.0  # N/m; kg


@cache
def stick_slip() -> tuple[Floats, Floats]:
    """Times, and there x, v and z of the mass that rubs, place and speed of the one that pulls."""

    def rates(t: float, y: Floats) -> list[float]:
        x, v, z, far, fast = (float(s) for s in y)
        zd, F = bend(v, z)
        pull = PULL * (far - x)
        return [v, pull - F, zd, fast, -pull / HEAVY]

    times, start = np.linspace(0.0, 11.0, 12), [0.0, 0.0, 0.0, 0.0, 0.1]
    return times, solved(rates, times.tolist(), start, 1e-7, np.array([1e-10, 1e-10, 1e-13, 1e-10, 1e-10]))


def hermite(times: Floats, t: Floats, x: Floats, v: Floats) -> Floats:
    """Cubics between samples."""
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = t[k + 1] - t[k]
    s = (times - t[k]) / h
    a, b = x[k + 1] - x[k], h * v[k]
    return np.asarray(x[k] + s * (b + s * (3 * a - 2 * b - h * v[k + 1] + s * (b + h * v[k + 1] - 2 * a))))


@pytest.mark.slow
def test_it_creeps_under_vibration_where_dry_friction_holds() -> None:
    """A known fault of the model: a force below that of sliding moves it by as much in every period, without
    an end.
    """
    period, most = 0.1, 0.9 * FC

    def push(t: float) -> float:
        return 0.5 * most * (1.0 + math.sin(2.0 * math.pi * t / period))

    given: dict[str, Any] = {"torque": lambda t: [push(t)], "method": "rk4", "step": 5e-4}
    coulomb = fa.Friction(coulomb=FC)
    creeping, *standing = (
        fa.simulate(block(1.0, friction=f), [0.0], [0.0], 2.0, **given) for f in (PRINTED, STRIBECK, coulomb)
    )
    assert not any(run.q.any() for run in standing)
    each = np.diff(creeping.q[::200, 0])[2:]
    assert each == pytest.approx(np.full(len(each), each[-1]), rel=1e-6)
    assert each[-1] == pytest.approx(8.04e-6, rel=1e-3), "m in each period"
    truth = solved(pushed(push), [0.0, 0.1, 0.2], [0.0, 0.0, 0.0], 1e-6, 1e-2 * TINY)[:, 0]
    assert each[-1] == pytest.approx(truth[2] - truth[1], rel=1e-3)


# ----------------------------------------------------------------------------------- closed forms, limits


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "radau"])
def test_dahls_friction_depends_on_the_way_alone(method: str) -> None:
    """F = Fc (1 - exp(-sigma0 x / Fc)) as long as it moves forwards, and as it turns round, from where that
    is, Fc (-1 + c exp(sigma0 x / Fc)).
    """
    Fc, sigma0, mass = 1.2, 60.0, 1.7
    arm = block(mass, friction=fa.Friction(coulomb=Fc, bristle_stiffness=sigma0))
    schedule = Schedule(times=np.array([0.0, 0.3]), values=np.array([[2.3], [-3.1]]))
    run = fa.simulate(arm, [0.0], [0.0], 0.9, torque=schedule, method=method, accuracy=TIGHT)
    x, F = run.q[:, 0], sigma0 * run.drives["bristle"][:, 0]
    turn = int(np.argmax(run.qd[:, 0] < 0.0)) - 1  # the sample before it turns round
    off = 1e-6 if method in FIXED else 1e-9
    assert F[: turn + 1] == pytest.approx(Fc * -np.expm1(-sigma0 * x[: turn + 1] / Fc), abs=off)
    back = slice(turn + 2, None)
    c = (F[turn + 2] / Fc + 1.0) * math.exp(-sigma0 * x[turn + 2] / Fc)
    assert F[back] == pytest.approx(Fc * (-1.0 + c * np.exp(sigma0 * x[back] / Fc)), abs=off)
    assert F[-1] < 0.0 < F[turn]
    assert run.energy["bristle"] == pytest.approx(0.5 * sigma0 * run.drives["bristle"][:, 0] ** 2, rel=1e-12)
    assert books(run) <= 1e-5
    assert (np.diff(run.lost["friction"][:, 0]) >= -1e-12).all()
    assert not run.events, "bristles do not stick"
    assert (run.tau[:, 0] - mass * run.qdd[:, 0])[1:] == pytest.approx(F[1:], abs=1e-9), "it is all that rubs"


@pytest.mark.parametrize(("method", "law"), [("rk4", "uneven"), ("radau", "printed"), ("dp45", "uneven")])
def test_in_steady_motion_it_is_stribecks(method: str, law: str) -> None:
    """Driven by what inverse dynamics asks for at a speed, it keeps that speed: from creeping to fast."""
    friction = PRINTED
    if law == "uneven":
        friction = fa.Friction(
            viscous=0.4,
            coulomb=(1.0, -1.7),
            static=(1.2, -2.9),
            stribeck_speed=0.02,
            bristle_stiffness=1e4,
            bristle_damping=40.0,
        )
    arm = block(1.0, friction=friction)
    for v in (1e-6, -1e-6, 3e-3, -0.08, 0.4, -7.0, 100.0):
        tau = fa.dynamics.inverse(arm, [0.1], [v], [0.0])
        assert tau[0] == pytest.approx(friction_torque(friction, v, math.copysign(1.0, v)), rel=1e-14)
        run = fa.simulate(arm, [0.0], [v], 0.02, torque=tau, method=method, accuracy=Accuracy(1e-9, 1e-13))
        assert run.qd[:, 0] == pytest.approx(np.full(len(run.t), v), rel=1e-9), v


def test_steps_of_a_millisecond_slide_at_any_speed() -> None:
    """sigma0 |v| h / g is 1e-4 to 1e4: bristles stiff beyond any explicit method follow their targets. The
    mass is heavy enough to keep its speed where friction falls with it.
    """
    mass = 1000.0
    arm = block(mass, friction=PRINTED)
    for v in (1e-6, 1e-4, 1e-3, 1e-2, 1.0, 100.0):
        tau = friction_torque(STRIBECK, v, 1.0)
        for extra in (-10.0, 10.0):  # it accelerates, or brakes
            T = min(0.3, 0.5 * v * mass / 10.0) if extra < 0.0 else 0.3
            run = fa.simulate(arm, [0.0], [v], T, torque=[tau + extra], method="rk4")
            z = run.drives["bristle"][:, 0]
            assert run.ok
            assert (z > 0.0).all()
            assert z.max() <= FS / SIGMA0 * (1.0 + 1e-12)
            truth = v + extra / mass * T
            # what friction may differ by from that at the first speed, over the time
            assert run.qd[-1, 0] == pytest.approx(truth, abs=(FS - FC + SIGMA2 * 0.003) * T / mass + 1e-12)
            settled = friction_torque(STRIBECK, float(run.qd[-1, 0]), 1.0) - SIGMA2 * run.qd[-1, 0]
            if v >= 1e-2:  # the bristle has gone many times its length
                assert SIGMA0 * z[-1] == pytest.approx(settled, rel=1e-3)


ROUGH = block(
    0.8,
    friction=fa.Friction(
        viscous=0.1,
        coulomb=(0.8, -1.1),
        static=(1.3, -1.6),
        stribeck_speed=0.03,
        bristle_stiffness=4e3,
        bristle_damping=20.0,
    ),
)


@settings(max_examples=20)
@given(
    v=st.floats(-30.0, 30.0),
    forces=st.lists(st.floats(-60.0, 60.0), min_size=4, max_size=4),
    method=st.sampled_from(["rk3", "rk4"]),
)
def test_bristles_stay_within_what_breaks_them_loose(v: float, forces: list[float], method: str) -> None:
    """Whatever is done: |z| <= Fs / sigma0 of its direction, and friction never gives more than it took."""
    schedule = Schedule(times=np.array([0.0, 0.02, 0.04, 0.06]), values=np.array(forces)[:, None])
    run = fa.simulate(ROUGH, [0.0], [v], 0.08, torque=schedule, method=method, step=2e-3)
    z = 4e3 * run.drives["bristle"][:, 0]
    assert run.ok
    assert z.max() <= 1.3 * (1.0 + 1e-9)
    assert z.min() >= -1.6 * (1.0 + 1e-9)


@pytest.mark.slow
def test_on_either_side_of_a_gear_it_is_the_same() -> None:
    N = ROTOR.gear_ratio
    moved = fa.Friction(
        viscous=SIGMA2,
        coulomb=(0.9, -1.1),
        static=(1.4, -1.3),
        stribeck_speed=0.05,
        bristle_stiffness=2e3,
        bristle_damping=30.0,
    )
    schedule, _ = ramp((0.0, 3.0), (0.4, -4.0))
    one, other = (
        fa.simulate(block(motor=ROTOR, friction=f), [0.0], [0.2], 0.4, torque=schedule, method="rk4")
        for f in (on_the_motor(moved, N), moved)
    )
    times = np.linspace(0.0, 0.4, 9)
    assert one.at(times)[0] == pytest.approx(other.at(times)[0], abs=1e-12)
    assert one.drives["bristle"][-1] == pytest.approx(other.drives["bristle"][-1], rel=1e-7)
    assert one.energy["lost"][-1] == pytest.approx(other.energy["lost"][-1], rel=1e-8)


# --------------------------------------------------------------------------------------------------- books


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_joints_too_light_for_the_step_are_braked_within_it(name: str) -> None:
    """The published values on every joint of an arm without rotors: in the wrist sigma1 / M is up to 1e6 1/s,
    which no explicit step of 1 ms follows.
    """
    arm = fa.load(name).rigid().with_drives(friction=PRINTED)
    start = np.full(arm.n, 0.3), np.zeros(arm.n), 0.2
    fine = fa.simulate(arm, *start, method="radau", accuracy=Accuracy(1e-6, 1e-9))
    far = np.abs(fine.q[-1] - start[0]).max()
    for step, share in ((1e-3, 0.01), (1e-4, 2e-5)):
        run = fa.simulate(arm, *start, method="rk4", step=step)
        assert np.abs(run.q[-1] - fine.q[-1]).max() < share * far
