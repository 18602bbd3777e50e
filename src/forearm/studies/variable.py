"""What a study varies: a name, how its values are distributed, and which numbers they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from forearm.errors import InputError, shorten
from forearm.studies.sampling.distributions import Distribution, distribution_of, fields_of
from forearm.values import check_kind, check_name

OWN_KEYS = ("of", "factor")


@dataclass(frozen=True)
class Variable:
    """One thing that differs from row to row.

    Args:
        name: of its column; also what it is, unless `of` says it.
        distribution: of its values.
        of: the numbers that have its value: "link3.mass", "joint2.friction.viscous", "payload.mass",
            "controller.bandwidth", "start.joint1"; with a factor also patterns such as "*.friction.*".
        factor: whether numbers of the arm are multiplied by the value, and not replaced by it.
    """

    name: str
    distribution: Distribution
    of: Sequence[str] = ()
    factor: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "vary")
        if self.name == "row":
            raise InputError("vary, row: expected a name other than row, which the number of a row has.")
        check_kind(self.factor, bool, f"vary, {self.name}, factor")
        check_kind(self.distribution, get_args(Distribution), f"vary, {self.name}")
        of = (self.of,) if isinstance(self.of, str) else tuple(self.of)
        for target in of:
            check_name(target, f"vary, {self.name}, of")
        object.__setattr__(self, "of", of or (self.name,))
        if self.factor and not self.distribution.is_numeric:
            raise InputError(f"vary, {self.name}: a factor is a number; give numbers in the place of texts.")

    @property
    def fields(self) -> dict[str, Any]:
        """The table of a study file that says it."""
        made = fields_of(self.distribution)
        made |= {} if self.of == (self.name,) else {"of": list(self.of)}
        return made | ({"factor": True} if self.factor else {})


def variable_of(name: str, fields: Mapping[str, Any]) -> Variable:
    """The variable that a table of a study file says."""
    where = f"vary, {shorten(name)}"
    if not isinstance(fields, Mapping):
        raise InputError(f"{where}: expected a table such as {{ uniform = [0, 1] }}, got {shorten(fields)}.")
    of = fields.get("of", ())
    if not isinstance(of, str) and not (
        isinstance(of, list | tuple) and all(isinstance(one, str) for one in of)
    ):
        raise InputError(f"{where}, of: expected names in a list, got {shorten(of)}.")
    rest = {key: value for key, value in fields.items() if key not in OWN_KEYS}
    distribution = distribution_of(rest, where)
    return Variable(
        name, distribution, (of,) if isinstance(of, str) else tuple(of), fields.get("factor", False)
    )
