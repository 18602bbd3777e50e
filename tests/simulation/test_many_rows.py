"""Many simulations whose rows differ: against single simulations of single arms, and figures summed up on the
way against the same from samples.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from simulation.different_rows import (
    ARM,
    DIFFERENT,
    ELECTRIC,
    LIMITED,
    Q0,
    QD0,
    ROWS,
    STEP,
    STEPS,
    drawn,
    row_of,
)

import forearm as fa
from forearm.control.rollout_laws import gains_row, law_gains
from forearm.simulation import SUMMARIES
from forearm.simulation.row_parameters import row_arm
from forearm.simulation.summaries import first_time, last_time

U = drawn(13, -10.0, 10.0, ROWS, 3)
SCHEDULE = fa.Schedule(np.array([0.0, 0.02, 0.04]), drawn(17, -8.0, 8.0, 3, 3), how="hold")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arm", "row", "drive", "u", "given", "steps"),
    [
        (ARM, 5, "torque", U, DIFFERENT, STEPS + 0.25),
        (LIMITED, 12, "voltage", U, ELECTRIC, STEPS),
        (LIMITED, 7, "torque", SCHEDULE, {}, STEPS),
    ],
    ids=["numbers and a shorter last step", "motors within efforts", "a schedule within efforts"],
)
def test_rows_are_arms_by_themselves(
    arm: fa.Arm, row: int, drive: str, u: Any, given: dict[str, Any], steps: float
) -> None:
    how: dict[str, Any] = {"step": STEP, "effort_limits": arm is LIMITED}
    own: dict[str, Any] = {drive: u if isinstance(u, fa.Schedule) else u[row]}
    figures = ["peak_torque"] if steps == STEPS else []
    many = fa.simulate_many(
        arm, Q0, QD0, STEP * steps, parameters=given, summaries=figures, **how, **{drive: u}
    )
    alone = row_arm(arm, row_of(given, row)) if given else arm
    one = fa.simulate(alone, Q0[row], QD0[row], STEP * steps, method="rk4", **how, **own)
    assert one.t[-1] == pytest.approx(steps * STEP, rel=1e-12)
    assert np.allclose(many.q[row], one.q[-1], rtol=0.0, atol=1e-10)
    assert np.allclose(many.qd[row], one.qd[-1], rtol=0.0, atol=1e-9)
    assert np.ptp(many.q[:, 0]) > 1e-3
    if arm is LIMITED:
        assert many.summaries["peak_torque"].max() == pytest.approx(3.0)
        free = fa.simulate_many(arm, Q0, QD0, STEP * steps, summaries=figures, torque=SCHEDULE)
        held = np.abs(SCHEDULE.values_at(SCHEDULE.times)).max(axis=0)
        assert np.allclose(free.summaries["peak_torque"], held)


@pytest.mark.slow
def test_a_row_does_not_depend_on_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(rows: slice) -> Any:
        parameters = {name: x if np.ndim(x) == 0 else x[rows] for name, x in DIFFERENT.items()}
        return fa.simulate_many(
            ARM, Q0[rows], QD0[rows], STEP * STEPS, parameters=parameters, summaries=["energy", "peak_torque"]
        )

    whole = run(slice(None))
    for rows in (slice(0, 1), slice(3, 8)):
        some = run(rows)
        assert np.array_equal(some.q, whole.q[rows])
        assert np.array_equal(some.summaries["energy"], whole.summaries["energy"][rows])
    monkeypatch.setattr("forearm.simulation.many.BLOCK", 4)
    seen: list[float] = []
    blocks = fa.simulate_many(
        ARM,
        Q0,
        QD0,
        STEP * STEPS,
        parameters=DIFFERENT,
        summaries=["energy", "peak_torque"],
        progress=lambda done, total, what: seen.append(done / total),
    )
    assert np.array_equal(blocks.q, whole.q)
    assert np.array_equal(blocks.summaries["peak_torque"], whole.summaries["peak_torque"])
    assert seen == [4 / 13, 8 / 13, 12 / 13, 1.0]


def followed(arm: fa.Arm, **more: Any) -> tuple[fa.TracedController, tuple[Any, Any, Any]]:
    t = STEP * np.arange(STEPS + 1.0)[:, None]
    wanted = (
        Q0[0] + 0.3 * np.sin(5.0 * t) * np.ones(3),
        1.5 * np.cos(5.0 * t) * np.ones(3),
        -7.5 * np.sin(5.0 * t) * np.ones(3),
    )
    by_step = [x[None, :STEPS] for x in wanted]
    return fa.control.rollout_controller(arm, "computed_torque", *by_step, step=STEP, **more), wanted


@pytest.mark.slow
def test_figures_are_those_of_recorded_samples() -> None:
    controller, wanted = followed(ARM)
    names = [name for name in SUMMARIES if not name.startswith("limit")]
    made = fa.simulate_many(
        ARM, Q0, QD0, STEP * STEPS, controller=controller, parameters=DIFFERENT, summaries=names, record=1
    )
    q, figures = made.q[:, :-1], made.summaries
    assert made.q.shape == (ROWS, STEPS + 1, 3)
    for k in range(0, ROWS, 6):
        e = wanted[0][:-1] - q[k]
        K, R = -30.0 * 0.2, 1.5
        assert np.allclose(figures["peak_speed"][k], np.abs(made.qd[k]).max(axis=0), rtol=1e-12)
        assert np.allclose(figures["peak_error"][k], np.abs(e).max(axis=0), rtol=1e-9)
        assert np.allclose(figures["rms_error"][k], np.sqrt(np.mean(e**2, axis=0)), rtol=1e-9)
        assert np.allclose(figures["peak_current"][k], figures["peak_torque"][k] / abs(K), rtol=1e-12)
        assert np.allclose(figures["rms_current"][k], figures["rms_torque"][k] / abs(K), rtol=1e-12)
        loss = R * (figures["rms_current"][k] ** 2).sum() * STEP * STEPS
        assert np.isclose(figures["copper_loss"][k], loss, rtol=1e-12)
        hands = (fa.compile(ARM).forward_kinematics(q[k]), fa.compile(ARM).forward_kinematics(wanted[0][:-1]))
        away = np.linalg.norm(hands[0][:, :3, 3] - hands[1][:, :3, 3], axis=1).max()
        assert np.isclose(figures["hand_error"][k], away, rtol=1e-9)
        assert figures["energy"][k] >= figures["work"][k] + figures["copper_loss"][k] - 1e-9


def test_work_is_what_energy_gains() -> None:
    """Nothing brakes this arm: kinetic and potential energy grow by the work of the motors."""
    bare = random_arm(3, 3, "modified", drives=False)
    u = drawn(14, -5.0, 5.0, ROWS, 3)
    made = fa.simulate_many(bare, Q0, QD0, 0.2, torque=u, summaries=["work", "rms_torque", "peak_torque"])
    ends = [
        fa.dynamics.kinetic_energy(bare, q, qd) + fa.dynamics.potential_energy(bare, q)
        for q, qd in ((Q0, QD0), (made.q, made.qd))
    ]
    assert np.allclose(ends[1] - ends[0], made.summaries["work"], rtol=1e-7, atol=1e-7)
    assert np.allclose(made.summaries["rms_torque"], np.abs(u), rtol=1e-12)
    assert np.array_equal(made.summaries["peak_torque"], np.abs(u))


def test_when_a_limit_is_passed() -> None:
    limits = fa.Limits(-0.4, 0.7)
    arm = random_arm(3, 3, "modified", drives=False)
    arm = arm.replace(tree=tuple(replace(j, limits=limits) if j.kind != "fixed" else j for j in arm.tree))
    q0 = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    qd0 = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    made = fa.simulate_many(
        arm, q0, qd0, 0.2, torque=[0.0, 0.0, 0.0], summaries=["limit_time", "limit_margin"], record=1
    )
    margins = np.minimum(0.7 - made.q, made.q + 0.4).min(axis=2)
    for k in range(2):
        beyond = np.flatnonzero(margins[k] < 0.0)
        expected = np.inf if not len(beyond) else STEP * beyond[0]
        assert np.isclose(made.summaries["limit_time"][k], expected)
        assert np.isclose(made.summaries["limit_margin"][k], margins[k].min(), rtol=1e-12)
    assert np.isfinite(made.summaries["limit_time"][1])


@pytest.mark.slow
def test_a_law_with_gains_moves_arms_that_it_does_not_know() -> None:
    """Gains, parameters and a controller at once, against the loop in Python around each arm."""
    bandwidths = drawn(15, 10.0, 30.0, ROWS)
    controller, wanted = followed(ARM, open_gains=True)
    rows = [gains_row(law_gains(ARM, "computed_torque", w), STEP) for w in bandwidths]
    many = fa.simulate_many(
        ARM, Q0, QD0, STEP * STEPS, controller=replace(controller, gains=np.stack(rows)), parameters=DIFFERENT
    )
    law = fa.control.ComputedTorque(ARM, bandwidth=bandwidths[7])
    plant = row_arm(ARM, row_of(DIFFERENT, 7))
    loop = fa.control.run(ARM, law, wanted, plant=plant, period=STEP, step=STEP, q0=Q0[7], qd0=QD0[7])
    assert np.allclose(many.q[7], loop.q[-1], rtol=0.0, atol=1e-9)


@pytest.mark.slow
def test_events_are_those_of_recorded_samples() -> None:
    events = [
        first_time("faster", lambda step: [step.qd[0] - 0.5]),
        last_time("slower", lambda step: list(0.5 - step.qd), None),
        fa.Summary("at_end", lambda step, sums: [step.q_next[0]], size=1),
    ]
    made = fa.simulate_many(ARM, Q0, QD0, STEP * STEPS, torque=[20.0, 0.0, 0.0], summaries=events, record=1)
    for k in range(ROWS):
        above = np.flatnonzero(made.qd[k, :-1, 0] > 0.5)
        assert np.isclose(made.summaries["faster"][k], STEP * above[0] if len(above) else np.inf)
        for j in range(3):
            below = np.flatnonzero(made.qd[k, :-1, j] < 0.5)
            assert np.isclose(made.summaries["slower"][k, j], STEP * below[-1] if len(below) else 0.0)
    assert len(set(made.summaries["faster"])) > 3
    assert np.array_equal(made.summaries["at_end"], made.q[:, -1, 0])


@pytest.mark.slow
def test_single_precision_sums_up_the_same() -> None:
    names = ["peak_torque", "rms_current", "energy", "limit_time", "limit_margin"]
    given: dict[str, Any] = {"voltage": [3.0, -4.0, 5.0], "parameters": DIFFERENT, "summaries": names}
    single, double = (
        fa.simulate_many(ARM, Q0, QD0, STEP * STEPS, dtype=dtype, **given) for dtype in ("float32", "float64")
    )
    assert single.q.dtype == np.float32
    for name in names:
        assert single.summaries[name].dtype == np.float32
        scale = np.abs(double.summaries[name]).max()
        assert np.allclose(
            single.summaries[name], double.summaries[name], rtol=1e-3, atol=1e-4 * min(scale, 1e3)
        )


@pytest.mark.slow
def test_calls_go_on_from_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joints that stand go on standing; friction that depends on the load is carried on."""
    brakes = ARM.with_drives(friction=fa.Friction(coulomb=4.0))
    geared = brakes.with_drives(
        transmission=fa.Transmission(efficiency=((0.1, 0.7), (1.0, 0.85)), rated_torque=50.0, breakaway=0.3)
    )
    whole = fa.simulate_many(geared, Q0, QD0, 0.0605, torque=[6.0, 0.0, 0.0])
    monkeypatch.setattr("forearm.simulation.many.LONGEST", 7)
    monkeypatch.setattr("forearm.simulation.many.BLOCK", 5)
    pieces = fa.simulate_many(geared, Q0, QD0, 0.0605, torque=[6.0, 0.0, 0.0])
    assert np.array_equal(whole.q, pieces.q)
    assert np.array_equal(whole.qd, pieces.qd)
    assert (whole.qd[:, 1:] == 0.0).any()


@pytest.mark.slow
def test_blocks_do_not_change_what_a_controller_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last block has as many rows as there are steps; gains are one row for all."""

    def law(t: Any, q: Any, qd: Any, goal: Any, model: Any, state: Any, gains: Any) -> Any:
        return gains[0] * (goal - q) - 5.0 * qd

    for goals in (Q0, drawn(21, -0.5, 0.5, 3, 3)):  # by arm, by step
        controller = fa.TracedController(law, goals, gains=np.array([[40.0]]))
        given: dict[str, Any] = {"controller": controller, "parameters": DIFFERENT}
        whole = fa.simulate_many(ARM, Q0, QD0, 3 * STEP, **given)
        with monkeypatch.context() as short:
            short.setattr("forearm.simulation.many.BLOCK", 5)
            assert np.array_equal(fa.simulate_many(ARM, Q0, QD0, 3 * STEP, **given).q, whole.q)
        own = replace(controller, reference=goals[-1] if len(goals) == ROWS else goals)
        last = row_of(DIFFERENT, ROWS - 1)
        one = fa.simulate_many(ARM, Q0[-1:], QD0[-1], 3 * STEP, controller=own, parameters=last)
        assert np.array_equal(one.q[0], whole.q[-1])
    with pytest.raises(fa.InputError, match="ambiguous: one row per arm or one per step"):
        fa.simulate_many(ARM, Q0, QD0, ROWS * STEP, controller=fa.TracedController(law, Q0, gains=[40.0]))


@pytest.mark.slow
def test_rows_of_anything_no_rows_and_one() -> None:
    run: dict[str, Any] = {
        "duration": 5 * STEP,
        "summaries": ["work", "peak_speed"],
        "torque": [1.0, 2.0, 3.0],
    }
    mass = {"payload.mass": drawn(7, 0.0, 2.0, ROWS)}
    by_mass = fa.simulate_many(ARM, Q0[0], QD0[0], parameters=mass, **run)
    assert by_mass.q.shape == (ROWS, 3)
    one = fa.simulate_many(ARM, Q0[:1], QD0[0], parameters={"payload.mass": mass["payload.mass"][2:3]}, **run)
    assert one.summaries["peak_speed"].shape == (1, 3)
    assert np.array_equal(one.q[0], by_mass.q[2])
    assert np.array_equal(one.summaries["work"], by_mass.summaries["work"][2:3])
    none = fa.simulate_many(ARM, Q0[:0], QD0[0], parameters={"payload.mass": 1.0}, record=1, **run)
    assert none.q.shape == (0, 6, 3)
    assert none.summaries["work"].shape == (0,)
    again = pickle.loads(pickle.dumps(by_mass))
    assert np.array_equal(again.summaries["work"], by_mass.summaries["work"])
    still = fa.simulate_many(ARM, Q0, QD0, **(run | {"duration": 0.0}))
    assert np.array_equal(still.q, Q0)
    assert not still.summaries["work"].any()


def test_a_run_is_interrupted_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(done: float, total: float, what: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("forearm.simulation.many.BLOCK", 4)
    with pytest.raises(KeyboardInterrupt):
        fa.simulate_many(ARM, Q0, QD0, 5 * STEP, progress=stop)
