"""The arm with other parameters: ten per moving body, and drive parameters by name.

A moving body is one link, or several connected by fixed joints. Changes go to its main link; the others keep
their parameters as long as the main link stays physical.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.drive import SIDES, Friction, Motor
from forearm.arm.joint import Joint
from forearm.arm.link import Link, is_semidefinite
from forearm.dynamics.reference import inertial_parameters
from forearm.errors import InputError, ModelError, NameNotFound, located, shorten, suggest
from forearm.identification.payload.physical import parameters_of_body, pseudo_inertia
from forearm.identification.payload.regressor import tensor_of
from forearm.spatial import Floats, MassProperties, inverse_pose, move_body, parallel_axis
from forearm.values import as_finite, check_choice, check_number

Side = Literal["joint", "motor"]
KEPT = 0.9  # largest share for links other than the main one: the main link stays physical
FEW = 0.05  # links that could keep less than this keep nothing
WAYS = ("positive", "negative")
FRICTION = ("viscous", *(f"{kind}.{way}" for kind in ("coulomb", "static") for way in WAYS), "stribeck_speed")
MOTOR = ("gear_ratio", "rotor_inertia", "torque_constant", "resistance")


def arm_with(
    arm: Arm, standard: ArrayLike, drives: Mapping[str, float] | None = None, *, side: Side = "joint"
) -> tuple[Arm, tuple[str, ...]]:
    """The arm with other inertial and drive parameters, and sentences on further changes.

    The change of a body made of several links goes to its main link: the child of its joint or, if that has
    no mass, the heaviest of the links fixed to it. If the main link would become unphysical, the other links
    keep a fraction of their parameters, or nothing. A body with unchanged parameters stays bit-identical.

    Args:
        arm: the arm.
        standard: ten parameters per moving body (10 N,), as from `dynamics.inertial_parameters`.
        drives: drive parameters by name, such as "joint2.friction.viscous",
            "joint2.friction.coulomb.negative" (at most 0), "joint2.motor.rotor_inertia",
            "joint2.motor.resistance"; None: unchanged. Friction is on the side of the joint's present
            friction. A joint without friction or motor gets one.
        side: side of friction for joints that have none yet.
    """
    check_choice(side, SIDES, "arm_with, side")
    old = inertial_parameters(arm)
    new = as_finite(standard, old.shape, "arm_with, standard")
    links = {link.name: link for link in arm.links}
    notes: list[str] = []
    for index, body in enumerate(arm.moving.bodies):
        ten = slice(10 * index, 10 * index + 10)
        if not np.array_equal(old[ten], new[ten]):
            with located(f"arm_with, body of {body.joint.name!r}"):
                changed, said = _links_of(arm, index, new[ten])
            links |= {link.name: link for link in changed}
            notes += said
    parts = _by_joint(arm, drives or {})
    tree = []
    for joint in arm.tree:
        if joint.name in parts:
            with located(f"arm_with, joint {joint.name!r}"):
                joint, said = _driven(joint, parts[joint.name], side)
            notes += said
        tree.append(joint)
    return arm.replace(links=tuple(links.values()), tree=tuple(tree)), tuple(notes)


def main_link(arm: Arm, index: int) -> Link:
    """The main link of a moving body, which receives parameter changes."""
    links = [arm.link(name) for name, (on, _) in arm.moving.frames.items() if on == index]
    child = arm.link(arm.moving.bodies[index].joint.child)
    return child if not child.massless else max([child, *links], key=lambda link: link.mass)


def body_from(pi: Floats) -> MassProperties:
    """Mass, centre and inertia about it from ten parameters, unchecked."""
    m, h, inertia = float(pi[0]), pi[1:4], tensor_of(pi[4:])
    if m == 0.0:
        if h.any():
            raise ModelError(f"first moments {shorten(h.tolist())} without mass; no physical body has them.")
        return 0.0, np.zeros(3), inertia
    return m, h / m, inertia - parallel_axis(m, h / m)


def _links_of(arm: Arm, index: int, pi: Floats) -> tuple[list[Link], list[str]]:
    """The links of a body with new parameters, if they change, and sentences on the change."""
    frames = arm.moving.frames
    main = main_link(arm, index)
    others = [
        link for link in arm.links if frames[link.name][0] == index and link is not main and not link.massless
    ]
    beside = sum(
        (parameters_of_body(*move_body(frames[link.name][1], *link.properties)) for link in others),
        np.zeros(10),
    )
    share = _share(pi, beside)
    own = pi - share * beside
    if own[0] < 0.0:
        raise ModelError(f"link {main.name!r} would have a mass of {own[0]:g} kg; expected at least 0.")
    mass, com, inertia = move_body(inverse_pose(frames[main.name][1]), *body_from(own))
    changed = [Link(name=main.name, mass=mass, com=com, inertia=inertia)]
    if share == 1.0:
        return changed, []
    changed += [
        Link(name=o.name, mass=share * o.mass, com=o.com, inertia=share * o.inertia)
        if share
        else Link(name=o.name)
        for o in others
    ]
    names, kept = ", ".join(o.name for o in others), f"{100.0 * share:.0f} %" if share else "nothing"
    return changed, [
        f"Of the mass and inertia of {names}, fixed to {main.name}, {kept} is kept; otherwise {main.name} "
        "would be unphysical."
    ]


def _share(pi: Floats, beside: Floats) -> float:
    """Fraction of the other links' parameters that leaves the main link physical: 1, or less."""
    if not beside.any() or _is_body(pi - beside):
        return 1.0
    values, vectors = np.linalg.eigh(pseudo_inertia(pi))
    if values[0] <= 0.0:
        return 0.0
    half = vectors / np.sqrt(values)
    most = 1.0 / float(np.linalg.eigvalsh(half.T @ pseudo_inertia(beside) @ half)[-1])
    share = KEPT * min(most, 1.0)
    return share if share >= FEW else 0.0


def _is_body(pi: Floats) -> bool:
    """Whether these parameters are physical for a link."""
    if pi[0] < 0.0 or (pi[0] == 0.0 and pi[1:4].any()):
        return False
    mass, _, inertia = body_from(pi)
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return is_semidefinite(inertia, mass) and is_semidefinite(second, mass)


def _by_joint(arm: Arm, drives: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Drive parameters of each joint, by the part after its name."""
    joints = [body.joint.name for body in arm.moving.bodies]
    ends = [*(f"friction.{key}" for key in FRICTION), *(f"motor.{key}" for key in MOTOR)]
    made: dict[str, dict[str, float]] = {}
    for name, value in drives.items():
        end = next((e for e in ends if str(name).endswith(f".{e}")), "")
        joint = str(name)[: -len(end) - 1] if end else ""
        if joint not in joints:
            known = [f"{j}.{e}" for j in joints for e in ends]
            raise NameNotFound(
                f"unknown name {shorten(name)}; {suggest(str(name), known)}", "arm_with", "drives"
            )
        made.setdefault(joint, {})[end] = check_number(value, f"arm_with, {name}")
    return made


def _driven(joint: Joint, figures: Mapping[str, float], side: Side) -> tuple[Joint, list[str]]:
    """The joint with these drive parameters, and sentences on further changes."""
    motor, friction = joint.motor, joint.friction
    notes: list[str] = []
    motors = {key.removeprefix("motor."): x for key, x in figures.items() if key.startswith("motor.")}
    rubs = {key.removeprefix("friction."): x for key, x in figures.items() if key.startswith("friction.")}
    if rubs:
        friction, notes = _friction(friction or Friction(side=side), rubs, joint.name)
    if motors or (friction is not None and friction.side == "motor"):
        motor = dataclasses.replace(motor or Motor(), **motors)
    return dataclasses.replace(joint, motor=motor, friction=friction), notes


def _friction(old: Friction, figures: Mapping[str, float], joint: str) -> tuple[Friction, list[str]]:
    """Friction with these parameters; static friction is never less than Coulomb friction."""

    def pair(kind: str, before: tuple[float, float]) -> tuple[float, float]:
        forwards, backwards = (figures.get(f"{kind}.{w}", x) for w, x in zip(WAYS, before, strict=True))
        return forwards, backwards

    coulomb, viscous = pair("coulomb", old.coulomb), figures.get("viscous", old.viscous)
    speed = figures.get("stribeck_speed", old.stribeck_speed)
    wanted = pair("static", old.static or coulomb)
    notes: list[str] = []
    if old.bristle_stiffness is not None and 0.0 in coulomb:
        old = dataclasses.replace(old, bristle_stiffness=None, bristle_damping=0.0)
        notes.append(f"{joint}: its bristle model is removed, as Coulomb friction is 0.")
    if speed is None:
        if wanted != coulomb:
            raise InputError("requires a stribeck_speed; give one, in rad/s (m/s).", "friction", "static")
        return dataclasses.replace(old, viscous=viscous, coulomb=coulomb, static=None), notes
    static = max(wanted[0], coulomb[0]), min(wanted[1], coulomb[1])
    if static != wanted:
        notes.append(f"{joint}: static friction is raised to the level of Coulomb friction.")
    made = dataclasses.replace(old, viscous=viscous, coulomb=coulomb, static=static, stribeck_speed=speed)
    return made, notes
