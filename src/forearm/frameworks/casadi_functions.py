"""A function of an arm and its derivatives as CasADi calls them:
their input and output arrays, with names and sparsity.

For a function f CasADi looks for `jac_f`, `fwd1_f` and `adj1_f`: the inputs, then the outputs (`out_tau`,
which none here reads), then rates of the inputs or weights of the outputs. Derivatives of derivatives follow
the same rules: `fwd1_adj1_f`. Matrices are column-major.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from forearm.codegen.differentiated import GRADIENT, PARAMETERS, RATE, WEIGHT, forward_of, reverse_of
from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.kernels.compiled import CompileRequest, Names
from forearm.model import Array
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols import Expr, Graph, refined
from forearm.symbols.calculus import jacobian
from forearm.symbols.scalars import is_zero

# Above these sizes CasADi assembles Jacobians and Hessians from products with them: compiling them would take
# too long.
MOST_ENTRIES = 1024
# operations of the function, times the number of its outputs or inputs, whichever is smaller
MOST_OPERATIONS = 40_000
ITERATED = "numeric_inverse_kinematics"  # its error, zero at the solution, has no derivative there
# Functions that are the Jacobian of another, with their names of its blocks in the order of the inputs.
JACOBIANS = {
    "inverse_dynamics": ("inverse_dynamics_derivatives", ("tau_q", "tau_qd", "M")),
    "forward_dynamics": ("forward_dynamics_derivatives", ("qdd_q", "qdd_qd", "M_inverse")),
}


@dataclass(frozen=True)
class Port:
    """An array on CasADi's side, and the traced array `of` it: None for one that is all zeros there."""

    name: str
    shape: tuple[int, int]
    of: str | None

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def order(self) -> list[int]:
        """The places of the entries, stored row by row, in column-major order."""
        return [int(k) for k in np.arange(self.size).reshape(self.shape).T.flat]


@dataclass(frozen=True, eq=False)
class CasadiFunction:
    """A traced function as CasADi sees it; if it `is_sparse`, entries that are always zero are omitted."""

    name: str
    traced: Traced
    parameters: Names
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    is_sparse: bool = False

    def leaves(self, port: Port) -> list[str]:
        """The symbols of an input, in column-major order."""
        if port.of is None:
            return []
        return list(self.parameters) if port.of == PARAMETERS else [f"{port.of}[{k}]" for k in port.order]

    def entries(self, port: Port) -> list[tuple[int, int, object]]:
        """(row, column, value) of an output, in column-major order."""
        if port.of is None:
            return []
        table = self.traced.results[port.of].reshape(port.shape)
        rows, columns = port.shape
        listed = [(i, j, table[i, j]) for j in range(columns) for i in range(rows)]
        return [entry for entry in listed if not (self.is_sparse and is_zero(entry[2]))]


def functions_of(request: CompileRequest, derivatives: int) -> list[CasadiFunction]:
    """The function and its derivatives, up to second order if requested."""
    parameters = tuple(chosen_parameters(request.arm, request.parameters))

    def traced(names: Sequence[str]) -> Traced:
        tracing = Tracing(request.arm, chosen_parameters(request.arm, request.parameters))
        return trace(tracing, [FUNCTIONS[name] for name in names])

    first = _plain("_and_".join(request.functions), traced(request.functions), parameters)
    made = [first]
    if derivatives and ITERATED not in request.functions:
        made += [ahead := _forward(first), back := _reverse(first)]
        if _is_written_out(first):
            known = JACOBIANS.get(first.name) if not parameters else None
            made += [_jacobian(first) if known is None else _known(first, traced([known[0]]), known[1])]
        if derivatives > 1:
            # If it has both a Jacobian and products with it, CasADi uses the products: slower if many.
            made += [_jacobian(back)] if _is_written_out(back) else [_forward(back), _reverse(back)]
            made += [_forward(ahead), _reverse(ahead)]
    return made


def _plain(name: str, traced: Traced, parameters: Names) -> CasadiFunction:
    inputs = [Port(a.name, _matrix(a.shape), a.name) for a in traced.inputs]
    inputs += [Port(PARAMETERS, (len(parameters), 1), PARAMETERS)] if parameters else []
    outputs = [Port(a.name, _matrix(a.shape), a.name) for a in traced.outputs]
    return CasadiFunction(name, traced, parameters, tuple(inputs), tuple(outputs))


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0], shape[1] if len(shape) > 1 else 1)


def _is_written_out(f: CasadiFunction) -> bool:
    """Whether the Jacobian is compiled as a whole."""
    taken, made = (sum(p.size for p in ports if p.of) for ports in (f.inputs, f.outputs))
    operations: int = sum(vars(f.traced.graph.counts(f.traced.results)).values())
    return taken * made <= MOST_ENTRIES and operations * min(taken, made) <= MOST_OPERATIONS


def _given(f: CasadiFunction) -> tuple[Port, ...]:
    """The inputs of every derivative: those of the function, and unused ones in place of the outputs."""
    return (*f.inputs, *(Port(f"out_{p.name}", p.shape, None) for p in f.outputs))


def _with(prefix: str, ending: str, ports: Sequence[Port]) -> tuple[Port, ...]:
    return tuple(Port(f"{prefix}_{p.name}", p.shape, p.of and f"{p.of}_{ending}") for p in ports)


def _forward(f: CasadiFunction) -> CasadiFunction:
    """`fwd1_f`: rates of the outputs for rates of the inputs."""
    f = _with_room_for_rates(f)
    inputs = (*_given(f), *_with("fwd", RATE, f.inputs))
    traced = forward_of(f.traced, f.parameters)
    outputs = _with("fwd", RATE, f.outputs)
    return replace(f, name=f"fwd1_{f.name}", traced=traced, inputs=inputs, outputs=outputs)


def _with_room_for_rates(f: CasadiFunction) -> CasadiFunction:
    """A copy, open for new symbols, in which inputs with the names of rates are renamed."""
    names = {a.name: f"{a.name}_before" for a in f.traced.inputs if a.name.endswith(f"_{RATE}")}
    traced = deepcopy(f.traced)
    for place, leaf in traced.graph.leaves.items():
        array, bracket, entry = leaf.partition("[")
        traced.graph.leaves[place] = names.get(array, array) + bracket + entry
    arrays = tuple(replace(a, name=names.get(a.name, a.name)) for a in traced.inputs)
    inputs = tuple(replace(p, of=names.get(p.of, p.of) if p.of else None) for p in f.inputs)
    return replace(f, traced=replace(traced, inputs=arrays), inputs=inputs)


def _reverse(f: CasadiFunction) -> CasadiFunction:
    """`adj1_f`: derivatives of the weighted outputs by each input."""
    inputs = (*_given(f), *_with("adj", WEIGHT, f.outputs))
    traced = reverse_of(deepcopy(f.traced), f.parameters)
    outputs = _with("adj", GRADIENT, f.inputs)
    return replace(f, name=f"adj1_{f.name}", traced=traced, inputs=inputs, outputs=outputs)


def _blocks(f: CasadiFunction) -> list[tuple[Port, Port, Port]]:
    """(block, output, input) of the Jacobian, in CasADi's order; both are vectors, column-major."""
    return [
        (Port(name := f"jac_{o.name}_{i.name}", (o.size, i.size), name if o.of and i.of else None), o, i)
        for o in f.outputs
        for i in f.inputs
    ]


def _jacobian(f: CasadiFunction) -> CasadiFunction:
    """`jac_f`: every output by every input."""
    graph, blocks, results = f.traced.graph, _blocks(f), dict[str, Array]()
    inputs = [p for p in f.inputs if p.of]
    symbols = {p.name: _symbols(graph, f.leaves(p)) for p in inputs}
    every = [x for p in inputs for x in symbols[p.name]]
    for o in f.outputs:
        if o.of is None:
            continue
        flat = [value for _, _, value in replace(f, is_sparse=False).entries(o)]
        whole, at = jacobian(graph, flat, every), 0
        for i in inputs:
            results[f"jac_{o.name}_{i.name}"] = whole[:, at : at + i.size]
            at += i.size
    graph, results = refined(graph, results)
    outputs = tuple(Argument(p.name, p.shape, "") for p, _, _ in blocks if p.of)
    traced = Traced(graph, results, f.traced.inputs, outputs)
    return _jacobian_of(f, traced, tuple(p for p, _, _ in blocks))


def _known(f: CasadiFunction, traced: Traced, names: Sequence[str]) -> CasadiFunction:
    """The Jacobian by another function of the arm, which needs fewer operations."""
    blocks = [replace(p, of=name) for (p, _, _), name in zip(_blocks(f), names, strict=True)]
    return _jacobian_of(f, traced, tuple(blocks))


def _jacobian_of(f: CasadiFunction, traced: Traced, outputs: tuple[Port, ...]) -> CasadiFunction:
    return replace(f, name=f"jac_{f.name}", traced=traced, inputs=_given(f), outputs=outputs, is_sparse=True)


def _symbols(graph: Graph, names: Sequence[str]) -> list[Expr]:
    places = {leaf: place for place, leaf in graph.leaves.items()}
    return [Expr(graph, places[name], False) for name in names]
