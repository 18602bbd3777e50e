"""Arguments of a rollout, by shapes only: the number of arms, and the strides between two arms and between
two steps. Arrays of every kind and on every device go through the same checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forearm.arm.arm import Arm
from forearm.drives.motor import constants_of
from forearm.dynamics.explicit_methods import TABLEAUS
from forearm.errors import InputError
from forearm.kernels.traced_controller import check_steps
from forearm.values import check_choice, check_number

Shape = tuple[int, ...]


@dataclass(frozen=True)
class RolloutPlan:
    """A checked run: this many steps of h seconds by a method,
    every `record`-th state recorded (0: only the final state).
    """

    steps: int
    h: float
    method: str
    record: int

    @property
    def records(self) -> int:
        """The number of recorded states per arm."""
        return self.steps // self.record + 1 if self.record else 1

    @property
    def segment(self) -> int:
        """Steps between two records, no more than enough for all of them."""
        return min(self.record, self.steps + 1)

    def result(self, batch: Shape, n: int) -> Shape:
        """The shape of q, and of qd."""
        return (*batch, *((self.records,) if self.record else ()), n)


def plan_of(
    steps: int, step: float, method: str, record: int | None, is_recorded: bool = False
) -> RolloutPlan:
    """The run that a caller requests; where states must be recorded, None is not a valid record."""
    return RolloutPlan(
        check_steps(steps, "simulate, steps", 0),
        check_number(step, "simulate, step", above=0.0),
        check_choice(method, TABLEAUS, "simulate, method"),
        0 if record is None and not is_recorded else check_steps(record, "simulate, record", 1),
    )


def check_driving(given: Mapping[str, object]) -> str:
    """Which of torque, voltage and controller drives, at most one of them given; none means zero torque.

    The currents of motors with inductance are states, which fixed steps do not integrate.
    """
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(
            f"expected one of torque, voltage and controller, got {' and '.join(named)}.", "simulate"
        )
    return named[0] if named else "torque"


def check_motors(arm: Arm) -> None:
    """Reject voltages for motors that are not known, or whose currents are states."""
    if constants_of(arm).inductance.any():
        raise InputError(
            f"voltages need motors without inductance, and some motors of {arm.name!r} have "
            "it. Use fa.simulate, fa.simulate_many, or "
            "forearm.simulation.without_inductance(arm).",
            "simulate",
        )


def batch_of(arm: Arm, states: Mapping[str, Shape], others: Sequence[tuple[str, Shape, int]]) -> Shape:
    """() for one arm, (B,) for many: from states (n,) or (B, n), and from other arrays with a row per arm,
    given with the number of axes of such a batch.
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
    return (sizes.pop(),) if sizes else (1,) if found else ()


def driven_batch(shape: Shape, steps: int) -> Shape:
    """The batch of arms that share one initial state, from the shape of what drives them: one arm per row,
    unless there is one row per step.
    """
    return shape[:1] if len(shape) == 2 and shape[0] != steps else ()


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
            raise InputError(
                f"{shape} is ambiguous: one row per arm or one per step, as there are {count} "
                f"of both; give ({count}, 1, {size}) or (1, {steps}, {size}).",
                name,
            )
        if by_arm or by_step:
            return (size if by_arm else 0), (0 if by_arm else size)
    many = f", ({count}, {size}) or ({count}, {steps}, {size})" if batch else ""
    raise InputError(f"expected shape ({size},) held, ({steps}, {size}) by step{many}, got {shape}.", name)


def state_stride(shape: Shape) -> int:
    """The stride between the states of two arms."""
    return shape[-1] if len(shape) == 2 and shape[0] > 1 else 0
