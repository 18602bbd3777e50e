"""Functions and controllers of an arm in fixed point, for processors without floating point. Waters IV.

The input ranges determine the range of every value, the ranges the formats, and the formats the errors:
nothing overflows within the ranges, and a bound on the error of the results is stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm import __version__
from forearm.arm.arm import Arm, check_arm
from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.generate import identifier
from forearm.codegen.program import Argument, Arguments
from forearm.codegen.source import Source
from forearm.codegen.tracing import Tracing
from forearm.control import fixed_point_c
from forearm.control.fixed_point_inputs import input_ranges
from forearm.control.fixed_point_plan import (
    LARGEST_FRACTION,
    WORDS,
    FixedPointStep,
    Steps,
    constant,
    errors_in,
    planned,
)
from forearm.control.fixed_point_ranges import WIDER, Range, Ranges, cuts, propagated, ranges_of
from forearm.control.fixed_point_run import run
from forearm.control.laws import LAWS, law_of
from forearm.control.options import CODE_LAW, CodeLawOptions
from forearm.errors import InputError, shorten
from forearm.records import flat
from forearm.spatial import Floats
from forearm.symbols import Counts, Expr, Graph
from forearm.values import as_floats, check_choice

Whole = NDArray[np.int64]
ROUNDS = 20


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A function in integer arithmetic.

    `quantised` converts its inputs, `evaluate` computes what the C code does, bit for bit.

    Attributes:
        name: name of the function.
        about: lines for the head of its files.
        arguments: inputs, and outputs.
        word: bits per number.
        ranges: (lower, upper) of every input by its name, such as "q[2]".
        formats: fractional bits of each entry of inputs and outputs.
        errors: bounds of |result - exact| of each output for integer inputs within `ranges`; rounding of the
            inputs is not included.
        graph: the expression graph.
        steps: operation for each value of the graph, by its index.
        results: the outputs as values of the graph.
        bounds: ranges of its values.
        inner_errors: errors of its values, by index.
        ends: integers at which outputs that are stored for the next call saturate.
    """

    name: str
    about: list[str]
    arguments: tuple[Arguments, Arguments]
    word: int
    ranges: dict[str, Range]
    formats: dict[str, tuple[int, ...]]
    errors: dict[str, Floats]
    graph: Graph
    steps: dict[int, FixedPointStep]
    results: dict[str, tuple[Expr | float, ...]]
    bounds: Ranges
    inner_errors: dict[int, float]
    ends: dict[str, tuple[tuple[int, int], ...]]

    @cached_property
    def source(self) -> Source:
        """Its C."""
        text, head = fixed_point_c.source(self), fixed_point_c.header(self)
        return Source(text, head, self.graph.counts(self.results), self.name, "c")

    @property
    def text(self) -> str:
        """The C source."""
        return self.source.text

    @property
    def header(self) -> str:
        """Its header."""
        return self.source.header

    @property
    def counts(self) -> Counts:
        """Operation counts of one evaluation."""
        return self.source.counts

    @property
    def error_bound(self) -> Floats:
        """Error bound of each entry of the last output, in its unit."""
        return list(self.errors.values())[-1]

    def files(self) -> dict[str, str]:
        """File contents by file name."""
        return self.source.files()

    def save(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder."""
        return self.source.save(folder)

    def quantised(self, **values: ArrayLike) -> dict[str, Whole]:
        """Convert inputs (n,) or (B, n) to integers, rounded to nearest; values outside the ranges are
        refused.
        """
        made = {}
        for name in self._inputs(values):
            array = as_floats(values[name], f"fixed_point, {name}")
            bits = np.array(self.formats[name])
            if array.shape[-1:] != bits.shape:
                raise InputError(
                    f"expected {len(bits)} numbers per state, got shape {array.shape}.", "fixed_point", name
                )
            ends = np.array([self.ranges[f"{name}[{i}]"] for i in range(len(bits))]).T
            if not ((array >= ends[0]) & (array <= ends[1])).all():  # catches NaN too
                raise InputError("outside the ranges that the code was made for.", "fixed_point", name)
            made[name] = np.round(array * 2.0**bits).astype(np.int64)
        return made

    def evaluate(self, inputs: Mapping[str, Whole]) -> dict[str, Whole]:
        """Integer outputs from integer inputs, (n,) or (B, n)."""
        values = self.values(inputs)
        shape = np.shape(next(iter(inputs.values())))[:-1]
        made = {}
        for name, entries in self.results.items():
            columns = [
                _signed(values, e) if isinstance(e, Expr) else constant(e, self.word).number for e in entries
            ]
            made[name] = np.stack(
                [np.broadcast_to(np.asarray(c, dtype=np.int64), shape) for c in columns], axis=-1
            )
            if name in self.ends:
                made[name] = np.clip(made[name], *np.array(self.ends[name]).T)
        return made

    def values(self, inputs: Mapping[str, Whole]) -> dict[int, Whole]:
        """Every intermediate value, by index in the graph."""
        arrays = {name: inputs[name] for name in self._inputs(inputs)}
        given = {
            f"{name}[{i}]": array[..., i] for name, array in arrays.items() for i in range(array.shape[-1])
        }
        return run(self.steps, self.graph.leaves, given)

    def real(self, numbers: Mapping[str, Whole]) -> dict[str, Floats]:
        """Convert integers of inputs or outputs to real values."""
        return {
            name: array * 2.0 ** -np.array(self.formats[name], dtype=float) for name, array in numbers.items()
        }

    def _inputs(self, given: Mapping[str, Any]) -> list[str]:
        """The names of the inputs, all of which must be given."""
        names = list(dict.fromkeys(leaf.split("[")[0] for leaf in self.ranges))
        for name in names:
            if name not in given:
                raise InputError(f"{name} is missing; expected {', '.join(names)}.", "fixed_point")
        return names


def _signed(values: Mapping[int, Whole], e: Expr) -> Whole:
    return -values[e.node] if e.negative else values[e.node]


@flat(options=CodeLawOptions)
def fixed_point(
    arm: Arm,
    function: str,
    ranges: Mapping[str, Any] | None = None,
    word: int = 32,
    name: str | None = None,
    *,
    options: CodeLawOptions | None = None,
) -> FixedPoint:
    """Generate a function or a control law as C99 in integer arithmetic.

    Products use twice the word, sines 64 bits. The state of a law has one format for input and output, and
    saturates at its range.

    Args:
        arm: the arm.
        function: one that `fa.generate` supports, or a law of `controller_code`.
        ranges: for each input by name a bound of its magnitude, or for each joint a bound or a pair (lower,
            upper); by default q has the limits of the joints and qd their max_speed.
        word: bits per number, 16 or 32.
        name: name of the function in C; None: derived from the arm and the function.
        options: gains, model and period, for laws only.
    """
    if word not in WORDS or isinstance(word, bool):
        raise InputError(
            f"expected one of {', '.join(map(str, WORDS))} bits, got {shorten(word)}.", "fixed_point", "word"
        )
    traced, what, said = _traced(arm, function, options)
    inside = input_ranges(arm, traced.inputs, ranges or {})
    title = identifier(f"{arm.name[:20]}_{function}_q{word}" if name is None else name)
    lines = [f"{what}, of {arm.name}, {arm.n} joints, in fixed point of {word} bits.", ""]
    lines += [f"Joints in order: {', '.join(j.name for j in arm.joints)}.", *said]
    kept = {a.name: "state" for a in traced.outputs if a.name == "state_next"}
    return program_in_fixed_point(traced, inside, word, title, lines, kept)


def program_in_fixed_point(
    traced: Traced,
    inside: dict[str, Range],
    word: int,
    title: str,
    lines: list[str],
    kept: Mapping[str, str] | None = None,
) -> FixedPoint:
    """Generate C for a traced function whose inputs lie within ranges, with the given header lines.

    `kept` maps outputs to the inputs of the next call that they become: they share formats, and saturate at
    their ranges.
    """
    graph, both = traced.graph, (traced.inputs, traced.outputs)
    needed = graph.needed(traced.results)
    wider = {leaf: _rounded_out(ends, word) for leaf, ends in inside.items()}
    bounds = ranges_of(graph, needed, wider)
    results = {
        key: tuple(np.ravel(np.asarray(table, dtype=object)).tolist())
        for key, table in traced.results.items()
    }
    tied = _tied(graph, results, kept or {})
    steps, errors = _fitted(graph, needed, wider, bounds, word, tied)
    ends = {
        key: tuple(
            _whole_ends(inside[f"{name}[{i}]"], steps[e.node].bits) for i, e in enumerate(results[key])
        )
        for key, name in (kept or {}).items()
    }
    formats = {a.name: _formats(a, graph, steps, results, word) for a in traced.arrays}
    wrong = {key: np.array([_wrong(e, errors, word) for e in row]) for key, row in results.items()}
    about = [*lines, *_about(inside, wrong, kept or {})]
    return FixedPoint(
        title, about, both, word, inside, formats, wrong, graph, steps, results, bounds, errors, ends
    )


def _traced(arm: Arm, function: str, options: CodeLawOptions | None) -> tuple[Traced, str, tuple[str, ...]]:
    """The traced function, what it is, and for a law its gains in words."""
    check_arm(arm, "fixed_point", moves=True)
    if isinstance(function, str) and function in LAWS:
        options = options or CODE_LAW
        law = law_of(arm, function, options)
        once = f", once a period of {options.period:g} s" if law.has_state else ""
        return law.traced, LAWS[function] + once, law.gains
    check_choice(function, (*FUNCTIONS, *LAWS), "fixed_point, function")
    if options is not None:
        raise InputError(
            f"only laws have gains and a period ({', '.join(LAWS)}), not {function}.", "fixed_point"
        )
    return trace(Tracing(arm, {}), [FUNCTIONS[function]]), FUNCTIONS[function].title, ()


def _rounded_out(ends: Range, word: int) -> Range:
    """A range widened so that its ends can be rounded to integers, whose unit is at most 2^-(word - 2) of the
    larger end.
    """
    room = max(2.0 ** -(word - 2) * max(abs(ends[0]), abs(ends[1])), 2.0**-LARGEST_FRACTION)
    return ends[0] - room, ends[1] + room


def _fitted(
    graph: Graph,
    needed: list[int],
    inside: Mapping[str, Range],
    bounds: Ranges,
    word: int,
    tied: list[tuple[int, int]],
) -> tuple[dict[int, FixedPointStep], dict[int, float]]:
    """Formats in which every value fits with its error: values that do not fit lose bits, until all fit.

    Of two tied values the one with more bits loses the excess.
    """
    less: dict[int, int] = {}
    for _ in range(ROUNDS):
        steps = planned(graph, needed, bounds, word, less)
        errors: dict[int, float] = {}
        for boxes in cuts(graph, needed, inside):
            errors = errors_in(graph, steps, propagated(graph, needed, boxes, bounds.of), errors)
        most = 2 ** (word - 1) - 1
        reached = {p: (bounds.most(p) + errors[p]) * 2.0**s.bits for p, s in steps.items()}
        # a value smaller than its error carries no information: it loses one extra bit, or its successors
        # would ask for one per iteration
        over = {
            p: max(math.ceil(math.log2(size / most)), 1) + (errors[p] > bounds.most(p))
            for p, size in reached.items()
            if size > most
        }
        for pair in tied:
            first, second = sorted(pair, key=lambda p: steps[p].bits)
            if steps[second].bits > steps[first].bits:
                over[second] = max(over.get(second, 0), steps[second].bits - steps[first].bits)
        if not over:
            return steps, {place: error * (1.0 + WIDER) for place, error in errors.items()}
        less |= {place: less.get(place, 0) + bits for place, bits in over.items()}
    raise InputError(
        f"{word} bits are too few: errors become as large as the values. Use a longer word, "
        "or ranges with a smaller spread of magnitudes.",
        "fixed_point",
    )


def _tied(graph: Graph, results: Mapping[str, Any], kept: Mapping[str, str]) -> list[tuple[int, int]]:
    """Indices of outputs with those of the inputs that they become."""
    inputs = {leaf: place for place, leaf in graph.leaves.items()}
    return [
        (e.node, inputs[f"{name}[{i}]"]) for key, name in kept.items() for i, e in enumerate(results[key])
    ]


def _whole_ends(ends: Range, bits: int) -> tuple[int, int]:
    """The smallest and the largest integer within a range; twice the one nearest to its lower end if there is
    none.
    """
    low, high = math.ceil(ends[0] * 2.0**bits), math.floor(ends[1] * 2.0**bits)
    return (low, high) if low <= high else (round(ends[0] * 2.0**bits),) * 2


def _formats(
    argument: Argument, graph: Graph, steps: Steps, results: Mapping[str, Any], word: int
) -> tuple[int, ...]:
    """Fractional bits of each entry; 0 for unused entries and constant zeros."""
    if argument.name in results:
        return tuple(
            (steps[e.node] if isinstance(e, Expr) else constant(e, word)).bits for e in results[argument.name]
        )
    used = {leaf: steps[place].bits for place, leaf in graph.leaves.items() if place in steps}
    return tuple(used.get(f"{argument.name}[{i}]", 0) for i in range(argument.size))


def _wrong(entry: Expr | float, errors: Mapping[int, float], word: int) -> float:
    if isinstance(entry, Expr):
        return errors[entry.node]
    rounded = constant(entry, word)
    return abs(rounded.number * 2.0**-rounded.bits - entry)


def _about(inside: Mapping[str, Range], wrong: Mapping[str, Floats], kept: Mapping[str, str]) -> list[str]:
    lines = ["Within these ranges nothing overflows:"]
    lines += [f"  {leaf} from {low:.6g} to {high:.6g}" for leaf, (low, high) in inside.items()]
    lines += ["Results differ from the exact ones of the same whole numbers by no more than:"]
    lines += [f"  {key}: {', '.join(f'{e:.3g}' for e in row)}" for key, row in wrong.items()]
    lines += [
        f"{key} has the formats of {name} and ends at its range: hand it over as it is."
        for key, name in kept.items()
    ]
    return [*lines, f"Generated by forearm {__version__}."]
