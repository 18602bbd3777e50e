"""A traced function differentiated, as a traced function: reverse mode with weights on its outputs, or
forward mode along rates of its inputs. Neither forms the Jacobian J, and the results can be differentiated
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument, Arguments
from forearm.dynamics.fixed_step import Values
from forearm.model import Array
from forearm.symbols import Expr, Graph, derivative, refined
from forearm.symbols.calculus import gradient
from forearm.symbols.scalars import Scalar

WEIGHT, GRADIENT, RATE = "weight", "gradient", "rate"
PARAMETERS = "parameters"  # name of the open parameters, as one array


def reverse_of(traced: Traced, parameters: Sequence[str] = ()) -> Traced:
    """g^T J: takes `tau_weight` for each output besides the inputs, and returns `q_gradient` for each input,
    and `parameters_gradient` if parameters are open.
    """
    graph = traced.graph
    weighted: Scalar = 0.0
    weights = _beside(traced.inputs, traced.outputs, WEIGHT)
    for a, one in zip(traced.outputs, weights, strict=True):
        for weight, result in zip(_symbols(graph, one), traced.results[a.name].flat, strict=True):
            weighted = weighted + weight * result
    given = (*traced.inputs, *_open(parameters))
    leaves = [_leaves(graph, a, parameters) for a in given]
    slopes = iter(gradient(graph, weighted, [x for some in leaves for x in some]))
    results = {
        f"{a.name}_{GRADIENT}": _shaped(a, [next(slopes) for _ in some])
        for a, some in zip(given, leaves, strict=True)
    }
    return _made(graph, results, (*traced.inputs, *weights), tuple(_named(a, GRADIENT) for a in given))


def forward_of(traced: Traced, parameters: Sequence[str] = ()) -> Traced:
    """J v: takes `q_rate` for each input besides the inputs, and `parameters_rate` if parameters are open;
    returns `tau_rate` for each output.
    """
    graph = traced.graph
    given = (*traced.inputs, *_open(parameters))
    direction: dict[Expr, Scalar] = {}
    moved = _beside(traced.inputs, given, RATE)
    for a, rate in zip(given, moved, strict=True):
        direction |= zip(_leaves(graph, a, parameters), _symbols(graph, rate), strict=True)
    flat = [r for a in traced.outputs for r in traced.results[a.name].flat]
    rates = iter(derivative(graph, flat, direction))
    results = {f"{a.name}_{RATE}": _shaped(a, [next(rates) for _ in range(a.size)]) for a in traced.outputs}
    return _made(graph, results, (*traced.inputs, *moved), tuple(_named(a, RATE) for a in traced.outputs))


# Differentiation modes by name; a request applies them in turn.
DERIVED: dict[str, Callable[[Traced, Sequence[str]], Traced]] = {"reverse": reverse_of, "forward": forward_of}


def _open(parameters: Sequence[str]) -> Arguments:
    return (Argument(PARAMETERS, (len(parameters),), "values of the open parameters"),) if parameters else ()


def _named(a: Argument, what: str) -> Argument:
    return Argument(f"{a.name}_{what}", a.shape, f"{what} of {a.name}")


def _beside(inputs: Sequence[Argument], arrays: Sequence[Argument], what: str) -> Arguments:
    """New inputs for these arrays, with names that no input has: "q_rate2" if there is a "q_rate"."""
    taken, made = {a.name for a in inputs}, list[Argument]()
    for a in arrays:
        names = (f"{a.name}_{what}{k if k > 1 else ''}" for k in count(1))
        made.append(
            Argument(next(name for name in names if name not in taken), a.shape, f"{what} of {a.name}")
        )
        taken.add(made[-1].name)
    return tuple(made)


def _symbols(graph: Graph, a: Argument) -> list[Expr]:
    """New symbols for an array."""
    return [graph.input(f"{a.name}[{k}]") for k in range(a.size)]


def _leaves(graph: Graph, a: Argument, parameters: Sequence[str]) -> list[Expr]:
    """The symbols of an existing array."""
    places = {leaf: place for place, leaf in graph.leaves.items()}
    names = parameters if a.name == PARAMETERS else [f"{a.name}[{k}]" for k in range(a.size)]
    return [Expr(graph, places[name], False) for name in names]


def _shaped(a: Argument, values: Values) -> Array:
    made = np.empty(a.size, dtype=object)
    made[:] = values
    return made.reshape(a.shape)


def _made(graph: Graph, results: dict[str, Array], inputs: Arguments, outputs: Arguments) -> Traced:
    graph, results = refined(graph, results)
    return Traced(graph, results, inputs, outputs)
