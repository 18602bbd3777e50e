"""Initial state and time of a run, given or from the end of another run, whose checkpoint is validated; and
the clock of its fixed steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.arm.elastic import link_side
from forearm.drives.elasticity import deflection_of
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.kernels.rollout import Simulator, State
from forearm.kinematics.arguments import states_of
from forearm.simulation.arguments import Accuracy, RunOptions
from forearm.simulation.inputs import Input
from forearm.simulation.npz import same_numbers
from forearm.simulation.result import Simulation
from forearm.simulation.track import Track
from forearm.values import as_finite

Floats = NDArray[np.float64]
MOST_STEPS = 10**12  # per run: weeks of computing, and every step still has a distinct time
MOST_COUNTED = 2**53  # floats represent whole numbers up to here
ROUNDING = 1e-9  # of a step: times closer than this are equal


@dataclass
class Clock:
    """Clock of fixed steps at origin + done step, shared with the run that this one continues."""

    origin: float
    step: float
    done: int = 0

    def times(self, steps: int, held: int = 1) -> Floats:
        """Times of this step and the next ones, (steps + 1,); with `held`, when the value held there was
        set.
        """
        ks = np.arange(self.done, self.done + steps + 1)
        return np.asarray(
            self.origin + np.asarray(ks if held == 1 else ks // held * held, dtype=np.float64) * self.step
        )


@dataclass(frozen=True, eq=False)
class Start:
    """A time and a state; the steps so far, currents and momenta of a run that is continued, if it had
    them.
    """

    t: float
    state: State
    steps: Clock | None = None
    current: Floats | None = None
    momentum: Floats | None = None


@dataclass(frozen=True, eq=False)
class Setup:
    """A run as fixed, adaptive and symplectic methods receive it: from `start` for `duration` s, every
    `record`-th fixed step recorded.
    """

    drive: Input
    simulator: Simulator
    start: Start
    track: Track
    duration: float
    options: RunOptions
    record: int
    accuracy: Accuracy

    def tell(self, t: float | None = None) -> None:
        """Report progress: the given time, or that of the last sample."""
        if self.options.progress is not None:
            done = (self.track.last if t is None else t) - self.start.t
            self.options.progress(done, self.duration, f"simulating {self.drive.arm.name}")

    @property
    def state(self) -> State:
        """The initial state."""
        return self.start.state

    @cached_property
    def clock(self) -> Clock:
        """Clock of its fixed steps, which continues that of a run with the same step size."""
        steps, step = self.start.steps, self.options.step
        return steps if steps is not None and steps.step == step else Clock(self.start.t, step)


def beginning(
    arm: Arm, simulator: Simulator, q0: ArrayLike, qd0: ArrayLike, motor0: ArrayLike | None = None
) -> Start:
    """A state (n,) at time 0."""
    q, qd = states_of(arm, q0=q0, qd0=qd0)
    if q.ndim != 1:
        raise InputError(
            f"expected one state, ({arm.n},), got {q.shape}; use simulate_many for many.", "simulate"
        )
    q, qd = (as_finite(x, (arm.n,), f"simulate, {name}") for name, x in (("q0", q), ("qd0", qd)))
    if motor0 is None:
        return Start(0.0, simulator.at_rest_or_moving(*loaded(simulator, q[None], qd[None])))
    if not simulator.coordinates.rotors:
        raise InputError(f"no joint of {arm.name!r} is elastic; omit it.", "simulate", "motor0")
    # positions and speeds of the motors over their gear ratios
    motors = as_finite(motor0, (2, arm.n), "simulate, motor0")
    x, xd = simulator.whole(q[None]), simulator.whole(qd[None])
    for rotor in simulator.coordinates.rotors:
        x[:, rotor.place], xd[:, rotor.place] = motors[:, rotor.freedom]
    return Start(0.0, simulator.at_rest_or_moving(x, simulator.bent(xd)))


def loaded(simulator: Simulator, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
    """All coordinates (B, m) of links (B, n) held against gravity by their springs."""
    x, xd = simulator.whole(q), simulator.bent(simulator.whole(qd))
    coordinates = simulator.coordinates
    if coordinates.rotors:
        holding = kernel_of(link_side(simulator.arm).rigid()).gravity(q)
        for rotor in coordinates.rotors:
            x[:, rotor.place] += deflection_of(rotor.elasticity, holding[:, rotor.freedom])
    return x, xd


def going_on(arm: Arm, simulator: Simulator, continued: Simulation) -> Start:
    """The end of a successful run of the same arm."""
    checkpoint, windings = continued.checkpoint, len(simulator.coordinates.windings)
    count = simulator.coordinates.count - windings
    if checkpoint is None or np.shape(checkpoint.get("q", ())) != (1, count):
        raise _cannot_continue("expected a simulation of this arm with its checkpoint; .npz files store it.")
    if not same_numbers(arm, continued.arm):
        raise _cannot_continue(
            "expected a simulation of this arm with its checkpoint, got one of "
            f"{continued.arm.name!r}, whose parameters are not those of {arm.name!r}. Start a "
            "new one from its last q and qd."
        )
    if not continued.ok:
        raise _cannot_continue(
            f"that run failed: {continued.message}. Start a new one before that, from its "
            "at(t), with shorter steps or tolerances."
        )
    end = {name: np.asarray(getattr(continued, name)[-1]) for name in ("t", "q", "qd")}
    kept = {name: _finite(name, value) for name, value in checkpoint.items()}
    current = kept.get("current")
    if windings and current is not None and current.shape != (windings,):
        raise damaged("current")
    charge, i = np.zeros((1, windings)), np.zeros((1, windings)) if current is None else current[None]
    shapes = {"qd": (1, count), **dict.fromkeys(("step", "origin", "done") if "step" in kept else (), ())}
    for name, shape in shapes.items():
        if name not in kept or kept[name].shape != shape:
            raise damaged(name)
    q, qd = np.hstack([kept["q"], charge]), np.hstack([kept["qd"], i if windings else charge])
    state = simulator.at_rest_or_moving(q, qd)
    for name, value in {"t": kept.get("t"), "q": q[0, : arm.n], "qd": qd[0, : arm.n]}.items():
        if not np.array_equal(np.asarray(value), end[name]):
            raise damaged(name)
    for name in ("friction_sign", "is_free", "load_guess", "contact"):
        values = getattr(state, name)
        values = values[:, :count] if name in ("friction_sign", "is_free") else values
        if kept.get(name, values).shape != values.shape:
            raise damaged(name)
        values[...] = kept.get(name, values)
    momentum, steps = kept.get("momentum"), None
    if momentum is not None and momentum.shape != (1, arm.n):
        raise damaged("momentum")
    if "step" in kept:
        origin, step, done = (float(kept[name]) for name in ("origin", "step", "done"))
        if not 0.0 <= done <= MOST_COUNTED or not is_same(origin + done * step, float(end["t"]), step):
            raise damaged("done")
        steps = Clock(origin, step, int(done))
    return Start(float(end["t"]), state, steps, current, momentum)


def _finite(name: str, value: Any) -> Floats:
    """Finite numbers, copied, because machine code receives their address."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise damaged(name) from None
    if not np.isfinite(array).all():
        raise damaged(name)
    return array


def _cannot_continue(problem: str) -> InputError:
    return InputError(problem, "simulate", "continued")


def damaged(name: str) -> InputError:
    """The error about a part of a checkpoint."""
    return _cannot_continue(f"{name} of the checkpoint is damaged; simulate from the start again.")


def without_currents(simulator: Simulator, state: State) -> dict[str, Any]:
    """A state in checkpoint form, with currents separate."""
    windings = len(simulator.coordinates.windings)
    found: dict[str, Any] = dict(vars(state.copy()))
    if windings:
        found["current"] = found["qd"][0, -windings:].copy()
        for name in ("q", "qd", "friction_sign", "is_free"):
            found[name] = np.ascontiguousarray(found[name][:, :-windings])
    return found


def from_zero(clock: Clock) -> tuple[Clock, float]:
    """The same steps counted from 0, as a converter's periods are, and the part of a step to the next of
    them.

    If a part is left, the returned clock is at the step in progress.
    """
    if clock.origin == 0.0:
        return clock, 0.0
    t, step = float(clock.times(0)[0]), clock.step
    if not abs(t / step) <= MOST_COUNTED:
        raise InputError(
            f"{step:g} s is too short to be counted from 0 to {t:g} s; use a longer one.", "simulate", "step"
        )
    nearest = round(t / step)
    if is_same(nearest * step, t, step):
        return Clock(0.0, step, nearest), 0.0
    under_way = floor(t / step)
    return Clock(0.0, step, under_way), (under_way + 1) * step - t


def is_same(time: float, t: float, step: float) -> bool:
    """Whether two times differ by rounding alone."""
    return abs(time - t) <= max(ROUNDING * step, 4.0 * float(np.spacing(abs(t))))


def whole_steps(duration: float, step: float) -> tuple[int, float]:
    """Number of whole steps, and the remainder of the duration; too many steps are refused."""
    count = duration / step
    if not count <= MOST_STEPS:
        raise InputError(
            f"{duration:g} s in steps of {step:g} s are {count:.3g} steps; at most "
            f"{MOST_STEPS:g} are supported. Use longer steps, or a shorter duration.",
            "simulate",
        )
    steps = floor(count + min(1e-12 * count, 1e-3) + ROUNDING)
    rest = duration - steps * step
    return steps, rest if rest > ROUNDING * step else 0.0


def held_steps(period: float, step: float) -> int:
    """Number of steps for which a converter holds."""
    held = round(min(period / step, MOST_COUNTED))
    if held < 1 or abs(held * step - period) > 1e-9 * period:
        raise InputError(
            f"the DAC's period {period:g} s must be a whole number of steps of {step:g} s.", "simulate"
        )
    return held
