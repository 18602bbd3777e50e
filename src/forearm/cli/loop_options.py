"""Options of a control loop: unmodelled effects, sensors, and the converter."""

from __future__ import annotations

import argparse

from forearm.arm.arm import Arm
from forearm.cli.options import SECONDS, Group, Option
from forearm.cli.states import read_numbers
from forearm.control.gains import BANDWIDTH
from forearm.control.sensors import SIDES
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, FlagField, NumberField, WholeField

MOST_BITS = 52  # what a float64 holds
LEVER = 0.1  # m
BITS, POSITIVE = WholeField("", 1, MOST_BITS), NumberField(above=0.0)
FLAG = FlagField()
UP_TO = f"N from 1 to {MOST_BITS}"

SAMPLING = Option("--period", "sampling period, s, above 0 (default: 0.001)", reads=SECONDS, default=1e-3)
GAINS = Option(
    "--bandwidth",
    "bandwidth of the critically damped gains, all poles at -W, rad/s (2 pi times Hz), above 0 (default: "
    f"{BANDWIDTH:.4g})",
    "W",
    POSITIVE,
)
INERTIAS = Option(
    "--inertias",
    "inertias that scale the gains of PD, PID and feed-forward + PD, kg m^2 (kg), one value per joint "
    "(default: the arm's, reduced where joints would oscillate)",
    "A,B,...",
)
DELAY = Option(
    "--delay", "delay of a command in periods, 0 or 1 (default: 0)", reads=WholeField("", 0, 1), default=0
)
VOLTAGE = Option("--voltage", "command motor voltages instead of torques", reads=FLAG)
CONVERTER = (
    Option("--dac-bits", f"resolution, 2^N steps, {UP_TO}; needs --dac-range", reads=BITS),
    Option("--dac-range", "output range, -V to V, V above 0", "V", POSITIVE),
    Option(
        "--dac-gain",
        "gain of the amplifiers after it, not 0 (default: the arm file's, or 1)",
        reads=NumberField(),
    ),
)
WITH_PERIOD = (
    Option("--dac-period", "sample and hold the input for this time, s, above 0", reads=SECONDS),
    *CONVERTER,
)
# What a controller measures of the arm's state.
SENSORS = (
    Option(
        "--encoder-bits",
        "position resolution, 2^N steps per turn (per metre), motor turns for a motor encoder, " + UP_TO,
        reads=BITS,
    ),
    Option(
        "--sensor-side",
        "where encoders and tachometers are: link, motor or both (default: both where joints are elastic, "
        "else link)",
        "SIDE",
        ChoiceField(SIDES),
    ),
    Option(
        "--tachometer-bits", f"velocity resolution, 2^N steps, {UP_TO}; needs --tachometer-range", reads=BITS
    ),
    Option("--tachometer-range", "velocity range, -V to V, rad/s (m/s), V above 0", "V", POSITIVE),
    Option(
        "--accelerometer-step",
        "resolution of accelerometers, m/s^2 (default: exact)",
        "A",
        NumberField(minimum=0.0),
    ),
    Option(
        "--lever",
        f"distance between accelerometers, m, above 0; with --accelerometer-step (default: {LEVER})",
        "M",
        POSITIVE,
    ),
    Option("--differences", "compute velocities by differencing positions", reads=FLAG),
)
ERRORS = (
    Option(
        "--error",
        "random error of masses, friction and motors, at most this many percent, 0 to 90 (default: 0)",
        "PERCENT",
        NumberField(minimum=0.0, maximum=90.0),
        0.0,
    ),
    Option(
        "--seed",
        "random seed of these errors, from 0 (default: 0)",
        reads=WholeField("", 0, 2**63 - 1),
        default=0,
    ),
)
# Friction and gravity of the simulated arm, if not those of its file.
CHANGES = (
    Option("--friction", "factor on joint friction, 0 or more (default: 1)", reads=NumberField(minimum=0.0)),
    Option("--gravity", "gravitational acceleration in the base frame, m/s^2 (default: the arm's)", "X,Y,Z"),
    Option("--no-torque-limits", "drives deliver any commanded torque", reads=FLAG),
)


def plant_options(payload: str = "5 % of the moving mass") -> tuple[Option, ...]:
    """How the arm differs from the controllers' model."""
    text = f"mass in the hand, unknown to the controller, kg (default: {payload})"
    return Option("--payload", text, "KG", NumberField(minimum=0.0)), *ERRORS


def converter(options: tuple[Option, ...]) -> Group:
    """The options of the converter in front of the motors."""
    return Group("D/A converter in front of the motors", options)


DAC_OPTIONS = converter(CONVERTER)
LOOP = Group("loop and sensors (default: ideal)", (DELAY, *SENSORS, VOLTAGE))


def read_dac(given: argparse.Namespace, arm: Arm) -> DAC | None:
    """The converter, where one of its options is given."""
    period = getattr(given, "dac_period", None)
    if all(value is None for value in (period, given.dac_bits, given.dac_range, given.dac_gain)):
        return None
    if given.dac_bits is not None and given.dac_range is None:
        raise InputError("needs the output range; give it by --dac-range V.", "--dac-bits")
    has_gains = any(j.motor is not None and j.motor.amplifier_gain is not None for j in arm.joints)
    if given.dac_gain is not None and has_gains:
        raise InputError(
            f"motors of {arm.name!r} have an amplifier_gain in the arm file; leave the option out.",
            "--dac-gain",
        )
    gain = 1.0 if given.dac_gain is None else given.dac_gain
    return DAC(period or 1e-3, given.dac_bits, given.dac_range, gain)


def changed_arm(given: argparse.Namespace, arm: Arm) -> Arm:
    """The arm with the requested payload, friction and gravity."""
    arm = arm.with_payload(given.payload) if given.payload else arm
    arm = arm if given.friction is None else arm.scale_friction(given.friction)
    for joint in arm.joints if given.no_torque_limits else ():
        arm = arm.with_joint(joint.name, max_effort=None)
    return arm if given.gravity is None else arm.replace(gravity=read_numbers(given.gravity, "gravity", 3))
