"""Simulations whose rows differ on a GPU: the bits of the CPU, with figures summed up on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernels.cuda.gpu_function import gpu
from simulation.different_rows import ARM, DIFFERENT, ELECTRIC, LIMITED, Q0, QD0, ROWS, STEP, STEPS, drawn
from simulation.test_many_rows import followed

import forearm as fa
from forearm.control.gains import Gains
from forearm.control.rollout_laws import gains_row
from forearm.kernels.cuda.driver import Device
from forearm.kernels.native import host
from forearm.simulation import SUMMARIES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        not host("float64").fused, reason="this processor has no fused multiply-add, which every GPU has"
    ),
]
DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])


@pytest.fixture(autouse=True)
def device() -> Device:
    return gpu()


def check_same(arm: fa.Arm, dtype: str, **given: Any) -> None:
    """Run on both and compare states, records and figures bit for bit."""
    here, there = (
        fa.simulate_many(arm, Q0, QD0, STEP * STEPS, dtype=dtype, device=where, **given)
        for where in ("cpu", "cuda")
    )
    assert np.isfinite(here.q).all()
    assert np.array_equal(here.q, there.q)
    assert np.array_equal(here.qd, there.qd)
    assert here.summaries.keys() == there.summaries.keys()
    for name, values in here.summaries.items():
        assert np.array_equal(values, there.summaries[name], equal_nan=True), name


@DTYPES
@pytest.mark.parametrize("drive", ["torque", "voltage"])
def test_rows_with_parameters_of_their_own(drive: str, dtype: str) -> None:
    given = DIFFERENT | (ELECTRIC if drive == "voltage" else {})
    names = ["peak_torque", "rms_torque", "peak_speed", "work", "energy", "copper_loss"]
    u = drawn(13, -10.0, 10.0, ROWS, 3)
    check_same(ARM, dtype, parameters=given, summaries=names, record=20, **{drive: u})


@DTYPES
def test_every_figure_under_a_control_law(dtype: str) -> None:
    controller, _ = followed(ARM)
    names = [name for name in SUMMARIES if not name.startswith("limit")]
    check_same(ARM, dtype, controller=controller, parameters=DIFFERENT, summaries=names, record=1)


def test_limits_of_effort() -> None:
    u = drawn(14, -10.0, 10.0, ROWS, 3)
    check_same(LIMITED, "float64", torque=u, effort_limits=True, summaries=["peak_torque", "work"])


def test_gains_by_row() -> None:
    kp, kd = drawn(15, 200.0, 900.0, ROWS, 3), drawn(16, 20.0, 60.0, ROWS, 3)
    rows = [Gains(kp[k], kd[k], np.zeros(3)) for k in range(ROWS)]
    controller, _ = followed(ARM, open_gains=True)
    own = replace(controller, gains=np.stack([gains_row(one, STEP) for one in rows]))
    check_same(ARM, "float64", controller=own, summaries=["rms_error"])
