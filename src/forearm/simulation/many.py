"""Batched simulation: rows that differ in state, input, arm parameters and controller gains, thousands per
call of machine code.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.drives.coordinates import coordinates_of
from forearm.drives.joint import depends_on_load
from forearm.errors import InputError, ModelError, StepWarning
from forearm.kernels.batch_rollout import Rollout, SummarisedRollout
from forearm.kernels.kernel import Kernel
from forearm.kernels.kernel import compile as compile_arm
from forearm.kernels.rollout_arguments import plan_of
from forearm.kernels.rollout_summary import Summary
from forearm.kernels.traced_controller import TracedController
from forearm.progress import Progress
from forearm.simulation.machine import simulator_of
from forearm.simulation.row_inputs import RowInputs, as_array, row_inputs
from forearm.simulation.row_parameters import checked_rows, open_names, opened_values, row_arm
from forearm.simulation.schedule import Schedule
from forearm.simulation.stability import fastest_decay, longest_step, warn_of_long_steps
from forearm.simulation.start import loaded, whole_steps
from forearm.simulation.summaries import summaries_of
from forearm.simulation.windings import has_inductance
from forearm.values import check_choice, check_kind, check_number

Floats = NDArray[np.float64]
FIXED = ("rk3", "rk4", "gill")
LOOKED_AT = 8  # rows checked for steps that are too long
LONGEST = 100_000  # steps per call where the next one continues from states alone
AT_ONCE = 4_000_000  # steps times rows per call; progress and Ctrl-C are handled between calls
BLOCK, LEAST = 1 << 15, 64  # rows per call, at most and at least
BRAKING = (".friction.viscous", ".motor.gear_ratio", ".motor.torque_constant")  # drive parameters
ON_DEVICE = 1 << 20  # rows per call on a GPU, which needs many


def simulate_many(
    arm: Arm,
    q0: ArrayLike,
    qd0: ArrayLike,
    duration: float,
    *,
    torque: ArrayLike | Schedule | None = None,
    voltage: ArrayLike | Schedule | None = None,
    controller: TracedController | Callable[..., Any] | None = None,
    method: str = "rk4",
    step: float = 1e-3,
    parameters: Mapping[str, ArrayLike] | None = None,
    record: int | None = None,
    summaries: str | Summary | Sequence[str | Summary] = (),
    effort_limits: bool = False,
    dtype: str = "float64",
    device: str = "cpu",
    threads: int | None = None,
    check_steps: bool = True,
    progress: Progress | None = None,
) -> Rollout:
    """Final states of many simulations, and summaries accumulated during the runs: rows may differ in state,
    input, arm parameters and controller gains, and share one compiled function.

    Args:
        arm: the arm.
        q0, qd0: joint coordinates and velocities at the start, (B, n), or (n,) for all rows.
        duration: length of every run, s; with a controller, an input by step, `record` or `summaries` a whole
            number of steps, otherwise the last step is shorter.
        torque: held torques, (n,) for all or (B, n), N m (N), or per step, (1, steps, n) or (B, steps, n); or
            a `Schedule`; None: 0, unless a voltage or a controller is given.
        voltage: voltages instead of `torque`, V.
        controller: a law over symbols, a `TracedController`, or one of `fa.control.rollout_controller`.
        method: "rk3", "rk4" or "gill".
        step: step size, s.
        parameters: values by name, a number or (B,), that override the arm's own: those that `fa.compile` can
            leave open ("joint1.friction.viscous", "link3.mass", "joint2.motor.resistance"), and
            "payload.mass", "payload.com.x", "payload.inertia.xx" of a body in the hand, in the hand frame, or
            "counterweight.link2.mass" and so on of a body on a link, in the link frame.
        record: steps between recorded states; None: only the last state is recorded.
        summaries: figures of each run, by name (`forearm.simulation.SUMMARIES`) or as `fa.Summary`.
        effort_limits: whether motor torques are limited to max_effort of their joints.
        dtype, device: of the kernel, as in `fa.compile`: "cuda" runs on a GPU.
        threads: number of threads that share the rows; None: one per processor.
        check_steps: whether to warn (StepWarning) if the step is too long for the drives of some rows.
        progress: function of (done, total, what), called from time to time; counts rows.
    """
    check_arm(arm, "simulate_many, arm")
    check_choice(method, FIXED, "simulate_many, method")
    step = check_number(step, "simulate_many, step", above=0.0)
    duration = check_number(duration, "simulate_many, duration", minimum=0.0)
    steps, rest = whole_steps(duration, step)
    figures = summaries_of(summaries, "simulate_many, summaries")
    check_kind(parameters, (Mapping, type(None)), "simulate_many, parameters")
    drive = row_inputs(arm, {"torque": torque, "voltage": voltage, "controller": controller}, steps, step)
    q, qd = _states(arm, (q0, qd0), parameters or {}, drive, steps)
    drive = drive.by_row(len(q), steps)
    if not all(np.isfinite(x).all() for x in (q, qd, *drive.inputs)):
        raise InputError(
            "q0, qd0, torque and voltage must be finite; remove rows that are not.", "simulate_many"
        )
    is_plain = not (parameters or record is not None or figures or effort_limits) and drive.is_held
    is_single = is_plain and device == "cpu" and dtype == "float64"
    has_states = _has_own_states(arm, drive.by_voltage)
    if has_states and not is_single:
        raise InputError(
            f"motors, bristles or currents of {arm.name!r} are states; with these only held "
            "torques or voltages are supported, in float64 on the CPU. Use fa.simulate, or "
            "the arm without elasticity, bristles and inductance.",
            "simulate_many",
        )
    if check_steps and not parameters:
        _warn(arm, method, step, q, drive.by_voltage)
    has_loads = depends_on_load(arm)  # carried from step to step: calls cannot continue from states alone
    if has_states or (is_single and has_loads and (rest or steps > LONGEST)):
        return _by_single_code(arm, q, qd, drive, method, (steps, step, rest))
    asks = {
        "a controller": drive.controller is not None,
        "an input by step": drive.controller is None and not drive.is_held,
        "record": record is not None,
        "summaries": bool(figures),
        "friction that depends on the load": has_loads,
    }
    whole = [what for what, is_given in asks.items() if is_given]
    if rest and whole:
        raise InputError(
            f"expected a whole number of steps of {step:g} s because of {' and '.join(whole)}"
            f", got {duration!r} s. Use step={duration!r} / {steps + 1}, which divides it, or "
            f"duration={(steps + 1) * step:.12g}.",
            "simulate_many",
            "duration",
        )
    values = checked_rows(arm, parameters or {}, len(q))
    if (
        check_steps
        and values
        and (doubt := long_steps_of_rows(arm, method, step, q, drive.by_voltage, values))
    ):
        warnings.warn(f"simulate_many, row {doubt[0]}: {doubt[1]}", StepWarning, stacklevel=2)
    kernel = compile_arm(arm, parameters=open_names(arm, values), dtype=dtype, device=device)
    options = {"method": method, "record": record, "summaries": figures, "effort_limits": effort_limits}
    if device == "cpu":
        options["threads"] = threads
    piece = max(steps, 1) if whole else LONGEST  # interruptible between calls
    calls = _Calls(steps, step, piece, rest)
    return _Blocks(kernel, (q, qd), drive, values, options, calls).run(progress)


def _states(
    arm: Arm,
    states: tuple[ArrayLike, ArrayLike],
    parameters: Mapping[str, ArrayLike],
    drive: RowInputs,
    steps: int,
) -> tuple[Floats, Floats]:
    """States (B, n), with the number of rows from all arguments."""
    named = dict(zip(("q0", "qd0"), states, strict=True))
    given = {name: as_array(x, f"simulate_many, {name}") for name, x in named.items()}
    for name, x in given.items():
        if x.ndim not in (1, 2) or x.shape[-1] != arm.n:
            raise InputError(
                f"expected shape ({arm.n},) or (B, {arm.n}) for {arm.name!r}, got {x.shape}.",
                "simulate_many",
                name,
            )
    counts = {name: x.shape[:-1] for name, x in given.items()}
    counts |= {f"parameters, {name}": np.shape(x) for name, x in parameters.items()}
    found = {name: shape[0] for name, shape in counts.items() if len(shape) == 1} | drive.rows
    sizes = {name: size for name, size in found.items() if size != 1}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise InputError(f"expected the same number of rows everywhere, got {listed}.", "simulate_many")
    law = drive.controller
    reference = () if law is None or law.reference is None else np.shape(law.reference)
    if not sizes and len(reference) == 2 and reference[0] != steps:
        sizes = found = {"controller, reference": reference[0]}
    if not found:
        raise InputError(
            f"expected states (B, {arm.n}), or rows of parameters, inputs or gains; got one "
            f"state. Give it as (1, {arm.n}), or use fa.simulate.",
            "simulate_many",
        )
    count = next(iter(sizes.values()), 1)
    return np.broadcast_to(given["q0"], (count, arm.n)), np.broadcast_to(given["qd0"], (count, arm.n))


def _has_own_states(arm: Arm, by_voltage: bool) -> bool:
    coordinates = coordinates_of(arm, by_voltage and has_inductance(arm))
    return coordinates.count > arm.n


def _warn(arm: Arm, method: str, step: float, q: Floats, by_voltage: bool) -> None:
    try:
        simulator = simulator_of(arm, by_voltage, method)
    except ModelError:  # a voltage without motors: the kernel raises the error
        return
    rows = q[:: max(len(q) // LOOKED_AT, 1)]
    warn_of_long_steps(
        simulator, method, step, rows, "simulate_many", ", or simulate one by one with 'radau'"
    )


def long_steps_of_rows(
    arm: Arm, method: str, step: float, q: Floats, by_voltage: bool, values: Mapping[str, Floats]
) -> tuple[int, str] | None:
    """A row whose drives need shorter steps, among those with the strongest damping, and the warning about
    it.

    Args:
        arm: the arm.
        method: of integration.
        step: step size, s.
        q: initial configurations of the rows, (B, n).
        by_voltage: whether the input is voltages.
        values: arm parameters by name, one or (B,), as `checked_rows` returns them.
    """
    braking = {name: x for name, x in values.items() if name.endswith(BRAKING)}
    rows = {int(np.argmax(np.abs(x))) if x.ndim else 0 for x in braking.values()} or {0}
    for k in sorted(rows)[:LOOKED_AT] if len(q) else []:
        alone = row_arm(arm, {name: float(x[k] if x.ndim else x) for name, x in values.items()})
        rate, freedom = fastest_decay(coordinates_of(alone), by_voltage, q[k])
        if step > (most := longest_step(method, rate)):
            return k, (
                f"steps of {step:g} s are too long for {arm.joints[freedom].name}, which its drive brakes "
                f"within {1.0 / abs(rate):.2g} s: the simulated motion would be spurious. Use steps of at "
                f"most {0.99 * most:.2g} s, or remove such rows."
            )
    return None


@dataclass(frozen=True)
class _Calls:
    """The kernel calls of a run: some steps (s) each, and a shorter remainder."""

    steps: int
    step: float
    piece: int
    rest: float

    def __iter__(self) -> Iterator[tuple[int, float]]:
        for done in range(0, max(self.steps, 1), self.piece):
            yield min(self.piece, self.steps - done), self.step
        if self.rest:
            yield 1, self.rest


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The rows of a run in blocks, so that only inputs and outputs are held for all rows."""

    kernel: Kernel
    states: tuple[Floats, Floats]
    drive: RowInputs
    values: Mapping[str, Floats]
    options: Mapping[str, Any]
    calls: _Calls

    def run(self, progress: Progress | None) -> Rollout:
        """Final states and summaries."""
        (count, n), steps = self.states[0].shape, self.calls.steps
        plan = plan_of(steps, self.calls.step, self.options["method"], self.options["record"])
        q, qd = (np.empty(plan.result((count,), n), self.kernel.dtype) for _ in range(2))
        figures: dict[str, Any] = {}
        size = ON_DEVICE
        if self.kernel.device == "cpu":
            size = min(BLOCK, max(AT_ONCE // max(steps, 1), LEAST))
        for first in range(0, max(count, 1), size):
            rows = slice(first, min(first + size, count))
            made = self._some(rows, (q[rows], qd[rows]))
            for name, some in made.summaries.items():
                if name not in figures:
                    figures[name] = np.empty((count, *some.shape[1:]), some.dtype)
                figures[name][rows] = some
            if progress is not None:
                progress(rows.stop, count, "rows")
        return SummarisedRollout.of((q, qd), figures) if figures else Rollout(q, qd)

    def _some(self, rows: slice, out: tuple[Any, Any]) -> Rollout:
        """Those of a slice of rows."""
        count, size = len(self.states[0]), rows.stop - rows.start
        given = {name: x if x.ndim == 0 else x[rows] for name, x in self.values.items()}
        own = opened_values(self.kernel.arm, given, size) if given else None
        here = self.drive.of(rows, count)
        made = Rollout(*(x[rows] for x in self.states))
        for steps, h in self.calls:
            made = self.kernel.simulate(
                made.q, made.qd, steps=steps, step=h, parameters=own, out=out, **here, **self.options
            )
        return made


def _by_single_code(
    arm: Arm, q: Floats, qd: Floats, drive: RowInputs, method: str, run: tuple[int, float, float]
) -> Rollout:
    """Rows by the single-run simulator, for arms whose state is more than (q, qd)."""
    (steps, step, rest), by_voltage = run, drive.by_voltage
    u = drive.inputs[0] if drive.inputs else np.zeros(arm.n)
    u = u if u.ndim == 1 else np.broadcast_to(u, (len(q), 1, arm.n))
    simulator = simulator_of(arm, by_voltage, method, windings=by_voltage and has_inductance(arm))
    state = simulator.at_rest_or_moving(*loaded(simulator, np.ascontiguousarray(q), np.ascontiguousarray(qd)))
    piece = max(AT_ONCE // max(len(q), 1), 1)
    for count, h in ((steps, step), (1 if rest else 0, rest)):
        for done in range(0, count, piece):
            some = min(piece, count - done)
            simulator.run(state, np.ascontiguousarray(u), some, h, some, linear=False)
    return Rollout(np.ascontiguousarray(state.q[:, : arm.n]), np.ascontiguousarray(state.qd[:, : arm.n]))
