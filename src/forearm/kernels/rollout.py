"""A simulation as machine code: fixed steps of an explicit Runge-Kutta method, a lane a simulation, no Python inside.

`core` gives accelerations, `stage` the same from loads that are nearly known, `require` what drives must give in some
direction. A joint with dry friction moves in a direction until its velocity passes 0, where it stands; it begins to move again
when the motor gives more than motion in one direction, or the other, would need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.drives.joint import depends_on_load, drives_of
from forearm.drives.motor import constants_of
from forearm.dynamics.loaded import CLOSE
from forearm.kernels.ir import compute, copying, function_text, intrinsics, result
from forearm.kernels.iterated import Iterated, iterated, solved
from forearm.kernels.rolling import count_of_loads, held_freedoms
from forearm.kernels.rows import load_columns, store_columns
from forearm.kernels.vectors import Body, Target
from forearm.symbols import refined
from forearm.symbols.scalars import hinge, sign

STATES = ("q", "qd", "way", "free", "felt")
ROUGH = 1e-10  # of the torques: what a stage may leave of the equation, less than the method leaves of the motion


@dataclass(frozen=True, eq=False)
class Plan:
    """What is simulated: the arm, whether voltages drive it, and the method by its tableau c, a, b."""

    arm: Arm
    voltage: bool
    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    @property
    def loads(self) -> int:
        """How many numbers the drives feel whose friction depends on them."""
        return count_of_loads(self.arm)

    @property
    def dry(self) -> list[bool]:
        """For each freedom whether friction can hold it."""
        return held_freedoms(self.arm)


def rollout_text(plan: Plan, target: Target) -> str:
    """The module: `core`, `stage` and `require` on lanes, `accelerate` on rows, and `rollout`.

    `void rollout(q, qd, way, free, felt, u, out_q, out_qd, count, steps, every, u_state, u_step, h, slope)`: count simulations,
    states (count, n) in and out, inputs at u + state u_state + step u_step, and a record (count, steps / every + 1, n) for each
    output; `slope` is 0 where inputs are held and 1 where they go straight to the next.
    `void accelerate(q, qd, u, way, free, out, count)`.
    """
    traced = _traced(plan)
    names = ("q", "qd", "u", "way", "free")
    texts = [_lane_function("core", traced, names, plan.arm.n, target), _row_function(traced, names, plan.arm.n, target)]
    if plan.loads:
        texts.append(_lane_function("stage", traced, names, plan.arm.n, target, loads="%loads"))
    if any(plan.dry):
        texts.append(_lane_function("require", _traced_need(plan), names, plan.arm.n, target))
    return "\n\n".join([*intrinsics(target), copying(target.scalar), *texts, Driver(plan, target).text()])


def torques(tracing: Tracing, plan: Plan, u: Sequence[Any]) -> list[Any]:
    """Torques from what drives the arm: themselves, or what the motors make of voltages within their limits."""
    if not plan.voltage:
        return list(u)
    c = constants_of(plan.arm)
    made = []
    for j, V in enumerate(u):
        V = _clipped(V, float(c.most_voltage[j]))
        current = _clipped((V - float(c.K[j]) * tracing.qd[j]) * (1.0 / float(c.R[j])), float(c.most_current[j]))
        made.append(float(c.K[j]) * current)
    return made


def _clipped(x: Any, most: float) -> Any:
    if np.isinf(most):
        return x
    beyond = sign(hinge(abs(x) - most))  # 1 or 0
    return x * (1.0 - beyond) + (most * sign(x)) * beyond


def _inputs(tracing: Tracing, name: str) -> list[Any]:
    return [tracing.graph.input(f"{name}[{j}]") for j in range(tracing.arm.n)]


def _traced(plan: Plan) -> Traced:
    """Accelerations from (q, qd, u, way, free)."""
    tracing, n, dry = Tracing(plan.arm, {}), plan.arm.n, plan.dry
    u = _inputs(tracing, "u")
    way, free = (_inputs(tracing, name) if any(dry) else None for name in ("way", "free"))
    tau = torques(tracing, plan, u)
    joints = None if way is None else [way[d.freedom] * _sign(d.multiplier) for d in drives_of(plan.arm)]
    loose = [free[j] if free is not None and dry[j] else 1.0 for j in range(n)]
    if not depends_on_load(plan.arm):
        results = {"out": np.array(tracing.held_forward(tau, joints, loose), dtype=object)}
        return Traced(*refined(tracing.graph, results), (), ())
    return iterated(tracing, tau=tau, ways=joints, free=loose)


def _traced_need(plan: Plan) -> Traced:
    """What the drives must give at accelerations that stand in the place of u, with friction in the directions `way`."""
    tracing = Tracing(plan.arm, {})
    way, x = _inputs(tracing, "way"), _inputs(tracing, "u")
    joints = [way[d.freedom] * _sign(d.multiplier) for d in drives_of(plan.arm)]
    results = {"out": np.array(tracing.inverse(tracing.qd, x, joints), dtype=object)}
    return Traced(*refined(tracing.graph, results), (), ())


def _sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0


def _lane_function(
    name: str, traced: Traced, names: Sequence[str], n: int, target: Target, loads: str | None = None
) -> str:  # fmt: skip
    """A function whose arrays have a lane a simulation already; with `loads` one more, of where to begin and what came out."""
    body, L = Body(target), target.lanes
    for j, column in enumerate(_columns(body, traced, names, n, lambda a, j: body.load(f"%{a}", j * L, L), loads)):
        body.store("%out", j * L, column, L)
    pointers = [*(f"%{a}" for a in names), *([] if loads is None else [loads]), "%out"]
    arguments = ", ".join(f"ptr nocapture {p}" for p in pointers)
    return "\n".join([f"define void @{name}({arguments}) nounwind {{", "entry:", *body.lines, "  ret void", "}"])


def _row_function(traced: Traced, names: Sequence[str], n: int, target: Target) -> str:
    """The same function of rows of states."""
    arrays = replace(traced, inputs=tuple(Argument(a, (n,), "") for a in names), outputs=(Argument("out", (n,), ""),))

    def block(body: Body) -> None:
        made = {a: load_columns(body, f"%at.{a}", n) for a in names}
        store_columns(body, "%at.out", _columns(body, traced, names, n, lambda a, j: made[a][j]))

    return function_text("accelerate", arrays, target, write_block=block)


def _columns(
    body: Body, traced: Traced, names: Sequence[str], n: int, given: Callable[[str, int], str], loads: str | None = None
) -> list[str]:  # fmt: skip
    """The results of a block, from its inputs by name and joint; those that nothing needs are not asked for."""
    needed = set(traced.graph.needed(traced.results))
    places = {leaf: place for place, leaf in traced.graph.leaves.items() if place in needed}
    states = {places[f"{a}[{j}]"]: given(a, j) for a in names for j in range(n) if f"{a}[{j}]" in places}
    if isinstance(traced, Iterated):
        return solved(body, traced, states, body.constant(0.0), loads, CLOSE if loads is None else ROUGH)
    compute(body, traced.graph, traced.results, states)
    return [result(body, e, states) for e in traced.results["out"]]


class Driver:
    """The text of the loop over blocks and steps."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self.plan, self.target, self.n = plan, target, plan.arm.n
        self.widths = {s: 2 * plan.loads if s == "felt" else plan.arm.n for s in STATES if s != "felt" or plan.loads}
        self.lines: list[str] = []
        self.bodies = 0

    def text(self) -> str:
        """All of it."""
        t, n, L = self.target, self.n, self.target.lanes
        pointers = [*STATES, "u", "out_q", "out_qd"]
        numbers = ["count", "steps", "every", "u_state", "u_step"]
        arguments = [
            *(f"ptr nocapture %{p}" for p in pointers),
            *(f"i64 %{k}" for k in numbers),
            f"{t.scalar} %h",
            f"{t.scalar} %slope",
        ]
        stages = len(self.plan.b)
        arrays = [
            *(f"m.{s}" for s in STATES if s != "felt"),
            "m.u",
            "m.v",
            "m.x",
            "m.now",
            "y.q",
            "y.qd",
            *(f"k.{s}" for s in range(stages)),
        ]
        arrays += [f"v.{s}" for s in range(stages)] + ["plus", "minus", "trial"]
        self.lines = [f"define void @rollout({', '.join(arguments)}) nounwind {{", "entry:"]
        self.lines += [f"  %{a} = alloca [{n * L} x {t.scalar}], align 64" for a in arrays]
        self.lines += [f"  %buffer.{s} = alloca [{m * L} x {t.scalar}], align 64" for s, m in self.widths.items()]
        loads = {"m.felt": 2 * self.plan.loads} | {f"f.{s}": self.plan.loads for s in range(stages)}
        self.lines += [f"  %{a} = alloca [{m * L} x {t.scalar}], align 64" for a, m in loads.items() if m]
        self.lines += [
            f"  %h1 = insertelement <1 x {t.scalar}> poison, {t.scalar} %h, i32 0",
            f"  %hs = shufflevector <1 x {t.scalar}> %h1, <1 x {t.scalar}> poison, <{L} x i32> zeroinitializer",
            f"  %slope1 = insertelement <1 x {t.scalar}> poison, {t.scalar} %slope, i32 0",
            f"  %slopes = shufflevector <1 x {t.scalar}> %slope1, <1 x {t.scalar}> poison, <{L} x i32> zeroinitializer",
            "  %records = sdiv i64 %steps, %every", "  %rows = add i64 %records, 1", f"  %row.size = mul i64 %rows, {n}",
            "  br label %blocks",
            "blocks:", "  %at = phi i64 [ 0, %entry ], [ %at.next, %block.end ]", "  %left = sub i64 %count, %at",
            "  %none = icmp sle i64 %left, 0", "  br i1 %none, label %finish, label %block",
            "finish:", "  ret void",
            "block:", f"  %full = icmp sge i64 %left, {L}", f"  %some = select i1 %full, i64 {L}, i64 %left",
        ]  # fmt: skip
        for s, m in self.widths.items():
            self.lines += [f"  %at.{s} = mul i64 %at, {m}", f"  %some.{s} = mul i64 %some, {m}"]
            self.lines += [f"  %there.{s} = getelementptr {t.scalar}, ptr %{s}, i64 %at.{s}"]
            self.lines += [f"  call void @copied(ptr %buffer.{s}, ptr %there.{s}, i64 %some.{s}, i64 {m * L})"]
            body = self._body()
            for j, column in enumerate(load_columns(body, f"%buffer.{s}", m)):
                body.store(f"%m.{s}", j * L, column, L)
            self.lines += body.lines
        self._record("first", "0")
        self.lines += ["  br label %time.before", "time.before:", "  br label %time", "time:"]
        self.lines += ["  %k = phi i64 [ 0, %time.before ], [ %k.next, %time.end ]", "  %over = icmp sge i64 %k, %steps"]
        self.lines += ["  br i1 %over, label %time.done, label %step", "step:"]
        self._driven()
        if any(self.plan.dry):
            self._loosened()
        self._stages()
        self.lines += ["  %k.next = add i64 %k, 1", "  %phase = srem i64 %k.next, %every", "  %due = icmp eq i64 %phase, 0"]
        self.lines += ["  br i1 %due, label %record, label %time.end", "record:", "  %which = sdiv i64 %k.next, %every"]
        self._record("each", "%which")
        self.lines += ["  br label %time.end", "time.end:", "  br label %time", "time.done:"]
        for s, m in self.widths.items():
            body = self._body()
            store_columns(body, f"%buffer.{s}", [body.load(f"%m.{s}", j * L, L) for j in range(m)])
            self.lines += [*body.lines, f"  call void @copied(ptr %there.{s}, ptr %buffer.{s}, i64 %some.{s}, i64 %some.{s})"]
        self.lines += ["  br label %block.end", "block.end:", f"  %at.next = add i64 %at, {L}", "  br label %blocks", "}"]
        return "\n".join(self.lines)

    def _body(self) -> Body:
        self.bodies += 1
        return Body(self.target, f"b{self.bodies}.")

    def _record(self, tag: str, which: str) -> None:
        """States into their rows, one lane after the other."""
        t, n, L = self.target, self.n, self.target.lanes
        self.lines += [f"  %rec.{tag} = mul i64 {which}, {n}"]
        for s in ("q", "qd"):
            body = self._body()
            store_columns(body, f"%buffer.{s}", [body.load(f"%m.{s}", j * L, L) for j in range(n)])
            self.lines += body.lines
            self.lines += [
                f"  br label %rec.{tag}.{s}.before",
                f"rec.{tag}.{s}.before:",
                f"  br label %rec.{tag}.{s}",
                f"rec.{tag}.{s}:",
            ]
            self.lines += [
                f"  %lane.{tag}.{s} = phi i64 [ 0, %rec.{tag}.{s}.before ], [ %lane.{tag}.{s}.next, %rec.{tag}.{s} ]",
                f"  %sim.{tag}.{s} = add i64 %at, %lane.{tag}.{s}", f"  %base.{tag}.{s} = mul i64 %sim.{tag}.{s}, %row.size",
                f"  %place.{tag}.{s} = add i64 %base.{tag}.{s}, %rec.{tag}",
                f"  %to.{tag}.{s} = getelementptr {t.scalar}, ptr %out_{s}, i64 %place.{tag}.{s}",
                f"  %off.{tag}.{s} = mul i64 %lane.{tag}.{s}, {n}",
                f"  %from.{tag}.{s} = getelementptr {t.scalar}, ptr %buffer.{s}, i64 %off.{tag}.{s}",
                f"  call void @copied(ptr %to.{tag}.{s}, ptr %from.{tag}.{s}, i64 {n}, i64 {n})",
                f"  %lane.{tag}.{s}.next = add i64 %lane.{tag}.{s}, 1",
                f"  %more.{tag}.{s} = icmp slt i64 %lane.{tag}.{s}.next, %some",
                f"  br i1 %more.{tag}.{s}, label %rec.{tag}.{s}, label %rec.{tag}.{s}.done", f"rec.{tag}.{s}.done:",
            ]  # fmt: skip

    def _driven(self) -> None:
        """The inputs of this step in m.u, and how much they change until the next in m.v."""
        t, n, L = self.target, self.n, self.target.lanes
        self.lines += ["  %u.step = mul i64 %k, %u_step"]
        body = self._body()
        pointers = []
        for lane in range(L):
            inside = body.emit(f"icmp slt i64 {lane}, %some")
            row = body.emit(f"add i64 %at, {lane}")
            safe = body.emit(f"select i1 {inside}, i64 {row}, i64 %at")
            base = body.emit(f"mul i64 {safe}, %u_state")
            place = body.emit(f"add i64 {base}, %u.step")
            pointers.append(body.emit(f"getelementptr {t.scalar}, ptr %u, i64 {place}"))
        ahead = [body.emit(f"getelementptr {t.scalar}, ptr {p}, i64 %u_step") for p in pointers]
        for j in range(n):
            now, then = (body.joined([body.load(p, j, 1) for p in some], 1) for some in (pointers, ahead))
            body.store("%m.u", j * L, now, L)
            body.store("%m.v", j * L, body.op("fmul", body.op("fsub", then, now), "%slopes"), L)
        self.lines += body.lines

    def _stages(self) -> None:
        """The stages of the method, and the step."""
        n, L, plan = self.n, self.target.lanes, self.plan
        for s, (c, row) in enumerate(zip(plan.c, plan.a, strict=True)):
            body = self._body()
            for j in range(n):
                place = j * L
                q, qd = body.load("%m.q", place, L), body.load("%m.qd", place, L)
                dq, dqd = self._sum(body, row, "v", place), self._sum(body, row, "k", place)
                body.store("%y.q", place, q if dq is None else body.fma("%hs", dq, q), L)
                body.store("%y.qd", place, qd if dqd is None else body.fma("%hs", dqd, qd), L)
                body.store(f"%v.{s}", place, body.load("%y.qd", place, L), L)
                u = body.fma(body.load("%m.v", place, L), body.constant(c), body.load("%m.u", place, L))
                body.store("%m.now", place, u, L)
            self._expected(body, s)
            self.lines += body.lines
            self.lines += [self._accelerated("y.q", "y.qd", "m.now", s, f"k.{s}")]
        body = self._body()
        self._remembered(body)
        for j in range(n):
            place = j * L
            dq, dqd = self._sum(body, plan.b, "v", place), self._sum(body, plan.b, "k", place)
            assert dq is not None
            assert dqd is not None
            body.store("%m.q", place, body.fma("%hs", dq, body.load("%m.q", place, L)), L)
            qd = body.fma("%hs", dqd, body.load("%m.qd", place, L))
            if plan.dry[j]:
                qd = self._stopped(body, j, qd)
            body.store("%m.qd", place, qd, L)
        self.lines += body.lines

    def _accelerated(self, q: str, qd: str, u: str, s: int, out: str) -> str:
        """A call for accelerations, which begins with the loads that stage s expects and leaves those that it finds."""
        name, loads = ("stage", f"ptr %f.{s}, ") if self.plan.loads else ("core", "")
        return f"  call void @{name}(ptr %{q}, ptr %{qd}, ptr %{u}, ptr %m.way, ptr %m.free, {loads}ptr %{out})"

    def _expected(self, body: Body, s: int) -> None:
        """The loads from which stage s begins: those at its time, or where a straight line through what is known leads."""
        L, m, c = self.target.lanes, self.plan.loads, self.plan.c
        same = [r for r in range(s) if c[r] == c[s]]
        other = [r for r in range(s) if c[r] != c[0]]
        for k in range(m):
            first = body.load("%f.0" if s else "%m.felt", k * L, L)
            if same:
                first = body.load(f"%f.{same[-1]}", k * L, L)
            elif other:
                change = body.op("fsub", body.load(f"%f.{other[-1]}", k * L, L), first)
                first = body.fma(change, body.constant((c[s] - c[0]) / (c[other[-1]] - c[0])), first)
            elif s:
                first = body.fma(body.load("%m.felt", (m + k) * L, L), body.constant(c[s] - c[0]), first)
            body.store(f"%f.{s}", k * L, first, L)

    def _remembered(self, body: Body) -> None:
        """The loads at the end of the step, and how they changed in it, as the next step's first stage and slope."""
        L, m, c = self.target.lanes, self.plan.loads, self.plan.c
        last = max(range(len(c)), key=lambda s: (c[s], s))
        for k in range(m):
            begin, end = body.load("%f.0", k * L, L), body.load(f"%f.{last}", k * L, L)
            body.store("%m.felt", k * L, end, L)
            if last:
                change = body.op("fmul", body.op("fsub", end, begin), body.constant(1.0 / (c[last] - c[0])))
                body.store("%m.felt", (m + k) * L, change, L)

    def _sum(self, body: Body, weights: Sequence[float], name: str, place: int) -> str | None:
        """The stages' rates, weighted."""
        total: str | None = None
        for s, w in enumerate(weights):
            if w != 0.0:
                value = body.load(f"%{name}.{s}", place, self.target.lanes)
                total = body.op("fmul", value, body.constant(w)) if total is None else body.fma(value, body.constant(w), total)
        return total

    def _stopped(self, body: Body, j: int, qd: str) -> str:
        """A joint whose velocity turned against its direction stands; one that had none takes that of its velocity."""
        t, place, zero = self.target, j * self.target.lanes, body.constant(0.0)
        way, free = body.load("%m.way", place, t.lanes), body.load("%m.free", place, t.lanes)
        against = body.emit(f"fcmp olt {t.vector} {body.op('fmul', way, qd)}, {zero}")
        body.store("%m.free", place, body.chosen(against, zero, free), t.lanes)
        new = body.chosen(body.emit(f"fcmp oeq {t.vector} {way}, {zero}"), body.sign(qd), way)
        body.store("%m.way", place, body.chosen(against, zero, new), t.lanes)
        return body.chosen(against, zero, qd)

    def _loosened(self) -> None:
        """Joints that stand and are driven harder than either direction of motion would need begin to move."""
        t, n, L, dry = self.target, self.n, self.target.lanes, self.plan.dry
        body = self._body()
        standing = None
        for j in range(n):
            if dry[j]:
                mask = body.emit(f"fcmp oeq {t.vector} {body.load('%m.free', j * L, L)}, {body.constant(0.0)}")
                standing = mask if standing is None else body.emit(f"or <{L} x i1> {standing}, {mask}")
        bits = body.emit(f"bitcast <{L} x i1> {standing} to i{L}")
        body.lines += [f"  %any = icmp ne i{L} {bits}, 0", "  br i1 %any, label %hold, label %moving", "hold:"]
        self._expected(body, 0)
        body.lines += [self._accelerated("m.q", "m.qd", "m.u", 0, "m.x")]
        for name, value in (("plus", 1.0), ("minus", -1.0)):
            for j in range(n):
                way, free = body.load("%m.way", j * L, L), body.load("%m.free", j * L, L)
                stands = body.emit(f"fcmp oeq {t.vector} {free}, {body.constant(0.0)}")
                body.store("%trial", j * L, body.chosen(stands, body.constant(value), way) if dry[j] else way, L)
            body.lines += [f"  call void @require(ptr %m.q, ptr %m.qd, ptr %m.x, ptr %trial, ptr %m.free, ptr %{name})"]
        drives = self._torques(body)
        for j in range(n):
            if dry[j]:
                way, free = body.load("%m.way", j * L, L), body.load("%m.free", j * L, L)
                stands = body.emit(f"fcmp oeq {t.vector} {free}, {body.constant(0.0)}")
                up = body.emit(f"fcmp ogt {t.vector} {drives[j]}, {body.load('%plus', j * L, L)}")
                down = body.emit(f"fcmp olt {t.vector} {drives[j]}, {body.load('%minus', j * L, L)}")
                goes = body.emit(f"and <{L} x i1> {stands}, {body.emit(f'or <{L} x i1> {up}, {down}')}")
                towards = body.chosen(up, body.constant(1.0), body.constant(-1.0))
                body.store("%m.way", j * L, body.chosen(goes, towards, way), L)
                body.store("%m.free", j * L, body.chosen(goes, body.constant(1.0), free), L)
        self.lines += [*body.lines, "  br label %moving", "moving:"]

    def _torques(self, body: Body) -> list[str]:
        """What the motors give now."""
        tracing = Tracing(self.plan.arm, {})
        u = _inputs(tracing, "u")
        tau = torques(tracing, self.plan, u)
        values = {e.node: body.load("%m.u", j * self.target.lanes, self.target.lanes) for j, e in enumerate(u)}
        values |= {e.node: body.load("%m.qd", j * self.target.lanes, self.target.lanes) for j, e in enumerate(tracing.qd)}
        compute(body, tracing.graph, tau, values)
        return [result(body, e, values) for e in tau]
