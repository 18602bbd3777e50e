"""Set parameters of an arm by name: "link2.mass", "joint1.friction.viscous"."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.arm.joint import DH, Joint
from forearm.arm.link import Link
from forearm.arm.named_values import DIRECTIONS
from forearm.errors import NameNotFound, located, suggest
from forearm.spatial import TENSOR
from forearm.values import check_kind, check_number

GEOMETRY = ("a", "alpha", "d", "theta")


def with_values(arm: Arm, values: Mapping[str, float]) -> Arm:
    """Return the arm with other parameter values; ones that a joint or motor lacks are refused."""
    check_kind(values, Mapping, "with_values")
    owners: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        owner = _owner(arm, name)
        owners.setdefault(owner, {})[name[len(owner) + 1 :]] = check_number(value, f"with_values, {name}")
    links = tuple(_link(link, owners[link.name]) if link.name in owners else link for link in arm.links)
    tree = tuple(_joint(joint, owners[joint.name]) if joint.name in owners else joint for joint in arm.tree)
    gravity = [owners.get("gravity", {}).get(axis, g) for axis, g in zip("xyz", arm.gravity, strict=True)]
    return arm.replace(links=links, tree=tree, gravity=np.array(gravity, dtype=np.float64))


def _owner(arm: Arm, name: str) -> str:
    """The link, joint or gravity that owns a parameter."""
    known = {*arm.named_values, *(f"gravity.{axis}" for axis in "xyz")}
    for joint in arm.tree:
        if isinstance(joint.placement, DH):
            known |= {f"{joint.name}.{key}" for key in GEOMETRY}
    if name not in known:
        raise NameNotFound(
            f"{arm.name!r} has no parameter {name!r}; {suggest(name, sorted(known))}", "with_values"
        )
    owners = ("gravity", *(link.name for link in arm.links), *(joint.name for joint in arm.tree))
    return max((owner for owner in owners if name.startswith(f"{owner}.")), key=len)


def _link(link: Link, values: Mapping[str, float]) -> Link:
    com, inertia = link.com.copy(), link.inertia.copy()
    for k, axis in enumerate("xyz"):
        com[k] = values.get(f"com.{axis}", com[k])
    for key, (i, k) in TENSOR.items():
        inertia[i, k] = inertia[k, i] = values.get(f"inertia.{key}", inertia[i, k])
    with located(f"with_values, link {link.name!r}"):
        return dataclasses.replace(link, mass=values.get("mass", link.mass), com=com, inertia=inertia)


def _joint(joint: Joint, values: Mapping[str, float]) -> Joint:
    parts: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        part, _, key = name.rpartition(".") if name in GEOMETRY else name.partition(".")
        parts.setdefault(part, {})[key] = value
    changes: dict[str, Any] = {}
    with located(f"with_values, joint {joint.name!r}"):
        for part, numbers in parts.items():
            if part == "friction" and joint.friction is not None:
                changes[part] = _friction(joint.friction, numbers)
            elif part.startswith("bearing"):
                bearings = list(changes.get("bearings", joint.bearings))
                k = int(part[len("bearing") :]) - 1
                bearings[k] = dataclasses.replace(bearings[k], **numbers)
                changes["bearings"] = tuple(bearings)
            else:
                field = part or "placement"
                changes[field] = dataclasses.replace(getattr(joint, field), **numbers)
        return dataclasses.replace(joint, **changes)


def _friction(friction: Friction, values: Mapping[str, float]) -> Friction:
    changes: dict[str, Any] = {key: x for key, x in values.items() if "." not in key}
    for kind in ("coulomb", "static"):
        if (now := getattr(friction, kind)) is not None:
            ways = zip(DIRECTIONS, now, strict=True)
            changes[kind] = tuple(values.get(f"{kind}.{way}", x) for way, x in ways)
    return dataclasses.replace(friction, **changes)
