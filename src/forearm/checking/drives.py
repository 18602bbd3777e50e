"""Checks of motors and friction: wrong units, or values for the other side of the gear."""

from __future__ import annotations

from collections.abc import Iterator

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction, Motor
from forearm.arm.joint import Joint
from forearm.checking.finding import Finding, warning
from forearm.checking.magnitudes import reach

HEAVY_ROTOR = 10.0  # times the whole arm's mass at full reach
WEAK = 0.1  # of max_speed or max_effort: what a motor can is often less, seldom so much less


def drive_findings(arm: Arm) -> list[Finding]:
    """Findings on rotors, gear ratios, motors and friction that do not suit their joint."""
    whole = sum(link.mass for link in arm.links[1:]) * reach(arm) ** 2
    return [f for joint in arm.tree if joint.kind != "fixed" for f in _joint(joint, whole)]


def _joint(joint: Joint, whole: float) -> Iterator[Finding]:
    """`whole` is the mass of the arm times its reach squared, in kg m^2."""
    if joint.motor is not None:
        yield from _rotor(joint, joint.motor, whole)
        yield from _speed(joint, joint.motor)
        yield from _torque(joint, joint.motor)
    if joint.friction is not None:
        yield from _friction(joint, joint.friction)


def _rotor(joint: Joint, motor: Motor, whole: float) -> Iterator[Finding]:
    if abs(motor.gear_ratio) < 1.0 and joint.kind == "revolute":
        text = (
            f"a gear_ratio of {motor.gear_ratio:g} makes the joint turn faster than its motor: it is "
            "motor angle / joint angle."
        )
        yield warning(joint.name, "gear-ratio", text)
    if joint.kind == "revolute" and whole > 0.0 and motor.reflected_inertia > HEAVY_ROTOR * whole:
        text = (
            f"it feels {motor.reflected_inertia:.4g} kg m^2 of its rotor, gear_ratio^2 rotor_inertia, where "
            f"the whole arm has {whole:.4g} at full reach: rotor_inertia looks like g cm^2 (1e-7 kg m^2), "
            "or is the joint's side already."
        )
        yield warning(joint.name, "units-rotor", text)


def _speed(joint: Joint, motor: Motor) -> Iterator[Finding]:
    """The speed at which back-EMF equals the largest voltage, V / (N Kt). Swartz (11)."""
    if motor.max_voltage is None or motor.torque_constant is None or not joint.max_speed:
        return
    fastest = motor.max_voltage / (abs(motor.gear_ratio) * motor.torque_constant)
    if fastest < WEAK * joint.max_speed:
        text = (
            f"at max_voltage its motor moves it with {fastest:.4g} rad/s (m/s) at most, where its max_speed "
            f"is {joint.max_speed:g}: see whether torque_constant is in N m / A, and max_speed the joint's."
        )
        yield warning(joint.name, "motor-speed", text)


def _torque(joint: Joint, motor: Motor) -> Iterator[Finding]:
    """Motor torque at the largest current i, N Kt i."""
    if motor.max_current is None or motor.torque_constant is None or not joint.max_effort:
        return
    strongest = abs(motor.gear_ratio) * motor.torque_constant * motor.max_current
    if strongest < WEAK * joint.max_effort:
        text = (
            f"at max_current its motor gives it {strongest:.4g} N m (N) at most, where its max_effort is "
            f"{joint.max_effort:g}: see whether torque_constant is in N m / A, and max_effort the joint's."
        )
        yield warning(joint.name, "motor-torque", text)


def _friction(joint: Joint, friction: Friction) -> Iterator[Finding]:
    """|N| Tc + N^2 B qd at max_speed, N = 1 on the joint's side;
    there only Tc, as max_speed in URDFs is often any number.
    """
    if not joint.max_effort:
        return
    ratio, fastest = 1.0, 0.0
    if friction.side == "motor" and joint.motor is not None:
        ratio, fastest = abs(joint.motor.gear_ratio), joint.max_speed or 0.0
    taken = ratio * max(map(abs, friction.coulomb)) + ratio**2 * friction.viscous * fastest
    if taken > joint.max_effort:
        text = (
            f"friction takes {taken:.4g} N m (N) at the joint{' at max_speed' if fastest else ''}, more "
            f"than its max_effort of {joint.max_effort:g}: see whether its figures are for the "
            f"{friction.side}'s side."
        )
        yield warning(joint.name, "friction-effort", text)
