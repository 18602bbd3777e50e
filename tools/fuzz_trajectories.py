"""Ask for motions at random and see that none misses its target or passes a limit.

    .venv/bin/python tools/fuzz_trajectories.py --count 10000000

`--jerk` asks for motions with limits of jerk instead (fuzz_jerk).

Each run takes a fresh seed, which it prints; `--seed S --block i` makes block number i again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from dataclasses import dataclass

import fuzz_jerk
import numpy as np
from fuzz_report import Array, Report, add_seed, mixed
from numpy.typing import NDArray

from forearm.trajectories import MotionLimits, Plans, PlanStatus, bang_bang_many

BLOCK = 20_000  # requests that share their limits
CLOSE = 1e-12  # relative to what the joint travels and where it is: rounding of some ten operations is 1e-15


@dataclass(frozen=True)
class Request:
    """States (B, n) to go from and to, and the limits of the n joints."""

    q0: Array
    qd0: Array
    q1: Array
    qd1: Array
    limits: MotionLimits


def make(seed: int, block: int, count: int = BLOCK) -> Request:
    """The requests of a block: any scale of length and time, and everything at which a
    choice could go wrong.
    """
    rng = np.random.default_rng((seed, block))
    n = int(rng.integers(1, 8))
    length, duration = 10.0 ** rng.uniform(-6.0, 6.0), 10.0 ** rng.uniform(-4.0, 4.0)
    a = length / duration**2 * 10.0 ** rng.uniform(-1.0, 1.0, n)
    v = length / duration * 10.0 ** rng.uniform(-1.0, 1.0, n)
    lower = length * rng.uniform(-3.0, 0.5, n)
    upper = lower + length * rng.uniform(0.1, 4.0, n)
    shape = (count, n)
    q0, q1 = rng.uniform(lower, upper, shape), rng.uniform(lower, upper, shape)
    qd0, qd1 = rng.uniform(-v, v, shape), rng.uniform(-v, v, shape)
    if rng.random() < 0.3:  # far from 0, where differences of positions lose digits
        far = length * 10.0 ** rng.uniform(0.0, 3.0)
        lower, upper, q0, q1 = lower + far, upper + far, q0 + far, q1 + far
    room = np.minimum(upper - q0, q0 - lower)
    slow = np.sqrt(np.maximum(a * room, 0.0)) * rng.random(shape)  # can stop in half of the room there is
    way = 0.5 * (qd0 + qd1) * np.abs(qd1 - qd0) / a
    stop = 0.5 * qd0 * np.abs(qd0) / a

    gentle = rng.random((count, 1)) < 0.8
    qd0 = np.where(gentle, np.clip(np.sign(qd0) * slow, -v, v), qd0)
    qd1 = np.where(
        gentle,
        np.clip(np.sign(qd1) * np.sqrt(np.maximum(a * np.minimum(upper - q1, q1 - lower), 0.0)), -v, v),
        qd1,
    )
    special = (
        (0.02, q0, qd0, q0, qd1),  # no way
        (0.02, q0, qd0, q1, qd0),  # equal velocities
        (0.02, q0, 0.0, q1, 0.0),  # rest to rest
        (0.01, q0, 0.0, q0, 0.0),  # nothing at all
        (0.01, q0, qd0, q0 + qd0 * duration * rng.random(shape), qd0),  # as it moves already
        (0.02, q0, qd0, q0 + way, qd1),  # as hard as it can
        (0.01, q0, qd0, q0 + stop, 0.0),  # brake
        (0.01, q0, qd0, np.nextafter(q0 + stop, np.inf), 0.0),
        (0.01, q0, np.sign(qd0) * v, q1, qd1),  # at full speed
        (0.01, q0, qd0, q1, -np.sign(qd1) * v),
        (0.02, lower + 0.0 * q0, 0.0, upper + 0.0 * q0, 0.0),  # from bound to bound
        (0.01, upper - np.abs(stop), np.minimum(np.abs(qd0), v), q1, qd1),  # must use all the room to stop
        (0.01, q0, qd0, q0 + 1e-14 * length * rng.normal(size=shape), qd1),
        (0.01, q0, 1e-9 * qd0, q1, 1e-9 * qd1),
        (0.02, q0, 3.0 * qd0, q1, qd1),  # often faster than allowed: it brakes first
    )
    q0, qd0, q1, qd1 = mixed(rng, (q0, qd0, q1, qd1), special)
    return Request(q0, qd0, q1, qd1, MotionLimits(a, v, lower, upper))


def check(request: Request, plans: Plans) -> tuple[dict[str, NDArray[np.intp]], float]:
    """What is wrong with which plans, and the largest miss.
    Positions are summed up phase by phase, apart from the planner.
    """
    good = np.flatnonzero(plans.status == PlanStatus.PLANNED)
    limits, t = request.limits, plans.phases[good]
    q, qd, a = request.q0[good], request.qd0[good], plans.accelerations[good]
    q1, qd1 = request.q1[good], request.qd1[good]
    T = plans.duration[good, None]
    scale = np.abs(q) + np.abs(q1) + limits.velocity * T + limits.velocity**2 / limits.acceleration
    speed = limits.velocity * (1.0 + CLOSE)
    least, most, too_fast = np.minimum(q, q1), np.maximum(q, q1), np.zeros(good.size, dtype=bool)
    for i in range(3):
        turning = np.clip(-qd / np.where(a[..., i] == 0.0, np.inf, a[..., i]), 0.0, t[..., i])
        place = q + turning * (qd + 0.5 * a[..., i] * turning)
        least, most = np.minimum(least, place), np.maximum(most, place)
        q, qd = q + t[..., i] * (qd + 0.5 * a[..., i] * t[..., i]), qd + a[..., i] * t[..., i]
        too_fast |= (np.abs(qd) > speed).any(axis=1)
    miss = np.abs(q - q1) / scale
    wrong = {
        "target missed": (miss > CLOSE).any(axis=1),
        "velocity missed": (np.abs(qd - qd1) > CLOSE * limits.velocity).any(axis=1),
        "too fast": too_fast,
        "out of range": ((least < limits.lower - CLOSE * scale) | (most > limits.upper + CLOSE * scale)).any(
            axis=1
        ),
        "negative phase": (t < 0.0).any(axis=(1, 2)),
        "acceleration": ~np.isin(np.abs(a) / limits.acceleration[:, None], (0.0, 1.0)).all(axis=(1, 2)),
        "not together": (np.abs(t.sum(axis=2) - T) > CLOSE * (T + limits.velocity / limits.acceleration)).any(
            axis=1
        ),
    }
    return {what: good[mask] for what, mask in wrong.items() if mask.any()}, float(miss.max(initial=0.0))


def wrongly_refused(request: Request, plans: Plans) -> NDArray[np.intp]:
    """Plans refused for the range though every joint can stop after the start and
    before the end within it.
    """
    limits, a = request.limits, request.limits.acceleration
    first = request.q0 + 0.5 * request.qd0 * np.abs(request.qd0) / a
    last = request.q1 - 0.5 * request.qd1 * np.abs(request.qd1) / a
    places = np.stack([request.q0, first, last, request.q1])
    inside = ((places >= limits.lower) & (places <= limits.upper)).all(axis=(0, 2))
    return np.flatnonzero(
        inside
        & np.isin(plans.status, (PlanStatus.OUT_OF_RANGE, PlanStatus.NO_ROOM, PlanStatus.NOTHING_COMMON))
    )


def fuzz(seed: int, block: int, count: int = BLOCK) -> Report:
    """One block, planned as fast as it can be, and again in longer times."""
    start = time.perf_counter()
    request = make(seed, block, count)
    states = (request.q0, request.qd0, request.q1, request.qd1)
    plans = bang_bang_many(*states, request.limits)
    wrong, worst = check(request, plans)
    refused = wrongly_refused(request, plans)
    wrong |= {"refused without need": refused} if refused.size else {}
    longer = np.nan_to_num(plans.duration) * np.random.default_rng(block).choice(
        [1.0, 1.0001, 1.3, 4.0, 100.0], count
    )
    slower = bang_bang_many(*states, request.limits, longer)
    again, worse = check(request, slower)
    wrong |= {f"longer: {what}": rows for what, rows in again.items()}
    failures = tuple(
        f"{what}: {rows.size} times, first in row {rows[0]}; again: "
        f"python tools/fuzz_trajectories.py --seed {seed} --block {block} --size {count}"
        for what, rows in wrong.items()
    )
    planned = int((plans.status == PlanStatus.PLANNED).sum())
    return Report(
        seed, count, planned, count - planned, max(worst, worse), time.perf_counter() - start, failures
    )


def main() -> int:
    """Print one line, or JSON; 1 where something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000_000, help="requests")
    add_seed(parser)
    parser.add_argument("--block", type=int, help="only this block")
    parser.add_argument("--size", type=int, default=BLOCK, help="requests in a block")
    parser.add_argument("--jerk", action="store_true", help="with limits of jerk")
    parser.add_argument(
        "--peers", type=int, default=0, help="with --jerk: durations in a block compared with Ruckig's"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    given = parser.parse_args()
    print(f"seed {given.seed}", file=sys.stderr, flush=True)
    blocks = range(-(-given.count // given.size)) if given.block is None else (given.block,)
    more = (given.peers,) if given.jerk else ()
    one = fuzz_jerk.fuzz if given.jerk else fuzz
    report = sum((one(given.seed, block, given.size, *more) for block in blocks), Report(given.seed))
    print(json.dumps(dataclasses.asdict(report), indent=1) if given.json else report)
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
