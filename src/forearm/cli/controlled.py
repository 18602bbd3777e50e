"""A controller on a motion at the prompt: unmodelled effects, sensors, converters, and tracking error."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.loop_options import LEVER, changed_arm, read_dac
from forearm.cli.states import read_numbers
from forearm.control.accelerometers import accelerometers
from forearm.control.actuators import Actuators
from forearm.control.by_name import controller_by_name
from forearm.control.gains import BANDWIDTH
from forearm.control.loop import run
from forearm.control.model_error import perturbed
from forearm.control.sensors import Encoder, Sensors, Tachometer, all_of, exact_accelerations
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.simulation.controlled import Run
from forearm.tables import number
from forearm.trajectories.planning import Plan


def clock_of(given: argparse.Namespace, arm: Arm, by_voltage: bool) -> dict[str, Any]:
    """The sampling period and the actuators; with a converter its period applies."""
    dac = read_dac(given, arm)
    if dac is not None:
        dac = DAC(given.period, dac.bits, dac.span, dac.gain)
    period = {} if dac is not None else {"period": given.period}
    return period | {"actuators": Actuators(dac, by_voltage, given.delay)}


def sensors_of(given: argparse.Namespace, arm: Arm) -> Sensors:
    """The sensors of the controller."""
    if (given.tachometer_bits is None) != (given.tachometer_range is None):
        raise InputError("--tachometer-bits and --tachometer-range go together.")
    encoder = None if given.encoder_bits is None else Encoder(given.encoder_bits)
    tachometer = (
        None if given.tachometer_bits is None else Tachometer(given.tachometer_bits, given.tachometer_range)
    )
    side = given.sensor_side or all_of(arm).side
    if given.accelerometer_step is None:
        if given.lever is not None:
            raise InputError("only with --accelerometer-step; exact accelerations do not need it.", "--lever")
        return Sensors(encoder, tachometer, given.differences, exact_accelerations, side)
    sets = accelerometers(arm, LEVER if given.lever is None else given.lever, given.accelerometer_step)
    return Sensors(encoder, tachometer, given.differences, sets.seen, side)


def controlled(
    given: argparse.Namespace, arm: Arm, motion: Plan, by_voltage: bool, step: float | None
) -> Run:
    """Run the requested controller along a plan."""
    how = clock_of(given, arm, by_voltage)
    inertias = None if given.inertias is None else read_numbers(given.inertias, "inertias", arm.n)
    controller = controller_by_name(
        arm, given.controller, motion, bandwidth=given.bandwidth or BANDWIDTH, inertias=inertias, **how
    )
    plant = perturbed(arm, given.error / 100.0, given.seed) if given.error else arm
    plant = changed_arm(given, plant)
    return run(arm, controller, motion, plant=plant, sensors=sensors_of(given, arm), step=step, **how)


def tracking(found: Run) -> list[str]:
    """The tracking error in sentences."""
    if not found.ok:
        return []
    worst = found.arm.joints[int(np.argmax(np.abs(found.error).max(axis=0)))].name
    said = [
        f"followed to {number(found.rms, 3)} rad (m) rms, at worst {number(found.largest, 3)} at {worst}; "
        f"the hand to {number(1e3 * found.hand_rms, 3)} mm rms, at worst "
        f"{number(1e3 * found.hand_largest, 3)} mm"
    ]
    share = float(found.saturated[:-1].mean())
    if share:
        said.append(f"{100.0 * share:.3g} % of the commands exceeded what the drives can deliver")
    return said


def tracking_document(found: Run) -> dict[str, Any]:
    """The same for JSON."""
    names = ("controller", "period", "rms", "largest", "hand_rms", "hand_largest")
    return {name: getattr(found, name) for name in names} | {"saturated": float(found.saturated[:-1].mean())}
