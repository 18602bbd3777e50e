"""A variable of a study: name, distribution, and the parameters it sets."""

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
    """A variable of a study.

    Args:
        name: of its column; also its target, unless `of` is given.
        distribution: of its values.
        of: the parameters it sets: "link3.mass", "joint2.friction.viscous", "payload.mass",
            "controller.bandwidth", "start.joint1"; with a factor also patterns such as "*.friction.*".
        factor: whether parameters of the arm are multiplied by the value instead of replaced.
    """

    name: str
    distribution: Distribution
    of: Sequence[str] = ()
    factor: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "vary")
        if self.name == "row":
            raise InputError("reserved for the row number; use another name.", "vary", "row")
        check_kind(self.factor, bool, f"vary, {self.name}, factor")
        check_kind(self.distribution, get_args(Distribution), f"vary, {self.name}")
        of = (self.of,) if isinstance(self.of, str) else tuple(self.of)
        for target in of:
            check_name(target, f"vary, {self.name}, of")
        object.__setattr__(self, "of", of or (self.name,))
        if self.factor and not self.distribution.is_numeric:
            raise InputError("a factor must be numeric; use numbers instead of texts.", "vary", self.name)

    @property
    def fields(self) -> dict[str, Any]:
        """The variable as a table of a study file."""
        made = fields_of(self.distribution)
        made |= {} if self.of == (self.name,) else {"of": list(self.of)}
        return made | ({"factor": True} if self.factor else {})


def variable_of(name: str, fields: Mapping[str, Any]) -> Variable:
    """The variable from a table of a study file."""
    where = f"vary, {shorten(name)}"
    if not isinstance(fields, Mapping):
        raise InputError(f"expected a table such as {{ uniform = [0, 1] }}, got {shorten(fields)}.", where)
    of = fields.get("of", ())
    if not isinstance(of, str) and not (
        isinstance(of, list | tuple) and all(isinstance(one, str) for one in of)
    ):
        raise InputError(f"expected a list of names, got {shorten(of)}.", where, "of")
    rest = {key: value for key, value in fields.items() if key not in OWN_KEYS}
    distribution = distribution_of(rest, where)
    return Variable(
        name, distribution, (of,) if isinstance(of, str) else tuple(of), fields.get("factor", False)
    )
