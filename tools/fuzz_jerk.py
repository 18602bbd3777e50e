"""Ask for motions with limits of jerk at random and see that none misses its target, passes a limit, takes
longer than a motion that is known or than Ruckig's, or can be shorter than the shortest.

    .venv/bin/python tools/fuzz_trajectories.py --jerk --count 10000000 --seed 1

Where the package ruckig is installed, `--peers` compares durations with it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import record_ruckig
from fuzz_report import Array, Report, mixed
from numpy.typing import NDArray

from forearm.trajectories import JerkPlans, MotionLimits, PlanStatus, jerk_limited_many

BLOCK = 10_000  # requests of each kind that share their limits
CLOSE = 1e-12  # relative to what the joint travels, at what speed and how long: rounding of some ten phases
BIT = 1e-3  # of CLOSE
TINY = 1e-300  # keeps 0 / 0 at 0
LATER = 1e-6  # s, and relative: what a duration may be longer than Ruckig's
BRAKING = 2  # phases in which a joint may be beyond its limits


@dataclass(frozen=True)
class JerkRequest:
    """States (B, n) to go from and to, and the limits of the n joints."""

    q0: Array
    qd0: Array
    qdd0: Array
    q1: Array
    qd1: Array
    qdd1: Array
    limits: MotionLimits

    @property
    def states(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """All six."""
        return self.q0, self.qd0, self.qdd0, self.q1, self.qd1, self.qdd1


def make(seed: int, block: int, count: int = BLOCK, spread: float = 1.0) -> JerkRequest:
    """The requests of a block: any scale of length and time, and everything at which a choice could go wrong.
    With a spread of 0 the scales are 1.
    """
    rng = np.random.default_rng((seed, block))
    n = int(rng.integers(1, 8))
    shape = (count, n)
    length, duration = 10.0 ** (spread * rng.uniform(-6.0, 6.0)), 10.0 ** (spread * rng.uniform(-4.0, 4.0))
    v = length / duration * 10.0 ** rng.uniform(-1.0, 1.0, n)
    a = length / duration**2 * 10.0 ** rng.uniform(-1.0, 1.0, n)
    j = length / duration**3 * 10.0 ** rng.uniform(-1.0, 1.5, n)
    q0, q1 = length * rng.uniform(-1.0, 1.0, (2, *shape))
    qd0, qd1 = rng.uniform(-v, v, (2, *shape))
    qdd0, qdd1 = rng.uniform(-a, a, (2, *shape))
    if rng.random() < 0.3:  # far from 0, where differences of positions lose digits
        far = length * 10.0 ** rng.uniform(0.0, 3.0)
        q0, q1 = q0 + far, q1 + far

    zero = np.zeros(shape)
    stop = qd0 * np.minimum(np.abs(qd0) / a, duration)
    special = (
        (0.3, q0, qd0, zero, q1, qd1, zero),
        (0.1, q0, zero, zero, q1, zero, zero),  # rest to rest
        (0.02, q0, qd0, qdd0, q0, qd1, qdd1),  # no way
        (0.02, q0, qd0, qdd0, q1, qd0, qdd0),  # the same at both ends
        (0.02, q0, qd0, qdd0, q0, qd0, qdd0),  # and no way
        (0.01, q0, zero, zero, q0, zero, zero),  # nothing at all
        (0.02, q0, qd0, zero, q0 + qd0 * duration * rng.random(shape), qd0, zero),  # as it moves already
        (0.02, q0, np.sign(qd0) * v, zero, q1, np.sign(qd1) * v, zero),  # at full speed
        (0.02, q0, qd0, np.sign(qdd0) * a, q1, qd1, np.sign(qdd1) * a),  # at full acceleration
        (0.02, q0, qd0, qdd0, q0 + stop, zero, zero),
        (
            0.02,
            q0,
            qd0,
            qdd0,
            q0 + 1e-3 * (q1 - q0),
            np.abs(qd1) * np.sign(qd0),
            np.abs(qdd1) * np.sign(qdd0),
        ),
        (0.01, q0, qd0, qdd0, q0 + 1e-14 * (q1 - q0), qd1, qdd1),
        (0.01, q0, 1e-9 * qd0, 1e-9 * qdd0, q1, 1e-9 * qd1, 1e-9 * qdd1),
        (0.02, q0, 3.0 * qd0, qdd0, q1, qd1, qdd1),  # often faster than allowed: it brakes first
        (0.02, q0, qd0, 3.0 * qdd0, q1, qd1, qdd1),
    )
    q0, qd0, qdd0, q1, qd1, qdd1 = mixed(rng, (q0, qd0, qdd0, q1, qd1, qdd1), special)
    # most ends can be reached: the acceleration there is one that velocity leaves room for
    tame = (rng.random((count, 1)) < 0.95) & (np.abs(qd1 - 0.5 * qdd1 * np.abs(qdd1) / j) > v)
    qdd1 = np.where(
        tame, np.sign(qdd1) * np.minimum(np.abs(qdd1), np.sqrt(2.0 * j * (v - np.abs(qd1)))), qdd1
    )
    calm = (rng.random((count, 1)) < 0.8) & (np.abs(qd0 + 0.5 * qdd0 * np.abs(qdd0) / j) > v)
    room = np.sqrt(2.0 * j * np.maximum(v - np.abs(qd0), 0.0))
    qdd0 = np.where(calm, np.sign(qdd0) * np.minimum(np.abs(qdd0), room), qdd0)
    bounds = {}
    if rng.random() < 0.3:
        bounds = {"lower": q0.min(axis=0) - length * rng.random(n), "upper": q0.max(axis=0) + length}
    return JerkRequest(q0, qd0, qdd0, q1, qd1, qdd1, MotionLimits(a, v, jerk=j, **bounds))


def near(seed: int, block: int, count: int = BLOCK) -> tuple[JerkRequest, Array]:
    """States that a few phases of jerk lead to, and the time that they take, (B,): no plan may take longer.

    Half of all jerks are the largest: such states are often at the edge of what the time allows. NaN stands
    for a time in which a joint leaves its limits.
    """
    rng = np.random.default_rng((seed, block, 1))
    n = int(rng.integers(1, 8))
    v, a = 10.0 ** rng.uniform(-1.0, 1.0, (2, n))
    j = 10.0 ** rng.uniform(-1.0, 1.5, n)
    shape = (int(rng.integers(2, 5)), count, n)
    jerks = rng.choice([-j, 0.0 * j, j], shape[:2]) * np.where(
        rng.random(shape) < 0.5, 1.0, rng.random(shape)
    )
    times = 10.0 ** rng.uniform(-2.0, 0.5, shape)
    known = 10.0 ** rng.uniform(-1.0, 0.3, (count, 1)) * np.min(a / j)
    times *= known / times.sum(axis=0)
    q0, qd0, qdd0 = np.zeros(shape[1:]), rng.uniform(-v, v, shape[1:]), rng.uniform(-a, a, shape[1:])
    q, qd, qdd = q0, qd0, qdd0
    # what the acceleration makes of the velocity before the end and after the start
    fastest = np.abs(qd + 0.5 * qdd * np.abs(qdd) / j)
    for t, k in zip(times, jerks, strict=True):
        s = np.clip(-qdd / np.where(k == 0.0, np.inf, k), 0.0, t)
        inner = np.abs(qd + s * (qdd + 0.5 * k * s))
        q, qd, qdd = q + t * (qd + t * (0.5 * qdd + t * k / 6.0)), qd + t * (qdd + 0.5 * k * t), qdd + k * t
        fastest = np.maximum(fastest, np.maximum(inner, np.abs(qd)))
        fastest = np.where(np.abs(qdd) > a, np.inf, fastest)
    fastest = np.maximum(fastest, np.abs(qd - 0.5 * qdd * np.abs(qdd) / j))
    kept = (fastest <= v).all(axis=1)
    return JerkRequest(q0, qd0, qdd0, q, qd, qdd, MotionLimits(a, v, jerk=j)), np.where(
        kept, known[:, 0], np.nan
    )


def check(request: JerkRequest, plans: JerkPlans) -> tuple[dict[str, NDArray[np.intp]], float]:
    """What is wrong with which plans, and the largest miss.
    States are summed up phase by phase, apart from the planner.
    """
    good = np.flatnonzero(plans.status == PlanStatus.PLANNED)
    limits = request.limits
    q0, v0, a0, q1, v1, a1 = (x[good] for x in request.states)
    t, jerk, T = plans.phases[good], plans.jerks[good], plans.duration[good, None]
    v, a, j = limits.velocity, limits.acceleration, limits.jerk
    x, speed, push = q0, v0, a0
    least, most, fastest = np.minimum(q0, q1), np.maximum(q0, q1), np.maximum(np.abs(v0), v)
    over_v, over_a, allowed = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
    for i in range(t.shape[2]):
        time_, k = t[..., i], jerk[..., i]
        for s in (*_turning(speed, push, k, time_), time_):
            place = x + s * (speed + s * (0.5 * push + s * k / 6.0))
            least, most = np.minimum(least, place), np.maximum(most, place)
        s = np.clip(-push / np.where(k == 0.0, np.inf, k), 0.0, time_)
        inner = np.abs(speed + s * (push + 0.5 * k * s))
        x, speed, push = (
            x + time_ * (speed + time_ * (0.5 * push + time_ * k / 6.0)),
            speed + time_ * (push + 0.5 * k * time_),
            push + k * time_,
        )
        fastest = np.maximum(fastest, np.maximum(inner, np.abs(speed)))
        if i >= BRAKING:
            over_v = np.maximum(over_v, np.maximum(inner, np.abs(speed)) - allowed)
            over_a = np.maximum(over_a, np.abs(push) - a)
        else:
            # braking may leave it faster than allowed for a while, but no faster than it is then
            allowed = np.maximum(v, np.abs(speed))
    hardest = np.maximum(np.abs(a0), a)
    # a sum of phases leaves a bit of acceleration after a ramp, which counts as long as the motion lasts
    push_scale = hardest + BIT * j * T
    drift = BIT * (hardest + j * np.minimum(fastest / a, T)) * T
    speed_scale = fastest + drift
    # a bit of the accelerations at the ends is a bit of time
    scale = np.abs(q0) + np.abs(q1) + (fastest + drift) * T + BIT * fastest * hardest / j + TINY
    miss = np.abs(x - q1) / scale
    wrong = {
        "target missed": miss > CLOSE,
        "velocity missed": np.abs(speed - v1) > CLOSE * speed_scale,
        "acceleration missed": np.abs(push - a1) > CLOSE * push_scale,
        "too fast": over_v > CLOSE * speed_scale,
        "accelerates too much": over_a > CLOSE * push_scale,
        "jerk": (np.abs(jerk) > j[:, None] * (1.0 + CLOSE)).any(axis=2),
        "out of range": (least < limits.lower - CLOSE * scale) | (most > limits.upper + CLOSE * scale),
        "negative phase": (t < 0.0).any(axis=2),
        "not together": np.abs(t.sum(axis=2) - T) > CLOSE * T,
    }
    found = {what: good[mask.any(axis=1)] for what, mask in wrong.items() if mask.any()}
    return found, float(miss.max(initial=0.0))


def _turning(v: Array, a: Array, j: Array, t: Array) -> list[Array]:
    """Times within t at which velocity is 0, or others that do no harm."""
    with np.errstate(all="ignore"):
        far = -(a + np.where(a < 0.0, -1.0, 1.0) * np.sqrt(np.maximum(a * a - 2.0 * j * v, 0.0)))
        return [np.clip(np.nan_to_num(s, nan=0.0), 0.0, t) for s in (far / j, 2.0 * v / far)]


def wrongly_refused(request: JerkRequest, plans: JerkPlans) -> NDArray[np.intp]:
    """Plans without bounds of range refused though the end can be reached."""
    limits = request.limits
    if limits.is_bounded:
        return np.empty(0, dtype=np.intp)
    with np.errstate(all="ignore"):
        before = np.abs(request.qd1 - 0.5 * request.qdd1 * np.abs(request.qdd1) / limits.jerk)
    reached = (before <= limits.velocity) & (np.abs(request.qdd1) <= limits.acceleration)
    reached &= np.abs(request.qd1) <= limits.velocity
    return np.flatnonzero(reached.all(axis=1) & (plans.status != PlanStatus.PLANNED))


def slower_than_ruckig(request: JerkRequest, plans: JerkPlans) -> NDArray[np.intp]:
    """Plans that take longer than Ruckig's. Its own are longer now and then: from a start that reaches the
    largest velocity just as its acceleration is gone, it may miss the fastest one.
    """
    planned = np.flatnonzero(plans.status == PlanStatus.PLANNED)
    theirs = np.array([ruckig_duration(*(x[k] for x in request.states), request.limits) for k in planned])
    late: NDArray[np.bool_] = plans.duration[planned] - theirs > LATER * np.maximum(1.0, theirs)
    return planned[late]


def ruckig_duration(*given: Any) -> float:
    """Ruckig's duration, NaN where it refuses the request."""
    ruckig: Any = import_module("ruckig")
    *states, limits = given
    asked = dict(zip(("q0", "qd0", "qdd0", "q1", "qd1", "qdd1"), states, strict=True))
    asked |= {name: getattr(limits, name) for name in ("velocity", "acceleration", "jerk")}
    try:
        return record_ruckig.duration(ruckig, {name: value.tolist() for name, value in asked.items()})
    except (AssertionError, ruckig.RuckigError, RuntimeError, ValueError):
        return np.nan


def shortened(
    request: JerkRequest, plans: JerkPlans, rng: np.random.Generator
) -> tuple[Array, NDArray[np.intp]]:
    """Durations (B,) below the shortest, and the plans that have a motion of such a duration."""
    asked = np.nan_to_num(plans.duration) * np.minimum(rng.random(len(plans)), 1.0 - LATER)
    found = jerk_limited_many(*request.states, request.limits, asked).status == PlanStatus.PLANNED
    return asked, np.flatnonzero(found & (plans.duration > 0.0))


def call(request: JerkRequest, row: int, duration: Array | None = None) -> str:
    """The request as a line of Python."""
    limits, ends = request.limits, ", ".join(str(x[row].tolist()) for x in request.states)
    names = ["acceleration", "velocity", *(["lower", "upper"] if limits.is_bounded else []), "jerk"]
    bounds = ", ".join(f"{name}={getattr(limits, name).tolist()}" for name in names)
    asked = "" if duration is None else f", duration={float(duration[row])!r}"
    return f"jerk_limited({ends}, MotionLimits({bounds}){asked})"


def fuzz(seed: int, block: int, count: int = BLOCK, peers: int = 0) -> Report:
    """One block, planned as fast as it can be, and again in longer times; and as many near states."""
    start = time.perf_counter()
    rng = np.random.default_rng(block)
    failures: list[str] = []
    worst = 0.0

    def found(
        request: JerkRequest,
        wrong: dict[str, NDArray[np.intp]],
        miss: float = 0.0,
        asked: Array | None = None,
    ) -> None:
        nonlocal worst
        worst = max(worst, miss)
        failures.extend(
            f"{what}: {rows.size} times in block {block}; again: {call(request, rows[0], asked)}"
            for what, rows in wrong.items()
            if rows.size
        )

    request = make(seed, block, count)
    plans = jerk_limited_many(*request.states, request.limits)
    found(request, *check(request, plans))
    found(request, {"refused without need": wrongly_refused(request, plans)})
    if peers:  # whose tolerances are for lengths and times about 1
        usual = make(seed, block, peers, 0.0)
        late = slower_than_ruckig(usual, jerk_limited_many(*usual.states, usual.limits))
        found(usual, {"slower than Ruckig": late})
    longer = np.nan_to_num(plans.duration) * rng.choice([1.0, 1.0001, 1.3, 4.0, 100.0], count)
    slower = jerk_limited_many(*request.states, request.limits, longer)
    found(request, *check(request, slower), asked=longer)
    same = np.flatnonzero((longer == plans.duration) & (slower.status == PlanStatus.DURATION))
    found(request, {"its own duration refused": same}, asked=longer)

    close, known = near(seed, block, count)
    nearby = jerk_limited_many(*close.states, close.limits)
    found(close, *check(close, nearby))
    late = np.flatnonzero(np.isfinite(known) & ~(nearby.duration <= known * (1.0 + CLOSE)))
    found(close, {"longer than a known motion": late})
    for some, fastest in ((request, plans), (close, nearby)):
        asked, shorter = shortened(some, fastest, rng)
        found(some, {"shorter than the shortest": shorter}, asked=asked)
    planned = sum(int((x.status == PlanStatus.PLANNED).sum()) for x in (plans, nearby))
    seconds = time.perf_counter() - start
    return Report(seed, 2 * count, planned, 2 * count - planned, worst, seconds, tuple(failures))
