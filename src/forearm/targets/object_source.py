"""From an arm to an object file for another machine: traced, written as LLVM's text, compiled, checked, with a
header in C.
"""

from __future__ import annotations

from collections.abc import Iterable

from forearm.arm.arm import Arm
from forearm.codegen.generate import DTYPES, NAMES, Source, traced_for
from forearm.codegen.languages import c
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import Program
from forearm.errors import InputError
from forearm.kernels.vectors import Target
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
    parameters: Iterable[str] | str = (),
    formulation: str | None = None,
    name: str | None = None,
    dtype: str | None = None,
) -> Source:
    """An object file for a target machine, with the arguments of `generate`."""
    machine = chosen(TARGETS, target, "generate, target")
    single = _dtype(machine, dtype) == "float32"
    try:
        traced, title, about, symbols = traced_for(
            arm, function, parameters, formulation, name, single=single
        )
    except InputError as error:
        if "float64" in str(error) and "float64" not in machine.dtypes:
            raise InputError(
                f"generate, target: {machine.name} has float32 only, and {error} Take cortex-m7, or another target."
            ) from None
        raise
    scalar = Target("float" if single else "double", 1, machine.fused)
    text, kept = object_text(title, traced, scalar, list(symbols))
    code, assembly = emitted(text, title, machine)
    names = [f"{title}_prepare", title] if symbols else [title]
    found = measured(code, assembly, names, machine)
    module = None
    if machine.family == WASM:
        arrays = sum(a.size for a in traced.arrays) + len(symbols) + kept
        module = linked(code, max(found.stack.values()), scalar.size * arrays)
    counts = traced.graph.counts(traced.results)
    head = (*(line for line in about if line != NAMES), "", *said(title, machine, found, single))
    program = Program(
        title,
        head,
        traced.inputs,
        traced.outputs,
        (),
        counts,
        tuple(symbols),
        tuple(symbols.values()),
        kept=kept,
        single=single,
    )
    header = c.header(legal(program))
    return Source(assembly, header, counts, title, "assembly", code, module, machine.name, found.figures)


def _dtype(machine: TargetMachine, dtype: str | None) -> str:
    """What the machine computes in; one that it would need a library for is refused."""
    if dtype is None:
        return machine.dtypes[0]
    check_choice(dtype, DTYPES, "generate, dtype")
    if dtype not in machine.dtypes:
        raise InputError(
            f"generate: the FPU of {machine.name} computes in {machine.dtypes[0]} only, got dtype {dtype}, which "
            "would take a library; leave dtype out, or take cortex-m7 or another target."
        )
    return dtype
