"""The fewest operations reached, for an arm and for the general chain, and the saving of each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.counting.counts import check_function, counted_model
from forearm.counting.models import GenericChain
from forearm.counting.printed import printed
from forearm.dynamics.newton_euler import newton_euler
from forearm.files.builtin import load_builtin
from forearm.reduction.chain import SYMMETRIC, Chain
from forearm.reduction.composite import forward, inertia_matrix
from forearm.reduction.frames import chain_of
from forearm.reduction.plan import PLAIN_PLAN, ReductionPlan, placed, planned, settled
from forearm.reduction.recursion import inverse
from forearm.reduction.search import best_plan
from forearm.symbols import Counts, Graph, refined
from forearm.symbols.scalars import objects
from forearm.values import frozen


@frozen
class ReductionStep:
    """One reduction step and the operations left after it."""

    title: str
    counts: Counts


def fewest(arm: Arm | GenericChain, function: str = "inverse", own_gravity: bool = False) -> Counts:
    """The operations of generated code, customised to an arm or for a generic chain with symbols; gravity is
    along z0, or the arm's own.
    """
    graph, results = _traced(arm, function, own_gravity)
    graph, results = refined(graph, results)
    return graph.counts(results)


def steps_to_fewest(arm: Arm, function: str = "inverse", own_gravity: bool = False) -> list[ReductionStep]:
    """The steps from the formulation as written to the generated code, with the operations after each."""
    check_function(function)
    model, chain = counted_model(arm, own_gravity), _chain(arm, own_gravity)
    plan = best_plan(chain)
    made = []

    def take(title: str, graph: Graph, results: Any, everything: bool = False) -> None:
        made.append(
            ReductionStep(title, graph.counts_of(range(len(graph))) if everything else graph.counts(results))
        )

    if function == "inverse":
        graph = Graph()
        q, qd, qdd = (graph.inputs(name, model.n) for name in ("q", "qd", "qdd"))
        whole = newton_euler(model.map(float), model.coordinates(q), model.rates(qd), model.rates(qdd))
        take("Newton-Euler, two elementary turns a joint, every value once", graph, whole, everything=True)
        take("what no torque needs left out", graph, whole)
    first = (
        "one matrix Omega for forces and moments" if function == "inverse" else "composite bodies in moments"
    )
    stages = [(f"{first}, frames of common normals", replace(chain, summed=False))]
    stages += [("angles added along parallel axes", chain), ("base parameters", planned(chain))]
    so_far = PLAIN_PLAN
    for title, name in (
        ("moments kept where they cost less", "choices"),
        ("origins moved", "origins"),
        ("last frames rolled", "rolled"),
        ("a length as unit", "unit"),
        ("squares from sums of squares", "squares"),
        ("moments straight through runs", "straight"),
    ):
        if getattr(plan, name) != getattr(PLAIN_PLAN, name):
            so_far = replace(so_far, **{name: getattr(plan, name)})
            stages.append((title, planned(chain, so_far)))
    for title, stage in stages:
        graph, results = _trace(stage, function)
        take(title, graph, results)
    graph, results = refined(graph, results)
    take("common factors, shared sums and products", graph, results)
    return made


def table_210() -> tuple[list[str], list[tuple[str, list[tuple[int, ...]]]]]:
    """Dhanaraj's Table 2.10: methods, and for each robot (mul, add) by method, () for a dash; ours first."""
    given = printed()["table_210"]
    rows = []
    for row in given["row"]:
        counts = fewest(load_builtin(row["arm"]))
        rows.append((row["robot"], [(counts.mul, counts.add), *(tuple(pair) for pair in row["printed"])]))
    return ["generated code", *given["methods"]], rows


@lru_cache(maxsize=64)
def _traced(arm: Arm | GenericChain, function: str, own_gravity: bool = False) -> tuple[Graph, Any]:
    check_function(function)
    chain = _chain(arm, own_gravity)
    # symbols may be 0, so lengths and twists are never divisors
    if isinstance(arm, GenericChain):
        return _trace(chain, function, best_plan(chain, any_geometry=True))
    return _trace(planned(chain, best_plan(chain)), function)


@lru_cache(maxsize=64)
def _chain(arm: Arm | GenericChain, own_gravity: bool = False) -> Chain:
    return chain_of(counted_model(arm, own_gravity))


def _trace(chain: Chain, function: str, general: ReductionPlan | None = None) -> tuple[Graph, Any]:
    """Trace the function on a graph; with a plan, replace the chain's numbers by symbols and apply it."""
    graph = Graph()
    if general is not None:
        chain = settled(_with_symbols(placed(chain, general), graph), general)
    model = chain.model
    q, qd, qdd, tau = (graph.inputs(name, model.n) for name in ("q", "qd", "qdd", "tau"))
    results: Any
    if function == "inverse":
        results = model.gathered(inverse(chain, model.rates(q), model.rates(qd), model.rates(qdd)))
    elif function == "inertia_matrix":
        M = model.gathered_matrix(inertia_matrix(chain, model.rates(q)))
        results = [M[j, : j + 1] for j in range(model.n)]
    else:
        results = forward(chain, model.rates(q), model.rates(qd), tau, [0.0] * model.n)
    return graph, results


def _with_symbols(chain: Chain, graph: Graph) -> Chain:
    """The chain with a distinct offline symbol for every number other than 0, 1 and -1."""

    def symbol(name: str, value: float) -> Any:
        return value if value in (0.0, 1.0, -1.0) else graph.parameter(name)

    def each(name: str, array: Any) -> Any:
        return objects([symbol(f"{name}{k}", float(x)) for k, x in enumerate(array)])

    segments = []
    for i, s in enumerate(chain.segments):
        J = np.zeros((3, 3), dtype=object)
        for a, b in SYMMETRIC:
            J[a, b] = J[b, a] = symbol(f"J{i}{a}{b}", float(s.J[a, b]))
        phi, alpha = (
            _turn(f"{name}{i}", turn, symbol) for name, turn in (("phi", s.phi), ("alpha", s.alpha))
        )
        segments.append(
            replace(
                s,
                l=each(f"l{i}", s.l),
                m=symbol(f"m{i}", float(s.m)),
                h=each(f"h{i}", s.h),
                J=J,
                phi=phi,
                alpha=alpha,
            )
        )
    return replace(chain, segments=tuple(segments), g=each("g", chain.g))


def _turn(name: str, turn: tuple[float, float], symbol: Callable[[str, float], Any]) -> tuple[Any, Any]:
    return symbol(f"cos {name}", turn[0]), symbol(f"sin {name}", turn[1])
