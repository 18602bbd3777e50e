"""IR of the function that Python calls directly:
it inspects the array objects and computes if they need no conversion.
"""

from __future__ import annotations

from typing import Any

from forearm.codegen.program import Argument
from forearm.kernels.fastcall import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    DESCR,
    DIMENSIONS,
    FLAGS,
    LONG,
    ND,
    OBJECTS,
    TUPLE_ITEMS,
    TUPLE_SIZE,
    TYPE,
    WRITEABLE,
)
from forearm.kernels.llvm import IRFunction, Operand, Value, variables


def entry_text(name: str, inputs: tuple[Argument, ...], outputs: tuple[Argument, ...], dtype: Any) -> str:
    """`PyObject *name_direct(self, args, count, keywords)`:
    computes, or forwards everything to the ordinary method.

    One state (n,) goes to the function `name` beside it, a batch (B, n) to the one in the table, if there is
    one. Several outputs are returned as a tuple of new arrays, or written to those in the tuple given as
    `out`.
    """
    entry = _Entry(name, len(inputs))
    f, objects = entry.f, entry.objects
    data = [entry.array(entry.args, k, a, CONTIGUOUS | ALIGNED)[1] for k, a in enumerate(inputs)]
    run = f.label()
    with f.unless(entry.bare):
        out, arrays = entry.given_out(outputs)
        sizes = [a.size * dtype.itemsize for a in inputs]
        for a, (_, place) in zip(outputs, arrays, strict=True):
            apart = entry.is_apart(data, place, [*sizes, a.size * dtype.itemsize])
            f.go(entry.other, unless=apart)
        f.call(objects["Py_IncRef"], out)
        f.go(run)
    made, to = entry.new_arrays(outputs, dtype.num)
    new = made[0] if len(outputs) == 1 else entry.as_tuple(made)
    f.begin(run)
    result = f.phi(run, out, new)
    to = [f.phi(run, given, fresh) for (_, given), fresh in zip(arrays, to, strict=True)]
    done = f.label()
    with f.unless(entry.many):
        f.call(name, *data, *to, 1)
        f.go(done)
    with f.unless(entry.rows >= LONG):
        f.call(objects["batch"], *data, *to, entry.rows)
        f.go(done)
    thread = f.call(objects["PyEval_SaveThread"], kind="ptr")
    f.call(objects["batch"], *data, *to, entry.rows)
    f.call(objects["PyEval_RestoreThread"], thread)
    f.begin(done)
    f.ret(result)
    f.begin(entry.other)
    _, args, count, names = f.arguments
    f.ret(f.call(objects["PyObject_Vectorcall"], objects["ordinary"], args, count, names, kind="ptr"))
    return "\n".join([variables(f"{name}_objects", "i64", len(OBJECTS)), f.text()])


class _Entry:
    """Emits the function:
    what is known of its arguments, and the label `other`, which calls the ordinary method.
    """

    def __init__(self, name: str, given: int) -> None:
        """Require the exact number of arguments, and no keyword but `out`; the first is an array of one or
        two axes, which determines the number of states.
        """
        arguments = {"self": "ptr", "args": "ptr", "count": "i64", "names": "ptr"}
        self.f = f = IRFunction(f"{name}_direct", arguments, "ptr")
        self.other = f.label()
        self.objects: dict[str, Value] = {}
        for place, what in enumerate(OBJECTS):
            kind = "ptr" if what[:2] == "Py" or what in ("batch", "ordinary") else "i64"
            self.objects[what] = f.load(kind, f.at(f"@{name}_objects", place, "i64"))
        _, self.args, count, names = f.arguments
        self.given = given
        self._need("eq", count, given)
        self.bare = names.equals(None)
        with f.unless(self.bare):
            self._need("eq", self._field("i64", names, TUPLE_SIZE), 1)
            self._need("eq", self._field("i64", names, TUPLE_ITEMS), self.objects["out"])
        first = f.load("ptr", self.args)
        self._need("eq", self._field("i64", first, TYPE), self.objects["ndarray"])
        self.more = self._field("i32", first, ND) - 1
        self._need("ult", self.more, 2)
        self.many = self.more.equals(1)
        self.extra = f.cast("zext", self.more, "i64")
        self.rows = f.load("i64", self._field("ptr", first, DIMENSIONS))
        few = self.rows <= self.objects["most"]
        f.go(self.other, unless=self.many ^ 1 | few)

    def _need(self, test: str, a: Value, b: Operand) -> None:
        self.f.go(self.other, unless=self.f.compared(test, a, b))

    def _field(self, kind: str, of: Value, offset: int) -> Value:
        """A field of an object."""
        return self.f.field(kind, of, offset)

    def given_out(self, outputs: tuple[Argument, ...]) -> tuple[Value, list[tuple[Value, Value]]]:
        """The value of `out`, an array or a tuple of arrays, and each array with its data."""
        f, flags = self.f, CONTIGUOUS | ALIGNED | WRITEABLE
        out = f.entry("ptr", self.args, self.given)
        if len(outputs) == 1:
            return out, [self.array(self.args, self.given, outputs[0], flags)]
        self._need("eq", self._field("i64", out, TYPE), self.objects["tuple"])
        self._need("eq", self._field("i64", out, TUPLE_SIZE), len(outputs))
        items = f.at(out, TUPLE_ITEMS, "i8")
        return out, [self.array(items, k, a, flags) for k, a in enumerate(outputs)]

    def array(self, of: Value, k: int, a: Argument, flags: int) -> tuple[Value, Value]:
        """Argument k: an array of the dtype, flags and shape for each state, and its data."""
        f = self.f
        array = f.entry("ptr", of, k)
        self._need("eq", self._field("i64", array, TYPE), self.objects["ndarray"])
        rank = self._field("i32", array, ND)
        ranks = rank.equals(self.more + len(a.shape))
        kinds = self._field("i64", array, DESCR).equals(self.objects["dtype"])
        flagged = (self._field("i32", array, FLAGS) & flags).equals(flags)
        f.go(self.other, unless=ranks & kinds & flagged)
        dims = self._field("ptr", array, DIMENSIONS)
        lead = f.load("i64", dims)
        fits = lead.equals(f.chosen(self.many, self.rows, a.shape[0]))
        for axis, size in enumerate(a.shape):
            dim = f.entry("i64", dims, self.extra + axis)
            fits = fits & dim.equals(size)
        data = self._field("ptr", array, DATA)
        f.go(self.other, unless=fits)
        return array, data

    def is_apart(self, data: list[Value], out: Value, sizes: list[int]) -> Value:
        """Check that no batch overlaps the array given as `out`, unless it is the same place; sizes are bytes
        per state, those of `out` last.
        """
        f = self.f
        out_start = f.cast("ptrtoint", out, "i64")
        states = f.chosen(self.many, self.rows, 0)
        out_end = out_start + states * sizes[-1]
        clear = Value("true", "i1")
        for pointer, size in zip(data, sizes[:-1], strict=True):
            start = f.cast("ptrtoint", pointer, "i64")
            end = start + states * size
            before, behind = f.compared("ule", out_end, start), f.compared("uge", out_start, end)
            fine = before | behind
            if size == sizes[-1]:
                fine = fine | out_start.equals(start)
            clear = clear & fine
        return clear

    def new_arrays(self, outputs: tuple[Argument, ...], number: int) -> tuple[list[Value], list[Value]]:
        """New arrays and their data; if one cannot be allocated, the earlier ones are released."""
        f, made, data = self.f, list[Value](), list[Value]()
        kind = f.cast("inttoptr", self.objects["ndarray"], "ptr")
        begin = 1 - self.extra
        for output in outputs:
            shape = f.space_here("i64", len(output.shape) + 1)
            f.store(self.rows, shape)
            for axis, size in enumerate(output.shape, start=1):
                f.put(size, shape, axis, "i64")
            start = f.at(shape, begin, "i64")
            rank = self.more + len(output.shape)
            dtype, zero = Value(str(number), "i32"), Value("0", "i32")
            new = self.objects["PyArray_New"]
            array = f.call(new, kind, rank, start, dtype, None, None, zero, zero, None, kind="ptr")
            self._give_up(array, made)
            made.append(array)
            data.append(self._field("ptr", array, DATA))
        return made, data

    def _give_up(self, new: Value, made: list[Value]) -> None:
        """If an allocation fails, release the earlier ones and raise the error in the caller."""
        with self.f.when(new.equals(None)):
            for array in made:
                self.f.call(self.objects["Py_DecRef"], array)
            self.f.ret(None)

    def as_tuple(self, made: list[Value]) -> Value:
        """The new arrays as a tuple."""
        result = self.f.call(self.objects["PyTuple_New"], len(made), kind="ptr")
        self._give_up(result, made)
        for k, array in enumerate(made):
            self.f.call(self.objects["PyTuple_SetItem"], result, k, array, kind="i32")
        return result
