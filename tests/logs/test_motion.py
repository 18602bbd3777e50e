"""One table of a motion: written and read in every format, and what of other tables is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

from forearm.logs.motion import ALL_ENDINGS, BLOCKS, MotionLog, read_motion_log

JOINTS = ("base", "elbow")
RNG = np.random.default_rng(3)
T = np.array([0.0, 0.1, 0.25, 0.3])


def a_log(**changes: Any) -> MotionLog:
    blocks = {x: RNG.normal(size=(len(T), 2)) for x in BLOCKS}
    return MotionLog(JOINTS, T, **(blocks | changes))


@pytest.mark.parametrize("ending", ALL_ENDINGS)
def test_written_and_read_it_is_the_same_to_the_bit(ending: str, tmp_path: Path) -> None:
    log = a_log(current=None)
    path = tmp_path / f"motion{ending}"
    log.save(path)
    again = read_motion_log(path, JOINTS)
    assert again.t.tobytes() == T.tobytes()
    assert again.blocks.keys() == log.blocks.keys()
    for x, block in log.blocks.items():
        assert again.blocks[x].tobytes() == block.tobytes(), x
    assert again.current is None
    assert again.ignored == ()


@pytest.mark.parametrize("ending", ALL_ENDINGS)
def test_what_is_not_used_is_not_read_and_is_listed(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"motion{ending}"
    a_log().save(path)
    log = read_motion_log(path, JOINTS, used=("tau",))
    assert list(log.blocks) == ["tau"]
    assert set(log.ignored) == set(BLOCKS) - {"tau"}


def test_other_columns_are_listed_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("t,temperature,position_0,position_1,note\n0,20,1,2,0\n0.5,21,3,4,0\n")
    log = read_motion_log(path, JOINTS)
    assert log.q is not None
    assert log.q.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert log.ignored == ("temperature", "note")


def test_an_archive_of_numpy_is_read(tmp_path: Path) -> None:
    log = a_log()
    np.savez(tmp_path / "a.npz", t=log.t, q=log.blocks["q"], extra=np.zeros(3))
    again = read_motion_log(tmp_path / "a.npz", JOINTS)
    assert np.array_equal(again.blocks["q"], log.blocks["q"])
    np.savez_compressed(tmp_path / "b.npz", t=log.t, q=log.blocks["q"])
    with refused(r"InputError.*b\.npz: not an archive of forearm or numpy\.savez, or damaged"):
        read_motion_log(tmp_path / "b.npz", JOINTS)


def test_times_come_in_seconds_whatever_the_column_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time_ms,q1,q2\n0,1,2\n500,3,4\n")
    assert read_motion_log(path, JOINTS).t.tolist() == [0.0, 0.5]
    path.write_text("%time,field.position0,field.position1\n1000000000,1,2\n1500000000,3,4\n")
    assert read_motion_log(path, JOINTS).t.tolist() == [1.0, 1.5]


def test_rows_without_times_are_a_period_apart() -> None:
    rows = {"q": np.zeros((3, 2))}
    assert read_motion_log(rows, JOINTS, period=0.25).t.tolist() == [0.0, 0.25, 0.5]
    with refused(r"InputError.*log: no time column \(t, time, .*\); give the sampling period"):
        read_motion_log(rows, JOINTS)
    with refused("InputError.*there is already a time column; omit period"):
        read_motion_log(rows | {"t": [0.0, 1.0, 2.0]}, JOINTS, period=1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"speed": [1.0, 2.0]}, "log: 'speed' is not a quantity of a motion; known are t, q, qd"),
        ({"q": [[1.0], [2.0]]}, r"log, q: expected shape \(T, 2\) with one T for all, got \(2, 1\)"),
        ({"t": [0.0], "q": np.zeros((2, 2))}, r"log, t: expected shape \(T\) with one T for all, got \(1,\)"),
        ({"q": [[1.0, 2.0], [3.0, np.nan]]}, "log, q: row 1 is nan; remove such rows"),
        ({"t": [1.0, 1.0], "q": np.zeros((2, 2))}, r"time does not increase from row 0 \(1 s\) to row 1"),
        ({"t": [], "q": np.zeros((0, 2))}, "log: no usable row"),
        ({"t": [0.0], "q": [["a", "b"]]}, "log, q: expected numbers"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(given: dict[str, Any], words: str) -> None:
    with refused(f"InputError.*{words}"):
        read_motion_log({"t": [0.0, 1.0]} | given, JOINTS)


def test_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    for name, text, words in (
        ("log.csv", "t,q1\n0,1\n", r"log\.csv: q is present for some joints only; missing: q2\..* Give q"),
        ("log.csv", "t,x\n0,1\n", r"no column with q or qd .*; the file has t, x\. Map other names"),
        ("log.json", "[1]", r"log\.json: expected a table with t, q and others as keys"),
        ("log.json", "{", r"log\.json: not valid JSON"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with refused(f"InputError.*{words}"):
            read_motion_log(tmp_path / name, JOINTS)
    path = tmp_path / "log.json"
    path.write_text(
        '{"t": [0], "q": [[1, 2]], "format": "forearm-motion/1", "voltage": null}', encoding="utf-8"
    )
    assert list(read_motion_log(path, JOINTS).blocks) == ["q"]
    with refused(r"InputError.*a\.xlsx: expected an ending of \.csv, \.parquet"):
        a_log().save(tmp_path / "a.xlsx")


def test_too_many_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_log().save(tmp_path / "a.csv")
    monkeypatch.setattr("forearm.logs.motion.MOST_ROWS", 3)
    with refused("InputError.*more than 3 rows; split it"):
        read_motion_log(tmp_path / "a.csv", JOINTS)
