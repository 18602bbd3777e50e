"""Actuators and couplings: the contents of <actuator>, <tendon> and <equality> by joint."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from forearm.arm.joint import Mimic
from forearm.files.mjcf.attributes import MjcfElement, largest_of
from forearm.files.mjcf.defaults import ACTUATORS, Defaults
from forearm.files.mjcf.settings import MjcfSettings
from forearm.files.mjcf.tree import ArmJoint
from forearm.files.report import FileReport
from forearm.reading.xml import Element

SMALLEST_GEAR = 1e-6  # below it an actuator is negligible, and armature / N^2 would overflow
Coefficients = dict[str, float]  # joint -> moment arm


@dataclass
class Driven:
    """The combined actuators of one joint."""

    gears: list[float] = field(default_factory=list)
    effort: float = 0.0
    armature: float = 0.0
    viscous: float = 0.0


@dataclass(frozen=True)
class DriveReader:
    """Read the drives of joints under the settings and defaults of one file."""

    settings: MjcfSettings
    defaults: Defaults
    report: FileReport

    def driven(self, root: Element, joints: Mapping[str, ArmJoint]) -> dict[str, ArmJoint]:
        """The joints with their actuators: gear, effort, and added inertia and damping."""
        tendons = self._tendons(root, joints)
        found: dict[str, Driven] = {}
        for element in (child for section in root.all("actuator") for child in section.children):
            if element.tag not in ACTUATORS:
                self.report.ignored(f"<{element.tag:.40}> in <actuator>", element)
                continue
            self._actuator(self.defaults.of(element), tendons, joints, found)
        return {name: with_drive(joints[name], drive) for name, drive in found.items()}

    def _actuator(
        self,
        actuator: MjcfElement,
        tendons: Mapping[str, Coefficients],
        joints: Mapping[str, ArmJoint],
        found: dict[str, Driven],
    ) -> None:
        values = actuator.element.attributes
        named = values.get("joint") or values.get("jointinparent")
        arms = {named: 1.0} if named and named in joints else tendons.get(values.get("tendon", ""), {})
        if not arms:
            if not named:  # a joint with more degrees of freedom is not part of an arm
                self.report.ignored(f"<{actuator.tag}> on something other than joints", actuator.element)
            return
        gear = float(actuator.numbers("gear", 1, 6, default="1")[0])
        force = self._force(actuator)
        armature, damping = actuator.number("armature", 0.0), actuator.numbers("damping", 1, 3, default="0")
        if (len(arms) > 1 and (armature != 0.0 or damping.any())) or damping[1:].any():
            self.report.ignored("inertia or damping of actuators on more than one joint", actuator.element)
            armature, damping = 0.0, np.zeros(1)
        add_actuator(found, arms, gear, force, armature, float(damping[0]))

    def _force(self, actuator: MjcfElement) -> float:
        """The largest force of an actuator, before its gear; infinite if unbounded."""
        force, automatic = math.inf, self.settings.autolimits
        if actuator.is_limited("forcelimited", "forcerange", automatic):
            force = largest_of(actuator, "forcerange") or math.inf
        gain = _gain(actuator)
        if gain is not None and actuator.is_limited("ctrllimited", "ctrlrange", automatic):
            force = min(force, abs(gain) * (largest_of(actuator, "ctrlrange") or math.inf))
        return force

    def _tendons(self, root: Element, joints: Mapping[str, ArmJoint]) -> dict[str, Coefficients]:
        """The moment arms of fixed tendons by name; springs and friction of tendons are ignored."""
        found: dict[str, Coefficients] = {}
        for element in (child for section in root.all("tendon") for child in section.children):
            tendon = self.defaults.of(element)
            for key in ("stiffness", "damping", "frictionloss", "armature"):
                if tendon.numbers(key, 1, 3, default="0").any():
                    self.report.ignored(f"{key} of a tendon", element)
            if element.tag == "fixed":
                parts = [MjcfElement(part, part.attributes) for part in element.all("joint")]
                arms = {part.text("joint"): part.number("coef") for part in parts}
                found[tendon.name] = {name: arm for name, arm in arms.items() if name in joints}
        return found

    def mimics(self, root: Element, joints: Mapping[str, ArmJoint]) -> dict[str, Mimic]:
        """Joints coupled to another by <equality><joint> with a linear law."""
        found: dict[str, Mimic] = {}
        for element in (child for section in root.all("equality") for child in section.children):
            equality = self.defaults.of(element, of_equality=True)
            if not equality.flag("active", True):
                continue
            if element.tag != "joint":
                self.report.ignored(f"<{element.tag:.40}> in <equality> that closes loops", element)
                continue
            follower, leader = equality.text("joint1"), equality.values.get("joint2", "")
            constant, slope, *higher = [*equality.numbers("polycoef", 1, 5, default="0 1 0 0 0"), 0.0]
            if follower not in joints or leader not in joints or any(higher):
                self.report.ignored("<joint> in <equality> that is not linear in two joints", element)
            elif follower in found or leads(follower, leader, found):
                self.report.ignored("<joint> in <equality> for joints that are coupled already", element)
            else:
                found[follower] = coupling(joints[follower], joints[leader], float(constant), float(slope))
        return found


def _gain(actuator: MjcfElement) -> float | None:
    """Force per control of an actuator that acts as a motor, whatever its tag; None for a servo."""
    if actuator.tag == "motor":
        return 1.0
    is_fixed = actuator.values.get("gaintype", "fixed") == "fixed"
    has_bias = actuator.values.get("biastype", "none") != "none" or actuator.has("kp") or actuator.has("kv")
    if actuator.tag != "general" or not is_fixed or has_bias:
        return None
    return float(actuator.numbers("gainprm", 1, 10, default="1")[0])


def add_actuator(
    found: dict[str, Driven], arms: Coefficients, gear: float, force: float, armature: float, damping: float
) -> None:
    """Add an actuator to its joints; gear and moment arm scale everything it contributes."""
    for joint, arm in arms.items():
        drive, ratio = found.setdefault(joint, Driven()), gear * arm
        drive.gears.append(ratio if len(arms) == 1 else 0.0)
        drive.effort += abs(ratio) * force if ratio != 0.0 else 0.0
        drive.armature += ratio * ratio * armature
        drive.viscous += ratio * ratio * damping


def coupling(follower: ArmJoint, leader: ArmJoint, constant: float, slope: float) -> Mimic:
    """MuJoCo's coupling law, which measures from the reference positions: q - ref."""
    return Mimic(joint=leader.name, multiplier=slope, offset=follower.ref + constant - slope * leader.ref)


def with_drive(joint: ArmJoint, drive: Driven) -> ArmJoint:
    """The joint with its drive."""
    bounds = [] if joint.effort is None else [joint.effort]
    bounds += [drive.effort] if 0.0 < drive.effort < math.inf else []
    is_geared = len(drive.gears) == 1 and abs(drive.gears[0]) >= SMALLEST_GEAR
    return dataclasses.replace(
        joint,
        effort=min(bounds, default=None),
        gear=drive.gears[0] if is_geared else 1.0,
        armature=joint.armature + drive.armature,
        viscous=joint.viscous + drive.viscous,
    )


def leads(follower: str, leader: str, found: Mapping[str, Mimic]) -> bool:
    """Whether the leader already follows the follower."""
    while leader in found:
        leader = found[leader].joint
    return leader == follower
