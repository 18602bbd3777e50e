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
from dynamics.cases import (
    FORWARD,
    INERTIA,
    INVERSE,
    Array,
    random_load,
    random_state,
    simple_drives,
    with_kinds,
)

import forearm as fa
from forearm import Arm, ForearmError, InputError, Link, NameNotFound, dynamics

ARM = simple_drives(random_arm(25, 3, "standard"))  # turning, sliding, turning
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


WRONG_NAMES: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "inverse": (
        lambda name: dynamics.inverse(ARM, none, none, none, name),
        "newton-eular",
        "^formulation: expected one of .*, got 'newton-eular'; did you mean 'newton-euler'",
    ),
    "inertia_matrix": (
        lambda name: dynamics.inertia_matrix(ARM, none, name),
        "composite",
        "^method: expected one of .*, got 'composite'; did you mean 'composite-body'",
    ),
    "forward": (
        lambda name: dynamics.forward(ARM, none, none, none, name),
        "articulated body",
        r"^forward, method: expected one of .*, got 'articulated body'; did you mean 'articulated-body'\?$",
    ),
    "trace": (
        lambda name: dynamics.trace(ARM, none, none, none, name),
        "Kane",
        "formulation: expected one of .*, got 'Kane'; did you mean",
    ),
    "far off": (
        lambda name: dynamics.inertia_matrix(ARM, none, name),
        "zzz",
        "expected one of unit-acceleration, composite-body, gibbs-appell, orthogonal-complement, got 'zzz'.$",
    ),
    "of another table": (
        lambda name: dynamics.inertia_matrix(ARM, none, name),
        "articulated-body",
        "got 'articulated-body'",
    ),
}


@pytest.mark.parametrize(("call", "name", "said"), WRONG_NAMES.values(), ids=WRONG_NAMES.keys())
def test_unknown_name(call: Callable[[str], Any], name: str, said: str) -> None:
    with pytest.raises(NameNotFound, match=said):
        call(name)


@pytest.mark.parametrize("name", [None, 3, ("kane",)], ids=str)
def test_a_name_that_is_no_text(name: Any) -> None:
    with pytest.raises(NameNotFound, match="formulation: expected one of"):
        dynamics.inverse(ARM, none, none, none, name)


@pytest.mark.parametrize("call", [0, 1, 2], ids=["inverse", "inertia_matrix", "trace"])
def test_a_name_that_cannot_be_hashed(call: int) -> None:
    name: Any = ["kane"]
    calls = (
        lambda: dynamics.inverse(ARM, none, none, none, name),
        lambda: dynamics.inertia_matrix(ARM, none, name),
        lambda: dynamics.trace(ARM, none, none, none, name),
    )
    with pytest.raises(NameNotFound, match="expected one of"):
        calls[call]()


# ---- shapes


@each_function
def test_shapes(function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]) -> None:
    states = batch()[: len(names)]
    for count in (1, 4):
        many = function(ARM, *states[:, :count])
        assert many.shape == (count, *shape)
        assert many.dtype == np.float64
    one = function(ARM, *states[:, 0])
    assert isinstance(one, np.ndarray)
    assert one.shape == shape
    assert one.dtype == np.float64
    empty = function(ARM, *states[:, :0])
    assert empty.shape == (0, *shape)
    assert empty.dtype == np.float64


@each_way
def test_a_batch_is_its_rows_bit_for_bit(way: Callable[..., Array], count: int) -> None:
    states = batch()[:count]
    assert np.array_equal(way(ARM, *states), np.array([way(ARM, *row) for row in states.transpose(1, 0, 2)]))


@each_function
def test_a_wrong_shape_is_refused(
    function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    values: tuple[Any, ...] = (0.0, np.zeros(2), np.zeros(4), np.zeros((2, 4)), np.zeros((2, 2, 3)), [])
    for wrong in values:
        said = f"q: 'random25' has 3 joints, expected shape (3,) or (B, 3), got {np.shape(wrong)}."
        with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
            function(ARM, wrong, *(none for _ in names[1:]))


@each_function
def test_states_are_broadcast_as_numpy_does(
    function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    """One state for every row, a row for every row, a number for every joint."""
    states = batch()[: len(names)]
    count = states.shape[1]
    for at in range(1, len(names)):
        for short, whole in (
            (states[at, 0], states[at, :1]),
            (states[at, :1], states[at, :1]),
            (0.3, np.full((1, N), 0.3)),
            (np.array(0.3), np.full((1, N), 0.3)),
        ):
            given, wanted = list(states), list(states)
            given[at], wanted[at] = short, np.repeat(whole, count, axis=0)
            assert np.array_equal(function(ARM, *given), function(ARM, *wanted))
        alone, repeated = [states[0, 0], *states[1:]], [states[0, :1].repeat(count, axis=0), *states[1:]]
        assert np.array_equal(function(ARM, *alone), function(ARM, *repeated))
        one = [state[0] for state in states]
        one[at] = 0.3
        assert function(ARM, *one).shape == shape


@each_function
def test_shapes_that_do_not_broadcast_are_told(
    function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    for at in range(1, len(names)):
        arguments = [np.zeros((2, N))] * len(names)
        arguments[at] = np.zeros((4, N))
        said = f"{names[at]}: expected a number, ({N},) or (2, {N}) beside q (2, {N}), got (4, {N})."
        with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
            function(ARM, *arguments)


def test_arms_of_no_joint() -> None:
    """A pedestal alone: empty in, empty out."""
    stone = Arm(name="stone", links=(Link(name="stone", mass=3.0),), tree=())
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


@pytest.mark.parametrize("formulation", list(INVERSE))
def test_inverse_of_an_arm_of_no_joint(formulation: str) -> None:
    stone = Arm(name="stone", links=(Link(name="stone", mass=3.0),), tree=())
    assert dynamics.inverse(stone, [], [], [], formulation).shape == (0,)


# ---- what comes in


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x.tolist(),
        lambda x: tuple(map(float, x)),
        lambda x: x.astype(np.longdouble),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: np.frombuffer(x.tobytes()),
    ],
    ids=["list", "tuple", "longdouble", "strided", "read-only"],
)
def test_anything_like_an_array_will_do(made: Callable[[Array], Any]) -> None:
    states = batch(1)[:, 0]
    assert np.array_equal(dynamics.inverse(ARM, *(made(s) for s in states)), dynamics.inverse(ARM, *states))


def test_whole_numbers_and_short_floats_are_numbers() -> None:
    whole = np.array([1, -2, 3])
    floats = whole.astype(float)
    assert np.array_equal(
        dynamics.inverse(ARM, whole, whole, whole), dynamics.inverse(ARM, floats, floats, floats)
    )
    short = batch(1)[:, 0].astype(np.float32)
    assert np.array_equal(dynamics.inverse(ARM, *short), dynamics.inverse(ARM, *short.astype(float)))


NO_NUMBERS: dict[str, Any] = {
    "text": "abc",
    "words": ["a", "b", "c"],
    "ragged": [[1.0], [1.0, 2.0]],
    "dict": {"q": 1.0},
    "object": object(),
}


@pytest.mark.parametrize("case", [f"{f}-{what}" for f in FUNCTIONS for what in NO_NUMBERS])
def test_what_is_no_number_is_refused(case: str) -> None:
    name, what = case.split("-")
    function, names, _ = FUNCTIONS[name]
    with pytest.raises(InputError, match=r"^q: expected (numbers|rows of equal length), got "):
        function(ARM, NO_NUMBERS[what], *(none for _ in names[1:]))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@each_function
def test_complex_numbers_are_refused(
    function: Callable[..., Array], names: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    with pytest.raises(InputError, match="expected numbers"):
        function(ARM, none + 1j, *(none for _ in names[1:]))


@pytest.mark.parametrize("what", ["hand_force", "hand_moment"])
@pytest.mark.parametrize("value", [1.0, [1.0, 2.0], np.zeros((1, 3)), np.zeros((3, 3)), []], ids=str)
def test_a_load_of_the_wrong_shape_is_refused(what: str, value: Any) -> None:
    load = {what: value}
    with pytest.raises(InputError, match=rf"^{what}: expected shape \(3,\), got \("):
        dynamics.inverse(ARM, none, none, none, **load)
    with pytest.raises(InputError, match=rf"^{what}: expected shape \(3,\), got \("):
        dynamics.forward(ARM, none, none, none, **load)


@pytest.mark.parametrize("what", ["hand_force", "hand_moment"])
@pytest.mark.parametrize(
    "value",
    ["abc", ["a", "b", "c"], [[1.0], [1.0, 2.0]], object()],
    ids=["text", "words", "ragged", "object"],
)
def test_a_load_that_is_no_number_is_refused(what: str, value: Any) -> None:
    load = {what: value}
    with pytest.raises(InputError, match=f"^{what}: "):
        dynamics.inverse(ARM, none, none, none, **load)


@pytest.mark.parametrize(
    "value",
    [3, [np.zeros(3)] * 2, [np.zeros(3)] * 4, "abc", [np.zeros(3), "abc", np.zeros(3)]],
    ids=["number", "two", "four", "text", "text inside"],
)
def test_a_base_motion_that_is_none_is_refused(value: Any) -> None:
    said = r"^base_motion: expected three vectors: angular velocity|^base_motion\[\d\]: "
    with pytest.raises(InputError, match=said):
        dynamics.inverse(ARM, none, none, none, base_motion=value)


def test_a_base_motion_of_the_wrong_shape_is_refused() -> None:
    v = np.zeros(3)
    with pytest.raises(InputError, match=r"^base_motion\[1\]: expected shape \(3,\), got \(2,\)\.$"):
        dynamics.inverse(ARM, none, none, none, base_motion=(v, np.zeros(2), v))


# ---- NaN and infinity: an error, or NaN, never a figure

NAN_CASES = [f"{way} / {a} / {j}" for way, (_, count) in WAYS.items() for a in range(count) for j in range(N)]


@pytest.mark.parametrize("case", list(NAN_CASES))
def test_nan_in_gives_nan_out(case: str) -> None:
    """NaN at any place of any argument: an error, or NaN wherever the true answer depends on that number."""
    name, at, joint = case.split(" / ")
    way, count = WAYS[name]
    states = [*batch(1)[:count, 0]]
    bumped = [s.copy() for s in states]
    bumped[int(at)][int(joint)] += 0.37
    truth, other = way(ARM, *states), way(ARM, *bumped)
    depends = np.abs(truth - other) > 1e-9 * np.abs(truth).max()
    states[int(at)][int(joint)] = np.nan
    try:
        found = way(ARM, *states)
    except ForearmError:
        return
    assert np.isnan(found[depends]).all()
    assert np.isnan(found).any()


@pytest.mark.parametrize("formulation", INVERSE)
@pytest.mark.parametrize("which", range(5))
def test_nan_in_the_surroundings_gives_nan_out(which: int, formulation: str) -> None:
    force, moment, base = random_load(1)
    assert base is not None
    given = [v.copy() for v in (force, moment, *base) if v is not None]
    given[which][1] = np.nan
    state = random_state(ARM, 1)
    tau = dynamics.inverse(ARM, *state, formulation, given[0], given[1], given[2:])
    assert np.isnan(tau).any()
    qdd = dynamics.forward(ARM, *state, "articulated-body", given[0], given[1], given[2:])
    assert np.isnan(qdd).all()


def test_nan_in_one_row_stays_in_that_row() -> None:
    states = batch()
    clean = dynamics.inverse(ARM, *states)
    states[1, 2, 0] = np.nan
    found = dynamics.inverse(ARM, *states)
    assert np.isnan(found[2]).any()
    assert np.array_equal(found[[0, 1, 3]], clean[[0, 1, 3]])


def test_nan_anywhere_is_nan_everywhere_in_that_row() -> None:
    """A state with a NaN in it has no answer, however little of it depends on that number;
    other rows have theirs.
    """
    arm = with_kinds(random_arm(3, 2, "frames", tree=True), "RR")
    assert [b.parent for b in arm.moving.bodies] == [-1, -1]
    state = random_state(arm, 1)
    tau = dynamics.inverse(arm, *state)
    rows = [np.vstack([values, values]) for values in state]
    rows[1][1, 1] = np.nan
    found = dynamics.inverse(arm, rows[0], rows[1], rows[2])
    assert np.array_equal(found[0], tau)
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_angles_are_an_error_of_ours_or_nan(value: float, name: str) -> None:
    arm = with_kinds(random_arm(4, N, "modified"), "RRR")
    function, names, _ = FUNCTIONS[name]
    q = np.array([0.3, 0.4, value])
    try:
        assert not np.isfinite(function(arm, q, *(none for _ in names[1:]))).all()
    except ForearmError:
        return


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("method", list(FORWARD))
def test_infinite_torques_are_no_plausible_acceleration(method: str) -> None:
    try:
        assert not np.isfinite(dynamics.forward(ARM, none, none, [1.0, 2.0, np.inf], method)).all()
    except ForearmError:
        return


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
def test_inputs_are_not_modified(way: Callable[..., Array], count: int) -> None:
    for states in ([*batch()[:count]], [*batch(1)[:count, 0]]):
        before = copy.deepcopy(states)
        arm, bits = ARM, pickle.dumps(ARM)
        answer = way(arm, *states)
        for state, kept in zip(states, before, strict=True):
            assert np.array_equal(state, kept)
            assert not np.shares_memory(answer, state)
        assert pickle.dumps(arm) == bits
        answer[...] = np.nan  # a new array, that the caller may write on
        assert np.isfinite(way(arm, *states)).all()


def test_the_load_is_not_modified() -> None:
    load = random_load(1)
    kept = copy.deepcopy(load)
    for formulation in INVERSE:
        dynamics.inverse(ARM, *random_state(ARM, 1), formulation, *load)
    dynamics.forward(ARM, *random_state(ARM, 1), "articulated-body", *load)
    assert np.array_equal(np.array(load[:2]), np.array(kept[:2]))
    assert load.base_motion is not None
    assert kept.base_motion is not None
    assert np.array_equal(np.array(load.base_motion), np.array(kept.base_motion))


@each_way
def test_the_same_again_bit_for_bit(way: Callable[..., Array], count: int) -> None:
    """Also for an equal arm that is another object, and after other arms were computed with."""
    states = batch()[:count]
    first = way(ARM, *states)
    for seed in range(3):
        way(simple_drives(random_arm(30 + seed, N)), *states)
    assert way(ARM, *states).tobytes() == first.tobytes()
    again = pickle.loads(pickle.dumps(ARM))
    assert again == ARM
    assert way(again, *states).tobytes() == first.tobytes()


def test_more_arms_than_are_remembered() -> None:
    """Models are kept for some arms only; the answers of the others are right as well."""
    q, qd, qdd = batch(1)[:, 0]
    arms = [ARM.replace(gravity=(0.0, 0.1 * k, -9.81)) for k in range(80)]
    once = [dynamics.inverse(arm, q, qd, qdd) for arm in arms]
    for arm, tau in zip(arms, once, strict=True):
        assert np.array_equal(dynamics.inverse(arm, q, qd, qdd), tau)
    assert len({tau.tobytes() for tau in once}) == 80
