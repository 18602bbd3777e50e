"""Swartz: his integration formula, and the kept session of `sim` against calls of the library."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.reproduce.recompute import swartz
from forearm.simulation import Accuracy

DIGITS = 1e-7  # of numbers that the session shows to eight
SAME = 1e-12  # rad: the same steps in another order of operations


@pytest.mark.slow
def test_the_corrected_formula_is_rk3() -> None:
    arm = fa.load("cmu-dd")
    run = fa.simulate(
        arm, swartz.START, np.zeros(6), swartz.TIME, voltage=swartz.VOLTAGE, method="rk3", step=2e-3
    )
    assert np.abs(swartz.by_hand(2e-3, as_printed=False) - run.q[-1]).max() < SAME
    assert np.abs(swartz.by_hand(2e-3, as_printed=True) - run.q[-1]).max() > 1e-5


@pytest.mark.parametrize(("as_printed", "order"), [(False, 3.0), (True, 1.0)])
def test_orders_on_a_pendulum_without_arm(as_printed: bool, order: float) -> None:
    """On theta'' = -theta, whose motion is known."""

    def end(h: float) -> float:
        theta, omega = np.array([0.3]), np.array([0.8])
        for _ in range(round(1.0 / h)):
            theta, omega = swartz.step(lambda x, _: -x, theta, omega, h, as_printed)
        return float(theta[0]) - (0.3 * math.cos(1.0) + 0.8 * math.sin(1.0))

    assert math.log2(abs(end(0.01) / end(0.005))) == pytest.approx(order, abs=0.05)


@pytest.mark.slow
def test_measured_orders() -> None:
    found = swartz.orders()
    assert found["order, rk3"] == pytest.approx(3.0, abs=0.05)
    assert found["order, as printed"] == pytest.approx(1.0, abs=0.05)


@pytest.mark.slow
def test_the_session_shows_what_the_library_computes() -> None:
    shown, ended = swartz.played()
    arm = fa.load("cmu-dd").replace(gravity=(0.0, 0.0, 9.80621))
    omega, alpha = [0.2, -0.1, 0.3, 0.1, -0.2, 0.4], [1.0, 0.5, -1.0, 0.5, 1.0, 2.0]
    tau = fa.dynamics.inverse(arm, swartz.START, omega, alpha)
    assert np.abs(shown["torque"][0] - tau).max() < DIGITS * np.abs(tau).max()
    assert np.abs(shown["alpha"][0] - fa.dynamics.forward(arm, swartz.START, omega, tau)).max() < DIGITS
    run = fa.simulate(
        arm,
        swartz.START,
        np.zeros(6),
        0.2,
        voltage=swartz.VOLTAGE,
        method="dp45",
        accuracy=Accuracy(rtol=1e-10),
    )
    for theta in (shown["theta"][0], shown["theta"][2]):
        assert np.abs(theta - run.q[-1]).max() < DIGITS
    assert ended.simulation is not None
    assert len(ended.simulation.t) == 201


def test_the_session_runs_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "cmu-dd", "--script", str(swartz.SESSION)]) == 0
    assert "gravity = -9.80621" in capsys.readouterr().out


def test_a_session_that_fails_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.sim"
    broken.write_text("gravity\ntheta = 1 2\n", encoding="utf-8")
    monkeypatch.setattr(swartz, "SESSION", broken)
    with pytest.raises(fa.ForearmError, match=r"broken\.sim: line 2: "):
        swartz.played.__wrapped__()
