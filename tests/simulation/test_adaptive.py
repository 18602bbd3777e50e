"""Adaptive steps, dense output, events and breakpoints against closed forms; failures by their words."""

from __future__ import annotations

import re
from math import pi
from typing import Any

import numpy as np
import pendulum
import pytest

from forearm.simulation.adaptive import integrate
from forearm.simulation.events import EventFunction, bracketed
from forearm.simulation.solution import DenseSolution, Status

ADAPTIVE = ("dp45", "dp87", "radau")
START = 2.3


def spring(t: float, q: Any, qd: Any) -> Any:
    return -q


def spring_from_one(until: float = 10.0, **options: Any) -> DenseSolution:
    """q = cos t, with no event or jump in the way."""
    options = {"rtol": 1e-9, "atol_q": 1e-9, "atol_qd": 1e-9} | options
    return integrate(spring, 0.0, until, [1.0], [0.0], **options)


def swing(method: str, rtol: float) -> tuple[DenseSolution, float]:
    """A pendulum over several swings, and its largest error between the steps as well as at them."""
    solution = integrate(
        pendulum.acceleration, 0.0, 12.0, [START], [0.0], method=method, rtol=rtol, atol_q=rtol, atol_qd=rtol
    )
    times = np.linspace(0.0, 12.0, 487)
    q, qd = solution(times)
    truth = np.array([pendulum.swing(START, t) for t in times])
    return solution, float(np.abs(np.column_stack([q, qd]) - truth).max())


@pytest.mark.parametrize("method", ADAPTIVE)
def test_the_error_follows_the_tolerance(method: str) -> None:
    runs = [swing(method, rtol) for rtol in (1e-5, 1e-7, 1e-9)]
    # An error per step grows along the way: some tens of steps or periods of growth, not thousands.
    for (_, error), rtol in zip(runs, (1e-5, 1e-7, 1e-9), strict=True):
        assert error < 200 * rtol
    assert runs[2][1] < 1e-2 * runs[0][1]
    assert len(runs[0][0].t) < len(runs[2][0].t)


def test_a_higher_order_needs_fewer_evaluations_for_many_digits() -> None:
    low, low_error = swing("dp45", 1e-12)
    high, high_error = swing("dp87", 1e-12)
    assert low_error < 1e-10
    assert high_error < 1e-10
    assert high.evaluations < 0.7 * low.evaluations


def test_dense_output_meets_the_steps() -> None:
    for method in ADAPTIVE:
        solution = spring_from_one(method=method)
        for k in range(len(solution.t) - 1):
            inside = np.nextafter(solution.t[k + 1], 0.0)
            np.testing.assert_allclose(solution(inside)[0], solution.q[k + 1], atol=1e-14)
        assert np.array_equal(solution(solution.t)[1], solution.qd)
        assert solution(2.5)[0].shape == (1,)
        assert solution([2.5, 3.5])[0].shape == (2, 1)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_zeros_are_found_where_they_are(method: str) -> None:
    solution = spring_from_one(method=method, events=[EventFunction("zero", lambda t, q, qd: q[0])])
    times = [hit.t for hit in solution.events]
    np.testing.assert_allclose(times, [pi / 2, 3 * pi / 2, 5 * pi / 2], rtol=0, atol=2e-9)
    assert [hit.direction for hit in solution.events] == [-1, 1, -1]
    for hit in solution.events:  # to a part of the step, and just past the zero
        assert abs(hit.q[0]) < 1e-12
        assert hit.q[0] * hit.direction >= 0.0
    assert solution.status is Status.END


def test_direction_and_components_of_events() -> None:
    levels = np.array([-0.25, 0.5])
    names = {"levels": 0, "rising": 1, "falling": -1}
    events = [EventFunction(name, lambda t, q, qd: q[0] - levels, direction=d) for name, d in names.items()]
    hits = spring_from_one(2 * pi, events=events).events
    down, up = np.arccos(levels), 2 * pi - np.arccos(levels)
    expected = [(name, k, t[k]) for k in (0, 1) for t, name in ((down, "falling"), (up, "rising"))]
    expected += [("levels", k, t[k]) for k in (0, 1) for t in (down, up)]
    found = sorted((hit.name, hit.component, hit.t) for hit in hits)
    assert [hit[:2] for hit in found] == [hit[:2] for hit in sorted(expected)]
    np.testing.assert_allclose([t for *_, t in found], [t for *_, t in sorted(expected)], atol=1e-8)
    assert [hit.t for hit in hits] == sorted(hit.t for hit in hits)


@pytest.mark.parametrize("gap", [0.49, 0.2])
def test_two_zeros_within_one_step_are_both_found(gap: float) -> None:
    """A parabola above zero for `gap` seconds around the middle of a step, below it at both ends."""
    event = EventFunction("above", lambda t, q, qd: (gap / 2) ** 2 - (t - 0.5) ** 2)
    solution = integrate(lambda t, q, qd: np.zeros(1), 0.0, 1.0, [0.0], [1.0], first_step=1.0, events=[event])
    assert len(solution.t) == 2
    np.testing.assert_allclose([h.t for h in solution.events], [0.5 - gap / 2, 0.5 + gap / 2], atol=1e-12)


def test_a_terminal_event_ends_the_integration_there() -> None:
    stop = EventFunction("stop", lambda t, q, qd: q[0] + 0.5, terminal=True)
    before = EventFunction("zero", lambda t, q, qd: q[0])
    after = EventFunction("after", lambda t, q, qd: q[0] + 0.500001)
    for method in ADAPTIVE:
        solution = spring_from_one(method=method, events=[stop, before, after])
        assert solution.status is Status.EVENT
        assert [h.name for h in solution.events] == ["zero", "stop"]
        assert solution.t[-1] == solution.events[-1].t == pytest.approx(2 * pi / 3, abs=1e-8)
        assert np.array_equal(solution.q[-1], solution.events[-1].q)
        assert solution.message.startswith("event 'stop' at t = 2.09439")
        inside = np.linspace(solution.t[-2], solution.t[-1], 9)
        np.testing.assert_allclose(solution(inside)[0][:, 0], np.cos(inside), atol=1e-8)
        end = solution.t[-1], 10.0, solution.q[-1], solution.qd[-1]
        again = integrate(spring, *end, method=method, rtol=1e-9, events=[stop])
        assert again.t[-1] == pytest.approx(4 * pi / 3, abs=1e-7), (
            "going on does not meet the same event again"
        )


def test_events_at_one_time_are_all_reported_and_the_terminal_one_last() -> None:
    def g(t: float, q: Any, qd: Any) -> float:
        return t - 0.7

    events = [EventFunction("stop", g, terminal=True), EventFunction("same", g)]
    assert [h.name for h in spring_from_one(events=events).events] == ["same", "stop"]


def test_bracketing_takes_few_steps_and_keeps_to_the_far_side() -> None:
    calls = []

    def g(x: float) -> float:
        calls.append(x)
        return float(np.expm1(5 * (x - 0.3)))

    root = bracketed(g, 0.0, 1.0, 1e-13)
    assert 0.3 <= root <= 0.3 + 1e-13
    assert len(calls) < 20
    assert bracketed(lambda x: 1.0 if x > 0.123 else -1.0, 0.0, 1.0, 1e-13) == pytest.approx(0.123, abs=1e-13)
    assert bracketed(lambda x: 1.0, 0.0, 1.0, 1e-13) == 1.0


KNOTS = np.array([0.0, 0.31, 0.55, 1.2, 1.7])
HELD = np.array([1.0, -3.0, 0.5, 2.5, -1.5])


def held(t: float) -> float:
    return float(HELD[np.searchsorted(KNOTS, t, side="right") - 1])


@pytest.mark.parametrize("method", ADAPTIVE)
def test_an_input_that_jumps_at_breakpoints_is_integrated_exactly(method: str) -> None:
    seen = []

    def f(t: float, q: Any, qd: Any) -> Any:
        seen.append(t)
        return np.array([held(t)])

    solution = integrate(f, 0.0, 2.0, [0.1], [0.2], method=method, breakpoints=KNOTS)
    ends = [*KNOTS[1:], 2.0]
    q, qd = 0.1, 0.2
    for start, end, a in zip(KNOTS, ends, HELD, strict=True):
        h = end - start
        q, qd = q + h * qd + a * h * h / 2, qd + a * h
        assert end in solution.t
        np.testing.assert_allclose([*solution(end)[0], *solution(end)[1]], [q, qd], rtol=1e-12)
    assert not set(ends[:-1]) - set(seen), "each stretch is entered at its start"
    assert max(seen) < 2.0
    assert solution.rejected == 0


@pytest.mark.parametrize("method", ADAPTIVE)
def test_going_on_from_a_breakpoint_gives_the_same_bits(method: str) -> None:
    def f(t: float, q: Any, qd: Any) -> Any:
        return np.array([-np.sin(q[0]) - 0.3 * qd[1], held(t) - q[1] ** 3 - 0.1 * qd[0]])

    options: dict[str, Any] = {"method": method, "breakpoints": KNOTS}
    whole = integrate(f, 0.0, 2.0, [0.1, 0.5], [0.2, -0.3], **options)
    first = integrate(f, 0.0, 1.2, [0.1, 0.5], [0.2, -0.3], **options)
    rest = integrate(f, 1.2, 2.0, first.q[-1], first.qd[-1], first_step=first.next_step, **options)
    assert np.array_equal(whole.t, [*first.t, *rest.t[1:]])
    assert np.array_equal(whole.q, [*first.q, *rest.q[1:]])
    assert np.array_equal(whole.qd, [*first.qd, *rest.qd[1:]])


def test_a_stretch_cut_short_does_not_shorten_the_steps_after_it() -> None:
    solution = spring_from_one(breakpoints=[4.0, 4.0 + 1e-7])
    sizes = np.diff(solution.t[solution.t > 4.0])
    assert sizes[0] > 0.5 * np.diff(solution.t[solution.t <= 4.0])[-1]


def test_tolerances_hold_for_each_component_and_part() -> None:
    def f(t: float, q: Any, qd: Any) -> Any:
        return np.array([-1.0, -900.0]) * q

    def steps(**options: Any) -> int:
        options = {"rtol": 1e-9, "atol_q": 1e-9, "atol_qd": 1e-9} | options
        return len(integrate(f, 0.0, 2.0, [1.0, 1e-4], [0.0, 0.0], **options).t)

    fine = steps()
    # The quick component is small: not asking for it in both q and qd lets the steps grow,
    # in one of them alone does not.
    assert steps(atol_q=[1e-9, 1.0], atol_qd=[1e-9, 1.0]) < fine / 5
    assert steps(atol_q=[1e-9, 1.0]) > fine / 2


def test_the_first_step_and_progress_are_as_asked() -> None:
    called: list[float] = []
    solution = spring_from_one(first_step=1e-3, tell=called.append)
    assert solution.t[0] == 0.0
    assert solution.t[1] == 1e-3
    assert called == solution.t[1:].tolist()


def test_a_blow_up_ends_at_its_time_with_its_component() -> None:
    """q = 1 / (1 - t) in the second component solves q'' = 2 q^3 up to t = 1."""
    solution = integrate(lambda t, q, qd: np.array([-q[0], 2 * q[1] ** 3]), 0.0, 2.0, [1.0, 1.0], [0.0, 1.0])
    assert solution.status is Status.STEP_TOO_SMALL
    assert not solution.ok
    assert solution.component == 1
    assert solution.t[-1] == pytest.approx(1.0, abs=1e-5)
    assert re.match(
        r"integration stopped at t = \S+ with step \S+: the error of qd?\[1\] = ", solution.message
    )


@pytest.mark.parametrize("method", ADAPTIVE)
def test_what_is_no_number_stops_with_time_and_component(method: str) -> None:
    def f(t: float, q: Any, qd: Any) -> Any:
        return np.array([-q[0], np.sqrt(1.0 - t) * q[1], 0.0])

    solution = integrate(f, 0.0, 2.0, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], method=method, first_step=1e-3)
    assert solution.status is Status.DIVERGED
    assert solution.component == 1
    assert solution.t[-1] == pytest.approx(1.0, abs=2e-3)
    assert np.isfinite(solution.q).all()
    assert "qdd[1] became nan" in solution.message


def test_a_bad_start_is_told_at_once() -> None:
    solution = integrate(lambda t, q, qd: q * np.array([1.0, np.nan]), 0.5, 1.0, [1.0, 2.0], [0.0, 0.0])
    assert solution.status is Status.DIVERGED
    assert solution.t.tolist() == [0.5]
    assert solution.component == 1


def test_when_many_joints_go_at_once_the_fastest_is_named() -> None:
    def f(t: float, q: Any, qd: Any) -> Any:
        return np.full(3, np.nan) if t > 0.5 else np.array([0.1, -7.0, 3.0])

    assert integrate(f, 0.0, 1.0, [0.0] * 3, [0.0] * 3).component == 1
