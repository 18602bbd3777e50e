"""A sample of the fuzzer's inputs; `python tools/fuzz.py --count 20000` takes more."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz import FUZZER, READERS, stl_documents
from patience import patience
from sweeps import long

from forearm.errors import InputError

SEED = 20  # any


@pytest.mark.slow
@pytest.mark.parametrize("count", [120, *long([1500])])
@pytest.mark.parametrize("reader", ["toml", "urdf", "xacro", "mjcf", "parts", "study", "stl"])
def test_every_input_gives_an_answer_or_an_error(reader: str, count: int) -> None:
    report = FUZZER.fuzz(reader, count, SEED)
    assert not report.failures, str(report)
    assert report.accepted + report.refused == count
    # Not worth the time if all inputs were broken at the first byte, or none.
    assert min(report.accepted, report.refused) > count // 20


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.filterwarnings("ignore::forearm.errors.ForearmWarning")
def test_documents_are_sound_before_they_are_broken(reader: str, tmp_path: Path) -> None:
    (tmp_path / "brick.stl").write_bytes(stl_documents()[0])
    for document in READERS[reader].documents():
        READERS[reader].check(document, tmp_path)


@pytest.mark.slow
def test_inputs_can_be_made_again() -> None:
    for reader in READERS:
        assert [FUZZER.make(reader, 4, i) for i in range(50)] == [
            FUZZER.make(reader, 4, i) for i in range(50)
        ]
        assert len({FUZZER.make(reader, 4, i) for i in range(50)}) > 40


# --- what chance does not find -------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a{} = 1", "[a{}]"])
def test_key_of_many_parts(text: str, tmp_path: Path) -> None:
    with patience(4), pytest.raises(InputError, match=r"^fuzz\.toml: "):
        READERS["toml"].check(text.format(".a" * 400_000).encode(), tmp_path)


def test_schema_too_long_to_print(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^fuzz\.toml, schema: expected 'forearm-arm/1'"):
        READERS["toml"].check(b"schema = 0x" + b"f" * 5000, tmp_path)


def test_gear_ratio_whose_square_overflows(tmp_path: Path) -> None:
    joint = (
        b'kind = "revolute"\nframe = {}\nmotor = { gear_ratio = 1e30 }\n'
        b'friction = { side = "motor", viscous = 1 }'
    )
    text = b'schema = "forearm-arm/1"\nname = "a"\n[[joint]]\n' + joint + b'\n[[link]]\nname = "link1"\n'
    READERS["toml"].check(text, tmp_path)
