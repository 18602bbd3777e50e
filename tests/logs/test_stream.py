"""The doors: which files are opened, and that a log appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from forearm.errors import InputError
from forearm.logs.columns import Question, find_columns
from forearm.logs.stream import check_apart, reading, writing
from forearm.logs.summary import RowSummary

QUESTION = Question(("a", "b"), ("q", "qd"), "tau")


def fail_while_writing(folder: Path, target: Path, failure: BaseException) -> None:
    source = folder / "log.csv"
    source.write_text("q1,q2\n1,2\n")
    with reading(str(source)) as log:
        columns = find_columns(log.header, QUESTION, log.name, True)
        with writing(str(target), log, columns) as writer:
            for block in log.blocks(columns, whole=True):
                writer.write(block, block.states["q"])
            raise failure


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt(), InputError("x"), RuntimeError(), MemoryError()], ids=repr
)
def test_after_a_failure_nothing_new_is_there_and_the_old_stays(
    kind: str, failure: BaseException, tmp_path: Path
) -> None:
    target = tmp_path / f"out.{kind}"
    for before in ([], [target.name]):
        for name in before:
            (tmp_path / name).write_text("old")
        with pytest.raises(type(failure)):
            fail_while_writing(tmp_path, target, failure)
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["log.csv", *before])
    assert target.read_text(encoding="utf-8") == "old"


def test_a_full_disk_is_an_error_of_the_target(tmp_path: Path) -> None:
    with refused(r"InputError.*out\.csv: cannot be written: No space left on device"):
        fail_while_writing(tmp_path, tmp_path / "out.csv", OSError(28, os.strerror(28)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.csv", r"missing\.csv: no such file\. Check the path\."),
        ("folder.csv", r"folder\.csv: a folder, not a file\."),
        ("log.xlsx", r"log\.xlsx: a table of states .* ends in \.csv, \.tsv, \.txt, \.parquet or \.pq\."),
        ("pipe.parquet", r"pipe\.parquet: a pipe or a device; only CSV logs can be read from one\."),
        ("nul\0.csv", "cannot be read|no such file"),
    ],
)
def test_what_cannot_be_opened(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(InputError, match=message), reading(str(tmp_path / name)):
        pass


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.xlsx", r"out\.xlsx: a table of states .* ends in \.csv, \.parquet or \.pq"),
        ("no/folder/out.csv", "cannot be written: No such file or directory"),
        ("pipe.csv", "cannot be written: it is a device or a pipe, which a file cannot replace"),
        ("folder.csv", "cannot be written: Is a directory"),
        ("nul\0.csv", "cannot be written"),
    ],
)
def test_what_cannot_be_written(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "log.csv").write_text("q1,q2\n1,2\n")
    with reading(str(tmp_path / "log.csv")) as log:
        columns = find_columns(log.header, QUESTION, log.name, True)
        with pytest.raises(InputError, match=message), writing(str(tmp_path / name), log, columns):
            pass
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.csv", "log.csv", "pipe.csv"]


def test_the_result_may_not_replace_the_log(tmp_path: Path) -> None:
    log, link, hard = (tmp_path / name for name in ("log.csv", "link.csv", "hard.csv"))
    log.write_text("q1\n1\n")
    link.symlink_to(log)
    hard.hardlink_to(log)
    for other in (log, link, hard, tmp_path / "." / "log.csv"):
        with refused("InputError.*this is the file that --from reads"):
            check_apart(str(log), str(other))
    check_apart(str(log), str(tmp_path / "new.csv"))
    check_apart("-", "-")


def test_the_fraction_read_ends_at_one(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("q1,q2\n" + "1,2\n" * 1000)
    with reading(str(path)) as log:
        start = log.fraction()
        assert start is not None
        assert start < 0.01
        list(log.blocks(find_columns(log.header, QUESTION, log.name, True), whole=False))
        assert log.fraction() == 1.0


def test_summary_is_the_same_whole_or_in_blocks() -> None:
    numbers = np.random.default_rng(2).normal(size=(100, 3))
    numbers[17, 1] = np.nan
    parts = RowSummary(3)
    for block in np.array_split(numbers, 7):
        parts.add(block)
    kept = np.delete(numbers, 17, axis=0)
    assert (parts.rows, parts.not_finite) == (100, 1)
    assert np.array_equal(parts.smallest, kept.min(axis=0))
    assert np.array_equal(parts.largest, kept.max(axis=0))
    assert np.allclose(parts.rms, np.sqrt((kept**2).mean(axis=0)), rtol=1e-14)
    assert np.array_equal(parts.max_abs, np.abs(kept).max(axis=0))
    assert np.array_equal(np.abs(numbers[parts.max_abs_row - 1, range(3)]), parts.max_abs)
