"""Requests for time-optimal plans: options, limits along the path, the envelope, and what is refused."""

from __future__ import annotations

from typing import Any

import jsonschema
import numpy as np
import pytest

import forearm as fa
from forearm.errors import ForearmError
from forearm.reading.textfile import parse_toml
from forearm.trajectories import PathOptions, Request, Waypoint
from forearm.trajectories.requestfile import request_from_document, request_schema

POINTS = np.array([[0.0, 0.1], [0.6, -0.4], [0.2, 0.5]])
TEXT = """
schema = "forearm-request/1"
name = "round"

[time_optimal]
continuity = 4
points = 60
payload = [0.0, 0.4]

[limits]
velocity = [{s = 0.0, value = [1.0, 2.0]}, {s = 1.5, value = [2.0, 3.0]}]
acceleration = 9.0
hand_speed = 1.5

[[waypoint]]
q = [0.0, 0.1]
[[waypoint]]
q = [0.6, -0.4]
[[waypoint]]
q = [0.2, 0.5]
"""


def read(text: str) -> Request:
    return request_from_document(parse_toml(text.encode(), "round.toml"), "round.toml")


@pytest.mark.slow
def test_a_file_asks_for_what_the_function_is_given() -> None:
    arm, request = fa.load("ascher2"), read(TEXT)
    assert request.time_optimal == PathOptions(continuity=4, points=60, payload=(0.0, 0.4))
    made = fa.plan(arm, request)
    same = fa.time_optimal(
        arm,
        POINTS,
        velocity=([0.0, 1.5], [[1.0, 2.0], [2.0, 3.0]]),
        acceleration=9.0,
        hand_speed=1.5,
        payload=(0.0, 0.4),
        continuity=4,
        points=60,
    )
    assert made.duration == same.duration
    assert np.array_equal(made.q, same.q)
    assert made.timing is not None
    # the limit itself: 1 rad/s at the start, a third of 1.5 more at s = 0.5, and so on
    s, _, _ = made.timing.motion.along(made.t)
    assert (np.abs(made.qd[:, 0]) <= (1.0 + np.minimum(s, 1.5) / 1.5) * 1.001).all()


def test_the_schema_takes_what_is_read() -> None:
    validator: Any = jsonschema.Draft202012Validator(request_schema())
    document = parse_toml(TEXT.encode(), "round.toml")
    validator.validate(document)
    validator.validate(document | {"time_optimal": True, "tolerance": 0.1})
    assert not validator.is_valid(document | {"time_optimal": {"continuity": 3}})
    assert not validator.is_valid(document | {"limits": {"torque": [{"s": 0.0}]}})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[time_optimal]\ncontinuity = 4\npoints = 60\npayload = [0.0, 0.4]", "tolerance = 0.1",
         r"round\.toml, tolerance: only for time-optimal plans"),
        ("[time_optimal]", "tolerance = 0.1\n[time_optimal]\ntolerance = 0.2", "set it once"),
        ("[time_optimal]\ncontinuity = 4\npoints = 60\npayload = [0.0, 0.4]", "",
         r"velocity: this limit is for time-optimal plans"),
        ("continuity = 4", "continuity = 3", r"time_optimal, continuity: expected one of 0, 1, 2, 4, got 3"),
        ("continuity = 4", "continuty = 4", "did you mean 'continuity'"),
        ("s = 1.5", "s = 0.0", r"limits, velocity: expected at least two places with increasing s"),
        ("value = [2.0, 3.0]", "value = 2.0", "expected rows of equal length"),
        ("hand_speed = 1.5", "hand_speed = -1.5", "limits, hand_speed: must be above 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_said_with_its_place(before: str, after: str, message: str) -> None:
    assert before in TEXT
    with pytest.raises(ForearmError, match=message):
        read(TEXT.replace(before, after, 1))


def test_what_a_time_optimal_request_cannot_say() -> None:
    arm, rest = fa.load("ascher2"), [0.0, 0.0]
    with pytest.raises(fa.InputError, match="torque: this limit is for time-optimal plans"):
        Request(POINTS, torque=3.0)
    moving = [Waypoint(POINTS[0], rest), Waypoint(POINTS[1], [0.1, 0.0]), Waypoint(POINTS[2])]
    with pytest.raises(
        fa.InputError, match=r"waypoint\[2\], qd: a time-optimal plan chooses its own velocities"
    ):
        fa.plan(arm, Request(moving, acceleration=9.0, time_optimal=True))
    with pytest.raises(fa.InputError, match=r"lower: the path through the waypoints brings \w+ to -0\.4"):
        fa.plan(arm, Request(POINTS, acceleration=9.0, lower=-0.3, time_optimal=PathOptions(points=20)))
