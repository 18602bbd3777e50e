"""Operational-space laws as functions from a sample to a voltage, as `laws` has for joint-space laws."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.codegen.tracing import Tracing
from forearm.control.controller import check_arm
from forearm.control.controllers.admittance import Admittance
from forearm.control.controllers.arm_law import ArmLaw, traced_law
from forearm.control.controllers.forces import inputs_named
from forearm.control.controllers.gravity_compensation import GravityCompensation
from forearm.control.controllers.impedance import Impedance
from forearm.control.controllers.operational_space import OperationalSpace
from forearm.control.laws import INPUTS, LAWS, Law, driven_by, gain_symbols, gains_said
from forearm.control.model_error import without_friction
from forearm.control.options import CodeLawOptions
from forearm.errors import InputError, shorten
from forearm.records import fields_of
from forearm.values import check_choice

HAND_LAWS: dict[str, Callable[..., LawOfArm]] = {
    "gravity_compensation": GravityCompensation,
    "impedance": Impedance,
    "operational_space": OperationalSpace,
    "admittance": Admittance,
}
NOT_GAINS = ("lower", "upper")  # infinite for joints without limits
DERIVED = "transition"  # from mobility, spring, damper and the period


class LawOfArm(Protocol):
    """A controller whose law can be generated as code."""

    @property
    def law(self) -> ArmLaw:
        """The law that it evaluates."""
        ...


def arm_law_of(arm: Arm, law: str | LawOfArm, options: CodeLawOptions) -> ArmLaw:
    """The law of a controller object, or of a controller made by name."""
    check_arm(arm)
    if isinstance(law, str) and law not in HAND_LAWS:
        check_choice(law, (*LAWS, *HAND_LAWS), "controller, law")
    if options.gains is not None:
        raise InputError(
            f"only joint-space laws accept them ({', '.join(LAWS)}); pass a controller with "
            "its own gains, such as control.Impedance(arm, stiffness).",
            "controller",
            "gains",
        )
    if isinstance(law, str):
        cls = HAND_LAWS[law]
        takes = inspect.signature(cls).parameters
        return cls(arm, **{key: value for key, value in fields_of(options).items() if key in takes}).law
    found = getattr(law, "law", None)
    if not isinstance(found, ArmLaw):
        raise InputError(
            "expected the name of a law, or a controller such as control.Impedance(arm), got "
            f"{shorten(law)}.",
            "controller",
        )
    if without_friction(found.arm) != without_friction(arm):
        raise InputError(
            f"it was made for {found.arm.name!r}, not for this {arm.name!r}; make one for this arm.",
            "controller",
        )
    return found


def law_in_hand_space(
    arm: Arm, law: ArmLaw, most: ArrayLike | None, open_gains: bool, bandwidth: float | None
) -> Law:
    """A law traced from a sample to voltages, or torques if a motor is unknown; the reference one period
    ahead is replaced by the present one. `bandwidth` is that of its gains, if it is known.
    """
    tracing = Tracing(law.arm, {})
    inputs = dict.fromkeys(INPUTS, arm.n) | {k: v for k, v in law.reads.items() if k == "force"}
    state = law.reads.get("state", 0)
    lengths = inputs | ({"state": state} if state else {})
    given = {name: inputs_named(tracing, name, length) for name, length in lengths.items()}
    is_open = set(law.numbers) - set(NOT_GAINS) if open_gains else ()
    numbers, parameters = gain_symbols(tracing, law.numbers, is_open)
    drives: list[str] = []

    def drive(tau: Any) -> tuple[str, Any]:
        output, made = driven_by(arm, tau, given["qd"], most)
        drives.append(output)
        return output, made

    x = given | numbers | {"qd_ahead": given["qd_wanted"]}
    traced = traced_law(law, tracing, x, lengths, drive)
    kept = (state, law.meaning("state")) if state else ()
    gains = {name: row for name, row in law.numbers.items() if name not in (*NOT_GAINS, DERIVED)}
    said = gains_said(gains, {}, bandwidth)
    return Law(law.about, arm, traced, parameters, drives[0], tracing.regrouped, inputs, said, *kept)
