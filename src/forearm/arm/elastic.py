"""Split an arm with elastic joints into its motor side and its link side.

`link_side` is the arm without the parts that move with the rotors of its elastic joints. `expanded` models
these rotors as bodies with their own degrees of freedom, after the n of the links: the mechanics without
springs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.arm.joint import Frame, Joint, Mimic
from forearm.arm.link import Link, is_semidefinite
from forearm.portable import matmul

ROTOR, SHAFT = ".rotor", ".shaft"  # suffix after a joint's name


def elastic_freedoms(arm: Arm) -> tuple[int, ...]:
    """The movable joints with a spring between motor and link, in the order of q."""
    return tuple(i for i, joint in enumerate(arm.joints) if joint.elasticity is not None)


def is_elastic(arm: Arm) -> bool:
    """Whether the arm has an elastic joint."""
    return any(joint.elasticity is not None for joint in arm.joints)


def has_spinning_rotors(arm: Arm) -> bool:
    """Whether the spin of a rotor acts on the link that carries it: the full model."""
    return any(j.elasticity is not None and j.elasticity.rotor_axis is not None for j in arm.joints)


@lru_cache(maxsize=64)
def link_side(arm: Arm) -> Arm:
    """The arm without rotor, gear and motor friction of its elastic joints: its joint torques are those of
    the springs.
    """
    if not is_elastic(arm):
        return arm

    def bare(joint: Joint) -> Joint:
        if joint.elasticity is None:
            return joint
        friction = joint.friction if joint.friction is not None and joint.friction.side == "joint" else None
        return replace(joint, motor=None, transmission=None, elasticity=None, friction=friction)

    return arm.replace(tree=tuple(map(bare, arm.tree)), deviations={})


@lru_cache(maxsize=64)
def expanded(arm: Arm) -> Arm:
    """`link_side` with the rotors of the elastic joints as bodies. After the n degrees of freedom of the
    links there is one per rotor, in the order of q, in joint-side coordinates: motor angle / N.

    A rotor with a `rotor_axis` spins on the link that carries it, at N times its coordinate, and owns the
    part J a a^T of that link's inertia; if the file gives the link less, the difference is added. Any other
    rotor spins by itself.
    """
    tree, links = list(link_side(arm).tree), {link.name: link for link in arm.links}
    for joint in arm.joints:
        if joint.elasticity is None:
            continue
        motor, axis = joint.motor, joint.elasticity.rotor_axis
        assert motor is not None  # guaranteed by Joint
        about = np.diag([0.0, 0.0, motor.reflected_inertia if axis is None else 0.0])
        shaft = joint.name + SHAFT
        links[shaft] = Link(name=shaft, inertia=about)
        tree.append(_joint(shaft, arm.links[0].name, Frame(), friction=shaft_friction(joint)))
        if axis is not None:
            _spin(arm, joint, links, tree)
    return arm.replace(links=tuple(links.values()), tree=tuple(tree), hand=arm.hand, deviations={})


def _spin(arm: Arm, joint: Joint, links: dict[str, Link], tree: list[Joint]) -> None:
    """A rotor on the link that carries it; its inertia about its axis is taken from that link."""
    motor, elasticity = joint.motor, joint.elasticity
    assert motor is not None
    assert elasticity is not None
    rotor, axis = joint.name + ROTOR, np.array(elasticity.rotor_axis)
    J = motor.rotor_inertia * np.outer(axis, axis)
    links[rotor] = Link(name=rotor, inertia=J)
    frames = arm.moving.frames
    carrier, T = frames[joint.parent]
    R_body_rotor = matmul(T[:3, :3], joint.before[:3, :3])
    # The carrier, or a link fixed on it with enough inertia: others may be mere frames.
    for name in sorted((name for name, (k, _) in frames.items() if k == carrier), key=joint.parent.__ne__):
        R = matmul(frames[name][1][:3, :3].T, R_body_rotor)
        rest = links[name].inertia - matmul(matmul(R, J), R.T)
        rest = 0.5 * (rest + rest.T)
        if is_semidefinite(rest, links[name].mass):
            links[name] = replace(links[name], inertia=rest)
            break
    place = Frame.from_pose(joint.before, axis)
    mimic = Mimic(joint=joint.name + SHAFT, multiplier=motor.gear_ratio)
    tree.append(_joint(rotor, joint.parent, place, mimic=mimic))


def _joint(name: str, parent: str, place: Frame, **drive: Any) -> Joint:
    """A revolute joint named after the link that it moves."""
    return Joint(name=name, kind="revolute", parent=parent, child=name, placement=place, **drive)


def shaft_friction(joint: Joint) -> Friction | None:
    """Motor friction reflected to a joint with gear ratio 1: |N| (B |N| qd + Tc)."""
    f, motor = joint.friction, joint.motor
    if f is None or f.side == "joint" or motor is None:
        return None
    N = abs(motor.gear_ratio)
    return replace(f.scaled(N, N), side="joint")
