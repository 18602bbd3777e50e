"""The loop of a simulation in machine code: blocks of simulations, steps, the stages of a step,
joints that stick and slip.

A joint with dry friction moves in a direction until its velocity passes 0, where it stands; it begins to move
again when the motor gives more than motion in one direction, or the other, would need.
"""

from __future__ import annotations

from collections.abc import Sequence

from forearm.codegen.tracing import Tracing
from forearm.kernels.ir import compute, copy_text, result
from forearm.kernels.rollout_plan import RolloutPlan, inputs, torques
from forearm.kernels.transpose import load_columns, store_columns
from forearm.kernels.vectors import Body, Target

STATES = ("q", "qd", "way", "free", "felt")


class RolloutLoop:
    """The text of the loop over blocks and steps."""

    def __init__(self, plan: RolloutPlan, target: Target) -> None:
        self.plan, self.target, self.n = plan, target, plan.arm.n
        self.widths = {
            s: 2 * plan.loads if s == "felt" else plan.arm.n for s in STATES if s != "felt" or plan.loads
        }
        self.lines: list[str] = []
        self.bodies = 0
        self.h = self.slope = ""  # in every lane

    def text(self) -> str:
        """All of it."""
        t, L = self.target, self.target.lanes
        self._opening()
        for s, m in self.widths.items():
            self.lines += [f"  %at.{s} = mul i64 %at, {m}", f"  %some.{s} = mul i64 %some, {m}"]
            self.lines += [f"  %there.{s} = getelementptr {t.scalar}, ptr %{s}, i64 %at.{s}"]
            self.lines += [copy_text(f"%buffer.{s}", f"%there.{s}", f"%some.{s}", m * L)]
            body = self._body()
            body.keep(f"%m.{s}", load_columns(body, f"%buffer.{s}", m))
            self.lines += body.lines
        self._record("first", "0")
        self._steps()
        for s, m in self.widths.items():
            self._rows_to_buffer(s, m)
            self.lines += [copy_text(f"%there.{s}", f"%buffer.{s}", f"%some.{s}", f"%some.{s}")]
        self.lines += [
            "  br label %block.end",
            "block.end:",
            f"  %at.next = add i64 %at, {L}",
            "  br label %blocks",
            "}",
        ]
        return "\n".join(self.lines)

    def _opening(self) -> None:
        """The function's head, its memory, and the loop over blocks of lanes."""
        t, n, L, stages = self.target, self.n, self.target.lanes, range(len(self.plan.b))
        pointers, counts = [*STATES, "u", "out_q", "out_qd"], ["count", "steps", "every", "u_state", "u_step"]
        arguments = [*(f"ptr nocapture %{p}" for p in pointers), *(f"i64 %{k}" for k in counts)]
        arguments += [f"{t.scalar} %h", f"{t.scalar} %slope"]
        arrays = [
            "m.q",
            "m.qd",
            "m.way",
            "m.free",
            "m.u",
            "m.v",
            "m.x",
            "m.now",
            "y.q",
            "y.qd",
            "plus",
            "minus",
            "trial",
        ]
        sizes = dict.fromkeys([*arrays, *(f"{kind}.{s}" for kind in "kv" for s in stages)], n)
        sizes |= {f"buffer.{s}": m for s, m in self.widths.items()}
        if self.plan.loads:
            sizes |= {"m.felt": 2 * self.plan.loads} | {f"f.{s}": self.plan.loads for s in stages}
        body = self._body()
        for name, size in sizes.items():
            body.space(f"%{name}", size * L)
        self.h, self.slope = body.spread("%h"), body.spread("%slope")
        self.lines = [
            f"define void @rollout({', '.join(arguments)}) nounwind {{",
            "entry:",
            *body.spaces,
            *body.lines,
        ]
        self.lines += [
            "  %records = sdiv i64 %steps, %every",
            "  %rows = add i64 %records, 1",
            f"  %row.size = mul i64 %rows, {n}",
            "  br label %blocks",
            "blocks:",
            "  %at = phi i64 [ 0, %entry ], [ %at.next, %block.end ]",
            "  %left = sub i64 %count, %at",
            "  %none = icmp sle i64 %left, 0",
            "  br i1 %none, label %finish, label %block",
            "finish:",
            "  ret void",
            "block:",
            f"  %full = icmp sge i64 %left, {L}",
            f"  %some = select i1 %full, i64 {L}, i64 %left",
        ]

    def _steps(self) -> None:
        """The steps of a block, and their records."""
        self.lines += ["  br label %time.before", "time.before:", "  br label %time", "time:"]
        self.lines += [
            "  %k = phi i64 [ 0, %time.before ], [ %k.next, %time.end ]",
            "  %over = icmp sge i64 %k, %steps",
        ]
        self.lines += ["  br i1 %over, label %time.done, label %step", "step:"]
        self._driven()
        if any(self.plan.dry):
            self._loosened()
        self._stages()
        self.lines += [
            "  %k.next = add i64 %k, 1",
            "  %phase = srem i64 %k.next, %every",
            "  %due = icmp eq i64 %phase, 0",
        ]
        self.lines += [
            "  br i1 %due, label %record, label %time.end",
            "record:",
            "  %which = sdiv i64 %k.next, %every",
        ]
        self._record("each", "%which")
        self.lines += ["  br label %time.end", "time.end:", "  br label %time", "time.done:"]

    def _rows_to_buffer(self, state: str, width: int) -> None:
        body = self._body()
        store_columns(body, f"%buffer.{state}", body.vectors(f"%m.{state}", width))
        self.lines += body.lines

    def _body(self) -> Body:
        self.bodies += 1
        return Body(self.target, f"b{self.bodies}.")

    def _record(self, tag: str, which: str) -> None:
        """States into their rows, one lane after the other."""
        t, n = self.target, self.n
        self.lines += [f"  %rec.{tag} = mul i64 {which}, {n}"]
        for s in ("q", "qd"):
            self._rows_to_buffer(s, n)
            self.lines += [
                f"  br label %rec.{tag}.{s}.before",
                f"rec.{tag}.{s}.before:",
                f"  br label %rec.{tag}.{s}",
                f"rec.{tag}.{s}:",
                (
                    f"  %lane.{tag}.{s} = phi i64 [ 0, %rec.{tag}.{s}.before ], [ "
                    f"%lane.{tag}.{s}.next, %rec.{tag}.{s} ]"
                ),
                f"  %sim.{tag}.{s} = add i64 %at, %lane.{tag}.{s}",
                f"  %base.{tag}.{s} = mul i64 %sim.{tag}.{s}, %row.size",
                f"  %place.{tag}.{s} = add i64 %base.{tag}.{s}, %rec.{tag}",
                f"  %to.{tag}.{s} = getelementptr {t.scalar}, ptr %out_{s}, i64 %place.{tag}.{s}",
                f"  %off.{tag}.{s} = mul i64 %lane.{tag}.{s}, {n}",
                f"  %from.{tag}.{s} = getelementptr {t.scalar}, ptr %buffer.{s}, i64 %off.{tag}.{s}",
                copy_text(f"%to.{tag}.{s}", f"%from.{tag}.{s}", str(n), n),
                f"  %lane.{tag}.{s}.next = add i64 %lane.{tag}.{s}, 1",
                f"  %more.{tag}.{s} = icmp slt i64 %lane.{tag}.{s}.next, %some",
                f"  br i1 %more.{tag}.{s}, label %rec.{tag}.{s}, label %rec.{tag}.{s}.done",
                f"rec.{tag}.{s}.done:",
            ]

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
            body.store("%m.v", j * L, body.op("fmul", body.op("fsub", then, now), self.slope), L)
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
                body.store("%y.q", place, q if dq is None else body.fma(self.h, dq, q), L)
                body.store("%y.qd", place, qd if dqd is None else body.fma(self.h, dqd, qd), L)
                body.store(f"%v.{s}", place, body.load("%y.qd", place, L), L)
                u = body.fma(body.load("%m.v", place, L), body.constant(c), body.load("%m.u", place, L))
                body.store("%m.now", place, u, L)
            self._expected(body, s)
            self.lines += body.lines
            self.lines += [self._accelerated("y.q", "y.qd", "m.now", s, f"k.{s}")]
        body = self._body()
        self._remembered(body)
        stopped = None
        for j in range(n):
            place = j * L
            dq, dqd = self._sum(body, plan.b, "v", place), self._sum(body, plan.b, "k", place)
            assert dq is not None
            assert dqd is not None
            q0, v0 = body.load("%m.q", place, L), body.load("%m.qd", place, L)
            q, qd = body.fma(self.h, dq, q0), body.fma(self.h, dqd, v0)
            if plan.dry[j]:
                against = self._stopped(body, j, qd)
                q = body.chosen(against, self._stopping_place(body, q0, v0, qd), q)
                stopped = against if stopped is None else body.masked("or", stopped, against)
            body.store("%m.q", place, q, L)
            body.store("%m.qd", place, qd, L)
        self.lines += body.lines
        if stopped is not None:
            self._settled(stopped)

    def _accelerated(self, q: str, qd: str, u: str, s: int, out: str) -> str:
        """A call for accelerations, which begins with the loads that stage s expects and
        leaves those that it finds.
        """
        name, loads = ("stage", f"ptr %f.{s}, ") if self.plan.loads else ("core", "")
        return (
            f"  call void @{name}(ptr %{q}, ptr %{qd}, ptr %{u}, ptr %m.way, ptr %m.free, {loads}ptr %{out})"
        )

    def _expected(self, body: Body, s: int) -> None:
        """The loads from which stage s begins: those at its time, or where a straight line
        through what is known leads.
        """
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
        """The loads at the end of the step, and how they changed in it, as the next step's
        first stage and slope.
        """
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
                total = (
                    body.op("fmul", value, body.constant(w))
                    if total is None
                    else body.fma(value, body.constant(w), total)
                )
        return total

    def _stopped(self, body: Body, j: int, qd: str) -> str:
        """The lanes where a joint's velocity turned against its direction: it stands.
        One that had none takes that of it.
        """
        t, place, zero = self.target, j * self.target.lanes, body.constant(0.0)
        way, free = body.load("%m.way", place, t.lanes), body.load("%m.free", place, t.lanes)
        against = body.compared("olt", body.op("fmul", way, qd), zero)
        body.store("%m.free", place, body.chosen(against, zero, free), t.lanes)
        new = body.chosen(body.compared("oeq", way, zero), body.sign(qd), way)
        body.store("%m.way", place, body.chosen(against, zero, new), t.lanes)
        return against

    def _stopping_place(self, body: Body, q0: str, v0: str, v1: str) -> str:
        """Where a velocity that goes straight from v0 to v1, beyond 0, is 0: q0 + h v0^2 / 2 (v0 - v1)."""
        share = body.op("fdiv", body.op("fmul", v0, body.constant(0.5)), body.op("fsub", v0, v1))
        return body.fma(body.op("fmul", self.h, v0), share, q0)

    def _settled(self, stopped: str) -> None:
        """In the lanes where a joint came to stand, velocities without the part of the step in
        which friction reversed it.

        Others felt its acceleration all the step. What brings it to rest again is an impulse at its own
        joint, as friction is. A joint that this turns against its direction stands too.
        """
        t, L = self.target, self.target.lanes
        body = self._body()
        bits = body.emit(f"bitcast {t.mask} {stopped} to i{L}")
        body.lines += [
            f"  %stops = icmp ne i{L} {bits}, 0",
            "  br i1 %stops, label %settle, label %settled",
            "settle:",
        ]
        body.lines += [
            "  call void @rest(ptr %m.q, ptr %m.qd, ptr %m.u, ptr %m.way, ptr %m.free, ptr %trial)"
        ]
        zero = body.constant(0.0)
        for j in range(self.n):
            qd = body.chosen(stopped, body.load("%trial", j * L, L), body.load("%m.qd", j * L, L))
            if self.plan.dry[j]:
                qd = body.chosen(body.compared("oeq", body.load("%m.free", j * L, L), zero), zero, qd)
                qd = body.chosen(self._stopped(body, j, qd), zero, qd)
            body.store("%m.qd", j * L, qd, L)
        self.lines += [*body.lines, "  br label %settled", "settled:"]

    def _loosened(self) -> None:
        """Joints that stand and are driven harder than either direction of motion
        would need begin to move.
        """
        t, n, L, dry = self.target, self.n, self.target.lanes, self.plan.dry
        body = self._body()
        standing = None
        for j in range(n):
            if dry[j]:
                mask = body.compared("oeq", body.load("%m.free", j * L, L), body.constant(0.0))
                standing = mask if standing is None else body.masked("or", standing, mask)
        bits = body.emit(f"bitcast {t.mask} {standing} to i{L}")
        body.lines += [
            f"  %any = icmp ne i{L} {bits}, 0",
            "  br i1 %any, label %hold, label %moving",
            "hold:",
        ]
        self._expected(body, 0)
        body.lines += [self._accelerated("m.q", "m.qd", "m.u", 0, "m.x")]
        for name, value in (("plus", 1.0), ("minus", -1.0)):
            for j in range(n):
                way, free = body.load("%m.way", j * L, L), body.load("%m.free", j * L, L)
                stands = body.compared("oeq", free, body.constant(0.0))
                body.store(
                    "%trial", j * L, body.chosen(stands, body.constant(value), way) if dry[j] else way, L
                )
            body.lines += [
                f"  call void @require(ptr %m.q, ptr %m.qd, ptr %m.x, ptr %trial, ptr %m.free, ptr %{name})"
            ]
        drives = self._torques(body)
        for j in range(n):
            if dry[j]:
                way, free = body.load("%m.way", j * L, L), body.load("%m.free", j * L, L)
                stands = body.compared("oeq", free, body.constant(0.0))
                up = body.compared("ogt", drives[j], body.load("%plus", j * L, L))
                down = body.compared("olt", drives[j], body.load("%minus", j * L, L))
                goes = body.masked("and", stands, body.masked("or", up, down))
                towards = body.chosen(up, body.constant(1.0), body.constant(-1.0))
                body.store("%m.way", j * L, body.chosen(goes, towards, way), L)
                body.store("%m.free", j * L, body.chosen(goes, body.constant(1.0), free), L)
        self.lines += [*body.lines, "  br label %moving", "moving:"]

    def _torques(self, body: Body) -> list[str]:
        """What the motors give now."""
        tracing = Tracing(self.plan.arm, {})
        u = inputs(tracing, "u")
        tau = torques(tracing, self.plan, u)
        values = {
            e.node: body.load("%m.u", j * self.target.lanes, self.target.lanes) for j, e in enumerate(u)
        }
        values |= {
            e.node: body.load("%m.qd", j * self.target.lanes, self.target.lanes)
            for j, e in enumerate(tracing.qd)
        }
        compute(body, tracing.graph, tau, values)
        return [result(body, e, values) for e in tau]
