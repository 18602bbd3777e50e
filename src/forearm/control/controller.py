"""The controller interface: torques once per period, from measurements and the reference."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.spatial import Floats

States = tuple[Floats, Floats, Floats]  # q, qd, qdd
Pair = tuple[Floats, Floats]  # such as positions and velocities


@dataclass(eq=False)  # frozen, its construction would take twice as long
class Sample:
    """What a controller receives each period.

    Args:
        k: number of the period, from 0.
        t: time, s.
        q, qd: measured joint coordinates and velocities (n,); with sensors on the motors alone, motor values
            divided by the gear ratios.
        qdd: measured accelerations (n,); None: no accelerometers.
        wanted: reference (q, qd, qdd) now, (n,) each.
        ahead: the reference one period later, when the torque commanded now has acted.
        force: measured force and moment (6,) on the hand, at its origin, base axes; None: no force acts.
        motor: measured positions and speeds of the motors over their gear ratios, (n,) each; None: no
            sensors on motors.
        sees_links: whether q and qd are those of the links.
    """

    k: int
    t: float
    q: Floats
    qd: Floats
    qdd: Floats | None
    wanted: States
    ahead: States
    force: Floats | None = None
    motor: Pair | None = None
    sees_links: bool = True


def check_arm(arm: object) -> None:
    """Refuse anything but an Arm with joints that move."""
    if not isinstance(arm, Arm) or arm.n == 0:
        raise InputError(f"expected an Arm with joints that move, got {shorten(arm)}.", "controller")


def check_controller(given: object, where: str) -> None:
    """Refuse what is no `Controller`; a plain function is a law for rollouts."""
    if not all(hasattr(given, name) for name in ("name", "operations", "reset", "command")):
        hint = " A plain function drives fa.simulate_many." if inspect.isroutine(given) else ""
        raise InputError(
            "expected a controller, with name, operations, reset() and command(sample), got "
            f"{shorten(given)}.{hint}",
            where,
        )


def most_torques(arm: Arm) -> Floats:
    """Torque limits of the joints, max_effort (n,); infinite where undefined."""
    return np.array([np.inf if j.max_effort is None else j.max_effort for j in arm.joints], dtype=np.float64)


class Controller(Protocol):
    """Computes torques (n,) from samples; `operations` is the mean cost per sample, multiplications and
    additions together.
    """

    name: str

    @property
    def operations(self) -> float:
        """Multiplications and additions per sample."""
        ...

    def reset(self) -> None:
        """Clear memory and integrals since the start of the motion."""
        ...

    def command(self, sample: Sample) -> Floats:
        """Torques to be held until the next period, tau as in `fa.dynamics.inverse`."""
        ...
