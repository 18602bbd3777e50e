"""Duration of each segment of a motion through points."""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats
from forearm.trajectories.continuous_snap.least_snap import LEAST, least_snap_states, snap_form
from forearm.trajectories.continuous_snap.motion import ORDERS
from forearm.trajectories.continuous_snap.problem import SmoothProblem
from forearm.trajectories.sampling import chord_lengths
from forearm.values import LARGEST

EVEN_ROUNDS = 12  # rounds of distributing time by the integral of the squared snap
SHARED_ROUNDS = 40  # rounds of distributing time by the use of limits
PATIENCE = 8  # rounds without improvement before stopping
SOFT = 0.25  # exponent of the limit use in the change of a duration
BESIDE = 0.3  # weight of a neighbour's use
SHORTEST = 0.05  # of the segment's time at constant speed
FIRST = 0.2  # relative: initial step of the final search
FINEST = 0.005
COARSE = 0.05  # the same if velocities are given, where each step requires a search for the duration
WORTH = 2e-3  # relative: a round that gains less is followed by finer steps
WORK = 4000  # steps of the final search
AROUND = 6  # segments on both sides that a change affects


def leg_durations(problem: SmoothProblem, start: Floats | None = None) -> Floats:
    """Durations (k,) of a short motion just within all limits, approximately; infinite if none were found.

    First, time is distributed to minimise the integral of the squared snap for a given total. Then segments
    that use little of any limit get less time. Finally, each segment in turn, the most demanding first, is
    lengthened or shortened if the total decreases.

    Args:
        problem: the problem.
        start: initial durations of the final step; None: run all steps.
    """
    guess = start
    if guess is None:
        guess = first_guess(problem)
        guess = _even(problem, guess) if len(guess) > 1 else guess
    segments, slow = problem.scaled(guess)
    if len(segments) > 1 and np.isfinite(segments).all():
        segments = _shared(problem, segments, slow) if start is None else segments
        segments = (_searched if problem.is_scalable else _tried)(problem, segments)
    return segments


def first_guess(problem: SmoothProblem) -> Floats:
    """Approximate rest-to-rest duration of each segment, including the time to brake from given
    velocities.
    """
    ways = np.abs(np.diff(problem.points, axis=0))
    speeds = np.abs(np.nan_to_num(problem.given[:, 1]))
    largest = np.where(problem.about < LARGEST, problem.about, np.inf)
    found = np.zeros(ways.shape)
    for order, most in enumerate(largest, 1):
        found = np.maximum(found, (ways / most) ** (1.0 / order))
        if order > 1:
            lost = (np.maximum(speeds[:-1], speeds[1:]) / most) ** (1.0 / (order - 1))
            found = np.maximum(found, lost)
    guess = found.max(axis=1)
    mean = float(guess.mean())
    return np.maximum(guess, 1e-3 * mean) if mean > 0.0 else np.ones(len(guess))


def _even(problem: SmoothProblem, segments: Floats) -> Floats:
    """Shares of time that minimise the integral of the squared snap for a given total, with given velocities
    left open.

    At the optimum every segment has the same derivative of its integral by time. That derivative is evaluated
    at the states that were optimal before.
    """
    given = np.where(np.nan_to_num(problem.given) == 0.0, problem.given, np.nan)
    points, floor = problem.points * problem.weights, SHORTEST * _even_speed(problem)
    powers = np.tile(np.arange(ORDERS), 2)[:, None]
    falls = 2 * LEAST - 1
    for _ in range(EVEN_ROUNDS):
        states = least_snap_states(points, given, segments)
        ends = np.concatenate([states[:-1], states[1:]], axis=1)
        ends[:, ORDERS] -= ends[:, 0]
        ends[:, 0] = 0.0
        pushed = snap_form(segments) @ ends
        integral = (ends * pushed).sum(axis=(1, 2))
        loss = falls * integral - 2.0 * (powers * ends * pushed).sum(axis=(1, 2))  # times the duration
        mean = falls * integral.sum() / segments.sum()
        if not mean > 0.0:
            break
        gain = np.clip(loss / segments / mean, 0.05, 20.0)
        segments = np.maximum(segments * gain ** (1.0 / (falls + 1)), floor * segments.sum())
    return segments


def _even_speed(problem: SmoothProblem) -> Floats:
    """Share of each segment in the path length, (k,)."""
    chords = chord_lengths(problem.points * problem.weights)
    return np.asarray(chords / max(float(chords.sum()), 1e-300))


def _shared(problem: SmoothProblem, segments: Floats, slow: Floats) -> Floats:
    """Reduce the time of segments that use little of the limits, while the total decreases."""
    best, floor, waited = segments, SHORTEST * _even_speed(problem), 0
    for _ in range(SHARED_ROUNDS):
        padded = np.pad(slow, 1, mode="edge")
        near = (1.0 - BESIDE) * slow + BESIDE * np.maximum(padded[:-2], padded[2:])
        segments = segments * np.clip(near / near.max(), 0.5, 1.0) ** SOFT
        segments, slow = problem.scaled(np.maximum(segments, floor * segments.sum()))
        if segments.sum() < best.sum() * (1.0 - 1e-4):
            best, waited = segments, 0
        else:
            waited += 1
        if waited > PATIENCE or not np.isfinite(segments).all():
            break
    return best


def _searched(problem: SmoothProblem, segments: Floats) -> Floats:
    """Lengthen or shorten each segment with decreasing steps, evaluating the segments around it as parts of
    the motion.
    """
    best, step, left, count = segments, FIRST, WORK, len(segments)
    while step > FINEST and left > 0:
        segments, _ = problem.scaled(segments)
        best = segments if segments.sum() < best.sum() else best
        states, slow = problem.states(segments)[:: problem.pieces], problem.slowness(segments)
        total, before = float(segments.sum()), float(slow.max() * segments.sum())
        for i in np.argsort(-slow, kind="stable")[:left]:
            first, last = max(i - AROUND, 0), min(i + AROUND + 1, count)
            part = problem.part(first, last, states)
            others = max(slow[:first].max(initial=0.0), slow[last:].max(initial=0.0))
            for factor in (1.0 + step, 1.0 / (1.0 + step)):
                left -= 1
                tried = segments[first:last].copy()
                tried[i - first] *= factor
                felt = part.slowness(tried)
                longer = total + tried[i - first] - segments[i]
                if max(others, felt.max()) * longer < slow.max() * total:
                    segments, states = segments.copy(), states.copy()
                    segments[first:last] = tried
                    states[first : last + 1] = part.states(tried)[:: problem.pieces]
                    slow[first:last], total = felt, longer
                    break
        if slow.max() * total > before * (1.0 - WORTH):
            step *= 0.5
    segments, _ = problem.scaled(segments)
    return segments if segments.sum() < best.sum() else best


def _tried(problem: SmoothProblem, segments: Floats) -> Floats:
    """The same with given velocities: the whole motion is evaluated, at the first feasible duration."""
    step, left = FIRST, WORK // 10
    while step > COARSE and left > 0:
        before = segments.sum()
        for i in range(len(segments)):
            for factor in (1.0 + step, 1.0 / (1.0 + step)):
                left -= 1
                tried = segments.copy()
                tried[i] *= factor
                tried, _ = problem.scaled(tried)
                if tried.sum() < segments.sum():
                    segments = tried
                    break
        if segments.sum() > before * (1.0 - WORTH):
            step *= 0.5
    return segments
