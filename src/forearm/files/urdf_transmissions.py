"""Simple transmissions of a URDF: reduction and rotor inertia of one joint's motor."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from forearm.arm.drive import Motor
from forearm.arm.joint import Joint
from forearm.errors import located, shorten
from forearm.files.report import FileReport
from forearm.files.urdf_values import attribute
from forearm.reading.xml import Element, number
from forearm.values import number_in


def with_transmissions(joints: list[Joint], elements: Iterable[Element], report: FileReport) -> list[Joint]:
    """The joints, with reductions of simple transmissions as gear ratios."""
    by_name = {joint.name: joint for joint in joints}
    geared: dict[str, Joint] = {}
    for element in elements:
        name, motor = _transmission(element, by_name, report)
        if motor is not None and name in geared:
            report.ignored("a second <transmission> of a joint", element)
        elif motor is not None:
            geared[name] = dataclasses.replace(by_name[name], motor=motor)
    return [geared.get(joint.name, joint) for joint in joints]


def _transmission(
    element: Element, by_name: dict[str, Joint], report: FileReport
) -> tuple[str, Motor | None]:
    """The joint of a simple transmission and its motor; None if there is no motor data."""
    name = shorten(element.attributes.get("name", ""))
    where = f"{element.place}, transmission {name}"
    named = [attribute(e, "name", where) for e in element.all("joint")]
    actuators = list(element.all("actuator"))
    reductions = [r for e in (element, *actuators) for r in e.all("mechanicalReduction")]
    inertias = [r for e in actuators for r in e.all("motorInertia")]
    if len(named) != 1 or len(reductions) > 1 or len(inertias) > 1:
        report.ignored("<transmission> that is not one joint on one actuator", element)
        return "", None
    joint = by_name.get(named[0])
    if joint is None:  # files cut out of larger robots have such leftovers; they drive nothing
        report.ignored("<transmission> of a joint that is missing", element)
        return "", None
    ratio = _reduction(reductions[0], where, report) if reductions else 1.0
    rotor = number(inertias[0].text, "<motorInertia>", where) if inertias else 0.0
    if joint.kind == "fixed" or (ratio == 1.0 and rotor == 0.0):
        return joint.name, None
    with located(where):
        return joint.name, Motor(gear_ratio=ratio, rotor_inertia=rotor)


def _reduction(element: Element, where: str, report: FileReport) -> float:
    """The gear ratio; placeholder text, as generators of URDF leave, is reported and ignored."""
    text = element.text.strip()
    if text and text.isascii() and text.replace("_", "").isalpha() and number_in(text) is None:
        report.repaired(f"<mechanicalReduction> {shorten(text)}, {report.line(element)}: read as 1")
        return 1.0
    return number(element.text, "<mechanicalReduction>", where)
