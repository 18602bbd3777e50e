"""A traced function differentiated, as a traced function: backwards from weights on its outputs, or forwards
along rates of its inputs. Neither forms the Jacobian J, and what comes out can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.model import Array
from forearm.symbols import Expr, Graph, derivative, refined
from forearm.symbols.calculus import gradient
from forearm.symbols.scalars import Scalar

WEIGHT, GRADIENT, RATE = "weight", "gradient", "rate"
PARAMETERS = "parameters"  # the name of those left open, as one array


def reverse_of(traced: Traced, parameters: Sequence[str] = ()) -> Traced:
    """g^T J: `tau_weight` for each output in beside the inputs, `q_gradient` for each input out, and
    `parameters_gradient` where parameters are open.
    """
    graph = traced.graph
    weighted: Scalar = 0.0
    for a in traced.outputs:
        for weight, result in zip(
            _symbols(graph, _named(a, WEIGHT)), traced.results[a.name].flat, strict=True
        ):
            weighted = weighted + weight * result
    given = (*traced.inputs, *_open(parameters))
    leaves = [_leaves(graph, a, parameters) for a in given]
    slopes = iter(gradient(graph, weighted, [x for some in leaves for x in some]))
    results = {
        f"{a.name}_{GRADIENT}": _shaped(a, [next(slopes) for _ in some])
        for a, some in zip(given, leaves, strict=True)
    }
    weights = tuple(_named(a, WEIGHT) for a in traced.outputs)
    return _made(graph, results, (*traced.inputs, *weights), tuple(_named(a, GRADIENT) for a in given))


def forward_of(traced: Traced, parameters: Sequence[str] = ()) -> Traced:
    """J v: `q_rate` for each input in beside the inputs, and `parameters_rate` where parameters are open;
    `tau_rate` for each output out. Done again, it adds `q_rate2` for q beside `q_rate_rate` for `q_rate`.
    """
    graph = traced.graph
    given = (*traced.inputs, *_open(parameters))
    taken = {a.name for a in traced.inputs}
    moved = tuple(_named(a, f"{RATE}2" if f"{a.name}_{RATE}" in taken else RATE) for a in given)
    direction: dict[Expr, Scalar] = {}
    for a, rate in zip(given, moved, strict=True):
        direction |= zip(_leaves(graph, a, parameters), _symbols(graph, rate), strict=True)
    flat = [r for a in traced.outputs for r in traced.results[a.name].flat]
    rates = iter(derivative(graph, flat, direction))
    results = {f"{a.name}_{RATE}": _shaped(a, [next(rates) for _ in range(a.size)]) for a in traced.outputs}
    return _made(graph, results, (*traced.inputs, *moved), tuple(_named(a, RATE) for a in traced.outputs))


# Ways to differentiate a function, by name; in a request one is done after the other.
DERIVED: dict[str, Callable[[Traced, Sequence[str]], Traced]] = {"reverse": reverse_of, "forward": forward_of}


def _open(parameters: Sequence[str]) -> tuple[Argument, ...]:
    return (Argument(PARAMETERS, (len(parameters),), "values of the open parameters"),) if parameters else ()


def _named(a: Argument, what: str) -> Argument:
    return Argument(f"{a.name}_{what}", a.shape, f"{what} of {a.name}")


def _symbols(graph: Graph, a: Argument) -> list[Expr]:
    """New symbols for an array."""
    return [graph.input(f"{a.name}[{k}]") for k in range(a.size)]


def _leaves(graph: Graph, a: Argument, parameters: Sequence[str]) -> list[Expr]:
    """The symbols of an array that is there already."""
    places = {leaf: place for place, leaf in graph.leaves.items()}
    names = parameters if a.name == PARAMETERS else [f"{a.name}[{k}]" for k in range(a.size)]
    return [Expr(graph, places[name], False) for name in names]


def _shaped(a: Argument, values: list[Scalar]) -> Array:
    made = np.empty(a.size, dtype=object)
    made[:] = values
    return made.reshape(a.shape)


def _made(
    graph: Graph, results: dict[str, Array], inputs: tuple[Argument, ...], outputs: tuple[Argument, ...]
) -> Traced:
    graph, results = refined(graph, results)
    return Traced(graph, results, inputs, outputs)
