"""LLVM's text for the threads of a schedule: a function for each, shared memory,
and a number that says how far each is.

The number of evaluation e (from 0) after i tasks is e * turn + i, and (e + 1) * turn when all is
done: it only grows, so that nothing is reset between evaluations. An evaluation begins when all
threads have ended the one before.
"""

from __future__ import annotations

from typing import Any

from forearm.kernels.ir import compute, intrinsics, joined, result
from forearm.kernels.vectors import Body, Target
from forearm.schedules.threaded_plan import Threads, ThreadStep, kept_places
from forearm.symbols import Expr

LINE = 128  # bytes between the numbers of two threads: two cache lines
HASTY = 2000  # times that a thread looks again at once; after that it lets others run in between
SUMS = 4  # at a time, where inputs are looked through for what is not finite


def module_of(threads: Threads, target: Target, pause: bool) -> str:
    """All functions, with what they call:
    `i64 lane<k>(inputs..., outputs..., shared, numbers, count, patience, yield)`.

    They give 0, or 1 where another thread did not come as far as needed within `patience` looks.
    """
    functions = [lane_text(threads, k, target) for k in range(len(threads.steps))]
    return joined([*intrinsics(target), waiting_text(pause), *functions])


def lane_text(threads: Threads, k: int, target: Target) -> str:
    """One thread: a loop over the evaluations, its steps in it."""
    traced, lanes = threads.traced, len(threads.steps)
    arrays = (*traced.inputs, *traced.outputs)
    body = Body(target)
    body.lines += [
        f"define i64 @lane{k}({', '.join(f'ptr %{a.name}' for a in arrays)}, ptr %shared, ptr %numbers, i64 "
        "%count, i64 %patience, ptr %yield) nounwind {",
        "entry:",
        f"  %stop = getelementptr i8, ptr %numbers, i64 {LINE * lanes}",
        *(f"  %number{j} = getelementptr i8, ptr %numbers, i64 {LINE * j}" for j in range(lanes)),
        "  %none = icmp sle i64 %count, 0",
        "  br i1 %none, label %done, label %head",
        "head:",
        "  %at = phi i64 [ 0, %entry ], [ %next, %tail ]",
        f"  %base = mul i64 %at, {threads.turn}",
        "  %next = add i64 %at, 1",
        f"  %end = mul i64 %next, {threads.turn}",
    ]
    for j in range(lanes):
        if j != k:
            _wait(body, j, "%base")
    for a in arrays:
        body.lines += [f"  %row.{a.name} = mul i64 %at, {a.size}"]
        body.lines += [f"  %at.{a.name} = getelementptr {target.scalar}, ptr %{a.name}, i64 %row.{a.name}"]
    _evaluation(body, threads, k)
    body.lines += [
        f"  store atomic i64 %end, ptr %number{k} release, align 8",
        "  br label %tail",
        "tail:",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %head, label %done",
        "done:",
        "  ret i64 0",
        "lost:",
        "  ret i64 1",
        "}",
    ]
    return "\n".join(body.lines)


def _evaluation(body: Body, threads: Threads, k: int) -> None:
    """The steps of a thread for one state."""
    traced = threads.traced
    places = {leaf: place for place, leaf in traced.graph.leaves.items()}
    values = {
        places[f"{a.name}[{i}]"]: body.load(f"%at.{a.name}", i, 1)
        for a in traced.inputs
        for i in range(a.size)
    }
    # Every other thread writes from the end: two that write the same rows at the same time would
    # fight for cache lines.
    mine = _results_of(threads, k)[:: -1 if k % 2 else 1]
    unknown = _unknown(body, list(values.values())) if mine else ""
    for step, keep in zip(threads.steps[k], kept_places(threads, k), strict=True):
        _step(body, threads, k, step, keep, values)
        for name, index, entry in mine:
            if isinstance(entry, Expr) and entry.node in keep:
                body.store(f"%at.{name}", index, body.op("fadd", result(body, entry, values), unknown), 1)
    for name, index, entry in mine:
        if not isinstance(entry, Expr) or entry.node not in threads.writer:
            body.store(f"%at.{name}", index, body.op("fadd", result(body, entry, values), unknown), 1)


def _step(
    body: Body, threads: Threads, k: int, step: ThreadStep, keep: set[int], values: dict[int, str]
) -> None:
    graph = threads.traced.graph
    for other, number in step.waits:
        _wait(body, other, body.emit(f"add i64 %base, {number}"))
    for place in step.loads:
        values[place] = body.load("%shared", threads.slots[place], 1)
    compute(body, graph, [Expr(graph, place, False) for place in sorted(keep)], values)
    for place in step.stores:
        body.store("%shared", threads.slots[place], values[place], 1)
    if step.done is not None:
        so_far = body.emit(f"add i64 %base, {step.done}")
        body.lines.append(f"  store atomic i64 {so_far}, ptr %number{k} release, align 8")


def _results_of(threads: Threads, k: int) -> list[tuple[str, int, Any]]:
    """(array, index, value) of the results that a thread writes;
    the first also writes plain numbers and inputs.
    """
    return [
        (a.name, index, entry)
        for a in threads.traced.outputs
        for index, entry in enumerate(threads.traced.results[a.name].flat)
        if threads.writer.get(entry.node if isinstance(entry, Expr) else -1, 0) == k
    ]


def _unknown(body: Body, states: list[str]) -> str:
    """0 where all inputs are finite, NaN elsewhere: added to results, it lets none of them look known."""
    sums = [body.constant(0.0)] * SUMS
    for at, state in enumerate(states):
        sums[at % SUMS] = body.fma(state, body.constant(0.0), sums[at % SUMS])
    while len(sums) > 1:
        sums = [body.op("fadd", a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


def _wait(body: Body, other: int, number: str) -> None:
    """Go on when another thread has come so far: a look first, then the function below."""
    seen = body.emit(f"load atomic i64, ptr %number{other} acquire, align 8")
    there = body.emit(f"icmp sge i64 {seen}, {number}")
    mark = f"w{len(body.lines)}"
    body.lines += [f"  br i1 {there}, label %{mark}.on, label %{mark}.wait", f"{mark}.wait:"]
    came = body.emit(
        f"call i1 @waiting(ptr %number{other}, i64 {number}, i64 %patience, ptr %stop, ptr %yield)"
    )
    body.lines += [f"  br i1 {came}, label %{mark}.on, label %lost", f"{mark}.on:"]


def waiting_text(pause: bool) -> str:
    """`i1 waiting(number, target, patience, stop, yield)`: looks until the number is there;
    gives up when patience or all end.

    Who gives up says so in `stop`, so that all the others do too. `yield` may be null.
    """
    rest = "  call void @llvm.x86.sse2.pause()\n" if pause else ""
    declared = "declare void @llvm.x86.sse2.pause()\n\n" if pause else ""
    arguments = "ptr %number, i64 %target, i64 %patience, ptr %stop, ptr %yield"
    return f"""{declared}define internal i1 @waiting({arguments}) nounwind noinline {{
entry:
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %more, %again ]
  %seen = load atomic i64, ptr %number acquire, align 8
  %there = icmp sge i64 %seen, %target
  br i1 %there, label %came, label %not.yet
not.yet:
  %others = load atomic i64, ptr %stop monotonic, align 8
  %stopped = icmp ne i64 %others, 0
  %tired = icmp sge i64 %looks, %patience
  %over = or i1 %stopped, %tired
  br i1 %over, label %lost, label %rest
rest:
{rest}  %long = icmp sge i64 %looks, {HASTY}
  %polite = icmp ne ptr %yield, null
  %both = and i1 %long, %polite
  br i1 %both, label %let, label %again
let:
  %ignored = call i32 %yield()
  br label %again
again:
  %more = add i64 %looks, 1
  br label %look
lost:
  store atomic i64 1, ptr %stop monotonic, align 8
  ret i1 false
came:
  ret i1 true
}}"""
