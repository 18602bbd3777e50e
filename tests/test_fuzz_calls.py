"""A sample of calls with wrong arguments; `python tools/fuzz_calls.py --count 20000` takes more."""

from __future__ import annotations

import random
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fuzz_jerk
import fuzz_trajectories
import numpy as np
import pytest
from fuzz_calls import CALLS, FUZZER, kernel, log, smooth_arm
from fuzz_report import add_seed
from sweeps import long

import forearm as fa
from forearm.identification.cone_program import Cone, nearest_point
from forearm.identification.noise_model import Autocovariances

SEED = 20  # any
COUNTS = {"simulate_gradient": 60, "simulate": 40, "identify": 40, "excite": 12, "generate": 60, "study": 100}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [*COUNTS.items(), *long((name, 1500) for name in COUNTS)])
def test_every_call_gives_an_answer_or_an_error(name: str, count: int) -> None:
    report = FUZZER.fuzz(name, count, SEED)
    assert not report.failures, str(report)
    assert report.accepted + report.refused == count
    assert min(report.accepted, report.refused) > count // 50


def test_a_failure_says_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_given: dict[str, Any], _folder: Path) -> None:
        raise ZeroDivisionError("on purpose")

    subject = replace(FUZZER.subjects["generate"], check=fails)
    report = replace(FUZZER, subjects={"generate": subject}).fuzz("generate", 3, SEED, first=7)
    assert [failure.times for failure in report.failures] == [3]
    text = f"python tools/fuzz_calls.py --function generate --seed {SEED} --index 7"
    assert str(report).splitlines()[-1] == f"    again: {text}"
    monkeypatch.setattr(sys, "argv", text.split()[1:])
    assert FUZZER.main("") == 0


def test_every_run_has_a_seed_of_its_own() -> None:
    seeds = set()
    for _ in range(3):
        parser = ArgumentParser()
        add_seed(parser)
        seeds.add(parser.parse_args([]).seed)
        assert parser.parse_args(["--seed", "5"]).seed == 5
    assert len(seeds) == 3


def gradient(**changed: Any) -> Any:
    q = np.full((3, 2), 0.1)
    given: dict[str, Any] = {"states": (q, q), "weights": (q, q), "steps": 2, "step": 1e-3, "record": 1}
    return kernel(("part2.mass",)).simulate_gradient(**{**given, **changed})


def study(**changed: Any) -> Any:
    given: dict[str, Any] = {"vary": {"part1.mass": [1.0, 2.0]}, "figures": "peak_torque", "duration": 0.1}
    return fa.Study("some", smooth_arm(), **{**given, **changed})


def identify(**changed: Any) -> Any:
    data = {name: log()[name] for name in ("t", "q", "tau")}
    return fa.identify(smooth_arm(), **{"log": data, "torque_side": "link", **changed})


def excite(**changed: Any) -> Any:
    return fa.excite(smooth_arm(), **{"duration": 2.0, **changed})


def generate(**changed: Any) -> Any:
    return fa.generate(smooth_arm(), **{"function": "gravity", **changed})


def simulate(**changed: Any) -> Any:
    return kernel().simulate(np.zeros(2), np.zeros(2), steps=2, step=1e-3, **changed)


def short_row(t: Any, q: Any, qd: Any, reference: Any) -> Any:
    return reference[:2] - q + reference[2]


@pytest.mark.parametrize(
    ("call", "changed", "message"),
    [
        (study, {"motors": [1, 2]}, "study, motors: expected Mapping, got [1, 2]."),
        (study, {"figures": 3}, "study, figures: expected a name or a list of names, got 3."),
        (study, {"vary": {"part1.mass": np.array(1.0)}}, "vary, 'part1.mass': expected a distribution"),
        (study, {"torque": [1, [2, 3]]}, "study, torque[2]: expected a number, got [2, 3]."),
        (
            study,
            {"design": "grid", "rows": "x"},
            "study, rows: expected a whole number from 1 to 4294967296, got 'x'.",
        ),
        (
            generate,
            {"function": np.array("gravity")},
            "generate, function: expected a name or a list of names, got array('gravity',",
        ),
        (
            gradient,
            {"states": np.array(1.0)},
            "simulate_gradient, states: expected a pair of arrays (q, qd), got array(1.).",
        ),
        (
            gradient,
            {"parameters": {"part2.mass": [1, [2, 3]]}},
            "parameters, part2.mass: expected an array of real numbers, got [1, [2, 3]].",
        ),
        (
            gradient,
            {"controller": fa.TracedController(short_row, reference=[0.1, 0.2])},
            "controller, law: index 2 is out of bounds for axis 0 with size 2. It is called with q and qd of",
        ),
        (simulate, {"summaries": ["work"]}, "simulate, summaries: expected Summary, got 'work'."),
        (
            simulate,
            {"effort_limits": [1, [2]]},
            "simulate, effort_limits: expected true or false, got [1, [2]].",
        ),
        (excite, {"noise": 1e-300}, "excite, noise: expected a number above 0, or one per joint, got"),
        (excite, {"duration": 1e-300}, "excite, duration: must be at least 1e-06, got 1e-300."),
        (identify, {"load": np.array([0, 1])}, "identify, load: expected true or false, got array([0, 1])."),
        (identify, {"shift": [0.0, 0.1]}, "identify, shift: expected a number, got [0.0, 0.1]."),
        (
            identify,
            {"total_mass": (5.0,)},
            "identify, total_mass: expected a mass, or (mass, standard deviation)",
        ),
        (identify, {"payload": np.empty(0)}, "identify, payload: expected None, 'unknown', or a mapping"),
        (identify, {"columns": np.empty(2)}, "identify, columns: expected Mapping, got array("),
        (identify, {"columns": {"t": np.empty(0)}}, "identify, columns: 't' is mapped to array([],"),
        (identify, {"units": len}, "identify, units: expected a name or a list of names, got <built-in"),
        (identify, {"units": [["deg"]]}, "identify, units: expected a name or a list of names, got [["),
    ],
)
def test_wrong_arguments_are_named(call: Callable[..., Any], changed: dict[str, Any], message: str) -> None:
    with pytest.raises(fa.ForearmError) as caught:
        call(**changed)
    assert str(caught.value).startswith(message)


def test_a_gradient_over_no_steps_is_the_weight() -> None:
    q = np.full((1, 2), 0.1)
    made = gradient(states=(q, q), weights=(2.0 * q, 3.0 * q), steps=0, torque=np.empty((0, 2)))
    assert np.array_equal(made.q0, 2.0 * q[0])
    assert np.array_equal(made.qd0, 3.0 * q[0])
    assert made.drive.shape == (0, 2)


def test_autocovariances_of_fewer_rows_than_lags() -> None:
    rows = np.random.default_rng(3).normal(size=(40, 2))
    parts, whole = Autocovariances(2), Autocovariances(2)
    whole.add(rows, np.isfinite(rows), True)
    for first, last in ((0, 2), (2, 3), (3, 40)):
        parts.add(rows[first:last], np.isfinite(rows[first:last]), first == 0)
    for lag in range(7):  # the definition
        want = (rows[lag:] * rows[: len(rows) - lag]).sum(axis=0)
        assert np.allclose(whole._sums[lag], want, rtol=1e-12)
        assert np.allclose(parts._sums[lag], want, rtol=1e-12)


def test_a_projection_that_rounding_spoils_says_so() -> None:
    """From a start outside of the cone, where rounding puts it if data and prior differ too much."""
    cone = Cone(0, np.eye(1), np.zeros(1))
    with pytest.raises(fa.ForearmError, match=r"^data and prior differ by so many orders of magnitude"):
        nearest_point(np.array([-2.0]), cone, np.array([-1.0]))


def test_sound_calls_are_accepted() -> None:
    for name in ("simulate_gradient", "simulate", "generate", "study"):
        called = CALLS[name]
        for number in range(5):
            given = called.arguments(random.Random(number))
            called.check(given, called.function(**given))


@pytest.mark.parametrize(
    ("fuzzer", "again"),
    [
        (fuzz_trajectories, "python tools/fuzz_trajectories.py --seed 3 --block 1 --size 40"),
        (fuzz_jerk, "jerk_limited(["),
    ],
)
def test_failures_of_planners_say_how_to_repeat_them(
    monkeypatch: pytest.MonkeyPatch, fuzzer: Any, again: str
) -> None:
    monkeypatch.setattr(fuzzer, "check", lambda request, plans: ({"too slow": np.array([4])}, 0.0))
    first = fuzzer.fuzz(3, 1, 40).failures[0]
    assert first.startswith("too slow: 1 times")
    assert f"; again: {again}" in first
    assert "\n" not in first
