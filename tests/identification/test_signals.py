"""Signals of a log: derivatives within their stated errors, alike however it is read, in bounded memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.errors import InputError
from forearm.identification.convolution import filtered
from forearm.identification.log_derivatives import smoothed, taps
from forearm.identification.samples import PreparedLog
from forearm.identification.signals import prepare, scan, windows
from forearm.identification.signals import table as tables
from forearm.identification.signals.cutoff import cutoff_of
from forearm.identification.signals.prepare import prepare_log
from forearm.identification.signals.shifting import Shifter
from forearm.logs.motion import MotionLog
from forearm.logs.table import write_table

Floats = NDArray[np.float64]
ARM = random_arm(3, n=3, prismatic=False, fixed=False)
N = ARM.n
STEP = 2e-3
RATES = 2.0 * np.pi * np.array([0.9, 1.3, 0.6])
PHASES = np.array([0.2, 1.1, 2.3])
MIDDLE = np.array([0.5 * sum(j.limits) for j in ARM.joints])
SIZE = np.array([0.07 * (j.limits.upper - j.limits.lower) for j in ARM.joints])


def motion(t: Floats) -> tuple[Floats, Floats, Floats]:
    a = t[:, None] * RATES + PHASES
    return MIDDLE + SIZE * np.sin(a), SIZE * RATES * np.cos(a), -SIZE * RATES**2 * np.sin(a)


def efforts(t: Floats) -> Floats:
    return np.asarray(3.0 * np.cos(t[:, None] * RATES + 0.4))


def made(count: int = 3000, noise: float = 1e-5, seed: int = 1) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    t = STEP * np.arange(float(count))
    q = motion(t)[0] + noise * rng.normal(size=(count, N))
    return {"t": t, "q": q, "tau": efforts(t) + 0.01 * rng.normal(size=(count, N))}


def joined(prepared: PreparedLog, shift: float = 0.0) -> dict[str, Floats]:
    blocks = list(prepared.blocks(shift))
    names = ("t", "q", "qd", "qdd", "effort", "usable")
    return {x: np.concatenate([getattr(block, x) for block in blocks]) for x in names}


def columns(log: dict[str, Floats]) -> dict[str, Floats]:
    return {
        "t": log["t"],
        **{f"{x}{i + 1}": log[x][:, i] for x in log if x != "t" for i in range(log[x].shape[1])},
    }


def assert_alike(one: dict[str, Floats], other: dict[str, Floats], rounding: float = 1e-9) -> None:
    for x in one:
        size = 1.0 + np.abs(one[x]).max()
        np.testing.assert_allclose(other[x], one[x], rtol=0.0, atol=rounding * size, err_msg=x)


@pytest.mark.parametrize(("cutoff", "jitter"), [(None, 0.0), (12.0, 0.0), (None, 0.2)])
@pytest.mark.slow
def test_stated_errors_are_those_of_many_draws(cutoff: float | None, jitter: float) -> None:
    """Hundreds of logs as pieces of one, each with its own noise: against the motion in closed form."""
    rng = np.random.default_rng(5)
    draws, rows, noise = 60, 300, 3e-5
    t = STEP * np.arange(float(draws * rows)) + np.repeat(np.arange(draws), rows)
    t += jitter * STEP * rng.uniform(-1.0, 1.0, len(t))
    q = motion(t)[0] + noise * rng.normal(size=(len(t), N))
    prepared = prepare_log(ARM, {"t": t, "q": q, "tau": efforts(t)}, cutoff=cutoff)
    signals = prepared.signals
    assert signals.pieces == draws
    np.testing.assert_allclose(signals.q_noise, noise, rtol=0.1)
    found = joined(prepared)
    assert len(found["t"]) == signals.used
    _, qd, qdd = motion(found["t"])
    for stated, actual in ((signals.qd_error, found["qd"] - qd), (signals.qdd_error, found["qdd"] - qdd)):
        np.testing.assert_allclose(np.sqrt(np.mean(actual**2, axis=0)), stated, rtol=0.25)


def test_cutoff_is_where_a_sine_keeps_half_its_power() -> None:
    half, period = 17, 4e-3
    frequency = cutoff_of(half, period)
    t = period * np.arange(2e4)
    wave = np.sin(2.0 * np.pi * frequency * t)[:, None]
    power = np.mean(smoothed(t, wave, half).q ** 2) / np.mean(wave**2)
    assert power == pytest.approx(0.5, abs=2e-3)
    prepared = prepare_log(ARM, made(), cutoff=20.0).signals
    assert prepared.cutoff == pytest.approx(20.0, rel=0.05)
    assert prepared.cutoff == pytest.approx(cutoff_of(round(prepared.window / STEP / 2), STEP))


@pytest.mark.parametrize("half", [4, 31])
def test_constant_weights_give_what_fits_give(half: int) -> None:
    """Fourier transforms against sums, and both against fits at times that are hardly uneven."""
    log = made(600)
    even = filtered(log["q"], taps(half, STEP))
    plain = [np.array([np.convolve(x, w[::-1], "valid") for x in log["q"].T]).T for w in taps(half, STEP)]
    nudged = log["t"].copy()
    nudged[::2] += 1e-5 * STEP
    fit = smoothed(nudged, log["q"], half)
    for one, other, general in zip(even, plain, (fit.q, fit.qd, fit.qdd), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-9 * np.abs(other).max())
        np.testing.assert_allclose(general, other, rtol=0.0, atol=1e-3 * np.abs(other).max())


def test_fits_at_uneven_times_are_least_squares() -> None:
    """Each window by itself, by NumPy; the last of them alone in its group."""
    rng = np.random.default_rng(6)
    half, t = 5, np.cumsum(rng.uniform(0.5, 1.5, 27))
    q = rng.normal(size=(27, 2))
    for degree in (4, 6):
        fit = smoothed(t, q, half, degree)
        for k in (0, 7, 16):
            x = t[k : k + 2 * half + 1] - t[k + half]
            c = np.polynomial.polynomial.polyfit(x, q[k : k + 2 * half + 1], degree)
            for found, expected in ((fit.q, c[0]), (fit.qd, c[1]), (fit.qdd, 2.0 * c[2])):
                np.testing.assert_allclose(found[k], expected, rtol=1e-8, atol=1e-8)


def test_an_effort_is_that_of_the_motion_before() -> None:
    t = STEP * np.arange(3e3)
    log = {"t": t, "q": motion(t)[0], "tau": efforts(t)}
    prepared = prepare_log(ARM, log, cutoff=15.0)
    for shift in (0.0, 3.0 * STEP, 2.37 * STEP, -1.6 * STEP, -40.5 * STEP):
        found = joined(prepared, shift)
        np.testing.assert_array_equal(
            found["effort"], log["tau"][np.searchsorted(t, found["t"] - 0.5 * STEP)]
        )
        q, qd, qdd = motion(found["t"] - shift)
        np.testing.assert_allclose(found["q"], q, atol=1e-4)
        np.testing.assert_allclose(found["qd"], qd, atol=1e-2)
        np.testing.assert_allclose(found["qdd"], qdd, atol=2e-1)
    with pytest.raises(InputError, match="shift: expected at most 1000 periods, 2 s, got 3 s"):
        prepared.blocks(3.0)


def test_rows_of_a_piece_are_shifted_alike_however_they_come() -> None:
    rng = np.random.default_rng(2)
    t = np.cumsum(rng.uniform(0.6, 1.4, 200))
    rows = np.column_stack([t, rng.normal(size=(200, 2)), np.ones((200, 2))])
    for shift in (4.3, -7.1):
        whole = Shifter(shift, slice(1, 3)).shifted(rows, True)
        parts = Shifter(shift, slice(1, 3))
        out = [parts.shifted(rows[k : k + 7], False) for k in range(0, 200, 7)]
        out.append(parts.shifted(rows[:0], True))
        np.testing.assert_allclose(np.concatenate(out), whole, atol=1e-12)
        assert 190 <= len(whole) < 200


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
@pytest.mark.slow
def test_a_file_gives_what_arrays_give(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = made(4000)
    log["q"][700:720, 1] = np.nan
    path = tmp_path / f"log{ending}"
    if ending == ".npz":
        np.savez(path, **log)  # type: ignore[arg-type]
    else:
        write_table(path, columns(log))
    expected = joined(prepare_log(ARM, log), 1.5 * STEP)
    assert_alike(expected, joined(prepare_log(ARM, path), 1.5 * STEP))
    # a stream, in blocks of other sizes
    monkeypatch.setattr(tables, "KEPT", 2000 * (1 + 2 * N))
    monkeypatch.setattr(tables, "ROWS", 333)
    monkeypatch.setattr(windows, "BLOCK", 1000)
    prepared = prepare_log(ARM, path, cutoff=prepare_log(ARM, log).signals.cutoff)
    streamed = joined(prepared, 1.5 * STEP)
    assert_alike(expected, streamed, 1e-8)
    assert max(len(block.t) for block in prepared.blocks()) == 1000
    starts = [float(block.t[0]) for block in prepared.blocks() if block.starts]
    assert len(starts) == prepared.signals.pieces == 2
    assert [round(start / STEP) for start in starts] == [
        round(prepared.signals.window / STEP / 2),
        720 + round(prepared.signals.window / STEP / 2),
    ]


def test_a_pipe_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = made(500)
    write_table(tmp_path / "log.csv", columns(log))
    with (tmp_path / "log.csv").open("rb") as stream:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
        prepared = prepare_log(ARM, "-")
        assert_alike(joined(prepare_log(ARM, log)), joined(prepared))
        assert_alike(joined(prepared), joined(prepared))


@pytest.mark.slow
def test_decisions_do_not_depend_on_where_chunks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outliers, steps, wrapped angles, gaps, repeated and missing rows, wherever the cuts are."""
    rng = np.random.default_rng(8)
    log = made(800)
    q = log["q"]
    q[:, 1] = (q[:, 1] + 4.0 * log["t"] + np.pi) % (2.0 * np.pi) - np.pi
    q[rng.integers(800, size=12), 0] += 0.4
    q[500:, 2] += 0.3
    q[rng.integers(800, size=9), 2] = np.nan
    log["tau"][rng.integers(800, size=30), 1] = np.nan
    order = np.sort(np.concatenate([np.delete(np.arange(800), slice(620, 650)), rng.integers(800, size=5)]))
    dirty = {x: values[order] for x, values in log.items()}
    whole = prepare_log(ARM, dirty, cutoff=40.0)
    assert len(whole.signals.findings) >= 7
    for rows in (3, 50):
        monkeypatch.setattr(tables, "ROWS", rows)
        parts = prepare_log(ARM, dirty, cutoff=40.0)
        assert parts.signals.findings == whole.signals.findings
        assert parts.signals.pieces == whole.signals.pieces
        assert_alike(joined(whole, 0.4 * STEP), joined(parts, 0.4 * STEP))


@pytest.mark.slow
def test_a_long_stream_holds_few_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks whose memory is in use at once, while a log of a hundred is read twice."""
    log = made(20_000)
    held = 10  # chunks of the head
    monkeypatch.setattr(tables, "KEPT", held * 200 * (1 + 2 * N) - 1)
    monkeypatch.setattr(scan, "MOST", 2000)
    monkeypatch.setattr(scan, "SPAN", 500)
    monkeypatch.setattr(windows, "BLOCK", 500)
    alive: set[int] = set()
    most = {"first": 0, "again": 0}
    passes = iter(most)

    def chunks() -> Iterator[Floats]:
        which = next(passes)
        for k in range(100):
            part = slice(200 * k, 200 * k + 200)
            rows = np.column_stack([log[x][part] for x in ("t", "q", "tau")])
            alive.add(k)
            weakref.finalize(rows, alive.discard, k)
            most[which] = max(most[which], len(alive))
            yield rows
            del rows

    names = {x: tuple(f"{x}{i + 1}" for i in range(N)) for x in ("q", "tau")}
    table = tables.LogTable("stream", "t", names, np.ones(N), False, str, chunks)
    monkeypatch.setattr(prepare, "open_log", lambda *_: table)
    prepared = prepare_log(ARM, "stream")
    assert sum(len(block.t) for block in prepared.blocks(0.01)) == prepared.signals.used - 5
    assert most["first"] <= held + 3
    assert most["again"] <= 6


def test_logged_derivatives_are_taken_as_they_are() -> None:
    log = made()
    _, log["qd"], log["qdd"] = motion(log["t"])
    prepared = prepare_log(ARM, log)
    found = joined(prepared)
    for x in ("t", "q", "qd", "qdd"):
        np.testing.assert_array_equal(found[x], log[x])
    assert np.isnan(prepared.signals.cutoff)
    assert any("used as logged ('qd, " in text for text in prepared.signals.findings)
    assert prepare_log(ARM, log, derivatives="position").signals.cutoff > 0.0
    states = {x: log[x] for x in ("q", "qd", "qdd", "tau")}
    alone = prepare_log(ARM, states)
    assert alone.signals.period == 1.0
    assert alone.signals.used == len(log["t"])
    np.testing.assert_array_equal(joined(alone)["qdd"], log["qdd"])
    assert prepare_log(ARM, states, period=STEP).signals.period == pytest.approx(STEP)
    with pytest.raises(InputError, match="rows without times cannot be shifted"):
        alone.blocks(0.1)


@pytest.mark.slow
def test_of_a_simulation_the_torque_is_fitted(tmp_path: Path) -> None:
    """Its tau is that of the motors, whether torques or voltages drove them."""
    arm, volts = fa.load("cmu-dd"), np.array([2.0, 9.0, 1.0, 4.0, 0.3, 0.2])
    ramp = fa.Schedule(np.array([0.0, 0.1]), np.array([volts, 2.0 * volts]), "linear", quantity="voltage")
    run = fa.simulate(arm, [0.1] * 6, [0.0] * 6, 0.1, voltage=ramp)
    sources: list[Any] = [run]
    for name in ("run.csv", "run.parquet", "run.npz"):
        run.save(tmp_path / name)
        sources.append(tmp_path / name)
    for source in sources:
        prepared = prepare_log(arm, source)
        assert prepared.signals.effort == "tau"
        np.testing.assert_array_equal(joined(prepared)["effort"], run.tau)
        assert prepare_log(arm, source, effort="voltage").signals.effort == "voltage"
    with pytest.raises(InputError, match=r"found tau and voltage; choose which .* effort='tau' or 'voltage'"):
        prepare_log(arm, run.log)


def test_which_effort_is_meant() -> None:
    log = made()
    t, q, tau = log["t"], log["q"], log["tau"]
    wrong: list[tuple[dict[str, Floats], str]] = [
        ({**log, "current": tau}, r"found tau and current; choose which .* effort='tau' or 'current'"),
        ({"t": t, "q": q}, r"the log has q. Map the columns"),
        ({"t": t, "tau": q}, "no joint positions q"),
        ({"q": q, "tau": tau}, "no time column; give the sampling period"),
    ]
    for given, said in wrong:
        with pytest.raises(InputError, match=said):
            prepare_log(ARM, given)
    with pytest.raises(
        InputError, match="expected the path of a file, arrays by name, or a plan or simulation"
    ):
        prepare_log(ARM, 3)
    assert prepare_log(ARM, wrong[0][0], effort="current").signals.effort == "current"
    prepared = prepare_log(ARM, {"t": t, "q": q, "voltage": tau, "current": 2.0 * tau})
    assert prepared.signals.effort == "voltage"
    block = next(iter(prepared.blocks()))
    assert block.current is not None
    np.testing.assert_allclose(block.current, 2.0 * block.effort)
    expected = joined(prepare_log(ARM, log))
    named = prepare_log(ARM, {"t": t, "angle": q, "load": tau}, columns={"angle": "q", "load": "tau"})
    table = MotionLog(tuple(j.name for j in ARM.joints), t, q + 0.1, tau=tau, measured_q=q)
    for other in (named, prepare_log(ARM, columns(log)), prepare_log(ARM, SimpleNamespace(log=table))):
        assert_alike(expected, joined(other))


def test_a_joint_at_rest_has_no_velocity_at_all() -> None:
    """Its sign decides about friction: not the rounding of a filter."""
    log = made(400)
    log["q"][:, 1] = 0.123456789
    for times in (log["t"], log["t"] + 0.1 * STEP * np.random.default_rng(1).uniform(size=400)):
        found = joined(prepare_log(ARM, {**log, "t": times}))
        assert (found["qd"][:, 1] == 0.0).all()
        assert (found["qdd"][:, 1] == 0.0).all()
        assert (found["q"][:, 1] == 0.123456789).all()
