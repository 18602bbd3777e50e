"""Write an Arm as the text of an arm file: readable, and exact to the last bit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from forearm.arm.arm import Arm, kept_home
from forearm.arm.drive import Friction
from forearm.arm.joint import DH, Joint, Limits
from forearm.arm.link import Link
from forearm.errors import InputError
from forearm.files.armfile import INERTIA_KEYS, SCHEMA
from forearm.reading.textfile import write_text
from forearm.records import fields_of
from forearm.spatial import TENSOR, Floats, pose_xyz_rpy, rpy_of


def save(arm: Arm, path: str | os.PathLike[str]) -> None:
    """Write the arm file atomically."""
    write_text(path, arm_text(arm))


def to_document(arm: Arm) -> dict[str, Any]:
    """The arm as the plain tables of an arm file, the same for TOML and --json."""
    document: dict[str, Any] = {"schema": SCHEMA, "name": arm.name}
    document |= {key: text for key, text in (("source", arm.source), ("notes", arm.notes)) if text}
    document["gravity"] = arm.gravity.tolist()
    if not np.array_equal(arm.base, np.eye(4)):
        document["base"] = _pose(arm.base)
    document["base_link"] = arm.base_link
    document["hand"] = {"link": arm.hand.link, **_pose(arm.hand.pose)}
    conventions = {j.placement.convention for j in arm.tree if isinstance(j.placement, DH)}
    if conventions:
        document["dh_convention"] = conventions.pop()
    document["joint"] = [_joint(joint) for joint in arm.tree]
    document["link"] = [link_block(link) for link in arm.links]
    if arm.deviations:
        document["deviations"] = dict(arm.deviations)
    if kept_home(arm, arm.tree):
        document["home"] = arm.home.tolist()
    return document


def arm_text(arm: Arm) -> str:
    """The text of the arm file."""
    document = to_document(arm)
    blocks = {key: document.pop(key) for key in ("joint", "link")}
    deviations = document.pop("deviations", {})
    lines = [f"{key} = {_toml(value)}" for key, value in document.items()]
    for key, tables in blocks.items():
        for table in tables:
            lines += ["", f"[[{key}]]", *(f"{k} = {_toml(v)}" for k, v in table.items())]
    if not blocks["joint"]:
        lines.insert(len(document), "joint = []")
    if deviations:
        lines += ["", "[deviations]", *(f"{_toml_text(k)} = {_toml(v)}" for k, v in deviations.items())]
    return "\n".join(lines) + "\n"


def link_block(link: Link) -> dict[str, Any]:
    """A link as the keys of its [[link]] block."""
    block: dict[str, Any] = {"name": link.name}
    if not link.massless or link.com.any():
        block |= {"mass": link.mass, "com": link.com.tolist()}
    if link.inertia.any():
        elements = {key: float(link.inertia[TENSOR[key]]) for key in INERTIA_KEYS}
        off = {k: v for k, v in elements.items() if v != 0.0 or k in ("xx", "yy", "zz")}
        block["inertia"] = {"about": "com", **off}
    return block


def block_lines(table: dict[str, Any]) -> dict[str, str]:
    """Each key of a block as its line of TOML."""
    return {key: f"{key} = {_toml(value)}" for key, value in table.items()}


def _joint(joint: Joint) -> dict[str, Any]:
    block: dict[str, Any] = {
        "name": joint.name,
        "kind": joint.kind,
        "parent": joint.parent,
        "child": joint.child,
    }
    place = joint.placement
    if isinstance(place, DH):
        block["dh"] = {key: getattr(place, key) for key in ("a", "alpha", "d", "theta")}
    else:
        block["frame"] = {"xyz": place.xyz.tolist(), "rpy": place.rpy.tolist()}
        block["axis"] = place.axis.tolist()
    if joint.limits != Limits():
        block["limits"] = list(joint.limits)
    for key in ("max_speed", "max_effort"):
        if getattr(joint, key) is not None:
            block[key] = getattr(joint, key)
    for key in ("mimic", "motor", "friction", "transmission", "elasticity"):
        if getattr(joint, key) is not None:
            block[key] = _plain(getattr(joint, key))
    if joint.bearings:
        block["bearing"] = [_plain(b) for b in joint.bearings]
    return block


def _plain(drive: object) -> dict[str, Any]:
    known = {key: value for key, value in fields_of(drive).items() if value is not None and value != ()}
    if isinstance(drive, Friction) and drive.bristle_stiffness is None:
        del known["bristle_damping"]
    return {key: _listed(value) for key, value in known.items()}


def _listed(value: Any) -> Any:
    return [_listed(v) for v in value] if isinstance(value, tuple) else value


def _pose(T: Floats) -> dict[str, Any]:
    """xyz and rpy if they reproduce the pose bit for bit, otherwise the matrix."""
    xyz, rpy = T[:3, 3], rpy_of(T[:3, :3])
    if np.array_equal(pose_xyz_rpy(xyz, rpy), T):
        return {"xyz": xyz.tolist(), "rpy": rpy.tolist()}
    return {"matrix": T.tolist()}


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(v)}" for key, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return repr(float(value))


def _toml_text(text: str) -> str:
    def escape(c: str) -> str:
        if c in '"\\':
            return "\\" + c
        if c != "\n" and (ord(c) < 32 or ord(c) == 127):
            return f"\\u{ord(c):04x}"
        if 0xD800 <= ord(c) < 0xE000:
            raise InputError(f"text with a character that cannot be encoded (U+{ord(c):04X}).")
        return c

    escaped = "".join(map(escape, text))
    return f'"""\n{escaped}"""' if "\n" in text else f'"{escaped}"'
