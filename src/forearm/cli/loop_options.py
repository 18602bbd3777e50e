"""Options of a control loop: unmodelled effects, sensors, and the converter."""

from __future__ import annotations

import argparse

from forearm.arm.arm import Arm
from forearm.cli.options import NOT_NEGATIVE, POSITIVE, SECONDS, Group, Option
from forearm.cli.states import read_numbers
from forearm.control.gains import BANDWIDTH
from forearm.control.sensors import SIDES
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, FlagField, NumberField, WholeField

MOST_BITS = 52  # what a float64 holds
LEVER = 0.1  # m
BITS = f"N from 1 to {MOST_BITS}"


DAC_OPTIONS = Group(
    "D/A converter in front of the motors",
    (
        Option(
            "--dac-bits",
            f"resolution, 2^N steps, N from 1 to {MOST_BITS}; needs --dac-range",
            reads=WholeField("", 1, MOST_BITS),
        ),
        Option("--dac-range", "output range, -V to V, V above 0", "V", reads=POSITIVE),
        Option(
            "--dac-gain",
            "gain of the amplifiers after it, not 0 (default: the arm file's, or 1)",
            reads=NumberField(),
        ),
    ),
)
DAC_PERIOD = Option("--dac-period", "sample and hold the input for this time, s, above 0", reads=SECONDS)
CHANGES = (
    Option("--friction", "factor on joint friction, 0 or more (default: 1)", reads=NOT_NEGATIVE),
    Option("--gravity", "gravitational acceleration in the base frame, m/s^2 (default: the arm's)", "X,Y,Z"),
    Option("--no-torque-limits", "drives deliver any commanded torque", reads=FlagField()),
)
INERTIAS = Option(
    "--inertias",
    "inertias that scale the gains of PD, PID and feed-forward + PD, kg m^2 (kg), one value per joint "
    "(default: the arm's, reduced where joints would oscillate)",
    "A,B,...",
)
SAMPLING = Option("--period", "sampling period, s, above 0 (default: 0.001)", reads=SECONDS, default=1e-3)
GAINS = Option(
    "--bandwidth",
    "bandwidth of the critically damped gains, all poles at -W, rad/s (2 pi times Hz), above 0 "
    f"(default: {BANDWIDTH:.4g})",
    reads=NumberField(above=0.0, unit="rad/s"),
)
DELAY = Option(
    "--delay", "delay of a command in periods, 0 or 1 (default: 0)", reads=WholeField("", 0, 1), default=0
)
SENSORS = (
    Option(
        "--encoder-bits",
        f"position resolution, 2^N steps per turn (per metre), motor turns for a motor encoder, {BITS}",
        reads=WholeField("", 1, MOST_BITS),
    ),
    Option(
        "--sensor-side",
        "where encoders and tachometers are: link, motor or both (default: both where joints are "
        "elastic, else link)",
        "SIDE",
        reads=ChoiceField(SIDES),
    ),
    Option(
        "--tachometer-bits",
        f"velocity resolution, 2^N steps, {BITS}; needs --tachometer-range",
        reads=WholeField("", 1, MOST_BITS),
    ),
    Option("--tachometer-range", "velocity range, -V to V, rad/s (m/s), V above 0", "V", reads=POSITIVE),
    Option(
        "--accelerometer-step",
        "resolution of accelerometers, m/s^2 (default: exact)",
        "A",
        reads=NOT_NEGATIVE,
    ),
    Option(
        "--lever",
        f"distance between accelerometers, m, above 0; with --accelerometer-step (default: {LEVER})",
        "M",
        reads=POSITIVE,
    ),
    Option("--differences", "compute velocities by differencing positions", reads=FlagField()),
)
VOLTAGE = Option("--voltage", "command motor voltages instead of torques", reads=FlagField())
LOOP = Group("loop and sensors (default: ideal)", (DELAY, *SENSORS, VOLTAGE))


def plant_options(payload: str = "5 % of the moving mass") -> tuple[Option, ...]:
    """How the arm differs from the controllers' model."""
    return (
        Option(
            "--payload",
            f"mass in the hand, unknown to the controller, kg (default: {payload})",
            "KG",
            reads=NOT_NEGATIVE,
        ),
        Option(
            "--error",
            "random error of masses, friction and motors, at most this many percent, 0 to 90 (default: 0)",
            "PERCENT",
            reads=NumberField(minimum=0.0, maximum=90.0),
            default=0.0,
        ),
        Option(
            "--seed", "random seed of these errors, from 0 (default: 0)", reads=WholeField("", 0), default=0
        ),
    )


def read_dac(given: argparse.Namespace, arm: Arm) -> DAC | None:
    """The converter, where one of its options is given."""
    period = getattr(given, "dac_period", None)
    if all(value is None for value in (period, given.dac_bits, given.dac_range, given.dac_gain)):
        return None
    if given.dac_bits is not None and given.dac_range is None:
        raise InputError("needs the output range; give it by --dac-range V.", "--dac-bits")
    if given.dac_gain is not None and any(
        j.motor is not None and j.motor.amplifier_gain is not None for j in arm.joints
    ):
        raise InputError(
            f"motors of {arm.name!r} have an amplifier_gain in the arm file; leave the option out.",
            "--dac-gain",
        )
    return DAC(
        1e-3 if period is None else period,
        given.dac_bits,
        given.dac_range,
        1.0 if given.dac_gain is None else given.dac_gain,
    )


def changed_arm(given: argparse.Namespace, arm: Arm) -> Arm:
    """The arm with the requested payload, friction and gravity."""
    arm = arm.with_payload(given.payload) if given.payload else arm
    arm = arm if given.friction is None else arm.scale_friction(given.friction)
    for joint in arm.joints if given.no_torque_limits else ():
        arm = arm.with_joint(joint.name, max_effort=None)
    return arm if given.gravity is None else arm.replace(gravity=read_numbers(given.gravity, "gravity", 3))


# The same for commands that add options one by one.


def add_dac(parser: argparse.ArgumentParser, period: bool = True) -> None:
    """The options of the converter in front of the motors."""
    Group(DAC_OPTIONS.title, (DAC_PERIOD, *DAC_OPTIONS.options) if period else DAC_OPTIONS.options).add_to(
        parser
    )


def add_plant(plant: argparse._ArgumentGroup, payload: str = "5 % of the moving mass") -> None:
    """How the arm differs from the controllers' model."""
    _add(plant, plant_options(payload))


def add_changes(plant: argparse._ArgumentGroup) -> None:
    """Friction and gravity of the simulated arm, if not those of its file."""
    _add(plant, CHANGES)


def add_inertias(loop: argparse._ActionsContainer) -> None:
    """Inertias that scale the gains."""
    _add(loop, (INERTIAS,))


def add_bandwidth(parser: argparse._ActionsContainer) -> None:
    """Add --bandwidth, that of the controller; None: BANDWIDTH."""
    _add(parser, (GAINS,))


def add_delay(loop: argparse._ArgumentGroup) -> None:
    """Add --delay, that of commands."""
    _add(loop, (DELAY,))


def add_sensors(loop: argparse._ArgumentGroup) -> None:
    """What a controller measures of the arm's state."""
    _add(loop, SENSORS)


def _add(parser: argparse._ActionsContainer, options: tuple[Option, ...]) -> None:
    for option in options:
        option.add_to(parser)
