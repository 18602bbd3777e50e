"""Least squares as figaroh does it, with a regressor of ours in place of Pinocchio's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from arms import random_arm

from forearm.benchmarks.peers import figaroh
from forearm.benchmarks.peers.figaroh import PinocchioFit, samples_of
from forearm.dynamics.reference import regressor
from forearm.reduction.base import base_parameters

SAMPLES = 60
NEAR = 1e-9  # of efforts of some 100 N m, from two ways to solve the same least squares


def stand_in(arm: Any) -> Any:
    """What of Pinocchio is asked."""
    model = SimpleNamespace(nv=arm.n, createData=lambda: None)
    return SimpleNamespace(
        buildModelFromXML=lambda text: model,
        computeJointTorqueRegressor=lambda model, data, q, qd, qdd: regressor(arm, q, qd, qdd),
    )


@pytest.mark.slow
@pytest.mark.parametrize("extras", [(), ("fv", "fs", "ia", "off"), ("off", "fv")])
def test_predicts_what_least_squares_in_base_parameters_predicts(
    monkeypatch: pytest.MonkeyPatch, extras: tuple[str, ...]
) -> None:
    arm = random_arm(3, 3, "standard", fixed=False, drives=False)
    monkeypatch.setattr(figaroh, "import_module", lambda name: stand_in(arm))
    measured = samples_of(arm, SAMPLES, noise=0.5)
    found = PinocchioFit(arm, measured, extras).work()
    found.run()
    assert np.max(np.abs(found.answer() - _expected(arm, measured, extras))) < NEAR


def _expected(arm: Any, measured: Any, extras: tuple[str, ...]) -> Any:
    """Columns one by one, sample after sample."""
    columns = {
        "fv": measured.qd,
        "fs": np.sign(measured.qd),
        "ia": measured.qdd,
        "off": np.ones_like(measured.qd),
    }
    blocks = [base_parameters(arm).regressor(measured.q, measured.qd, measured.qdd)]
    blocks += [columns[extra][:, :, None] * np.eye(arm.n) for extra in extras]
    whole = np.concatenate(blocks, axis=2).reshape(SAMPLES * arm.n, -1)
    values = np.linalg.lstsq(whole, measured.tau.ravel(), rcond=None)[0]
    return (whole @ values).reshape(SAMPLES, arm.n)
