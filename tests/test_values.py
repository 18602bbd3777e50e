"""What a caller gives: numbers as they are, everything else refused, by one class of error."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.errors import ForearmError, InputError, ModelError, NameNotFound, located, suggest
from forearm.kernels.cpu import check_device
from forearm.targets.machines import TARGETS
from forearm.values import LARGEST, as_floats, as_pose, check_choice, check_number, chosen, is_number

NUMBERS = [0, -3, 2.5, math.inf, math.nan, np.float32(0.5), np.longdouble(2.0), Fraction(1, 4), 10**400]
OTHERS = [True, np.True_, "1", None, 1j, Decimal(1), [1.0], np.zeros(1)]


def test_numbers_are_numbers_and_nothing_else_is() -> None:
    assert all(map(is_number, NUMBERS))
    for value in OTHERS:
        assert not is_number(value)
        with pytest.raises(InputError, match=r"^x: expected a number, got "):
            check_number(value, "x")


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (-1, {"minimum": 0.0}, "must be at least 0, got -1"),
        (0.0, {"above": 0.0}, "must be above 0, got 0"),
        (2.0, {"above": 0.0, "maximum": 1.0}, "must be above 0 and at most 1, got 2"),
    ],
)
def test_an_argument_out_of_bounds_is_input_and_a_number_of_an_arm_its_model(
    value: float, bounds: dict[str, float], words: str
) -> None:
    with pytest.raises(InputError, match=f"^x: {words}"):
        check_number(value, "x", **bounds)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=f"^x: {words}"):
        check_number(value, "x", **bounds, out_of_bounds=ModelError)


@pytest.mark.parametrize("value", [math.nan, -math.inf, 10**400, 1.01 * LARGEST])
def test_no_number_is_endless(value: float) -> None:
    with pytest.raises(
        InputError, match=r"^x: (the number must be finite|no number may exceed 1e\+30), got "
    ):
        check_number(value, "x", out_of_bounds=ModelError)


def test_arrays_of_objects_are_numbers_one_by_one() -> None:
    assert as_floats(np.array([Fraction(1, 4), 2**70]), "x").tolist() == [0.25, float(2**70)]
    assert np.isnan(as_floats([1.0, math.nan], "x")[1])
    mixed = np.array([True, 2], dtype=object)
    wrong: tuple[Any, ...] = ([1, None], [1, None, "2"], mixed, ["1"], [True], [1j], [10**400])
    for value in wrong:
        with pytest.raises(InputError, match=r"^x: expected numbers, got "):
            as_floats(value, "x")
    with pytest.raises(InputError, match=r"^x: expected rows of equal length, got \[\[1\], \[1, 2\]\]\.$"):
        as_floats([[1], [1, 2]], "x")


def test_a_pose_is_a_copy_that_nobody_changes() -> None:
    given = np.eye(4)
    T = as_pose(given, "T")
    given[0, 3] = 1.0
    assert T[0, 3] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        T[0, 3] = 1.0


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.eye(4).astype(str), "expected numbers"),
        (np.eye(4).astype(bool), "expected numbers"),
        (np.eye(3), r"expected a pose, a \(4, 4\) array of finite numbers, got shape \(3, 3\)"),
        (np.diag([1.0, 1.0, 1.0, math.nan]), "every number must be finite"),
        (np.eye(4) + np.eye(4, k=3) * 1e31, r"no number may exceed 1e\+30"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), "the upper left 3x3 must be a rotation"),
    ],
)
def test_what_is_no_pose_is_refused(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"^T: {words}"):
        as_pose(value, "T")


class Tracer:
    """What JAX passes to functions inside its transformations."""

    shape = (2,)

    def __array__(self, *_args: object, **_named: object) -> None:
        raise TypeError("The numpy.ndarray conversion method __array__() was called on traced array")


class DynamicJaxprTracer(Tracer):
    pass


def test_tracers_of_jax_belong_to_its_functions() -> None:
    arm = fa.load("ascher2")
    q: Any = DynamicJaxprTracer()
    said = r"^qd?: JAX's DynamicJaxprTracer has no values yet; .* use the functions of k\.jax"
    with pytest.raises(InputError, match=said):
        fa.compile(arm).gravity(q)
    with pytest.raises(InputError, match=said):
        fa.compile(arm).bias(np.zeros(2), q)
    with pytest.raises(InputError, match=said):
        fa.dynamics.gravity(arm, q)


@pytest.mark.parametrize("kind", [InputError, ModelError])
def test_an_error_from_inside_says_where_once(kind: type[ForearmError]) -> None:
    for inside, whole in (
        (("axis",), "arm.toml, joint 'j', axis"),
        (("joint 'j'", "axis"), "arm.toml, joint 'j', axis"),
        (("arm.toml, joint 'j', axis",), "arm.toml, joint 'j', axis"),
        (("arm.toml", "line 3"), "arm.toml, joint 'j', line 3"),
    ):
        with pytest.raises(kind) as caught, located("arm.toml, joint 'j'"):
            raise kind("must not be 0.", *inside)
        assert str(caught.value) == f"{whole}: must not be 0."


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("CUBIC", "spline: expected one of linear, cubic, got 'CUBIC'; did you mean 'cubic'?"),
        ("akima", "spline: expected one of linear, cubic, got 'akima'."),
        (["linear"], "spline: expected one of linear, cubic, got ['linear']."),
    ],
)
def test_a_name_that_is_none_of_those_there_are(value: Any, said: str) -> None:
    table = {"linear": 1, "cubic": 3}
    for ask in (lambda: check_choice(value, tuple(table), "spline"), lambda: chosen(table, value, "spline")):
        with pytest.raises(InputError) as caught:
            ask()
        assert type(caught.value) is NameNotFound
        assert str(caught.value) == said


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("rnea", "inverse_dynamics"), ("ABA", "forward_dynamics"), ("crba", "inertia_matrix"),
        ("mass_matrix", "inertia_matrix"), ("nonlinear-effects", "bias"), ("fk", "forward_kinematics"),
        ("STM32F407VG", "cortex-m4"), ("stm32h7", "cortex-m7"), ("arm64", "aarch64"),
    ],
)  # fmt: skip
def test_names_used_elsewhere(name: str, meant: str) -> None:
    known = FUNCTIONS if meant in FUNCTIONS else TARGETS
    assert suggest(name, known) == f"did you mean {meant!r}?"
    with pytest.raises(NameNotFound, match=f"got {name!r}; did you mean {meant!r}"):
        check_choice(name, known, "generate")
    assert meant not in suggest(name, ["linear", "cubic"]), "only where it exists"


def test_a_name_among_those_there_are() -> None:
    table = {"linear": 1, "cubic": 3}
    assert [chosen(table, name, "spline") for name in table] == [1, 3]
    assert check_choice("cubic", table, "spline") == "cubic"
    with pytest.raises(NameNotFound, match=r"compile, device: .* got 'gpu'; did you mean 'cuda'"):
        check_device("gpu")
    with pytest.raises(NameNotFound, match=r"^spline: none exist, got 'cubic'"):
        check_choice("cubic", (), "spline")
    with pytest.raises(NameNotFound, match=r"expected one of name0, .*, name29, \.\.\., got 'x'"):
        check_choice("x", [f"name{i}" for i in range(40)], "spline")
