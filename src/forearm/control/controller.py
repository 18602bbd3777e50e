"""What a controller is: something that is asked for torques once a period,
from what was measured and what is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """What a controller knows at one period.

    Args:
        k: number of the period, from 0.
        t: time, s.
        q, qd: measured joint coordinates and velocities (n,); the motors', over gear ratios, where sensors
            are on motors alone.
        qdd: measured accelerations (n,); None: no accelerometers.
        wanted: (q, qd, qdd) of the motion now, (n,) each.
        ahead: the same at the next period, when the torque asked for now has acted.
        force: measured force and moment (6,) on the hand, at its origin, base axes; None: none acts.
        motor: measured positions and speeds of the motors over their gear ratios, (n,) each; None: no
            sensors are on motors.
        sees_links: whether q and qd are those of the links.
    """

    k: int
    t: float
    q: Floats
    qd: Floats
    qdd: Floats | None
    wanted: tuple[Floats, Floats, Floats]
    ahead: tuple[Floats, Floats, Floats]
    force: Floats | None = None
    motor: tuple[Floats, Floats] | None = None
    sees_links: bool = True

    @staticmethod
    def quickly(
        k: int,
        t: float,
        q: Floats,
        qd: Floats,
        qdd: Floats | None,
        wanted: tuple[Floats, Floats, Floats],
        ahead: tuple[Floats, Floats, Floats],
        force: Floats | None = None,
        motor: tuple[Floats, Floats] | None = None,
        sees_links: bool = True,
    ) -> Sample:
        """The same in half the time that setting the fields of a frozen record takes.

        Args:
            k, t, q, qd, qdd, wanted, ahead, force, motor, sees_links: as in `Sample`.
        """
        self = object.__new__(Sample)
        self.__dict__.update(
            k=k,
            t=t,
            q=q,
            qd=qd,
            qdd=qdd,
            wanted=wanted,
            ahead=ahead,
            force=force,
            motor=motor,
            sees_links=sees_links,
        )
        return self


def check_arm(arm: object) -> None:
    """Refuse what a controller cannot be made for."""
    if not isinstance(arm, Arm) or arm.n == 0:
        raise InputError(f"controller: expected an Arm with joints that move, got {shorten(arm)}.")


def most_torques(arm: Arm) -> Floats:
    """What each joint bears, its max_effort (n,); infinite where none is given."""
    return np.array([np.inf if j.max_effort is None else j.max_effort for j in arm.joints], dtype=np.float64)


class Controller(Protocol):
    """Torques (n,) from samples; `operations` is what one sample costs on average,
    multiplications and additions together.
    """

    name: str

    @property
    def operations(self) -> float:
        """Multiplications and additions a sample."""
        ...

    def reset(self) -> None:
        """Forget what was learnt or summed up since the motion began."""
        ...

    def command(self, sample: Sample) -> Floats:
        """The torques to be held until the next period, tau as `fa.dynamics.inverse` has it."""
        ...
