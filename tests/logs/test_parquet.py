"""Parquet logs, and one kind of log into the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forearm.errors import InputError
from forearm.logs import arrow, csvfile, parquet
from forearm.logs.columns import Question, find_columns
from forearm.logs.stream import reading, writing
from forearm.spatial import Floats

QUESTION = Question(("a", "b"), ("q", "qd"), "tau")
RNG = np.random.default_rng(3)


def copy(source: Path, target: Path) -> Floats:
    """The log with tau = q + 10 qd behind it; returns tau."""
    made = []
    with reading(str(source)) as log:
        columns = find_columns(log.header, QUESTION, log.name, True)
        with writing(str(target), log, columns) as writer:
            for block in log.blocks(columns, whole=True):
                tau = block.states["q"] + 10.0 * block.states["qd"]
                writer.write(block, tau)
                made.append(tau)
    return np.concatenate(made) if made else np.empty((0, 2))


def refusal(source: Path, target: Path) -> str:
    with pytest.raises(InputError) as error:
        copy(source, target)
    assert [p.name for p in source.parent.iterdir()] == [source.name], "nothing half-written stays behind"
    return str(error.value)


def parquet_log(tmp_path: Path, **columns: Any) -> Path:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def text_log(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(text)
    return path


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BLOCK", 7)
    monkeypatch.setattr(csvfile, "BLOCK", 100)


@pytest.mark.usefixtures("_small_blocks")
def test_columns_come_through_unchanged_and_results_behind_them(tmp_path: Path) -> None:
    q1, q2 = RNG.normal(size=(2, 50))
    table = pa.table(
        {
            "t": pa.array(np.arange(50), pa.int64()),
            "q2": pa.array(q2, pa.float32()),
            "note": pa.array([None, "x, y"] * 25),
            "q1": q1,
            "qd1": pa.array(np.arange(50), pa.uint8()),
            "qd2": pa.array(np.arange(50), pa.int32()),
            "force": pa.array([[1.0, 2.0]] * 50),
        },
        metadata={"robot": "r2"},
    )
    source, target = tmp_path / "log.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source, row_group_size=20)
    tau = copy(source, target)
    out = pq.read_table(target)
    assert out.select(table.column_names).replace_schema_metadata(None) == table.replace_schema_metadata(None)
    assert out.schema.metadata[b"robot"] == b"r2"
    assert out.column_names[-2:] == ["tau1", "tau2"]
    assert np.array_equal(np.column_stack([out["tau1"], out["tau2"]]), tau)
    assert np.array_equal(tau, np.column_stack([q1, q2.astype(np.float32)]) + 10.0 * np.arange(50)[:, None])


@pytest.mark.usefixtures("_small_blocks")
def test_text_to_parquet_and_back_keeps_every_bit(tmp_path: Path) -> None:
    numbers = RNG.normal(size=(40, 2)) * 10.0 ** RNG.integers(-300, 300, size=(40, 1))
    lines = [f"{k + 2**60},{a!r},{b!r},{k},word {k}," for k, (a, b) in enumerate(numbers.tolist())]
    source = text_log(tmp_path, "stamp,q1,q2,count,note,empty\n" + "\n".join(lines) + "\n")
    tau = copy(source, tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.column_names == ["stamp", "q1", "q2", "count", "note", "empty", "tau1", "tau2"]
    kinds = "int64 double double double string string double double"
    assert [str(field.type) for field in out.schema] == kinds.split()
    assert out["stamp"].to_pylist() == [k + 2**60 for k in range(40)]
    assert out["note"].to_pylist() == [f"word {k}" for k in range(40)]
    assert np.column_stack([out["tau1"], out["tau2"]]).tobytes() == tau.tobytes() == numbers.tobytes()
    renamed = out.rename_columns(["stamp", "x", "y", "count", "note", "empty", "q1", "q2"])
    pq.write_table(renamed, tmp_path / "log.parquet")
    assert copy(tmp_path / "log.parquet", tmp_path / "back.csv").tobytes() == numbers.tobytes()
    header, *rows = (tmp_path / "back.csv").read_text(encoding="utf-8").splitlines()
    assert header == "stamp,x,y,count,note,empty,q1,q2,tau1,tau2"
    back = np.array([row.split(",")[-2:] for row in rows], dtype=float)
    assert back.tobytes() == numbers.tobytes()


def test_text_to_parquet_with_any_writing_of_numbers_and_quotes(tmp_path: Path) -> None:
    copy(text_log(tmp_path, 'q2;q1;note\n+2; 1.50;"a;b"\n4.;3e0;"say ""x"""\n'), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {
        "q2": [2.0, 4.0],
        "q1": [1.5, 3.0],
        "note": ["a;b", 'say "x"'],
        "tau1": [1.5, 3.0],
        "tau2": [2.0, 4.0],
    }


def test_names_with_a_dot_are_columns_not_paths(tmp_path: Path) -> None:
    source = parquet_log(tmp_path, **{"q.b": [2.0], "q.a": [1.0], "q": [7.0]})
    with reading(str(source)) as log:
        (block,) = log.blocks(find_columns(log.header, QUESTION, log.name, False), whole=False)
    assert block.states["q"].tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("source", ["log.csv", "log.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_a_log_without_rows_keeps_its_columns(source: str, target: str, tmp_path: Path) -> None:
    text_log(tmp_path, "q1,q2\n")
    pq.write_table(
        pa.table({"q1": pa.array([], pa.float64()), "q2": pa.array([], pa.float64())}),
        tmp_path / "log.parquet",
    )
    copy(tmp_path / source, tmp_path / target)
    with reading(str(tmp_path / target)) as log:
        assert log.header == ("q1", "q2", "tau1", "tau2")


@pytest.mark.parametrize(
    ("columns", "target", "words"),
    [
        ({"q2": [None]}, "out.parquet", "row 24, column 'q2': expected a finite number, got an empty field."),
        ({"q2": [np.nan]}, "out.parquet", "row 24, column 'q2': expected a finite number, got nan."),
        ({"q2": [np.inf]}, "out.parquet", "row 24, column 'q2': expected a finite number, got inf."),
        ({"q2": ["1.0"] * 24}, "out.parquet", "log.parquet, column 'q2': expected numbers, got 'string'."),
        ({"q2": [True] * 24}, "out.parquet", "log.parquet, column 'q2': expected numbers, got 'bool'."),
        ({"force": [[1.0, 2.0]] * 24}, "out.csv", "out.csv: column 'force' holds"),
    ],
)
@pytest.mark.usefixtures("_small_blocks")
def test_a_fault_is_reported_with_its_row(
    columns: dict[str, list[Any]], target: str, words: str, tmp_path: Path
) -> None:
    """In the last of 24 rows, or in all of them."""
    made = {name: [0.5] * (24 - len(values)) + values for name, values in columns.items()}
    source = parquet_log(tmp_path, **({"q1": [0.5] * 24, "q2": [0.5] * 24} | made))
    assert words in refusal(source, tmp_path / target)


@pytest.mark.usefixtures("_small_blocks")
def test_a_carried_column_that_turns_from_numbers_to_words_is_refused_with_its_line(tmp_path: Path) -> None:
    source = text_log(tmp_path, "q1,q2,x\n" + "1,2,3\n" * 60 + "1,2,off\n" + "1,2,3\n" * 60)
    text = refusal(source, tmp_path / "out.parquet")
    assert (
        text == "log.csv, line 62, column 'x': expected numbers as before, got 'off'. Write to a .csv "
        "file to keep both."
    )


@pytest.mark.parametrize("data", [b"", b"PAR1", b"q1,q2\n1,2\n", b"PAR1" + b"\xff" * 100 + b"PAR1"])
def test_what_is_no_parquet_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(data)
    assert refusal(path, tmp_path / "out.csv").startswith("log.parquet: cannot be read as Parquet: ")


def test_a_damaged_parquet_is_refused_or_read_but_never_crashes(tmp_path: Path) -> None:
    whole = parquet_log(tmp_path, q1=RNG.normal(size=500), q2=RNG.normal(size=500)).read_bytes()
    path, out = tmp_path / "log.parquet", tmp_path / "out.parquet"
    for _ in range(30):
        damaged = bytearray(whole)
        for place in RNG.integers(0, len(whole), size=4):
            damaged[place] = RNG.integers(0, 256)
        path.write_bytes(damaged)
        out.unlink(missing_ok=True)
        try:
            copy(path, out)
        except InputError:
            assert not out.exists(), "a log that is refused leaves nothing"
        else:
            assert out.exists()


def test_without_pyarrow_parquet_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = text_log(tmp_path, "q1,q2\n1,2\n")
    monkeypatch.setattr(arrow, "arrow", lambda: None)
    advice = "Parquet files need pyarrow, which is not installed: pip install 'forearm[parquet]'."
    assert refusal(source, tmp_path / "out.parquet") == f"out.parquet: {advice}"
    source.rename(tmp_path / "log.parquet")
    assert refusal(tmp_path / "log.parquet", tmp_path / "out.csv") == f"log.parquet: {advice}"
