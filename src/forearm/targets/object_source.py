"""From an arm to an object file for another machine:
traced, written as LLVM IR, compiled, checked, with a C header.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.generate import DTYPES, NAMES, TracedProgram, traced_for
from forearm.codegen.languages import c
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import Program
from forearm.codegen.source import Source
from forearm.errors import InputError, shorten
from forearm.kernels.vectors import Target
from forearm.symbols.functions import with_functions
from forearm.targets.emit import emitted
from forearm.targets.machines import TARGETS, WASM, TargetMachine
from forearm.targets.measured import measured, said
from forearm.targets.text import object_text
from forearm.targets.wasm_link import linked
from forearm.values import check_choice, chosen


def object_source(
    arm: Arm,
    function: str | Iterable[str],
    target: str,
    dtype: str | None = None,
    language: str = "c",
    **options: Any,
) -> Source:
    """An object file for a target machine, with the arguments of `generate`."""
    machine = machine_of(target, language)
    single = target_dtype(machine, dtype) == "float32"
    try:
        made = traced_for(arm, function, single=single, **options)
    except InputError as error:
        if "float64" in str(error) and "float64" not in machine.dtypes:
            raise InputError(
                f"{machine.name} computes in float32 only; use cortex-m7 or another target. "
                f"In float32: {error}",
                "generate",
            ) from None
        raise
    return object_of(made, machine)


def object_of(made: TracedProgram, machine: TargetMachine) -> Source:
    """The object file of functions on the graph: written, compiled, checked and described."""
    name, symbols, single = made.name, made.symbols, made.single
    traced = _prepared(made.traced) if symbols else made.traced
    counts = traced.graph.counts(traced.results)
    values = tuple(symbols.values())
    program = legal(
        Program(name, made.about, traced.inputs, traced.outputs, (), counts, tuple(symbols), values)
    )
    scalar = Target("float" if single else "double", 1, machine.fused)
    text, kept = object_text(name, traced, scalar, list(symbols))
    code, assembly = emitted(text, name, machine)
    found = measured(code, assembly, [f"{name}_prepare", name] if symbols else [name], machine)
    module = None
    if machine.family == WASM:
        arrays = sum(a.size for a in traced.arrays) + len(symbols) + kept
        module = linked(code, max(found.stack.values()), scalar.size * arrays)
    about = (*(line for line in made.about if line != NAMES), "", *said(name, machine, found, single))
    header = c.header(replace(program, about=about, kept=kept, single=single))
    return Source(
        assembly,
        header,
        counts,
        name,
        "assembly",
        object=code,
        module=module,
        target=machine.name,
        figures=found.figures,
    )


def _prepared(traced: Traced) -> Traced:
    """The same with everything that depends only on parameters hoisted out of called functions."""
    graph, results = with_functions(traced.graph, traced.results)
    return replace(traced, graph=graph, results=results)


def machine_of(target: str, language: str) -> TargetMachine:
    """A target machine by name; giving a language too is an error."""
    if not isinstance(language, str) or language != "c":
        raise InputError(
            f"expected a language or a target, got {shorten(language)} and {shorten(target)}; "
            "an object file has a header in C.",
            "generate",
        )
    return chosen(TARGETS, target, "generate, target")


def target_dtype(machine: TargetMachine, dtype: str | None) -> str:
    """The precision of the machine; one that would need a library is an error."""
    if dtype is None:
        return machine.dtypes[0]
    check_choice(dtype, DTYPES, "generate, dtype")
    if dtype not in machine.dtypes:
        raise InputError(
            f"the FPU of {machine.name} computes in {machine.dtypes[0]} only, got dtype "
            f"{dtype}, which would need a library; leave dtype out, or use cortex-m7 or "
            "another target.",
            "generate",
        )
    return dtype
