"""Options of a control loop: unmodelled effects, sensors, and the converter."""

from __future__ import annotations

import argparse

from forearm.arm.arm import Arm
from forearm.cli.command import group
from forearm.cli.numbers import ANY, NOT_NEGATIVE, POSITIVE, Real, Whole
from forearm.cli.states import read_numbers
from forearm.control.gains import BANDWIDTH
from forearm.control.sensors import SIDES
from forearm.drives.motor import DAC
from forearm.errors import InputError

MOST_BITS = 52  # what a float64 holds
LEVER = 0.1  # m


def add_dac(parser: argparse.ArgumentParser, period: bool = True) -> None:
    """The options of the converter in front of the motors."""
    dac = group(parser, "D/A converter in front of the motors")
    if period:
        dac.add_argument(
            "--dac-period",
            type=POSITIVE,
            metavar="S",
            help="sample and hold the input for this time, s, above 0",
        )
    dac.add_argument(
        "--dac-bits",
        type=Whole(1, MOST_BITS),
        metavar="N",
        help=f"resolution, 2^N steps, N from 1 to {MOST_BITS}; needs --dac-range",
    )
    dac.add_argument("--dac-range", type=POSITIVE, metavar="V", help="output range, -V to V, V above 0")
    dac.add_argument(
        "--dac-gain",
        type=ANY,
        metavar="X",
        help="gain of the amplifiers after it, not 0 (default: the arm file's, or 1)",
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


def add_plant(plant: argparse._ArgumentGroup, payload: str = "5 %% of the moving mass") -> None:
    """How the arm differs from the controllers' model."""
    plant.add_argument(
        "--payload",
        type=NOT_NEGATIVE,
        metavar="KG",
        help=f"mass in the hand, unknown to the controller, kg (default: {payload})",
    )
    plant.add_argument(
        "--error",
        type=Real(least=0.0, most=90.0),
        default=0.0,
        metavar="PERCENT",
        help="random error of masses, friction and motors, at most this many percent, 0 to 90 (default: 0)",
    )
    plant.add_argument(
        "--seed",
        type=Whole(0),
        default=0,
        metavar="N",
        help="random seed of these errors, from 0 (default: 0)",
    )


def add_changes(plant: argparse._ArgumentGroup) -> None:
    """Friction and gravity of the simulated arm, if not those of its file."""
    plant.add_argument(
        "--friction", type=NOT_NEGATIVE, metavar="X", help="factor on joint friction, 0 or more (default: 1)"
    )
    plant.add_argument(
        "--gravity",
        metavar="X,Y,Z",
        help="gravitational acceleration in the base frame, m/s^2 (default: the arm's)",
    )
    plant.add_argument("--no-torque-limits", action="store_true", help="drives deliver any commanded torque")


def add_inertias(loop: argparse._ActionsContainer) -> None:
    """Inertias that scale the gains."""
    loop.add_argument(
        "--inertias",
        metavar="A,B,...",
        help=(
            "inertias that scale the gains of PD, PID and feed-forward + PD, kg m^2 (kg), one value per "
            "joint (default: the arm's, reduced where joints would oscillate)"
        ),
    )


def changed_arm(given: argparse.Namespace, arm: Arm) -> Arm:
    """The arm with the requested payload, friction and gravity."""
    arm = arm.with_payload(given.payload) if given.payload else arm
    arm = arm if given.friction is None else arm.scale_friction(given.friction)
    for joint in arm.joints if given.no_torque_limits else ():
        arm = arm.with_joint(joint.name, max_effort=None)
    return arm if given.gravity is None else arm.replace(gravity=read_numbers(given.gravity, "gravity", 3))


def add_period(parser: argparse._ActionsContainer) -> None:
    """Add --period, the sampling period."""
    parser.add_argument(
        "--period",
        type=POSITIVE,
        default=1e-3,
        metavar="S",
        help="sampling period, s, above 0 (default: 0.001)",
    )


def add_bandwidth(parser: argparse._ActionsContainer) -> None:
    """Add --bandwidth, that of the controller; None: BANDWIDTH."""
    parser.add_argument(
        "--bandwidth",
        type=POSITIVE,
        metavar="W",
        help=(
            "bandwidth of the critically damped gains, all poles at -W, rad/s (2 pi times Hz), above 0 "
            f"(default: {BANDWIDTH:.4g})"
        ),
    )


def add_delay(loop: argparse._ArgumentGroup) -> None:
    """Add --delay, that of commands."""
    loop.add_argument(
        "--delay",
        type=Whole(0, 1),
        default=0,
        metavar="N",
        help="delay of a command in periods, 0 or 1 (default: 0)",
    )


def add_sensors(loop: argparse._ArgumentGroup) -> None:
    """What a controller measures of the arm's state."""
    bits = f"N from 1 to {MOST_BITS}"
    loop.add_argument(
        "--encoder-bits",
        type=Whole(1, MOST_BITS),
        metavar="N",
        help=f"position resolution, 2^N steps per turn (per metre), motor turns for a motor encoder, {bits}",
    )
    loop.add_argument(
        "--sensor-side",
        choices=SIDES,
        metavar="SIDE",
        help=(
            "where encoders and tachometers are: link, motor or both (default: both where joints are "
            "elastic, else link)"
        ),
    )
    loop.add_argument(
        "--tachometer-bits",
        type=Whole(1, MOST_BITS),
        metavar="N",
        help=f"velocity resolution, 2^N steps, {bits}; needs --tachometer-range",
    )
    loop.add_argument(
        "--tachometer-range",
        type=POSITIVE,
        metavar="V",
        help="velocity range, -V to V, rad/s (m/s), V above 0",
    )
    loop.add_argument(
        "--accelerometer-step",
        type=NOT_NEGATIVE,
        metavar="A",
        help="resolution of accelerometers, m/s^2 (default: exact)",
    )
    loop.add_argument(
        "--lever",
        type=POSITIVE,
        metavar="M",
        help=f"distance between accelerometers, m, above 0; with --accelerometer-step (default: {LEVER})",
    )
    loop.add_argument(
        "--differences", action="store_true", help="compute velocities by differencing positions"
    )


def add_voltage(loop: argparse._ArgumentGroup) -> None:
    """Add --voltage: motors driven by voltages without a converter."""
    loop.add_argument("--voltage", action="store_true", help="command motor voltages instead of torques")
