"""Where a run begins: a state that was given, or the end of another run, whose checkpoint
may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.rollout import Simulator, State
from forearm.kinematics.arguments import states_of
from forearm.simulation.clock import MOST_COUNTED, Clock, is_same
from forearm.simulation.npz import same_numbers
from forearm.simulation.result import Simulation
from forearm.values import check_kind

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Start:
    """A time and a state; the steps so far, currents and momenta of a run that is
    continued, where it had them.
    """

    t: float
    state: State
    steps: Clock | None = None
    current: Floats | None = None
    momentum: Floats | None = None

    def clock(self, step: float) -> Clock:
        """Steps from here on, counted on where the run before had steps of the same length."""
        return self.steps if self.steps is not None and self.steps.step == step else Clock(self.t, step)


def beginning(arm: Arm, simulator: Simulator, q0: ArrayLike, qd0: ArrayLike) -> Start:
    """A state (n,) at time 0."""
    q, qd = states_of(arm, q0=q0, qd0=qd0)
    if q.ndim != 1 or not (np.isfinite(q).all() and np.isfinite(qd).all()):
        raise InputError(
            f"simulate: expected one state of finite numbers, ({arm.n},); many go to simulate_many."
        )
    return Start(0.0, simulator.at_rest_or_moving(q[None], qd[None]))


def going_on(arm: Arm, simulator: Simulator, continued: Simulation) -> Start:
    """The end of a run of the same arm that did not fail."""
    check_kind(continued, Simulation, "simulate, continued")
    kept = continued.checkpoint
    if kept is None or np.shape(kept.get("q", ())) != (1, continued.arm.n):
        raise InputError(
            "simulate, continued: expected a simulation of this arm with its checkpoint; .npz files keep it."
        )
    if not same_numbers(arm, continued.arm):
        raise InputError(
            "simulate, continued: expected a simulation of this arm with its checkpoint, got one of "
            f"{continued.arm.name!r}, whose numbers are not those of {arm.name!r}. Start a new one "
            "from its last q and qd."
        )
    if not continued.ok:
        raise InputError(
            f"simulate, continued: that run failed: {continued.message}. Start a new one before that, from "
            "its at(t), with shorter steps or tolerances."
        )
    usual = simulator.at_rest_or_moving(*(_array(kept, name, (1, arm.n)) for name in ("q", "qd")))
    t = _number(kept, "t")
    ends = (("t", t, continued.t), ("q", usual.q[0], continued.q), ("qd", usual.qd[0], continued.qd))
    for name, value, samples in ends:
        if not np.array_equal(value, samples[-1]):
            raise _damaged(name)
    state = State(**{name: _array(kept, name, value.shape, value) for name, value in vars(usual).items()})
    current = None if "current" not in kept else _array(kept, "current", np.shape(kept["current"]))
    momentum = None if "momentum" not in kept else _array(kept, "momentum", (1, arm.n))
    return Start(t, state, _steps(kept, t), current, momentum)


def _steps(kept: Mapping[str, Any], t: float) -> Clock | None:
    if "step" not in kept:
        return None
    origin, step, done = (_number(kept, name) for name in ("origin", "step", "done"))
    if not 0.0 <= done <= MOST_COUNTED or not is_same(origin + done * step, t, step):
        raise _damaged("done")
    return Clock(origin, step, int(done))


def _array(kept: Mapping[str, Any], name: str, shape: tuple[int, ...], usual: Floats | None = None) -> Floats:
    """Finite numbers of this shape, a copy: machine code is given their address."""
    try:
        value = np.array(kept[name] if usual is None else kept.get(name, usual), dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(name) from error
    if value.shape != shape or not np.isfinite(value).all():
        raise _damaged(name)
    return value


def _number(kept: Mapping[str, Any], name: str) -> float:
    value = kept.get(name)
    if not isinstance(value, int | float) or not isfinite(value):
        raise _damaged(name)
    return float(value)


def _damaged(name: str) -> InputError:
    return InputError(
        f"simulate, continued: {name} of the checkpoint is damaged; simulate from the start again."
    )
