"""Parameters that stay symbols: inertial parameters of links, and gravity, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.link import Link
from forearm.errors import NameNotFound, shorten, suggest
from forearm.model import Array, Model, Scalar
from forearm.reduction.chain import Chain, moments, moved

Value = Callable[[str, float], Scalar]
AXES = ("x", "y", "z")
TENSOR = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}


def parameter_values(arm: Arm) -> dict[str, float]:
    """Every parameter that may stay a symbol, with its value: "link2.mass", "link2.com.x", "link2.inertia.xx", "gravity.z".

    Links that cannot move are left out: no torque depends on them.
    """
    values: dict[str, float] = {}
    for link in arm.links:
        if arm.moving.frames[link.name][0] >= 0:
            values[f"{link.name}.mass"] = link.mass
            values |= {f"{link.name}.com.{axis}": float(c) for axis, c in zip(AXES, link.com, strict=True)}
            values |= {f"{link.name}.inertia.{pair}": float(link.inertia[ij]) for pair, ij in TENSOR.items()}
    return values | {f"gravity.{axis}": float(g) for axis, g in zip(AXES, arm.gravity, strict=True)}


def chosen_parameters(arm: Arm, asked: Iterable[str]) -> dict[str, float]:
    """The parameters asked for, in the arm's order: full names, or a whole "link2", "link2.com", "gravity", or "all"."""
    known = parameter_values(arm)
    wanted: set[str] = set()
    for name in asked:
        found = [k for k in known if k == name or k.startswith(f"{name}.") or name == "all"]
        if not found:
            fixed = name.split(".")[0] in {link.name for link in arm.links}
            why = "that link cannot move, so nothing depends on it" if fixed and name.split(".")[0] not in _movers(known) else (
                "a parameter is LINK.mass, LINK.com.x, LINK.inertia.xx, a whole LINK, gravity.z, or all; "
                + suggest(str(name), [*known, *_movers(known)])
            )  # fmt: skip
            raise NameNotFound(f"parameters: there is no {shorten(name)} in {arm.name!r}; {why}")
        wanted |= set(found)
    return {name: value for name, value in known.items() if name in wanted}


def _movers(known: dict[str, float]) -> list[str]:
    return sorted({name.rsplit(".mass", 1)[0] for name in known if name.endswith(".mass")})


def with_parameters(chain: Chain, arm: Arm, chosen: dict[str, float], value: Value) -> Chain:
    """The chain with other values in the place of the chosen parameters."""
    for i in sorted(touched(arm, chosen)):
        m, h, J = _moments_of(chain.own[i], arm, i, chosen, value)
        chain = chain.changed(i, m=m, h=h, J=J)
    return replace(chain, g=chain.R_base.T @ gravity_of(arm, chosen, value)) if _gravity(chosen) else chain


def model_with_parameters(model: Model, arm: Arm, chosen: dict[str, float], value: Value) -> Model:
    """The model with other values in the place of the chosen parameters; a body's mass must not be 0."""
    bodies = list(model.bodies)
    for i in touched(arm, chosen):
        links = _links_on(arm, i)
        if len(links) == 1:  # nothing to merge, so nothing is divided by a mass that may be 0
            link, T = links[0]
            m, com, inertia = _values_of(link, chosen, value)
            bodies[i] = replace(bodies[i], m=m, r=T[:3, :3] @ com + T[:3, 3], I=T[:3, :3] @ inertia @ T[:3, :3].T)
            continue
        m, h, J = _moments_of(np.eye(4), arm, i, chosen, value)
        r = np.array([x / m for x in h], dtype=object)
        central = J - m * np.outer(r, r)
        bodies[i] = replace(bodies[i], m=m, r=r, I=(central[0, 0] + central[1, 1] + central[2, 2]) * np.eye(3) - central)
    return replace(model, bodies=tuple(bodies), g=gravity_of(arm, chosen, value) if _gravity(chosen) else model.g)


def touched(arm: Arm, chosen: Iterable[str]) -> set[int]:
    """The bodies whose moments depend on the chosen parameters."""
    links = {link.name for link in arm.links for name in chosen if name.startswith(f"{link.name}.")}
    return {arm.moving.frames[name][0] for name in links} - {-1}


def gravity_of(arm: Arm, chosen: dict[str, float], value: Value) -> Array:
    """Free fall in base axes."""
    return np.array([_value(f"gravity.{axis}", float(g), chosen, value) for axis, g in zip(AXES, arm.gravity, strict=True)])


def _gravity(chosen: dict[str, float]) -> bool:
    return any(name.startswith("gravity.") for name in chosen)


def _moments_of(pose: Array, arm: Arm, body: int, chosen: dict[str, float], value: Value) -> tuple[Scalar, Array, Array]:
    """The moments of everything on a body, in a frame in which the body has this pose."""
    m, h, J = 0.0, np.zeros(3, dtype=object), np.zeros((3, 3), dtype=object)
    for link, T in _links_on(arm, body):
        there = np.where(np.abs(pose @ T) < 1e-15, 0.0, pose @ T)
        part = moved(*moments(*_values_of(link, chosen, value)), there[:3, :3], there[:3, 3])
        m, h, J = m + part[0], h + part[1], J + part[2]
    return m, h, J


def _links_on(arm: Arm, body: int) -> list[tuple[Link, Array]]:
    """The links that a body is made of, with their poses in its frame."""
    frames = [(link, *arm.moving.frames[link.name]) for link in arm.links]
    return [(link, T) for link, index, T in frames if index == body]


def _values_of(link: Link, chosen: dict[str, float], value: Value) -> tuple[Scalar, Array, Array]:
    """Mass, centre and inertia about the centre of a link."""
    mass = _value(f"{link.name}.mass", link.mass, chosen, value)
    com = [_value(f"{link.name}.com.{axis}", float(c), chosen, value) for axis, c in zip(AXES, link.com, strict=True)]
    inertia = np.zeros((3, 3), dtype=object)
    for pair, (a, b) in TENSOR.items():
        inertia[a, b] = inertia[b, a] = _value(f"{link.name}.inertia.{pair}", float(link.inertia[a, b]), chosen, value)
    return mass, np.array(com, dtype=object), inertia


def _value(name: str, number: float, chosen: dict[str, float], value: Value) -> Scalar:
    return value(name, number) if name in chosen else number
