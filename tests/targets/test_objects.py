"""What object files hold: the symbols that a header declares and no others, attributes for linkers, nothing
of the machine that they were made on; and that files which are not whole are refused.
"""

from __future__ import annotations

import struct
from typing import Any

import pytest
from targets.cases import case

import forearm as fa
from forearm.errors import ForearmError
from forearm.targets import emit
from forearm.targets.machines import TARGETS, WASM
from forearm.targets.measured import check_whole
from forearm.targets.object_file import SYMTAB, sections, sizes, undefined_symbols

ELF = [name for name, machine in TARGETS.items() if machine.family != WASM]
EVERY = pytest.mark.parametrize("target", TARGETS)
MACHINES = {"cortex-m4": 40, "cortex-m7": 40, "aarch64": 183, "riscv64": 243, "x86-64-v3": 62}
GLOBAL = 1
VFP_ARGUMENTS = bytes([28, 1])  # Tag_ABI_VFP_args: floats are passed in registers
HARD_FLOAT, LP64D = 0x400, 0x4  # in the flags of a file
ABSOLUTE = {"aarch64": {257, 258}, "riscv64": {1, 2, 26, 27, 28}, "x86-64-v3": {1, 10, 11}}
PUMA = "torques of the Puma"
TABLES = "torques by tables"
# A function of the C library, memory of its own, and a variable: what code of forearm must not have.
LIBRARY = """
declare double @sin(double)
define void @f(ptr %x) nounwind {
  %a = load double, ptr %x
  %b = call double @sin(double %a)
  store double %b, ptr %x
  ret void
}
"""
VARIABLE = """
@kept = internal global double 1.0
define void @f(ptr %x) nounwind {
  %a = load double, ptr %x
  store double %a, ptr @kept
  ret void
}
"""


def code_of(target: str, name: str = PUMA) -> bytes:
    source = case(name).source(target, TARGETS[target].dtypes[0])
    assert source.object is not None
    return source.object


def global_symbols(code: bytes) -> list[str]:
    """Names that others see."""
    table = sections(code)
    symbols = next(s for s in table if s.kind == SYMTAB)
    wide = code[4] == 2
    found = []
    for at in range(symbols.offset, symbols.offset + symbols.size, 24 if wide else 16):
        (name,) = struct.unpack_from("<I", code, at)
        info = code[at + (4 if wide else 12)]
        if info >> 4 == GLOBAL:
            start = table[symbols.link].offset + name
            found.append(code[start : code.index(b"\0", start)].decode())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("target", ELF)
def test_a_file_is_for_its_machine_and_defines_what_the_header_declares(target: str) -> None:
    code = code_of(target)
    kind, machine = struct.unpack_from("<HH", code, 16)
    assert (kind, machine) == (1, MACHINES[target])
    assert code[4] == (1 if machine == 40 else 2), "32 bits, or 64"
    assert global_symbols(code) == ["puma560_inverse_dynamics"]
    assert undefined_symbols(code) == []
    found = sizes(code)
    assert found.variables == 0
    assert case(PUMA).source(target, TARGETS[target].dtypes[0]).figures["code_bytes"] == found.code
    assert any(s.name == ".note.GNU-stack" for s in sections(code)), "no executable stack"


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m7"])
def test_microcontrollers_pass_floats_in_registers(target: str) -> None:
    code = code_of(target)
    attributes = next(s for s in sections(code) if s.name == ".ARM.attributes")
    content = code[attributes.offset :][: attributes.size]
    assert VFP_ARGUMENTS in content
    assert target.encode() in content.lower()


def test_risc_v_passes_doubles_in_registers() -> None:
    (flags,) = struct.unpack_from("<I", code_of("riscv64"), 48)
    assert flags & 0x6 == LP64D


@pytest.mark.slow
@pytest.mark.parametrize("target", ABSOLUTE)
def test_files_of_64_bits_are_position_independent(target: str) -> None:
    code = code_of(target, TABLES)
    kinds = set()
    for s in sections(code):
        if s.name.startswith(".rela.text"):
            for at in range(s.offset, s.offset + s.size, 24):
                kinds.add(struct.unpack_from("<QQq", code, at)[1] & 0xFFFFFFFF)
    assert kinds, "the table's address"
    assert not kinds & ABSOLUTE[target]


@EVERY
def test_the_same_bytes_again_and_nothing_of_this_machine(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case(PUMA)
    before = one.source(target, TARGETS[target].dtypes[0])
    monkeypatch.setenv("FOREARM_CPU", "generic")
    again = fa.generate(one.arm, one.function, target=target)
    assert (again.object, again.module, again.header, again.text) == (
        before.object,
        before.module,
        before.header,
        before.text,
    )
    for word in (b"/home", b"/tmp", b"/usr", b"<string>", b"llvmlite"):
        assert word not in code_of(target)


@EVERY
@pytest.mark.parametrize(
    ("text", "what"), [(LIBRARY, "would need sin from a library"), (VARIABLE, "variables")]
)
def test_a_file_that_is_not_whole_is_refused(target: str, text: str, what: str) -> None:
    machine = TARGETS[target]
    code, _ = emit.emitted(text, "f", machine)
    with pytest.raises(ForearmError, match=what):
        check_whole(code, machine)


def test_soft_float_would_be_noticed() -> None:
    """Doubles on a Cortex-M4 are calls of a library, which is why float64 is refused there."""
    text = LIBRARY.replace("call double @sin(double %a)", "fadd double %a, 1.0")
    code, _ = emit.emitted(text, "f", TARGETS["cortex-m4"])
    with pytest.raises(ForearmError, match="would need __aeabi_dadd from a library"):
        check_whole(code, TARGETS["cortex-m4"])


def test_llvm_without_a_target_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        class Target:
            @staticmethod
            def from_triple(triple: str) -> Any:
                raise RuntimeError("no such target")

        @staticmethod
        def initialize_all_targets() -> None: ...

        @staticmethod
        def initialize_all_asmprinters() -> None: ...

    monkeypatch.setattr(emit, "llvm_library", lambda: Without)
    with pytest.raises(
        ForearmError, match=r"without LLVM's target for riscv64; the wheels on PyPI include it"
    ):
        emit.emitted("", "f", TARGETS["riscv64"])


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x02\x01", b"MZ"])
def test_other_files_are_no_objects(data: bytes) -> None:
    with pytest.raises(ForearmError, match="expected a little-endian ELF object"):
        sections(data)
