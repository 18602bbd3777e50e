"""Read MJCF as an Arm."""

from __future__ import annotations

import dataclasses
from itertools import count
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.files.mjcf.assemble import arm_of
from forearm.files.mjcf.bodies import BodyReader
from forearm.files.mjcf.defaults import Defaults
from forearm.files.mjcf.drives import DriveReader
from forearm.files.mjcf.include import MOST_OF_TAG, with_includes
from forearm.files.mjcf.settings import settings_of
from forearm.files.mjcf.tree import ArmBody, BodyTree, joints_of
from forearm.files.report import FileReport
from forearm.portable import total
from forearm.reading.xml import Element, parse_xml

# Sections that do not affect the motion, or are read where they are needed.
KNOWN = {
    "compiler", "option", "size", "statistic", "visual", "asset", "default", "worldbody", "contact", "sensor",
    "keyframe", "custom", "extension", "actuator", "tendon", "equality",
}  # fmt: skip


def arm_from_mjcf(data: bytes, name: str, hand: str | None = None, root: str | None = None) -> Arm:
    """The arm in MJCF text; messages refer to it as `name`; without a folder, includes are refused."""
    return arm_from_mujoco_element(parse_xml(data, name, MOST_OF_TAG), name, None, hand, root)


def arm_from_mujoco_element(
    mujoco: Element, name: str, path: Path | None, hand: str | None = None, root: str | None = None
) -> Arm:
    """The arm in the root element of an MJCF file; includes are relative to its `path`."""
    if mujoco.tag != "mujoco":
        raise InputError(f"expected <mujoco> at the root of MJCF, got <{mujoco.tag:.40}>.", mujoco.place)
    mujoco = with_includes(mujoco, path)
    report, settings, defaults = FileReport(name), settings_of(mujoco), Defaults(mujoco)
    if settings.has_fluid:
        report.ignored("the fluid (wind, density, viscosity) of <option>", next(mujoco.all("option")))
    for element in mujoco.children:
        if element.tag not in KNOWN:
            report.ignored(f"<{element.tag:.40}>", element)
    names = (f"body{i}" for i in count(1))
    bodies = BodyReader(settings, defaults, report, names).world(mujoco)
    bodies = with_total_mass(bodies, settings.settotalmass, name)
    reader = DriveReader(settings, defaults, report)
    joints = joints_of(bodies)
    tree = BodyTree(
        name=mujoco.attributes.get("model", "").strip() or Path(name).stem,
        bodies=bodies,
        gravity=settings.gravity,
        driven=reader.driven(mujoco, joints),
        mimics=reader.mimics(mujoco, joints),
    )
    arm = arm_of(tree, name, root, hand)
    report.warn(stacklevel=6)
    return arm


def with_total_mass(bodies: tuple[ArmBody, ...], wanted: float, name: str) -> tuple[ArmBody, ...]:
    """The bodies, scaled to a total mass of `settotalmass` if that is above 0."""
    if wanted <= 0.0:
        return bodies
    parts = [part for body in bodies for part in body.walk()]
    for part in parts:
        if part.unknown_mass:
            raise InputError(part.unknown_mass)
    mass = total(part.properties[0] for part in parts)
    if mass == 0.0:
        raise InputError(f"settotalmass is {wanted:g} kg, but no body has mass to scale.", name)
    return tuple(_scaled(body, wanted / mass) for body in bodies)


def _scaled(body: ArmBody, factor: float) -> ArmBody:
    mass, com, inertia = body.properties
    return dataclasses.replace(
        body,
        properties=(mass * factor, com, inertia * factor),
        children=tuple(_scaled(child, factor) for child in body.children),
    )
