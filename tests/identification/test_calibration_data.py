"""Measured hands from files: every way to write an orientation, units that are asked about, what lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from identification.measured_arms import Floats, small_arm, truth_of

from forearm.errors import InputError
from forearm.identification import read_measurements
from forearm.kinematics.orientation import orientation_of
from forearm.logs.table import write_table

TRUTH = truth_of(small_arm(), "offsets", 9)
FORMS = {
    "quaternion_xyzw": ("qx", "qy", "qz", "qw"),
    "rpy": ("roll", "pitch", "yaw"),
    "rotation_vector": ("rx", "ry", "rz"),
}


def table(form: str | None) -> dict[str, Floats]:
    columns = {f"q{k + 1}": TRUTH.q[:, k] for k in range(4)}
    columns |= {x: TRUTH.poses[:, k, 3] for k, x in enumerate("xyz")}
    if form is not None:
        turned = orientation_of(TRUTH.poses[:, :3, :3], form)
        columns |= {x: turned[:, k] for k, x in enumerate(FORMS[form])}
    return columns


@pytest.mark.parametrize("form", FORMS)
def test_tables_have_poses_in_every_form(form: str, tmp_path: Path) -> None:
    write_table(tmp_path / "poses.csv", table(form))
    found = read_measurements(small_arm(), tmp_path / "poses.csv")
    assert found.poses is not None
    assert np.abs(found.poses - TRUTH.poses).max() < 1e-12
    assert (found.q == TRUTH.q).all()
    assert found.rows.tolist() == list(range(1, 10))
    assert found.columns == ("q1", "q2", "q3", "q4")


def test_archives_and_documents_have_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "poses.npz", q=TRUTH.q, poses=TRUTH.poses)
    document = {"q": TRUTH.q.tolist(), "points": TRUTH.poses[:, :3, 3].tolist()}
    (tmp_path / "points.json").write_text(json.dumps(document), encoding="utf-8")
    poses = read_measurements(small_arm(), tmp_path / "poses.npz").poses
    assert poses is not None
    assert np.abs(poses - TRUTH.poses).max() < 1e-12
    points = read_measurements(small_arm(), tmp_path / "points.json").points
    assert points is not None
    assert np.abs(points - TRUTH.poses[:, :3, 3]).max() == 0.0


def test_units_and_other_names_are_told(tmp_path: Path) -> None:
    columns = table("rpy")
    slide = columns["q4"]
    wrong = {
        x: np.degrees(column) if x[0] in "qrpy" and x not in "xyz" else 1e3 * column
        for x, column in columns.items()
    }
    named = {f"tool_{x}" if x in "xyz" else x: column for x, column in (wrong | {"q4": 1e3 * slide}).items()}
    write_table(tmp_path / "poses.csv", named)
    theirs = {f"tool_{x}": x for x in "xyz"}
    found = read_measurements(small_arm(), tmp_path / "poses.csv", columns=theirs, units="deg,mm")
    assert found.poses is not None
    assert np.abs(found.poses - TRUTH.poses).max() < 1e-12
    assert np.abs(found.q - TRUTH.q).max() < 1e-12


def changed(form: str | None = None, **columns: Floats) -> dict[str, Floats]:
    return table(form) | columns


def without(form: str, *names: str) -> dict[str, Floats]:
    return {x: column for x, column in table(form).items() if x not in names}


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (changed(q2=np.degrees(TRUTH.q[:, 1])), "column q2 (joint2) is"),
        (changed(x=1e3 * TRUTH.poses[:, 0, 3]), "column x spans"),
        (changed("rpy", yaw=np.full(9, 200.0)), "column yaw is 200 in row 1, more than a turn"),
        (changed("quaternion_xyzw", qw=np.full(9, 2.0)), "the quaternion qx, qy, qz, qw has length"),
        (without("rpy", "pitch"), "incomplete orientation, pitch missing"),
        (changed("rpy") | changed("rotation_vector"), "two sets of orientation columns"),
        (without("rpy", "z"), "no column z"),
        (without("rpy", "q3"), "no column q3"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_by_its_column(
    columns: dict[str, Floats], text: str, tmp_path: Path
) -> None:
    write_table(tmp_path / "data.csv", columns)
    with pytest.raises(InputError) as caught:
        read_measurements(small_arm(), tmp_path / "data.csv")
    assert text in str(caught.value)
    assert "data.csv" in str(caught.value)


def test_other_mistakes_are_said(tmp_path: Path) -> None:
    bad, good = tmp_path / "a.json", tmp_path / "b.csv"
    bad.write_text("[1", encoding="utf-8")
    write_table(good, table(None))
    asked: list[tuple[Any, dict[str, Any], str]] = [
        (bad, {}, "not valid JSON"),
        (good, {"units": "inch"}, "units: unknown unit 'inch'"),
        (good, {"units": "m,mm"}, "lengths have two units"),
        ({"poses": TRUTH.poses}, {}, "no q"),
        ({"q": TRUTH.q, "points": TRUTH.q}, {}, r"points: expected shape \(9, 3\)"),
    ]
    for source, more, text in asked:
        with pytest.raises(InputError, match=text):
            read_measurements(small_arm(), source, **more)
