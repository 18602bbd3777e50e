"""A variable of a study: name, distribution, the parameters it sets, and their unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forearm.arm.arm import Arm
from forearm.arm.drive import Bearing, Elasticity, Friction, Motor
from forearm.errors import InputError, located, shorten
from forearm.reading.fields import ObjectField
from forearm.records import anything, declaration, declared, flag, positional_record, set_field, text
from forearm.studies.sampling.distributions import Distribution, distribution_of, table_fields
from forearm.values import check_kind, check_name, names_in

BY_WORD = {"mass": "kg", "com": "m", "inertia": "kg m^2", "gravity": "m/s^2"}  # anywhere in a name
BY_LAST = {"a": "m", "d": "m", "alpha": "rad", "theta": "rad", "bandwidth": "rad/s"}
OF_DRIVES = {"motor": Motor, "friction": Friction, "bearing": Bearing, "elasticity": Elasticity}


@positional_record
class Variable:
    """A variable of a study."""

    name: str = text("of its column; also its target, unless `of` is given")
    distribution: Distribution = declared(ObjectField("of its values", (Distribution,)))
    of: Sequence[str] = anything(
        'the parameters it sets: "link3.mass", "joint2.friction.viscous", "payload.mass", '
        '"controller.bandwidth", "start.joint1"; with a factor also patterns such as "*.friction.*"',
        default=(),
    )
    factor: bool = flag(
        "whether parameters of the arm are multiplied by the value instead of replaced", default=False
    )

    def __post_init__(self) -> None:
        check_name(self.name, "vary")
        if self.name == "row":
            raise InputError("reserved for the row number; use another name.", "vary", "row")
        of = names_in(self.of, f"vary, {self.name}, of")
        for target in of:
            check_name(target, f"vary, {self.name}, of")
        set_field(self, "of", tuple(of) or (self.name,))
        if self.factor and not self.distribution.is_numeric:
            raise InputError("a factor must be numeric; use numbers instead of texts.", "vary", self.name)

    @property
    def fields(self) -> dict[str, Any]:
        """The variable as a table of a study file."""
        own = {} if self.of == (self.name,) else {"of": list(self.of)}
        return table_fields(self.distribution) | own | ({"factor": True} if self.factor else {})

    def unit(self, arm: Arm) -> str:
        """The common unit of all its parameters; none for factors, names and mixed units."""
        is_plain = self.distribution.is_numeric and not self.factor
        units = {_unit(target, arm) for target in self.of} if is_plain else ()
        return units.pop() if len(units) == 1 else ""


def variable_of(name: str, given: Mapping[str, Any]) -> Variable:
    """The variable from a table of a study file."""
    where = f"vary, {shorten(name)}"
    check_kind(given, Mapping, where)
    own = {key: given[key] for key in ("of", "factor") if key in given}
    distribution = distribution_of({key: x for key, x in given.items() if key not in own}, where)
    with located(where):
        return Variable(name, distribution, **own)


def _unit(target: str, arm: Arm) -> str:
    words = target.split(".")
    joint = next(
        (j for j in arm.tree if target.startswith(f"{j.name}.") or target == f"start.{j.name}"), None
    )
    slides = joint is not None and joint.kind == "prismatic"
    if words[0] == "start":
        return "m" if slides else "rad"
    found = next((unit for word, unit in BY_WORD.items() if word in words), BY_LAST.get(words[-1], ""))
    if found or joint is None:
        return found
    group, _, key = target[len(joint.name) + 1 :].partition(".")
    cls = OF_DRIVES.get(group.rstrip("0123456789"))
    field = declaration(cls).get(key.split(".")[0]) if cls else None
    # declared as "N m (N)": for revolute and for prismatic joints
    at_joint, _, sliding = (
        str(getattr(field, "unit", "")).partition(",")[0].replace(" / ", "/").partition(" (")
    )
    at_motor = group == "friction" and joint.friction is not None and joint.friction.side == "motor"
    return sliding.rstrip(")") if slides and sliding and not at_motor else at_joint
