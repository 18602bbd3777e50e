"""Set parameters of an arm by name: "link2.mass", "joint1.friction.viscous"."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.dh import GEOMETRY as GEOMETRY
from forearm.arm.drive import DIRECTIONS
from forearm.arm.joint import DH, Joint
from forearm.errors import NameNotFound, located, suggest
from forearm.spatial import TENSOR
from forearm.values import check_kind, check_number

Part = TypeVar("Part", bound=Any)
# The places of an entry in its array.
ENTRIES: dict[str, list[Any]] = {
    **{name: [k] for names in (DIRECTIONS, "xyz") for k, name in enumerate(names)},
    **{name: [(i, k), (k, i)] for name, (i, k) in TENSOR.items()},
}


def with_values(arm: Arm, values: Mapping[str, float]) -> Arm:
    """Return the arm with other parameter values; ones that a joint or motor lacks are refused."""
    check_kind(values, Mapping, "with_values")
    owners: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        owner = _owner(arm, name)
        owners.setdefault(owner, {})[name[len(owner) + 1 :]] = check_number(value, f"with_values, {name}")
    with located("with_values"):
        links = tuple(
            _changed(link, owners[link.name]) if link.name in owners else link for link in arm.links
        )
        tree = tuple(
            _joint(joint, owners[joint.name]) if joint.name in owners else joint for joint in arm.tree
        )
    gravity = {f"gravity.{axis}": g for axis, g in owners.get("gravity", {}).items()}
    return arm.replace(links=links, tree=tree, **_fields(arm, gravity))


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


def _joint(joint: Joint, values: Mapping[str, float]) -> Joint:
    """The joint with other numbers, such as "friction.coulomb.positive", "bearing1.mu", "alpha"."""
    parts: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        part, _, key = name.partition(".") if name not in GEOMETRY else ("placement", "", name)
        parts.setdefault(part, {})[key] = value
    changes: dict[str, Any] = {"bearings": list(joint.bearings)}
    with located(f"joint {joint.name!r}"):
        for part, numbers in parts.items():
            if part.startswith("bearing"):
                k = int(part.removeprefix("bearing")) - 1
                changes["bearings"][k] = _changed(joint.bearings[k], numbers)
            else:
                changes[part] = _changed(getattr(joint, part), numbers)
        return dataclasses.replace(joint, **changes)


def _changed(part: Part, numbers: Mapping[str, float]) -> Part:
    return dataclasses.replace(part, **_fields(part, numbers))


def _fields(part: Any, numbers: Mapping[str, float]) -> dict[str, Any]:
    """The fields of a part that contain these numbers: "mass", "com.x", "coulomb.positive"."""
    fields: dict[str, Any] = {}
    for name, number in numbers.items():
        field, _, entry = name.partition(".")
        if entry:
            array = np.array(fields.get(field, getattr(part, field)))
            for index in ENTRIES[entry]:
                array[index] = number
        fields[field] = array.tolist() if entry else number
    return fields
