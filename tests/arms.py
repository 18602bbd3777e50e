"""Generic arms to test with, and the energies that everything is measured against.

The energies know nothing of forearm's inertia code: mass by mass over the links,
velocities by differences of poses.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from forearm import (
    DH,
    Arm,
    Bearing,
    Elasticity,
    Frame,
    Friction,
    Hand,
    Joint,
    Limits,
    Link,
    Mimic,
    Motor,
    Transmission,
)
from forearm.arm.joint import Kind
from forearm.kinematics import link_poses
from forearm.spatial import pose, rotation_rpy

Array = NDArray[np.float64]
Style = Literal["standard", "modified", "frames"]
STYLES: tuple[Style, ...] = ("standard", "modified", "frames")

# Seven points with this step: truncation h^6/140 f(7) and rounding eps/h both stay near
# 1e-13 for the arms below.
STEP = 2e-3
SEVEN_POINTS = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / (60.0 * STEP)
OFFSETS = STEP * np.arange(-3.0, 4.0)
DIFFERENCE = 1e-9  # what an energy or its slope, computed by such differences, may be wrong by, relative


def random_arm(
    seed: int,
    n: int = 4,
    convention: Style = "frames",
    prismatic: bool = True,
    tree: bool = False,
    fixed: bool = True,
    mimic: bool = False,
    drives: bool = True,
) -> Arm:
    """An arm of n freedoms without a zero, a one or a symmetry in it:
    tilted base, tool, limits, full real tensors.

    `fixed` strews links on fixed joints among the others, `tree` lets it branch, `mimic` adds a joint
    that follows a freedom and one that follows the follower. Its masses and sizes are those of bodies,
    so no check complains. Asked for again it is the same object.
    """
    return _random_arm(seed, n, convention, prismatic, tree, fixed, mimic, drives)


@cache
def _random_arm(
    seed: int, n: int, convention: Style, prismatic: bool, tree: bool, fixed: bool, mimic: bool, drives: bool
) -> Arm:
    rng = np.random.default_rng([seed, n])
    slides = rng.random(n) < 0.35 if prismatic else np.zeros(n, dtype=bool)
    if prismatic and n > 1:
        slides[rng.integers(n)] = True
    movers = ["follow"] * (2 if mimic else 0) + ["free"] * n
    rng.shuffle(movers)
    if movers and movers[-1] == "follow" and n:  # the hand stays behind a freedom
        movers.remove("free")
        movers.append("free")

    links = [_link(rng, "pedestal")]
    joints: list[Joint] = []
    free = followers = 0
    for position, mover in enumerate(movers):
        parent = links[-1].name
        if tree and position:
            other = links[int(rng.integers(len(links) - 1))].name
            parent = other if rng.random() < 0.4 or position == len(movers) - 1 else parent
        if fixed and (position == 0 or rng.random() < 0.4):
            joints.append(
                _joint(rng, f"weld{len(joints) + 1}", "fixed", parent, f"part{len(links)}", convention)
            )
            links.append(_link(rng, f"part{len(links)}"))
            parent = links[-1].name
        follows: Mimic | None = None
        if mover == "free":
            kind: Kind = "prismatic" if slides[free] else "revolute"
            free += 1
            name = f"joint{free}"
        else:
            kind = "prismatic" if prismatic and rng.random() < 0.3 else "revolute"
            leader = "follower1" if followers else f"joint{rng.integers(n) + 1}"
            followers += 1
            name = f"follower{followers}"
            follows = Mimic(joint=leader, multiplier=_signed(rng, 0.4, 1.3), offset=_signed(rng, 0.1, 0.3))
        joints.append(_joint(rng, name, kind, parent, f"part{len(links)}", convention, follows, drives))
        links.append(_link(rng, f"part{len(links)}"))
    if fixed:
        joints.append(_joint(rng, "weld_flange", "fixed", links[-1].name, "flange", "frames"))
        links.append(_link(rng, "flange"))
    turned = rotation_rpy(_vector(rng, 0.2, 1.2))
    return Arm(
        name=f"random{seed}",
        links=tuple(links),
        tree=tuple(joints),
        base=pose(turned, _vector(rng, 0.1, 1.0)),
        gravity=turned.T @ np.array([0.0, 0.0, -9.81]),
        hand=Hand(
            link=links[-1].name, pose=pose(rotation_rpy(_vector(rng, 0.2, 1.4)), _vector(rng, 0.05, 0.2))
        ),
        source=f"random_arm({seed})",
        notes="made for a test",
    )


def every_kind(seed: int, n: int = 4) -> list[Arm]:
    """One random arm of every kind there is: both DH conventions and frames; chain, tree, followers."""
    arms = [random_arm(seed, n, style) for style in STYLES]
    arms += [random_arm(seed, n, style, tree=True) for style in STYLES]
    arms += [random_arm(seed, n, style, tree=seed % 2 == 0, mimic=True) for style in STYLES]
    return [*arms, random_arm(seed, n, "modified", prismatic=False, fixed=False, drives=False)]


def elastic_arms(style: Style = "frames") -> tuple[Arm, Arm]:
    """Arms of one freedom and its followers with every number of bristles, of a spring and of a curve."""
    arm = random_arm(5, 1, style, prismatic=False, mimic=style == "frames")
    rough = {"friction": {"bristle_stiffness": 700.0, "bristle_damping": 0.4}}
    arm = arm.with_drives({joint.name: rough for joint in arm.tree if joint.kind != "fixed"})
    spring = Elasticity(stiffness=4e3, damping=2.0, half_gap=1e-4, rotor_axis=(0.3, -0.5, 0.8))
    curve = Elasticity(curve=((0.002, 9.0), (0.005, 31.0)), damping=0.7)
    return arm.with_drives(elasticity=spring), arm.with_drives(elasticity=curve)


def limits_of(arm: Arm) -> tuple[Array, Array]:
    """Lower and upper limits (n,), +-pi or +-1 m where there are none."""
    ends = [(math.pi if j.kind == "revolute" else 1.0) for j in arm.joints]
    lower = [
        j.limits.lower if math.isfinite(j.limits.lower) else -e for j, e in zip(arm.joints, ends, strict=True)
    ]
    upper = [
        j.limits.upper if math.isfinite(j.limits.upper) else e for j, e in zip(arm.joints, ends, strict=True)
    ]
    return np.array(lower), np.array(upper)


def posture(arm: Arm, seed: int, count: int | None = None) -> Array:
    """A random posture within the limits, (n,), or several, (count, n)."""
    lower, upper = limits_of(arm)
    size = (arm.n,) if count is None else (count, arm.n)
    return lower + (upper - lower) * np.random.default_rng(seed).random(size)


def speed(arm: Arm, seed: int) -> Array:
    """Random joint speeds, none of them near 0, (n,)."""
    return _vector(np.random.default_rng([seed, 1]), 0.3, 1.0, arm.n)


def kinetic_energy(arm: Arm, q: Array, qd: Array) -> float:
    """Sum over every link of m v^2 / 2 + w I w / 2, velocities by differences of its pose
    along q + t qd; no rotors.
    """
    path = np.asarray(q) + OFFSETS[:, None] * np.asarray(qd)
    poses = link_poses(arm, path)
    return sum(body_energy(poses[link.name], link.mass, link.com, link.inertia) for link in arm.links)


def body_energy(path: Array, mass: float, com: Array, inertia: Array) -> float:
    """m v^2 / 2 + w I w / 2 of a body from its poses (7, 4, 4) at the seven OFFSETS of
    time; tensor in body axes.
    """
    R, p = path[:, :3, :3], path[:, :3, 3]
    v = SEVEN_POINTS @ (R @ com + p)
    spin = np.einsum("t,tik->ik", SEVEN_POINTS, R) @ R[3].T
    w = 0.5 * np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]])
    in_body = R[3].T @ w
    return float(0.5 * mass * v @ v + 0.5 * in_body @ inertia @ in_body)


def potential_energy(arm: Arm, q: Array) -> float:
    """Sum over every link of -m g . c, in the base frame."""
    poses = link_poses(arm, q)
    return -math.fsum(
        link.mass * float(arm.gravity @ (poses[link.name][:3, :3] @ link.com + poses[link.name][:3, 3]))
        for link in arm.links
    )


def potential_slope(arm: Arm, q: Array) -> Array:
    """dU/dq by differences of the potential energy, all of them at once, (n,)."""
    many = (q + OFFSETS[:, None] * np.eye(arm.n)[:, None]).reshape(-1, arm.n)
    poses = link_poses(arm, many)
    weights = [
        link.mass * (poses[link.name][:, :3, :3] @ link.com + poses[link.name][:, :3, 3]) @ arm.gravity
        for link in arm.links
    ]
    slope: Array = -np.sum(weights, axis=0).reshape(arm.n, 7) @ SEVEN_POINTS
    return slope


def real_tensor(rng: np.random.Generator, mass: float, semi_axes: Array) -> Array:
    """The inertia of a solid ellipsoid, turned: a full tensor that a real body has."""
    R = rotation_rpy(_vector(rng, 0.3, 1.2))
    second = R @ np.diag(mass * semi_axes**2 / 5.0) @ R.T
    tensor: Array = np.trace(second) * np.eye(3) - second
    return 0.5 * (tensor + tensor.T)


def _link(rng: np.random.Generator, name: str) -> Link:
    semi_axes = rng.uniform(0.04, 0.12, 3)
    mass = float(rng.uniform(500.0, 2000.0) * 4.0 / 3.0 * math.pi * semi_axes.prod())
    return Link(name=name, mass=mass, com=_vector(rng, 0.02, 0.12), inertia=real_tensor(rng, mass, semi_axes))


def _joint(
    rng: np.random.Generator,
    name: str,
    kind: Kind,
    parent: str,
    child: str,
    convention: Style,
    mimic: Mimic | None = None,
    drives: bool = False,
) -> Joint:
    ends = (1.2, 2.9) if kind == "revolute" else (0.1, 0.4)
    limits = Limits(-float(rng.uniform(*ends)), float(rng.uniform(*ends)))
    motor, friction, bearing, transmission = _drive(rng, kind)
    has_drive = drives and kind != "fixed"
    return Joint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        placement=_placement(rng, convention),
        limits=limits if kind != "fixed" else Limits(),
        max_speed=float(rng.uniform(1.0, 5.0)) if kind != "fixed" else None,
        max_effort=float(rng.uniform(5e3, 9e3)) if kind != "fixed" else None,
        mimic=mimic,
        motor=motor if has_drive else None,
        friction=friction if has_drive else None,
        bearings=(bearing,) if has_drive else (),
        transmission=transmission if has_drive else None,
    )


def _placement(rng: np.random.Generator, convention: Style) -> DH | Frame:
    if convention == "frames":
        return Frame(xyz=_vector(rng, 0.1, 0.3), rpy=_vector(rng, 0.2, 1.4), axis=_vector(rng, 0.2, 1.0))
    return DH(
        convention=convention,
        a=_signed(rng, 0.1, 0.4),
        alpha=_signed(rng, 0.3, 2.8),
        d=_signed(rng, 0.1, 0.3),
        theta=_signed(rng, 0.3, 2.8),
    )


def _drive(rng: np.random.Generator, kind: Kind) -> tuple[Motor, Friction, Bearing, Transmission]:
    motor = Motor(
        gear_ratio=_signed(rng, 20.0, 110.0),
        rotor_inertia=float(rng.uniform(1e-5, 2e-4)),
        torque_constant=float(rng.uniform(0.05, 0.3)),
        resistance=float(rng.uniform(0.5, 4.0)),
        inductance=float(rng.uniform(1e-4, 1e-3)),
        max_voltage=float(rng.uniform(24.0, 60.0)),
    )
    coulomb = (float(rng.uniform(0.1, 0.4)), -float(rng.uniform(0.1, 0.4)))
    friction = Friction(
        side="motor" if rng.random() < 0.5 else "joint",
        viscous=float(rng.uniform(1e-4, 1e-2)),
        coulomb=coulomb,
        static=(coulomb[0] * float(rng.uniform(1.1, 1.5)), coulomb[1] * float(rng.uniform(1.1, 1.5))),
        stribeck_speed=float(rng.uniform(0.01, 0.1)),
    )
    mu, radius, distance, offset = (float(v) for v in rng.uniform(0.01, 0.08, 4))
    bearing = (
        Bearing(kind="linear", mu=mu, distance=distance, offset=offset)
        if kind == "prismatic"
        else Bearing(kind="journal", mu=mu, radius=radius, distance=distance, offset=-offset)
    )
    low, high = sorted(float(v) for v in rng.uniform(0.5, 0.95, 2))
    transmission = Transmission(
        efficiency=((float(rng.uniform(0.05, 0.2)), low), (float(rng.uniform(0.8, 1.2)), high)),
        rated_torque=float(rng.uniform(20.0, 200.0)),
        breakaway=float(rng.uniform(0.1, 1.0)),
        interpolation="spline" if rng.random() < 0.5 else "linear",
    )
    return motor, friction, bearing, transmission


def _signed(rng: np.random.Generator, low: float, high: float) -> float:
    return float(_vector(rng, low, high, 1)[0])


def _vector(rng: np.random.Generator, low: float, high: float, size: int = 3) -> Array:
    signed: Array = rng.uniform(low, high, size) * rng.choice([-1.0, 1.0], size)
    return signed
