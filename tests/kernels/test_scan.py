"""Steps over rows of arrays: closed forms, NumPy's own recurrences, the graph row by row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from kernels.truths import same

import forearm as fa
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels import scan as scan_module
from forearm.kernels.native import host
from forearm.kernels.scan import CompiledScan, compile_scan
from forearm.kernels.scan_ir import scan_text
from forearm.symbols import Graph, Shared, choose, evaluate, iterate
from forearm.symbols.scalars import maximum, root

Arrays = dict[str, Any]


def traced(step: Any, sizes: Mapping[str, int]) -> Traced:
    """A step from lists of symbols by name to lists by name."""
    graph = Graph()
    given = {name: [graph.input(f"{name}[{k}]") for k in range(size)] for name, size in sizes.items()}
    results = {name: np.array(some, dtype=object) for name, some in step(**given).items()}
    inputs = tuple(Argument(name, (size,), "") for name, size in sizes.items())
    outputs = tuple(Argument(name, some.shape, "") for name, some in results.items())
    return Traced(graph, results, inputs, outputs)


def interpreted_scan(
    step: Traced, carry: Arrays, rows: Arrays, shared: Arrays, backwards: bool = False
) -> tuple[Arrays, Arrays]:
    """The same by the graph's own values, row by row."""
    count = len(next(iter(rows.values())))
    state = {name: np.array(x, dtype=float) for name, x in carry.items()}
    made = {a.name: np.full((count, a.size), np.nan) for a in step.outputs if a.name not in carry}
    for i in reversed(range(count)) if backwards else range(count):
        given = {**state, **shared, **{name: x[i] for name, x in rows.items()}}
        leaves = {f"{name}[{k}]": float(x) for name, some in given.items() for k, x in enumerate(some)}
        found = evaluate(step.graph, step.results, leaves)
        state = {name: found[name] for name in state}
        for name, some in made.items():
            some[i] = found[name]
    return state, made


def everything() -> Traced:
    """An iteration whose end depends on the state, in a function that is called in each row and before all
    of them, choices, what depends on shared numbers alone, a plain number and an input that nothing uses.
    """

    def heron(y: Any) -> Any:
        return iterate(
            lambda s: [0.5 * (s[0] + y / s[0]), s[1] + 1.0],
            [1.0 + y, 0.0],
            lambda s: (1e-11 * y, abs(s[0] * s[0] - y)),
            1 << 40,
        )

    def step(x: Any, left: Any, right: Any, limits: Any, unused: Any) -> Any:
        both = Shared(lambda s: [s[0] * s[1] + 0.5, heron(s[0] * s[0] + s[1] * s[1])[0]])
        ahead = both([limits[0], 1.0 / limits[1]])
        square = 1.1 + x[0] * x[0] + right[1] + (30.0 * left[0] * left[1]) ** 2
        found, rounds = heron(square)
        low = choose(left[0], right[0], ahead[0], -x[1])
        again = both(both([limits[0], left[0] * x[1]]))
        return {
            "x": [maximum(0.1 * found, 0.2 * low) - 0.3 * left[1], 0.5 * again[1] - 0.01 * found],
            "found": [found, rounds, square, 2.5],
            "low": [-low + ahead[1]],
        }

    return traced(step, {"x": 2, "left": 2, "right": 2, "limits": 2, "unused": 1})


def compiled(step: Traced, carry: Any = ("x",), shared: Any = ("limits",)) -> CompiledScan:
    return compile_scan(step, "test", carry=carry, shared=shared)


def linear() -> Traced:
    """x, y -> x + a, r y + a: a cumulated sum, and one that forgets."""
    return traced(
        lambda x, a, r: {"x": [x[0] + a[0], r[0] * x[1] + a[0]], "y": [x[0] + a[0], x[1]]},
        {"x": 2, "a": 1, "r": 1},
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_sums_and_powers_have_their_closed_forms(backwards: bool) -> None:
    scan = compiled(linear(), shared=("r",))
    assert repr(scan) == "<scan test(x, a, r), compiled>"
    assert (scan.carry, scan.rows, scan.shared, scan.outputs) == ({"x": 2}, {"a": 1}, {"r": 1}, {"y": 2})
    a, start = np.random.default_rng(1).uniform(-1.0, 1.0, (300, 1)), np.array([0.7, 0.0])
    end, made = scan({"x": start}, {"a": a}, {"r": [0.5]}, backwards=backwards)
    assert start.tolist() == [0.7, 0.0]
    order = slice(None, None, -1 if backwards else 1)
    assert np.abs(made["y"][order, 0] - 0.7 - np.cumsum(a[order])).max() < 1e-12
    powers = 0.5 ** np.arange(300.0)[::-1]
    assert np.abs(end["x"] - [0.7 + a.sum(), powers @ a[order, 0]]).max() < 1e-12
    # 1 + r + r^2 + ...
    end, _ = scan({"x": start}, {"a": np.ones((40, 1))}, {"r": [0.9]}, backwards=backwards)
    assert abs(end["x"][1] - (1.0 - 0.9**40) / 0.1) < 1e-12
    none, made = scan({"x": [1.5, 2.5]}, {"a": np.empty((0, 1))}, {"r": [0.5]}, backwards=backwards)
    assert (none["x"].tolist(), made["y"].shape) == ([1.5, 2.5], (0, 2))
    end, made = scan({"x": [0.0, 0.0]}, {"a": [[1.0], [np.nan], [2.0]]}, {"r": [0.5]}, backwards=backwards)
    assert np.isnan(made["y"][order, 0]).tolist() == [False, True, True]
    assert np.isnan(end["x"]).all()


@pytest.mark.parametrize("backwards", [False, True])
def test_iterations_functions_and_choices_are_those_of_the_graph(backwards: bool) -> None:
    step, data = everything(), np.random.default_rng(2).uniform(-1.0, 1.0, (31, 2))
    rows = {"left": data[:-1], "right": data[1:] + 0.2, "unused": np.full((30, 1), np.nan)}
    carry, shared = {"x": np.array([0.3, -0.4])}, {"limits": np.array([0.4, 1.7])}
    end, made = compiled(step)(carry, rows, shared, backwards=backwards)
    true_end, true = interpreted_scan(step, carry, rows, shared, backwards)
    for x, y in ((end["x"], true_end["x"]), (made["low"], true["low"])):
        assert np.abs(x - y).max() < 1e-10
    assert np.abs(made["found"] - true["found"])[:, [0, 2, 3]].max() < 1e-10
    found, rounds, square, plain = made["found"].T
    assert np.abs(found - np.sqrt(square)).max() < 1e-9
    assert (plain == 2.5).all()
    # As many rounds as each row needs, of the 2^40 that it may take.
    assert np.abs(rounds - true["found"][:, 1]).max() <= 1.0
    assert rounds.max() > rounds.min() + 2.0


def test_rows_are_read_where_they_are_however_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    scan, data = compiled(everything()), np.random.default_rng(3).uniform(-1.0, 1.0, (21, 3, 4))

    def found(left: Any, right: Any, unused: Any) -> list[Any]:
        rows = {"left": left, "right": right, "unused": unused}
        end, made = scan({"x": [0.3, -0.4]}, rows, {"limits": [0.4, 1.7]})
        return [end["x"], *made.values()]

    plain, one = np.ascontiguousarray, np.ones((20, 1))
    ways = [
        (data[:-1, 0, :2], data[1:, 0, :2]),
        (data[:-1, 1, 1:3], data[:-1, 1, 2:4]),
        (data[20:0:-1, 2, :2], data[:20, 0, 1:3]),
        (np.broadcast_to(data[3, 1, :2], (20, 2)), data[1:, 2, 2:]),
    ]
    expected = [found(plain(a), plain(b), one) for a, b in ways]
    odd = np.zeros(20, dtype=[("flag", "i4"), ("row", "f8", 2)])["row"]  # 20 bytes between rows
    a, b = ways[0]
    odd[...] = a
    copied = [(a.astype(np.longdouble), b.tolist()), (np.asfortranarray(a), b), (odd, b.astype(">f8"))]
    for left, right in copied:
        assert same(found(left, right, one), expected[0])
    monkeypatch.setattr(scan_module, "is_possible", lambda: False)  # addresses by NumPy
    for (left, right), wanted in zip(ways, expected, strict=True):
        assert same(found(left, right, np.broadcast_to(np.array([1.0]), (20, 1))), wanted)


@pytest.mark.parametrize("backwards", [False, True])
def test_arrays_to_fill_may_lie_among_what_is_read(backwards: bool) -> None:
    step = traced(
        lambda x, a, b: {"x": [x[0] + a[0]], "sums": [x[0] + a[0], a[1] - b[1]]}, {"x": 1, "a": 2, "b": 2}
    )
    scan, given = (
        compile_scan(step, "moving", carry="x"),
        np.random.default_rng(4).uniform(-1.0, 1.0, (50, 2)),
    )

    def sums(data: Any, out: Any = None) -> Any:
        places = None if out is None else {"sums": out}
        return scan({"x": [0.0]}, {"a": data[:-1], "b": data[1:]}, backwards=backwards, out=places)[1]["sums"]

    wanted, wide = sums(given), np.full((49, 5), 7.0)
    for start in (0, 1):
        data = given.copy()
        out = data[start : start + 49]
        assert sums(data, out) is out
        assert np.array_equal(out, wanted)
    sums(given, wide[:, 1:3])
    assert np.array_equal(wide[:, 1:3], wanted)
    assert (wide[:, [0, 3, 4]] == 7.0).all()


def test_what_depends_on_shared_numbers_alone_is_computed_before_the_rows() -> None:
    step = traced(
        lambda x, a, r: {"x": [x[0] / (1.0 + r[0]) + a[0]], "y": [root(r[0]) * x[0]]},
        {"x": 1, "a": 1, "r": 1},
    )
    once, each = scan_text(step, ["x"], ["r"], host("float64", 1)).split(" phi ", 1)
    assert "llvm.sqrt.v1f64(<1 x double> %" in once
    assert "fdiv" in each
    assert "sqrt" not in each


def test_a_step_without_a_state_without_outputs_and_with_empty_arrays() -> None:
    def scan(step: Any, sizes: Mapping[str, int], *carry: str) -> CompiledScan:
        return compile_scan(traced(step, sizes), "f", carry=carry)

    none = scan(lambda x, a, e: {"x": [x[0] * a[0]], "e": []}, {"x": 1, "a": 1, "e": 0}, "x")
    end, made = none({"x": [3.0]}, {"a": [[2.0], [4.0]], "e": np.empty((2, 0))})
    assert (end["x"].tolist(), made["e"].shape) == ([24.0], (2, 0))
    plain = scan(lambda a: {"b": [root(a[0]), -a[1]]}, {"a": 2})
    end, made = plain({}, {"a": [[4.0, 1.0], [9.0, 2.0]]})
    assert (end, made["b"].tolist()) == ({}, [[2.0, -1.0], [3.0, -2.0]])
    last = scan(lambda x, a: {"x": [a[0]]}, {"x": 1, "a": 1}, "x")
    end, made = last({"x": [0.0]}, {"a": [[4.0], [5.0]]}, backwards=True)
    assert (end["x"].tolist(), made) == ([4.0], {})
    with pytest.raises(fa.InputError, match=r"e: expected shape \(2, 0\) with as many rows as a"):
        none({"x": [3.0]}, {"a": [[2.0], [4.0]], "e": np.empty((3, 0))})


def test_code_from_the_cache_is_not_traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("FOREARM_CACHE", str(tmp_path))
    trace = Mock(side_effect=linear)

    def found(key: tuple[object, ...], *shared: str) -> Any:
        scan = compile_scan(trace, "linear", carry=("x",), shared=shared, key=key)
        rows, constant = {"a": [[1.0], [2.0]]}, {"r": [0.5]} if shared else {}
        rows |= {} if shared else {"r": [[0.5], [0.5]]}
        assert scan({"x": [0.0, 0.0]}, rows, constant)[0]["x"].tolist() == [3.0, 2.5]
        return trace.call_count

    assert [found(("one", 1), "r"), found(("one", 1), "r"), found(("one", 2), "r"), found(("one", 1))] == [
        1,
        1,
        2,
        3,
    ]


def test_threads_do_not_meet() -> None:
    scan = compiled(linear(), shared=("r",))
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 20_000, 1))

    def run(a: Any) -> bool:
        made = [scan({"x": [0.0, 0.0]}, {"a": a}, {"r": [0.5]})[1]["y"][:, 0] for _ in range(5)]
        return all(np.abs(y - np.cumsum(a)).max() < 1e-9 for y in made)

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(run, rows))


SHORT = traced(lambda x, a: {"x": [x[0] + a[0]]}, {"x": 2, "a": 1})
WIDE = Traced(SHORT.graph, SHORT.results, (Argument("x", (1, 2), ""), SHORT.inputs[1]), SHORT.outputs)
TWICE = "x is named twice in carry and shared; name it once"


@pytest.mark.parametrize(
    ("step", "given", "message"),
    [
        (linear(), {"carry": ("z",)}, "carry: expected names of x, a, r, got 'z'"),
        (linear(), {"shared": ("z",)}, "shared: expected names of x, a, r, got 'z'"),
        (
            linear(),
            {"carry": ("a",)},
            "carry: expected an output a of 1 numbers, the next state, got outputs x, y",
        ),
        (linear(), {"carry": ("x",), "shared": ("x",)}, TWICE),
        (linear(), {"carry": ("x", "x")}, TWICE),
        (
            linear(),
            {"carry": ("x",), "shared": ("a", "r")},
            "expected at least one input with rows; x, a, r are carried",
        ),
        (linear(), {"carry": 3}, "carry: expected a name or a list of names, got 3"),
        (SHORT, {"carry": "x"}, "expected an output x of 2 numbers, the next state, got one of 1"),
        (WIDE, {"carry": "x"}, r"expected arrays with one axis, got x \(1, 2\)"),
    ],
)
def test_wrong_steps_are_refused(step: Traced, given: dict[str, Any], message: str) -> None:
    for key in (None, ("wrong", message)):
        with pytest.raises(fa.InputError, match=f"compile_scan, f.*{message}"):
            compile_scan(step, "f", key=key, **given)


FROZEN = np.zeros((4, 2))
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": {}}, r"<scan test\(x, a, r\), compiled>, rows: expected a, got nothing"),
        ({"rows": {"a": 1.0, "b": 2.0}}, "rows: expected a, got a, b"),
        ({"rows": None}, "rows: expected arrays by name in a dict, got None"),
        ({"shared": None}, "shared: expected r, got nothing"),
        ({"carry": {"x": [0.0]}}, r"carry, x: expected shape \(2,\), got \(1,\)"),
        ({"carry": {"x": "ab"}}, "carry, x: expected an array of real numbers, got 'ab'"),
        ({"shared": {"r": 0.5}}, r"shared, r: expected shape \(1,\), got \(\)"),
        *(
            (
                {"rows": {"a": np.ones(shape)}},
                rf"rows, a: expected shape \(N, 1\), got {re.escape(str(shape))}",
            )
            for shape in ((4,), (4, 2))
        ),
        ({"rows": {"a": np.ones((4, 1), complex)}}, "rows, a: expected an array of real numbers"),
        ({"out": {"z": FROZEN}}, "out: expected y, got z"),
        ({"out": {"y": np.zeros((4, 2), int)}}, r"contiguous, got \(4, 2\) of int64"),
        *(
            (
                {"out": {"y": out}},
                r"out, y: expected a writeable array \(4, 2\) of float64 whose rows are cont",
            )
            for out in (np.zeros((3, 2)), np.zeros((4, 4))[:, ::2], FROZEN, [[0.0, 0.0]] * 4)
        ),
    ],
)
def test_wrong_calls_are_refused(given: dict[str, Any], message: str) -> None:
    right: Arrays = {"carry": {"x": [0.0, 1.0]}, "rows": {"a": np.ones((4, 1))}, "shared": {"r": [0.5]}}
    with pytest.raises(fa.InputError, match=message):
        compiled(linear(), shared=("r",))(**(right | given))
