"""Steps over rows of arrays: closed forms, NumPy's own recurrences, the graph row by row."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

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


def test_sums_and_powers_have_their_closed_forms() -> None:
    scan = compiled(linear(), shared=("r",))
    assert repr(scan) == "<scan test(x, a, r), compiled>"
    assert (scan.carry, scan.rows, scan.shared, scan.outputs) == ({"x": 2}, {"a": 1}, {"r": 1}, {"y": 2})
    a = np.random.default_rng(1).uniform(-1.0, 1.0, (300, 1))
    start = np.array([0.7, 0.0])
    end, made = scan({"x": start}, {"a": a}, {"r": [0.5]})
    assert np.abs(made["y"][:, 0] - 0.7 - np.cumsum(a)).max() < 1e-12
    assert np.abs(end["x"] - [0.7 + a.sum(), (0.5 ** np.arange(300.0)[::-1]) @ a[:, 0]]).max() < 1e-12
    assert start.tolist() == [0.7, 0.0]
    end, made = scan({"x": start}, {"a": a}, {"r": [0.5]}, backwards=True)
    assert np.abs(made["y"][::-1, 0] - 0.7 - np.cumsum(a[::-1])).max() < 1e-12
    assert np.abs(end["x"][1] - 0.5 ** np.arange(300.0) @ a[:, 0]) < 1e-12
    # 1 + r + r^2 + ...
    end, _ = scan({"x": start}, {"a": np.ones((40, 1))}, {"r": [0.9]})
    assert abs(end["x"][1] - (1.0 - 0.9**40) / 0.1) < 1e-12


@pytest.mark.parametrize("backwards", [False, True])
def test_iterations_functions_and_choices_are_those_of_the_graph(backwards: bool) -> None:
    step, rng = everything(), np.random.default_rng(2)
    scan = compiled(step)
    data = rng.uniform(-1.0, 1.0, (31, 2))
    rows = {"left": data[:-1], "right": data[1:] + 0.2, "unused": np.full((30, 1), np.nan)}
    carry, shared = {"x": np.array([0.3, -0.4])}, {"limits": np.array([0.4, 1.7])}
    end, made = scan(carry, rows, shared, backwards=backwards)
    true_end, true = interpreted_scan(step, carry, rows, shared, backwards)
    assert np.abs(end["x"] - true_end["x"]).max() < 1e-10
    assert np.abs(made["low"] - true["low"]).max() < 1e-10
    found, rounds, square, plain = made["found"].T
    assert np.abs(made["found"] - true["found"])[:, [0, 2, 3]].max() < 1e-10
    assert np.abs(found - np.sqrt(square)).max() < 1e-9
    assert (plain == 2.5).all()
    # As many rounds as each row needs, of the 2^40 that it may take.
    assert np.abs(rounds - true["found"][:, 1]).max() <= 1.0
    assert rounds.max() > rounds.min() + 2.0


def test_rows_are_read_where_they_are_however_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    step = everything()
    scan, rng = compiled(step), np.random.default_rng(3)
    carry, shared = {"x": [0.3, -0.4]}, {"limits": [0.4, 1.7]}
    data = rng.uniform(-1.0, 1.0, (21, 3, 4))
    plain = np.ascontiguousarray
    one = np.ones((20, 1))
    ways = [
        (data[:-1, 0, :2], data[1:, 0, :2]),
        (data[:-1, 1, 1:3], data[:-1, 1, 2:4]),
        (data[20:0:-1, 2, :2], data[:20, 0, 1:3]),
        (np.broadcast_to(data[3, 1, :2], (20, 2)), data[1:, 2, 2:]),
    ]
    expected = [scan(carry, {"left": plain(a), "right": plain(b), "unused": one}, shared) for a, b in ways]
    odd = np.zeros(20, dtype=[("flag", "i4"), ("row", "f8", 2)])["row"]  # 20 bytes between rows
    odd[...] = ways[0][0]
    copied: list[tuple[Any, Any]] = [
        (ways[0][0].astype(np.longdouble), ways[0][1].tolist()),
        (np.asfortranarray(ways[0][0]), ways[0][1]),
        (odd, ways[0][1].astype(">f8")),
    ]
    found = [scan(carry, {"left": a, "right": b, "unused": one}, shared) for a, b in copied]
    for end, made in found:
        assert np.array_equal(end["x"], expected[0][0]["x"])
        assert all(np.array_equal(made[name], expected[0][1][name]) for name in made)
    monkeypatch.setattr(scan_module, "is_possible", lambda: False)  # addresses by NumPy
    for (a, b), (end, made) in zip(ways, expected, strict=True):
        unused = np.broadcast_to(np.array([1.0]), (20, 1))
        again_end, again = scan(carry, {"left": a, "right": b, "unused": unused}, shared)
        assert np.array_equal(end["x"], again_end["x"])
        assert all(np.array_equal(made[name], again[name]) for name in made)


def test_arrays_to_fill_may_lie_among_what_is_read() -> None:
    scan = compile_scan(
        traced(
            lambda x, a, b: {"x": [x[0] + a[0]], "sums": [x[0] + a[0], a[1] - b[1]]}, {"x": 1, "a": 2, "b": 2}
        ),
        "moving",
        carry="x",
    )
    given = np.random.default_rng(4).uniform(-1.0, 1.0, (50, 2))
    for backwards in (False, True):
        _, made = scan({"x": [0.0]}, {"a": given[:-1], "b": given[1:]}, backwards=backwards)
        for start in (0, 1):
            data = given.copy()
            out = data[start : start + 49]
            _, same = scan(
                {"x": [0.0]}, {"a": data[:-1], "b": data[1:]}, backwards=backwards, out={"sums": out}
            )
            assert same["sums"] is out
            assert np.array_equal(out, made["sums"])
        wide = np.full((49, 5), 7.0)
        scan({"x": [0.0]}, {"a": given[:-1], "b": given[1:]}, backwards=backwards, out={"sums": wide[:, 1:3]})
        assert np.array_equal(wide[:, 1:3], made["sums"])
        assert (wide[:, [0, 3, 4]] == 7.0).all()


def test_what_depends_on_shared_numbers_alone_is_computed_before_the_rows() -> None:
    step = traced(
        lambda x, a, r: {"x": [x[0] / (1.0 + r[0]) + a[0]], "y": [root(r[0]) * x[0]]},
        {"x": 1, "a": 1, "r": 1},
    )
    once, each = scan_text(step, ["x"], ["r"], host("float64", 1)).split(" phi ", 1)
    assert "llvm.sqrt.v1f64(<1 x double> %" in once
    assert "fadd" in once
    assert "fdiv" in each
    assert "sqrt" not in each


def test_no_rows_leave_the_state_and_nan_goes_on() -> None:
    scan = compiled(linear(), shared=("r",))
    for backwards in (False, True):
        end, made = scan({"x": [1.5, 2.5]}, {"a": np.empty((0, 1))}, {"r": [0.5]}, backwards=backwards)
        assert end["x"].tolist() == [1.5, 2.5]
        assert made["y"].shape == (0, 2)
    a = np.array([[1.0], [np.nan], [2.0]])
    end, made = scan({"x": [0.0, 0.0]}, {"a": a}, {"r": [0.5]})
    assert np.isnan(made["y"][:, 0]).tolist() == [False, True, True]
    assert np.isnan(end["x"]).all()


def test_a_step_without_a_state_without_outputs_and_with_empty_arrays() -> None:
    none = compile_scan(
        traced(lambda x, a, e: {"x": [x[0] * a[0]], "e": []}, {"x": 1, "a": 1, "e": 0}), "none", carry="x"
    )
    end, made = none({"x": [3.0]}, {"a": [[2.0], [4.0]], "e": np.empty((2, 0))})
    assert (end["x"].tolist(), made["e"].shape) == ([24.0], (2, 0))
    plain = compile_scan(traced(lambda a: {"b": [root(a[0]), -a[1]]}, {"a": 2}), "plain")
    end, made = plain({}, {"a": [[4.0, 1.0], [9.0, 2.0]]})
    assert end == {}
    assert made["b"].tolist() == [[2.0, -1.0], [3.0, -2.0]]
    last = compile_scan(traced(lambda x, a: {"x": [a[0]]}, {"x": 1, "a": 1}), "last", carry=("x",))
    end, made = last({"x": [0.0]}, {"a": [[4.0], [5.0]]}, backwards=True)
    assert (end["x"].tolist(), made) == ([4.0], {})


def test_code_from_the_cache_is_not_traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("FOREARM_CACHE", str(tmp_path))
    asked: list[str] = []

    def trace() -> Traced:
        asked.append("traced")
        return linear()

    def found(key: tuple[object, ...], **given: Any) -> Any:
        scan = compile_scan(trace, "linear", **({"carry": ("x",), "shared": ("r",), "key": key} | given))
        shared = {"r": [0.5]} if scan.shared else {}
        rows = {"a": [[1.0], [2.0]]} | ({} if shared else {"r": [[0.5], [0.5]]})
        return scan({"x": [0.0, 0.0]}, rows, shared)[0]["x"].tolist()

    assert found(("one", 1)) == found(("one", 1)) == [3.0, 2.5]
    assert len(asked) == 1
    assert found(("one", 2)) == [3.0, 2.5]
    assert found(("one", 1), shared=()) == [3.0, 2.5]
    assert len(asked) == 3


def test_threads_do_not_meet() -> None:
    scan, count = compiled(linear(), shared=("r",)), 20_000
    rows = [np.random.default_rng(k).uniform(-1.0, 1.0, (count, 1)) for k in range(4)]

    def run(a: Any) -> Any:
        return [scan({"x": [0.0, 0.0]}, {"a": a}, {"r": [0.5]})[1]["y"] for _ in range(5)]

    with ThreadPoolExecutor(2) as pool:
        for a, found in zip(rows, pool.map(run, rows), strict=True):
            for y in found:
                assert np.abs(y[:, 0] - np.cumsum(a)).max() < 1e-9


def test_wrong_steps_are_refused() -> None:
    step = linear()
    for given, message in (
        ({"carry": ("z",)}, "compile_scan, f, carry: expected names of x, a, r, got 'z'"),
        ({"shared": ("z",)}, "compile_scan, f, shared: expected names of x, a, r, got 'z'"),
        ({"carry": ("a",)}, "carry: expected an output a of 1 numbers, the next state, got outputs x, y"),
        ({"carry": ("x",), "shared": ("x",)}, "x is named twice in carry and shared; name it once"),
        ({"carry": ("x", "x")}, "x is named twice in carry and shared; name it once"),
        (
            {"carry": ("x",), "shared": ("a", "r")},
            "expected at least one input with rows; x, a, r are carried",
        ),
        ({"carry": 3}, "compile_scan, f, carry: expected a name or a list of names, got 3"),
    ):
        for key in (None, ("wrong", message)):
            with pytest.raises(fa.InputError, match=message):
                compile_scan(step, "f", key=key, **given)
    short = traced(lambda x, a: {"x": [x[0] + a[0]]}, {"x": 2, "a": 1})
    with pytest.raises(
        fa.InputError, match="expected an output x of 2 numbers, the next state, got one of 1"
    ):
        compile_scan(short, "f", carry=("x",))
    wide = Traced(short.graph, short.results, (Argument("x", (1, 2), ""), short.inputs[1]), short.outputs)
    with pytest.raises(
        fa.InputError, match=r"compile_scan, f: expected arrays with one axis, got x \(1, 2\)"
    ):
        compile_scan(wide, "f", carry=("x",))


def test_wrong_calls_are_refused() -> None:
    scan = compiled(linear(), shared=("r",))
    right: Arrays = {"carry": {"x": [0.0, 1.0]}, "rows": {"a": np.ones((4, 1))}, "shared": {"r": [0.5]}}
    frozen = np.zeros((4, 2))
    frozen.flags.writeable = False
    for given, message in (
        ({"rows": {}}, r"<scan test\(x, a, r\), compiled>, rows: expected a, got nothing"),
        ({"rows": {"a": 1.0, "b": 2.0}}, "rows: expected a, got a, b"),
        ({"rows": None}, "rows: expected arrays by name in a dict, got None"),
        ({"shared": None}, "shared: expected r, got nothing"),
        ({"carry": {"x": [0.0]}}, r"carry, x: expected shape \(2,\), got \(1,\)"),
        ({"carry": {"x": "ab"}}, "carry, x: expected an array of real numbers, got 'ab'"),
        ({"shared": {"r": 0.5}}, r"shared, r: expected shape \(1,\), got \(\)"),
        ({"rows": {"a": np.ones(4)}}, r"rows, a: expected shape \(N, 1\), got \(4,\)"),
        ({"rows": {"a": np.ones((4, 2))}}, r"rows, a: expected shape \(N, 1\), got \(4, 2\)"),
        ({"rows": {"a": np.ones((4, 1), complex)}}, "rows, a: expected an array of real numbers"),
        ({"out": {"z": frozen}}, "out: expected y, got z"),
        ({"out": {"y": np.zeros((3, 2))}}, r"out, y: expected a writeable array \(4, 2\) of float64"),
        ({"out": {"y": np.zeros((4, 2), int)}}, r"contiguous, got \(4, 2\) of int64"),
        ({"out": {"y": np.zeros((4, 4))[:, ::2]}}, "whose rows are contiguous"),
        ({"out": {"y": frozen}}, "expected a writeable array"),
        ({"out": {"y": [[0.0, 0.0]] * 4}}, "out, y: expected a writeable array"),
    ):
        with pytest.raises(fa.InputError, match=message):
            scan(**(right | given))
    two = compiled(everything())
    rows = {"left": np.ones((4, 2)), "right": np.ones((3, 2)), "unused": np.ones((4, 1))}
    with pytest.raises(fa.InputError, match=r"right: expected shape \(4, 2\) with as many rows as left"):
        two({"x": [0.0, 0.0]}, rows, {"limits": [1.0, 1.0]})
