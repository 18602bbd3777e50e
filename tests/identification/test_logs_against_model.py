"""Logs of simulated runs against the arm that made them, against another, and logs that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm
from forearm.identification.log_derivatives import best_half, noise_of, smoothed
from forearm.identification.logs_against_model import LogComparison, compare_log
from forearm.logs.table import write_table
from forearm.simulation import Sampling

Floats = NDArray[np.float64]
STEP = 2e-3
Q0 = np.array([0.1, -0.6, 0.4, 0.2, 0.5, -0.3])


@pytest.fixture(scope="module")
def arm() -> Arm:
    return fa.load("puma560")


@pytest.fixture(scope="module")
def run(arm: Arm) -> dict[str, Floats]:
    """Two seconds of a motion with reversals, torques by a stiff PD with feed-forward of the weight."""

    def controller(t: float, q: Floats, qd: Floats) -> Floats:
        phase = 2.0 * t + np.arange(6)
        wanted, rate = Q0 + 0.4 * (np.sin(phase) - np.sin(np.arange(6))), 0.8 * np.cos(phase)
        stiff, damped = (
            np.array([800.0, 1500.0, 600.0, 60.0, 60.0, 40.0]),
            np.array([160.0, 240.0, 120.0, 12.0, 12.0, 8.0]),
        )
        return np.asarray(stiff * (wanted - q) + damped * (rate - qd))

    made = fa.simulate(
        arm,
        Q0,
        0.8 * np.cos(np.arange(6.0)),
        2.0,
        controller=controller,
        step=STEP / 4,
        sampling=Sampling(record=4),
        method="rk4",
    )
    # the torque at an instant, not one that a step held: what inverse dynamics asks for with
    # the run's accelerations
    tau = fa.compile(arm).inverse_dynamics(made.q, made.qd, made.qdd)
    return {"t": made.t, "q": made.q, "tau": tau}


def changed(log: dict[str, Floats], **columns: Any) -> dict[str, Floats]:
    return {**log, **columns}


def as_columns(log: dict[str, Floats], torque: str = "tau") -> dict[str, Floats]:
    table = {"t": log["t"]}
    for i in range(log["q"].shape[1]):
        table[f"q{i + 1}"] = log["q"][:, i]
        table[f"{torque}{i + 1}"] = log[torque][:, i]
    return table


@pytest.mark.slow
def test_more_noise_chooses_a_longer_window_and_near_the_best() -> None:
    t = np.arange(0.0, 1.5, 1e-3)
    clean = 0.5 * np.sin(7.0 * t)[:, None]
    true = -24.5 * np.sin(7.0 * t)
    halves = []
    for sigma in (1e-7, 1e-5, 1e-3):
        q = clean + sigma * np.random.default_rng(3).normal(size=clean.shape)
        assert noise_of(q)[0] == pytest.approx(sigma, rel=0.15)
        halves.append(best_half(t, q)[0])

        def wrong(half: int, q: Floats = q) -> float:
            fit = smoothed(t, q, half)
            return float(np.sqrt(np.mean((fit.qdd[:, 0] - true[fit.first : fit.last]) ** 2)))

        # the rule does not know the truth; near the least error of all windows is near enough
        assert wrong(halves[-1]) < 1.3 * min(wrong(h) for h in (4, 8, 27, 64, 154))
    assert halves == sorted(halves)
    assert halves[0] < halves[-1]


@pytest.mark.slow
def test_the_arm_that_made_a_log_explains_it(arm: Arm, run: dict[str, Floats], tmp_path: Path) -> None:
    write_table(tmp_path / "run.csv", as_columns(run))
    found = compare_log(arm, tmp_path / "run.csv")
    assert isinstance(found, LogComparison)
    # dry friction, up to 25 N m, turns round within one window at a reversal: these samples are off
    assert (found.explained > 0.97).all(), found.explained
    quiet = (np.abs(found.qd) > 0.1).all(axis=1)
    assert quiet.any()
    size = np.abs(found.measured).max(axis=0)
    assert (np.abs(found.residual[quiet]).max(axis=0) < 0.05 * size).all()
    text = found.table()
    assert "joint1" in text
    assert "explained" in text
    assert "torques of the log" in text


@pytest.mark.slow
def test_an_arm_without_its_friction_or_load_leaves_just_these(arm: Arm, run: dict[str, Floats]) -> None:
    full = compare_log(arm, run)
    bare = compare_log(arm.rigid(), run)
    truth = fa.compile(arm).inverse_dynamics(bare.q, bare.qd, bare.qdd) - bare.model
    assert np.abs((bare.residual - full.residual) - truth).max() < 1e-9 * np.abs(bare.measured).max()
    assert (bare.rms > 3.0 * full.rms).all()
    heavy = run["tau"] + (
        fa.dynamics.gravity(arm.with_payload(mass=3.0), run["q"]) - fa.dynamics.gravity(arm, run["q"])
    )
    loaded = compare_log(arm, changed(run, tau=heavy))
    assert abs(loaded.mean[1]) > 5.0 * abs(full.mean[1])


@pytest.mark.slow
def test_currents_go_through_gear_and_constant(arm: Arm, run: dict[str, Floats], tmp_path: Path) -> None:
    K = np.array([j.motor.gear_ratio * j.motor.torque_constant for j in arm.joints])  # type: ignore[union-attr, operator]
    log = {"t": run["t"], "q": run["q"], "current": run["tau"] / K}
    plain, found = compare_log(arm, run), compare_log(arm, log)
    assert np.abs(found.measured - plain.measured).max() < 1e-12 * np.abs(plain.measured).max()
    assert "torque constant" in found.message
    write_table(tmp_path / "run.csv", as_columns(log, "current"))
    assert compare_log(arm, tmp_path / "run.csv").measured.tobytes() == found.measured.tobytes()
    with pytest.raises(fa.ModelError, match="currents need the torque_constant of every motor; joint1"):
        compare_log(arm.rigid(), log)


def sines(arm: Arm, hertz: float, rate: float, duration: float, noise: float = 0.0) -> dict[str, Floats]:
    """Every joint on a sine, with its exact torque, and positions with noise."""
    t, w = np.arange(0.0, duration, 1.0 / rate), 2.0 * np.pi * hertz
    phase = w * t[:, None] + np.arange(arm.n)
    q, qd = 0.1 * np.sin(phase), 0.1 * w * np.cos(phase)
    tau = fa.dynamics.inverse(arm, q, qd, -(w**2) * q)
    return {"t": t, "q": q + noise * np.random.default_rng(1).normal(size=q.shape), "tau": tau}


@pytest.mark.slow
@pytest.mark.parametrize(("hertz", "noise", "least"), [(5.0, 1e-4, 0.99), (10.0, 0.0, 0.99)])
def test_a_window_never_spans_whole_cycles(arm: Arm, hertz: float, noise: float, least: float) -> None:
    found = compare_log(arm.rigid(), sines(arm.rigid(), hertz, 100.0, 8.0, noise))
    # over a cycle or more, polynomials of degree 4 and 6 are both flat, and agree
    assert found.window < 0.85 / hertz
    assert (found.explained > least).all(), found.explained
    assert not found.is_longest


@pytest.mark.slow
def test_noise_is_told_from_a_fast_motion() -> None:
    q = sines(fa.load("puma560").rigid(), 5.0, 100.0, 8.0, 1e-5)["q"]
    # twenty samples a cycle: sixth differences of the motion are as large as such noise,
    # the eighth are smaller
    assert noise_of(q) == pytest.approx(np.full(6, 1e-5), rel=0.3)


def test_a_gap_parts_the_log_and_uneven_times_are_taken(arm: Arm, run: dict[str, Floats]) -> None:
    kept = np.r_[0:400, 460:1001]
    log = {name: column[kept] for name, column in run.items()}
    found = compare_log(arm, log, window=0.04)
    whole = compare_log(arm, run, window=0.04)
    assert found.pieces == 2
    assert "in 2 pieces" in found.message
    assert len(found.t) == len(kept) - 2 * 2 * 10
    shared = np.isin(whole.t, found.t)
    assert np.abs(whole.model[shared] - found.model).max() < 1e-6 * np.abs(whole.model).max()
    second = {
        name: column[np.sort(np.random.default_rng(2).permutation(1001)[:900])]
        for name, column in run.items()
    }
    assert (compare_log(arm, second).explained > 0.95).all()


WRONG: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda log: log.pop("t"), "no time column"),
    (lambda log: log.pop("tau"), "neither joint tau nor current"),
    (lambda log: log.pop("q"), "no joint positions q"),
    (lambda log: log.update(current=log["q"]), "both tau and current"),
    (
        lambda log: log.update(speed=log["q"]),
        "'speed' is not a quantity of a motion; known are t, q, qd, qdd, tau,",
    ),
    (lambda log: log.update(q=np.where(log["q"] == log["q"][7], np.nan, log["q"])), "log, q: row 7 is nan"),
    (
        lambda log: log.update(t=np.where(log["t"] == log["t"][5], log["t"][4], log["t"])),
        "increase from row 4",
    ),
    (lambda log: log.update(q=log["q"][:, :4]), r"log, q: expected shape \(T, 6\)"),
    (lambda log: log.update(tau=log["tau"][:-1]), "one T for all"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_what_cannot_be_used_is_refused(
    arm: Arm, run: dict[str, Floats], change: Callable[[dict[str, Any]], object], message: str
) -> None:
    log: dict[str, Any] = dict(run)
    change(log)
    with pytest.raises(fa.InputError, match=message):
        compare_log(arm, log)


def test_files_that_cannot_be_used_are_refused(arm: Arm, run: dict[str, Floats], tmp_path: Path) -> None:
    path, columns = tmp_path / "log.csv", as_columns(run)
    for table, message in (
        ({name: column[:8] for name, column in columns.items()}, "8 rows; expected at least 9 samples"),
        ({name: column for name, column in columns.items() if name != "tau3"}, "missing: tau3"),
        ({"x": run["t"]}, r"no column with q or measured_q or tau or current of a joint"),
        (
            columns | {"q2": np.where(run["t"] == run["t"][3], np.nan, run["q"][:, 1])},
            r"line 5.*finite number",
        ),
    ):
        write_table(path, table)
        with pytest.raises(fa.InputError, match=message):
            compare_log(arm, path)


def test_windows_and_periods_are_checked(arm: Arm, run: dict[str, Floats]) -> None:
    gone = np.flatnonzero(np.arange(1001) % 10 < 6)[:200]
    pieces = {name: column[gone] for name, column in run.items()}
    asked: list[tuple[dict[str, Floats], dict[str, Any], str]] = [
        (run, {"window": 2e-3}, r"expected at least 9, 0\.016 s"),
        (run, {"window": 5.0}, "give a smaller window"),
        (run, {"period": 1e-3}, "omit period"),
        *((pieces, given, "the longest of 34 pieces between gaps has 6 rows; expected at least 9 samples")
          for given in ({}, {"window": 0.05})),
    ]  # fmt: skip
    for log, given, message in asked:
        with pytest.raises(fa.InputError, match=message):
            compare_log(arm, log, **given)
    without = {name: column for name, column in run.items() if name != "t"}
    even, timed = compare_log(arm, without, period=STEP, window=0.04), compare_log(arm, run, window=0.04)
    assert np.abs(even.model - timed.model).max() < 1e-6 * np.abs(timed.model).max()
