"""How often intervals hold the truth, over many logs that differ by their noise alone.

`PYTHONPATH=src:tests python tests/identification/coverage.py 300` prints the table, `--other` that of another
arm along other motions, which nothing was tuned on.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from identification.dense_fit import dense_columns
from identification.measured import FourierMotion, closed_loop, excited_motion, measured
from identification.true_arms import believed, small_true, true_values, with_motors_of, with_stribeck
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm
from forearm.identification.effort_model import effort_model
from forearm.identification.fitting import fit_stage
from forearm.identification.from_logs import fitting_of
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.questions import FitRequest
from forearm.identification.result import Identification
from forearm.identification.signals.prepare import prepare_log

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
NOISE = 0.02  # of each joint's rms, on efforts
FAR = 1e3  # standard deviations: a value that far off is a failure of another kind


@dataclass(frozen=True, eq=False)
class Circumstance:
    """A true arm, how logs of it are measured, and what is asked of them."""

    name: str
    true: Arm
    nominal: Arm
    motion: FourierMotion
    log: Callable[[int], dict[str, Floats]]
    options: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)  # true values that the arm does not have


@dataclass(frozen=True, eq=False)
class Coverage:
    """Of every parameter how often its interval held the truth, and (found - true) / std (seeds, p), NaN
    where a log does not tell it.
    """

    names: tuple[str, ...]
    scores: Floats

    @property
    def shares(self) -> Floats:
        """Of every parameter (p,)."""
        z = NormalDist().inv_cdf(0.5 + 0.5 * CONFIDENCE)
        return np.asarray(np.sum(np.abs(self.scores) <= z, axis=0) / self.told)

    @property
    def bias(self) -> Floats:
        """The mean of what is wrong, in standard deviations (p,)."""
        return np.asarray(np.nanmean(self.scores, axis=0))

    @property
    def spread(self) -> Floats:
        """How far values spread over seeds, in standard deviations as stated (p,): 1 is right."""
        return np.asarray(np.nanstd(self.scores, axis=0))

    @property
    def told(self) -> Floats:
        """In how many logs each parameter was told (p,)."""
        return np.asarray(np.isfinite(self.scores).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Estimate:
    """What `Identification` says of parameters."""

    parameters: ParameterSet
    std: ParameterSet
    torque_side: str


def estimate(case: Circumstance, log: dict[str, Floats]) -> Estimate:
    """The parameters of `fa.identify` without all that is made of them: a third of the time."""
    model = effort_model(case.nominal, "motor", None)
    asked = FitRequest(False, False, (True,), (None,))
    fitting = fitting_of(model, [prepare_log(case.nominal, log)], asked, 0.0, "joint", None)
    solution = fit_stage(fitting, model.values()).solution
    kept = [k for k, name in enumerate(solution.unknowns.names) if not name.endswith(".shift")]
    names = [solution.unknowns.names[k] for k in kept]
    return Estimate(ParameterSet(names, solution.z[kept]), ParameterSet(names, solution.std[kept]), "motor")


def expected(
    found: Identification | Estimate, true: Arm, motion: FourierMotion, extra: dict[str, float]
) -> Floats:
    """The true value of every parameter (p,), NaN where data say nothing.

    What stays at a guess is wrong by what others must make up for: they take it up as the regressor says.
    """
    values = true_values(true) | extra
    names = found.parameters.names
    told = np.isfinite(np.asarray(found.std))
    shown = [x for x in (*values, *names) if _is_linear(x)]
    linear = list(dict.fromkeys(shown))
    A = _columns_along(true, motion, tuple(linear), found.torque_side)
    place = {name: k for k, name in enumerate(names)}
    kept = [x for x in linear if x in place and told[place[x]]]
    others = [x for x in linear if x not in kept and (x in place or x.endswith("rotor_inertia"))]
    wrong = np.array([values[x] - (found.parameters[x] if x in place else 0.0) for x in others])
    sizes = np.linalg.norm(A, axis=0)
    at = [linear.index(x) for x in kept]
    made_up = A[:, [linear.index(x) for x in others]] @ wrong
    more = np.linalg.lstsq(A[:, at] / sizes[at], made_up, rcond=None)[0] / sizes[at]
    taken = dict(zip(kept, more.tolist(), strict=True))
    return np.array([values[x] + taken.get(x, 0.0) if told[k] else np.nan for k, x in enumerate(names)])


@lru_cache(maxsize=32)
def _columns_along(arm: Arm, motion: FourierMotion, names: tuple[str, ...], side: str) -> Floats:
    q, qd, qdd = motion.at(np.linspace(0.0, motion.duration, 211))
    return dense_columns(arm, {"q": q, "qd": qd, "qdd": qdd}, names, side).reshape(-1, len(names))


def _is_linear(name: str) -> bool:
    ends = (".gain", ".torque_constant", ".resistance", ".offset", ".stribeck_speed", ".shift")
    return not name.endswith(ends) and ".static." not in name and "payload." not in name


def coverage_of(case: Circumstance, seeds: Sequence[int], *, is_quick: bool = False) -> Coverage:
    """Logs by their seeds, identified one after the other; quickly if nothing is asked for but parameters."""
    scores: list[dict[str, float]] = []
    for seed in seeds:
        log = case.log(seed)
        found: Estimate | Identification = (
            estimate(case, log)
            if is_quick
            else fa.identify(case.nominal, log, **{"torque_side": "motor", **case.options})
        )
        truth = expected(found, case.true, case.motion, case.extra)
        z = (np.asarray(found.parameters) - truth) / np.asarray(found.std)
        scores.append({x: float(v) for x, v in zip(found.parameters.names, z, strict=True) if np.isfinite(v)})
    names = tuple(dict.fromkeys(name for one in scores for name in one))
    table = np.array([[one.get(name, np.nan) for name in names] for one in scores])
    return Coverage(names, np.clip(table, -FAR, FAR))


def fewest_covered(seeds: int, confidence: float, alarm: float) -> int:
    """The count of intervals that hold the truth below which chance is rarer than `alarm`."""
    total, k = 0.0, 0
    while True:
        total += math.comb(seeds, k) * confidence**k * (1.0 - confidence) ** (seeds - k)
        if total > alarm:
            return k
        k += 1


def most_covered(seeds: int, confidence: float, alarm: float) -> int:
    """The count above which chance is rarer; as many as there are seeds where none is."""
    return seeds - fewest_covered(seeds, 1.0 - confidence, alarm)


def circumstances(arm: Arm | None = None, drawn: int = 1) -> dict[str, Circumstance]:
    """What coverage is looked at in, of an arm whose motions are drawn."""
    arm = small_true(2) if arm is None else arm
    nominal = believed(arm)
    motion = excited_motion(arm, 10.0, drawn)
    rms = np.sqrt(np.mean(measured(arm, motion, rate=100.0)["tau"] ** 2, axis=0))
    unequal = rms * np.geomspace(0.005, 0.1, arm.n)
    curved, load = with_stribeck(arm), {"mass": 0.8, "com": [0.02, -0.03, 0.06]}
    slow = excited_motion(arm, 10.0, drawn + 1, harmonics=7)

    by_sheet = with_motors_of(nominal, arm)

    def case(name: str, true: Arm = arm, options: dict[str, Any] | None = None, **log: Any) -> Circumstance:
        given = {"rate": 250.0, "effort_noise": NOISE, "is_share": True, **log}
        return Circumstance(
            name,
            true,
            nominal if given.get("effort", "tau") == "tau" else by_sheet,
            motion,
            lambda seed: measured(true, motion, seed=seed, **given),
            options or {},
        )

    sticking = Circumstance(
        "closed loop that sticks",
        arm,
        nominal,
        slow,
        lambda seed: closed_loop(
            arm, slow, rate=500.0, controller_of=nominal, q_noise=2e-5, effort_noise=NOISE * rms, seed=seed
        ),
    )
    made = [
        case("effort noise"),
        case("unequal joint noise", effort_noise=unequal, is_share=False),
        case(
            "ordinary, unequal joint noise",
            effort_noise=unequal,
            is_share=False,
            options={"weighting": "ordinary"},
        ),
        case("q noise 1e-5 rad", q_noise=1e-5),
        case("q noise 1e-4 rad", q_noise=1e-4),
        case("q steps of 1e-4 rad", q_step=1e-4),
        case("q steps of 1e-3 rad", q_step=1e-3),
        case("delay 4 ms", delay=4e-3),
        case("effort steps of one sigma", effort_step=NOISE * rms),
        case("behind the gear", side="link", options={"torque_side": "link"}),
        case("motor current", effort="current"),
        case("motor voltage", effort="voltage", effort_noise=0.003),  # most of it is the motor's own
        case("Stribeck", true=curved, options={"friction": "stribeck"}),
        case("known payload", payload=load, options={"payload": load}),
        sticking,
    ]
    return {one.name: one for one in made}


def realistic() -> Circumstance:
    """A short log with a little of everything that is wrong with logs."""
    arm = small_true(2)
    motion = excited_motion(arm, 6.0, 1)
    rms = np.sqrt(np.mean(measured(arm, motion, rate=100.0)["tau"] ** 2, axis=0))

    def log(seed: int) -> dict[str, Floats]:
        noise = {"effort_noise": rms * [0.01, 0.05], "q_noise": 2e-5, "q_step": 5e-5}
        return measured(arm, motion, rate=125.0, delay=0.003, seed=seed, **noise)

    return Circumstance("realistic", arm, believed(arm), motion, log)


def main(count: int, chosen: Sequence[str], *, is_other: bool) -> None:
    """The table, in Markdown; of another arm, other motions and other noise where that is asked for."""
    cases = circumstances(small_true(3, 11), 21) if is_other else circumstances()
    first = 1000 if is_other else 0
    print("| circumstance | parameters | mean | least | most | largest bias / std | spread | s |")
    for name, case in cases.items():
        if chosen and name not in chosen:
            continue
        begun = time.process_time()
        try:
            found = coverage_of(case, range(first, first + count))
        except Exception as error:  # a table of what works and what does not
            print(f"| {name} | {type(error).__name__}: {error} |", flush=True)
            continue
        spent = (time.process_time() - begun) / count
        worst = int(np.argmin(found.shares))
        far = int(np.argmax(np.abs(found.bias)))
        figures = [
            f"{len(found.names)}",
            f"{found.shares.mean():.3f}",
            f"{found.shares.min():.3f} ({found.names[worst]})",
            f"{found.shares.max():.3f}",
            f"{found.bias[far]:+.2f} ({found.names[far]})",
            f"{found.spread.min():.2f}-{found.spread.max():.2f}",
            f"{spent:.3f}",
        ]
        print(f"| {name} | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--other"]
    main(int(given[0]) if given else 40, given[1:], is_other="--other" in sys.argv)
