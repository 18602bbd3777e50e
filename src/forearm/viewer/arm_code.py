"""The functions of an arm that the page calls, as JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from forearm.arm.arm import Arm
from forearm.codegen.generate import program_for, step_program
from forearm.codegen.languages.javascript import LANGUAGE
from forearm.codegen.program import Program
from forearm.codegen.program_writer import program_of
from forearm.codegen.simulation_step import TracedPlant
from forearm.control.controllers.forces import traced_law
from forearm.drives.coordinates import coordinates_of
from forearm.drives.motor import without_constants
from forearm.errors import ForearmError
from forearm.reduction.symbolic import chosen_parameters
from forearm.trajectories.compiled_planner import traced_planner
from forearm.viewer.traced_functions import (
    traced_encoder,
    traced_energy,
    traced_motion,
    traced_payload,
    traced_poses,
    traced_reach,
    traced_torques,
    traced_voltage,
)

LAWS = {
    "computed_torque": "computed torque",
    "feedforward_pd": "feed-forward + PD",
    "pd_gravity": "PD + gravity",
    "pid_gravity": "PID + gravity",
}
MOST_JOINTS = 30  # more joints would make a page of megabytes of code
MOST_FOR_INVERSE = 9  # joints: inverse kinematics of more needs more code than all the rest


def open_parameters(arm: Arm) -> dict[str, float]:
    """The parameters that users can change in the page, with the arm's values: gravity, the link that carries
    the hand, friction.
    """
    joints = [body.joint for body in arm.moving.bodies]
    friction = [f"{joint.name}.friction" for joint in joints if joint.friction is not None]
    carried = [arm.hand.link] if arm.moving.frames[arm.hand.link][0] >= 0 else []
    found = chosen_parameters(arm, ["gravity", *carried, *friction])
    return {name: value for name, value in found.items() if not name.endswith("stribeck_speed")}


def arm_code(arm: Arm) -> str:
    """The functions as a JavaScript object literal."""
    programs = [*_kinematics(arm), *(_dynamics(arm) if why_still(arm) is None else ())]
    parts = [f"{name}: (() => {{\n{_body(program)}\n}})()" for name, program in programs]
    return "{\n" + ",\n".join(parts) + "\n}"


@cache
def why_still(arm: Arm) -> str | None:
    """Why an arm cannot be simulated in the page; None if it can."""
    if arm.n > MOST_JOINTS:
        return f"more than {MOST_JOINTS} joints"
    if not coordinates_of(arm).is_plain:
        return "elastic joints or LuGre friction, whose states the page does not simulate"
    try:
        TracedPlant(arm, voltage=False).cold  # noqa: B018
    except ForearmError as error:  # masses too small for accelerations
        return str(error)
    return None


def _kinematics(arm: Arm) -> Iterator[tuple[str, Program]]:
    yield "poses", program_of(traced_poses(arm), "poses")
    yield "plan", program_of(traced_planner(arm.n, has_duration=False), "plan")
    yield "motion", program_of(traced_motion(arm.n), "motion")
    yield "encoder", program_of(traced_encoder(arm.n), "encoder")
    yield "jacobian", program_for(arm, "jacobian", name="jacobian_of")
    if arm.n <= MOST_FOR_INVERSE:
        yield "reach", program_of(traced_reach(arm), "reach")
        with suppress(ForearmError):  # without a closed form
            yield "branches", program_for(arm, "inverse_kinematics", name="branches")


def _dynamics(arm: Arm) -> Iterator[tuple[str, Program]]:
    opened = open_parameters(arm)
    yield "torques", program_of(traced_torques(arm, opened), "torques", parameters=opened)
    yield "energy", program_of(traced_energy(arm, opened), "energy_of", parameters=opened)
    yield "step", step_program(arm, "rk4", "torque", opened, "step_of")
    yield "payload", program_of(traced_payload(arm), "payload")
    if not without_constants(arm):
        yield "voltage", program_of(traced_voltage(arm), "voltage_of")
    for law in LAWS:
        yield law, program_of(traced_law(arm, law), law)


def _body(program: Program) -> str:
    """The functions of a program in compact form, and those that the page calls."""
    text, _ = LANGUAGE.write(program)
    prepare = f"{program.name}_prepare" if program.parameters else "null"
    return f"{_compact(text)}\nreturn {{ call: {program.name}, prepare: {prepare} }};"


def _compact(text: str) -> str:
    """Generated code, which contains no strings, without comments, indentation and unneeded spaces;
    consecutive constants become one statement.
    """
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("export function", "function")
    made: list[str] = []
    is_whole = True
    for line in (line.strip() for line in bare.splitlines() if line.strip()):
        close = re.sub(r" ?([*/+=?:<,{}()]) ?", r"\1", line)
        close = re.sub(r" - (?=[^-])", "-", close)
        if not is_whole:
            made[-1] += f" {close}"  # for splitting long statements
        elif close.startswith("const ") and made and made[-1].startswith("const "):
            made[-1] = f"{made[-1][:-1]},\n{close[6:]}"
        else:
            made.append(close)
        is_whole = close.endswith((";", "{", "}"))
    return "\n".join(made)
