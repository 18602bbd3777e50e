"""URDF text of random arms, generic in every number, for the tests of URDF and for the fuzzer."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Making:
    """What a random arm may have in it. Its shape is a chain, or a tree whose links are
    put on any earlier link.
    """

    links: int = 8
    tree: bool = True
    kinds: tuple[str, ...] = ("revolute", "continuous", "prismatic", "fixed")
    mimics: bool = True
    drives: bool = True
    massless: bool = True


EVERYTHING = Making()


def random_urdf(seed: int, making: Making = EVERYTHING) -> str:
    """The text of one arm; joints and links stand in any order, the base first or last."""
    rng = random.Random(seed)
    names = [f"link {i}" for i in range(making.links)]
    joints: list[str] = []
    movable: list[str] = []
    transmissions: list[str] = []
    for i in range(1, making.links):
        parent = names[rng.randrange(i) if making.tree else i - 1]
        kind = making.kinds[rng.randrange(len(making.kinds))]
        name = f"joint {i}"
        leader = (
            rng.choice(movable)
            if making.mimics and kind != "fixed" and movable and rng.random() < 0.3
            else None
        )
        joints.append(joint_element(rng, name, kind, parent, names[i], leader, making.drives))
        if kind != "fixed":
            movable.append(name)
            if making.drives and rng.random() < 0.6:
                transmissions.append(transmission_element(rng, name))
    links = [
        f'<link name="{name}"/>' if making.massless and rng.random() < 0.2 else link_element(rng, name)
        for name in names
    ]
    blocks = links + joints + transmissions
    rng.shuffle(blocks)
    return '<robot name="made">\n' + "\n".join(blocks) + "\n</robot>\n"


def joint_element(
    rng: random.Random,
    name: str,
    kind: str,
    parent: str,
    child: str,
    leader: str | None = None,
    drives: bool = True,
) -> str:
    """A <joint> with everything that its kind may have."""
    parts = [f'<parent link="{parent}"/>', f'<child link="{child}"/>']
    parts.append(f'<origin xyz="{numbers(rng, 3, 0.7)}" rpy="{numbers(rng, 3, 3.1)}"/>')
    if kind != "fixed":
        parts.append(f'<axis xyz="{numbers(rng, 3, 2.0)}"/>')
        lower, upper = -rng.uniform(0.5, 3.0), rng.uniform(0.5, 3.0)
        bounds = "" if kind == "continuous" else f'lower="{lower!r}" upper="{upper!r}" '
        parts.append(f'<limit {bounds}effort="{rng.uniform(5, 90)!r}" velocity="{rng.uniform(1, 9)!r}"/>')
        if drives and rng.random() < 0.5:
            parts.append(f'<dynamics damping="{rng.uniform(0.1, 2)!r}" friction="{rng.uniform(0.1, 2)!r}"/>')
    if leader is not None:
        factor, shift = numbers(rng, 2, 1.5).split()
        parts.append(f'<mimic joint="{leader}" multiplier="{factor}" offset="{shift}"/>')
    rng.shuffle(parts)
    return f'<joint name="{name}" type="{kind}">\n  ' + "\n  ".join(parts) + "\n</joint>"


def transmission_element(rng: random.Random, joint: str) -> str:
    """A simple <transmission> with its reduction in one of the two places where files have it."""
    ratio = f"<mechanicalReduction>{rng.choice((-1, 1)) * rng.uniform(20, 160)!r}</mechanicalReduction>"
    rotor = f"<motorInertia>{rng.uniform(1e-5, 1e-3)!r}</motorInertia>"
    inside, outside = (ratio, "") if rng.random() < 0.5 else ("", ratio)
    return (
        f'<transmission name="{joint} gear"><type>transmission_interface/SimpleTransmission</type>'
        f'<joint name="{joint}"/><actuator name="{joint} '
        f'motor">{inside}{rotor}</actuator>{outside}</transmission>'
    )


def link_element(rng: random.Random, name: str) -> str:
    """A <link> with the mass properties of a random cloud of points, in an inertial frame that is turned."""
    weights, points = random_body(rng)
    tensor = tensor_attributes(inertia_of(weights, points))
    origin = f'<origin xyz="{numbers(rng, 3, 0.4)}" rpy="{numbers(rng, 3, 3.1)}"/>'
    return (
        f'<link name="{name}"><inertial>{origin}<mass value="{float(weights.sum())!r}"/><inertia '
        f"{tensor}/></inertial></link>"
    )


def random_body(rng: random.Random) -> tuple[Array, Array]:
    """Masses (6,) and places (6, 3) of points about their centre of mass:
    a body that can exist, with no symmetry.
    """
    weights = np.array([rng.uniform(0.2, 1.0) for _ in range(6)])
    points = np.array([[rng.uniform(-0.3, 0.3) for _ in range(3)] for _ in range(6)])
    return weights, points - weights @ points / weights.sum()


def inertia_of(weights: Array, points: Array) -> Array:
    """The inertia of points about the origin: sum of m (|r|^2 1 - r r^T)."""
    squares = (points * points).sum(axis=1)
    return np.asarray(weights @ squares * np.eye(3) - (weights * points.T) @ points)


def tensor_attributes(inertia: Array) -> str:
    """A tensor as the attributes of <inertia>."""
    return " ".join(
        f'i{"xyz"[i]}{"xyz"[k]}="{float(inertia[i, k])!r}"'
        for i, k in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )


def numbers(rng: random.Random, count: int, size: float) -> str:
    """Numbers between a tenth of the size and the size, of either sign, as the words of an attribute."""
    return words(rng.choice((-1, 1)) * rng.uniform(0.1 * size, size) for _ in range(count))


def words(values: Iterable[float]) -> str:
    """Numbers as an attribute has them, exact to the last bit."""
    return " ".join(repr(float(v)) for v in values)
