"""The streamed fit beside one that holds all rows at once, with columns written out by hand."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from arms import random_arm
from identification.dense_fit import DenseFit, dense_columns, dense_fit
from identification.measured import excited_motion, measured
from identification.true_arms import believed, small_true
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm, Friction, Motor
from forearm.identification.result import Identification

Floats = NDArray[np.float64]
NEAR_REVERSAL, SLOWEST = (
    2.0,
    1e-4,
)  # samples, and of the largest speed: rows of dry friction that are left out


def simple_drives(arm: Arm) -> Arm:
    """The arm with viscous friction and rotors alone."""
    parts = {"motor": Motor(gear_ratio=-30.0, rotor_inertia=2e-4), "friction": Friction(viscous=0.7)}
    return arm.with_drives({j.name: {**parts, "bearings": (), "transmission": None} for j in arm.joints})


CASES: dict[str, tuple[Arm, Literal["motor", "link"]]] = {
    "friction of motors": (small_true(3, side="motor"), "motor"),
    "sliding joints, behind the gear": (small_true(3, prismatic=True), "link"),
    "tree": (simple_drives(random_arm(6, 3, tree=True, drives=False)), "motor"),
}


def told_apart(found: Identification) -> list[str]:
    """The names of what the data tell."""
    return [x for x in found.parameters.names if np.isfinite(found.std[x])]


def dense_beside(found: Identification, log: dict[str, Floats]) -> DenseFit:
    """The same by all rows at once; what the data do not tell stays as it was given."""
    arm, side, names = found.before, found.torque_side, told_apart(found)
    lost = (len(log["t"]) - found.logs[0].signals.used) // 2  # at each end
    rest = {key: x[lost : len(x) - lost] for key, x in log.items()}
    others = [x for x in found.parameters.names if x not in names]
    if others:
        known = dense_columns(arm, rest, others, side) @ [found.parameters[x] for x in others]
        rest["tau"] = rest["tau"] - known
    return dense_fit(arm, rest, names, side)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_values_and_deviations_are_those_of_all_rows_at_once(case: str) -> None:
    true, side = CASES[case]
    motion = excited_motion(true, 6.0, 2)
    log = measured(true, motion, side=side, rate=25.0, effort_noise=0.05, derivatives=True, seed=4)
    nominal = believed(true, friction="simple")
    found = fa.identify(
        nominal, log, torque_side=side, friction="viscous", weighting="ordinary", shift=0.0, check=False
    )
    dense = dense_beside(found, log)
    names = told_apart(found)
    assert dense.rank == len(names)
    values, deviations = (np.array([x[name] for name in names]) for x in (found.parameters, found.std))
    largest = float(np.abs(dense.values).max())
    np.testing.assert_allclose(values, dense.values, rtol=1e-8, atol=1e-8 * largest)
    np.testing.assert_allclose(deviations, np.sqrt(np.diag(dense.covariance)), rtol=1e-6)
    rms = np.sqrt(np.mean(dense.residual**2, axis=0))
    np.testing.assert_allclose(found.stages[0].rms, rms, rtol=1e-6)


@pytest.mark.slow
def test_dry_friction_leaves_out_what_is_near_a_reversal() -> None:
    true = small_true(2)
    motion = excited_motion(true, 6.0, 2)
    log = measured(true, motion, rate=100.0, effort_noise=0.05, derivatives=True, seed=4)
    found = fa.identify(believed(true), log, torque_side="motor", weighting="ordinary", shift=0.0)
    names = told_apart(found)
    lost = (len(log["t"]) - found.logs[0].signals.used) // 2
    inner = {key: x[lost : len(x) - lost] for key, x in log.items()}
    fastest = np.abs(log["qd"]).max(axis=0)
    moving = np.abs(inner["qd"]) > np.maximum(SLOWEST * fastest, NEAR_REVERSAL * 0.01 * np.abs(inner["qdd"]))
    assert 0.9 < moving.mean() < 1.0
    rotor = "joint1.motor.rotor_inertia"
    y = inner["tau"] - dense_columns(found.before, inner, [rotor])[..., 0] * found.parameters[rotor]
    A = dense_columns(found.before, inner, names)
    x = np.linalg.lstsq(A[moving], y[moving], rcond=None)[0]
    np.testing.assert_allclose([found.parameters[name] for name in names], x, rtol=1e-7, atol=1e-9)
