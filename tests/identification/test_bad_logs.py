"""Logs with one thing wrong, through `fa.identify` and the command: a sentence that names the column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called
from identification.bad_logs import BAD_LOGS, BadLog, Log
from identification.measured import SPELLINGS, as_columns, excited_motion, measured, write_log
from identification.true_arms import believed, panda_true, small_true
from numpy.typing import NDArray

import forearm as fa
from forearm.errors import InputError
from forearm.identification.result import Identification

Floats = NDArray[np.float64]
TRUE = small_true(3)
NOMINAL = believed(TRUE)


def good_log() -> Log:
    motion = excited_motion(TRUE, 6.0, 1)
    return measured(TRUE, motion, rate=150.0, effort_noise=0.02, is_share=True, q_noise=1e-5, seed=3)


def text_of(found: Identification) -> str:
    """All that is said of data."""
    said = [*found.findings, *(test.message for test in found.tests)]
    return " ".join([*said, *(text for log in found.logs for text in log.signals.findings)])


def outcome(bad: BadLog) -> tuple[bool, str]:
    """Whether the log is refused, and what is said."""
    try:
        found = fa.identify(NOMINAL, bad.change(good_log(), TRUE), torque_side="motor", **bad.options)
    except InputError as error:
        return True, str(error)
    return False, text_of(found)


@pytest.mark.slow
def test_nothing_is_wrong_with_the_log_that_they_are_made_of() -> None:
    found = fa.identify(NOMINAL, good_log(), torque_side="motor")
    assert not found.findings
    assert not any(test.message for test in found.tests)
    assert [text.split(",")[0] for text in found.logs[0].signals.findings] == [
        "Positions are zero-phase filtered"
    ]


# what reading alone finds is tested there too
EVERY = [pytest.param(b, marks=() if b.is_refused else pytest.mark.long, id=b.name) for b in BAD_LOGS]


@pytest.mark.parametrize("bad", EVERY)
@pytest.mark.slow
def test_what_is_wrong_is_said_of_the_column(bad: BadLog) -> None:
    names = {"t": "t"} | {f"{x}{k}": f"{x}, joint{k}" for x in ("q", "tau") for k in (1, 2, 3)}
    is_refused, said = outcome(bad)
    for words in bad.expected(names):
        assert words in said
    assert is_refused == bad.is_refused


QUICK = ("exchanged efforts", "a position that is missing", "wrong sign of a position")
CASES = [pytest.param(b, marks=() if b.name in QUICK else pytest.mark.long, id=b.name) for b in BAD_LOGS]


@pytest.mark.parametrize("bad", CASES)
@pytest.mark.slow
def test_the_command_says_it_of_the_columns_of_a_file(
    bad: BadLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    NOMINAL.save("arm.toml")
    log = bad.change(good_log(), TRUE)
    write_log(tmp_path / "log.csv", TRUE, log, "ros")
    units = [f"--{key}={value}" for key, value in bad.options.items()]
    code, out, err = called(capsys, "identify", "arm.toml", "log.csv", "--torque-side", "motor", *units)
    time, form = SPELLINGS["ros"]
    names = {"t": time}
    for ours, theirs in (("q", "position"), ("tau", "effort")):
        names |= {f"{ours}{k}": form.format(joint=f"joint{k}", theirs=theirs) for k in (1, 2, 3)}
    assert set(names.values()) <= set(as_columns(TRUE, log, "ros"))
    said = " ".join((err if bad.is_refused else out).split())
    for words in bad.expected(names):
        assert words in said
    assert (code != 0) == bad.is_refused


def test_a_check_that_is_in_the_way_can_be_left_out() -> None:
    log = BAD_LOGS[[b.name for b in BAD_LOGS].index("exchanged efforts")].change(good_log(), TRUE)
    found = fa.identify(NOMINAL, log, torque_side="motor", check=False)
    assert "times the noise" in text_of(found)


def test_the_side_of_the_gear_is_asked_for() -> None:
    with pytest.raises(InputError, match="torque_side: expected 'motor' or 'link'"):
        fa.identify(NOMINAL, good_log())


def test_a_delay_is_found_and_kept() -> None:
    motion = excited_motion(TRUE, 6.0, 1)
    late = measured(TRUE, motion, rate=150.0, effort_noise=0.01, is_share=True, delay=0.012, seed=3)
    used = fa.identify(NOMINAL, late, torque_side="motor").logs[0]
    assert abs(used.shift - 0.012) < 4.0 * used.shift_std
    assert used.shift_std < 0.003


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.long
def test_columns_of_seven_joints_are_told_apart(seed: int) -> None:
    true = panda_true()
    motion = excited_motion(true, 8.0, seed)
    log = measured(true, motion, rate=150.0, effort_noise=0.03, is_share=True, q_noise=1e-5, seed=seed)
    nominal = believed(true, seed=seed)
    assert fa.identify(nominal, log, torque_side="motor").findings == ()
    i, j = np.random.default_rng(seed).choice(7, 2, replace=False).tolist()
    order = [j if k == i else i if k == j else k for k in range(7)]
    a, b = sorted((i + 1, j + 1))
    with pytest.raises(InputError, match=f"'tau, joint{a}' and 'tau, joint{b}' are swapped"):
        fa.identify(nominal, {**log, "tau": log["tau"][:, order]}, torque_side="motor")
    turned = log["tau"] * np.where(np.arange(7) == i, -1.0, 1.0)
    with pytest.raises(InputError, match=f"column 'tau, joint{i + 1}' has the wrong sign"):
        fa.identify(nominal, {**log, "tau": turned}, torque_side="motor")
