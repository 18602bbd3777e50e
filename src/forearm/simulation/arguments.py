"""Records of a simulation: what drives it, its steps and accuracy, what is sampled, and what ends it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.drives.motor import DAC
from forearm.errors import InputError, shorten
from forearm.kernels.rollout_summary import Summary
from forearm.kernels.traced_controller import TracedController
from forearm.logs.motion import HasLog, MotionLog
from forearm.progress import Progress
from forearm.reading.fields import FunctionField
from forearm.records import anything, choice, declared, flag, number, positional_record, record, whole
from forearm.simulation.methods import ADAPTIVE, FIXED, SYMPLECTIC
from forearm.simulation.result import Simulation
from forearm.simulation.schedule import Schedule
from forearm.values import is_number

Floats = NDArray[np.float64]
Condition = Callable[[float, Floats, Floats], float]
Driving = ArrayLike | Schedule | MotionLog | HasLog | Callable[[float], ArrayLike]
Controller = Callable[[float, Floats, Floats], ArrayLike]

MOST_RECORD = 1_000_000  # steps between two samples: a run can be interrupted between samples
PROGRESS = FunctionField("function of (done, total, what), called from time to time", "(done, total, what)")


@positional_record
class Accuracy:
    """Local error tolerance of an adaptive method for a position or velocity x: rtol |x| + atol."""

    rtol: float = number(
        "relative tolerance; rounding alone makes errors of 1e-16", default=1e-6, minimum=1e-14, maximum=0.1
    )
    atol: float = number("absolute tolerance", "rad or m, rad/s or m/s", default=1e-9, above=0.0)


@positional_record
class Ending:
    """Conditions that end a run early."""

    stops: bool = flag("whether the run ends when a joint passes its limit", default=False)
    until: Callable[[float, Floats, Floats], float | bool] | None = declared(
        FunctionField(
            "function of (t, q, qd), s and (n,); the run ends when its value crosses zero from below or "
            "changes from False to True; if absent, there is none",
            "(t, q, qd)",
        ),
        default=None,
    )


@positional_record
class Sampling:
    """Sampling of inputs and of the recorded motion."""

    dac: DAC | None = anything(
        "converter that samples the input once per period and holds it; if absent, there is none",
        DAC,
        default=None,
    )
    record: int = whole("fixed steps between two recorded samples", 1, MOST_RECORD, default=1)


@record
class Inputs:
    """What drives an arm, at most one of torque, voltage and controller, and the steps."""

    torque: Driving | None = anything(
        "a value (n,), a `Schedule`, or for `simulate` a function of time, N m (N); for rows also (B, n), "
        "or per step (1, steps, n) or (B, steps, n)",
        default=None,
    )
    voltage: Driving | None = anything("the same in place of `torque`, V", default=None)
    controller: Controller | TracedController | Callable[..., Any] | None = anything(
        "function of (t, q, qd) that returns torques (n,); for rows a law over symbols, a "
        "`TracedController`, or one of `fa.control.rollout_controller`",
        default=None,
    )
    step: float = number("size of a fixed or symplectic step", "s", default=1e-3, above=0.0)
    effort_limits: bool = flag(
        "whether motor torques are limited to max_effort of their joints", default=False
    )
    progress: Progress | None = declared(PROGRESS, default=None)


@record
class RunOptions(Inputs):
    """What drives an arm, and how its motion is computed."""

    method: str = choice(
        '"rk3" (Swartz\'s), "rk4" and "gill" take fixed steps; "dp45", "dp87" and "radau" (for stiff drives) '
        'are adaptive; "midpoint" and "gauss4" are symplectic, for arms without input and friction',
        (*FIXED, *ADAPTIVE, *SYMPLECTIC),
        default="rk3",
    )
    continued: Simulation | None = anything(
        "a simulation to continue from its end as if it had not stopped", Simulation, default=None
    )
    motor0: ArrayLike | None = anything(
        "positions and speeds of the motors over their gear ratios (n,) each, if joints are elastic; if "
        "absent, springs hold the links at q0 against gravity, and motors move with the joints",
        default=None,
    )

    def __post_init__(self) -> None:
        if self.motor0 is not None and self.continued is not None:
            raise InputError(
                "with continued= the motors continue from their last state; give only one of the two.",
                "runoptions",
                "motor0",
            )


@record
class RowOptions(Inputs):
    """What drives many rows, and how they differ."""

    method: str = choice("integration method", FIXED, default="rk4")
    parameters: Mapping[str, ArrayLike] | None = anything(
        "values by name, a number or (B,), that override the arm's own: those that `fa.compile` can "
        'leave open ("joint1.friction.viscous", "link3.mass", "joint2.motor.resistance"), and '
        '"payload.mass", "payload.com.x", "payload.inertia.xx" of a body in the hand, in the hand frame, '
        'or "counterweight.link2.mass" and so on of a body on a link, in the link frame',
        Mapping,
        default=None,
    )
    record: int | None = anything(
        "steps between recorded states; if absent, only the last state is recorded", default=None
    )
    summaries: str | Summary | Sequence[str | Summary] = anything(
        "figures of each run, by name (`forearm.simulation.SUMMARIES`) or as `fa.Summary`", default=()
    )
    dtype: str = anything("of the kernel, as in `fa.compile`", default="float64")
    device: str = anything('of the kernel, as in `fa.compile`: "cuda" is a GPU', default="cpu")
    threads: int | None = anything(
        "number of threads that share the rows; if absent, one per processor", default=None
    )
    check_steps: bool = flag(
        "whether to warn (StepWarning) if the step is too long for the drives of some rows", default=True
    )


ACCURACY, ENDING, SAMPLING, RUN, ROWS = Accuracy(), Ending(), Sampling(), RunOptions(), RowOptions()


def condition_of(ending: Ending) -> Condition | None:
    """The termination condition as a function with values -1 (no) and 1 (yes) for bool; the user's function
    receives copies.
    """
    until = ending.until
    if until is None:
        return None

    def checked(t: float, q: Floats, qd: Floats) -> float:
        value: Any = until(t, q.copy(), qd.copy())
        value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
        if isinstance(value, bool | np.bool_):
            return 1.0 if value else -1.0
        try:
            found = float(value) if is_number(value) else math.nan
        except OverflowError:
            found = math.nan
        if math.isnan(found):
            raise InputError(
                f"expected a number, not NaN, or True or False, got {shorten(value)} at t = {t:.9g} s.",
                "ending",
                "until",
            )
        return found

    return checked
