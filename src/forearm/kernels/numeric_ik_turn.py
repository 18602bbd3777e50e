"""Management of one lane of numeric inverse kinematics between runs, as LLVM IR, in scalar code.

A run that ends stores its configuration in the pose's row if it is the best so far. Then the lane continues
with the pose's next start, after the last of them with one more run from the best, or with the next pose, or
idles.
"""

from __future__ import annotations

from forearm.kernels.llvm import IRFunction, Operand, Value, vector
from forearm.kernels.vectors import Body, Target
from forearm.kinematics.newton import DAMPING, HUGE, PATIENCE

# Arguments of a call, 8 bytes each, in this order; `square` is the squared tolerance, `most` the maximum
# number of steps of a run, both doubles.
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
# Numbers passed before the bounds and the table, in this order.
SETTINGS = ("stride", "starts", "given", "square", "most")
# Per-lane values besides x, dq and the pose; the last two are integers.
KEPT = ("position", "rotation", "share", "damping", "slow", "patience", "steps", "most", "pose", "tries")
BLOCK = 64  # configurations of the table among which a start is chosen: the one nearest to the pose
COLUMNS = 13  # of a block before its configurations: the weights of the 12 entries of a pose, and an offset
WIDTH = 8  # configurations compared at once, on every machine
FIGURES = 4  # after q in a row of the result: position and rotation error squared, steps, starts
POSE = 16  # entries of a pose by rows, of which the first 12 are read

# Initial values of a run.
BEGINNING = {"position": HUGE, "rotation": 0.0, "share": 1.0, "damping": DAMPING, "slow": 0.0, "steps": 0.0}
# times the steps of a run: the maximum for the last run, which continues from the best configuration
LAST = 4.0


def place_of(n: int, lanes: int, name: str) -> int:
    """Offset of a per-lane value by name, after x, dq and the pose: one scalar per lane."""
    return (2 * n + 12 + KEPT.index(name)) * lanes


def order_place(f: IRFunction, name: str) -> Value:
    """Offset of an entry of the order."""
    return f.at("%order", ORDER.index(name), "i64")


class LaneTurn:
    """`void turn(m, order, lane)`: store the result, and start the lane's next run, if there is one."""

    def __init__(self, n: int, lanes: int) -> None:
        self.n, self.lanes = n, lanes
        self.f = IRFunction("turn", "ptr m, ptr order, i64 lane", internal=True)
        self.m, _, self.lane = self.f.arguments
        pointers = dict.fromkeys(("T", "first", "table", "out"), "ptr")
        kinds = pointers | dict.fromkeys(("count", "stride", "starts", "given", "next"), "i64")
        kinds |= dict.fromkeys(("square", "most"), "double")
        self.told = {name: self.f.load(kind, order_place(self.f, name)) for name, kind in kinds.items()}

    def text(self) -> str:
        """End of a run, if the lane had one; then the pose's next start, the best configuration once more, or
        the next pose, if there is one; and the start of a run.
        """
        f, told = self.f, self.told
        pick, begin, chosen = f.label(), f.label(), f.label()
        pose = self.get("pose", "i64")
        with f.unless(pose < 0) as fresh:
            row = f.at(told["out"], pose, "double", self.n + FIGURES)
            solved, tries, more, last = self.over(row)
            f.go(fresh, where=solved)
            f.go(pick, where=more)
            f.go(fresh, unless=last)
            self.to_lane(0, row, self.n)  # once more, from the best so far
            self.put("patience", HUGE)
            self.put("most", told["most"] * LAST)
            f.go(begin)
        self.next_pose()
        f.go(pick, unless=told["given"].differs(0))
        self.to_lane(0, f.at(told["first"], told["next"] * told["stride"], "double"), self.n)
        f.go(chosen)
        f.begin(pick)
        self.picked(f.phi(pick, pose, told["next"]), f.phi(pick, tries, 0))
        f.begin(chosen)
        self.put("patience", PATIENCE)
        self.put("most", told["most"])
        f.begin(begin)
        for j in range(self.n):
            f.store(0.0, self._entry((self.n + j) * self.lanes))
        for name, value in BEGINNING.items():
            self.put(name, value)
        f.ret()
        return f.text()

    def over(self, row: Value) -> tuple[Value, Value, Value, Value]:
        """End a run: store its configuration if it is better. Returns whether the pose is solved, the number
        of its starts so far, whether it has more, and whether this was the last run.
        """
        f, told = self.f, self.told
        position, rotation, steps = (self.get(name, "double") for name in ("position", "rotation", "steps"))
        tries = self.get("tries", "i64")
        figures = [f.at(row, self.n + k, "double") for k in range(FIGURES)]
        before = f.load("double", figures[0]) + f.load("double", figures[1])
        cost = position + rotation
        solved = f.op("and", *(x <= told["square"] for x in (position, rotation)))
        with f.when(solved | (cost < before)):
            for k in range(self.n):
                source, to = self._entry(k * self.lanes), f.at(row, k, "double")
                f.store(f.load("double", source), to)
            f.store(position, figures[0])
            f.store(rotation, figures[1])
        f.store(f.load("double", figures[2]) + steps, figures[2])
        after = tries + 1
        self.put("tries", after)
        more, last = (f.compared(test, after, told["starts"]) for test in ("slt", "eq"))
        f.store(f.cast("sitofp", f.chosen(more, after, told["starts"]), "double"), figures[3])
        return solved, after, more, last

    def next_pose(self) -> None:
        """Take the next pose, or none: then the lane idles."""
        f, told, pose = self.f, self.told, self.told["next"]
        with f.unless(pose < told["count"]):
            self.put("pose", -1)
            f.ret()
        f.store(pose + 1, order_place(f, "next"))
        self.put("pose", pose)
        self.put("tries", 0)
        place = pose * (self.n + FIGURES) + self.n
        figures = f.at(told["out"], place, "double")
        for k in range(FIGURES):
            f.put(0.0 if k else HUGE, figures, k, "double")
        self.to_lane(2 * self.n, f.at(told["T"], pose, "double", 12), 12)

    def picked(self, pose: Value, tries: Value) -> None:
        """Copy the start nearest to a pose from the table's next block to the lane."""
        f, told = self.f, self.told
        index = tries - told["given"]
        block = f.at(told["table"], index, "double", BLOCK * (COLUMNS + self.n))
        found = f.call("nearest", f.at(told["T"], pose, "double", 12), block, kind="i64")
        place = found * self.n + BLOCK * COLUMNS
        self.to_lane(0, f.at(block, place, "double"), self.n)

    def get(self, name: str, kind: str) -> Value:
        """Load a per-lane value by name."""
        return self.f.load(kind, self._entry(place_of(self.n, self.lanes, name)))

    def put(self, name: str, value: Operand) -> None:
        """Store a per-lane value by name."""
        self.f.store(value, self._entry(place_of(self.n, self.lanes, name)))

    def to_lane(self, first: int, source: Value, size: int) -> None:
        """Copy this many doubles into the lane's vectors, beginning with the first."""
        for k in range(size):
            there, to = self.f.at(source, k, "double"), self._entry((first + k) * self.lanes)
            self.f.store(self.f.load("double", there), to)

    def _entry(self, place: int) -> Value:
        """Address of the lane's entry in a vector."""
        return self.f.at(self.f.at(self.m, place, "double"), self.lane, "double")


def nearest_text(target: Target) -> str:
    """`i64 nearest(t, block)`:
    the configuration with the highest score for the 12 entries of a pose; the first of equals.
    """
    f = IRFunction("nearest", "ptr t, ptr block", "i64", internal=True)
    body = Body(Target(target.scalar, WIDTH, target.fused), f=f)
    entries = [body.splat("%t", k) for k in range(12)]
    best = where = Value("", "")
    for start in range(0, BLOCK, WIDTH):
        score = body.load("%block", 12 * BLOCK + start, WIDTH)
        for k, entry in enumerate(entries):
            score = body.fma(body.load("%block", k * BLOCK + start, WIDTH), entry, score)
        these = score, vector("i64", range(start, start + WIDTH))
        best, where = _greater(f, these, (best, where)) if best else these
    top, at = f.lane(best, 0), f.lane(where, 0)
    for k in range(1, WIDTH):
        top, at = _greater(f, (f.lane(best, k), f.lane(where, k)), (top, at))
    f.ret(at)
    return f.text()


def _greater(f: IRFunction, one: tuple[Value, Value], other: tuple[Value, Value]) -> tuple[Value, Value]:
    """The (score, place) with the greater score, the second of equals; vectors lane by lane."""
    more = one[0] > other[0]
    return f.chosen(more, one[0], other[0]), f.chosen(more, one[1], other[1])
