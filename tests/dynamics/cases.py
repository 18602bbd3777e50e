"""What the tests of dynamics share: arms of every kind, states where things break,
and what agreement means.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from arms import STEP, STYLES, random_arm
from numpy.typing import NDArray

from forearm import Arm, Joint, Motor
from forearm.arm.joint import Kind
from forearm.dynamics import formulations
from forearm.kinematics import link_poses

Array = NDArray[np.float64]

AGREEMENT = 1e-10  # max|difference| <= this times max|value|, for forward dynamics times cond(M)
# Second derivatives by seven points: truncation h^6/560 of the eighth derivative,
# rounding 1e-16 / h^2 with h = 2e-3
SECOND = 1e-8
SECOND_POINTS = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / (180.0 * STEP**2)
INVERSE, INERTIA, FORWARD = (formulations()[kind] for kind in ("inverse", "inertia_matrix", "forward"))
# Waters and Uicker wrote for one chain; everything else takes trees and followers too.
SERIAL_ONLY = (
    "lagrange-naive",
    "lagrange-uicker",
    "lagrange-stored",
    "lagrange-recursive",
    "lagrange-recursive-d",
    "lagrange-waters",
)
# Their work grows as n^5, n^4 and n^3 in 4x4 products: longer chains only take time.
LONGEST = {"lagrange-naive": 6, "lagrange-uicker": 8, "lagrange-stored": 8}


class State(NamedTuple):
    """Coordinates, rates and accelerations of the freedoms, (n,) each."""

    q: Array
    qd: Array
    qdd: Array


class Load(NamedTuple):
    """What the surroundings do: the load on the hand and the motion of the base, as `inverse` takes them."""

    hand_force: Array | None = None
    hand_moment: Array | None = None
    base_motion: tuple[Array, Array, Array] | None = None


def assert_agree(found: Any, truth: Any, tolerance: float = AGREEMENT) -> None:
    """max|found - truth| <= tolerance max|truth|, what agreement means here; NaN never agrees."""
    found, truth = np.asarray(found, dtype=float), np.asarray(truth, dtype=float)
    assert found.shape == truth.shape
    scale = float(np.abs(truth).max(initial=0.0))
    wrong = float(np.abs(found - truth).max(initial=0.0))
    assert wrong <= tolerance * scale, (
        f"differs by {wrong:.3g} where the largest value is {scale:.3g}: {found} not {truth}"
    )


def rigid_arms(n: int, seed: int = 5) -> dict[str, Arm]:
    """One rigid arm of every kind: both DH conventions and frames;
    chain, tree, followers on a chain and on a tree.
    """
    arms: dict[str, Arm] = {}
    for k, style in enumerate(STYLES):
        arms[style] = random_arm(seed + k, n, style)
        arms[f"{style}, tree"] = random_arm(seed + 10 + k, n, style, tree=True)
        arms[f"{style}, followers"] = random_arm(seed + 20 + k, n, style, mimic=True)
        arms[f"{style}, tree, followers"] = random_arm(seed + 30 + k, n, style, tree=True, mimic=True)
    pull = np.random.default_rng(seed).normal(size=(len(arms), 3)) * 12.0  # any gravity, of any strength
    return {name: arm.rigid().replace(gravity=g) for (name, arm), g in zip(arms.items(), pull, strict=True)}


def with_kinds(arm: Arm, kinds: str) -> Arm:
    """The rigid arm with the joints' kinds set by letters R and P."""
    letters = dict(zip((j.name for j in arm.joints), kinds, strict=True))
    named: dict[str, Kind] = {"R": "revolute", "P": "prismatic"}

    def changed(joint: Joint) -> Joint:
        return dataclasses.replace(joint, kind=named[letters[joint.name]]) if joint.name in letters else joint

    rigid = arm.rigid()
    return rigid.replace(tree=tuple(changed(j) for j in rigid.tree))


def simple_drives(arm: Arm) -> Arm:
    """The arm with drives that no load changes: rotors, viscous and Coulomb friction."""

    def changed(joint: Joint) -> Joint:
        friction = joint.friction and dataclasses.replace(joint.friction, static=None, stribeck_speed=None)
        return dataclasses.replace(joint, friction=friction, bearings=(), transmission=None)

    return arm.replace(tree=tuple(changed(j) for j in arm.tree))


def with_armature(arm: Arm, inertia: Array) -> Arm:
    """The arm with these rotor inertias, joint side, on its joints."""
    motors = {j.name: Motor(rotor_inertia=float(value)) for j, value in zip(arm.joints, inertia, strict=True)}
    return arm.replace(tree=tuple(dataclasses.replace(j, motor=motors.get(j.name)) for j in arm.tree))


def random_state(arm: Arm, seed: int) -> State:
    """A generic state, (n,) each, nothing in it near 0."""
    rng = np.random.default_rng([seed, 7])
    q, qd, qdd = rng.uniform(0.2, 2.5, (3, arm.n)) * rng.choice([-1.0, 1.0], (3, arm.n))
    return State(q, qd, qdd)


def random_load(seed: int) -> Load:
    """A force and a moment on the hand and a base that turns and accelerates, all generic."""
    w, wd, a = np.random.default_rng([seed, 9]).normal(size=(3, 3)) * 3.0
    return Load(*random_wrench(seed), (w, wd, a))


def random_wrench(seed: int) -> tuple[Array, Array]:
    """A generic force on the hand, and a moment."""
    force, moment = np.random.default_rng([seed, 8]).normal(size=(2, 3)) * 3.0
    return force, moment


def awkward_states(arm: Arm) -> dict[str, State]:
    """Where things break: near and at +-pi, at rest, everything 0, one joint moving alone, very fast."""
    generic = random_state(arm, 3)
    none = np.zeros(arm.n)
    sign = np.where(np.arange(arm.n) % 2 == 0, 1.0, -1.0)
    alone = none.copy()
    alone[-1] = 1.7
    return {
        "at pi": State(sign * np.pi, generic.qd, generic.qdd),
        "near pi": State(sign * np.pi + 1e-9 * generic.q, generic.qd, generic.qdd),
        "at rest": State(generic.q, none, none),
        "zero": State(none, none, none),
        "last joint alone": State(generic.q, alone, none),
        "fast": State(generic.q, 40.0 * generic.qd, generic.qdd),
        "many turns": State(generic.q + 200.0 * np.pi, generic.qd, generic.qdd),
    }


def situations(arm: Arm) -> Iterator[tuple[State, Load]]:
    """A generic state under every load there is, and every awkward state free and under all of them."""
    load = random_load(1)
    force, moment, base = load
    for number, some in enumerate((Load(), Load(force), Load(None, moment), Load(None, None, base), load)):
        yield random_state(arm, number), some
    for state in awkward_states(arm).values():
        yield state, Load()
        yield state, load


def geometric_jacobian(arm: Arm, q: Array, link: str | None = None) -> Array:
    """(6, n) of a serial arm or tree without followers: linear rows first, base axes,
    at the link's or hand's origin.

    From poses alone: column j is (z_j x (p - p_j), z_j) for a turning joint, (z_j, 0) for a sliding one.
    """
    poses = link_poses(arm, q)
    name = arm.hand.link if link is None else link
    T = poses[name] @ arm.hand.pose if link is None else poses[name]
    on_path = {name}
    for joint in reversed(arm.tree):  # parents come before their children
        if joint.child in on_path:
            on_path.add(joint.parent)
    J = np.zeros((6, arm.n))
    for i, joint in enumerate(arm.joints):
        if joint.child not in on_path:
            continue
        at = poses[joint.parent] @ joint.before
        z = at[:3, :3] @ joint.axis
        if joint.kind == "revolute":
            J[:, i] = np.concatenate([np.cross(z, T[:3, 3] - at[:3, 3]), z])
        else:
            J[:3, i] = z
    return J
