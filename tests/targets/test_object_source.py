"""`generate(target=...)` and `forearm generate --target` as a user meets them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from targets.cases import case

import forearm as fa
from forearm.cli.main import main
from forearm.errors import InputError, NameNotFound
from forearm.targets.machines import TARGETS

ARM = fa.load("ascher2")
EVERY = pytest.mark.parametrize("target", TARGETS)


@EVERY
def test_a_source_has_object_header_and_counts(target: str, tmp_path: Path) -> None:
    source = fa.generate(ARM, "gravity", target=target)
    text = fa.generate(ARM, "gravity", "c", dtype=TARGETS[target].dtypes[0])
    assert source.counts == text.counts
    assert (source.name, source.language, source.target) == ("ascher2_gravity", "assembly", target)
    assert "ascher2_gravity:" in source.text, "the assembly"
    declared = text.header[text.header.index("#ifndef") :]
    assert source.header.endswith(declared), "what C code of the function declares"
    paths = source.save(tmp_path)
    endings = [".o", ".wasm", ".h"] if target == "wasm32" else [".o", ".h"]
    assert [path.name for path in paths] == [f"ascher2_gravity{ending}" for ending in endings]
    assert paths[0].read_bytes() == source.object
    assert paths[-1].read_text(encoding="ascii") == source.header
    assert (source.module is not None) == (target == "wasm32")
    assert repr(source).startswith(f"<Source 'ascher2_gravity', {target}: ")


def test_the_header_states_what_a_firmware_must_know() -> None:
    source = case("torques of the Puma").source("cortex-m4", "float32")
    said = re.sub(r"\s+\*?\s*", " ", source.header)
    figures = source.figures
    for words in (
        "-mthumb -mfloat-abi=hard -mcpu=cortex-m4 -mfpu=fpv4-sp-d16",
        f"{figures['code_bytes']} bytes of code, {figures['constant_bytes']} bytes of constants beside it",
        f"below that of the caller: {figures['stack_bytes']} bytes in puma560_inverse_dynamics.",
        f"Cycles of one call: about {figures['cycles']}.",
        "an estimate from the instructions",
        "Arm's reference manual of the Cortex-M4 (DDI 0439)",
        "The FPU must be on (CPACR)",
        "const float q[6]",
    ):
        assert words in said
    assert source.header.isascii()


def test_single_precision_is_the_default_where_there_is_nothing_else() -> None:
    assert "const float q[2]" in fa.generate(ARM, "gravity", target="cortex-m4").header
    assert "const double q[2]" in fa.generate(ARM, "gravity", target="cortex-m7").header
    with pytest.raises(InputError, match="cortex-m4 computes in float32 only; use cortex-m7"):
        fa.generate(fa.load("puma560"), "numeric_inverse_kinematics", target="cortex-m4")


def test_wrong_names_get_a_suggestion() -> None:
    refused: list[tuple[dict[str, Any], type[InputError], str]] = [
        ({"target": "cortexm4"}, NameNotFound, r"generate, target: .* did you mean 'cortex-m4'"),
        ({"target": "aarch64", "dtype": "float16"}, NameNotFound, "generate, dtype"),
        ({"target": "wasm32", "language": "python"}, InputError, "language or a target, got 'python' and"),
        ({"target": "wasm32", "name": "double"}, InputError, "cannot be called 'double'"),
        ({"target": "wasm32", "name": "memory"}, InputError, "'memory' is the name of another export"),
        ({"target": "cortex-m4", "dtype": "float64"}, InputError, "in float32 only, got dtype float64.*-m7"),
    ]
    for options, kind, said in refused:
        with pytest.raises(kind, match=said):
            fa.generate(ARM, "gravity", **options)


def test_names_of_others_stay_in_their_comment() -> None:
    """A name in an arm file may end a comment in C, or a string in LLVM's text."""
    evil = ARM.replace(name='*/ " #error \\22 %s', source="*/\n#error x /*")
    source = fa.generate(evil, "gravity", target="riscv64")
    header = source.header
    assert header.index("*/") == header.index("*/\n#ifndef"), "the comment ends once"
    assert "#error" not in header.partition("*/")[2]
    assert re.fullmatch(r"\w+", source.name)


def test_controllers_are_object_files_too() -> None:
    from forearm.control.code import controller_code

    source = controller_code(ARM, "computed_torque", target="cortex-m7", name="servo", open_gains=True)
    assert source.object is not None
    assert "void servo_prepare(const double p[" in source.header
    assert "void servo(const double q[2]" in source.header


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["generate", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_writes_and_says_sizes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "firmware"
    code, out, _ = run(capsys, "ascher2", "--function", "gravity", "--target", "cortex-m4", "-o", str(folder))
    source = fa.generate(ARM, "gravity", target="cortex-m4")
    assert code == 0
    assert (folder / "ascher2_gravity.o").read_bytes() == source.object
    size = source.figures
    said = f"{size['code_bytes']} bytes of code, 0 of constants, {size['stack_bytes']} of stack"
    assert f"{said}, about {size['cycles']} cycles" in " ".join(out.split())
    assert out.splitlines()[-2:] == [f"wrote {folder / name}" for name in source.files()]


def test_the_command_prints_header_and_assembly_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    source = fa.generate(ARM, "gravity", target="wasm32")
    assert (
        run(capsys, "ascher2", "--function", "gravity", "--target", "wasm32")[1]
        == f"{source.header}\n{source.text}"
    )
    document = json.loads(run(capsys, "ascher2", "--function", "gravity", "--target", "wasm32", "--json")[1])
    assert document["files"] == {"ascher2_gravity.h": source.header}
    assert {name: base64.b64decode(text) for name, text in document["base64"].items()} == {
        "ascher2_gravity.o": source.object,
        "ascher2_gravity.wasm": source.module,
    }
    assert (document["target"], document["dtype"]) == ("wasm32", "float64")
    assert document["figures"] == source.figures


def test_mistakes_at_the_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(capsys, "ascher2", "--target", "cortex-m5")
    err = capsys.readouterr().err
    assert err.startswith("forearm: --target: expected one of cortex-m4, cortex-m7,")
    code, _, err = run(capsys, "ascher2", "--target", "cortex-m4", "--dtype", "float64")
    assert code == 2
    assert err.startswith("forearm: --dtype: the FPU of cortex-m4 computes in float32 only")
    assert "leave --dtype out" in " ".join(err.split())
