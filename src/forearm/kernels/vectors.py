"""LLVM IR for straight-line code: values are vectors, one lane per state, every operation explicit.

Fused multiply-adds are chosen here and LLVM must not reassociate: a state has the same bits in every lane,
with any number of lanes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from forearm.kernels.elementary import DOUBLE, SINGLE, TAN_EIGHTH, Series
from forearm.kernels.llvm import SIZES, TABLE, Hoisted, IRFunction, Value, number
from forearm.symbols.table import LookupTable

CHOSEN_BREAKS = 4  # breaks of a table up to which it needs no memory
COUNTED_BREAKS = 32  # breaks of a table beyond which binary search is faster
TWO_OVER_PI = 0.6366197723675814
LARGEST = {"double": 1024, "float": 128}  # the power of 2 that overflows


@dataclass(frozen=True)
class Target:
    """The target of the code: the scalar type, the number of lanes, whether the machine has fused
    multiply-add, whether it is a GPU, whose threads have one lane each and many registers, whether sines and
    quotients use its fast approximations, and the operations from which on a function is written in parts.
    """

    scalar: str  # "double" or "float"
    lanes: int
    fused: bool
    is_gpu: bool = False
    is_fast: bool = False
    longest: int = 28_000

    @property
    def vector(self) -> str:
        """The type of a value."""
        return f"<{self.lanes} x {self.scalar}>"

    @property
    def size(self) -> int:
        """Bytes of a scalar."""
        return SIZES[self.scalar]

    def wide(self, count: int) -> str:
        """The type of a vector of this many scalars."""
        return f"<{count} x {self.scalar}>"

    @property
    def whole(self) -> str:
        """The type of a vector of integers as wide as the values."""
        return f"<{self.lanes} x {'i64' if self.scalar == 'double' else 'i32'}>"

    @property
    def mask(self) -> str:
        """The type of a vector of flags, one per lane."""
        return f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        """The vector type's suffix in names of LLVM's intrinsics."""
        return f"v{self.lanes}f{64 if self.scalar == 'double' else 32}"

    @property
    def series(self) -> Series:
        """Constants of sine, cosine, exponential and angle."""
        return DOUBLE if self.scalar == "double" else SINGLE


@dataclass(frozen=True)
class InMemory:
    """A value in memory, at this offset (in scalars) from a pointer."""

    pointer: str
    place: int


class Body:
    """Arithmetic on lanes within a function `f`, or as separate lines."""

    def __init__(self, target: Target, letter: str = "v", f: IRFunction | None = None) -> None:
        self.target, self.f = target, f or IRFunction(letter=letter)
        self.letter, self.lines, self.spaces = self.f.letter, self.f.lines, self.f.spaces

    def emit(self, text: str) -> str:
        """Emit an instruction and return the name of its result."""
        name = f"%{self.letter}{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def widened(self, lanes: int) -> Body:
        """The same block, continued with another vector width."""
        return Body(replace(self.target, lanes=lanes), f=self.f)

    def space(self, name: str, count: int) -> None:
        """Stack memory for this many scalars, allocated once in a function."""
        self.f.space(self.target.scalar, count, name.removeprefix("%"))

    def number(self, value: float) -> str:
        """A scalar as an LLVM literal, exact to the last bit."""
        return number(value, self.target.scalar)

    def constant(self, value: float) -> str:
        """A constant in every lane."""
        return "<" + ", ".join([f"{self.target.scalar} {self.number(value)}"] * self.target.lanes) + ">"

    def op(self, name: str, a: str, b: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        flags = " afn" if self.target.is_fast and name == "fdiv" else ""
        return self.emit(f"{name}{flags} {self.target.vector} {a}, {b}")

    def negated(self, a: str) -> str:
        """-a."""
        return self.emit(f"fneg {self.target.vector} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the machine can."""
        v = self.target.vector
        if not self.target.fused:
            return self.op("fadd", self.op("fmul", a, b), c)
        return self.emit(f"call {v} @llvm.fma.{self.target.suffix}({v} {a}, {v} {b}, {v} {c})")

    def shuffled(self, a: str, b: str, size: int, order: list[int]) -> str:
        """Entries of two concatenated vectors of this size, in this order."""
        wide, mask = self.target.wide(size), ", ".join(f"i32 {k}" for k in order)
        return self.emit(f"shufflevector {wide} {a}, {wide} {b}, <{len(order)} x i32> <{mask}>")

    def joined(self, parts: list[str], size: int) -> str:
        """Vectors of this size, a power of two of them, concatenated."""
        while len(parts) > 1:
            order = list(range(2 * size))
            parts = [self.shuffled(a, b, size, order) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            size *= 2
        return parts[0]

    def part(self, a: str, size: int, start: int, count: int) -> str:
        """Some entries of a vector of this size."""
        return a if count == size else self.shuffled(a, a, size, list(range(start, start + count)))

    def at(self, pointer: str, place: int) -> str:
        """A pointer advanced by this many scalars."""
        return (
            self.emit(f"getelementptr {self.target.scalar}, ptr {pointer}, i64 {place}") if place else pointer
        )

    def load(self, pointer: str, place: int, count: int) -> str:
        """Load this many scalars."""
        t = self.target
        return self.emit(f"load {t.wide(count)}, ptr {self.at(pointer, place)}, align {t.size}")

    def splat(self, pointer: str, place: int) -> str:
        """Load one scalar into every lane."""
        value = self.load(pointer, place, 1)
        return self.shuffled(value, value, 1, [0] * self.target.lanes)

    def store(self, pointer: str, place: int, value: str, count: int) -> None:
        """Store this many scalars."""
        t = self.target
        self.lines.append(f"  store {t.wide(count)} {value}, ptr {self.at(pointer, place)}, align {t.size}")

    def vectors(self, pointer: str, count: int) -> list[str]:
        """Load this many consecutive values."""
        return [self.load(pointer, k * self.target.lanes, self.target.lanes) for k in range(count)]

    def keep(self, pointer: str, values: list[str]) -> None:
        """Store consecutive values."""
        for k, value in enumerate(values):
            self.store(pointer, k * self.target.lanes, value, self.target.lanes)

    def call(self, name: str, a: str) -> str:
        """Call a unary intrinsic."""
        v = self.target.vector
        return self.emit(f"call {v} @llvm.{name}.{self.target.suffix}({v} {a})")

    def polynomial(self, coefficients: tuple[float, ...], x: str) -> str:
        """Horner's scheme, from the highest power down."""
        value = self.constant(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, x, self.constant(c))
        return value

    def sine_and_cosine(self, x: str) -> tuple[str, str]:
        """(sin x, cos x) with the constants of `elementary`; NaN beyond its limit, for NaN and infinity."""
        t = self.target
        r, whole = self._reduced(x, t.series.digits)
        sine, cosine = self._approximate(r) if t.is_fast else self._series(r)
        odd = self.emit(f"trunc {t.whole} {whole} to {t.mask}")
        one, other = self.chosen(odd, cosine, sine), self.chosen(odd, sine, cosine)
        next_one = self.emit(f"add {t.whole} {whole}, {self._whole(1)}")
        return self._signed(one, whole), self._signed(other, next_one)

    def _reduced(self, x: str, digits: int) -> tuple[str, str]:
        """r = x - k pi/2 with k the nearest integer, NaN if k has more binary digits than this; and an
        integer whose last bits are those of k.
        """
        t, series = self.target, self.target.series
        if t.scalar == "float" and not t.fused:  # k times a part of pi/2 is exact in double precision
            wide = Body(replace(t, scalar="double"), f=self.f)
            r, whole = wide._reduced(self.emit(f"fpext {t.vector} {x} to {wide.target.vector}"), digits)
            r = self.emit(f"fptrunc {wide.target.vector} {r} to {t.vector}")
            return r, self.emit(f"trunc {wide.target.whole} {whole} to {t.whole}")
        shifted = self.fma(x, self.constant(TWO_OVER_PI), self.constant(series.shift))  # k in the last bits
        k = self.op("fsub", shifted, self.constant(series.shift))
        r = x
        for part in series.parts if t.fused else series.short_parts:
            r = self.fma(k, self.constant(-part), r)
        far = self.op("fmul", k, self.constant(math.ldexp(1.0, LARGEST[t.scalar] - digits)))
        r = self.fma(far, self.constant(0.0), r)  # infinity times 0 is NaN
        return r, self.emit(f"bitcast {t.vector} {shifted} to {t.whole}")

    def _series(self, r: str) -> tuple[str, str]:
        """(sin r, cos r) within an eighth of a turn."""
        series, r2 = self.target.series, self.op("fmul", r, r)
        sine = self.fma(self.op("fmul", r, r2), self.polynomial(series.sine, r2), r)
        half = self.fma(r2, self.constant(-0.5), self.constant(1.0))
        cosine = self.fma(self.op("fmul", r2, r2), self.polynomial(series.cosine, r2), half)
        return sine, cosine

    def _approximate(self, r: str) -> tuple[str, str]:
        """(sin r, cos r) by a GPU's special function units."""
        x = self.emit(f"extractelement {self.target.vector} {r}, i32 0")
        made = []
        for name in ("sin", "cos"):
            value = self.emit(f"call float @llvm.nvvm.{name}.approx.f(float {x})")
            made.append(self.emit(f"insertelement {self.target.vector} poison, float {value}, i32 0"))
        return made[0], made[1]

    def _between(self, x: str, low: float, high: float) -> str:
        """x clamped to the bounds; NaN stays NaN."""
        for test, bound in (("ogt", self.constant(high)), ("olt", self.constant(low))):
            x = self.chosen(self.compared(test, x, bound), bound, x)
        return x

    def _whole(self, value: int) -> str:
        kind = "i64" if self.target.scalar == "double" else "i32"
        return "<" + ", ".join([f"{kind} {value}"] * self.target.lanes) + ">"

    def _signed(self, value: str, whole: str) -> str:
        """The value, negated in the quadrants 2 and 3: the second bit of the quadrant becomes the sign."""
        t, bits = self.target, 8 * self.target.size
        moved = self.emit(f"shl {t.whole} {whole}, {self._whole(bits - 2)}")
        sign = self.emit(f"and {t.whole} {moved}, {self._whole(-(2 ** (bits - 1)))}")
        plain = self.emit(f"bitcast {t.vector} {value} to {t.whole}")
        return self.emit(f"bitcast {t.whole} {self.emit(f'xor {t.whole} {plain}, {sign}')} to {t.vector}")

    def exponential(self, x: str) -> str:
        """e^x: x = k ln 2 + r, a Taylor series in r, and k added to the exponent;
        x is clamped to the bounds of `elementary`.
        """
        t, e = self.target, self.target.series.exponent
        x = self._between(x, e.lowest, e.highest)
        shifted = self.fma(x, self.constant(1.4426950408889634), self.constant(t.series.shift))
        k = self.op("fsub", shifted, self.constant(t.series.shift))
        r = x
        for part in e.parts if t.fused else e.short_parts:
            r = self.fma(k, self.constant(-part), r)
        value = self.polynomial(e.series, r)
        whole = self.emit(f"bitcast {t.vector} {shifted} to {t.whole}")
        raised = self.emit(f"shl {t.whole} {whole}, {self._whole(e.place)}")
        plain = self.emit(f"bitcast {t.vector} {value} to {t.whole}")
        return self.emit(f"bitcast {t.whole} {self.emit(f'add {t.whole} {plain}, {raised}')} to {t.vector}")

    def angle(self, y: str, x: str) -> str:
        """The angle of (x, y), from -pi to pi:
        s atan r + k pi/4, r the ratio of the legs or of their difference and sum.
        """
        t, zero = self.target, self.constant(0.0)
        tall, wide = self.call("fabs", y), self.call("fabs", x)
        steep = self.compared("ogt", tall, wide)
        most, least = self.chosen(steep, tall, wide), self.chosen(steep, wide, tall)
        turned = self.compared("ogt", least, self.op("fmul", most, self.constant(TAN_EIGHTH)))
        below = self.chosen(turned, self.op("fadd", least, most), most)
        none = self.compared("oeq", below, zero)
        above = self.chosen(turned, self.op("fsub", least, most), least)
        r = self.op("fdiv", above, self.chosen(none, self.constant(1.0), below))
        z = self.op("fmul", r, r)
        value = self.fma(self.op("fmul", self.negated(r), z), self.polynomial(t.series.angle.series, z), r)
        k = self.chosen(turned, self.constant(1.0), zero)
        for mirrored, turns in ((steep, 2.0), (self._is_negative(x), 4.0)):
            k = self.chosen(mirrored, self.op("fsub", self.constant(turns), k), k)
            value = self.chosen(mirrored, self.negated(value), value)
        for part in reversed(t.series.angle.parts):
            value = self.fma(k, self.constant(part), value)
        return self.chosen(self._is_negative(y), self.negated(value), value)

    def compared(self, test: str, a: str, b: str) -> str:
        """The mask of lanes that satisfy an LLVM predicate, such as olt."""
        return self.emit(f"fcmp {test} {self.target.vector} {a}, {b}")

    def masked(self, how: str, a: str, b: str) -> str:
        """Two masks combined by "and" or "or"."""
        return self.emit(f"{how} {self.target.mask} {a}, {b}")

    def outside(self, mask: str) -> str:
        """The complement of a mask."""
        return self.masked("xor", mask, "<" + ", ".join(["i1 true"] * self.target.lanes) + ">")

    def chosen(self, mask: str, a: str, b: str) -> str:
        """a in the lanes of the mask, b in others."""
        t = self.target
        return self.emit(f"select {t.mask} {mask}, {t.vector} {a}, {t.vector} {b}")

    def look_up(self, table: LookupTable, x: str) -> str:
        """Evaluate a table. With few breaks the piece is selected break by break; otherwise each lane loads
        it from an index found by counting the breaks <= x, or by binary search.
        """
        if len(table.breaks) <= CHOSEN_BREAKS:
            start, value, *rest = self._chosen_piece(table, x)
        else:
            t, name = self.target, self._kept(table)
            place = self._reached(table, name, x)
            stride = self.emit(f"mul {t.whole} {place}, {self._whole(table.order + 1)}")
            at = self.emit(f"add {t.whole} {stride}, {self._whole(len(table.breaks))}")
            start, value, *rest = self._entries(name, at, table.order + 1)
        u = self.op("fsub", x, start)
        for c in rest:
            value = self.fma(value, u, c)
        return value

    def _chosen_piece(self, table: LookupTable, x: str) -> list[str]:
        """The start of the piece, and its coefficients from the highest power down."""
        first, *others = zip((table.breaks[0], *table.breaks), table.pieces, strict=True)
        now = [first[0], *reversed(first[1])]
        values = [self.constant(c) for c in now]
        for start, piece in others:
            reached = self.compared("ole", self.constant(start), x)
            then = [start, *reversed(piece)]
            values = [
                value if c == before else self.chosen(reached, self.constant(c), value)
                for value, before, c in zip(values, now, then, strict=True)
            ]
            now = then
        return values

    def _kept(self, table: LookupTable) -> str:
        """The name of a table in memory; joining a module moves the line to its place."""
        numbers = ", ".join(f"{self.target.scalar} {self.number(c)}" for c in table.numbers)
        content = f"[{len(table.numbers)} x {self.target.scalar}] [{numbers}]"
        name = f"@table.{hashlib.sha256(content.encode()).hexdigest()[:16]}"
        self.lines.append(f"{TABLE}{name} = private unnamed_addr constant {content}, align 64")
        return name

    def _reached(self, table: LookupTable, name: str, x: str) -> str:
        """The number of breaks <= x, as integers."""
        t, count = self.target, len(table.breaks)
        place = self._whole(0)
        if count <= COUNTED_BREAKS:
            for b in table.breaks:
                reached = self.compared("ole", self.constant(b), x)
                one = self.emit(f"zext {t.mask} {reached} to {t.whole}")
                place = self.emit(f"add {t.whole} {place}, {one}")
            return place
        while count:
            half = (count + 1) // 2
            at = self.emit(f"add {t.whole} {place}, {self._whole(half - 1)}")
            (middle,) = self._entries(name, at, 1)
            reached = self.compared("ole", middle, x)
            further = self.emit(f"add {t.whole} {place}, {self._whole(half)}")
            place = self.emit(f"select {t.mask} {reached}, {t.whole} {further}, {t.whole} {place}")
            count -= half
        return place

    def _entries(self, name: str, place: str, count: int) -> list[str]:
        """This many numbers of a table, from each lane's index on."""
        t = self.target
        kind = t.whole.removesuffix(">").split()[-1]
        values = ["poison"] * count
        for lane in range(t.lanes):
            at = self.emit(f"extractelement {t.whole} {place}, i32 {lane}")
            pointer = self.emit(f"getelementptr {t.scalar}, ptr {name}, {kind} {at}")
            for k in range(count):
                entry = self.emit(f"load {t.scalar}, ptr {self.at(pointer, k)}, align {t.size}")
                values[k] = self.emit(f"insertelement {t.vector} {values[k]}, {t.scalar} {entry}, i32 {lane}")
        return values

    def repeated(
        self,
        state: list[str],
        going: Callable[[list[str]], str],
        step: Callable[[list[str]], list[str]],
        most: int,
    ) -> list[str]:
        """The state after at most this many iterations: a lane that is no longer `going` keeps its values."""
        f, t = self.f, self.target

        def mask(state: list[str]) -> Value:
            return Value(going(state), t.mask)

        first, starts = mask(state), [Value(x, t.vector) for x in state]
        with f.when(self._any(first)) as end, f.inside(), f.repeat(0, first, *starts) as turn:
            count, active, *now = turn.now
            kept = step(list(now))
            if t.lanes > 1:  # a single lane is always active here
                kept = [self.chosen(active, x, y) for x, y in zip(kept, now, strict=True)]
            goes, after = f.op("and", active, mask(kept)), f.op("add", count, 1)
            more = f.op("and", self._any(goes), f.compared("slt", after, most))
            turn.again(after, goes, *kept, where=more)
        return [f.phi(end, x, y) for x, y in zip(starts, kept, strict=True)]

    def _any(self, mask: Value) -> Value:
        """Whether any lane is in the mask."""
        return self.f.compared("ne", self.f.cast("bitcast", mask, f"i{self.target.lanes}"), 0)

    def ready(self, value: str | InMemory) -> str:
        """A value; one in memory is loaded again for each use, so that it occupies no register in between."""
        return value if isinstance(value, str) else self.load(value.pointer, value.place, self.target.lanes)

    def called(self, function: Hoisted, given: list[str | InMemory], count: int) -> list[InMemory]:
        """Call a function, which reads its arguments at %given and writes this many results to %made; joining
        a module moves it to its place.

        Arguments that an earlier call left at %given are not stored again.
        """
        f, lanes = self.f, self.target.lanes
        name = function.name
        f.lines += function.lines
        there, made = f"%given.{f.within}.{name}", f"%made{len(self.lines)}"
        self.space(made, count * lanes)
        if (left := f.left.get(there)) is None:
            left = f.left[there] = [None] * len(given)
            self.space(there, len(given) * lanes)
        for k, value in enumerate(given):
            if left[k] != value:
                self.store(there, k * lanes, self.ready(value), lanes)
                left[k] = value
        f.call(name, there, made)
        return [InMemory(made, k * lanes) for k in range(count)]

    def spread(self, scalar: str) -> str:
        """Broadcast a scalar to every lane."""
        t = self.target
        one = self.emit(f"insertelement <1 x {t.scalar}> poison, {t.scalar} {scalar}, i32 0")
        return self.shuffled(one, one, 1, [0] * t.lanes)

    def _is_negative(self, x: str) -> str:
        """The mask of lanes whose sign bit is set, also by a negative zero."""
        t = self.target
        bits = self.emit(f"bitcast {t.vector} {x} to {t.whole}")
        return self.emit(f"icmp slt {t.whole} {bits}, {self._whole(0)}")

    def rounded(self, x: str) -> str:
        """Round to the nearest integer, ties to even: add and subtract a number so large that only integers
        remain. Values as large as that are integers already.
        """
        whole = float(1 << (52 if self.target.scalar == "double" else 23))
        size = self.call("fabs", x)
        near = self.op("fsub", self.op("fadd", size, self.constant(whole)), self.constant(whole))
        small = self.compared("olt", size, self.constant(whole))
        return self.op("fmul", self.chosen(small, near, size), self.sign(x))

    def sign(self, x: str) -> str:
        """-1, 0, 1; NaN for NaN."""
        zero = self.constant(0.0)
        up, down = self.compared("ogt", x, zero), self.compared("olt", x, zero)
        return self.chosen(up, self.constant(1.0), self.chosen(down, self.constant(-1.0), x))
