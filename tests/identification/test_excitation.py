"""Exciting motions: exact gradients, limits that hold, what is expected of a fit against such fits."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import limits_of, random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm, Friction, Motor, Plan
from forearm.identification.excitation.assess import information_of, largest_share, usual_sizes
from forearm.identification.excitation.criteria import CRITERIA
from forearm.identification.excitation.limits import excitation_limits
from forearm.identification.excitation.problem import ExcitationProblem
from forearm.identification.excitation.starts import postures, random_motion
from forearm.identification.excitation.torque_columns import torque_columns
from forearm.identification.requests import TORQUE_SIDES, ExcitationSearch, MotionBounds
from forearm.reduction.base import base_parameters
from forearm.trajectories import Excitation, SeriesMotion

Array = NDArray[np.float64]
BOX = ((-np.inf, -0.9, -0.8), (np.inf, 0.9, 0.8))
REST = 1e-12  # rad/s, m/s^2 and the like: rounding of a few sines
SLOPE = 1e-6  # relative: what central differences of a smooth function leave
NOISE = (0.7, 0.4, 0.3)


@cache
def driven_arm() -> Arm:
    """Two sliding joints and one that turns, motors, one of them reversed, friction on both sides."""
    arm = random_arm(5, 3, drives=False)
    common = {"rotor_inertia": 1.3e-4, "torque_constant": 0.09, "resistance": 0.9, "max_voltage": 48.0}
    return arm.with_drives(
        {
            "joint1": {
                "motor": Motor(gear_ratio=60.0, **common),
                "friction": Friction(viscous=1.7, coulomb=(3.1, -2.7)),
            },
            "joint2": {
                "motor": Motor(gear_ratio=-45.0, **common),
                "friction": Friction(side="motor", viscous=2e-3, coulomb=(0.05, -0.04)),
            },
            "joint3": {
                "motor": Motor(gear_ratio=50.0, **common),
                "friction": Friction(
                    viscous=0.9, coulomb=(2.1, -1.7), static=(2.9, -2.2), stribeck_speed=0.05
                ),
            },
        }
    )


@cache
def excited(**options: Any) -> Plan:
    """One motion of that arm; what is asked for again is the same."""
    given: dict[str, Any] = {"harmonics": 3, "starts": 1, "noise": NOISE, "step": 0.005} | options
    return fa.excite(driven_arm(), 3.0, **given)


def excitation(plan: Plan) -> Excitation:
    assert plan.excitation is not None
    return plan.excitation


def problem_of(criterion: Any, basis: Any, start: Array | None = None) -> ExcitationProblem:
    arm = driven_arm()
    limits = excitation_limits(arm, MotionBounds(acceleration=8.0, torque=400.0, box=BOX))
    search = ExcitationSearch(basis=basis, criterion=criterion, harmonics=3)
    columns, noise = torque_columns(arm, "motor"), np.array(NOISE)
    scale = 1.0 / usual_sizes(columns, limits, 6.0, noise)
    earlier = np.diag(np.linspace(0.1, 0.3, len(columns)))
    return ExcitationProblem(columns, limits, search, 3.0, start, noise, scale, 600, earlier)


def differences(function: Any, x: Array, h: float = 1e-6) -> tuple[float, Array]:
    """A derivative along a random direction, and the direction."""
    direction = np.random.default_rng(3).normal(size=x.shape)
    return (function(x + h * direction) - function(x - h * direction)) / (2.0 * h), direction


@pytest.mark.slow
@pytest.mark.parametrize("basis", ["fourier", "spline"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_gradients_are_those_of_differences(criterion: str, basis: str) -> None:
    rng = np.random.default_rng(1)
    problem = problem_of(criterion, basis)
    x = random_motion(problem, postures(problem.limits, 1, rng)[0], rng)
    slope, direction = differences(lambda z: problem.worth(z)[0], x)
    assert slope == pytest.approx(float((problem.worth(x)[1] * direction).sum()), rel=SLOPE)
    slope, direction = differences(problem.barrier, x)
    gradient, matrix = problem.barrier_slopes(x)
    assert slope == pytest.approx(float((gradient * direction).sum()), rel=SLOPE)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * np.abs(matrix).max()


def test_criteria_are_what_their_names_say() -> None:
    A = np.random.default_rng(0).normal(size=(30, 6)) * [1.0, 2.0, 0.3, 1.0, 0.7, 5.0]
    G = A.T @ A
    value, slope = CRITERIA["d"](G)
    assert value == pytest.approx(-np.linalg.slogdet(G)[1], rel=1e-9)
    assert slope == pytest.approx(-np.linalg.inv(G), rel=1e-6)
    value, _ = CRITERIA["condition"](G)
    exact = 6.0 * np.log(np.linalg.cond(A))
    assert exact <= value < exact + 6.0 * np.log(6.0) / 6.0


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"basis": "spline", "box": BOX, "torque": (60.0, 70.0, 20.0)}])
def test_it_rests_at_both_ends_and_limits_hold_at_every_moment(options: dict[str, Any]) -> None:
    """Looked at by the reference's torques, on another grid than the search's."""
    arm, plan = driven_arm(), excited(**options)
    motion = plan.motion
    q, qd, qdd = motion.at([0.0, motion.duration])
    assert np.abs(q[0] - q[1]).max() < REST
    assert np.abs(qd).max() < REST
    assert np.abs(qdd).max() < 100.0 * REST
    t, h = np.linspace(0.05, 2.95, 40), 1e-5
    before, here, after = motion.at(t - h), motion.at(t), motion.at(t + h)
    for k in range(2):
        assert (after[k] - before[k]) / (2.0 * h) == pytest.approx(here[k + 1], abs=1e-6)
    q, qd, qdd = plan.at(np.linspace(0.0, 3.0, 741))
    lower, upper = limits_of(arm)
    margin = 0.02 * (upper - lower)
    assert ((q >= lower + margin) & (q <= upper - margin)).all()
    assert (np.abs(qd) <= [joint.max_speed for joint in arm.joints]).all()
    tau = fa.dynamics.inverse(arm, q, qd, qdd)
    assert (np.abs(tau) <= options.get("torque", np.inf)).all()
    assert np.abs(fa.drives.voltage_of(arm, tau, qd)).max() <= 48.0
    if "box" in options:
        p = fa.kinematics.forward(arm, q)[:, :3, 3]
        assert ((p >= BOX[0]) & (p <= BOX[1])).all()
    shares = [use.share for use in excitation(plan).uses]
    assert 0.98 < max(shares) <= 1.0  # and it is a limit that bounds it
    assert plan.warnings == ()


@pytest.mark.slow
def test_it_tells_more_than_random_motions_and_each_criterion_is_better_by_its_own_measure() -> None:
    plan, condition = excited(), excitation(excited(criterion="condition"))
    made = excitation(plan)
    assert made.gain > 1.3
    problem, rng = problem_of("d", "fourier"), np.random.default_rng(4)
    for posture in postures(problem.limits, 3, rng):
        motion = problem.motion(random_motion(problem, posture, rng))
        other = information_of(problem.columns, motion, plan.step, made.noise)
        assert np.linalg.slogdet(other)[1] < np.linalg.slogdet(made.information)[1]
    assert condition.condition < made.condition
    assert made.log_det > condition.log_det


@pytest.mark.slow
def test_the_next_motion_complements_those_before() -> None:
    first = excited()
    second = fa.excite(
        driven_arm(), 3.0, harmonics=3, starts=1, noise=NOISE, step=0.005, after=[first], seed=1
    )
    one, both = excitation(first), excitation(second)
    assert both.earlier == 1
    assert both.eigenvalues[0] > 1.5 * one.eigenvalues[0]
    assert both.log_det > one.log_det + len(one.names) * np.log(2.0)  # more than the same motion once more
    assert (both.std < one.std).all()


@pytest.mark.slow
def test_expected_deviations_are_those_of_fits() -> None:
    """Of torques by the reference dynamics with noise, and columns by the reference regressor."""
    arm, plan = driven_arm(), excited()
    made, rows = excitation(plan), slice(None, None, 4)
    q, qd, qdd = (x[rows] for x in plan.at(plan.t))
    blocks = [base_parameters(arm).regressor(q, qd, qdd)]
    for i, (joint, N) in enumerate(zip(arm.joints, (1.0, 45.0, 1.0), strict=True)):
        columns = [N**2 * qd[:, i], N * (qd[:, i] > 0.0), N * (qd[:, i] < 0.0)]
        if f"{joint.name}.motor.rotor_inertia" in made.names:
            columns.append(joint.motor.gear_ratio**2 * qdd[:, i])  # type: ignore[union-attr]
        block = np.zeros((len(q), 3, len(columns)))
        block[:, i] = np.array(columns).T
        blocks.append(block)
    W = np.concatenate(blocks, axis=2) / np.array(NOISE)[:, None]
    A = W.reshape(-1, W.shape[-1])
    # of a quarter of the rows, as sure as half of what all of them say
    std = 0.5 * np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    assert made.std == pytest.approx(std, rel=0.03)
    simple = arm.with_drives({"joint3": {"friction": Friction(viscous=0.9, coulomb=(2.1, -1.7))}})
    tau = (fa.dynamics.inverse(simple, q, qd, qdd) / np.array(NOISE)).ravel()
    inside = (np.abs(qd) > 1e-9).all(axis=1).repeat(3)
    left = tau - A @ np.linalg.lstsq(A[inside], tau[inside], rcond=None)[0]
    assert np.abs(left[inside]).max() < 1e-6 * np.abs(tau).max()  # the columns explain all of the torques


@pytest.mark.slow
def test_what_each_side_of_the_gear_shows() -> None:
    motor, link = (torque_columns(driven_arm(), side) for side in TORQUE_SIDES)
    assert "joint2.friction.viscous" in motor.names
    assert not any(name.startswith("joint2.friction") for name in link.names)
    assert not any("rotor" in name for name in link.names)
    assert [text.split()[0] for text in motor.dependent] == [
        "joint1.motor.rotor_inertia",
        "joint3.motor.rotor_inertia",
    ]
    where = dict(zip(motor.names, motor.values, strict=True))
    assert where["joint2.friction.coulomb.negative"] == -0.04
    bare = torque_columns(random_arm(5, 3, drives=False), "motor")
    assert np.isnan(bare.values[bare.names.index("joint1.friction.viscous")])


@pytest.mark.slow
def test_files_hold_it(tmp_path: Path) -> None:
    plan, path = excited(), tmp_path / "motion.json"
    for name in ("motion.json", "motion.csv"):
        plan.save(tmp_path / name)
        again = fa.plan(driven_arm(), tmp_path / name)
        for ours, theirs in zip(plan.at(plan.t), again.at(plan.t), strict=True):
            assert theirs == pytest.approx(ours, abs=1e-12)
    loaded = fa.trajectories.load_motion(driven_arm(), path)
    assert isinstance(loaded, SeriesMotion)
    assert loaded.slowed(2.0).at(6.0)[0] == pytest.approx(loaded.start, abs=1e-12)
    after = fa.excite(driven_arm(), 2.0, harmonics=2, starts=1, noise=NOISE, step=0.01, after=[path])
    assert excitation(after).earlier == 1
    for change, said in (
        ('"coefficients": [[1.0], [2.0], [0.5]]', "as many cosines as sines, got shape"),
        ('"coefficients": [[1.0, 1.0], [2.0, 2.0]]', "expected rows of 1 numbers"),
        ('"coefficients": [[1.0], [0.0], [0.0], [0.0]]', "not at rest at its ends"),
    ):
        text = f'"format": "forearm-series-motion/1", "basis": "fourier", "start": [0.0], {change}'
        path.write_text(f'{{{text}, "duration": 1.0}}', encoding="utf-8")
        with pytest.raises(fa.InputError, match=said):
            fa.trajectories.load_motion(driven_arm(), path)


@pytest.mark.slow
def test_the_same_request_gives_the_same_motion() -> None:
    start, told = excited().motion.at(0.0)[0] + 0.01, []
    options: dict[str, Any] = {"harmonics": 2, "starts": 1, "step": 0.01, "start": start}
    one = fa.excite(driven_arm(), 1.0, progress=lambda done, total, _: told.append(done / total), **options)
    other = fa.excite(driven_arm(), 1.0, **options)
    assert isinstance(one.motion, SeriesMotion)
    assert isinstance(other.motion, SeriesMotion)
    assert (one.motion.coefficients == other.motion.coefficients).all()
    assert one.q[0] == pytest.approx(start, abs=1e-12)
    assert told == sorted(told)
    assert 0.9 < told[-1] <= 1.0


@pytest.mark.slow
def test_the_report_says_how_good_it_is() -> None:
    plan = excited()
    made = excitation(plan)
    text = plan.report().text()
    assert "condition number" in text
    assert "joint3 voltage" in text
    assert "joint1.motor.rotor_inertia cannot be separated from inertial parameters" in text
    document = made.document()
    assert (
        len(document["parameters"])
        == len(made.names)
        == len(made.poor)
        + sum(std <= 0.3 * abs(value) for std, value in zip(made.std, made.values, strict=True))
    )
    blind = Excitation(
        ("a", "b"), ("a", "b"), np.array([1.0, np.nan]), np.diag([4.0, 0.0]), np.eye(2), np.ones(2),
        np.ones(1), "", 10, 0, "d", "motor", (), (),
    )  # fmt: skip
    assert blind.std.tolist() == [0.5, np.inf]
    assert blind.condition == np.inf
    assert blind.poor == (
        "a has an expected deviation of +-0.5, 50% of the arm's 1.",
        "b is not excited by this motion.",
    )
    assert "unobservable" in blind.report().text()


@pytest.mark.slow
def test_arms_without_limits_get_sober_ones() -> None:
    plan = fa.excite(fa.load("ascher2"), 2.0, harmonics=2, starts=1, step=0.01)
    assert plan.notes[0] == "no range of joint1, joint2: positions stay between -3.142 and 3.142 rad."
    assert any("velocity 1 rad/s is assumed; give velocity for another" in note for note in plan.notes)
    assert any("acceleration 5 rad/s^2 is assumed" in note for note in plan.notes)
    assert np.abs(plan.qd).max() < 1.0
    assert np.abs(plan.qdd).max() < 5.0
    assert "1% of max_effort, or of the largest torque" in excitation(plan).noise_note


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"duration": 0.0}, r"excite, duration: must be at least 1e-06, got 0"),
        ({"basis": "chebyshev"}, r"excite, basis: expected one of fourier, spline"),
        ({"criterion": "a"}, r"excite, criterion: expected one of d, condition"),
        ({"torque_side": "gear"}, r"excite, torque_side: expected one of motor, link"),
        ({"harmonics": 1}, r"excite, harmonics: expected a whole number from 2 to 50, got 1"),
        ({"velocity": -1.0}, "excite, velocity: expected a number above 0"),
        ({"torque": [1.0, 2.0]}, r"excite, torque: expected one number or 3, got shape \(2,\)"),
        ({"torque": 1.0}, r"found no configuration .* joint\d needs a torque of .* give a higher torque"),
        ({"voltage": 1.0}, r"joint\d needs a voltage of .* V at rest; allowed are -1 to 1"),
        ({"margin": 0.6}, r"excite, margin: .* 0\.45"),
        ({"box": ((0.0, 0.0, 0.0), (1.0, 0.0, 1.0))}, r"excite, box: expected two corners"),
        ({"box": ((9.0, 9.0, 9.0), (9.1, 9.1, 9.1))}, r"hand . is at .* m at rest.*; give a larger box"),
        ({"start": [0.0, 0.0]}, r"excite, start: expected shape \(3,\)"),
        ({"start": [0.0, 0.0, 3.0]}, r"excite, start: joint3 is at 3 rad \(m\) at rest; allowed"),
        ({"noise": 0.0}, r"excite, noise: expected a number above 0"),
        ({"after": "motion.csv"}, r"excite, after: expected a list of plans"),
        ({"starts": 0}, r"excite, starts: expected a whole number from 1 to 100"),
        ({"step": 1e-9}, r"excite, step: .* more than 10000000 rows"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(given: dict[str, Any], message: str) -> None:
    options = {"duration": 2.0, "harmonics": 2, "starts": 1} | given
    with pytest.raises(fa.ForearmError, match=message):
        fa.excite(driven_arm(), **options)


def test_voltages_need_motors() -> None:
    with pytest.raises(fa.InputError, match="excite, voltage: the motor of joint1 is unknown"):
        fa.excite(random_arm(5, 3, drives=False), 2.0, voltage=24.0)


def test_joints_that_cannot_move_are_named() -> None:
    arm = driven_arm()
    for change, said in (
        ({"limits": fa.Limits(0.1, 0.1)}, "a range of 0"),
        ({"max_speed": 0.0}, "a max_speed of 0"),
        ({"max_effort": 0.0}, "a max_effort of 0"),
    ):
        with pytest.raises(fa.InputError, match=rf"joint2 of 'random5' has {said} and cannot move; .*lock"):
            fa.excite(arm.with_joint("joint2", **change), 2.0)


@pytest.mark.slow
def test_limits_of_a_motion_of_many_days_are_checked_at_a_bounded_number_of_times() -> None:
    """So slow that only positions matter: q = c (cos - 1) + s sin is farthest at -c -+ sqrt(c^2 + s^2)."""
    limits = excitation_limits(driven_arm().rigid(), MotionBounds(margin=0.0, acceleration=1e9))
    cosine, sine = 0.02 * np.ones(3), np.array([0.03, -0.01, 0.05])
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    motion = SeriesMotion("fourier", 1e7, middle, np.array([cosine, sine]))
    want = float(((cosine + np.hypot(cosine, sine)) / half).max())
    assert abs(largest_share(limits, motion) - want) < 1e-8 * want  # of a parabola between 200,000 times


@pytest.mark.long
def test_the_panda() -> None:
    plan = fa.excite(fa.load("panda"), 10.0)
    made = excitation(plan)
    assert len(made.names) == 64
    assert made.condition < 40.0
    assert max(use.share for use in made.uses) <= 1.0
    assert made.gain > 2.0
