"""The reference functions at their border: shapes, names, refusals by text, NaN, and what is left alone."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import FORWARD, INERTIA, INVERSE, Array, random_load, random_state, simple_drives

import forearm as fa
from forearm import Arm, ForearmError, InputError, Link, NameNotFound, dynamics

ARM = simple_drives(random_arm(25, 3, "standard"))  # turning, sliding, turning
OTHER = simple_drives(random_arm(30, 3))
N = ARM.n
none = np.zeros(N)

# Every function by the names of its arguments of the arm's size, and the shape of its answer for one state.
FUNCTIONS: dict[str, tuple[Callable[..., Array], tuple[str, ...], tuple[int, ...]]] = {
    "inverse": (dynamics.inverse, ("q", "qd", "qdd"), (N,)),
    "forward": (dynamics.forward, ("q", "qd", "tau"), (N,)),
    "inertia_matrix": (dynamics.inertia_matrix, ("q",), (N, N)),
    "bias": (dynamics.bias, ("q", "qd"), (N,)),
    "gravity": (dynamics.gravity, ("q",), (N,)),
    "coriolis_matrix": (dynamics.coriolis_matrix, ("q", "qd"), (N, N)),
    "kinetic_energy": (dynamics.kinetic_energy, ("q", "qd"), ()),
    "potential_energy": (dynamics.potential_energy, ("q",), ()),
    "regressor": (dynamics.regressor, ("q", "qd", "qdd"), (N, 10 * N)),
}
# Every way to ask for one thing: a function with a formulation or method.
WAYS: dict[str, tuple[Callable[..., Array], int]] = {
    name: (f, len(args)) for name, (f, args, _) in FUNCTIONS.items()
}
WAYS |= {f"inverse {name}": (partial(dynamics.inverse, formulation=name), 3) for name in INVERSE}
WAYS |= {f"inertia {name}": (partial(dynamics.inertia_matrix, method=name), 1) for name in INERTIA}
WAYS |= {f"forward {name}": (partial(dynamics.forward, method=name), 3) for name in FORWARD}

each_function = pytest.mark.parametrize(
    ("function", "names", "shape"), FUNCTIONS.values(), ids=FUNCTIONS.keys()
)
each_way = pytest.mark.parametrize(("way", "count"), WAYS.values(), ids=WAYS.keys())


def batch(count: int = 4) -> Array:
    """(3, count, n) generic states."""
    return np.random.default_rng(3).normal(size=(3, count, N))


# ---- names


def test_formulations_are_those_promised() -> None:
    assert dynamics.formulations() == {
        "inverse": [
            "lagrange-naive",
            "lagrange-uicker",
            "lagrange-stored",
            "lagrange-recursive",
            "lagrange-recursive-d",
            "lagrange-waters",
            "lagrange-hollerbach-4x4",
            "lagrange-hollerbach",
            "lagrange-silver",
            "newton-euler",
            "modified-newton-euler",
            "gibbs-appell",
            "kane",
        ],
        "inertia_matrix": ["unit-acceleration", "composite-body", "gibbs-appell", "orthogonal-complement"],
        "forward": [
            "unit-acceleration",
            "composite-body",
            "gibbs-appell",
            "orthogonal-complement",
            "conjugate-gradient",
            "articulated-body",
        ],
    }
    dynamics.formulations()["inverse"].clear()
    assert len(dynamics.formulations()["inverse"]) == 13


def test_defaults_are_those_promised() -> None:
    q, qd, last = batch(1)[:, 0]
    assert np.array_equal(
        dynamics.inverse(ARM, q, qd, last), dynamics.inverse(ARM, q, qd, last, "newton-euler")
    )
    assert np.array_equal(dynamics.inertia_matrix(ARM, q), dynamics.inertia_matrix(ARM, q, "composite-body"))
    assert np.array_equal(
        dynamics.forward(ARM, q, qd, last), dynamics.forward(ARM, q, qd, last, "articulated-body")
    )


def test_the_reference_is_reached_from_the_package() -> None:
    assert fa.dynamics is dynamics
    assert set(FUNCTIONS) | {"formulations", "trace"} <= set(dynamics.__all__)
    assert [j.kind for j in ARM.joints] == ["revolute", "prismatic", "revolute"]


WRONG_NAMES: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "inverse": (
        lambda name: dynamics.inverse(ARM, none, none, none, name),
        "newton-eular",
        "^formulation: expected one of .*, got 'newton-eular'; did you mean 'newton-euler'",
    ),
    "forward": (
        lambda name: dynamics.forward(ARM, none, none, none, name),
        "kane",
        "expected one of .*, got 'kane'",
    ),
    "inertia matrix": (
        lambda name: dynamics.inertia_matrix(ARM, none, name),
        "articulated-body",
        "got 'articulated",
    ),
    "trace": (lambda name: dynamics.trace(ARM, none, none, none, name), "kanes", "did you mean 'kane'"),
    "no text": (
        lambda name: dynamics.inverse(ARM, none, none, none, name),
        ("kane",),
        "formulation: expected one of",
    ),
    "no hash": (lambda name: dynamics.trace(ARM, none, none, none, name), ["kane"], "expected one of"),
}


@pytest.mark.parametrize(("call", "name", "said"), WRONG_NAMES.values(), ids=WRONG_NAMES.keys())
def test_unknown_name(call: Callable[[Any], Any], name: Any, said: str) -> None:
    with pytest.raises(NameNotFound, match=said):
        call(name)


# ---- shapes


@each_function
def test_shapes(function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]) -> None:
    states = batch()[: len(names)]
    for rows, made in ((states, (4, *shape)), (states[:, 0], shape), (states[:, :0], (0, *shape))):
        found = function(ARM, *rows)
        assert isinstance(found, np.ndarray)
        assert found.shape == made
        assert found.dtype == np.float64


@each_function
def test_states_are_broadcast_as_numpy_does(
    function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    """One state for every row, a row for every row, a number for every joint."""
    states = batch()[: len(names)]
    for at in range(1, len(names)):
        for short, whole in (
            (states[at, 0], states[at, :1]),
            (states[at, :1],) * 2,
            (0.3, np.full((1, N), 0.3)),
        ):
            given, wanted = list(states), list(states)
            given[at], wanted[at] = short, np.repeat(whole, 4, axis=0)
            assert np.array_equal(function(ARM, *given), function(ARM, *wanted))
        alone, repeated = [states[0, 0], *states[1:]], [states[0, :1].repeat(4, axis=0), *states[1:]]
        assert np.array_equal(function(ARM, *alone), function(ARM, *repeated))
        one: list[Any] = [state[0] for state in states]
        one[at] = 0.3
        assert function(ARM, *one).shape == shape


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@each_function
def test_what_is_no_state_is_refused(
    function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    shapes: tuple[Any, ...] = (0.0, np.zeros(2), np.zeros((2, 4)), np.zeros((2, 2, 3)), [])
    for wrong in shapes:
        said = f"q: 'random25' has 3 joints, expected shape (3,) or (B, 3), got {np.shape(wrong)}."
        with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
            function(ARM, wrong, *(none for _ in names[1:]))
    nothing: tuple[Any, ...] = ("abc", ["a", "b", "c"], [[1.0], [1.0, 2.0]], {"q": 1.0}, object(), none + 1j)
    for wrong in nothing:
        with pytest.raises(InputError, match=r"^q: expected (numbers|rows of equal length), got "):
            function(ARM, wrong, *(none for _ in names[1:]))
    for at in range(1, len(names)):
        arguments = [np.zeros((2, N))] * len(names)
        arguments[at] = np.zeros((4, N))
        said = f"{names[at]}: expected a number, ({N},) or (2, {N}) beside q (2, {N}), got (4, {N})."
        with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
            function(ARM, *arguments)


def test_arms_of_no_joint() -> None:
    """A pedestal alone: empty in, empty out."""
    stone = Arm(name="stone", links=(Link(name="stone", mass=3.0),), tree=())
    for name in INVERSE:
        assert dynamics.inverse(stone, [], [], [], name).shape == (0,)
    for name in INERTIA:
        assert dynamics.inertia_matrix(stone, [], name).shape == (0, 0)
    for name in FORWARD:
        assert dynamics.forward(stone, [], [], [], name).shape == (0,)
    assert dynamics.coriolis_matrix(stone, [], []).shape == (0, 0)
    assert dynamics.kinetic_energy(stone, [], []) == 0.0
    assert dynamics.trace(stone, [], [], []) == {}
    assert dynamics.forward_report(stone, [], [], []).qdd.shape == (0,)
    assert dynamics.gibbs(stone, [], [], []).hessian.shape == (0, 0)
    assert [e.rms.shape for e in dynamics.drop_errors(stone, *np.zeros((3, 2, 0)))] == [(0,), (0,)]
    assert np.isnan(dynamics.precision_study(stone, np.zeros((2, 0))).condition).tolist() == [True, True]
    assert dynamics.regressor(stone, [], [], []).shape == (0, 0)
    assert dynamics.inertial_parameters(stone).shape == (0,)
    assert dynamics.parameter_names(stone) == []


# ---- what comes in


def test_anything_like_an_array_will_do() -> None:
    states = batch(1)[:, 0]
    truth = dynamics.inverse(ARM, *states)
    kinds: tuple[Callable[[Array], Any], ...] = (
        lambda x: x.tolist(),
        lambda x: tuple(map(float, x)),
        lambda x: x.astype(np.longdouble),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: np.frombuffer(x.tobytes()),
    )
    for kind in kinds:
        assert np.array_equal(dynamics.inverse(ARM, *map(kind, states)), truth)
    for short in (np.array([[1, -2, 3]] * 3), states.astype(np.float32)):
        assert np.array_equal(dynamics.inverse(ARM, *short), dynamics.inverse(ARM, *short.astype(float)))


WRONG_LOADS: list[tuple[str, Any, str]] = [
    *((what, value, rf"^{what}: expected shape \(3,\), got \(") for what in ("hand_force", "hand_moment")
      for value in (1.0, [1.0, 2.0], np.zeros((1, 3)), [])),
    *((what, value, f"^{what}: ") for what in ("hand_force", "hand_moment")
      for value in ("abc", ["a", "b", "c"], [[1.0], [1.0, 2.0]], object())),
    *(("base_motion", value, "^base_motion: expected three vectors: angular velocity")
      for value in (3, [np.zeros(3)] * 2, [np.zeros(3)] * 4)),
    ("base_motion", [np.zeros(3), "abc", np.zeros(3)], r"^base_motion\[1\]: "),
    ("base_motion", [np.zeros(3), [1, 2], np.zeros(3)], r"^base_motion\[1\]: expected shape"),
]  # fmt: skip


@pytest.mark.parametrize("function", [dynamics.inverse, dynamics.forward])
def test_surroundings_that_are_none_are_refused(function: Callable[..., Array]) -> None:
    for what, value, said in WRONG_LOADS:
        with pytest.raises(InputError, match=said):
            function(ARM, none, none, none, **{what: value})


# ---- NaN and infinity: an error, or NaN, never a figure


@each_function
def test_what_is_not_finite_gives_nan_in_its_row_alone(
    function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    """At any place of any argument: a state with it has no answer, however little of it depends on that
    number; other rows have theirs.
    """
    count = len(names) * N
    states = np.repeat(batch(1)[: len(names)], 3 * count + 1, axis=1)
    for k, (at, joint) in enumerate(np.ndindex(len(names), N)):
        states[at, 3 * k : 3 * k + 3, joint] = np.nan, np.inf, -np.inf
    found = function(ARM, *states)
    assert np.isnan(found[:-1]).all()
    assert np.array_equal(found[-1], function(ARM, *states[:, -1]))


@pytest.mark.parametrize("which", range(5))
def test_nan_in_the_surroundings_gives_nan_out(which: int) -> None:
    force, moment, base = random_load(1)
    assert base is not None
    given = [v.copy() for v in (force, moment, *base) if v is not None]
    given[which][1] = np.nan
    state, load = random_state(ARM, 1), (given[0], given[1], given[2:])
    for formulation in INVERSE:
        assert np.isnan(dynamics.inverse(ARM, *state, formulation, *load)).any()
    assert np.isnan(dynamics.forward(ARM, *state, "articulated-body", *load)).all()


@pytest.mark.parametrize("method", FORWARD)
def test_a_joint_that_moves_nothing_gives_no_plausible_acceleration(method: str) -> None:
    """The last link without mass: M is singular, so that no acceleration belongs to a torque."""
    arm = random_arm(5, 3, "frames", prismatic=False, fixed=False).rigid()
    arm = arm.with_link(Link(name=arm.links[-1].name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            found = dynamics.forward(arm, *random_state(arm, 1), method)
        except ForearmError:
            return
    assert not np.isfinite(found).all()


# ---- what is left alone


@each_way
def test_a_batch_is_its_rows_bit_for_bit_and_nothing_is_modified(
    way: Callable[..., Array], count: int
) -> None:
    """Also for an equal arm that is another object, and after another arm was computed with."""
    states = batch(2)[:count]
    before, bits = copy.deepcopy(states), pickle.dumps(ARM)
    first = way(ARM, *states)
    assert np.array_equal(first, np.array([way(ARM, *row) for row in states.transpose(1, 0, 2)]))
    assert np.array_equal(states, before)
    assert pickle.dumps(ARM) == bits
    kept = first.copy()
    assert not np.shares_memory(first, states)
    first[...] = np.nan  # a new array, that the caller may write on
    way(OTHER, *states)
    again = pickle.loads(bits)
    assert again == ARM
    assert way(again, *states).tobytes() == kept.tobytes()


def test_the_load_is_not_modified() -> None:
    load = random_load(1)
    kept = copy.deepcopy(load)
    for formulation in INVERSE:
        dynamics.inverse(ARM, *random_state(ARM, 1), formulation, *load)
    dynamics.forward(ARM, *random_state(ARM, 1), "articulated-body", *load)
    assert repr(load) == repr(kept)


def test_more_arms_than_are_remembered() -> None:
    """Models are kept for some arms only; the answers of the others are right as well."""
    small = simple_drives(random_arm(25, 1, fixed=False))
    arms = [small.replace(gravity=(0.3 * k, 0.1 * k, -9.81)) for k in range(80)]
    once = [dynamics.inverse(arm, [0.3], [0.4], [0.5]).tobytes() for arm in arms]
    assert [dynamics.inverse(arm, [0.3], [0.4], [0.5]).tobytes() for arm in arms] == once
    assert len(set(once)) == 80
