"""WebAssembly modules in Node.js: no imports, the reference's numbers, the bits of kernels without fused
multiply-add, constants and a stack where the linker puts them.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from targets.cases import CASES, case, kernel, state
from targets.in_node import Array, needs_node, run

import forearm as fa
from forearm.codegen.source import Source
from forearm.targets.wasm_link import leb, linked, signed_leb
from forearm.targets.wasm_object import WasmReader, read_object

WASM_LD = shutil.which("wasm-ld")
KINDS = [(name, dtype) for name in CASES for dtype in ("float64", "float32")]
IN_MAKE_TEST = KINDS[:4]  # of which the third and fourth have tables


def module_of(source: Source) -> bytes:
    assert source.module is not None
    return source.module


def arrays_of(source: Source, inputs: tuple[Array, ...], dtype: str) -> dict[str, Array]:
    """The arguments of a function as its header declares them, the first filled with inputs."""
    declared = source.header[source.header.index(f"void {source.name}(") :]
    sizes = re.findall(r"(?:double|float) (\w+)\[(\d+)\]", declared)
    left = list(inputs)
    return {
        name: (left.pop(0).ravel() if left else np.full(int(size), np.nan)).astype(dtype)
        for name, size in sizes
    }


def check(kinds: list[tuple[str, str]]) -> None:
    """All in one process of Node.js."""
    sources = [case(name).source("wasm32", dtype) for name, dtype in kinds]
    given = [
        arrays_of(source, case(name).inputs, dtype)
        for source, (name, dtype) in zip(sources, kinds, strict=True)
    ]
    calls = [
        (module_of(source), [(source.name, arrays)]) for source, arrays in zip(sources, given, strict=True)
    ]
    for (name, dtype), source, (exports, arrays) in zip(kinds, sources, run(calls), strict=True):
        assert exports == ["memory", "heap_base", source.name]
        one, found = case(name), list(arrays.values())[-1]
        one.check([found], dtype)
        if platform.machine() == "x86_64":  # elsewhere every kernel is fused
            expected = kernel(name, dtype, "generic")(*(np.asarray(x, dtype) for x in one.inputs))
            assert np.array_equal(found, expected.ravel())


@needs_node
@pytest.mark.slow
def test_results_are_the_reference_and_bits_those_of_generic_kernels() -> None:
    check(IN_MAKE_TEST)
    assert case(IN_MAKE_TEST[2][0]).source("wasm32", "float64").figures["constant_bytes"] > 0


@needs_node
@pytest.mark.long
def test_results_of_all_cases() -> None:
    check(KINDS)


@needs_node
@pytest.mark.slow
def test_steps_and_open_parameters_use_the_stack_and_a_second_function() -> None:
    arm, h = fa.load("puma560-dhanaraj3"), 1e-3
    step = fa.generate(arm, "integration_step", target="wasm32", parameters=["link3.mass"], method="rk4")
    assert step.figures["stack_bytes"] > 0
    assert step.counts == fa.generate(arm, "integration_step", parameters=["link3.mass"], method="rk4").counts
    q, qd, tau = state(arm.n, 8)
    made = arrays_of(step, (q, qd, tau, np.array([h])), "float64")
    p = np.array([1.3 * arm.link("link3").mass])
    calls = [(f"{step.name}_prepare", {"p": p, "k": made["k"]}), (step.name, made)]
    ((exports, arrays),) = run([(module_of(step), calls)])
    assert exports == ["memory", "heap_base", f"{step.name}_prepare", step.name]
    kernel = fa.compile(arm, parameters=["link3.mass"])
    truth = kernel.simulate(q, qd, steps=1, step=h, method="rk4", torque=tau, parameters=p)
    for found, expected in ((arrays["q_next"], truth.q), (arrays["qd_next"], truth.qd)):
        assert np.abs(found - np.ravel(expected)[-arm.n :]).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("value", [0, 1, 63, 64, 127, 128, 8191, 8192, 65535, 2**31 - 1])
def test_numbers_are_read_as_they_are_written(value: int) -> None:
    assert WasmReader(leb(value)).number() == value
    assert WasmReader(signed_leb(value)).number(signed=True) == value
    assert WasmReader(b"\x7f").number(signed=True) == -1


def test_an_object_is_taken_apart_and_imports_only_what_the_linker_gives() -> None:
    source = case("torques by tables").source("wasm32", "float64")
    assert source.object is not None
    made = read_object(source.object)
    assert {name for name, _ in made.imports} <= {"__linear_memory", "__stack_pointer"}
    assert [s.name for s in made.symbols if s.name == source.name] == [source.name]
    assert sum(map(len, made.segments)) == source.figures["constant_bytes"]
    larger = linked(source.object, source.figures["stack_bytes"] + 65536, 0)
    assert len(larger) >= len(module_of(source)), "the same code behind a larger stack"


@needs_node
@pytest.mark.long
@pytest.mark.skipif(WASM_LD is None, reason="wasm-ld is not installed")
def test_another_linker_makes_a_module_that_computes_the_same(tmp_path: Path) -> None:
    for name in ("torques by tables", "accelerations by iteration"):
        one = case(name)
        source = one.source("wasm32", "float64")
        source.save(tmp_path)
        output = tmp_path / "other.wasm"
        subprocess.run(
            [
                str(WASM_LD),
                "--no-entry",
                f"--export={source.name}",
                "--export=__heap_base",
                str(tmp_path / f"{source.name}.o"),
                "-o",
                str(output),
            ],
            check=True,
        )
        arrays = arrays_of(source, one.inputs, "float64")
        ours, theirs = run(
            [(code, [(source.name, arrays)]) for code in (module_of(source), output.read_bytes())]
        )
        assert np.array_equal(list(ours[1].values())[-1], list(theirs[1].values())[-1])
