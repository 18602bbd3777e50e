"""Call public functions with arguments that are wrong at random: each gives an answer or an error of its own,
soon.

    .venv/bin/python tools/fuzz_calls.py --count 20000

Each run takes a fresh seed, which it prints; `--seed S --index i --function F` makes call number i again.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import tests_path  # noqa: F401
from arms import random_arm
from fuzzing import Fuzzer, Subject
from numpy.typing import NDArray

import forearm as fa
from forearm.kernels.kernel import Kernel
from forearm.trajectories.series.motion import SeriesMotion

Arguments = dict[str, Any]
ROWS = 120  # of a log
PERIOD = 0.01  # s


@cache
def smooth_arm() -> fa.Arm:
    """Two joints with motors and without dry friction."""
    motor = fa.Motor(gear_ratio=50.0, rotor_inertia=3e-5, torque_constant=0.08, resistance=1.1)
    rigid = random_arm(5, 2, "modified", prismatic=False, fixed=False, drives=False)
    return rigid.with_drives(motor=motor, friction=fa.Friction(viscous=0.9))


@cache
def sticking_arm() -> fa.Arm:
    """The same with Stribeck friction."""
    return smooth_arm().with_drives(
        friction=fa.Friction(viscous=0.9, coulomb=1.7, static=2.3, stribeck_speed=0.1)
    )


@cache
def kernel(parameters: tuple[str, ...] = ()) -> Kernel:
    """Of the smooth arm."""
    return fa.compile(smooth_arm(), parameters=parameters)


@cache
def log() -> dict[str, NDArray[np.float64]]:
    """A motion of the smooth arm, its torques with noise, and its currents."""
    t = PERIOD * np.arange(ROWS)
    rate = np.array([[5.0], [8.3]])
    q, qd, qdd = np.sin(rate * t).T, (rate * np.cos(rate * t)).T, (-(rate**2) * np.sin(rate * t)).T
    tau = kernel().inverse_dynamics(q, qd, qdd) + 0.01 * np.random.default_rng(1).normal(size=q.shape)
    return {"t": t, "q": q, "qd": qd, "tau": tau, "current": tau / (50.0 * 0.08)}


# --- calls that are sound ------------------------------------------------------------------------------


def gradient_arguments(rng: random.Random) -> Arguments:
    """Recorded states of one arm or several, under one of all drives."""
    many, steps, record = rng.choice((0, 0, 1, 3)), rng.choice((0, 1, 4, 6)), rng.choice((1, 2, 6))
    batch = (many,) if many else ()
    q = np.linspace(-0.7, 0.9, max(many, 1) * (steps // record + 1) * 2)
    q = q.reshape(*batch, steps // record + 1, 2)
    last = q[..., -1, :]
    weights = rng.choice(((q, q), (last, last)))
    made: Arguments = {"states": (q, 0.3 * q), "weights": weights, "steps": steps, "step": 1e-3}
    made |= {"record": record, "self": kernel(rng.choice(((), ("part2.mass",))))}
    drive = rng.choice(("", "torque", "voltage", "controller"))
    shape = rng.choice(((2,), (*batch, 2), (steps, 2), (*batch, steps, 2)))
    if drive == "controller":
        made["controller"] = fa.TracedController(law, reference=np.full(shape, 0.1))
    elif drive:
        made[drive] = np.full(shape, 0.2)
    if made["self"].parameters and rng.random() < 0.6:
        own = made["self"].parameters
        made["parameters"] = rng.choice((dict(own), np.array([*own.values()]), {"part2.mass": 2.0}))
    return made


def law(t: Any, q: Any, qd: Any, reference: Any) -> Any:
    """Towards a reference."""
    return 3.0 * (reference - q) - qd


def check_gradient(given: Arguments, made: fa.RolloutGradient) -> None:
    """In the shape of the states, and finite where those are."""
    q = np.asarray(given["states"][0])
    assert made.q0.shape == made.qd0.shape == (*q.shape[:-2], q.shape[-1])


def check_answer(_given: Arguments, _made: Any) -> None:
    """Any will do."""


def simulate_arguments(rng: random.Random) -> Arguments:
    """The same for the run itself."""
    made = gradient_arguments(rng)
    q, qd = made.pop("states")
    del made["weights"]
    return {**made, "q0": q[..., 0, :], "qd0": qd[..., 0, :], "threads": rng.choice((None, 1, 2))}


def identify_arguments(rng: random.Random) -> Arguments:
    """A log, long or too short, or two, and some of the options."""
    whole = log()
    names = rng.choice((("tau",), ("tau", "qd"), ("current",)))
    rows = rng.choice((ROWS, ROWS, ROWS, ROWS, 0, 1, 2, 3, 5, 12, 20, 30))
    one = {name: whole[name][:rows] for name in ("t", "q", *names)}
    two = {name: whole[name][20:] for name in one}
    made: Arguments = {
        "arm": rng.choice((smooth_arm(), sticking_arm())),
        "log": rng.choice((one, one, [one, two])),
    }
    made["torque_side"] = "motor" if "current" in one else rng.choice(("motor", "link"))
    options: Arguments = {
        "friction": rng.choice(("none", "viscous", "coulomb")),
        "offsets": True,
        "gains": True,
        "payload": rng.choice(("unknown", {"mass": 0.5, "com": [0.0, 0.1, 0.0], "inertia": np.eye(3)})),
        "shift": 0.0,
        "weighting": rng.choice(("ordinary", "robust")),
        "cutoff": 8.0,
        "derivatives": "position",
        "total_mass": (9.4, 0.1),
        "prior": 0.5,
        "confidence": 0.9,
        "check": False,
        "columns": {"t": "t"},
        "units": "rad",
    }
    made |= {name: options[name] for name in rng.sample([*options], rng.choice((0, 0, 1, 2)))}
    if "gains" in made:
        made["arm"] = smooth_arm()
    return made


def excite_arguments(rng: random.Random) -> Arguments:
    """A short search, and some of the options."""
    made: Arguments = {"arm": smooth_arm(), "duration": 2.0, "harmonics": 2, "starts": 1, "step": 0.1}
    options: Arguments = {
        "basis": "spline",
        "criterion": "condition",
        "velocity": [2.0, 3.0],
        "acceleration": 20.0,
        "torque": [60.0, 30.0],
        "voltage": 48.0,
        "margin": 0.1,
        "box": ((-1.0, -np.inf, -1.0), (1.0, 1.0, 1.0)),
        "start": [0.1, -0.2],
        "after": [SeriesMotion("fourier", 2.0, np.zeros(2), np.full((4, 2), 0.1))],
        "noise": [0.1, 0.2],
        "torque_side": "link",
        "seed": 3,
    }
    return {**made, **{name: options[name] for name in rng.sample([*options], rng.choice((0, 1, 2)))}}


def generate_arguments(rng: random.Random) -> Arguments:
    """Any language of some functions."""
    function = rng.choice(("inverse_dynamics", ["inertia_matrix", "gravity"], "integration_step"))
    made: Arguments = {"arm": smooth_arm(), "function": function}
    options: Arguments = {
        "language": rng.choice(("c", "python", "latex", "rust")),
        "parameters": rng.choice(("part2", ["part2.mass", "joint1.friction"])),
        "name": "torques",
        "dtype": "float32",
        "method": "rk3",
        "drive": "voltage",
        "target": "cortex-m4",
    }
    made |= {name: options[name] for name in rng.sample([*options], rng.choice((0, 1, 2)))}
    if "target" in made or "dtype" in made:
        made["language"] = "c"
    return made


def study_arguments(rng: random.Random) -> Arguments:
    """Along a motion, or under torques."""
    made: Arguments = {
        "name": "some",
        "arm": rng.choice((smooth_arm(), {"one": smooth_arm(), "two": sticking_arm()})),
        "vary": {"payload.mass": fa.studies.Uniform(0.1, 0.4), "part1.mass": [3.0, 5.0]},
        "figures": rng.choice(("peak_torque", ["peak_speed", "rms_torque.joint2"])),
        "rows": 8,
    }
    made |= rng.choice(
        (
            {"duration": 0.1, "torque": [1.0, 0.5]},
            {"motion": [[0.1, 0.2], [0.3, -0.1]], "law": "pd", "acceleration": 20.0, "velocity": 2.0},
        )
    )
    options: Arguments = {
        "design": rng.choice(("random", "sobol")),
        "seed": 4,
        "levels": {"payload.mass": 3},
        "correlation": {("payload.mass", "part1.mass"): 0.3},
        "motors": {"small": {"torque_constant": 0.05, "resistance": 1.0}},
        "rows_per_part": 3,
        "step": 0.01,
        "method": "gill",
        "start": [0.1, 0.0],
        "payload": {"mass": 0.2},
        "effort_limits": True,
    }
    made |= {name: options[name] for name in rng.sample([*options], rng.choice((0, 1, 2)))}
    if "levels" in made:
        made |= {"design": "grid", "rows": None, "correlation": None}
    return made


# --- arguments that are wrong --------------------------------------------------------------------------

ODD: tuple[Callable[[], Any], ...] = (
    *(partial(lambda value: value, value) for value in (
        None, True, False, 0, 1, -1, 2, 7, 2**53, 2**63, 2**70, 10**400, 0.5, -0.0, 1e-300, 1e308, np.nan,
        np.inf, -np.inf, 1j, "", "x", "nan", "0", "x" * 5000, "a\0b", b"x", (), {1}, object, len, range(3),
        Decimal("0.1"), Fraction(1, 3), Path("missing.csv"), Path(), slice(3), ...,
    )),
    list, dict, object, lambda: [None], lambda: [[]], lambda: [1, [2, 3]], lambda: {"x": 1}, lambda: {1: 2},
    lambda: {None: None}, lambda: [0.1, 0.2], lambda: ["x", "y"], lambda: iter([0.1, 0.2]), smooth_arm,
    lambda: np.array(1.0), lambda: np.array(np.nan), lambda: np.array(None), lambda: np.array("x"),
    lambda: np.empty(0), lambda: np.empty((0, 2)), lambda: np.empty((2, 0)), lambda: np.ones((2, 2, 2, 2)),
    lambda: np.array(["2020-01-01"], "datetime64[D]"), lambda: np.float32(0.5), lambda: np.int64(3),
    lambda: np.zeros(2, [("q", float)]), lambda: np.ma.masked_array([0.1, 0.2], True),
)  # fmt: skip


ENTRIES = (np.nan, np.inf, -np.inf, 1e308, 1e30, -5.0, 0.0, 5e-324)


def array(rng: random.Random, value: NDArray[Any]) -> Any:
    """Other shapes, kinds, orders and entries of an array."""

    def entry(a: NDArray[Any]) -> NDArray[Any]:
        made = a.copy()
        made.flat[rng.randrange(a.size)] = rng.choice(ENTRIES)
        return made

    ways: tuple[Callable[[NDArray[Any]], Any], ...] = (
        *(entry,) * 4, np.zeros_like, np.ravel, np.transpose, np.asfortranarray, np.negative,
        np.ndarray.tolist, lambda a: a[:0], lambda a: a[:1], lambda a: a[:2], lambda a: a[:5],
        lambda a: a[:-1], lambda a: a[::-1], lambda a: a[::2], lambda a: a[..., :1], lambda a: a[..., :0],
        lambda a: a[None], lambda a: a[..., None], lambda a: a.reshape(-1)[0],
        lambda a: np.concatenate([a, a]), lambda a: np.concatenate([a, a], axis=-1),
        lambda a: np.repeat(a, 2, axis=0), lambda a: np.sort(a, axis=0), lambda a: np.full_like(a, np.nan),
        lambda a: np.full_like(a, a.flat[0]), lambda a: np.broadcast_to(a.flat[0], a.shape),
        *(partial(np.multiply, factor) for factor in (1e9, 1e-9, 1e200)), partial(np.add, 1e12),
        lambda a: a + np.random.default_rng(2).normal(size=a.shape),
        lambda a: np.ma.masked_array(a, a > 0.0),
        *(partial(np.asarray, dtype=kind) for kind in (int, bool, complex, object, str, "f4", ">f8")),
        lambda a: [*a.tolist(), []],
    )  # fmt: skip
    try:
        return rng.choice(ways)(value) if value.size and value.ndim else rng.choice(ODD)()
    except (TypeError, ValueError):  # an earlier change left no numbers
        return None


def wrong(rng: random.Random, value: Any) -> Any:
    """A value changed, within or as a whole."""
    if rng.random() < 0.15:
        return rng.choice(ODD)()
    if isinstance(value, np.ndarray):
        return array(rng, value)
    if isinstance(value, Mapping) and value:
        made = dict(value)
        key = rng.choice([*made])
        entry = made.pop(key)
        if rng.random() < 0.2:
            return made
        return {
            **made,
            rng.choice((None, 1, "x", "t", ("q", "t"))) if rng.random() < 0.1 else key: wrong(rng, entry),
        }
    if isinstance(value, list | tuple) and value:
        some = list(value)
        k = rng.randrange(len(some))
        some[k : k + 1] = rng.choice(([], [some[k]] * 2, [wrong(rng, some[k])], [wrong(rng, some[k])]))
        return type(value)(some) if rng.random() < 0.9 else iter(some)
    if isinstance(value, float):
        return value * rng.choice((-1.0, 0.0, 1e-6, 1e3, 1e12, 1e300))
    if isinstance(value, fa.TracedController):
        return rng.choice(
            (law, lambda t, q: q, lambda t, q, qd: q[:1], partial(law, reference=0.0), law(0, 1, 2, 3))
        )
    return rng.choice(ODD)()


# --- the run -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Called:
    """A function, its sound arguments, and what must hold of its answer."""

    function: Callable[..., Any]
    arguments: Callable[[random.Random], Arguments]
    check: Callable[[Arguments, Any], None]
    limit: float = 2.0


def call(called: Called, rng: random.Random) -> Arguments:
    """Sound arguments, of which one or a few are made wrong: those given, or others that it takes."""
    made = called.arguments(rng)
    names = [n for n in inspect.signature(called.function).parameters if n not in ("self", "progress", "run")]
    given = [name for name in made if name != "self"]
    given += 3 * [name for name in given if isinstance(made[name], np.ndarray | Mapping | list | tuple)]
    for _ in range(rng.choice((1, 1, 1, 2))):
        name = rng.choice(given if rng.random() < 0.8 else names)
        made[name] = wrong(rng, made.get(name))
    return made


def _check(called: Called, given: Arguments, _folder: Path) -> None:
    called.check(given, called.function(**given))


def _written(given: Arguments) -> bytes:
    with np.printoptions(threshold=400):
        return "\n".join(f"{name} = {value!r}" for name, value in given.items()).encode()


CALLS = {
    "simulate_gradient": Called(Kernel.simulate_gradient, gradient_arguments, check_gradient),
    "simulate": Called(Kernel.simulate, simulate_arguments, check_answer),
    "identify": Called(fa.identify, identify_arguments, check_answer, limit=10.0),
    "excite": Called(fa.excite, excite_arguments, check_answer, limit=10.0),
    "generate": Called(fa.generate, generate_arguments, check_answer),
    "study": Called(fa.Study, study_arguments, check_answer, limit=5.0),
}
FUZZER = Fuzzer(
    "fuzz_calls.py",
    "--function",
    {
        name: Subject(partial(call, called), partial(_check, called), _written, ".txt", called.limit)
        for name, called in CALLS.items()
    },
)


if __name__ == "__main__":
    sys.exit(FUZZER.main(__doc__))
