"""`forearm control compare`: every controller on one motion of one arm, and how well each follows it."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import add_arm, add_json, complain, group, show_json
from forearm.cli.loading import load
from forearm.cli.numbers import NOT_NEGATIVE, POSITIVE, Real, Whole
from forearm.cli.outputs import add_plot, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.simulate import MOST_BITS, add_dac, read_dac
from forearm.cli.states import add_state, read_state
from forearm.cli.terminal import show
from forearm.control.accelerometers import accelerometers
from forearm.control.actuators import Actuators
from forearm.control.comparison import compare
from forearm.control.model_error import perturbed
from forearm.control.reference import default_motion, smooth
from forearm.control.sensors import Encoder, Sensors, Tachometer, exact_accelerations
from forearm.drives.motor import DAC
from forearm.errors import InputError

LEVER = 0.1  # m


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the action."""
    add_arm(parser)
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="this controller, such as PD; may be repeated, in order (default: all)",
    )
    parser.add_argument(
        "--period",
        type=POSITIVE,
        default=1e-3,
        metavar="S",
        help="between samples, s, above 0 (default: 0.001)",
    )
    parser.add_argument(
        "--bandwidth",
        type=POSITIVE,
        default=5.0,
        metavar="HZ",
        help="of the gains, critically damped, Hz, above 0 (default: 5)",
    )
    add_plot(parser, "error against operations per second")
    add_json(parser)
    _add_motion(group(parser, "the motion"))
    _add_plant(group(parser, "what controllers do not know of"))
    _add_loop(group(parser, "loop and sensors (default: ideal)"))
    add_dac(parser, period=False)


def _add_motion(motion: argparse._ArgumentGroup) -> None:
    motion.add_argument("--duration", type=POSITIVE, default=2.0, metavar="S", help="s, above 0 (default: 2)")
    add_state(motion, "q", "where it starts, with --to, rad (m) (default: zero)")
    motion.add_argument(
        "--to",
        metavar="A,B,...",
        help="a posture to go to smoothly, rad (m); one value per joint (default: every joint moves)",
    )


def _add_plant(plant: argparse._ArgumentGroup) -> None:
    plant.add_argument(
        "--payload",
        type=NOT_NEGATIVE,
        metavar="KG",
        help="in the hand, unknown, kg (default: 5 %% of what moves)",
    )
    plant.add_argument(
        "--error",
        type=Real(least=0.0, most=90.0),
        default=0.0,
        metavar="PERCENT",
        help="masses, friction and motors are off by up to this, 0 to 90 (default: 0)",
    )
    plant.add_argument(
        "--seed", type=Whole(0), default=0, metavar="N", help="of these errors, from 0 (default: 0)"
    )


def _add_loop(loop: argparse._ArgumentGroup) -> None:
    loop.add_argument(
        "--delay",
        type=Whole(0, 1),
        default=0,
        metavar="N",
        help="periods until a command acts, 0 or 1 (default: 0)",
    )
    bits = f"N from 1 to {MOST_BITS}"
    loop.add_argument(
        "--encoder-bits",
        type=Whole(1, MOST_BITS),
        metavar="N",
        help=f"positions are told in 2^N steps a turn (a metre), {bits}",
    )
    loop.add_argument(
        "--tachometer-bits",
        type=Whole(1, MOST_BITS),
        metavar="N",
        help=f"velocities are told in 2^N steps, {bits}; needs --tachometer-range",
    )
    loop.add_argument(
        "--tachometer-range",
        type=POSITIVE,
        metavar="V",
        help="velocities are told from -V to V, rad/s (m/s), above 0",
    )
    loop.add_argument(
        "--accelerometer-step",
        type=NOT_NEGATIVE,
        metavar="A",
        help="readings come in multiples of it, m/s^2 (default: exact)",
    )
    loop.add_argument(
        "--lever",
        type=POSITIVE,
        metavar="M",
        help=f"between accelerometers, m, above 0; with --accelerometer-step (default: {LEVER})",
    )
    loop.add_argument("--differences", action="store_true", help="velocities are differences of positions")
    loop.add_argument(
        "--voltage", action="store_true", help="the motors are given voltages instead of torques"
    )


def run(given: argparse.Namespace) -> int:
    """Compare, and show the table."""
    check_picture("--plot", given.plot)
    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"making controllers of {arm.name}") as bar:
        found = compare(
            arm,
            _motion(given, arm),
            given.only,
            bandwidth=2.0 * math.pi * given.bandwidth,
            payload=given.payload,
            plant=perturbed(arm, given.error / 100.0, given.seed) if given.error else None,
            sensors=_sensors(given, arm),
            **_clock(given, arm),
            progress=bar,
        )
    if given.plot:
        found.plot(given.plot)
    if given.json:
        show_json(found.document() | {"plot": given.plot})
        return 0
    show(found.report())
    if found.beyond:
        complain(
            f"the motion goes beyond the limits of {', '.join(found.beyond)}; nothing stops it there.",
            kind="warning",
        )
    for row in found.rows:
        if row.message:
            complain(f"{row.name}: {row.message}.", kind="note")
    tell_written([given.plot])
    return 0


def _clock(given: argparse.Namespace, arm: Arm) -> dict[str, Any]:
    """The period and how commands reach the motors; a converter has the period itself."""
    dac = read_dac(given, arm)
    if dac is not None:
        dac = DAC(given.period, dac.bits, dac.span, dac.gain)
    period = {} if dac is not None else {"period": given.period}
    return period | {"actuators": Actuators(dac, given.voltage, given.delay)}


def _motion(given: argparse.Namespace, arm: Arm) -> Any:
    if given.to is None:
        if given.q is not None:
            raise InputError("--q: a motion that starts there goes somewhere; give --to as well.")
        return default_motion(arm, given.duration)
    start = np.zeros(arm.n) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    return smooth(start, read_state(arm, given.to, "to", given.degrees), given.duration)


def _sensors(given: argparse.Namespace, arm: Arm) -> Sensors:
    if (given.tachometer_bits is None) != (given.tachometer_range is None):
        raise InputError("--tachometer-bits and --tachometer-range go together.")
    encoder = None if given.encoder_bits is None else Encoder(given.encoder_bits)
    tachometer = (
        None if given.tachometer_bits is None else Tachometer(given.tachometer_bits, given.tachometer_range)
    )
    if given.accelerometer_step is None:
        if given.lever is not None:
            raise InputError("--lever: exact accelerations need none; give --accelerometer-step as well.")
        return Sensors(encoder, tachometer, given.differences, exact_accelerations)
    sets = accelerometers(arm, LEVER if given.lever is None else given.lever, given.accelerometer_step)
    return Sensors(encoder, tachometer, given.differences, sets.seen)
