"""Batched simulation: rows that differ in state, input, arm parameters and controller gains, thousands per
call of machine code.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.drives.coordinates import coordinates_of
from forearm.drives.joint import depends_on_load
from forearm.errors import InputError, ModelError, StepWarning
from forearm.kernels.batch_rollout import Rollout, SummarisedRollout
from forearm.kernels.kernel import compile as compile_arm
from forearm.kernels.rollout_arguments import plan_of
from forearm.records import flat
from forearm.simulation.arguments import ROWS, RowOptions
from forearm.simulation.machine import simulator_of
from forearm.simulation.row_checks import as_array
from forearm.simulation.row_inputs import RowInputs, row_inputs
from forearm.simulation.row_parameters import checked_rows, open_names, opened_values, row_arm
from forearm.simulation.stability import share_of_longest, warn_of_long_steps
from forearm.simulation.start import loaded, whole_steps
from forearm.simulation.summaries import summaries_of
from forearm.simulation.windings import has_inductance
from forearm.values import check_number

Floats = NDArray[np.float64]
LOOKED_AT = 8  # rows checked for steps that are too long
LONGEST = 100_000  # steps per call where the next one continues from states alone
AT_ONCE = 4_000_000  # steps times rows per call; progress and Ctrl-C are handled between calls
BLOCK, LEAST = 1 << 15, 64  # rows per call, at most and at least
BRAKING = (".friction.viscous", ".motor.gear_ratio", ".motor.torque_constant")  # drive parameters
ON_DEVICE = 1 << 20  # rows per call on a GPU, which needs many


@flat(options=RowOptions)
def simulate_many(
    arm: Arm, q0: ArrayLike, qd0: ArrayLike, duration: float, *, options: RowOptions = ROWS
) -> Rollout:
    """Final states of many simulations, and summaries accumulated during the runs: rows may differ in state,
    input, arm parameters and controller gains, and share one compiled function.

    Args:
        arm: the arm.
        q0, qd0: joint coordinates and velocities at the start, (B, n), or (n,) for all rows.
        duration: length of every run, s; with a controller, an input by step, `record` or `summaries` a whole
            number of steps, otherwise the last step is shorter.
        options: the input, the steps and what differs between rows, as a record.
    """
    check_arm(arm, "simulate_many, arm")
    duration, step = check_number(duration, "simulate_many, duration", minimum=0.0), options.step
    steps, rest = whole_steps(duration, step)
    figures = summaries_of(options.summaries, "simulate_many, summaries")
    parameters = options.parameters or {}
    drive = row_inputs(arm, options, steps)
    q, qd = _states(arm, {"q0": q0, "qd0": qd0}, parameters, drive, steps)
    drive = drive.by_row(len(q), steps)
    if not all(np.isfinite(x).all() for x in (q, qd, *drive.inputs)):
        raise InputError(
            "q0, qd0, torque and voltage must be finite; remove rows that are not.", "simulate_many"
        )
    is_single = (
        not (parameters or figures or options.effort_limits)
        and options.record is None
        and drive.is_held
        and (options.device, options.dtype) == ("cpu", "float64")
    )
    has_states = coordinates_of(arm, drive.by_voltage and has_inductance(arm)).count > arm.n
    if has_states and not is_single:
        raise InputError(
            f"motors, bristles or currents of {arm.name!r} are states; with these only held "
            "torques or voltages are supported, in float64 on the CPU. Use fa.simulate, or "
            "the arm without elasticity, bristles and inductance.",
            "simulate_many",
        )
    if options.check_steps and not parameters:
        _warn(arm, options, q, drive.by_voltage)
    has_loads = depends_on_load(arm)  # carried from step to step: calls cannot continue from states alone
    if has_states or (is_single and has_loads and (rest or steps > LONGEST)):
        return _by_single_code(arm, q, qd, drive, options.method, (steps, step, rest))
    whole = {
        "a controller": drive.controller is not None,
        "an input by step": drive.controller is None and not drive.is_held,
        "record": options.record is not None,
        "summaries": bool(figures),
        "friction that depends on the load": has_loads,
    }
    reasons = " and ".join(what for what, is_given in whole.items() if is_given)
    if rest and reasons:
        raise InputError(
            f"expected a whole number of steps of {step:g} s because of {reasons}, got {duration!r} s. Use "
            f"step={duration!r} / {steps + 1}, which divides it, or duration={(steps + 1) * step:.12g}.",
            "simulate_many",
            "duration",
        )
    values = checked_rows(arm, parameters, len(q))
    how = arm, options.method, step, q, drive.by_voltage, values
    if options.check_steps and values and (doubt := long_steps_of_rows(*how)):
        warnings.warn(f"simulate_many, row {doubt[0]}: {doubt[1]}", StepWarning, stacklevel=3)
    blocks = _Blocks(arm, (q, qd), drive, values, options)
    return blocks.run((steps, rest), max(steps, 1) if reasons else LONGEST, figures)


def _states(
    arm: Arm,
    given: Mapping[str, ArrayLike],
    parameters: Mapping[str, ArrayLike],
    drive: RowInputs,
    steps: int,
) -> list[Floats]:
    """States q0 and qd0 (B, n), with the number of rows from all arguments."""
    states = {name: as_array(x, f"simulate_many, {name}") for name, x in given.items()}
    for name, x in states.items():
        if x.ndim not in (1, 2) or x.shape[-1] != arm.n:
            raise InputError(
                f"expected shape ({arm.n},) or (B, {arm.n}) for {arm.name!r}, got {x.shape}.",
                "simulate_many",
                name,
            )
    counts = {name: x.shape[:-1] for name, x in states.items()}
    counts |= {f"parameters, {name}": np.shape(x) for name, x in parameters.items()}
    found = {name: shape[0] for name, shape in counts.items() if len(shape) == 1} | drive.rows
    sizes = {name: size for name, size in found.items() if size != 1}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise InputError(f"expected the same number of rows everywhere, got {listed}.", "simulate_many")
    rows_by_step = getattr(drive.controller, "reference", None)
    reference: tuple[int, ...] = () if rows_by_step is None else np.shape(rows_by_step)
    if not sizes and len(reference) == 2 and reference[0] != steps:
        sizes = found = {"controller, reference": reference[0]}
    if not found:
        raise InputError(
            f"expected states (B, {arm.n}), or rows of parameters, inputs or gains; got one "
            f"state. Give it as (1, {arm.n}), or use fa.simulate.",
            "simulate_many",
        )
    count = next(iter(sizes.values()), 1)
    return [np.broadcast_to(x, (count, arm.n)) for x in states.values()]


def _warn(arm: Arm, options: RowOptions, q: Floats, by_voltage: bool) -> None:
    try:
        simulator = simulator_of(arm, by_voltage, options.method)
    except ModelError:  # a voltage without motors: the kernel raises the error
        return
    rows = q[:: max(len(q) // LOOKED_AT, 1)]
    instead = ", or simulate one by one with 'radau'"
    warn_of_long_steps(simulator, options.method, options.step, rows, "simulate_many", instead, callers=3)


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
        doubt = share_of_longest(coordinates_of(alone), by_voltage, q[k], method, step)[1]
        if doubt:
            return k, f"{doubt}, or remove such rows."
    return None


class _Blocks:
    """The rows of a run in blocks, so that only inputs and outputs are held for all rows."""

    def __init__(
        self,
        arm: Arm,
        states: tuple[Floats, Floats],
        drive: RowInputs,
        values: Mapping[str, Floats],
        options: RowOptions,
    ) -> None:
        self.states, self.drive, self.values, self.options = states, drive, values, options
        names = open_names(arm, values)
        self.kernel = compile_arm(arm, parameters=names, dtype=options.dtype, device=options.device)

    def run(self, span: tuple[int, float], piece: int, figures: tuple[Any, ...]) -> Rollout:
        """Final states and summaries after whole steps and a rest, so many steps per call."""
        (count, n), (steps, rest), options = self.states[0].shape, span, self.options
        plan = plan_of(steps, options.step, options.method, options.record)
        q, qd = (np.empty(plan.result((count,), n), self.kernel.dtype) for _ in range(2))
        starts = range(0, max(steps, 1), piece)
        calls = [(min(piece, steps - done), options.step) for done in starts] + [(1, rest)] * (rest > 0.0)
        totals: dict[str, Any] = {}
        size = ON_DEVICE
        if self.kernel.device == "cpu":
            size = min(BLOCK, max(AT_ONCE // max(steps, 1), LEAST))
        for first in range(0, max(count, 1), size):
            rows = slice(first, min(first + size, count))
            found = self._block(rows, (q[rows], qd[rows]), calls, figures)
            for name, x in found.summaries.items():
                if name not in totals:
                    totals[name] = np.empty((count, *x.shape[1:]), x.dtype)
                totals[name][rows] = x
            if options.progress is not None:
                options.progress(rows.stop, count, "rows")
        return SummarisedRollout.of((q, qd), totals) if totals else Rollout(q, qd)

    def _block(
        self, rows: slice, out: tuple[Any, Any], calls: list[tuple[int, float]], figures: tuple[Any, ...]
    ) -> Rollout:
        """Those of a slice of rows."""
        count, size, options = len(self.states[0]), rows.stop - rows.start, self.options
        values = {name: x if x.ndim == 0 else x[rows] for name, x in self.values.items()}
        given: dict[str, Any] = {
            "method": options.method,
            "record": options.record,
            "summaries": figures,
            "effort_limits": options.effort_limits,
            "parameters": opened_values(self.kernel.arm, values, size) if values else None,
            "out": out,
            **({"threads": options.threads} if options.device == "cpu" else {}),
            **self.drive.of(rows, count),
        }
        found = Rollout(*(x[rows] for x in self.states))
        for steps, h in calls:
            found = self.kernel.simulate(found.q, found.qd, steps=steps, step=h, **given)
        return found


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
            part = min(piece, count - done)
            simulator.run(state, np.ascontiguousarray(u), part, h, part, linear=False)
    return Rollout(np.ascontiguousarray(state.q[:, : arm.n]), np.ascontiguousarray(state.qd[:, : arm.n]))
