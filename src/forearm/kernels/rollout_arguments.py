"""Arguments of a rollout: the run, what drives the arms, and, by shapes only, the number of arms and the
strides between two arms and between two steps. Arrays of every kind and on every device go through the same
checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.compiled import Shape
from forearm.kernels.rollout_summary import Summary
from forearm.kernels.traced_controller import TracedController, as_controller, check_steps
from forearm.reading.fields import ObjectField
from forearm.records import declared, flag, number, record, set_field
from forearm.values import check_choice, check_kind

HOW = "(n,) or (B, n) held, (steps, n) or (B, steps, n) held over each step"


@dataclass(frozen=True)
class StepsField:
    """A number of steps within the range of the machine code."""

    doc: str
    minimum: int = 1

    def read(self, value: Any, place: str) -> int:
        """The number."""
        return check_steps(value, place, self.minimum)

    def schema(self) -> dict[str, Any]:
        """A whole number."""
        return {"type": "integer", "minimum": self.minimum, "description": self.doc}


@dataclass(frozen=True)
class MethodField:
    """An explicit method with fixed steps, by name."""

    doc: str

    def read(self, value: Any, place: str) -> str:
        """The name."""
        from forearm.dynamics.explicit_methods import TABLEAUS  # imported where used: it takes time

        return check_choice(value, TABLEAUS, place)

    def schema(self) -> dict[str, Any]:
        """Its description."""
        return {"type": "string", "description": self.doc}


@record
class RolloutPlan:
    """A run with fixed steps, and the states that it records."""

    steps: int = declared(StepsField("number of steps", 0))
    step: float = number("step size", "s", above=0.0)
    method: str = declared(MethodField('"rk3", "rk4" or "gill"'), default="rk4")
    record: int | None = declared(
        StepsField("steps between recorded states; None: only the final state"), default=None
    )

    @property
    def every(self) -> int:
        """Steps between recorded states, 0 for the final state only."""
        return self.record or 0

    @property
    def records(self) -> int:
        """The number of recorded states per arm."""
        return self.steps // self.record + 1 if self.record else 1

    @property
    def segment(self) -> int:
        """Steps between two records, no more than enough for all of them."""
        return min(self.every, self.steps + 1)

    def result(self, batch: Shape, n: int) -> Shape:
        """The shape of q, and of qd."""
        return (*batch, *((self.records,) if self.record else ()), n)


def required(plan: RolloutPlan | None) -> RolloutPlan:
    """The run; raises if nothing of it is given."""
    if plan is None:
        raise InputError("expected the number of steps and the step size: steps=..., step=....", "simulate")
    return plan


def plan_of(steps: int, step: float, method: str, record: int | None) -> RolloutPlan:
    """The run with these options."""
    return RolloutPlan(steps=steps, step=step, method=method, record=record)


class RolloutDriver(NamedTuple):
    """What drives the arms, by its `kind`: torques, voltages, or the reference of a controller."""

    kind: str
    name: str  # in messages
    value: Any
    controller: TracedController | None = None

    def width(self, shape: Shape, n: int) -> int:
        """How many numbers drive an arm of n joints over a step, in an array of this shape."""
        return n if self.controller is None or not shape else shape[-1]


@record
class RolloutDrive:
    """What drives the arms of a rollout: at most one of torque, voltage and controller, else zero torques."""

    torque: Any = declared(ObjectField(HOW, unit="N m (N)"), default=None)
    voltage: Any = declared(ObjectField(HOW, unit="V"), default=None)
    controller: Any = declared(
        ObjectField("a law over symbols, or a `TracedController` with a reference, a period or voltages"),
        default=None,
    )

    def __post_init__(self) -> None:
        names = ("torque", "voltage", "controller")
        if len(named := [name for name in names if getattr(self, name) is not None]) > 1:
            raise InputError(
                f"expected one of torque, voltage and controller, got {' and '.join(named)}.", "drive"
            )
        if self.controller is not None:
            set_field(self, "controller", as_controller(self.controller))

    @property
    def driven(self) -> RolloutDriver:
        """What drives the arms."""
        if (controller := self.controller) is not None:
            row = np.empty(0) if controller.reference is None else controller.reference
            return RolloutDriver("controller", "controller, reference", row, controller)
        if self.voltage is not None:
            return RolloutDriver("voltage", "voltage", self.voltage)
        return RolloutDriver("torque", "torque", 0.0 if self.torque is None else self.torque)


@record
class RolloutInputs(RolloutDrive):
    """What drives the arms of a rollout, whether efforts are limited, and what is accumulated."""

    summaries: Sequence[Summary] = declared(
        ObjectField(
            "quantities accumulated during the run, such as those of `forearm.simulation.SUMMARIES`; by name "
            "in `summaries` of the result"
        ),
        default=(),
    )
    effort_limits: bool = flag("whether motor torques saturate at the joints' max_effort", default=False)

    def __post_init__(self) -> None:
        RolloutDrive.__post_init__(self)
        check_kind(self.summaries, (list, tuple), "inputs, summaries")
        for summary in self.summaries:
            check_kind(summary, Summary, "inputs, summaries")
        set_field(self, "summaries", tuple(self.summaries))


def batch_of(
    arm: Arm, states: Mapping[str, Shape], others: Sequence[tuple[str, Shape, int]], plan: RolloutPlan
) -> Shape:
    """() for one arm, (B,) for many: from states (n,) or (B, n), and from other arrays with a row per arm,
    what drives them first, given with the number of axes of such a batch. Arms that share one initial state
    are as many as the rows of what drives them, unless there is one row per step.
    """
    n, found = arm.n, {}
    for name, shape in states.items():
        if len(shape) not in (1, 2) or shape[-1] != n:
            raise InputError(
                f"{arm.name!r} has {n} joints, expected shape ({n},) or (B, {n}), got {shape}.", name
            )
        if len(shape) == 2:
            found[name] = shape[0]
    found |= {name: shape[0] for name, shape, axes in others if len(shape) == axes}
    sizes = {size for size in found.values() if size != 1}
    if len(sizes) > 1:
        listed = ", ".join(f"{size} of {name}" for name, size in found.items())
        raise InputError(f"expected the same number of arms in all arguments, got {listed}.", "simulate")
    if found:
        return (sizes.pop() if sizes else 1,)
    drive = others[0][1]
    return drive[:1] if len(drive) == 2 and drive[0] != plan.steps else ()


def strides_of(name: str, shape: Shape, size: int, batch: Shape, steps: int) -> tuple[int, int]:
    """Strides between two arms, and between two steps, of what drives them: (size,) or (B, size) held,
    (steps, size) or (B, steps, size) by step, 1 in place of shared axes.
    """
    count = batch[0] if batch else 1
    if shape == (size,):
        return 0, 0
    if len(shape) == 3 and shape[0] in (1, count) and shape[1] in (1, steps) and shape[2] == size:
        return (shape[1] * size if shape[0] > 1 else 0), (size if shape[1] > 1 else 0)
    if len(shape) == 2 and shape[1] == size:
        by_arm, by_step = bool(batch) and shape[0] == count, shape[0] == steps
        if by_arm and by_step and count > 1:
            raise ambiguous(name, shape, count, size)
        if by_arm or by_step:
            return (size if by_arm else 0), (0 if by_arm else size)
    many = f", ({count}, {size}) or ({count}, {steps}, {size})" if batch else ""
    raise InputError(f"expected shape ({size},) held, ({steps}, {size}) by step{many}, got {shape}.", name)


def ambiguous(name: str, shape: Shape, count: int, size: int) -> InputError:
    """The error where rows may belong to arms or to steps."""
    return InputError(
        f"{shape} is ambiguous: one row per arm or one per step, as there are {count} of both; "
        f"give ({count}, 1, {size}) or (1, {count}, {size}).",
        name,
    )


def state_stride(shape: Shape) -> int:
    """The stride between the states of two arms."""
    return shape[-1] if len(shape) == 2 and shape[0] > 1 else 0
