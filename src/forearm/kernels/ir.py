"""A program as LLVM IR: a loop over blocks of states, straight-line code for each.

A partial block is copied to and from a buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels.llvm import IRFunction, Value, declared, joined
from forearm.kernels.transpose import load_columns, store_columns
from forearm.kernels.vectors import Body, InMemory, Target
from forearm.symbols import Expr, Graph, Region
from forearm.symbols.graph import (
    ABS,
    ADD,
    ATAN2,
    CALL,
    CHOOSE,
    COS,
    DIV,
    EXP,
    LOOKUP,
    MUL,
    PICK,
    ROUND,
    SIGN,
    SIN,
    SQRT,
    SUB,
    expressions,
)

PART = 1_000  # operations in each part of a function that is too long
FENCED, STORED = 32, 64  # operations of a part, and results of a function, between fences
BYTES_AT_ONCE = 32  # angles whose sines and cosines are computed side by side for a single state


def function_text(
    name: str,
    traced: Traced,
    target: Target,
    parameters: Sequence[str] = (),
    each: bool = False,
    write_block: Callable[[Body], None] | None = None,
) -> str:
    """`void name(inputs..., [parameters,] outputs..., i64 count)`: arrays of `count` consecutive rows.

    One row of parameters serves all states, and expressions of parameters alone are computed once; with
    `each`, every state has its own row. `write_block` emits the code of one block if it is not that of the
    traced results.
    """
    offline = parameter_rows(len(parameters))
    inputs = (*traced.inputs, *offline)
    rows = (*(inputs if each else traced.inputs), *traced.outputs)
    arrays = {a.name: "ptr" for a in (*inputs, *traced.outputs)}
    f = IRFunction(name, arrays | {"count": "i64"})
    body, count = Body(target, f=f), f.arguments[-1]
    for a in rows:
        body.space(f"%buffer.{a.name}", a.size * target.lanes)
    before = traced.graph.known_before(traced.results) if parameters else ()
    known: dict[int, Value] = {}
    unknown: Value | None = None
    if parameters and not each:
        for k, place in enumerate(leaves_of(traced.graph, parameters)):
            known[place] = body.splat("%parameters", k)
        unknown = unknown_of(body, list(known.values()))
        compute(body, traced.graph, before, known)
    with f.unless(count <= 0), f.repeat(0) as turn:
        (at,) = turn.now
        left = count - at
        full = left >= target.lanes
        some = f.chosen(full, target.lanes, left)
        there, sizes = {}, {}
        for a in rows:
            there[a.name] = f.at(f"%{a.name}", at, target.scalar, a.size)
            sizes[a.name] = some * a.size
        with f.unless(full) as begun:
            for a in rows[: -len(traced.outputs)]:
                to, size = f"%buffer.{a.name}", a.size * target.lanes
                f.call("copied", to, there[a.name], sizes[a.name], size)
        for a in rows:
            f.phi(begun, there[a.name], f"%buffer.{a.name}", name=f"at.{a.name}")
        if each:
            columns = load_columns(body, "%at.parameters", len(parameters))
            known = dict(zip(leaves_of(traced.graph, parameters), columns, strict=True))
            unknown = unknown_of(body, columns)
            compute(body, traced.graph, before, known)  # separately, as in the shared case
        if write_block is None:
            traced_block(body, traced, known, unknown)
        else:
            write_block(body)
        with f.unless(full):
            for a in traced.outputs:
                f.call("copied", there[a.name], f"%buffer.{a.name}", sizes[a.name], sizes[a.name])
        after = at + some
        turn.again(after, where=after < count)
    f.ret()
    return f.text()


def parameter_rows(count: int) -> tuple[Argument, ...]:
    """The open parameters as an array, if there are any."""
    return (Argument("parameters", (count,), ""),) if count else ()


def leaves_of(graph: Graph, names: Sequence[str]) -> list[int]:
    """The places of inputs or parameters."""
    places = {leaf: place for place, leaf in graph.leaves.items()}
    return [places[name] for name in names]


def copying(scalar: str) -> str:
    """`void copied(to, from, count, whole)`:
    copy count scalars and fill with zeros up to `whole`. It calls nothing.
    """
    kinds = "ptr to, ptr from, i64 count, i64 whole"
    f = IRFunction("copied", kinds, internal=True)
    to, source, count, whole = f.arguments
    with f.loop(0, whole) as at:
        into = f.at(to, at, scalar)
        with f.when(at < count) as end:
            taken = f.entry(scalar, source, at)
        f.store(f.phi(end, 0.0, taken), into)
    f.ret()
    return f.text()


def traced_block(body: Body, traced: Traced, known: dict[int, Any], unknown: Value | None) -> None:
    """One block of states:
    loaded from %at.NAME of each input, computed, stored at %at.NAME of each output.
    """
    states = load_states(body, traced)
    values = known | states
    unknown = unknown_of(body, list(states.values()), unknown)
    compute(body, traced.graph, traced.results, values)
    for a in traced.outputs:
        every, some = list(traced.results[a.name].flat), a.size if body.target.is_gpu else STORED
        for start in range(0, a.size, some):
            if start:
                body.f.fence()
            here = every[start : start + some]
            columns = [result(body, e, values) + unknown for e in here]
            store_columns(body, body.at(f"%at.{a.name}", start), columns, a.size)


def unknown_of(body: Body, states: Iterable[Value], before: Value | None = None) -> Value:
    """0 in the lanes of finite states, NaN in others: added to the results, it propagates to all of them."""
    total = body.constant(0.0) if before is None else before
    for state in states:
        total = body.fma(state, 0.0, total)
    return total


def load_states(body: Body, traced: Traced) -> dict[int, Value]:
    """Each entry of the states as a vector, one lane per state."""
    values: dict[int, Value] = {}
    for a in traced.inputs:
        places = leaves_of(traced.graph, [f"{a.name}[{i}]" for i in range(a.size)])
        values |= zip(places, load_columns(body, f"%at.{a.name}", a.size), strict=True)
    return values


def result(body: Body, e: Any, values: Mapping[int, Any]) -> Value:
    """A result with its sign, or a constant."""
    if not isinstance(e, Expr):
        return body.constant(float(e))
    value = body.ready(values[e.node])
    return (-value) if e.negative else value


def compute(
    body: Body,
    graph: Graph,
    results: Any,
    values: dict[int, Any],
    order: Sequence[int] | None = None,
    absorbed: dict[int, int] | None = None,
    kept: Callable[[int, Any], Any] | None = None,
) -> None:
    """Emit what the results need and is not yet computed, operands first; angles, with their sines and
    cosines, before the rest.

    Operations follow `order` if given. If these results are only a part of all, `absorbed` holds the
    `absorbed_products` of all of them, so that bits do not depend on the order of computation. `kept` may
    store a value in memory and returns it as later uses find it.
    """
    needed = [place for place in graph.needed(results) if place not in values]
    if order is not None:
        here, operations = set(needed), set(order)
        needed = [place for place in needed if place not in operations]
        needed += [place for place in order if place in here]
    if absorbed is None:
        absorbed = absorbed_products(graph, results, needed)
    if len(needed) > body.target.longest and order is None and not body.target.is_gpu:
        _write_parts(body, graph, needed, values, absorbed, {e.node for e in expressions(results)})
    else:
        _write(body, graph, needed, values, absorbed, kept)


def _write_parts(
    body: Body,
    graph: Graph,
    needed: list[int],
    values: dict[int, Any],
    absorbed: dict[int, int],
    ends: set[int],
) -> None:
    """Operations in functions of limited length: LLVM's time to schedule instructions and to allocate
    registers grows faster than their number. Between parts values are in memory.
    """
    fused, constants, lanes = set(absorbed.values()), graph.values.keys(), body.target.lanes
    turns = [Expr(graph, place, False) for place in needed if graph.kinds[place] in (COS, SIN)]
    here = set(graph.needed(turns)) | (ends & constants)
    _write(body, graph, [place for place in needed if place in here], values, absorbed)
    known = fused | constants | values.keys()
    rest = [place for place in needed if place not in known]
    # A call and its results stay together.
    cuts = [k for k in range(PART, len(rest), PART) if graph.kinds[rest[k]] != PICK]
    parts = [rest[a:b] for a, b in zip([0, *cuts], [*cuts, len(rest)], strict=True)]
    read = [{x for place in part for x in graph.operands(place)} for part in parts]
    for some in read:
        some.update([x for place in some & fused for x in graph.operands(place)])
    last = {place: k for k, some in enumerate(read) for place in some} | dict.fromkeys(ends, len(parts))
    frame, slots, free = f"%frame{len(body.lines)}", dict[int, int](), list[int]()

    def slot(place: int) -> int:
        if place not in slots:
            slots[place] = free.pop() if free else len(slots)
        return slots[place] * lanes

    most = 0
    for k, (part, some) in enumerate(zip(parts, read, strict=True)):
        inside = Body(body.target, f=IRFunction("part", "ptr values", internal=True))
        own = set(part)

        def kept(place: int, value: Any, k: int = k, inside: Body = inside, own: set[int] = own) -> Any:
            if place in own and last.get(place, k) > k:
                inside.store("%values", slot(place), inside.ready(value), lanes)
            if not place % FENCED:
                inside.f.fence()
            return value

        for place in sorted(some - own - fused - constants - slots.keys()):
            body.store(frame, slot(place), body.ready(values[place]), lanes)
        before = {place: InMemory("%values", slots[place] * lanes) for place in some & slots.keys()}
        _write(inside, graph, [*sorted(some & constants), *part], before, absorbed, kept)
        inside.f.ret()
        written = inside.f.hoisted()
        body.f.lines += written.lines
        body.f.call(written.name, frame)
        most = max(most, len(slots) + len(free))
        free += [slots.pop(place) for place in sorted(slots) if last[place] == k]
    body.space(frame, most * lanes)
    values |= {place: InMemory(frame, slots[place] * lanes) for place in ends & slots.keys()}


def _write(
    body: Body,
    graph: Graph,
    needed: list[int],
    values: dict[int, Any],
    absorbed: dict[int, int],
    kept: Callable[[int, Any], Any] | None = None,
) -> None:
    """Emit these operations, angles with their sines and cosines first."""
    inside = set(absorbed.values())
    angles = list(dict.fromkeys(graph.left[place] for place in needed if graph.kinds[place] in (COS, SIN)))
    turns = [Expr(graph, place, False) for place in angles]
    early = [place for place in graph.needed(turns) if place not in values] if turns else []
    known = set(early)
    pairs: dict[int, tuple[Value, Value]] = {}
    masks: dict[tuple[int, int], Value] = {}  # comparisons that several choices share

    def at(place: int) -> Value:
        return body.ready(values[place])

    def write(places: list[int]) -> None:
        for place in places:
            kind, a, b = graph.kinds[place], graph.left[place], graph.right[place]
            if place in values:  # already computed with others
                continue
            if place in graph.values:
                values[place] = body.constant(graph.values[place])
            elif kind in (COS, SIN):
                values[place] = pairs[a][kind == COS]
            elif kind == MUL and place not in inside:
                values[place] = at(a) * at(b)
            elif kind in (ADD, SUB):
                values[place] = _sum(body, graph, at, place, absorbed.get(place))
            elif kind == DIV:
                values[place] = body.op("fdiv", at(a), at(b))
            elif kind == SQRT:
                values[place] = body.call("sqrt", at(a))
            elif kind == ROUND:
                values[place] = body.rounded(at(a))
            elif kind == SIGN:
                values[place] = body.sign(at(a))
            elif kind == ABS:
                values[place] = body.call("fabs", at(a))
            elif kind == ATAN2:
                values[place] = body.angle(at(a), at(b))
            elif kind == EXP:
                some, before = _exponentials_ready(graph, places, place, values)
                write(before)
                made = exponentials(body, [at(graph.left[p]) for p in some])
                for p, value in zip(some, made, strict=True):
                    values[p] = value if kept is None else kept(p, value)
            elif kind == CHOOSE:
                x, y = graph.branches[place]
                if (a, b) not in masks:
                    masks[a, b] = at(a) < at(b)
                values[place] = body.chosen(masks[a, b], at(x), at(y))
            elif kind == LOOKUP:
                values[place] = body.look_up(graph.tables[place], at(a))
            elif kind == CALL:
                region, operands = graph.calls[place]
                written = _called if region.condition is None else _iterated
                values[place] = written(body, region, [values[operand] for operand in operands])
            elif kind == PICK:
                values[place] = values[a][graph.picks[place]]
            if kept is not None and place in values and kind != EXP:
                values[place] = kept(place, values[place])

    write(early)
    pairs.update(zip(angles, sines_and_cosines(body, [at(place) for place in angles]), strict=True))
    write([place for place in needed if place not in known])


def _iterated(body: Body, region: Region, given: list[Any]) -> list[Value]:
    """A region as a loop in which each lane iterates as long as it needs to."""
    assert region.condition is not None
    count = len(region.results)

    def at(state: list[Value], wanted: Sequence[Any]) -> list[Value]:
        values = dict(zip((x.node for x in region.inputs), [*state, *given[count:]], strict=True))
        compute(body, region.graph, list(wanted), values)
        return [result(body, e, values) for e in wanted]

    def going(state: list[Value]) -> Value:
        a, b = at(state, region.condition or ())
        return a < b

    start = [body.ready(x) for x in given[:count]]
    return body.repeated(start, going, lambda state: at(state, region.results), region.most)


def _called(body: Body, region: Region, given: list[Any]) -> list[InMemory]:
    """A region as a function, called for all lanes together."""
    written = body.f.called
    if (region, body.target) not in written:
        inside = Body(body.target, f=IRFunction("region", "ptr given, ptr made", internal=True))
        values = dict(zip((x.node for x in region.inputs), inside.vectors("%given", len(given)), strict=True))
        compute(inside, region.graph, list(region.results), values)
        inside.keep("%made", [result(inside, e, values) for e in region.results])
        inside.f.ret()
        written[region, body.target] = inside.f.hoisted()
    return body.called(written[region, body.target], given, len(region.results))


def sines_and_cosines(body: Body, angles: list[Value]) -> list[tuple[Value, Value]]:
    """(sine, cosine) of each angle; those of a single state side by side in vectors."""
    if body.target.lanes > 1 or body.target.is_gpu or len(angles) < 2:
        return [body.sine_and_cosine(angle) for angle in angles]
    lanes = BYTES_AT_ONCE // body.target.size
    wide = body.widened(lanes)
    made: list[tuple[Value, Value]] = []
    for start in range(0, len(angles), lanes):
        some = angles[start : start + lanes]
        together = body.joined(some + [body.constant(0.0)] * (lanes - len(some)), 1)
        sine, cosine = wide.sine_and_cosine(together)
        made += [(wide.part(sine, lanes, k, 1), wide.part(cosine, lanes, k, 1)) for k in range(len(some))]
    return made


def exponentials(body: Body, exponents: list[Value]) -> list[Value]:
    """e^x of each; those of a single state side by side in vectors."""
    if body.target.lanes > 1 or body.target.is_gpu or len(exponents) < 2:
        return [body.exponential(x) for x in exponents]
    lanes = BYTES_AT_ONCE // body.target.size
    wide = body.widened(lanes)
    made: list[Value] = []
    for start in range(0, len(exponents), lanes):
        some = exponents[start : start + lanes]
        together = wide.exponential(body.joined(some + [body.constant(0.0)] * (lanes - len(some)), 1))
        made += [wide.part(together, lanes, k, 1) for k in range(len(some))]
    return made


def _exponentials_ready(
    graph: Graph, places: list[int], first: int, values: dict[int, Any]
) -> tuple[list[int], list[int]]:
    """The exponentials, from a first one on, that can be computed now, and what must be computed before them,
    operands first: no function call, and no other exponential.
    """
    some, before = [first], set[int]()
    for place in places[places.index(first) + 1 :]:
        if graph.kinds[place] != EXP or place in values:
            continue
        lacking, ahead = set[int](), [graph.left[place]]
        while ahead:
            here = ahead.pop()
            if here not in values and here not in lacking:
                if graph.kinds[here] in (EXP, CALL, PICK, COS, SIN):
                    break
                lacking.add(here)
                ahead += graph.operands(here)
        else:
            some.append(place)
            before |= lacking
    return some, sorted(before)


def absorbed_products(graph: Graph, results: Any, needed: list[int]) -> dict[int, int]:
    """For each sum the product that is fused into it: one that nothing else needs."""
    uses: Counter[int] = Counter(e.node for e in expressions(results))
    uses.update(chain.from_iterable(graph.operands(p) for p in needed if graph.kinds[p] >= MUL))
    found, here = {}, set(needed)
    for place in needed:
        if graph.kinds[place] in (ADD, SUB):
            operands = (graph.right[place], graph.left[place])
            products = [p for p in operands if graph.kinds[p] == MUL and uses[p] == 1 and p in here]
            if products:
                found[place] = products[0]
    return found


def _sum(body: Body, graph: Graph, at: Callable[[int], Value], place: int, product: int | None) -> Value:
    a, b, minus = graph.left[place], graph.right[place], graph.kinds[place] == SUB
    if product is None:
        return at(a) - at(b) if minus else at(a) + at(b)
    x, y = at(graph.left[product]), at(graph.right[product])
    if product == b:
        return body.fma((-x) if minus else x, y, at(a))
    return body.fma(x, y, (-at(b)) if minus else at(b))


def module_text(functions: list[str], target: Target) -> str:
    """Functions, and what they call."""
    return joined([*intrinsics(target), copying(target.scalar), *functions])


def intrinsics(target: Target) -> list[str]:
    """Declarations of LLVM's intrinsics, for every vector width in use."""
    made: list[str] = []
    for wide in (
        replace(target, lanes=count)
        for count in sorted({target.lanes, BYTES_AT_ONCE // target.size, 1, 2, 4, 8})
    ):
        v = wide.vector
        made += [declared(f"llvm.{name}.{wide.suffix}", v, v) for name in ("sqrt", "fabs")]
        made += [declared(f"llvm.fma.{wide.suffix}", v, v, v, v)]
    return ["\n".join(made)]
