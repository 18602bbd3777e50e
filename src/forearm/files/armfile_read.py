"""Build an Arm from the tables of an arm file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import STANDARD_GRAVITY, Arm, Hand
from forearm.arm.joint import DH, Frame, Joint
from forearm.arm.link import Link
from forearm.errors import InputError, ModelError, located, shorten
from forearm.files.armfile import ARM, MOVES, SCHEMA
from forearm.portable import dot, matmul
from forearm.reading.formats import refuse_other_format
from forearm.reading.textfile import read_toml
from forearm.records import declaration
from forearm.spatial import TENSOR, Floats, parallel_axis, pose_xyz_rpy
from forearm.values import as_pose


def read_armfile(path: Path, hand: str | None = None) -> Arm:
    """Read a TOML arm file; if it names a parts file, recompute its links from the parts."""
    return arm_from_document(read_toml(path), path.name, folder=path.parent, hand=hand)


def arm_from_document(
    document: dict[str, Any], name: str, folder: Path | None = None, hand: str | None = None
) -> Arm:
    """The arm in the tables of an arm file called `name`; `folder` is where its parts file lies."""
    refuse_other_format(document, name, SCHEMA)
    data = ARM.read(document, name)
    with located(name):
        links = [_link(block) for block in data["link"]]
        if "parts" in data:
            from forearm.parts.refresh import refresh_links  # imported here: few arm files have parts

            links = refresh_links(links, data["parts"], folder, name)
        base = _pose(data.get("base", {}), f"{name}, base")
        joints, massless = _joints(data, name)
        links = _with_base(links, joints, data) + massless
        return Arm(
            name=data["name"],
            links=tuple(links),
            tree=tuple(joints),
            gravity=_gravity(data, base, name),
            base=base,
            hand=hand if hand is not None else _hand(data, joints, name),  # type: ignore[arg-type]
            source=data.get("source", ""),
            notes=data.get("notes", ""),
            deviations=data.get("deviations", {}),
            home=data.get("home"),  # type: ignore[arg-type]
        )


def _link(block: dict[str, Any]) -> Link:
    mass, com = block.get("mass", 0.0), np.array(block.get("com", (0.0, 0.0, 0.0)))
    inertia = np.zeros((3, 3))
    given = block.get("inertia")
    if given is not None:
        for key, (i, k) in TENSOR.items():
            inertia[i, k] = inertia[k, i] = given.get(key, 0.0)
        if given["about"] == "origin":
            _refuse_central(block["name"], inertia, mass, com)
            inertia = inertia - parallel_axis(mass, com)
    return Link(name=block["name"], mass=mass, com=com, inertia=inertia)


def _refuse_central(name: str, inertia: Floats, mass: float, com: Floats) -> None:
    """Refuse an inertia about the origin that is smaller than the contribution of the mass alone."""
    alone = 2.0 * mass * dot(com, com)
    given = float(np.trace(inertia))
    if given < alone * (1.0 - 1e-9):
        raise ModelError(
            "must be positive semidefinite at the centre of mass, but the moments about the "
            f"origin sum to {given:.4g} kg m^2, less than the {alone:.4g} of the mass alone, "
            '2 m |com|^2. Write about = "com" if the moments refer to the centre of mass.',
            f"link {shorten(name)}",
            "inertia",
        )


def _with_base(links: list[Link], joints: list[Joint], data: dict[str, Any]) -> list[Link]:
    """Add the base link if the file has no block for it: it has no dynamics."""
    base = data.get("base_link", "link0")
    known = {link.name for link in links}
    used_as_parent = any(j.parent == base for j in joints)
    return [Link(name=base), *links] if used_as_parent and base not in known else links


def _joints(data: dict[str, Any], name: str) -> tuple[list[Joint], list[Link]]:
    joints: list[Joint] = []
    massless: list[Link] = []
    previous = data.get("base_link", "link0")
    names = [link["name"] for link in data.get("link", [])]
    for index, block in enumerate(data["joint"]):
        called = block.get("name", f"joint{index + 1}")
        if "child" not in block and f"link{index + 1}" not in names:
            raise InputError(
                "no child is given, and there is no link with the default name 'link"
                f"{index + 1}'; write child = {shorten(names[0] if names else 'link1')} or "
                "another link, or rename the link.",
                name,
                f"joint {called!r}",
            )
        block = {"name": called, "parent": previous, "child": f"link{index + 1}"} | block
        previous = block["child"]
        with located(f"{name}, joint {called!r}"):
            made = _freedoms(block, data) if "freedoms" in block else [_joint(block, data)]
        joints += made
        massless += [Link(name=joint.child) for joint in made[:-1]]
    return joints, massless


def _freedoms(block: dict[str, Any], data: dict[str, Any]) -> list[Joint]:
    """Several degrees of freedom at one point, as a chain of joints with massless links between. Silver 1."""
    alone = [key for key in (*MOVES, "dh", "mimic") if key in block and key != "name"]
    if alone or not block["freedoms"]:
        what = f"give {alone[0]!r} inside each freedom instead" if alone else "the list is empty"
        raise InputError(f"{what}.", "freedoms")
    made = []
    count = len(block["freedoms"])
    for i, freedom in enumerate(block["freedoms"]):
        called = freedom.get("name", f"{block['name']}_{i + 1}")
        ends = {
            "name": called,
            "parent": block["parent"] if i == 0 else f"{block['name']}_{i}_link",
            "child": block["child"] if i == count - 1 else f"{block['name']}_{i + 1}_link",
        }
        frame = {"frame": block["frame"]} if "frame" in block and i == 0 else {"frame": {}}
        made.append(_joint(freedom | ends | frame, data))
    return made


def _joint(block: dict[str, Any], data: dict[str, Any]) -> Joint:
    if "kind" not in block:
        raise InputError("missing key 'kind': 'revolute', 'prismatic' or 'fixed'.")
    given = {key: value for key, value in block.items() if key in declaration(Joint)}
    joint = Joint(**given, placement=_placement(block, data), bearings=block.get("bearing", ()))
    spring = joint.elasticity
    if spring is not None and spring.curve and spring.interpolation == "spline":
        from forearm.drives.elasticity import curve_of  # imported here: few arm files have splines

        curve_of(spring)
    return joint


def _placement(block: dict[str, Any], data: dict[str, Any]) -> DH | Frame:
    if ("dh" in block) == ("frame" in block):
        raise InputError("give either dh = { a, alpha, d, theta } or frame = { xyz, rpy }, not both.")
    if "frame" in block:
        return Frame(**block["frame"], **({"axis": block["axis"]} if "axis" in block else {}))
    if "axis" in block:
        raise InputError(
            "a dh joint moves along z; leave the axis out or write the joint as a frame.", "axis"
        )
    if "dh_convention" not in data:
        raise InputError(
            'the convention is missing. Write dh_convention = "standard" (Rz Tz Tx Rx) or '
            'dh_convention = "modified" (Craig: Rx Tx Rz Tz) above the joints.',
            "dh",
        )
    return DH(convention=data["dh_convention"], **block["dh"])


def _pose(given: dict[str, Any], place: str) -> Floats:
    if "matrix" in given:
        if "xyz" in given or "rpy" in given:
            raise InputError("give xyz and rpy, or matrix, not both.", place)
        return as_pose(given["matrix"], place)
    return pose_xyz_rpy(given.get("xyz", (0.0, 0.0, 0.0)), given.get("rpy", (0.0, 0.0, 0.0)))


def _gravity(data: dict[str, Any], base: Floats, name: str) -> Floats:
    given = data.get("gravity")
    if given is None:
        if not np.array_equal(base[:3, :3], np.eye(3)):
            raise InputError(
                "the base is rotated, so gravity is required: gravity = [x, y, z] in the "
                "base frame, or gravity = { world = [0, 0, -9.81] }.",
                name,
                "gravity",
            )
        return np.array(STANDARD_GRAVITY)
    if "world" in given:
        turned: Floats = matmul(base[:3, :3].T, np.array(given["world"]))
        return turned
    return np.array(given["base"])


def _hand(data: dict[str, Any], joints: list[Joint], name: str) -> Hand | None:
    given = data.get("hand")
    if given is None:
        return None
    link = given.get("link", joints[-1].child if joints else data.get("base_link", "link0"))
    return Hand(link=link, pose=_pose(given, f"{name}, hand"))
