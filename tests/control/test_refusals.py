"""What controllers, gains, sensors, comparisons and code are refused for, by the words of the error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from control.samples import moving_arm, samples
from one_joint import block

import forearm as fa
from forearm import control
from forearm.control.acceleration import AccelerationServo
from forearm.control.accelerometers import accelerometers
from forearm.control.bits import bits_needed, seen
from forearm.control.code import controller_code
from forearm.control.controllers.forces import forces_of
from forearm.control.extrapolation import FirstOrder, fitted_slopes
from forearm.control.gains import Gains
from forearm.control.path_length import PathLength
from forearm.control.precomputed import Precomputed
from forearm.control.procedures import Procedural, at_speeds
from forearm.control.store import Stored, empty_store
from forearm.control.tables import full_tables, table_error

ARM, MOTION = moving_arm()
BARE = random_arm(1, 3, drives=False)
CHAIN, PUMA = fa.load("chain3"), fa.load("puma560")
NO_ARM: Any = "puma560"
ONES, ZEROS = np.ones(3), np.zeros((2, 3))


def rolled_out(law: str, *wanted: Any) -> Any:
    return control.rollout_controller(CHAIN, law, *wanted, step=2e-3)


REFUSED: list[tuple[Any, str]] = [
    # sensors and bits
    (control.Encoder, "either bits or a resolution"),
    (lambda: control.Encoder(bits=60), "1 to 52"),
    (lambda: control.Encoder(resolution=-1.0), "above 0"),
    (lambda: control.Tachometer(8, 0.0), "above 0"),
    (lambda: control.Sensors(tachometer=control.Tachometer(8, 1.0), differences=True), "not both"),
    (lambda: bits_needed(period=0.0), "bits_needed, period: must be above 0"),
    (lambda: seen(MOTION, period=1e-9), "more than 1000000 samples"),
    (lambda: seen(MOTION, period=MOTION.duration), "expected at least 3"),
    (lambda: seen(MOTION, position_bits=0), "bits"),
    (lambda: accelerometers(ARM).accelerations(np.zeros(4), ONES), "readings: expected shape"),
    (lambda: accelerometers(ARM).read(np.zeros((4, 3)), ZEROS, ONES), "qd: expected a number"),
    (lambda: accelerometers(ARM, lever=0.0), "lever: must be above 0"),
    # controllers that carry forces on
    (lambda: AccelerationServo(ARM, MOTION).command(samples(MOTION, 1e-3)[0]), "no accelerations"),
    (lambda: AccelerationServo(ARM, MOTION, seen_by="tachometer"), "did you mean 'tachometers'"),
    (lambda: AccelerationServo(ARM, MOTION, gain=2.5), "gain"),
    (lambda: AccelerationServo(ARM, MOTION, gain=1.1, delay=1), "gain"),
    (lambda: AccelerationServo(ARM, MOTION, delay=2), "delay: expected a whole number"),
    (lambda: AccelerationServo(PUMA, MOTION), "motion: 'puma560' has 6 joints"),
    (lambda: FirstOrder(ARM, MOTION, slopes="pair"), "did you mean 'pairs'"),
    (lambda: fitted_slopes(np.zeros((1, 3)), np.zeros((1, 2))), "m at least 2"),
    (lambda: PathLength(ARM, MOTION, every=2.5), "every: expected a whole number of at least 1"),  # type: ignore[arg-type]
    (lambda: PathLength(ARM, MOTION, order=4), "path length, order"),
    (lambda: PathLength(ARM, [1.0, 2.0]), "plan one first"),  # type: ignore[arg-type]
    (lambda: Precomputed(ARM, MOTION, interval=1e-9), "more than 1000000 samples"),
    (lambda: at_speeds(ARM, MOTION, [1.0, 0.5]), "increasing numbers"),
    (lambda: at_speeds(ARM, MOTION, np.linspace(0.5, 1.0, 1000), phases=100_000), "use fewer"),
    (lambda: Procedural(ARM, MOTION, parameters=(1.0, 2.0)), "1 parameters"),
    (lambda: full_tables(6, 0), "values"),
    (lambda: table_error(BARE, 20, (ONES, ONES, ONES)), "more than 5000000 numbers"),
    (lambda: table_error(BARE, 3, (ONES, ONES)), "three arrays"),
    (lambda: empty_store(ARM, MOTION).learned(ZEROS, ZEROS, ZEROS, ONES), "four arrays"),
    (lambda: Stored(PUMA, control.default_motion(PUMA), store=empty_store(ARM, MOTION)), "3 joints"),
    # models and gains
    (lambda: control.ComputedTorque(CHAIN, dropped="no-gravty"), "no-gravity"),
    (lambda: forces_of(random_arm(31, 4, tree=True, drives=False), "own-link-only"), "own-link-only"),
    (lambda: control.perturbed(CHAIN, 1.5), "at most"),
    (lambda: control.perturbed(CHAIN, 0.1, True), "seed: expected a whole number of at least 0"),
    (lambda: control.locked_arm(CHAIN, ONES > 0.0, ONES), "one joint that moves"),
    (lambda: control.critically_damped(2, 0.0), "above 0"),
    (lambda: control.largest_bandwidth(1e-3, 2), "delay, in periods: expected a whole number from 0"),
    (lambda: control.joint_inertias(CHAIN, ZEROS), r"joint_inertias: expected one state of shape \(3,"),
    (lambda: control.natural_frequencies(CHAIN, ZEROS, ONES), "natural_frequencies, q: expected"),
    (lambda: control.natural_frequencies(CHAIN, ONES, -ONES), "at least 0"),
    (lambda: control.period_for(block(), [0.0], [[0.0]]), "pass stiffness"),
    (lambda: control.period_for(CHAIN, ONES, np.zeros((0, 3))), "period_for: no restoring force"),
    # the hand's space
    (lambda: control.OperationalSpace(BARE, axes=["x", "w"]), "axes: expected some of x, y, z, rx, ry,"),
    (lambda: control.hand_inertia(BARE, ONES, axes=["x", "x"]), "axes: expected some of"),
    (lambda: control.OperationalSpace(BARE, near=0.0), "near"),
    (lambda: control.OperationalSpace(NO_ARM), "expected an Arm with joints that move"),
    (lambda: control.Impedance(BARE, [1.0, 2.0]), "stiffness: expected 3 numbers or a matrix"),
    (lambda: control.Impedance(BARE, np.eye(3, k=1)), "expected finite numbers, or a symmetric"),
    (lambda: control.Impedance(BARE, 1.0, [1.0, -2.0, 1.0]), "damping: expected numbers or eigenv"),
    (lambda: control.Admittance(BARE, 0.0), "Admittance, mass: expected numbers above 0"),
    (lambda: control.Admittance(BARE, 1.0, -1.0), "Admittance, damping: expected numbers of at least"),
    (lambda: control.GravityCompensation(BARE, damping=-ONES), "damping: expected numbers of at least"),
    # code and rollouts
    (lambda: controller_code(BARE, "computed torque"), "expected one of .*did you mean 'computed_torque'"),
    (lambda: controller_code(BARE, "impedanc"), "got 'impedanc'; did you mean 'impedance'"),
    (lambda: controller_code(BARE, gains=Gains(ONES[:2], ONES, ONES)), "kp must be 3 finite numbers"),
    (lambda: controller_code(BARE, "impedance", gains=Gains(ONES, ONES, ONES)), "only joint-space"),
    (lambda: controller_code(BARE, most=[1.0, 0.0, 1.0]), "most: expected 3 torques above 0"),
    (lambda: controller_code(BARE, "pid_gravity", period=0.0), "period"),
    (lambda: controller_code(NO_ARM), "controller: expected an Arm"),
    (lambda: controller_code(BARE, control.GravityCompensation(CHAIN)), "made for 'chain3', not"),
    (lambda: controller_code(BARE, control.PD(BARE)), "expected the name of a law, or a controller"),
    (lambda: rolled_out("pd", ONES[:2]), r"q: 'chain3' has 3 joints, expected shape .* got \(2,\)"),
    (lambda: rolled_out("pd", ZEROS, ZEROS, ONES), r"qdd: expected the shape of q, \(2, 3\), got"),
    (lambda: rolled_out("pd_gravty", ZEROS), r"rollout_controller, law: .*pd_gravity"),
    # comparisons
    (lambda: control.compare(CHAIN, None, "PD"), "expected a list of names or controllers, got "),
    (
        lambda: control.compare(CHAIN, None, [rolled_out]),
        r"^controllers: expected a controller, with name, .* A plain function drives fa\.simulate_many\.$",
    ),
    (lambda: control.compare(CHAIN, None, ["PI"]), "PID"),
    (lambda: control.compare(CHAIN, [np.zeros((5, 3))] * 3), r"\.duration"),
    (lambda: control.compare(CHAIN, payload=-1.0), "payload"),
]


@pytest.mark.parametrize(("call", "said"), REFUSED)
def test_it_is_refused_with_a_reason(call: Any, said: str) -> None:
    with pytest.raises(fa.ForearmError, match=said):
        call()
