"""The gradient of a rollout as LLVM IR: from the last step to the first, recompute each step's stages from
stored states, then propagate backwards through the stages by the traced reverse mode of the accelerations.

With stages Q_s = q + h sum a_sr V_r, V_s = qd + h sum a_sr A_r, A_s = f(Q_s, V_s, u) and weights x, y on q
and qd at the end of a step, from the last stage to the first:

    A_s' = h (b_s y + sum a_rs V_r'), Q_s' = A_s'^T f_q, V_s' = h (b_s x + sum a_rs Q_r') + A_s'^T f_qd

where r are later stages; the sum of Q_s' is added to x, that of V_s' to y, and u receives the sum of A_s'^T
f_u.
"""

from __future__ import annotations

from collections.abc import Sequence

from forearm.codegen.differentiated import GRADIENT, PARAMETERS
from forearm.kernels.batch_rollout_ir import RolloutProgram, RolloutRows, farthest, rows_kernel_text
from forearm.kernels.ir import compute, leaves_of, module_text, result, unknown_of
from forearm.kernels.llvm import IRFunction, Value
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT
from forearm.kernels.vectors import Body, Target

# Arguments of the function, in this order. States are recorded every `every` steps, `records` per row;
# `scratch` has room for the states between two records of each row, and for the controller's outputs. Weights
# are for the final state, or for every record if by_record is 1; gradients out_u of inputs, or of a
# controller's reference, are summed over steps, or given per step if by_step is 1.
ARRAYS = (
    *("states_q", "states_qd", "u", "parameters", "weights_q", "weights_qd", "scratch"),
    *("out_q0", "out_qd0", "out_u", "out_parameters"),
)
COUNTS = ("count", "steps", "every", "records")
STRIDES = ("u_row", "u_step", "p_row", "by_record", "by_step")
OF_CONTROLLER = ("period", "r_row", "r_step")  # these come last, with an additional array `reference`


def gradient_arguments(program: RolloutProgram, target: Target) -> dict[str, str]:
    """The arguments of the function, by name, with their types; `h` is the step size, s."""
    arrays, numbers = [*ARRAYS], [*COUNTS, *STRIDES]
    if program.law is not None:
        arrays.append("reference")
        numbers += OF_CONTROLLER
    return dict.fromkeys(arrays, "ptr") | dict.fromkeys(numbers, "i64") | {"h": target.scalar}


def rollout_gradient_text(program: RolloutProgram, target: Target) -> str:
    """The module for a CPU: `void rollout_gradient(...)` with `gradient_arguments`."""
    f = IRFunction(ROLLOUT_GRADIENT, gradient_arguments(program, target))
    given = dict(zip(gradient_arguments(program, target), f.arguments, strict=True))
    rows = GradientRows(program, Body(target, f=f), given)
    with f.loop(0, given["count"], target.lanes) as at:
        rows.write(at)
    f.ret()
    return module_text([f.text()], target)


def gradient_kernel_text(name: str, program: RolloutProgram, target: Target, threads: int) -> str:
    """The same function as a GPU kernel, one thread per row in blocks of this many threads; the number of
    rows is its last argument.
    """
    return rows_kernel_text(
        name,
        gradient_arguments(program, target),
        threads,
        lambda f, given, at: GradientRows(program, Body(target, f=f), given).write(at),
    )


def scratch_size(program: RolloutProgram) -> int:
    """Numbers stored per step while steps are recomputed."""
    return (2 if program.law is None else 3) * program.step.n


class GradientRows:
    """Code for as many rows as the target has lanes; for arms without joints that friction can hold."""

    def __init__(self, program: RolloutProgram, body: Body, given: dict[str, Value]) -> None:
        self.program, self.step, self.body, self.given = program, program.step, body, given
        self.f, self.n, self.lanes = body.f, program.step.n, body.target.lanes
        self.open = len(program.parameters)
        self.kept = scratch_size(program)
        self.width = self.n if program.law is None else program.reference
        self.rows = RolloutRows(program, body, given, max(self.kept, self.open, self.width))
        body.space("%lanes.stages", len(self.step.method.c) * 2 * self.n * self.lanes)
        if self.open:
            body.space("%lanes.parameters", self.open * self.lanes)

    def write(self, at: Value) -> None:
        """Emit the complete code."""
        f, body, rows, given, n = self.f, self.body, self.rows, self.given, self.n
        known = rows.begin(at)
        reverse = self.step.reversed_accelerations
        self.known = rows.offline(reverse.graph, reverse.results)
        if self.open:
            body.keep("%lanes.parameters", [body.constant(0.0)] * self.open)
        more = 0 if self.program.law is None else self.width  # q, qd, u and a controller's reference
        none = [body.constant(0.0)] * (3 * n + more)
        with f.unless(given["by_record"].differs(0)) as begun:
            last = self._weights(None)
        start = [f.phi(begun, x, y) for x, y in zip(none, last, strict=False)]
        unknown = [unknown_of(body, list(start), known)]  # NaN where any number was not finite
        with f.repeat(given["records"] - 1, *start, *none[2 * n :], *unknown) as turn:
            r, *carried = turn.now
            carried = self._segment(r, carried)
            with f.when(given["by_record"].differs(0)) as done:
                there = r * n
                added = [x + y for x, y in zip(carried, self._weights(there), strict=False)]
            both = zip(carried, added, strict=False)
            weighed = [f.phi(done, x, y) for x, y in both]
            carried = [*weighed, *carried[2 * n :]]
            turn.again(r - 1, *carried, where=r > 0)
        whole, final = f.op("add", 0, n), unknown_of(body, list(carried[: 2 * n]), carried[-1])
        made = [x + final for x in carried[:-1]]
        rows.scattered("out_q0", made[:n], whole)
        rows.scattered("out_qd0", made[n : 2 * n], whole)
        if self.width:
            with f.unless(given["by_step"].differs(0)):
                rows.scattered("out_u", made[-self.width :], f.op("add", 0, self.width))
        if self.open:
            sums = [x + final for x in body.vectors("%lanes.parameters", self.open)]
            rows.scattered("out_parameters", sums, f.op("add", 0, self.open))

    def _weights(self, moved: Value | None) -> list[Value]:
        """The weights of q and qd: for the final state, or for the record at this offset from the first."""
        f, rows, n = self.f, self.rows, self.n
        row = (self.given["records"] * n) if moved is not None else f.op("add", 0, n)
        return [x for name in ("weights_q", "weights_qd") for x in rows.gathered(name, n, row, moved)]

    def _segment(self, r: Value, carried: Sequence[Value]) -> list[Value]:
        """Propagate weights and gradients backwards over the steps between two records."""
        f, rows, given, n = self.f, self.rows, self.given, self.n
        first = r * given["every"]
        left = given["steps"] - first
        count = f.chosen(left < given["every"], left, given["every"])
        with f.when(count > 0) as end:
            row, there = given["records"] * n, r * n
            state = [x for name in ("states_q", "states_qd") for x in rows.gathered(name, n, row, there)]
            none = [self.body.constant(0.0)] * (self.kept - 2 * n)
            with f.repeat(0, *[*state, *none]) as turn:
                i, *kept = turn.now
                now, answer = kept[: 2 * n], kept[2 * n :]
                k = first + i
                if answer:
                    answer = rows.answered(k, answer, now)
                self._keep(i, [*now, *answer])
                after = i + 1
                more = after < count
                with f.when(more) as done:
                    made = self._stepped(now, answer or self._inputs(k))
                now = [f.phi(done, x, y) for x, y in zip(now, made, strict=True)]
                turn.again(after, *now, *answer, where=more)
            with f.repeat(count - 1, *carried) as turn:
                i, *later = turn.now
                k = first + i
                earlier = self._reversed(i, k, later)
                turn.again(i - 1, *earlier, where=i > 0)
        return [f.phi(end, x, y) for x, y in zip(carried, earlier, strict=True)]

    def _keep(self, i: Value | int, state: Sequence[Value]) -> None:
        """Store a state, and the controller's output, in the scratch memory."""
        f, size = self.f, self.kept
        row = self.given["every"] * size
        self.rows.scattered("scratch", state, row, f.op("add", 0, i) * size)

    def _inputs(self, k: Value) -> list[Value]:
        moved = k * self.given["u_step"]
        return self.rows.gathered("u", self.n, self.given["u_row"], moved)

    def _named(self, state: Sequence[Value]) -> dict[str, Sequence[Value]]:
        body, n = self.body, self.n
        still = {"friction_sign": [body.constant(0.0)] * n, "is_free": [body.constant(1.0)] * n}
        return {"q": state[:n], "qd": state[n:], **still}

    def _stepped(self, state: Sequence[Value], u: Sequence[Value]) -> list[Value]:
        rates = self.rows.stages(self._named(state), u)
        return [self.body.fma(self.rows.h, x, y) for x, y in zip(rates, state, strict=True)]

    def _reversed(self, i: Value, k: Value, carried: Sequence[Value]) -> list[Value]:
        """One step in reverse: recompute its stages, then go through them from the last to the first."""
        f, body, rows, n, method = self.f, self.body, self.rows, self.n, self.step.method
        size, stages, far = 2 * n, len(method.c), farthest(method.a)
        row = self.given["every"] * self.kept
        kept = rows.gathered("scratch", self.kept, row, i * self.kept)
        state, u = kept[:size], kept[size:] or self._inputs(k)
        rows.stages(self._named(state), u, keep="%lanes.stages")
        later, unknown = list(carried[:size]), unknown_of(body, [*state, *u], carried[-1])
        none = [body.constant(0.0)] * size
        # of later stages, their sums, and the gradient of u
        begin = [*none * far, *none, *none[:n]]
        with f.repeat(stages - 1, *begin) as turn:
            s, *rest = turn.now
            before = [rest[d * size :][:size] for d in range(far)]
            sums, driven = rest[far * size :][:size], rest[(far + 1) * size :]
            wanted = self._wanted(s, later, before)
            slopes = self._slopes(s, u, wanted[n:])
            rate = [x + y for x, y in zip(wanted[:n], slopes["qd"], strict=True)]
            own = [*slopes["q"], *rate]
            moved = [*own, *(x for some in before[:-1] for x in some)]
            sums = [x + y for x, y in zip(sums, own, strict=True)]
            driven = [x + y for x, y in zip(driven, slopes["u"], strict=True)]
            made = [*moved, *sums, *driven]
            turn.again(s - 1, *made, where=s > 0)
        both = zip(carried, [*sums, *driven], strict=False)
        made = [x + y for x, y in both]
        if self.program.law is None:
            self._leave(k, driven)
        else:
            made = self._through_law(k, state, [*made, *carried[3 * n : -1]])
        return [*made, *[unknown]]

    def _leave(self, k: Value, slopes: Sequence[Value]) -> None:
        """Store the gradient of what drove a step, if it is requested per step."""
        f, size = self.f, len(slopes)
        with f.when(self.given["by_step"].differs(0)):
            row = self.given["steps"] * size
            self.rows.scattered("out_u", slopes, row, k * size)

    def _through_law(self, k: Value, state: Sequence[Value], carried: Sequence[Value]) -> list[Value]:
        """At steps where the controller is updated,
        convert the weights of its output into those of the state and of its reference.
        """
        f, body, rows, n, law = self.f, self.body, self.rows, self.n, self.program.reversed_law
        with f.when(rows.is_asked(k)) as end, f.inside():
            read = rows.read(k, state) | {"u_weight": carried[2 * n : 3 * n]}
            slopes = rows.computed(law, read)
            added = [slopes[f"{name}_{GRADIENT}"] for name in ("q", "qd")]
            both = zip(carried, [x for some in added for x in some], strict=False)
            by_state = [x + y for x, y in both]
            by_reference = slopes.get(f"reference_{GRADIENT}", [])
            sums = [x + y for x, y in zip(carried[3 * n :], by_reference, strict=True)]
            if by_reference:
                self._leave(k, by_reference)
            answered = [*by_state, *[body.constant(0.0)] * n, *sums]
        return [f.phi(end, x, y) for x, y in zip(carried, answered, strict=True)]

    def _wanted(self, s: Value, later: Sequence[Value], before: Sequence[Sequence[Value]]) -> list[Value]:
        """h (b_s x + sum a_rs Q_r') and h (b_s y + sum a_rs V_r'), `before` being Q', V' of later stages."""
        body, rows, method = self.body, self.rows, self.step.method
        stages = len(method.c)
        weight = body.spread(rows.by_stage(s, method.b))
        total = [weight * x for x in later]
        for d, some in enumerate(before, start=1):
            column = [method.a[r + d][r] if r + d < stages else 0.0 for r in range(stages)]
            weight = body.spread(rows.by_stage(s, column))
            total = [body.fma(weight, x, y) for x, y in zip(some, total, strict=True)]
        return [rows.h * x for x in total]

    def _slopes(self, s: Value, u: Sequence[Value], weights: Sequence[Value]) -> dict[str, list[Value]]:
        """g^T J of the accelerations at a stage; that of open parameters is accumulated in memory."""
        f, body, n = self.f, self.body, self.n
        traced = self.step.reversed_accelerations
        there = f.at("%lanes.stages", s, body.target.scalar, 2 * n * self.lanes)
        state = body.vectors(there, 2 * n)
        named = {"q": state[:n], "qd": state[n:], "u": u, "qdd_weight": weights}
        values = dict(self.known)
        for name, some in named.items():
            values |= zip(leaves_of(traced.graph, [f"{name}[{j}]" for j in range(n)]), some, strict=True)
        compute(body, traced.graph, traced.results, values)
        made = {
            name.removesuffix(f"_{GRADIENT}"): [result(body, e, values) for e in some]
            for name, some in traced.results.items()
        }
        if self.open:
            sums = body.vectors("%lanes.parameters", self.open)
            added = [x + y for x, y in zip(sums, made.pop(PARAMETERS), strict=True)]
            body.keep("%lanes.parameters", added)
        return made
