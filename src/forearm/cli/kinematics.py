"""`forearm kinematics`: pose and motion of the hand, and every inverse solution of a pose."""

from __future__ import annotations

import argparse
from typing import Any, cast

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, group, show_json
from forearm.cli.loading import load
from forearm.cli.poses import add_form, read_form, read_pose
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_degrees, add_state, read_state
from forearm.cli.terminal import show
from forearm.errors import InputError, located
from forearm.kinematics.hand import hand_motion
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.manipulability import condition_number, manipulability
from forearm.kinematics.orientation import FORMS
from forearm.kinematics.poses import forward
from forearm.spatial import Floats
from forearm.tables import Report, number

ROWS = ("vx", "vy", "vz", "wx", "wy", "wz")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    add_degrees(parser)
    add_form(parser)
    add_json(parser)
    there = group(parser, "forward kinematics")
    add_state(
        there,
        "q",
        "joint positions, rad (m); with --pose solutions are sorted by distance from these (default: zero)",
    )
    add_state(there, "qd", "joint velocities, rad/s (m/s): adds the velocity of the hand")
    add_state(there, "qdd", "joint accelerations, rad/s^2 (m/s^2): adds the acceleration of the hand")
    there.add_argument("--link", metavar="LINK", help="this link instead of the hand")
    there.add_argument(
        "--jacobian", action="store_true", help="also the Jacobian: linear rows first, base axes"
    )
    back = group(parser, "inverse kinematics")
    back.add_argument(
        "--pose", metavar="X,Y,Z,...", help="position, m, then the numbers of --form: all solutions"
    )
    back.add_argument(
        "--numeric", action="store_true", help="with --pose: one numeric solution from --q, for any arm"
    )
    back.add_argument(
        "--nearest",
        action="store_true",
        help="with --pose: the nearest reachable pose if it cannot be reached",
    )
    back.add_argument(
        "--no-limits", action="store_true", help="with --pose: also solutions beyond joint limits"
    )


def _run(given: argparse.Namespace) -> int:
    given.form = read_form(given.form)
    arm = load(given.arm, hand=given.hand)
    return _forward(given, arm) if given.pose is None else _inverse(given, arm)


def _forward(given: argparse.Namespace, arm: Arm) -> int:
    for option in [
        f"--{name}" for name in ("no-limits", "numeric", "nearest") if getattr(given, name.replace("-", "_"))
    ]:
        raise InputError("only with --pose.", option)
    q, qd, qdd = (
        np.zeros(arm.n) if text is None else read_state(arm, text, name, given.degrees)
        for name, text in (("q", given.q), ("qd", given.qd), ("qdd", given.qdd))
    )
    if given.link is not None:
        with located("--link"):
            arm.link(given.link)
    motion = hand_motion(arm, q, qd, qdd, given.link)
    J = jacobian(arm, q, given.link)
    measures = {
        "manipulability": float(manipulability(arm, q, link=given.link)),
        "condition_number": float(condition_number(arm, q, link=given.link)),
    }
    moving = {"velocity": motion.velocity, "angular_velocity": motion.angular_velocity}
    second = {"acceleration": motion.acceleration, "angular_acceleration": motion.angular_acceleration}
    if given.json:
        document: dict[str, Any] = {
            "name": arm.name,
            "link": given.link,
            "q": q,
            "qd": qd,
            "qdd": qdd,
            "pose": motion.pose,
        }
        document |= {
            "position": motion.position,
            "form": given.form,
            "orientation": motion.orientation(given.form),
        }
        show_json(document | moving | second | {"jacobian": J} | measures)
        return 0
    shown = {"position": motion.position} | (moving | second if given.qd or given.qdd else {})
    units = {"position": "m", "velocity": "m/s", "angular_velocity": "rad/s", "acceleration": "m/s^2"}
    rows = [
        [name.replace("_", " "), *map(_short, vector), units.get(name, "rad/s^2")]
        for name, vector in shown.items()
    ]
    title = f"{arm.name}, {given.link or 'hand'}, base axes"
    orientation = f"orientation, {given.form}: {_named(given.form, motion.orientation(given.form))}"
    measured = [f"{name.replace('_', ' ')}: {number(value)}" for name, value in measures.items()]
    parts = [Report(before=[orientation]), Report(before=measured)]
    if given.jacobian:
        columns = [[name, *map(_short, row)] for name, row in zip(ROWS, J, strict=True)]
        parts.append(Report(["J", *(joint.name for joint in arm.joints)], columns))
    show(Report(["", "x", "y", "z", "unit"], rows, title, parts=parts))
    return 0


def _inverse(given: argparse.Namespace, arm: Arm) -> int:
    wrong = [f"--{name}" for name in ("qd", "qdd", "link") if getattr(given, name)] + [
        "--jacobian"
    ] * given.jacobian
    if wrong:
        raise InputError(
            f"it solves for joint positions, so {wrong[0]} does not apply; leave it out.", "--pose"
        )
    if given.nearest and given.numeric:
        raise InputError(
            "--numeric already gives the nearest solution found; leave one of them out.", "--nearest"
        )
    T = read_pose(given.pose, given.form, given.degrees)
    near = None if given.q is None else read_state(arm, given.q, "q", given.degrees)
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
    verdict = {
        "reachable": found.reachable,
        "singular": found.singular,
        "undetermined": list(found.undetermined),
    }
    closest = found.nearest
    if closest is None:
        return found.q, verdict | {"message": found.message, "nearest": None}
    at = {"q": closest.q, "pose": closest.pose, "distance": closest.distance, "angle": closest.angle}
    return found.q, verdict | {"message": found.message, "nearest": at}


def _numeric(arm: Arm, T: Floats, near: Floats | None, limits: bool) -> tuple[Floats, dict[str, Any]]:
    """One solution (1, n) found by iteration, or none and the nearest configuration."""
    from forearm.kinematics import inverse_numeric

    found = inverse_numeric(arm, T, start=near, limits=limits)
    reachable = bool(found.solved)
    verdict = {"reachable": reachable, "error": found.error, "message": found.message, "nearest": None}
    if not reachable:
        at = {
            "pose": forward(arm, found.q),
            "distance": float(found.error[0]),
            "angle": float(found.error[1]),
        }
        verdict["nearest"] = {"q": found.q} | at
    return found.q[None][: int(reachable)], verdict


def _named(form: str, values: Floats) -> str:
    unit = " rad" if FORMS[form].angles else ""
    return (
        ", ".join(f"{name} {_short(v)}" for name, v in zip(FORMS[form].names, values.ravel(), strict=True))
        + unit
    )


def _short(value: np.float64) -> str:
    return number(float(value))


COMMAND = Command(
    "forearm kinematics puma560 --q 0,0.8,-1.6,0,0.5,0 --qd 1,0,0,0,0,0\n"
    "forearm kinematics puma560 --pose 0.5,0,0.05,0,90,180 --form zyz --degrees",
    _add_arguments,
    _run,
)
