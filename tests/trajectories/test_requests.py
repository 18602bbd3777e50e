"""Requests and their files: joint and hand coordinates, open velocities, limits,
and errors that name the place.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from forearm.errors import ForearmError, InputError
from forearm.files.load import load
from forearm.reading.textfile import parse_toml
from forearm.spatial import pose_xyz_rpy
from forearm.trajectories import Request, Waypoint, arm_limits, read_request
from forearm.trajectories.requestfile import request_from_document, request_schema

TEXT = """
schema = "forearm-request/1"
name = "reach"

[limits]
acceleration = [4.0, 4.0, 5.0, 8.0, 8.0, 8.5]
velocity = 1.2
lower = [-2.0, "-200 deg", -2, -3, -2, -3]

[[waypoint]]
q = [0.0, "-45 deg", 0.3, "pi/4", 0, 0.1]
qd = [0, 0, 0, 0, 0, 0]

[[waypoint]]
name = "over the bin"
xyz = [0.4, 0.1, 0.3]
rpy = ["180 deg", 0.0, "90 deg"]

[[waypoint]]
matrix = [[1, 0, 0, 0.5], [0, 1, 0, 0.0], [0, 0, 1, 0.2], [0, 0, 0, 1]]
hand_velocity = [0.1, 0, 0, 0, 0, 0.2]
"""


def read(text: str) -> Request:
    return request_from_document(parse_toml(text.encode(), "reach.toml"), "reach.toml")


def test_a_file_gives_its_request(tmp_path: Path) -> None:
    (tmp_path / "reach.toml").write_text(TEXT, encoding="utf-8")
    request = read_request(tmp_path / "reach.toml")
    first, second, third = request.waypoints
    assert request.name == "reach"
    assert first.q is not None
    assert first.q.tolist() == [0.0, np.radians(-45.0), 0.3, np.pi / 4.0, 0.0, 0.1]
    assert not first.is_open
    assert second.q is None
    assert second.is_open
    assert np.array_equal(
        np.asarray(second.pose), pose_xyz_rpy([0.4, 0.1, 0.3], np.radians([180.0, 0.0, 90.0]))
    )
    assert third.pose is not None
    assert third.pose[:3, 3].tolist() == [0.5, 0.0, 0.2]
    assert np.asarray(third.hand_velocity).tolist() == [0.1, 0.0, 0.0, 0.0, 0.0, 0.2]
    assert not third.is_open


def test_limits_of_the_request_take_the_place_of_the_arms() -> None:
    arm, request = load("puma560"), read(TEXT)
    limits = request.limits(arm)
    assert limits.acceleration.tolist() == [4.0, 4.0, 5.0, 8.0, 8.0, 8.5]
    assert limits.velocity.tolist() == [1.2] * 6
    assert limits.lower.tolist() == [-2.0, np.radians(-200.0), -2.0, -3.0, -2.0, -3.0]
    assert np.array_equal(limits.upper, arm_limits(arm, 1.0).upper)
    bare = Request(waypoints=(Waypoint(q=np.zeros(6)), Waypoint(q=np.ones(6))))
    with pytest.raises(
        InputError, match=r"request 'request': it gives no acceleration; set one under \[limits\]"
    ):
        bare.limits(arm)
    assert bare.limits(arm, np.full(6, 3.0)).acceleration.tolist() == [3.0] * 6


def test_the_schema_takes_the_file() -> None:
    validator: Any = jsonschema.Draft202012Validator(request_schema())
    document = parse_toml(TEXT.encode(), "reach.toml")
    validator.validate(document)
    assert not validator.is_valid(document | {"limits": {"velocity": -1.0}})
    assert not validator.is_valid({"schema": "forearm-request/1"})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            '"forearm-request/1"',
            '"forearm-arm/1"',
            r"reach\.toml: expected a request of a motion, got an arm file, which fa\.load",
        ),
        (
            'schema = "forearm-request/1"',
            "",
            r"reach\.toml: not a request of a motion: expected the first line schema = 'forearm-request/1'\.",
        ),
        (
            "velocity = 1.2",
            "velocty = 1.2",
            r"reach\.toml, limits: unknown key 'velocty'; did you mean 'velocity'",
        ),
        ("velocity = 1.2", "velocity = 0.0", r"reach\.toml, limits, velocity: must be above 0"),
        ('"pi/4"', '"pie"', r"reach\.toml, waypoint\[1\], q\[4\]: 'pie' is not an angle"),
        (
            "qd = [0, 0, 0, 0, 0, 0]",
            "qd = [0, 0]",
            r"reach\.toml, waypoint\[1\], qd: expected shape \(6,\), got \(2,\)",
        ),
        ("qd = [0,", "hand_velocity = [0,", r"reach\.toml, waypoint\[1\], hand_velocity: only with a pose"),
        (
            'rpy = ["180 deg", 0.0, "90 deg"]',
            "",
            r"waypoint 'over the bin': expected q, or xyz and rpy, or matrix, got xyz\.",
        ),
        (
            "[[1, 0, 0, 0.5]",
            "[[2, 0, 0, 0.5]",
            r"reach\.toml, waypoint\[3\], pose: the upper left 3x3 must be a rotation",
        ),
        (
            "matrix =",
            "q = [0]\nmatrix =",
            r"waypoint\[3\]: expected q, or xyz and rpy, or matrix, got q, matrix\.",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(before: str, after: str, message: str) -> None:
    assert before in TEXT
    with pytest.raises(ForearmError, match=message):
        read(TEXT.replace(before, after, 1))


POINT, SIX = Waypoint(q=np.zeros(2)), Waypoint(q=np.zeros(6))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Request(waypoints=(POINT,)), "expected 2 to 10000 waypoints, got 1"),
        (lambda: Request(waypoints=(POINT, "there")), "expected Waypoint"),
        (
            lambda: Request(waypoints=(POINT, np.zeros(3))),
            r"waypoints: expected the same number of joints in all.* got 2 and 3",
        ),
        (Waypoint, r"either q .* or pose"),
        (lambda: Waypoint(q=np.array([0.0, np.nan])), "q: every number must be finite"),
        (
            lambda: Request(waypoints=(POINT, POINT), acceleration=1.0).limits(load("puma560")),
            r"waypoint\[1\], q: expected one number or 6 for 'puma560', got 2",
        ),
        (
            lambda: Request(waypoints=(SIX, SIX), acceleration=np.ones(2)).limits(load("puma560")),
            r"acceleration: expected one number or 6 for 'puma560', got 2",
        ),
    ],
)
def test_what_is_wrong_in_a_request_is_said(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()
