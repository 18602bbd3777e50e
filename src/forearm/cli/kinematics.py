"""`forearm kinematics`: pose and motion of the hand, and every inverse solution of a pose."""

from __future__ import annotations

import argparse
from typing import Any, cast

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.options import ARM, DEGREES, JSON, Group, Option, state
from forearm.cli.poses import USUAL, read_form, read_pose
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_states
from forearm.cli.terminal import show
from forearm.errors import InputError, located
from forearm.kinematics.hand import hand_motion
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.manipulability import condition_number, manipulability
from forearm.kinematics.orientation import FORMS
from forearm.kinematics.poses import forward
from forearm.reading.fields import FlagField
from forearm.spatial import Floats
from forearm.tables import Report, number

ROWS = ("vx", "vy", "vz", "wx", "wy", "wz")
WITH_POSE = {
    "numeric": "one numeric solution from --q, for any arm",
    "nearest": "the nearest reachable pose if it cannot be reached",
    "no-limits": "also solutions beyond joint limits",
}
UNITS = {"position": "m", "velocity": "m/s", "angular_velocity": "rad/s", "acceleration": "m/s^2"}


def _run(given: argparse.Namespace) -> int:
    given.form = read_form(given.form)
    arm = load(given.arm, hand=given.hand)
    return _forward(given, arm) if given.pose is None else _inverse(given, arm)


def _forward(given: argparse.Namespace, arm: Arm) -> int:
    for name in WITH_POSE:
        if getattr(given, name.replace("-", "_")):
            raise InputError("only with --pose.", f"--{name}")
    q, qd, qdd = read_states(arm, given, "q", "qd", "qdd")
    if given.link is not None:
        with located("--link"):
            arm.link(given.link)
    motion = hand_motion(arm, q, qd, qdd, given.link)
    J = jacobian(arm, q, given.link)
    measures = {
        "manipulability": float(manipulability(arm, q, link=given.link)),
        "condition_number": float(condition_number(arm, q, link=given.link)),
    }
    orientation = motion.orientation(given.form)
    if given.json:
        document = {"name": arm.name, "link": given.link, "q": q, "qd": qd, "qdd": qdd}
        document |= {"position": motion.position, "form": given.form, "orientation": orientation}
        show_json(document | vars(motion) | {"jacobian": J} | measures)
        return 0
    names = [*UNITS, "angular_acceleration"] if given.qd or given.qdd else ["position"]
    rows = [
        [name.replace("_", " "), *map(_short, getattr(motion, name)), UNITS.get(name, "rad/s^2")]
        for name in names
    ]
    title = f"{arm.name}, {given.link or 'hand'}, base axes"
    oriented = f"orientation, {given.form}: {_named(given.form, orientation)}"
    measured = [f"{name.replace('_', ' ')}: {number(value)}" for name, value in measures.items()]
    parts = [Report(before=[oriented]), Report(before=measured)]
    if given.jacobian:
        columns = [[name, *map(_short, row)] for name, row in zip(ROWS, J, strict=True)]
        parts.append(Report(["J", *(joint.name for joint in arm.joints)], columns))
    show(Report(["", "x", "y", "z", "unit"], rows, title, parts=parts))
    return 0


def _inverse(given: argparse.Namespace, arm: Arm) -> int:
    wrong = [f"--{name}" for name in ("qd", "qdd", "link", "jacobian") if getattr(given, name)]
    if wrong:
        raise InputError(
            f"it solves for joint positions, so {wrong[0]} does not apply; leave it out.", "--pose"
        )
    if given.nearest and given.numeric:
        raise InputError(
            "--numeric already gives the nearest solution found; leave one of them out.", "--nearest"
        )
    T = read_pose(given.pose, given.form, given.degrees)
    near = None if given.q is None else read_states(arm, given, "q")[0]
    limits = not given.no_limits
    with ProgressBar(f"solving for {arm.name}"):
        q, verdict = (
            _numeric(arm, T, near, limits)
            if given.numeric
            else _branches(arm, T, near, limits, given.nearest)
        )
    code = 0 if verdict["reachable"] else 1
    if given.json:
        show_json({"name": arm.name, "form": given.form, "pose": T, "q": q} | verdict)
        return code
    names, message = [joint.name for joint in arm.joints], verdict["message"]
    if len(q):
        rows = [[str(k + 1), *map(_short, row)] for k, row in enumerate(q)]
        show(Report(["branch", *names], rows, "q, rad (m)", after=[message]))
    elif nearest := verdict.get("nearest"):
        off = f"{number(nearest['distance'])} m and {number(nearest['angle'])} rad"
        after = [f"the hand is then {off} from the pose"]
        show(Report(["nearest", *names], [["", *map(_short, nearest["q"])]], message, after=after))
    else:
        show(Report(before=[message]))
    return code


def _branches(
    arm: Arm, T: Floats, near: Floats | None, limits: bool, nearest: bool
) -> tuple[Floats, dict[str, Any]]:
    """All closed-form solutions (m, n), and a message."""
    from forearm.kinematics import IKResult, inverse

    found = cast(IKResult, inverse(arm, T, limits=limits, near=near, nearest=nearest))
    names = ("reachable", "singular", "undetermined", "message")
    nearest_one = None if found.nearest is None else vars(found.nearest)
    return found.q, {name: getattr(found, name) for name in names} | {"nearest": nearest_one}


def _numeric(arm: Arm, T: Floats, near: Floats | None, limits: bool) -> tuple[Floats, dict[str, Any]]:
    """One solution (1, n) found by iteration, or none and the nearest configuration."""
    from forearm.kinematics import inverse_numeric

    found = inverse_numeric(arm, T, start=near, limits=limits)
    verdict = {"reachable": bool(found.solved), "error": found.error, "message": found.message}
    if found.solved:
        return found.q[None], verdict | {"nearest": None}
    distance, angle = found.error.tolist()
    at = {"q": found.q, "pose": forward(arm, found.q), "distance": distance, "angle": angle}
    return found.q[None][:0], verdict | {"nearest": at}


def _named(form: str, values: Floats) -> str:
    pairs = zip(FORMS[form].names, values.ravel(), strict=True)
    return ", ".join(f"{name} {_short(v)}" for name, v in pairs) + " rad" * FORMS[form].angles


def _short(value: np.float64) -> str:
    return number(float(value))


COMMAND = Command(
    "forearm kinematics puma560 --q 0,0.8,-1.6,0,0.5,0 --qd 1,0,0,0,0,0\n"
    "forearm kinematics puma560 --pose 0.5,0,0.05,0,90,180 --form zyz --degrees",
    (
        *ARM,
        DEGREES,
        Option("--form", f"representation of orientation: {names_of(FORMS, USUAL)}", "NAME"),
        JSON,
        Group(
            "forward kinematics",
            (
                state(
                    "q",
                    "joint positions, rad (m); with --pose solutions are sorted by distance from "
                    "these (default: "
                    "zero)",
                ),
                state("qd", "joint velocities, rad/s (m/s): adds the velocity of the hand"),
                state("qdd", "joint accelerations, rad/s^2 (m/s^2): adds the acceleration of the hand"),
                Option("--link", "this link instead of the hand", "LINK"),
                Option("--jacobian", "also the Jacobian: linear rows first, base axes", reads=FlagField()),
            ),
        ),
        Group(
            "inverse kinematics",
            (
                Option("--pose", "position, m, then the numbers of --form: all solutions", "X,Y,Z,..."),
                *(
                    Option(f"--{name}", f"with --pose: {text}", reads=FlagField())
                    for name, text in WITH_POSE.items()
                ),
            ),
        ),
    ),
    _run,
)
