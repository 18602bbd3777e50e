"""The text of the function that Python calls directly: it looks at the array objects,
and computes if all is plain.
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


def entry_text(name: str, inputs: tuple[Argument, ...], outputs: tuple[Argument, ...], dtype: Any) -> str:
    """`PyObject *name_direct(self, args, count, keywords)`:
    computes, or hands everything to the ordinary method.

    One state (n,) goes to the function `name` beside it, many (B, n) to the one that the table names, if it
    does. Several outputs come as a tuple of new arrays; `out` can be given where there is one.
    """
    lines = [
        f"@{name}_objects = dso_local global [{len(OBJECTS)} x i64] zeroinitializer",
        f"define ptr @{name}_direct(ptr %self, ptr %args, i64 %count, ptr %names) nounwind {{",
        "entry:",
    ]
    for place, what in enumerate(OBJECTS):
        kind = "ptr" if what[:2] == "Py" or what in ("batch", "ordinary") else "i64"
        lines += [f"  %{what}.at = getelementptr i64, ptr @{name}_objects, i64 {place}"]
        lines += [f"  %{what} = load {kind}, ptr %{what}.at"]
    lines += _arguments(len(inputs), len(outputs) == 1)
    for k, a in enumerate(inputs):
        lines += _checked(k, a, CONTIGUOUS | ALIGNED, f"in{k}", f"next{k}")
    made = _new(outputs, dtype)
    if len(outputs) == 1:
        lines += [
            "  br i1 %bare, label %new, label %given",
            "given:",
            *_given(inputs, outputs[0], dtype.itemsize),
        ]
    else:
        lines += ["  br label %new"]
    lines += ["new:", *made, "  br label %run", "run:"]
    last = f"filled{len(outputs) - 1}"
    if len(outputs) == 1:
        lines += [f"  %result = phi ptr [ %object.out, %take ], [ %made0, %{last} ]"]
        lines += [f"  %to0 = phi ptr [ %data.out, %take ], [ %made0.data, %{last} ]"]
    else:
        lines += [f"  %to{k} = getelementptr i8, ptr %made{k}.data, i64 0" for k in range(len(outputs))]
    call = ", ".join(
        [*(f"ptr %data.in{k}" for k in range(len(inputs))), *(f"ptr %to{k}" for k in range(len(outputs)))]
    )
    lines += [
        "  br i1 %many, label %batches, label %state",
        "state:", f"  call void @{name}({call}, i64 1)", "  br label %done",
        "batches:", f"  %long = icmp sge i64 %rows, {LONG}", "  br i1 %long, label %unlocked, label %locked",
        "locked:", f"  call void %batch({call}, i64 %rows)", "  br label %done",
        "unlocked:", "  %thread = call ptr %PyEval_SaveThread()", f"  call void %batch({call}, i64 %rows)",
        "  call void %PyEval_RestoreThread(ptr %thread)", "  br label %done", "done:",
        *(["  ret ptr %result"] if len(outputs) == 1 else _together(len(outputs))),
        "other:",
        "  %answer = call ptr %PyObject_Vectorcall(ptr %ordinary, ptr %args, i64 %count, ptr %names)",
        "  ret ptr %answer", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _arguments(given: int, with_out: bool) -> list[str]:
    """As many as are needed, and no keyword but `out`; the first is an array of one axis or two,
    and says how many states.
    """
    named = [
        f"  %size.at = getelementptr i8, ptr %names, i64 {TUPLE_SIZE}",
        "  %size = load i64, ptr %size.at",
        "  %single = icmp eq i64 %size, 1",
        "  br i1 %single, label %one, label %other",
        "one:",
        f"  %item.at = getelementptr i8, ptr %names, i64 {TUPLE_ITEMS}",
        "  %item = load i64, ptr %item.at",
        "  %is.out = icmp eq i64 %item, %out",
        "  br i1 %is.out, label %arrays, label %other",
    ]
    return [
        f"  %enough = icmp eq i64 %count, {given}", "  br i1 %enough, label %counted, label %other",
        "counted:", "  %bare = icmp eq ptr %names, null",
        f"  br i1 %bare, label %arrays, label %{'named' if with_out else 'other'}",
        *(["named:", *named] if with_out else []),
        "arrays:", "  %first = load ptr, ptr %args", *_field("type", "i64", "%first", TYPE),
        "  %is.array = icmp eq i64 %type, %ndarray", "  br i1 %is.array, label %rank, label %other",
        "rank:", *_field("nd", "i32", "%first", ND), "  %more = sub i32 %nd, 1",
        "  %fits.nd = icmp ult i32 %more, 2",
        "  br i1 %fits.nd, label %ranked, label %other",
        "ranked:", "  %many = icmp eq i32 %more, 1", "  %extra = zext i32 %more to i64",
        *_field("dims", "ptr", "%first", DIMENSIONS), "  %rows = load i64, ptr %dims",
        "  %few = icmp sle i64 %rows, %most", "  %alone = xor i1 %many, true",
        "  %here = or i1 %alone, %few", "  br i1 %here, label %checks, label %other", "checks:",
    ]  # fmt: skip


def _given(inputs: tuple[Argument, ...], output: Argument, itemsize: int) -> list[str]:
    """The array given as `out`: it fits, and no batch lies across it, unless exactly in its place."""
    lines = _checked(len(inputs), output, CONTIGUOUS | ALIGNED | WRITEABLE, "out", "placed")
    lines += ["  %out.start = ptrtoint ptr %data.out to i64"]
    lines += [
        "  %states = select i1 %many, i64 %rows, i64 0",
        f"  %out.bytes = mul i64 %states, {output.size * itemsize}",
    ]
    lines += ["  %out.end = add i64 %out.start, %out.bytes"]
    clear = "true"
    for k, a in enumerate(inputs):
        lines += [
            f"  %start.{k} = ptrtoint ptr %data.in{k} to i64",
            f"  %bytes.{k} = mul i64 %states, {a.size * itemsize}",
        ]
        lines += [
            f"  %end.{k} = add i64 %start.{k}, %bytes.{k}",
            f"  %before.{k} = icmp ule i64 %out.end, %start.{k}",
        ]
        lines += [
            f"  %behind.{k} = icmp uge i64 %out.start, %end.{k}",
            f"  %apart.{k} = or i1 %before.{k}, %behind.{k}",
        ]
        same = f"icmp eq i64 %out.start, %start.{k}" if a.size == output.size else "and i1 false, false"
        lines += [f"  %same.{k} = {same}", f"  %fine.{k} = or i1 %apart.{k}, %same.{k}"]
        lines += [f"  %clear.{k} = and i1 {clear}, %fine.{k}"]
        clear = f"%clear.{k}"
    lines += [
        f"  br i1 {clear}, label %take, label %other",
        "take:",
        "  call void %Py_IncRef(ptr %object.out)",
    ]
    return [*lines, "  br label %run"]


def _new(outputs: tuple[Argument, ...], dtype: Any) -> list[str]:
    """New arrays; where one cannot be made, those before it are given back."""
    lines = ["  %kind = inttoptr i64 %ndarray to ptr", "  %begin = sub i64 1, %extra"]
    for k, output in enumerate(outputs):
        rank = len(output.shape)
        lines += [f"  %shape{k} = alloca [{rank + 1} x i64]", f"  store i64 %rows, ptr %shape{k}"]
        for axis, size in enumerate(output.shape, start=1):
            lines += [
                f"  %shape{k}.{axis} = getelementptr i64, ptr %shape{k}, i64 {axis}",
                f"  store i64 {size}, ptr %shape{k}.{axis}",
            ]
        lines += [
            f"  %from{k} = getelementptr i64, ptr %shape{k}, i64 %begin",
            f"  %made{k}.nd = add i32 %more, {rank}",
            f"  %made{k} = call ptr %PyArray_New(ptr %kind, i32 %made{k}.nd, ptr %from{k}, i32 {dtype.num}, "
            "ptr null, ptr null, i32 0, i32 0, ptr null)",
            f"  %failed{k} = icmp eq ptr %made{k}, null",
            f"  br i1 %failed{k}, label %error{k}, label %filled{k}",
            f"error{k}:",
            *(f"  call void %Py_DecRef(ptr %made{j})" for j in range(k)),
            "  ret ptr null",
            f"filled{k}:",
            *_field(f"made{k}.data", "ptr", f"%made{k}", DATA),
        ]
    return lines


def _together(count: int) -> list[str]:
    """The new arrays as a tuple."""
    lines = [f"  %result = call ptr %PyTuple_New(i64 {count})", "  %none = icmp eq ptr %result, null"]
    lines += ["  br i1 %none, label %nothing, label %tuple", "nothing:"]
    lines += [*(f"  call void %Py_DecRef(ptr %made{k})" for k in range(count)), "  ret ptr null", "tuple:"]
    lines += [
        f"  %set{k} = call i32 %PyTuple_SetItem(ptr %result, i64 {k}, ptr %made{k})" for k in range(count)
    ]
    return [*lines, "  ret ptr %result"]


def _field(name: str, kind: str, of: str, offset: int) -> list[str]:
    """A field of an object."""
    return [
        f"  %{name}.at = getelementptr i8, ptr {of}, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{name}.at",
    ]


def _checked(k: int, a: Argument, flags: int, tag: str, onward: str) -> list[str]:
    """Argument k is an array of the dtype, these flags and this shape for each state,
    or all goes to the ordinary method.
    """
    lines = [
        f"  %slot.{tag} = getelementptr ptr, ptr %args, i64 {k}",
        f"  %object.{tag} = load ptr, ptr %slot.{tag}",
    ]
    lines += [
        *_field(f"type.{tag}", "i64", f"%object.{tag}", TYPE),
        f"  %ok.{tag} = icmp eq i64 %type.{tag}, %ndarray",
    ]
    lines += [f"  br i1 %ok.{tag}, label %{tag}.array, label %other", f"{tag}.array:"]
    lines += [
        *_field(f"nd.{tag}", "i32", f"%object.{tag}", ND),
        f"  %rank.{tag} = add i32 %more, {len(a.shape)}",
    ]
    lines += [f"  %ranks.{tag} = icmp eq i32 %nd.{tag}, %rank.{tag}"]
    lines += [
        *_field(f"descr.{tag}", "i64", f"%object.{tag}", DESCR),
        f"  %kinds.{tag} = icmp eq i64 %descr.{tag}, %dtype",
    ]
    lines += [
        *_field(f"flags.{tag}", "i32", f"%object.{tag}", FLAGS),
        f"  %have.{tag} = and i32 %flags.{tag}, {flags}",
    ]
    lines += [
        f"  %flagged.{tag} = icmp eq i32 %have.{tag}, {flags}",
        f"  %both.{tag} = and i1 %ranks.{tag}, %kinds.{tag}",
    ]
    lines += [f"  %all.{tag} = and i1 %both.{tag}, %flagged.{tag}"]
    lines += [f"  br i1 %all.{tag}, label %{tag}.shape, label %other", f"{tag}.shape:"]
    lines += _field(f"dims.{tag}", "ptr", f"%object.{tag}", DIMENSIONS)
    lines += [
        f"  %lead.{tag} = load i64, ptr %dims.{tag}",
        f"  %least.{tag} = select i1 %many, i64 %rows, i64 {a.shape[0]}",
    ]
    lines += [f"  %fits.{tag}.lead = icmp eq i64 %lead.{tag}, %least.{tag}"]
    fits = f"%fits.{tag}.lead"
    for axis, size in enumerate(a.shape):
        lines += [f"  %axis.{tag}.{axis} = add i64 %extra, {axis}"]
        lines += [f"  %dim.{tag}.{axis}.at = getelementptr i64, ptr %dims.{tag}, i64 %axis.{tag}.{axis}"]
        lines += [f"  %dim.{tag}.{axis} = load i64, ptr %dim.{tag}.{axis}.at"]
        lines += [f"  %is.{tag}.{axis} = icmp eq i64 %dim.{tag}.{axis}, {size}"]
        lines += [f"  %fits.{tag}.{axis} = and i1 {fits}, %is.{tag}.{axis}"]
        fits = f"%fits.{tag}.{axis}"
    lines += _field(f"data.{tag}", "ptr", f"%object.{tag}", DATA)
    return [*lines, f"  br i1 {fits}, label %{onward}, label %other", f"{onward}:"]
