"""Full simulation of a single row: curves, energies, events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.traced_controller import TracedController
from forearm.kernels.traced_function import compile_function
from forearm.simulation.result import Simulation
from forearm.simulation.run import simulate
from forearm.spatial import Floats
from forearm.studies.rows.evaluation import RowEvaluation
from forearm.studies.rows.row_setup import RowSetup
from forearm.studies.study import Study
from forearm.values import check_whole

Law = Callable[[float, Floats, Floats], Floats]


def arm_of_row(study: Study, number: int) -> Arm:
    """The arm of a row, with its payload and its motors.

    Args:
        study: the study.
        number: row number, from 0.
    """
    return _setup(study, number).arms()[0]


def _setup(study: Study, number: int) -> RowSetup:
    return RowEvaluation(study).setup_of(check_whole(number, "row", 0, study.rows - 1))


def simulate_row(study: Study, number: int) -> Simulation:
    """The simulation behind the figures of a row.

    Args:
        study: the study.
        number: row number, from 0.
    """
    setup = _setup(study, number)
    if not setup.is_simulated:
        raise InputError(
            "no simulation, only figures required by the motion; add a law to the study, "
            "such as law = 'computed_torque'.",
            f"row {number}",
        )
    run, driving = study.run, setup.driving()
    if "controller" in driving:
        driving = {"controller": _law(driving["controller"], setup.arm, run.step)}
    q0, qd0 = setup.start()
    return simulate(
        setup.arms()[0],
        q0[0],
        qd0[0],
        setup.duration,
        method=run.method,
        step=run.step,
        effort_limits=run.effort_limits,
        **driving,
    )


def _law(controller: TracedController, arm: Arm, step: float) -> Law:
    """A rollout law as a function called once per step, in order."""
    reference = np.asarray(controller.reference, dtype=np.float64)[0]
    traced, _ = controller.traced(arm, reference.shape[-1])
    function = compile_function(traced, "law", arm=arm)
    gains = np.atleast_2d(np.asarray(controller.gains, dtype=np.float64))[0]
    state, held = np.zeros(controller.state), np.zeros(arm.n)

    def answer(t: float, q: Floats, qd: Floats) -> Floats:
        nonlocal state, held
        k = min(round(t / step), len(reference) - 1)
        if k % controller.period == 0:
            given = {"t": np.array([k * step]), "q": q, "qd": qd, "reference": reference[k]}
            given |= {"state": state, "gains": gains}
            found = function(*(given[name] for name in function.inputs))
            held, state = found if controller.state else (found, state)
        return held

    return answer
