"""`forearm plan`: from where to go to how, with torques and voltages."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, complain, show_json, width
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.errors import InputError
from forearm.files.load import load
from forearm.tables import number, text_table
from forearm.trajectories.lines import HandLine, hand_line
from forearm.trajectories.planning import Plan, plan
from forearm.trajectories.requests import Request, Waypoint
from forearm.trajectories.switching import Switching

Floats = NDArray[np.float64]
PROFILES = ("trapezoidal", "quintic", "constant")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument("request", nargs="?", metavar="REQUEST", help="a request file (.toml): waypoints and limits")
    add_state(parser, "q", "where the motion starts, without a request file; zero unless given")
    parser.add_argument(
        "--to",
        action="append",
        metavar="A,B,...",
        help="a posture to go to, without a request file; several in order",
    )
    parser.add_argument("--acceleration", metavar="A,B,...", help="largest accelerations; as torques allow unless given")
    parser.add_argument("--velocity", metavar="A,B,...", help="largest velocities; the arm's unless given")
    parser.add_argument(
        "--line-to", action="append", metavar="X,Y,Z", help="a straight line of the hand to this point, m; several in order"
    )
    parser.add_argument("--hand-speed", type=float, default=0.1, metavar="V", help="along the line, m/s; 0.1 unless given")
    parser.add_argument("--hand-acceleration", type=float, metavar="A", help="along the line, m/s^2: the speed is a trapezoid")
    parser.add_argument("--profile", choices=PROFILES, help="of the speed along the line; quintic unless given")
    parser.add_argument("--step", type=float, default=1e-3, metavar="S", help="between samples, s; 0.001 unless given")
    parser.add_argument("-o", "--output", metavar="FILE", help=".csv or .parquet: the samples; .json: the switching points")
    parser.add_argument("--plot", metavar="FILE", help="draw the motion and the hand's path (.png, .svg or .pdf)")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    made = plan(arm, _wanted(given, arm), step=given.step)
    if given.output:
        made.save(given.output)
    if given.plot:
        made.plot(given.plot)
    if given.json:
        show_json(_document(made) | {"output": given.output, "plot": given.plot})
        return 0
    print(_report(made))
    for text in made.warnings:
        complain(text)
    for path, what in ((given.output, "written to"), (given.plot, "drawn in")):
        if path:
            print(f"{what} {path}")
    return 0


def _wanted(given: argparse.Namespace, arm: Arm) -> Any:
    """What was asked for: a file, postures, or a line."""
    ways = [name for name, value in (("REQUEST", given.request), ("--to", given.to), ("--line-to", given.line_to)) if value]
    if len(ways) != 1:
        came = " and ".join(ways) or "none of them"
        raise InputError(f"plan: give a request file, or --to, or --line-to; came {came}.")
    if given.request:
        wrong = [f"--{name}" for name in ("q", "acceleration", "velocity") if getattr(given, name)]
        if wrong:
            raise InputError(f"{wrong[0]}: a request file says that itself; write it there.")
        return given.request
    start = np.zeros(arm.n) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    if given.line_to:
        to = np.array([read_numbers(text, "line-to", 3, "a point has") for text in given.line_to])
        profile = given.profile or ("quintic" if given.hand_acceleration is None else "trapezoidal")
        return hand_line(arm, start, to, given.hand_speed, given.hand_acceleration, profile)
    points = [start, *(read_state(arm, text, "to", given.degrees) for text in given.to)]
    limits = {name: _limit(arm, getattr(given, name), name) for name in ("acceleration", "velocity") if getattr(given, name)}
    return Request(tuple(Waypoint(q=q) for q in points), name="--to", **limits)


def _limit(arm: Arm, text: str, name: str) -> Floats:
    """One number for all joints, or one a joint, SI."""
    values = read_numbers(text, name, 1 if "," not in text else arm.n, f"{arm.name} needs")
    return values if len(values) > 1 else np.full(arm.n, values[0])


def _report(made: Plan) -> str:
    arm = made.arm
    line = isinstance(made.motion, HandLine)
    what = f"a line of the hand, {_length(made):.4g} m" if line else f"{len(made.motion.times)} points"
    tau, qd = (np.nanmax(np.abs(block), axis=0) for block in (made.tau, made.qd))
    header = ["joint", "from", "to", "largest speed", "largest torque", "it has"]
    has = [j.max_effort for j in arm.joints]
    rows = [
        [j.name, number(a), number(b), number(v), number(t), "-" if most is None else number(most)]
        for j, a, b, v, t, most in zip(arm.joints, made.q[0], made.q[-1], qd, tau, has, strict=True)
    ]
    if made.voltage is not None:
        header.append("largest voltage")
        for row, volts in zip(rows, np.nanmax(np.abs(made.voltage), axis=0), strict=True):
            row.append(number(volts))
    lines = [f"{arm.name}: {what}, {made.duration:.6g} s", text_table(header, rows, width())]
    if made.deviation is not None:
        lines.append(f"joints leave the straight lines between the points by {number(float(made.deviation))} at most")
    if made.limits is not None:
        lines.append(f"accelerations: {', '.join(number(a) for a in made.limits.acceleration)}")
    return "\n".join(lines)


def _length(made: Plan) -> float:
    assert isinstance(made.motion, HandLine)
    corners = made.motion.hand(made.motion.times)[0]
    return float(np.linalg.norm(np.diff(corners, axis=0), axis=1).sum())


def _document(made: Plan) -> dict[str, Any]:
    document: dict[str, Any] = {"name": made.arm.name, "duration": made.duration, "warnings": list(made.warnings)}
    document |= {"t": made.t, "q": made.q, "qd": made.qd, "qdd": made.qdd, "tau": made.tau, "voltage": made.voltage}
    if isinstance(made.motion, Switching):
        document |= {"points": made.motion.points, "times": made.motion.times, "deviation": float(made.deviation or 0.0)}
    return document


COMMAND = Command("forearm plan panda --to 0.5,0.2,0.3,-1.5,0.2,1.8,0.2 --q 0,-0.5,0,-2,0,1.5,0.7", _add_arguments, _run)
