"""Inertial parameters of links and gravity, over any scalar, with some values replaced by the caller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.link import Link
from forearm.model import Array, Scalar
from forearm.portable import matmul
from forearm.reduction.chain import moments, moved
from forearm.spatial import TENSOR
from forearm.symbols.scalars import objects

Value = Callable[[str, float], Scalar]  # name and number of a parameter -> the value to use
Chosen = dict[str, float]
AXES = ("x", "y", "z")


def inertial_values(arm: Arm) -> dict[str, float]:
    """Mass, centre and inertia of every link that can move, and gravity, by name."""
    values = {}
    for link in arm.links:
        if arm.moving.frames[link.name][0] >= 0:
            values[f"{link.name}.mass"] = link.mass
            values |= {f"{link.name}.com.{axis}": float(c) for axis, c in zip(AXES, link.com, strict=True)}
            values |= {f"{link.name}.inertia.{pair}": float(link.inertia[ij]) for pair, ij in TENSOR.items()}
    return values | {f"gravity.{axis}": float(g) for axis, g in zip(AXES, arm.gravity, strict=True)}


def reader(chosen: Chosen, value: Value) -> Value:
    """The number of a parameter itself, or its replacement if it is chosen."""
    return lambda name, number: value(name, number) if name in chosen else number


def gravity_of(arm: Arm, value: Value) -> Array:
    """Gravitational acceleration in base axes."""
    entries = [value(f"gravity.{axis}", float(g)) for axis, g in zip(AXES, arm.gravity, strict=True)]
    return objects(entries)


def link_values(link: Link, value: Value) -> tuple[Scalar, Array, Array]:
    """Mass, centre and inertia about the centre of a link."""
    mass = value(f"{link.name}.mass", link.mass)
    com = [value(f"{link.name}.com.{axis}", float(c)) for axis, c in zip(AXES, link.com, strict=True)]
    inertia = np.zeros((3, 3), dtype=object)
    for pair, (a, b) in TENSOR.items():
        inertia[a, b] = inertia[b, a] = value(f"{link.name}.inertia.{pair}", float(link.inertia[a, b]))
    return mass, objects(com), inertia


def link_moments(link: Link, value: Value) -> tuple[Scalar, Array, Array]:
    """Moments of a link about its origin, in the axes of its frame."""
    return moments(*link_values(link, value))


def links_on(arm: Arm, body: int) -> list[tuple[Link, Array]]:
    """The links of a body, with their poses in its frame."""
    frames = [(link, *arm.moving.frames[link.name]) for link in arm.links]
    return [(link, T) for link, index, T in frames if index == body]


def body_moments(pose: Array, arm: Arm, body: int, value: Value) -> tuple[Scalar, Array, Array]:
    """The moments of all links of a body, in a frame in which the body has this pose."""
    m, h, J = 0.0, np.zeros(3, dtype=object), np.zeros((3, 3), dtype=object)
    for link, T in links_on(arm, body):
        there = matmul(pose, T)
        there = np.where(np.abs(there) < 1e-15, 0.0, there)
        part = moved(*link_moments(link, value), there[:3, :3], there[:3, 3])
        m, h, J = m + part[0], h + part[1], J + part[2]
    return m, h, J


def touched(arm: Arm, chosen: Chosen) -> set[int]:
    """The bodies whose moments depend on the chosen parameters."""
    links = {link.name for link in arm.links for name in chosen if name.startswith(f"{link.name}.")}
    return {arm.moving.frames[name][0] for name in links} - {-1}
