"""`forearm kinematics`: where the hand is and how it moves, and every posture that brings it to a pose."""

from __future__ import annotations

import argparse
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, show_json, width
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.files.load import load
from forearm.kinematics.hand import hand_motion, hand_pose
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.manipulability import condition_number, manipulability
from forearm.kinematics.orientation import FORMS
from forearm.tables import number, text_table

Floats = NDArray[np.float64]
USUAL = "rpy"
ROWS = ("vx", "vy", "vz", "wx", "wy", "wz")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    add_state(parser, "q", "joint positions, SI; zero unless given; with --pose the posture that branches are sorted by")
    add_state(parser, "qd", "joint velocities, SI: adds the velocity of the hand")
    add_state(parser, "qdd", "joint accelerations, SI: adds the acceleration of the hand")
    parser.add_argument("--link", metavar="NAME", help="this link instead of the hand")
    parser.add_argument(
        "--form", default=USUAL, metavar="NAME", help=f"of orientations: {', '.join(FORMS)} ({USUAL} unless given)"
    )
    parser.add_argument("--jacobian", action="store_true", help="also the Jacobian: linear rows first, base axes")
    parser.add_argument("--pose", metavar="X,Y,Z,...", help="inverse: position in m, then the numbers of --form; every branch")
    parser.add_argument("--numeric", action="store_true", help="with --pose: one posture by iteration from --q, for any arm")
    parser.add_argument("--no-limits", action="store_true", help="with --pose: branches beyond the joints' limits too")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    if given.form not in FORMS:
        raise NameNotFound(f"--form: there is no {shorten(given.form)}; {suggest(given.form, FORMS)}")
    arm = load(given.arm, hand=given.hand)
    return _forward(given, arm) if given.pose is None else _inverse(given, arm)


def _forward(given: argparse.Namespace, arm: Arm) -> int:
    for option in [f"--{name}" for name in ("no-limits", "numeric") if getattr(given, name.replace("-", "_"))]:
        raise InputError(f"{option}: it belongs to --pose; a posture given by --q is taken as it is.")
    q, qd, qdd = (
        np.zeros(arm.n) if text is None else read_state(arm, text, name, given.degrees)
        for name, text in (("q", given.q), ("qd", given.qd), ("qdd", given.qdd))
    )
    motion = hand_motion(arm, q, qd, qdd, given.link)
    J = jacobian(arm, q, given.link)
    measures = {
        "manipulability": float(manipulability(arm, q, link=given.link)),
        "condition_number": float(condition_number(arm, q, link=given.link)),
    }
    moving = {"velocity": motion.velocity, "angular_velocity": motion.angular_velocity}
    second = {"acceleration": motion.acceleration, "angular_acceleration": motion.angular_acceleration}
    if given.json:
        document: dict[str, Any] = {"name": arm.name, "link": given.link, "q": q, "qd": qd, "qdd": qdd, "pose": motion.pose}
        document |= {"position": motion.position, "form": given.form, "orientation": motion.orientation(given.form)}
        show_json(document | moving | second | {"jacobian": J} | measures)
        return 0
    shown = {"position": motion.position} | (moving | second if given.qd or given.qdd else {})
    units = {"position": "m", "velocity": "m/s", "angular_velocity": "rad/s", "acceleration": "m/s^2"}
    rows = [[name.replace("_", " "), *map(_short, vector), units.get(name, "rad/s^2")] for name, vector in shown.items()]
    print(f"{arm.name}, {given.link or 'hand'}, base axes\n{text_table(['', 'x', 'y', 'z', 'unit'], rows, width())}")
    print(f"\norientation, {given.form}: {_named(given.form, motion.orientation(given.form))}")
    print("\n" + "\n".join(f"{name.replace('_', ' ')}: {number(value)}" for name, value in measures.items()))
    if given.jacobian:
        rows = [[name, *map(_short, row)] for name, row in zip(ROWS, J, strict=True)]
        print(f"\n{text_table(['J', *(joint.name for joint in arm.joints)], rows, width())}")
    return 0


def _inverse(given: argparse.Namespace, arm: Arm) -> int:
    wrong = [f"--{name}" for name in ("qd", "qdd", "link") if getattr(given, name)] + ["--jacobian"] * given.jacobian
    if wrong:
        raise InputError(f"--pose: it asks for postures of the hand, so {wrong[0]} has no meaning beside it; leave it out.")
    T = _pose(given)
    near = None if given.q is None else read_state(arm, given.q, "q", given.degrees)
    q, verdict = _numeric(arm, T, near, not given.no_limits) if given.numeric else _branches(arm, T, near, not given.no_limits)
    if given.json:
        show_json({"name": arm.name, "form": given.form, "pose": T, "q": q} | verdict)
        return 0
    if len(q):
        rows = [[str(k + 1), *map(_short, row)] for k, row in enumerate(q)]
        print(text_table(["branch", *(joint.name for joint in arm.joints)], rows, width()))
    print(verdict["message"])
    return 0


def _branches(arm: Arm, T: Floats, near: Floats | None, limits: bool) -> tuple[Floats, dict[str, Any]]:
    """Every closed-form branch (m, n), and what there is to say."""
    from forearm.kinematics import IKResult, inverse

    found = cast(IKResult, inverse(arm, T, limits=limits, near=near))
    return found.q, {"reachable": found.reachable, "singular": found.singular, "message": found.message}


def _numeric(arm: Arm, T: Floats, near: Floats | None, limits: bool) -> tuple[Floats, dict[str, Any]]:
    """One posture (1, n) found by iteration, or none."""
    from forearm.kinematics import inverse_numeric

    found = inverse_numeric(arm, T, start=near, limits=limits)
    reachable = bool(found.solved)
    return found.q[None][: int(reachable)], {"reachable": reachable, "error": found.error, "message": found.message}


def _pose(given: argparse.Namespace) -> Floats:
    form = FORMS[given.form]
    values = read_numbers(given.pose, "pose", 3 + len(form.names), f"x, y, z and {', '.join(form.names)} ({given.form}) are")
    turned = np.radians(values[3:]) if given.degrees and form.angles else values[3:]
    T = hand_pose(values[:3], turned.reshape(form.shape), given.form)
    if np.isnan(T).any():
        raise InputError(
            f"--pose: no rotation has the {given.form} angles {shorten(values[3:].tolist())}; "
            "cos x cos y cos z + sin x sin y sin z must be above 0."
        )
    return T


def _named(form: str, values: Floats) -> str:
    unit = " rad" if FORMS[form].angles else ""
    return ", ".join(f"{name} {_short(v)}" for name, v in zip(FORMS[form].names, values.ravel(), strict=True)) + unit


def _short(value: np.float64) -> str:
    return number(float(value))


COMMAND = Command(
    "forearm kinematics puma560 --q 0,0.8,-1.6,0,0.5,0 --qd 1,0,0,0,0,0\n"
    "  forearm kinematics puma560 --pose 0.5,0,0.05,0,90,180 --form zyz --degrees",
    _add_arguments,
    _run,
)
