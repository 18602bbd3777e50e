"""No plan needs more torque, current or voltage than there is, by the reference's dynamics and the functions
of the drives, looked at more finely than plans are; and plans use nearly all of what binds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from arms import Array, posture, random_arm

import forearm as fa
from forearm.drives import voltage_of
from forearm.trajectories import Switching

BEYOND = 1e-6  # relative: what a plan may be beyond a limit, between the moments that the planner looks at
NEARLY = 0.98  # of the limit that binds is used: 0.999, the search's 1e-3, and a coarser grid here
MUCH = 1.02  # times the shortest duration of many
HALF = 0.8  # of it, through several points: with a little more acceleration the way through may be another


def with_joints(arm: fa.Arm, change: Callable[[int, fa.Joint], fa.Joint]) -> fa.Arm:
    names = [joint.name for joint in arm.joints]
    return arm.replace(tree=tuple(change(names.index(j.name), j) if j.name in names else j for j in arm.tree))


def limited_arm(seed: int, n: int = 3) -> fa.Arm:
    """A random arm with Coulomb, Stribeck and viscous friction, bearings, gears by load and motors, in
    which torque, current or voltage may bind: each of them one to three times what moving slowly takes.
    """
    arm, rng = random_arm(seed, n), np.random.default_rng([seed, 77])
    q, slow = posture(arm, seed, 40), 1e-9 * rng.choice([-1.0, 1.0], (40, n))
    held = np.abs(fa.dynamics.inverse(arm, q, slow, 0.0 * q)).max(axis=0)
    times = rng.uniform(1.3, 3.0, (3, n))

    def bounded(i: int, joint: fa.Joint) -> fa.Joint:
        motor = joint.motor
        assert motor is not None
        assert motor.torque_constant is not None
        assert motor.resistance is not None
        K, torque = abs(motor.gear_ratio * motor.torque_constant), 5.0 + held[i]
        back = K * (joint.max_speed or 1.0) * rng.uniform(0.2, 1.2)
        motor = dataclasses.replace(
            motor,
            max_current=float(times[1, i] * torque / K),
            max_voltage=float(times[2, i] * torque / K * motor.resistance + back),
        )
        return dataclasses.replace(joint, max_effort=float(times[0, i] * torque), motor=motor)

    return with_joints(arm, bounded)


def rubbing(arm: fa.Arm, seed: int) -> fa.Arm:
    """The arm with Stribeck friction of some percent of its torques, and viscous friction."""
    rng = np.random.default_rng(seed)

    def rub(_: int, joint: fa.Joint) -> fa.Joint:
        most = joint.max_effort or 1.0
        coulomb = most * rng.uniform(0.02, 0.08)
        static = coulomb * rng.uniform(1.3, 2.0)
        friction = fa.Friction(
            viscous=most * rng.uniform(0.005, 0.03),
            coulomb=(coulomb, -coulomb),
            static=(static, -static),
            stribeck_speed=rng.uniform(0.01, 0.1),
        )
        return dataclasses.replace(joint, friction=friction)

    return with_joints(arm, rub)


def moments(motion: Switching, grid: float) -> Array:
    """Every `grid` s, and beside every switch."""
    T, beside = motion.duration, 1e-9 * motion.duration
    ends = [motion.switches, motion.switches - beside, motion.switches + beside]
    return np.unique(np.clip(np.concatenate([np.arange(0.0, T, grid), *ends]), 0.0, T))


def shares(plan: fa.Plan, grid: float, dac: fa.DAC | None = None) -> dict[str, float]:
    """The largest needed / allowed of torque, current, voltage and converter, where there is a limit."""
    assert isinstance(plan.motion, Switching)
    q, qd, qdd = plan.motion.at(moments(plan.motion, grid))
    arm, tau = plan.arm, fa.dynamics.inverse(plan.arm, q, qd, qdd)
    found = {"torque": (tau, [j.max_effort for j in arm.joints])}
    if all(j.motor is not None and j.motor.resistance for j in arm.joints):
        motors = [j.motor for j in arm.joints if j.motor is not None]
        K = np.array([(m.torque_constant or 0.0) * m.gear_ratio for m in motors])
        volts = voltage_of(arm, tau, qd)
        found["current"] = (tau / K, [m.max_current for m in motors])
        found["voltage"] = (volts, [m.max_voltage for m in motors])
        if dac is not None and dac.span is not None:
            found["DAC"] = (volts, [dac.span * dac.gain] * arm.n)
    return {
        name: float((np.abs(needed) / np.array([np.inf if m is None else m for m in most])).max())
        for name, (needed, most) in found.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.sweep(first=2)
def test_random_arms_hold_every_limit_and_use_one(seed: int) -> None:
    arm = limited_arm(seed)
    plan = fa.plan(arm, posture(arm, seed, 2 + seed % 2), step=1e-2)
    used = shares(plan, 1e-3)
    assert max(used.values()) <= 1.0 + BEYOND, used
    assert max(used.values()) > (HALF if seed % 2 else NEARLY)
    assert not plan.warnings
    most = plan.limited_by
    assert most is not None
    assert most.share == pytest.approx(used[most.quantity], rel=5e-3)


def motored(max_current: float | None = None, max_voltage: float | None = None) -> fa.Arm:
    """Two joints, each with a motor of its own and friction, max_effort only for the first."""
    made = random_arm(4, 2, prismatic=False, fixed=False, drives=False)

    def drive(i: int, joint: fa.Joint) -> fa.Joint:
        motor = fa.Motor(
            gear_ratio=(-60.0, 45.0)[i],
            rotor_inertia=2e-4,
            torque_constant=(0.11, 0.07)[i],
            resistance=(1.3, 0.9)[i],
            max_current=max_current,
            max_voltage=max_voltage,
        )
        friction = fa.Friction(viscous=2.0, coulomb=(1.5, -1.1), static=(2.5, -2.1), stribeck_speed=0.03)
        effort = (400.0, None)[i]
        return dataclasses.replace(joint, motor=motor, friction=friction, max_effort=effort, max_speed=9.0)

    return with_joints(made, drive)


POINTS = np.array([[-0.9, 0.8], [0.7, -0.6]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quantity", "arm", "dac"),
    [
        ("torque", motored(max_current=1e3), None),
        ("current", motored(max_current=9.0), None),
        ("voltage", motored(max_voltage=20.0), None),
        ("DAC", motored(max_voltage=50.0), fa.DAC(span=10.0, gain=1.7)),
    ],
)
def test_the_limit_that_binds_is_named(quantity: str, arm: fa.Arm, dac: fa.DAC | None) -> None:
    plan = fa.plan(arm, POINTS, dac=dac)
    used = shares(plan, 1e-3, dac)
    assert NEARLY < used[quantity] == max(used.values()) <= 1.0 + BEYOND
    assert not plan.warnings
    most = plan.limited_by
    assert most is not None
    assert most.quantity == quantity
    assert most.needed == pytest.approx(most.share * most.allowed)
    assert 0.0 <= most.time <= plan.duration
    assert plan.limits is not None
    harder = fa.plan(arm, POINTS, acceleration=1.2 * plan.limits.acceleration, dac=dac)
    words = {
        "torque": "N m (N) available",
        "current": "A limit of its motor",
        "voltage": "V limit of its motor",
        "DAC": "V limit of its DAC",
    }
    assert any("of the" in text and words[quantity] in text for text in harder.warnings)


def fastest_of_many(arm: fa.Arm, points: Array, plan: fa.Plan) -> float:
    """The shortest duration within the limits among top velocities that are lower and higher than the plan's,
    with accelerations in its proportions as high as each allows.
    """
    assert isinstance(plan.motion, Switching)
    assert plan.limits is not None
    found = []
    for share in (0.7, 1.0, 1.5):
        low, high = 0.02, 20.0
        for _ in range(8):
            factor = np.sqrt(low * high)
            acceleration, velocity = factor * plan.limits.acceleration, share * plan.motion.extremes()[2]
            tried = fa.plan(arm, points, acceleration=acceleration, velocity=velocity)
            allowed = tried.limited_by is not None and tried.limited_by.share <= 1.0
            low, high = (factor, high) if allowed else (low, factor)
            found += [tried.duration] if allowed else []
    return min(found)


@pytest.mark.slow
def test_velocities_give_way_to_voltages() -> None:
    """At 9 rad/s the motors alone would turn 59 and 28 V back: no plan can be so fast with 20 V, and none
    of many with other top velocities is much shorter.
    """
    arm, far = motored(max_voltage=20.0), np.array([[-1.1, 1.0], [1.0, -1.0]])
    plan = fa.plan(arm, far)
    assert isinstance(plan.motion, Switching)
    assert (np.array([60.0 * 0.11, 45.0 * 0.07]) * plan.motion.extremes()[2] < 20.0).all()
    assert max(shares(plan, 1e-3).values()) <= 1.0 + BEYOND
    assert plan.duration <= MUCH * fastest_of_many(arm, far, plan)


def test_a_converter_of_a_request_and_of_its_file(tmp_path: Path) -> None:
    arm, dac = motored(max_voltage=50.0), fa.DAC(span=10.0, bits=8, gain=1.7)
    asked = fa.Request(POINTS, dac=dac)
    plan = fa.plan(arm, asked)
    assert plan.dac is dac
    volts = plan.voltage
    assert volts is not None
    assert not dac.out(volts)[1].any()  # never saturated
    path = tmp_path / "go.toml"
    text = 'schema = "forearm-request/1"\n[dac]\nspan = 10.0\nbits = 8\ngain = 1.7\n'
    text += "".join(f"[[waypoint]]\nq = {q.tolist()}\n" for q in POINTS)
    path.write_text(text, encoding="utf-8")
    assert fa.plan(arm, path).duration == plan.duration
    assert fa.plan(arm, path, dac=fa.DAC()).duration < plan.duration
    for wrong, said in (
        ("bits = 8.5", r"go\.toml, dac, bits: expected a whole number from 1 to 52, got 8\.5"),
        ("bitz = 8", r"go\.toml, dac: unknown key 'bitz'"),
    ):
        path.write_text(text.replace("bits = 8", wrong), encoding="utf-8")
        with pytest.raises(fa.InputError, match=said):
            fa.plan(arm, path)
    path.write_text(text.replace("gain = 1.7", "gain = 0"), encoding="utf-8")
    with pytest.raises(fa.InputError, match=r"go\.toml, DAC, gain: must not be 0"):
        fa.plan(arm, path)


@pytest.mark.slow
def test_what_gravity_or_friction_take_is_said_with_the_joint() -> None:
    def stiff(_: int, joint: fa.Joint) -> fa.Joint:
        return dataclasses.replace(joint, friction=fa.Friction(coulomb=(900.0, -900.0)))

    for arm, said in (
        (motored(max_current=0.5), r"gravity alone takes .* of the 0\.5 A of joint\d on the path"),
        (motored(max_voltage=0.6), r"gravity alone takes .* of the 0\.6 V of joint\d on the path"),
        (
            with_joints(motored(max_current=12.0), stiff),
            r"even slowly, joint\d needs \d+.* of the 12 A limit of its motor",
        ),
        (motored(), r"because there is neither max_effort nor a motor with a current .* at joint2"),
    ):
        with pytest.raises(fa.InputError, match=said):
            fa.plan(arm, POINTS)


@pytest.mark.slow
def test_velocities_that_a_voltage_does_not_allow_are_refused() -> None:
    """5 rad/s turn 33 V back."""
    passed = [fa.Waypoint(q=POINTS[0]), fa.Waypoint(q=0.0, qd=[5.0, np.nan]), fa.Waypoint(q=POINTS[1])]
    said = r"velocities of the request are too high.*joint1 needs 3\d\.\d+ of the 20 V .* Use lower"
    with pytest.raises(fa.InputError, match=said):
        fa.plan(motored(max_voltage=20.0), fa.Request(passed, lower=-1e9, upper=1e9))
    slower = [fa.Waypoint(q=POINTS[0]), fa.Waypoint(q=0.0, qd=[1.5, np.nan]), fa.Waypoint(q=POINTS[1])]
    plan = fa.plan(motored(max_voltage=20.0), slower)
    assert isinstance(plan.motion, Switching)
    assert plan.motion.velocities[1, 0] == 1.5
    assert max(shares(plan, 1e-3).values()) <= 1.0 + BEYOND


def test_friction_that_stops_helping_at_rest_counts() -> None:
    """At the last sample a joint stands and brakes still, and no friction brakes with it: the torque there
    is that of the plan's last row.
    """
    arm = rubbing(motored(max_current=9.0), 5)
    plan = fa.plan(arm, POINTS)
    K = np.array([-60.0 * 0.11, 45.0 * 0.07])
    last = fa.dynamics.inverse(arm, plan.q[-1], plan.qd[-1], plan.qdd[-1])
    before = fa.dynamics.inverse(arm, *plan.motion.at(plan.duration * (1.0 - 1e-9)))
    assert (np.abs(last) > np.abs(before)).any()
    assert (np.abs(last / K) <= 9.0).all()
