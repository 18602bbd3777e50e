"""Motions in files: switching points back to the bit, tables as other programs read them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

from forearm.errors import ForearmError, InputError
from forearm.trajectories import MotionLimits, Switching, load_motion, load_switching, through

FIELDS = ("points", "velocities", "phases", "accelerations")


@pytest.fixture(scope="module")
def motion() -> Switching:
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (5, 3))
    return through(points, None, MotionLimits([2.0, 3.1, 4.7], [1.2, 2.3, 1.9], -2.0, 2.0))


def test_switching_points_come_back_to_the_bit(motion: Switching, tmp_path: Path) -> None:
    motion.save(tmp_path / "motion.json")
    again = load_switching(tmp_path / "motion.json")
    for name in FIELDS:
        assert np.array_equal(getattr(again, name), getattr(motion, name)), name
    t = np.linspace(0.0, motion.duration, 101)
    assert all(np.array_equal(x, y) for x, y in zip(motion.at(t), again.at(t), strict=True))


def test_tables_hold_the_sampled_motion(motion: Switching, tmp_path: Path) -> None:
    import pyarrow.parquet

    motion.save(tmp_path / "motion.csv", step=0.01)
    motion.save(tmp_path / "motion.parquet", step=0.01)
    with (tmp_path / "motion.csv").open() as stream:
        names = stream.readline().strip().split(",")
        rows = np.loadtxt(stream, delimiter=",")
    assert names == ["t", *(f"{x}{i}" for x in ("q", "qd", "qdd") for i in (1, 2, 3))]
    assert len(rows) == int(motion.duration / 0.01) + 2
    assert rows[-1, 0] == motion.duration
    assert np.array_equal(rows[:, 1:], np.hstack(motion.at(rows[:, 0])))
    table = pyarrow.parquet.read_table(tmp_path / "motion.parquet")
    assert np.array_equal(np.column_stack([table.column(name).to_numpy() for name in names]), rows)


def test_other_endings_and_too_many_rows_are_refused(motion: Switching, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"motion\.txt: a motion ends in \.json, \.csv"):
        motion.save(tmp_path / "motion.txt")
    with pytest.raises(InputError, match="gives more than 10000000 rows"):
        motion.save(tmp_path / "motion.csv", step=1e-9)
    with pytest.raises(ForearmError, match="step"):
        motion.save(tmp_path / "motion.csv", step=0.0)
    assert list(tmp_path.iterdir()) == []


SPOILT: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "phases": (
        lambda d: {"phases": [[[1.0, 2.0, 3.0]] * 3] * 4},
        r"segment 1: its phases miss the next point",
    ),
    "shape": (lambda d: {"points": d["points"][:-1]}, r"points: expected 5 x 3 numbers"),
    "ragged": (lambda d: {"velocities": [[0.0], [0.0, 1.0]]}, r"velocities: expected 5 x 3 numbers"),
    "format": (lambda d: {"format": "forearm-switching/9"}, r"format: expected one of forearm-switching/1"),
    "negative": (
        lambda d: {"phases": [[[-1.0, 0.0, 0.0]] * 3] * 4},
        r"phases\[1\]\[1\]\[1\]: must be at least 0",
    ),
    "text": (lambda d: {"points": "none"}, r"points: expected a list of values"),
    "key": (lambda d: {"point": 1}, r"unknown key 'point'; did you mean 'points'"),
    "empty": (lambda d: {key: [] for key in FIELDS}, r"points: expected 1 x 0 numbers"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_damaged_files_are_refused_with_the_place(motion: Switching, tmp_path: Path, name: str) -> None:
    path, (change, message) = tmp_path / "motion.json", SPOILT[name]
    motion.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | change(document)), encoding="utf-8")
    with pytest.raises(ForearmError, match=rf"motion\.json.*{message}"):
        load_switching(path)


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[]", '{"format": NaN}'])
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "motion.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"motion\.json"):
        load_switching(tmp_path / "motion.json")


@pytest.mark.parametrize("name", ["forearm-spline/1", 3, None])
def test_a_format_that_is_none_of_ours_is_refused_by_name(name: object, tmp_path: Path) -> None:
    file = tmp_path / "motion.json"
    said = r"motion\.json, format: expected one of forearm-hand-line, .*, forearm-switching, got {}\. A table"
    more: dict[str, Any]
    for more in ({}, {"t": [0.0, 1.0], "q": [[0.0] * 3] * 2}):
        file.write_text(json.dumps({"format": name} | more), encoding="utf-8")
        with pytest.raises(InputError, match=said.format(re.escape(repr(name)))):
            load_motion(random_arm(4, 3), file)


def test_a_table_needs_no_format(tmp_path: Path) -> None:
    file = tmp_path / "motion.json"
    for more in ({}, {"format": "forearm-motion/1"}):
        file.write_text(json.dumps({"t": [0.0, 1.0], "q": [[0.1, 0.2, 0.3]] * 2, **more}), encoding="utf-8")
        assert load_motion(random_arm(4, 3), file).at(0.5)[0] == pytest.approx([0.1, 0.2, 0.3])
