"""Elastic joints over time, against closed forms of two masses, energy integrals and MuJoCo with rotors as
bodies.
"""

from __future__ import annotations

import dataclasses
import math
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from arms import posture, random_arm, speed
from drives.making import loaded_arm
from dynamics.cases import simple_drives
from dynamics.elastic_cases import with_springs
from dynamics.rotors_in_mujoco import RotorsInMujoco
from numpy.typing import NDArray
from one_joint import MASS, MOTOR_MASS, ROTOR, beam, two_masses
from simulation.making import FIXED, assert_same, books, everything
from sweeps import long

import forearm as fa
from forearm.simulation import Accuracy, joined, load_simulation

interpolate: Any = import_module("scipy.interpolate")
linalg: Any = import_module("scipy.linalg")
Floats = NDArray[np.float64]
K, D = 250.0, 1.9  # N/m, N s/m
MU = 1.0 / (1.0 / MASS + 1.0 / MOTOR_MASS)  # kg: what swings if both masses are free
LOCK = (1e4, -1e4)  # N: more than any force here
TIGHT = Accuracy(1e-11, 1e-13)
ADDED_UP = 1e-9  # errors of single steps, each within TIGHT, over some hundred of them


def swing(t: Floats, mass: float, D: float, e: float, ed: float, push: float) -> tuple[Floats, Floats]:
    """Deflection and its rate of mass e'' = push - K e - D e', underdamped, from a deflection and a rate."""
    fall, rest = D / (2.0 * mass), push / K
    w = math.sqrt(K / mass - fall**2)
    a, b = e - rest, (ed + fall * (e - rest)) / w
    decay, c, s = np.exp(-fall * t), np.cos(w * t), np.sin(w * t)
    return rest + decay * (a * c + b * s), decay * ((b * w - a * fall) * c - (a * w + b * fall) * s)


# ---------------------------------------------------------------------------------------------- two masses


@pytest.mark.slow
@pytest.mark.parametrize(("method", "damping"), [("rk4", 0.0), ("radau", D)])
def test_two_free_masses_swing_about_their_centre(method: str, damping: float) -> None:
    """At sqrt(K (1/B + 1/m)); a force on the motor moves the centre evenly, and the spring carries its part
    of it.
    """
    arm, tau = two_masses(stiffness=K, damping=damping), 3.1
    (q, qd), (theta, thetad) = (0.1, 0.2), (0.13, -0.3)
    run = fa.simulate(
        arm,
        [q],
        [qd],
        0.8,
        torque=[tau],
        motor0=([theta], [thetad]),
        method=method,
        step=5e-4,
        accuracy=TIGHT,
    )
    e, ed = swing(run.t, MU, damping, theta - q, thetad - qd, tau * MU / MOTOR_MASS)
    whole = MASS + MOTOR_MASS
    centre = (MASS * q + MOTOR_MASS * theta) / whole + (MASS * qd + MOTOR_MASS * thetad) / whole * run.t
    centre = centre + 0.5 * tau / whole * run.t**2
    # the method's order: (w h)^p of some swings of 0.04 m
    off = 1e-8 if method == "rk4" else ADDED_UP
    assert run.q[:, 0] == pytest.approx(centre - MOTOR_MASS / whole * e, abs=off)
    assert run.drives["motor_q"][:, 0] == pytest.approx(centre + MASS / whole * e, abs=off)
    assert (run.drives["motor_qd"] - run.qd)[:, 0] == pytest.approx(ed, abs=30.0 * off)
    assert run.drives["spring"][:, 0] == pytest.approx(K * e + damping * ed, abs=1e3 * off)
    assert run.tau == pytest.approx(np.full_like(run.q, tau))
    assert run.energy["spring"] == pytest.approx(0.5 * K * e**2, abs=30.0 * off)
    assert (run.lost["spring"][-1, 0] > 0.01) == (damping > 0.0)
    assert books(run) <= (1e-7 if method in FIXED else ADDED_UP)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "held"), [("rk4", "link"), ("dp45", "motor")])
def test_a_mass_swings_on_the_spring_of_one_that_is_held(method: str, held: str) -> None:
    """At sqrt(K / B) and sqrt(K / m). A motor's friction is |N| times its own."""
    N = abs(ROTOR.gear_ratio)
    side: Any = "joint" if held == "link" else "motor"
    friction = fa.Friction(side=side, coulomb=(LOCK[0] / N, LOCK[1] / N))
    arm = two_masses(stiffness=K, damping=D, drive={"friction": friction})
    run = fa.simulate(
        arm, [0.1], [0.0], 0.5, motor0=([0.13], [0.0]), method=method, step=5e-4, accuracy=TIGHT
    )
    e, _ = swing(run.t, MOTOR_MASS if held == "link" else MASS, D, 0.03, 0.0, 0.0)
    off = 1e-8 if method == "rk4" else ADDED_UP
    if held == "link":
        assert np.array_equal(run.q, np.full_like(run.q, 0.1))
        assert run.drives["motor_q"][:, 0] == pytest.approx(0.1 + e, abs=off)
    else:
        assert np.array_equal(run.drives["motor_q"], np.full_like(run.q, 0.13))
        assert run.q[:, 0] == pytest.approx(0.13 - e, abs=off)
    assert not run.lost["friction"].any(), "what stands loses nothing"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "radau"])
def test_winding_rotor_spring_and_link_are_a_linear_system(method: str) -> None:
    """Back-EMF by the motor's speed, not the link's: L i' = V - R i - Kt N theta', by the eigenvalues of the
    matrix.
    """
    R, L, Kt, V = 1.5, 0.03, 0.12, 7.0
    motor = dataclasses.replace(ROTOR, torque_constant=Kt, resistance=R, inductance=L)
    N = motor.gear_ratio
    arm = two_masses(motor=motor, stiffness=K, damping=D)
    A = np.zeros((5, 5))  # q, qd, theta, thetad, i
    A[0, 1] = A[2, 3] = 1.0
    A[1, :4] = np.array([-K, -D, K, D]) / MASS
    A[3] = np.array([K, D, -K, -D, Kt * N]) / MOTOR_MASS
    A[4, 3:] = -Kt * N / L, -R / L
    start, push = np.array([0.1, 0.2, 0.13, -0.3, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, V / L])
    run = fa.simulate(
        arm, [0.1], [0.2], 0.4, voltage=[V], motor0=([0.13], [-0.3]), method=method, step=5e-4, accuracy=TIGHT
    )
    # x' = A x + b with b' = 0, as one matrix
    whole = np.zeros((6, 6))
    whole[:5, :5], whole[:5, 5] = A, push
    truth = np.array([linalg.expm(whole * t) @ [*start, 1.0] for t in run.t[::40]])[:, :5]
    found = np.hstack([run.q, run.qd, run.drives["motor_q"], run.drives["motor_qd"], run.drives["current"]])[
        ::40
    ]
    off = 1e-7 if method == "rk4" else ADDED_UP
    assert found == pytest.approx(truth, abs=off)
    assert run.tau == pytest.approx(N * Kt * run.drives["current"], rel=1e-12)
    assert books(run) <= (1e-6 if method in FIXED else ADDED_UP)


@pytest.mark.parametrize(("method", "most"), [("rk3", math.sqrt(3.0)), ("rk4", math.sqrt(8.0))])
def test_steps_too_long_for_a_swing_are_told(method: str, most: float) -> None:
    """Where |R(i w h)| = 1 on the imaginary axis: beyond it the swing grows, and not below."""
    w = math.sqrt(K / MU)
    given: dict[str, Any] = {"motor0": ([0.01], [0.0]), "method": method}
    arm = two_masses(stiffness=K)
    fine = fa.simulate(arm, [0.0], [0.0], 30.0, step=0.99 * most / w, **given)
    assert np.abs(fine.drives["motor_q"] - fine.q).max() < 0.011
    with pytest.warns(fa.StepWarning, match=r"too long for way, whose drive oscillates at 3.4 Hz.*'radau'"):
        grown = fa.simulate(arm, [0.0], [0.0], 30.0, step=1.03 * most / w, **given)
    assert not grown.ok or np.abs(grown.drives["motor_q"] - grown.q).max() > 1.0
    with pytest.warns(fa.StepWarning, match="simulate_many: steps of"):
        fa.simulate_many(arm, [[0.0]], [[0.0]], 0.5, method=method, step=1.03 * most / w)


def test_symplectic_methods_have_no_rotors() -> None:
    for method in ("midpoint", "gauss4"):
        with pytest.raises(fa.ModelError, match=f"simulate, {method}: 'one' has elastic joints.*'dp87'"):
            fa.simulate(two_masses(stiffness=K), [0.0], [0.0], 0.1, method=method)


# ------------------------------------------------------------------------------------------------- a start


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "radau"])
def test_a_run_begins_in_balance(method: str) -> None:
    """Springs carry what holds the links, by straight lines through the points of their curves; motors that
    give as much leave everything where it is.
    """
    arm = with_springs(simple_drives(random_arm(81, 2, prismatic=False)), 1, "lines", rigid=1)
    q, rest = posture(arm, 3), np.zeros(2)
    holding = fa.dynamics.inverse(arm.rigid(), q, rest, rest)
    run = fa.simulate(arm, q, rest, 0.05, torque=holding, method=method, accuracy=TIGHT)
    assert np.abs(run.q - q).max() <= 1e-12
    for j, joint in enumerate(arm.joints):
        if joint.elasticity is None:
            assert np.array_equal(run.drives["motor_q"][:, j], run.q[:, j]), "what is rigid moves as one"
            assert not run.drives["spring"][:, j].any()
            continue
        x, y = np.array([(0.0, 0.0), *joint.elasticity.curve]).T
        assert abs(holding[j]) < y[-1], "the case lies within the points"
        e = np.copysign(np.interp(abs(holding[j]), y, x), holding[j])
        assert run.drives["motor_q"][:, j] - q[j] == pytest.approx(np.full(len(run.t), e), abs=1e-12)
        assert run.drives["spring"][:, j] == pytest.approx(np.full(len(run.t), holding[j]), abs=1e-8)


def test_what_a_start_may_not_be() -> None:
    soft = two_masses(stiffness=K)
    for motor0, text in (
        ([0.1], r"motor0: expected shape \(2, "),
        (([0.1, 0.2], [0.0]), "motor0: expected rows of equal length"),
        (([0.1], [math.nan]), "motor0: every number must be finite"),
    ):
        with pytest.raises(fa.InputError, match=text):
            fa.simulate(soft, [0.0], [0.0], 0.1, motor0=motor0)
    with pytest.raises(fa.InputError, match="motor0: no joint of 'one' is elastic; omit it"):
        fa.simulate(beam(), [0.0], [0.0], 0.1, motor0=([0.0], [0.0]))


# ------------------------------------------------------------------------------------------ bent springs


def period_of(torque: Any, corners: list[float], far: float, mass: float) -> tuple[float, float]:
    """A swing of mass e'' = -f(e) from e = far: its period 4 int_0^far de / sqrt(2 (U(far) - U(e)) / mass),
    with e = far sin(s) and Gauss's rule of 40 points from corner to corner; and its speed in the middle.
    """
    nodes, weights = (0.5 * (v + w) for v, w in zip(np.polynomial.legendre.leggauss(40), (1, 0), strict=True))
    ends = [0.0, *(c for c in corners if c < far), far]

    def energy(a: float, b: float) -> float:
        parts = [a, *(c for c in corners if a < c < b), b]
        each = ((q - p) * float(weights @ torque(p + (q - p) * nodes)) for p, q in pairwise(parts))
        return sum(each)

    quarter = 0.0
    for p, q in pairwise(ends):
        low, high = math.asin(p / far), math.asin(q / far)
        for node, weight in zip(nodes, weights, strict=True):
            s = low + (high - low) * float(node)
            left = energy(far * math.sin(s), far)
            quarter += weight * (high - low) * far * math.cos(s) / math.sqrt(2.0 * left / mass)
    return 4.0 * quarter, math.sqrt(2.0 * energy(0.0, far) / mass)


@pytest.mark.slow
@pytest.mark.parametrize(("interpolation", "method"), [("linear", "radau"), ("spline", "dp87")])
def test_the_period_of_a_swing_on_a_curve(interpolation: Any, method: str) -> None:
    """A hardening spring, within its points and beyond: after a quarter of the period that the energy
    integral gives it passes the middle at the speed that the energy leaves, after a whole one it is back.
    """
    points = ((0.011, 2.1), (0.019, 4.8), (0.034, 11.3))
    x, y = (np.array([*(-v for v in side[::-1]), 0.0, *side]) for side in zip(*points, strict=True))
    spline = interpolate.CubicSpline(x, y, bc_type="natural")
    bent = spline if interpolation == "spline" else lambda e: np.interp(e, x, y)
    step = 1e-7
    slope = float(bent(np.array([x[-1]]))[0] - bent(np.array([x[-1] - step]))[0]) / step

    def torque(e: Floats) -> Floats:
        return np.asarray(np.where(e > x[-1], y[-1] + slope * (e - x[-1]), bent(np.minimum(e, x[-1]))))

    arm = two_masses(curve=points, interpolation=interpolation)
    for far in (0.021, 0.048):
        period, fastest = period_of(torque, [p for p, _ in points], far, MU)
        for part, e, ed in ((0.25, 0.0, -fastest), (1.0, far, 0.0)):
            run = fa.simulate(
                arm, [0.0], [0.0], part * period, motor0=([far], [0.0]), method=method, accuracy=TIGHT
            )
            found = (run.drives["motor_q"] - run.q)[-1, 0], (run.drives["motor_qd"] - run.qd)[-1, 0]
            off = 1e-6 * fastest  # the slope beyond the points is a difference
            assert found == pytest.approx((e, ed), abs=off), (far, part)


# --------------------------------------------------------------------------------------- another engine


def carried(arm: fa.Arm, x: Floats, xd: Floats) -> Floats:
    """What linear springs give to links, and take from rotors."""
    made, place = np.zeros(len(x)), arm.n
    for j, joint in enumerate(arm.joints):
        if (spring := joint.elasticity) is not None:
            assert spring.stiffness is not None
            f = spring.stiffness * (x[place] - x[j]) + spring.damping * (xd[place] - xd[j])
            made[j] += f
            made[place] -= f
            place += 1
    return made


@pytest.mark.slow
@pytest.mark.parametrize("axis", [None, (0.3, -0.5, 0.8)], ids=["reduced", "full"])
def test_mujoco_moves_rotors_as_bodies_in_the_same_way(axis: Any) -> None:
    """Its own Runge-Kutta steps over links and rotors, springs as generalised forces at each of its stages;
    the first joint is rigid.
    """
    bare = random_arm(97, 3, drives=False)
    motors = {
        joint.name: {"motor": fa.Motor(gear_ratio=ratio, rotor_inertia=inertia)}
        for joint, ratio, inertia in zip(bare.joints, (17.0, -29.0, 23.0), (3e-4, 2e-4, 4e-4), strict=True)
    }
    arm = with_springs(bare.with_drives(motors), 2, "linear", damping=2.0, rigid=1, rotor_axis=axis)
    arm = arm.with_drives(
        {j.name: {"elasticity": {"stiffness": 300.0 + 90.0 * k}} for k, j in enumerate(arm.joints) if k}
    )
    q, qd, tau, T, h = posture(arm, 5), speed(arm, 5), np.array([4.0, -3.0, 2.0]), 0.2, 1e-3
    theta, thetad = q + np.array([0.0, 0.02, -0.03]), qd + np.array([0.0, -0.4, 0.5])
    run = fa.simulate(arm, q, qd, T, torque=tau, motor0=(theta, thetad), method="dp87", accuracy=TIGHT)

    peer = RotorsInMujoco(arm)
    at, scale, data = np.array(peer.at), peer.scale, peer.data
    drive = np.array([tau[0], 0.0, 0.0, tau[1], tau[2]])

    def push(_: Any, data: Any) -> None:
        x, xd = data.qpos[at] / scale, data.qvel[at] / scale
        data.qfrc_applied[at] = (drive + carried(arm, x, xd)) / scale

    peer.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    peer.model.opt.timestep = h
    data.qpos[at], data.qvel[at] = scale * [*q, *theta[1:]], scale * [*qd, *thetad[1:]]
    mujoco.set_mjcb_control(push)
    try:
        for _ in range(round(T / h)):
            mujoco.mj_step(peer.model, data)
    finally:
        mujoco.set_mjcb_control(None)
    found, moved = data.qpos[at] / scale, np.abs(run.q[-1] - q)
    assert moved.min() > 0.01, "every joint goes somewhere"
    assert np.concatenate([run.q[-1], run.drives["motor_q"][-1, 1:]]) == pytest.approx(found, abs=2e-8)
    speeds = np.concatenate([run.qd[-1], run.drives["motor_qd"][-1, 1:]])
    assert speeds == pytest.approx(data.qvel[at] / scale, abs=2e-6)


# --------------------------------------------------------------------------------------------------- books


def driven() -> fa.Arm:
    """A beam behind a bent spring, with a gear, a bearing and friction."""
    return beam(
        motor=ROTOR,
        transmission=fa.Transmission(efficiency=((0.0, 0.7),), rated_torque=20.0, breakaway=0.2),
        bearings=(fa.Bearing(kind="journal", mu=0.02, radius=0.03, distance=0.1),),
        friction=fa.Friction(viscous=0.2, coulomb=(0.3, -0.4)),
        elasticity=fa.Elasticity(curve=((0.01, 4.0), (0.03, 17.0)), interpolation="spline", damping=0.4),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("method", "left"), [("radau", 1e-9), ("rk4", 1e-7), *long([("dp87", 1e-9)])])
def test_all_energy_is_accounted_for(method: str, left: float) -> None:
    arm = driven()
    if method == "dp87":
        arm = with_springs(loaded_arm("turning", 79, 2), 9, "spline", damping=3.0)
    start = posture(arm, 1), speed(arm, 1), 0.2 if arm.n == 1 else 0.05
    given: dict[str, Any] = {"step": 1e-4, "accuracy": Accuracy(1e-11, 1e-13)}
    run = fa.simulate(arm, *start, torque=[12.0, -9.0][: arm.n], method=method, **given)
    assert books(run) <= left
    assert all(v[-1].sum() > 0.0 for name, v in run.lost.items() if name != "winding")
    assert all((np.diff(v, axis=0) >= -1e-12).all() for v in run.lost.values())
    assert np.ptp(np.sign(run.drives["motor_qd"]), axis=0).any(), "a motor turns round"


# ------------------------------------------------------------------------------ files, many, going on


@pytest.mark.slow
def test_going_on_gives_the_bits_of_one_run(tmp_path: Path) -> None:
    arm = everything()
    start = posture(arm, 2), speed(arm, 2)
    given: dict[str, Any] = {"torque": [3.0, -2.0], "method": "rk4"}
    whole = fa.simulate(arm, *start, 0.2, **given)
    first = fa.simulate(arm, *start, 0.083, **given)
    first.save(tmp_path / "first.npz")
    kept = load_simulation(tmp_path / "first.npz")
    assert_same(first, kept)
    first.save(tmp_path / "first.csv")
    header, *lines = (tmp_path / "first.csv").read_text(encoding="utf-8").splitlines()
    table = dict(
        zip(header.split(","), np.array([line.split(",") for line in lines], dtype=float).T, strict=True)
    )
    assert {"motor_q2", "motor_qd1", "energy_spring", "energy_bristle", "lost_spring1"} <= set(table)
    for name in ("spring", "bristle"):
        assert np.array_equal(table[f"{name}2"], first.drives[name][:, 1])
    assert set(kept.drives) == {"motor_q", "motor_qd", "spring", "bristle"}
    for before in (first, kept):
        second = fa.simulate(arm, *start, 0.117, continued=before, **given)
        both = joined(before, second)
        for name in whole.drives:
            assert np.array_equal(both.drives[name], whole.drives[name]), name
        assert np.array_equal(both.q, whole.q)
        assert np.array_equal(both.qd, whole.qd)
    assert whole.drives["spring"].any()
    assert (whole.drives["spring"][:, 1] == 0.0).any(), "it crosses its gap"
    rest: dict[str, Any] = {"torque": [3.0, -2.0], "method": "radau", "accuracy": Accuracy(1e-9, 1e-11)}
    parts = [fa.simulate(arm, *start, T, **rest) for T in (0.2, 0.083)]
    for method in ("radau", "dp45"):
        end = fa.simulate(arm, *start, 0.117, continued=parts[1], **(rest | {"method": method}))
        assert end.q[-1] == pytest.approx(parts[0].q[-1], abs=1e-8), "methods go on from each other"
        assert end.drives["motor_q"][-1] == pytest.approx(parts[0].drives["motor_q"][-1], abs=1e-8)


@pytest.mark.slow
def test_many_move_as_one_does() -> None:
    arm = everything()
    q, qd = (np.array([some(arm, k) for k in range(5)]) for some in (posture, speed))
    qd[3] = 0.0
    u = np.array([[3.0 * (-1.0) ** k, 1.5 * k - 3.0] for k in range(5)])
    together = fa.simulate_many(arm, q, qd, 0.1, torque=u, method="rk4")
    for k in range(5):
        alone = fa.simulate(arm, q[k], qd[k], 0.1, torque=u[k], method="rk4")
        assert together[0][k] == pytest.approx(alone.q[-1], rel=1e-10, abs=1e-12)
        assert together[1][k] == pytest.approx(alone.qd[-1], rel=1e-8, abs=1e-10)


# ------------------------------------------------------------------------------------- rotors that spin

AXIS = np.array([0.48, -0.6, 0.64])


def spinning(stiffness: float) -> fa.Arm:
    """A turntable that nothing holds, and an arm on it whose rotor spins about a slanting axis."""
    arm = random_arm(85, 2, prismatic=False, fixed=False, drives=False).replace(gravity=(0.0, 0.0, 0.0))
    motor = fa.Motor(gear_ratio=-23.0, rotor_inertia=4e-4)
    spring = fa.Elasticity(stiffness=stiffness, damping=0.05 * math.sqrt(stiffness), rotor_axis=tuple(AXIS))
    return arm.with_drives({arm.joints[1].name: {"motor": motor, "elasticity": spring}})


@pytest.mark.slow
def test_the_momentum_about_a_free_axis_is_kept() -> None:
    """That of the links, which have the rotor at rest in them, and J N theta' along its axis; the motor and
    its spring act between bodies on the table.
    """
    arm = spinning(90.0)
    first, second = arm.joints
    motor = second.motor
    assert motor is not None
    run = fa.simulate(
        arm, [0.3, -0.4], [0.5, 0.7], 0.5, torque=[0.0, 6.0], method="dp87", accuracy=TIGHT, motor0=None
    )
    spin = motor.rotor_inertia * motor.gear_ratio * run.drives["motor_qd"][:, 1]
    links = [fa.dynamics.inertia_matrix(arm.rigid(), q)[0] @ qd for q, qd in zip(run.q, run.qd, strict=True)]
    # both axes in the frame of the link between the joints
    axis = first.after[:3, :3].T @ np.array(first.axis)
    along = float(axis @ (second.before[:3, :3] @ AXIS))
    momentum = np.array(links) + along * spin
    assert np.ptp(along * spin) > 0.05, "the rotor takes part"
    assert momentum == pytest.approx(np.full(len(run.t), momentum[0]), abs=1e-9)


@pytest.mark.slow
def test_stiff_springs_tend_to_an_arm_built_of_rotors() -> None:
    """A rotor link on the link that carries it, following its joint N times as fast, made by hand."""
    soft = spinning(1.0)
    second = soft.joints[1]
    motor = second.motor
    assert motor is not None
    J, R = motor.rotor_inertia * np.outer(AXIS, AXIS), second.before[:3, :3]
    carrier = soft.link(second.parent)
    links = tuple(
        dataclasses.replace(link, inertia=link.inertia - R @ J @ R.T) if link is carrier else link
        for link in soft.links
    )
    rotor = fa.Joint(
        name="rotor",
        kind="revolute",
        parent=second.parent,
        child="rotor",
        placement=fa.Frame.from_pose(second.before, AXIS),
        mimic=fa.Mimic(joint=second.name, multiplier=motor.gear_ratio),
    )
    bare = dataclasses.replace(second, motor=None, elasticity=None)
    built = soft.replace(
        links=(*links, fa.Link(name="rotor", inertia=J)),
        tree=tuple(bare if joint is second else joint for joint in soft.tree) + (rotor,),
    )
    start: Any = ([0.3, -0.4], [0.5, 0.7], 0.4)
    given: dict[str, Any] = {"torque": [0.0, 6.0], "accuracy": Accuracy(1e-10, 1e-12)}
    truth = fa.simulate(built, *start, method="dp87", **given)
    errors = []
    for stiffness in (1e4, 1e5):
        run = fa.simulate(spinning(stiffness), *start, method="radau", **given)
        errors.append(np.abs(run.q[-1] - truth.q[-1]).max())
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.1)
