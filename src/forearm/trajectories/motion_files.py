"""Motions in JSON, round-tripped bit for bit: what defines each kind, and whether a file of it is whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, located, shorten
from forearm.logs.motion import FORMAT as TABLE
from forearm.reading.fields import ChoiceField, NumberField, TableField
from forearm.reading.textfile import read_json, read_json_table
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.json_arrays import (
    document_of,
    even_arrays,
    format_of,
    format_table,
    numbers,
    shaped_arrays,
    write_document,
)
from forearm.trajectories.line_speed import PROFILES
from forearm.trajectories.lines import ATTITUDES, HandLine, hand_line
from forearm.trajectories.paths.path_file import PATH, path_from_document
from forearm.trajectories.recorded import RecordedMotion, read_motion, recorded
from forearm.trajectories.series.basis import BASES, resting
from forearm.trajectories.series.motion import SeriesMotion
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.switching import Switching

PlannedMotion = Switching | JerkMotion | SmoothMotion | HandLine | RecordedMotion | PathMotion | SeriesMotion
AGREEMENT = 1e-9  # relative: no file that was written here misses its points by more
SAME_SPEED = 1e-6  # of the largest: tolerance of speeds where intervals meet
STATES = ("positions", "velocities", "accelerations", "jerks", "snaps")
MISSED = "its phases miss the next point, or joints take different times."

SWITCHING = format_table(
    "forearm-switching/1",
    points=numbers("q where segments meet", 2),
    velocities=numbers("qd there", 2),
    phases=numbers("s, three for each joint of each segment", 3, minimum=0.0),
    accelerations=numbers("in these phases", 3),
)
JERK_MOTION = format_table(
    "forearm-jerk-motion/1",
    points=numbers("q where segments meet", 2),
    velocities=numbers("qd there", 2),
    accelerations=numbers("qdd there", 2),
    phases=numbers("s, of each joint of each segment", 3, minimum=0.0),
    jerks=numbers("in these phases", 3),
    segments=numbers("s, of each segment", minimum=0.0),
)
SMOOTH_MOTION = format_table(
    "forearm-smooth-motion/1",
    **{name: numbers("where polynomials meet, rad (m) and s", 2) for name in STATES},
    segments=numbers("s, of each polynomial", minimum=0.0),
    passed=numbers("states at the points, by number from 0 on", minimum=0.0),
)
SERIES = format_table(
    "forearm-series-motion/1",
    basis=ChoiceField(BASES),
    duration=NumberField("s", above=0.0),
    start=numbers("the configuration at both ends, rad (m)"),
    coefficients=numbers("one row per function of the basis, one column per joint, rad (m)", 2),
)
PATH_MOTION = format_table(
    "forearm-path-motion/1",
    path=PATH,
    pieces=numbers("of the path in each interval, by number from 0 on"),
    knots=numbers("s at the ends of the intervals"),
    times=numbers("when they are passed, s"),
    coefficients=numbers("of s in rising powers of the time since the interval began", 2),
)
HAND_LINE = format_table(
    "forearm-hand-line/1",
    "acceleration",
    q0=numbers("the configuration at the start of the line, rad (m)"),
    to=numbers("successive positions of the hand, base frame, m", 2),
    speed=NumberField("m / s", above=0.0),
    acceleration=NumberField("m / s^2; absent for profiles without one", above=0.0),
    profile=ChoiceField(PROFILES),
    attitude=ChoiceField(ATTITUDES),
)


def write_motion(motion: PlannedMotion, path: str | os.PathLike[str]) -> None:
    """Write the parameters of a motion atomically; of a Cartesian line its request."""
    if isinstance(motion, SmoothMotion):
        states = dict(zip(STATES, np.moveaxis(motion.states, 1, 0).tolist(), strict=True))
        rest = {"segments": motion.segments.tolist(), "passed": motion.passed.tolist()}
        document = {"format": format_of(SMOOTH_MOTION), **states, **rest}
    elif isinstance(motion, PathMotion):
        document = document_of(motion, PATH_MOTION) | {"path": document_of(motion.path, PATH)}
    elif isinstance(motion, HandLine):
        document = document_of(motion.asked, HAND_LINE)
    else:
        tables = {Switching: SWITCHING, JerkMotion: JERK_MOTION, SeriesMotion: SERIES}
        document = document_of(motion, tables[type(motion)])
    write_document(document, path)


def load_switching(path: str | os.PathLike[str]) -> Switching:
    """Load a motion from a .json file; refused if its phases miss a point."""
    where = Path(path)
    return _switching(SWITCHING.read(read_json(where), where.name), where.name)


def _switching(data: dict[str, Any], name: str) -> Switching:
    k, n = len(data["phases"]), len(data["points"][0]) if data["points"] else 0
    shapes = {"points": (k + 1, n), "velocities": (k + 1, n), "phases": (k, n, 3), "accelerations": (k, n, 3)}
    motion = Switching(**shaped_arrays(data, shapes, name, "one segment and one joint"))
    q, qd, travelled = motion.points[:-1], motion.velocities[:-1], np.abs(motion.points[:-1])
    fastest = np.abs(qd)
    for i in range(3):
        t, a = motion.phases[..., i], motion.accelerations[..., i]
        q, qd = q + t * (qd + 0.5 * a * t), qd + a * t
        travelled, fastest = travelled + t * np.maximum(fastest, np.abs(qd)), np.maximum(fastest, np.abs(qd))
    wrong = np.abs(q - motion.points[1:]) > AGREEMENT * travelled
    wrong |= np.abs(qd - motion.velocities[1:]) > AGREEMENT * fastest
    uneven = np.ptp(motion.phases.sum(axis=2), axis=1) > AGREEMENT * motion.segments
    _refuse_first(wrong.any(axis=1) | uneven, MISSED, name, "segment")
    return motion


def _jerk_motion(data: dict[str, Any], name: str) -> JerkMotion:
    k, n = len(data["segments"]), len(data["points"][0]) if data["points"] else 0
    p = len(data["phases"][0][0]) if data["phases"] and data["phases"][0] else 0
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("points", "velocities", "accelerations"), (k + 1, n))
    shapes |= {"phases": (k, n, p), "jerks": (k, n, p), "segments": (k,)}
    motion = JerkMotion(**shaped_arrays(data, shapes, name, "one segment, one joint and one phase"))
    time, q, qd, qdd = motion._from_start
    T = motion.segments[:, None]
    hardest = np.abs(qdd).max(axis=2) + np.abs(motion.jerks).max(axis=2) * T
    fastest = np.abs(qd).max(axis=2) + hardest * T
    places = np.abs(q).max(axis=2) + fastest * T
    wrong = np.abs(time[..., -1] - T) > AGREEMENT * T
    for nodes, ends, scale in (
        (q, motion.points, places),
        (qd, motion.velocities, fastest),
        (qdd, motion.accelerations, hardest),
    ):
        wrong |= np.abs(nodes[..., -1] - ends[1:]) > AGREEMENT * scale
    _refuse_first(wrong.any(axis=1), MISSED, name, "segment")
    return motion


def _smooth_motion(data: dict[str, Any], name: str) -> SmoothMotion:
    m, n = len(data["segments"]), len(data["positions"][0]) if data["positions"] else 0
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(STATES, (m + 1, n))
    arrays = shaped_arrays(data, shapes | {"segments": (m,)}, name, "one polynomial and one joint")
    states, segments = np.stack([arrays[key] for key in STATES], axis=1), arrays["segments"]
    leaps = (segments == 0.0) & (states[1:] != states[:-1]).any(axis=(1, 2))
    _refuse_first(leaps, "its duration is 0, but the state changes.", name, "polynomial")
    passed = np.array(data["passed"])
    steps = np.diff(passed)
    if (
        not (len(passed) > 1 and passed[0] == 0 and passed[-1] == m and (steps > 0).all())
        or (steps % 1).any()
    ):
        raise InputError(
            f"expected at least two whole numbers, increasing from 0 to {m}, got {shorten(data['passed'])}.",
            name,
            "passed",
        )
    return SmoothMotion(states, segments, passed.astype(np.intp))


def _series(data: dict[str, Any], name: str) -> SeriesMotion:
    start, coefficients = even_arrays(data, {"start": 1, "coefficients": 2}, name).values()
    count = len(coefficients)
    if coefficients.shape[1] != len(start) or (data["basis"] == "fourier" and count % 2):
        raise InputError(
            f"expected rows of {len(start)} numbers, like start, and as many cosines as sines, got shape "
            f"{coefficients.shape}.",
            name,
            "coefficients",
        )
    Z = resting(data["basis"], count)
    missed = np.abs(coefficients - Z @ (Z.T @ coefficients)).max()
    if missed > AGREEMENT * np.abs(coefficients).max():
        raise InputError(
            "not at rest at its ends: sum h^2 a_h and sum h b_h must be 0.", name, "coefficients"
        )
    return SeriesMotion(data["basis"], float(data["duration"]), start, coefficients)


def _path_motion(data: dict[str, Any], name: str) -> PathMotion:
    path = path_from_document(data["path"], f"{name}, path")
    dimensions = {"pieces": 1, "knots": 1, "times": 1, "coefficients": 2}
    pieces, knots, times, coefficients = even_arrays(data, dimensions, name).values()
    k, near = len(pieces), AGREEMENT * path.length
    fits = len(knots) == len(times) == k + 1 and len(coefficients) == k and coefficients.shape[1] >= 2
    if not fits or times[0] != 0.0 or knots[0] != 0.0 or abs(knots[-1] - path.length) > near:
        raise InputError(
            "expected knots from 0 to the path's length, as many times from 0, and one fewer "
            "rows of coefficients and pieces.",
            name,
        )
    if not (np.diff([knots, times]) >= 0.0).all():
        raise InputError("knots and times must be non-decreasing.", name)
    if not np.isin(pieces, np.arange(len(path.breaks) - 1)).all():
        raise InputError(f"expected whole numbers from 0 to {len(path.breaks) - 2}.", name, "pieces")
    reached, rate = np.zeros(k), np.zeros(k)
    for power in coefficients.T[::-1]:
        rate = rate * np.diff(times) + reached
        reached = reached * np.diff(times) + power
    missed = np.maximum(np.abs(coefficients[:, 0] - knots[:-1]), np.abs(reached - knots[1:]))
    _refuse_first(missed > near, "it misses the next knot.", name, "interval")
    jumps = np.abs(coefficients[:, 1] - np.append(coefficients[0, 1], rate[:-1]))
    _refuse_first(jumps > SAME_SPEED * np.abs(rate).max(), "the speed jumps at its start.", name, "interval")
    return PathMotion(path, knots, times, coefficients, pieces.astype(np.intp))


def _refuse_first(wrong: Any, problem: str, name: str, what: str) -> None:
    if wrong.any():
        raise InputError(problem, name, f"{what} {int(wrong.argmax()) + 1}")


def _kind(written: object) -> str:
    """A format name without its version."""
    return str(written).partition("/")[0]


# Tables of motions, and what makes one of the content, by kind of format.
READERS: Mapping[str, tuple[TableField, Callable[[dict[str, Any], str], PlannedMotion]]] = {
    _kind(format_of(table)): (table, read)
    for table, read in (
        (SWITCHING, _switching),
        (JERK_MOTION, _jerk_motion),
        (SMOOTH_MOTION, _smooth_motion),
        (PATH_MOTION, _path_motion),
        (SERIES, _series),
    )
}


def load_motion(arm: Arm, path: str | os.PathLike[str]) -> PlannedMotion:
    """Load a motion from a .json file written by `save`: switching points, phases of constant jerk,
    polynomials of continuous snap, a Cartesian line (recomputed for the arm), a motion along a path, a
    periodic motion, or samples.

    Args:
        arm: the arm.
        path: the file.
    """
    where = Path(path)
    document = read_json_table(where, "a format, or t and q")
    kind = _kind(document.get("format", TABLE if "t" in document else None))
    if kind == _kind(format_of(PATH)):
        raise InputError("it holds a path without timing; use fa.time_optimal to time it.", where.name)
    if kind == _kind(TABLE):
        return recorded(read_motion(arm, where))
    if kind in READERS:
        table, read = READERS[kind]
        return read(table.read(document, where.name), where.name)
    line = _kind(format_of(HAND_LINE))
    if kind != line:
        known = ", ".join(sorted((*READERS, _kind(TABLE), line)))
        raise InputError(
            f"expected one of {known}, got {shorten(document.get('format'))}. A table of "
            "samples needs none: t and q.",
            where.name,
            "format",
        )
    data = HAND_LINE.read(document, where.name)
    del data["format"]
    with located(where.name):
        return hand_line(arm, **data)
