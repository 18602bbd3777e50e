"""Logs with one thing wrong, through `fa.identify` and the command: a sentence that names the column."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.lines import Capture, called
from identification.bad_logs import BAD_LOGS, BadLog, Log
from identification.measured import ROS, SPELLINGS, as_columns, excited_motion, measured, write_log
from identification.true_arms import believed, small_true
from numpy.typing import NDArray

import forearm as fa
from forearm.errors import InputError
from forearm.identification.result import Identification

Floats = NDArray[np.float64]
TRUE = small_true(3)
NOMINAL = believed(TRUE)


@cache
def measured_log(noise: float = 0.02, delay: float = 0.0) -> Log:
    motion = excited_motion(TRUE, 6.0, 1)
    return measured(
        TRUE, motion, rate=100.0, effort_noise=noise, is_share=True, q_noise=1e-5, delay=delay, seed=3
    )


def good_log() -> Log:
    return dict(measured_log())


def text_of(found: Identification) -> str:
    """All that is said of data."""
    said = [*found.findings, *(test.message for test in found.tests)]
    return " ".join([*said, *(text for log in found.logs for text in log.signals.findings)])


@pytest.mark.slow
def test_nothing_is_wrong_with_the_log_that_they_are_made_of_and_a_delay_is_found_and_kept() -> None:
    found = fa.identify(NOMINAL, measured_log(0.01, 0.012), torque_side="motor")
    assert not found.findings
    assert not any(test.message for test in found.tests)
    (used,) = found.logs
    assert [text.split(",")[0] for text in used.signals.findings] == ["Positions are zero-phase filtered"]
    assert abs(used.shift - 0.012) < 4.0 * used.shift_std < 0.012


@pytest.mark.parametrize("bad", BAD_LOGS, ids=lambda bad: bad.name)
@pytest.mark.slow
def test_what_is_wrong_is_said_of_the_column(bad: BadLog) -> None:
    names = {"t": "t"} | {f"{x}{k}": f"{x}, joint{k}" for x in ("q", "tau") for k in (1, 2, 3)}

    def identified(**options: Any) -> str:
        return text_of(fa.identify(NOMINAL, bad.change(good_log(), TRUE), torque_side="motor", **options))

    if bad.is_refused:
        with pytest.raises(InputError) as caught:
            identified(**bad.options)
        said = str(caught.value)
    else:
        said = identified(**bad.options)
    assert all(words in said for words in bad.expected(names)), said
    if bad.name == "exchanged efforts":  # a check that is in the way can be left out
        assert "times the noise" in identified(check=False)


CASES = [
    pytest.param(b, marks=() if b.name == "exchanged efforts" else pytest.mark.long, id=b.name)
    for b in BAD_LOGS
]


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
    columns = {"t": time} | {
        f"{ours}{k}": form.format(joint=f"joint{k}", theirs=ROS[ours])
        for ours in ("q", "tau")
        for k in (1, 2)
    }
    assert set(columns.values()) <= set(as_columns(TRUE, log, "ros"))
    said = " ".join((err if bad.is_refused else out).split())
    assert all(words in said for words in bad.expected(columns)), said
    assert (code != 0) == bad.is_refused
