"""Rollouts of many arms, against single simulations, closed forms, energies, MuJoCo and orders of methods."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import kinetic_energy, posture, potential_energy, random_arm, speed
from drives.making import loaded_arm
from kernels.truths import same
from numpy.typing import NDArray
from one_joint import MASS, beam, block

import forearm as fa
from forearm.dynamics.explicit_methods import TABLEAUS
from forearm.kernels import batch_rollout
from forearm.kernels.batch_rollout_ir import batch_rollout_text, rollout_kernel_text
from forearm.kernels.cuda.ptx import assembly
from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module
from forearm.kernels.native import function_of, host, loaded, object_code
from forearm.kernels.rollout_arguments import RolloutInputs
from forearm.kernels.rollout_request import ARGUMENTS, ROLLOUT, RolloutRequest
from forearm.kernels.rollout_summary import finished
from forearm.simulation import SUMMARIES

Floats = NDArray[np.float64]
H = 2e-3
METHODS = tuple(TABLEAUS)
SAME = np.empty((3, 1))
DRY = fa.Friction(coulomb=15.0, viscous=0.2)
OPEN = ("viscous", "coulomb.positive", "coulomb.negative")
NAMES = ["part2.mass", *(f"joint1.friction.{name}" for name in OPEN)]


@cache
def arm_of(name: str) -> fa.Arm:
    if name == "motors":
        motor = fa.Motor(
            gear_ratio=-30.0, rotor_inertia=2e-3, torque_constant=0.2, resistance=1.5, max_voltage=12.0
        )
        return arm_of("sticks").with_drives(motor=motor)
    if name == "gears":
        return loaded_arm("chain", 1, 2)
    if name == "sticks":
        return random_arm(5, 3, "modified", drives=False).with_drives(friction=DRY)
    return random_arm(5, 3, "modified", drives=False)


def starts(arm: fa.Arm, count: int) -> tuple[Floats, Floats, Floats]:
    """States and torques, some joints at rest."""
    rng = np.random.default_rng(count)
    q, qd, u = (rng.uniform(-1.0, 1.0, (count, arm.n)) for _ in range(3))
    qd[::3, 0] = 0.0
    qd[1] = 0.0
    return q, qd, 3.0 * u


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["rigid", "sticks", "gears", "motors"])
@pytest.mark.sweep
def test_bits_are_those_of_simulations_one_by_one(name: str, method: str) -> None:
    arm = arm_of(name)
    q, qd, u = starts(arm, 5)
    drive, u = ("voltage", 6.0 * u) if name == "motors" else ("torque", u)
    kernel: Any = fa.compile(arm)
    told: dict[str, Any] = {"step": H, "method": method}
    made = kernel.simulate(q, qd, steps=60, record=20, **{drive: u}, **told)
    assert name != "sticks" or (made.qd[:, 1:] == 0.0).any()
    for k in range(len(q)):
        sampling = fa.simulation.Sampling(record=20)
        one = fa.simulate(arm, q[k], qd[k], 60 * H, sampling=sampling, **{drive: u[k]}, **told)
        assert same((one.q, one.qd), (made.q[k], made.qd[k]))


@pytest.mark.slow
def test_neither_lanes_nor_threads_nor_records_change_bits() -> None:
    arm = arm_of("sticks")
    k, (q, qd, u) = fa.compile(arm), starts(arm, 37)
    told: dict[str, Any] = {"steps": 23, "step": H}
    made = k.simulate(q, qd, torque=u, **told)
    kept = k.simulate(q, qd, torque=u, record=1, threads=3, **told)
    assert kept.q.shape == (37, 24, arm.n)
    assert same((kept.q[:, -1], kept.qd[:, 0]), (made.q, qd))
    assert np.array_equal(k.simulate(q, qd, torque=u, record=5, **told).qd, kept.qd[:, ::5])
    for row in (0, 36):
        one = k.simulate(q[row], qd[row], torque=u[row], **told)
        assert same(one, (made.q[row], made.qd[row]))
    single = fa.compile(arm, dtype="float32").simulate(q, qd, torque=u, **told)
    assert single.q.dtype == np.float32
    assert np.max(np.abs(single.q - made.q)) < 1e-4


def test_pieces_between_which_it_can_be_interrupted_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    k, (q, qd, u) = fa.compile(beam()), starts(beam(), 23)
    told: dict[str, Any] = {"steps": 6, "step": H, "record": 2, "torque": np.repeat(u[:, None], 6, axis=1)}

    def both() -> tuple[Any, ...]:
        made = k.simulate(q, qd, threads=2, **told)
        return *made, *k.simulate_gradient(made, (made.q[:, 0], made.qd[:, 0]), **told)[:3]

    whole = both()
    monkeypatch.setattr(batch_rollout, "AT_ONCE", 1)
    monkeypatch.setattr(batch_rollout, "LEAST_ROWS", 5)
    assert same(both(), whole)


@pytest.mark.slow
@pytest.mark.skipif(not host("float64").fused, reason="a GPU's multiply-add rounds once")
def test_the_text_of_a_gpu_thread_has_the_same_bits() -> None:
    """With dry friction, open parameters, a controller's gains and figures."""
    arm, names, steps = arm_of("motors"), ("part2.mass",), 40
    k, (q, qd, _), gains = fa.compile(arm, parameters=names), starts(arm, 3), [30.0, 4.0]
    controller = fa.TracedController(pd_law, np.array([0.3, -0.2, 0.1]), gains=gains, output="voltage")
    figures = tuple(SUMMARIES[name] for name in ("peak_torque", "energy", "rms_error", "limit_margin"))
    masses = np.array([1.0, 2.0, 3.0])
    told: dict[str, Any] = {"steps": steps, "step": H, "controller": controller, "summaries": figures}
    right = k.simulate(q, qd, parameters={"part2.mass": masses}, **told)
    inputs = RolloutInputs(controller=controller, summaries=figures)
    request = batch_rollout.request_of(k, "rk4", inputs.driven, 3, inputs)
    code = object_code(batch_rollout_text(request.program(), DEVICE_TARGETS["float64"]))
    pointers, whole = ARGUMENTS[ROLLOUT]
    kinds = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * whole + [ctypes.c_double]
    function = function_of(loaded(code, [ROLLOUT]), ROLLOUT, *kinds)
    made, sums, nothing = np.empty((2, 3, arm.n)), np.empty((3, 2 * arm.n + 2)), np.empty(0)
    parameters = np.column_stack([masses, np.tile(gains, (3, 1))])
    reference = np.asarray(controller.reference)
    addresses = [x.ctypes.data for x in (q, qd, nothing, parameters, reference, *made, sums)]
    function(*addresses, 3, steps, 0, 1, arm.n, arm.n, 0, 0, 3, 0, 0, H)
    assert same(made, right)
    left = finished(figures, sums, np.ones(3, dtype=bool), (steps, H))
    assert same([left[name] for name in right.summaries], right.summaries.values())
    for dtype, target in DEVICE_TARGETS.items():
        single = replace(request, dtype=dtype).program()
        text = assembly(device_module([rollout_kernel_text(ROLLOUT, single, target, 64)], target))
        assert ".entry batch_rollout" in text


def pd_law(t: Any, q: Any, qd: Any, goal: Any, model: Any, state: Any, gains: Any) -> Any:
    return gains[0] * (goal - q) - gains[1] * qd


def test_a_block_that_slides_stops_and_stays() -> None:
    k = fa.compile(block(friction=fa.Friction(coulomb=2.0)))
    v, slow = 0.6, 2.0 / MASS  # m/s, and m/s^2 that friction takes
    pushed = np.array([[0.0], [1.5], [-1.5], [2.5]])  # N, the last one more than friction
    made = k.simulate([0.0], [v], steps=3000, step=1e-3, torque=pushed[:, None])
    brake = slow - pushed[:, 0] / MASS
    assert np.allclose(made.q[:3, 0], v * v / 2.0 / brake[:3], atol=1e-12)
    assert np.array_equal(made.qd[:3, 0], np.zeros(3))
    assert np.isclose(made.qd[3, 0], v - 3.0 * brake[3], atol=1e-12)


@pytest.mark.parametrize(("method", "order"), [("rk3", 3), ("rk4", 4), ("gill", 4)])
def test_errors_fall_with_the_order_of_the_method(method: str, order: int) -> None:
    k = fa.compile(beam(friction=fa.Friction(viscous=0.3)))

    def end(steps: int, method: str) -> float:
        made = k.simulate([0.4], [1.1], steps=steps, step=1.0 / steps, torque=[2.0], method=method)
        return float(made.q[0])

    right = end(4000, "rk4")
    errors = [abs(end(steps, method) - right) for steps in (160, 320, 640)]
    assert np.allclose(np.log2(np.divide(errors[:-1], errors[1:])), order, atol=0.3)


@pytest.mark.slow
def test_energy_is_kept_where_nothing_drives_or_brakes() -> None:
    arm = arm_of("rigid")
    q, qd = posture(arm, 1), speed(arm, 2)
    losses = []
    for steps in (100, 200):
        made = fa.compile(arm).simulate(q, qd, steps=steps, step=0.2 / steps)
        energies = [kinetic_energy(arm, *x) + potential_energy(arm, x[0]) for x in ((q, qd), tuple(made))]
        losses.append(abs(energies[1] - energies[0]))
    moved = abs(potential_energy(arm, made.q) - potential_energy(arm, q))
    assert losses[0] < 1e-5 * moved
    assert losses[1] < max(losses[0] / 8.0, 1e-9 * moved)


@pytest.mark.slow
def test_mujoco_takes_the_same_steps() -> None:
    import mujoco

    arm = arm_of("rigid")
    model: Any = fa.to_mujoco(arm)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, H
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    q, qd, u = starts(arm, 3)
    made = fa.compile(arm).simulate(q, qd, steps=100, step=H, torque=u)
    for k in range(len(q)):
        data: Any = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[k], qd[k], u[k]
        for _ in range(100):
            mujoco.mj_step(model, data)
        assert np.max(np.abs(data.qpos - made.q[k])) < 1e-9
        assert np.max(np.abs(data.qvel - made.qd[k])) < 1e-8


def test_inputs_by_step_are_held_over_each() -> None:
    k, (q, qd, _) = fa.compile(beam()), starts(beam(), 3)
    u = np.random.default_rng(4).uniform(-2.0, 2.0, (3, 7, 1))

    def end(q: Any, qd: Any, torque: Any = None, steps: int = 7) -> Any:
        return k.simulate(q, qd, steps=steps, step=H, torque=torque)

    made, now = end(q, qd, u), fa.Rollout(q, qd)
    for j in range(7):
        now = end(*now, u[:, j], 1)
    assert same(made, now)
    shared = end(q, qd, u[0])
    assert np.array_equal(shared.q[0], made.q[0])
    assert same(shared, end(q, qd, u[:1]))
    many = end(q[0], qd[0], u)  # many inputs from one state
    assert many.q.shape == (3, 1)
    assert np.array_equal(many.q[0], made.q[0])
    assert same(end(q[0], qd[0], u[:, 0]), end(q[:1], qd[:1], u[:, :1]))
    assert same(end(q, qd, u[:, :1]), end(q, qd, u[:, 0]))
    assert same(end(q, qd), end(q, qd, 0.0))


@pytest.mark.slow
def test_each_arm_may_have_its_own_parameters() -> None:
    arm = arm_of("sticks")
    k = fa.compile(arm, parameters=["part2.mass", "joint1.friction"])
    q, qd, u = starts(arm, 4)
    values = np.array(list(k.parameters.values())) * np.array([[1.0], [1.2], [0.7], [1.1]])
    told: dict[str, Any] = {"steps": 40, "step": H}
    made = k.simulate(q, qd, torque=u, parameters=values, **told)
    for row, given in enumerate(values):
        shared = k.simulate(q, qd, torque=u, parameters=given, **told)
        assert np.array_equal(shared.q[row], made.q[row])
    mass, viscous, *coulomb = values[2][[list(k.parameters).index(name) for name in NAMES]]
    friction = fa.Friction(coulomb=tuple(coulomb), viscous=viscous)
    heavy = arm.with_link(replace(arm.link("part2"), mass=mass)).with_drives(
        {"joint1": {"friction": friction}}
    )
    right = fa.compile(heavy).simulate(q[2], qd[2], torque=u[2], **told)
    assert np.allclose(right.q, made.q[2], rtol=0.0, atol=1e-10)
    column = k.simulate(q, qd, torque=u, parameters={"part2.mass": values[:, 0]}, **told)
    assert np.array_equal(column.q[0], made.q[0])
    assert not np.array_equal(column.q[1], k.simulate(q, qd, torque=u, **told).q[1])


@pytest.mark.slow
def test_open_gear_ratios_make_torques_of_voltages() -> None:
    arm = arm_of("motors")
    k = fa.compile(arm, parameters=["joint2.motor.gear_ratio"])
    q, qd, u = starts(arm, 2)
    N = 0.8 * next(iter(k.parameters.values()))
    made = k.simulate(q, qd, steps=30, step=H, voltage=6.0 * u, parameters=[N])
    changed = arm.with_drives({"joint2": {"motor": {"gear_ratio": N}}})
    right = fa.compile(changed).simulate(q, qd, steps=30, step=H, voltage=6.0 * u)
    assert np.allclose(made.q, right.q, rtol=0.0, atol=1e-11)


def test_what_is_not_known_stays_unknown_and_harms_no_other() -> None:
    k, (q, qd, u) = fa.compile(beam(friction=DRY)), starts(beam(), 9)
    told: dict[str, Any] = {"steps": 20, "step": H, "record": 10}
    right = k.simulate(q, qd, torque=u, **told)
    q[4], table = np.inf, np.repeat(u[:, None], 20, axis=1)
    table[6, 15] = np.nan
    made = k.simulate(q, qd, torque=table, **told)
    assert np.isnan([*made.q[4], *made.qd[4], made.q[6, 2]]).all()
    assert np.array_equal(made.q[6, :2], right.q[6, :2])
    assert np.array_equal(np.delete(made.q, [4, 6], axis=0), np.delete(right.q, [4, 6], axis=0))


def test_nothing_to_do_and_places_for_results() -> None:
    k, (q, qd, u) = fa.compile(beam()), starts(beam(), 3)
    told: dict[str, Any] = {"steps": 5, "step": H}
    assert same(k.simulate(q, qd, steps=0, step=H, record=4), (q[:, None], qd[:, None]))
    assert same(k.simulate(q, qd, steps=0, step=H), (q, qd))
    assert k.simulate(q[:0], qd[:0], record=2, **told).q.shape == (0, 3, 1)
    right, free = k.simulate(q, qd, torque=u, **told), np.empty((3, 1))
    assert k.simulate(q, qd, torque=u, out=(free, free.copy()), **told).q is free
    assert np.array_equal(free, right.q)
    places = q.copy(), qd.copy(), u.copy()
    for out in ((places[2], free), places[:2]):  # in the place of torques, and in their own
        assert same(k.simulate(*places[:2], torque=places[2], out=out, **told), right)
        places[2][:] = u


NO_INDUCTANCE = fa.Motor(gear_ratio=20.0, torque_constant=0.1, resistance=1.0, inductance=1e-3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"q0": np.zeros((3, 2))},
            r"q0: 'one' has 1 joints, expected shape \(1,\) or \(B, 1\), got \(3, 2\)",
        ),
        ({"qd0": np.zeros((4, 1))}, "the same number of arms in all arguments, got 3 of q0, 4 of qd0"),
        ({"torque": np.zeros((2, 1))}, r"torque: expected shape \(1,\) held, \(5, 1\) by step, \(3, 1\) or"),
        (
            {"torque": np.zeros((3, 1)), "steps": 3},
            r"ambiguous: one row per arm or one per step.*\(3, 1, 1\)",
        ),
        ({"torque": ["a"]}, "torque: expected an array of real numbers"),
        ({"torque": [0.0], "controller": len}, "one of torque, voltage and controller, got torque and"),
        ({"voltage": [0.0]}, "voltages need torque_constant and resistance of every motor"),
        ({"voltage": [0.0], "arm": beam(motor=NO_INDUCTANCE)}, "voltages need motors without inductance"),
        ({"controller": 3}, "controller: expected a function of"),
        ({"controller": lambda t: t}, r"expected a function of \(t, q, qd\).*this one takes \(t\)"),
        ({"controller": lambda t, q, qd: [t, t]}, "controller, law: expected 1 symbols or numbers"),
        ({"steps": -1}, "steps: expected a whole number of at least 0, got -1"),
        ({"step": 0.0}, "simulate, step"),
        ({"record": 0}, "record: expected a whole number of at least 1, got 0"),
        ({"method": "rk5"}, "simulate, method: .*rk4"),
        ({"out": np.empty((3, 1))}, r"out: expected a pair of arrays \(q, qd\)"),
        ({"out": (np.empty((3, 1)), np.empty(1))}, r"out: expected a writeable C-contiguous array \(3, 1\)"),
        ({"out": (SAME, SAME)}, "out: q and qd share memory; expected two separate arrays"),
        ({"parameters": [1.0]}, "parameters: this kernel has no open parameters"),
        ({"steps": 2**64}, "steps: expected a whole number from 0 to 9007199254740992"),
        ({"steps": 2**50, "record": 1}, "no memory for results .* or store fewer of them"),
    ],
)
def test_errors_say_what_is_wrong(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"q0": np.zeros((3, 1)), "qd0": np.zeros((3, 1)), "steps": 5, "step": H}
    given |= {"arm": beam()} | changed
    with pytest.raises(fa.ForearmError, match=message):
        fa.compile(given.pop("arm")).simulate(given.pop("q0"), given.pop("qd0"), **given)


@pytest.mark.slow
def test_a_plain_arm_is_one_loop_without_calls_on_a_gpu() -> None:
    for name, calls in (("rigid", False), ("sticks", True)):
        for dtype, target in DEVICE_TARGETS.items():
            program = RolloutRequest(arm_of(name), dtype, (), "host", "rk4", False).program()
            made = assembly(device_module([rollout_kernel_text(ROLLOUT, program, target, 128)], target))
            assert ".entry batch_rollout" in made
            assert ("call.uni" in made) is calls
            assert (".local" in made) is calls
