"""Any function on the graph compiled: the values of the graph itself, kept under what it computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from kernels.truths import same

import forearm as fa
from forearm.codegen.functions import FUNCTIONS, Traced, trace, traced_formula
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.kernels import cache, compile_function
from forearm.symbols import Graph, LookupTable, choose, evaluate, iterate, look_up

TABLE = LookupTable((0.0, 0.4), ((1.0, 0.5), (1.0, -0.5), (0.8, 2.0)))


def root_of(y: Any, most: int = 60) -> Any:
    """The square root by Heron's steps."""
    made = iterate(
        lambda s: [0.5 * (s[0] + s[2] / s[0]), s[1] + 1.0, s[2]],
        [1.0 + y, 0.0, y],
        lambda s: (1e-14, abs(s[0] * s[0] - s[2])),
        most,
    )
    return made[0]


def two_outputs(factor: float = 2.5, most: int = 60, table: LookupTable = TABLE) -> Traced:
    """Two inputs of different sizes, two outputs; a choice, a look-up, an iteration and a plain number."""
    graph = Graph()
    x, y = ([graph.input(f"{name}[{i}]") for i in range(n)] for name, n in (("x", 3), ("y", 2)))
    a = [x[0] * y[0] - x[1], choose(x[2], y[1], -x[0], factor), root_of(1.5 + x[1], most)]
    b = [[x[1] * x[2].sin(), 1.5], [look_up(table, y[0]), -x[0]]]
    results = {"a": np.array(a, dtype=object), "b": np.array(b, dtype=object)}
    outputs = (Argument("a", (3,), ""), Argument("b", (2, 2), ""))
    return Traced(graph, results, (Argument("x", (3,), ""), Argument("y", (2,), "")), outputs)


def truth(traced: Traced, *states: Any) -> list[Any]:
    given = {
        f"{a.name}[{i}]": column
        for a, s in zip(traced.inputs, states, strict=True)
        for i, column in enumerate(s.T)
    }
    return [np.moveaxis(v, -1, 0) for v in evaluate(traced.graph, traced.results, given).values()]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-14), ("float32", 2e-6)])
def test_values_are_those_of_the_graph(dtype: str, close: float) -> None:
    traced, rng = two_outputs(), np.random.default_rng(1)
    function = compile_function(traced, dtype=dtype)
    assert (function.inputs, function.outputs) == ({"x": (3,), "y": (2,)}, {"a": (3,), "b": (2, 2)})
    assert repr(function) == "<traced(x, y), compiled>"
    x, y = (rng.uniform(-1.0, 1.0, (37, n)).astype(dtype) for n in (3, 2))
    made = function(x, y)
    for found, true in zip(made, truth(traced, x, y), strict=True):
        assert found.dtype == dtype
        assert np.abs(found - true).max() <= 10.0 * close
    for row in (0, 8, 36):
        for one in (function.call(x[row], y[row]), function(x[row].tolist(), y[row].tolist())):
            assert same(one, [whole[row] for whole in made])
    out = [np.zeros_like(a) for a in made]
    assert function(x, y, out=out)[0] is out[0]
    assert same(out, made)
    x[5, 0] = np.nan
    assert np.isnan(function(x, y)[0]).all(axis=1).nonzero()[0].tolist() == [5]


def test_a_function_of_an_arm_has_the_bits_of_its_kernel() -> None:
    arm, name = fa.load("chain3"), "inverse_dynamics"
    function = compile_function(trace(Tracing(arm, {}), [FUNCTIONS[name]]), "inverse", arm=arm)
    given, kernel = list(np.random.default_rng(2).uniform(-1.0, 1.0, (3, 20, 3))), fa.compile(arm)
    first = [x[0] for x in given]
    whole, alone = (kernel.inverse_dynamics(q, qd, qdd) for q, qd, qdd in (given, first))
    assert same((function(*given), function.call(*first)), (whole, alone))
    assert function.counts == kernel.counts[name]
    with pytest.raises(fa.InputError, match="q: 'chain3' has 3 joints"):
        function(given[0][0, :2], *first[1:])


def key_of(traced: Traced | Callable[[], Traced], **given: Any) -> str:
    """The key under which code is looked for."""
    read = Mock(side_effect=LookupError)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "read", read)
        with pytest.raises(LookupError):
            compile_function(traced, **given)
    return str(read.call_args.args[0])


def test_code_is_kept_under_what_the_graph_computes() -> None:
    one = key_of(two_outputs())
    named = two_outputs()
    named.graph.name("speed", named.results["a"])
    named.graph.input("unused") * 3.0
    assert key_of(two_outputs()) == key_of(named) == one
    others = [
        key_of(two_outputs(factor=np.nextafter(2.5, 3.0))),
        key_of(two_outputs(most=59)),
        key_of(two_outputs(table=replace(TABLE, breaks=(0.0, 0.5)))),
        key_of(named, dtype="float32"),
        key_of(named, name="other"),
        key_of(replace(named, results={"a": -named.results["a"], "b": named.results["b"]})),
        key_of(replace(named, results=named.results | {"b": named.results["b"].T})),
    ]
    assert len({one, *others}) == len(others) + 1


def test_with_a_key_nothing_is_traced_before_the_cache_is_asked() -> None:
    def never() -> Traced:
        raise AssertionError("traced")

    keys = [key_of(never, key=("one", k)) for k in (1, 2, 1)]
    assert keys[0] == keys[2] != keys[1]


def test_without_contraction_every_operation_is_rounded_by_itself() -> None:
    """x^2 - (1 + 2^-29) is 0 in floats for x = 1 + 2^-30, and 2^-60 if the product is not rounded."""

    def formula(x: list[Any], y: list[Any]) -> dict[str, Any]:
        return {"z": [x[0] * x[0] - y[0], 3.0 * y[0]]}

    traced = traced_formula(formula, {"x": 1, "y": 1})
    function = compile_function(traced, "rounded", contract=False)
    assert function.outputs == {"z": (2,)}
    x, y = np.full((5, 1), 1.0 + 2.0**-30), np.full((5, 1), 1.0 + 2.0**-29)
    for made in (function(x, y), [function(x[0], y[0])]):
        assert np.array_equal(made, np.broadcast_to([0.0, 3.0 * (1.0 + 2.0**-29)], (len(made), 2)))
    assert key_of(traced, contract=False) != key_of(traced)


@pytest.mark.slow
def test_wrong_requests_are_refused() -> None:
    traced, x, y = two_outputs(), np.zeros((4, 3)), np.zeros((4, 2))
    function: Any = compile_function(traced)
    wide = replace(traced, inputs=(Argument("x", (3, 1), ""), traced.inputs[1]))
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: function(x), "expected 2 arguments, got 1"),
        (lambda: function(x, x), "y: it has 2 entries"),
        (lambda: function(x, y[:3]), r"y: expected a number, \(2,\) or \(4, 2\) beside"),
        (lambda: function(x, y, out=x), "out: expected 2 arrays, got 1"),
        (lambda: compile_function(traced, "a b"), "name: expected letters, digits and _, got 'a b'"),
        (lambda: compile_function(traced, dtype="int8"), "dtype: expected one of float64, float32"),
        (lambda: compile_function(wide), "expected inputs with one axis"),
    ]
    for call, message in cases:
        with pytest.raises(fa.InputError, match=message):
            call()
