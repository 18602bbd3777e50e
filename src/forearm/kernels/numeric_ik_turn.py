"""What happens to one lane of numeric inverse kinematics between runs, as LLVM's text, in scalars.

A run that is over leaves its posture in the pose's row if it is the nearest yet. Then the lane goes on with
the pose's next start, after the last of them once more from the nearest, or with the next pose, or rests.
"""

from __future__ import annotations

from forearm.kernels.vectors import Body, Target

# What a call is told, 8 bytes each, in this order; `square` is that of the tolerance,
# `most` the steps of a run, both doubles.
ORDER = (
    "T",
    "first",
    "bounds",
    "table",
    "out",
    "count",
    "stride",
    "starts",
    "given",
    "next",
    "square",
    "most",
)
# What a lane keeps besides x, dq and the pose; the last two are whole numbers.
KEPT = (
    "cost",
    "position",
    "rotation",
    "share",
    "damping",
    "slow",
    "patience",
    "steps",
    "most",
    "pose",
    "tries",
)
BLOCK = 64  # postures of the table that a start is chosen from: the one nearest to the pose
COLUMNS = 13  # of a block before its postures: how to weigh the 12 entries of a pose, and what to add
WIDTH = 8  # postures compared at once, on every machine
FIGURES = 4  # behind q in a row of the result: position and rotation squared, steps, starts

HUGE = 1e300
DAMPING = 0.1  # times the squared error; the first step makes it less already
BEGINNING = {
    "cost": HUGE,
    "position": HUGE,
    "rotation": 0.0,
    "share": 1.0,
    "damping": DAMPING,
    "slow": 0.0,
    "steps": 0.0,
}
PATIENCE = 8.0  # slow steps one after the other that end a run, but for the last one
LAST = 4.0  # times the steps of a run: what the last one, which goes on from the nearest, may take


def place_of(n: int, lanes: int, name: str) -> int:
    """Where what the lanes keep under a name begins, behind x, dq and the pose: a scalar a lane."""
    return (2 * n + 12 + KEPT.index(name)) * lanes


def told(name: str, kind: str) -> list[str]:
    """Lines that read an entry of the order."""
    at = f"  %order.{name} = getelementptr i64, ptr %order, i64 {ORDER.index(name)}"
    return [at, f"  %{name} = load {kind}, ptr %order.{name}"]


def turn_text(n: int, lanes: int) -> str:
    """`void turn(m, order, lane)`: what was found is kept, and the lane's next run
    begins, if there is one.
    """
    text = _Turn(n, lanes)
    lines = ["define internal void @turn(ptr %m, ptr %order, i64 %lane) nounwind noinline {", "entry:"]
    for name in ("T", "first", "table", "out"):
        lines += told(name, "ptr")
    for name in ("count", "stride", "starts", "given", "next"):
        lines += told(name, "i64")
    lines += [*told("square", "double"), *told("most", "double")]
    return "\n".join([*lines, *text.over(), *text.next_pose(), *text.starts(), *text.begun(), "}"])


class _Turn:
    """The parts of the text, which share the names of the lane's places."""

    def __init__(self, n: int, lanes: int) -> None:
        self.n, self.lanes, self.count = n, lanes, 0

    def over(self) -> list[str]:
        """A run's end, if the lane had one."""
        n = self.n
        return [
            *self.get("pose", "i64", "pose"), "  %resting = icmp slt i64 %pose, 0",
            "  br i1 %resting, label %fresh, label %over",
            "over:", f"  %row.at = mul i64 %pose, {n + FIGURES}",
            "  %row = getelementptr double, ptr %out, i64 %row.at",
            *self.get("position", "double", "p"), *self.get("rotation", "double", "r"),
            *self.get("steps", "double", "steps"),
            *self.get("tries", "i64", "tries"),
            *(f"  %row.{k} = getelementptr double, ptr %row, i64 {n + k}" for k in range(FIGURES)),
            "  %before.p = load double, ptr %row.0", "  %before.r = load double, ptr %row.1",
            "  %before = fadd double %before.p, %before.r", "  %cost = fadd double %p, %r",
            "  %solved.p = fcmp ole double %p, %square", "  %solved.r = fcmp ole double %r, %square",
            "  %solved = and i1 %solved.p, %solved.r", "  %less = fcmp olt double %cost, %before",
            "  %better = or i1 %solved, %less", "  br i1 %better, label %keep, label %kept",
            "keep:", *self.copy("%row", 1, "%m.x", self.lanes),
            "  store double %p, ptr %row.0", "  store double %r, ptr %row.1", "  br label %kept",
            "kept:", "  %steps.before = load double, ptr %row.2",
            "  %steps.sum = fadd double %steps.before, %steps",
            "  store double %steps.sum, ptr %row.2", "  %tries.next = add i64 %tries, 1",
            *self.put("tries", "i64", "%tries.next"), "  %more = icmp slt i64 %tries.next, %starts",
            "  %last = icmp eq i64 %tries.next, %starts",
            "  %counted = select i1 %more, i64 %tries.next, i64 %starts",
            "  %counted.double = sitofp i64 %counted to double", "  store double %counted.double, ptr %row.3",
            "  br i1 %solved, label %fresh, label %unsolved",
            "unsolved:", "  br i1 %more, label %pick, label %ended",
            "ended:", "  br i1 %last, label %again, label %fresh",
            "again:", *self.copy("%m.x", self.lanes, "%row", 1), *self.put("patience", "double", HUGE),
            f"  %most.last = fmul double %most, {LAST:e}", *self.put("most", "double", "%most.last"),
            "  br label %begin",
        ]  # fmt: skip

    def next_pose(self) -> list[str]:
        """The next pose, or none."""
        n = self.n
        return [
            "fresh:", "  %left = icmp slt i64 %next, %count", "  br i1 %left, label %new, label %rest",
            "rest:", *self.put("pose", "i64", -1), "  ret void",
            "new:", "  %next.next = add i64 %next, 1", "  store i64 %next.next, ptr %order.next",
            *self.put("pose", "i64", "%next"), *self.put("tries", "i64", 0),
            f"  %new.at = mul i64 %next, {n + FIGURES}", f"  %new.place = add i64 %new.at, {n}",
            "  %new.row = getelementptr double, ptr %out, i64 %new.place",
            *(f"  %new.{k} = getelementptr double, ptr %new.row, i64 {k}" for k in range(FIGURES)),
            *(f"  store double {HUGE if k == 0 else 0.0:e}, ptr %new.{k}" for k in range(FIGURES)),
            "  %pose.at = mul i64 %next, 12", "  %pose.row = getelementptr double, ptr %T, i64 %pose.at",
            *self.copy("%m.t", self.lanes, "%pose.row", 1, 12),
            "  %own = icmp ne i64 %given, 0", "  br i1 %own, label %given.start, label %pick",
        ]  # fmt: skip

    def starts(self) -> list[str]:
        """A start that was given, or the nearest of the table's next block."""
        n = self.n
        return [
            "given.start:", "  %first.at = mul i64 %next, %stride",
            "  %first.row = getelementptr double, ptr %first, i64 %first.at",
            *self.copy("%m.x", self.lanes, "%first.row", 1), "  br label %chosen",
            "pick:", "  %which = phi i64 [ %pose, %unsolved ], [ %next, %new ]",
            "  %try = phi i64 [ %tries.next, %unsolved ], [ 0, %new ]",
            "  %block.index = sub i64 %try, %given",
            f"  %block.at = mul i64 %block.index, {BLOCK * (COLUMNS + n)}",
            "  %block = getelementptr double, ptr %table, i64 %block.at",
            "  %which.at = mul i64 %which, 12", "  %which.row = getelementptr double, ptr %T, i64 %which.at",
            "  %found = call i64 @nearest(ptr %which.row, ptr %block)", f"  %found.at = mul i64 %found, {n}",
            f"  %found.place = add i64 %found.at, {BLOCK * COLUMNS}",
            "  %found.row = getelementptr double, ptr %block, i64 %found.place",
            *self.copy("%m.x", self.lanes, "%found.row", 1), "  br label %chosen",
            "chosen:", *self.put("patience", "double", PATIENCE), *self.put("most", "double", "%most"),
            "  br label %begin",
        ]  # fmt: skip

    def begun(self) -> list[str]:
        """A run's beginning: no step yet, and anything is better than what there is."""
        lines = ["begin:"]
        for j in range(self.n):
            lines += [
                *self._entry("%m.x", (self.n + j) * self.lanes, f"%d{j}"),
                f"  store double 0.0, ptr %d{j}",
            ]
        for name, value in BEGINNING.items():
            lines += self.put(name, "double", value)
        return [*lines, "  ret void"]

    def get(self, name: str, kind: str, made: str) -> list[str]:
        """What the lane keeps under a name."""
        at = self._at(name)
        return [*at, f"  %{made} = load {kind}, ptr %k{self.count}"]

    def put(self, name: str, kind: str, value: str | float) -> list[str]:
        """The same, set."""
        at = self._at(name)
        text = value if isinstance(value, str) else f"{value:e}" if kind == "double" else str(value)
        return [*at, f"  store {kind} {text}, ptr %k{self.count}"]

    def _at(self, name: str) -> list[str]:
        self.count += 1
        place = place_of(self.n, self.lanes, name)
        return [
            f"  %b{self.count} = getelementptr double, ptr %m, i64 {place}",
            f"  %k{self.count} = getelementptr double, ptr %b{self.count}, i64 %lane",
        ]

    def copy(
        self, to: str, to_step: int, source: str, source_step: int, size: int | None = None
    ) -> list[str]:
        """So many doubles (n unless said) from one place to another; %m.x and %m.t are the lane's own."""
        lines = []
        for k in range(self.n if size is None else size):
            self.count += 1
            lines += self._entry(source, k * source_step, f"%from{self.count}")
            lines += self._entry(to, k * to_step, f"%to{self.count}")
            lines += [
                f"  %c{self.count} = load double, ptr %from{self.count}",
                f"  store double %c{self.count}, ptr %to{self.count}",
            ]
        return lines

    def _entry(self, base: str, at: int, made: str) -> list[str]:
        if base not in ("%m.x", "%m.t"):
            return [f"  {made} = getelementptr double, ptr {base}, i64 {at}"]
        place = at + (2 * self.n * self.lanes if base == "%m.t" else 0)
        return [
            f"  {made}.all = getelementptr double, ptr %m, i64 {place}",
            f"  {made} = getelementptr double, ptr {made}.all, i64 %lane",
        ]


def nearest_text(target: Target) -> str:
    """`i64 nearest(t, block)`: the posture whose columns give the most with the 12 entries of a
    pose; the first of equals.
    """
    body = Body(Target(target.scalar, WIDTH, target.fused))
    entries = [body.splat("%t", k) for k in range(12)]
    numbers = [[start + k for k in range(WIDTH)] for start in range(0, BLOCK, WIDTH)]
    best = where = ""
    for start, these in zip(range(0, BLOCK, WIDTH), numbers, strict=True):
        score = body.load("%block", 12 * BLOCK + start, WIDTH)
        for k, entry in enumerate(entries):
            score = body.fma(body.load("%block", k * BLOCK + start, WIDTH), entry, score)
        index = "<" + ", ".join(f"i64 {i}" for i in these) + ">"
        if not best:
            best, where = score, index
            continue
        more = body.compared("ogt", score, best)
        best = body.chosen(more, score, best)
        where = body.emit(
            f"select {body.target.mask} {more}, <{WIDTH} x i64> {index}, <{WIDTH} x i64> {where}"
        )
    top, at = (
        body.emit(f"extractelement <{WIDTH} x {kind}> {v}, i32 0")
        for kind, v in (("double", best), ("i64", where))
    )
    for k in range(1, WIDTH):
        one, its = (
            body.emit(f"extractelement <{WIDTH} x {kind}> {v}, i32 {k}")
            for kind, v in (("double", best), ("i64", where))
        )
        more = body.emit(f"fcmp ogt double {one}, {top}")
        top = body.emit(f"select i1 {more}, double {one}, double {top}")
        at = body.emit(f"select i1 {more}, i64 {its}, i64 {at}")
    head = "define internal i64 @nearest(ptr %t, ptr %block) nounwind noinline {"
    return "\n".join([head, "entry:", *body.lines, f"  ret i64 {at}", "}"])
