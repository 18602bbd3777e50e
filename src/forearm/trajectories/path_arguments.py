"""Conversion of points, motions and files to a joint path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, shorten
from forearm.logs.motion import MotionLog
from forearm.reading.textfile import read_json
from forearm.trajectories.json_arrays import format_of
from forearm.trajectories.motion_files import load_motion
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.motions import from_motion
from forearm.trajectories.paths.path_file import PATH, path_from_document
from forearm.trajectories.paths.splines import checked_points, spline
from forearm.trajectories.recorded import read_motion


def as_path(arm: Arm, given: Any, continuity: int = 2) -> JointPath:
    """Convert the input to a path of an arm.

    Args:
        arm: the arm, whose number of joints it must have.
        given: a path; points (m, n), interpolated by a `spline`; a motion, plan or log, as in `from_motion`;
            or the file of a path, motion or log (.json, .csv, .parquet, .npz).
        continuity: of the spline through points.
    """
    check_arm(arm, "arm", moves=True)
    path = _path(arm, given, continuity)
    if path.n != arm.n:
        raise InputError(f"it is for {path.n} joints, {arm.name!r} has {arm.n}.", path.name)
    return path


def _path(arm: Arm, given: Any, continuity: int) -> JointPath:
    if isinstance(given, JointPath):
        return given
    if isinstance(given, str | os.PathLike):
        return _from_file(arm, Path(given))
    if isinstance(given, MotionLog) or hasattr(given, "duration") or hasattr(given, "log"):
        return from_motion(given)
    if callable(given):
        raise InputError(
            f"the length of a function is unknown, got {shorten(given)}; make a path with "
            "from_function(f, length).",
            "path",
        )
    if isinstance(given, Arm | Mapping) or not hasattr(given, "__len__"):
        raise InputError(
            f"expected waypoints (m, {arm.n}), a JointPath, a plan, motion or log, or the "
            f"name of a file, got {shorten(given)}.",
            "path",
        )
    points = checked_points(given, "path")
    if points.shape[1] != arm.n:
        raise InputError(f"its points have {points.shape[1]} joints, {arm.name!r} has {arm.n}.", "path")
    return spline(points, continuity, name="waypoints")


def _from_file(arm: Arm, file: Path) -> JointPath:
    if file.suffix.lower() != ".json":
        return from_motion(read_motion(arm, file))
    document = read_json(file)
    if isinstance(document, dict) and document.get("format") == format_of(PATH):
        return path_from_document(document, file.name)
    return from_motion(load_motion(arm, file))
