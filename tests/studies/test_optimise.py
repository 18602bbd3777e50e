"""Optima against closed forms (inertia matching, balance), an active bound by bisection, exhaustive grids."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from one_joint import MASS, beam, block

import forearm as fa
from forearm import Arm, Motor
from forearm.studies.optimisation.goal import constraint_of, constraints_of
from forearm.studies.optimisation.optimum import Optimum
from forearm.studies.optimisation.search import optimise
from forearm.studies.optimisation.space import Space
from forearm.studies.rows.evaluation import RowEvaluation
from forearm.studies.sampling.distributions import Choice, LogUniform, Normal, Uniform
from forearm.studies.study import Study
from forearm.studies.variable import Variable
from forearm.trajectories import MotionLimits, bang_bang

Floats = NDArray[np.float64]
ROTOR = 0.0023
MOTOR = Motor(gear_ratio=-9.0, rotor_inertia=ROTOR, torque_constant=0.31, resistance=1.7)
MATCHED = math.sqrt(MASS / ROTOR)  # where half of the effort moves the rotor
SHARP = 1e-5  # a minimum is flat: a figure to 1e-10 says where it is to its root
EXACT = 1e-9  # what the last steps leave of bounds
CATALOGUE: dict[str, Any] = {
    "small": {"torque_constant": 0.11, "resistance": 1.9, "rotor_inertia": 4.1e-5, "mass": 0.3},
    "middle": {"torque_constant": 0.19, "resistance": 0.8, "rotor_inertia": 1.7e-4, "mass": 0.9},
    "large": {"torque_constant": 0.33, "resistance": 0.5, "rotor_inertia": 9.3e-4, "mass": 2.2},
}


def slide() -> Any:
    return bang_bang([-0.4], [0.0], [0.7], [0.0], MotionLimits(acceleration=2.3, velocity=1.1))


def driven(vary: Any, figures: Any, arm: Arm | None = None, **more: Any) -> Study:
    given = {"motion": slide(), "step": 0.02} | more
    return Study("block", block(motor=MOTOR) if arm is None else arm, vary, figures, **given)


def geared(**more: Any) -> Study:
    gear = {"way.motor.gear_ratio": LogUniform(2.0, 400.0)}
    return driven(gear, ["required_rms_current", "required_peak_voltage", "required_copper_loss"], **more)


def volts(study: Study, N: float) -> float:
    """The largest voltage of the block's motor with this gear, by hand."""
    motion = study.motions["motion"]["one"]
    i = (MASS + N * N * ROTOR) * motion.qdd / (N * 0.31)
    return float(np.abs(1.7 * i + 0.31 * N * motion.qd).max())


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["required_rms_current", "required_rms_current.way", "required_copper_loss"])
def test_gear_of_an_inertia_matches_it(goal: str) -> None:
    found = optimise(geared(), minimise=goal)
    assert found.feasible
    assert found.values["way.motor.gear_ratio"] == pytest.approx(MATCHED, rel=SHARP)
    qdd = geared().motions["motion"]["one"].qdd[:-1]
    least = 2.0 * math.sqrt(MASS * ROTOR) / 0.31 * float(np.sqrt(np.mean(qdd * qdd)))
    assert found.figures["required_rms_current.way"] == pytest.approx(least, rel=EXACT)


def test_greatest_is_at_the_end_where_it_grows_most() -> None:
    """(m + N^2 J) / N at N = 400 is more than at N = 2."""
    assert (MASS + 160000.0 * ROTOR) / 400.0 > (MASS + 4.0 * ROTOR) / 2.0
    found = optimise(geared(), maximise="required_rms_current", evaluations=1000)
    assert found.values["way.motor.gear_ratio"] == pytest.approx(400.0, rel=EXACT)
    assert [value for _, value in found.history] == sorted(value for _, value in found.history)


def test_coordinates_are_shares_of_ranges_and_places_of_choices() -> None:
    vary = {
        "way.motor.gear_ratio": LogUniform(2.0, 200.0),
        "block.mass": Uniform(1.0, 3.0),
        "payload.mass": Choice((0.9, 0.3, 0.6), (1.0, 1.0, 0.0)),
        "payload.com.x": [0.2],
    }
    space = Space(driven(vary, "required_rms_torque"))
    values = space.values(np.array([[0.5, 0.25, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]))
    assert values["way.motor.gear_ratio"] == pytest.approx([20.0, 2.0])
    assert values["block.mass"] == pytest.approx([1.5, 3.0])
    assert values["payload.mass"].tolist() == [0.9, 0.3]  # in order, without what has no weight
    assert space.last.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert math.isinf(space.combinations)
    one = {name: x[0] for name, x in values.items()}
    assert space.point(one) == pytest.approx([0.5, 0.25, 1.0, 0.0])


@pytest.mark.slow
def test_active_bound_is_reached_from_within() -> None:
    study = geared()
    most = 0.75 * volts(study, MATCHED)
    found = optimise(study, "required_copper_loss", subject_to={"required_peak_voltage": (None, most)})
    low, high = 0.5 * MATCHED, MATCHED  # between them the voltage grows with the gear, and the loss falls
    assert volts(study, low) < most
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if volts(study, middle) < most else (low, middle)
    assert found.values["way.motor.gear_ratio"] == pytest.approx(low, rel=1e-7)
    voltage = found.figures["required_peak_voltage.way"]
    assert most * (1.0 - 1e-7) < voltage <= most
    assert found.feasible
    assert found.missed == {"required_peak_voltage.way": 0.0}


@pytest.mark.slow
def test_counterweight_balances_a_beam() -> None:
    """Held level, a beam of 1.7 kg at 0.3 m is balanced by 0.3 * 1.7 kg m on the other side."""
    still = np.zeros((2, 1))
    vary = {"counterweight.block.mass": Uniform(0.05, 9.0), "counterweight.block.com.x": Uniform(-0.2, -0.15)}
    study = driven(vary, "required_rms_torque", beam(), motion=(still, still, still))
    found = optimise(study, "required_rms_torque", evaluations=4000)
    moment = float(found.values["counterweight.block.mass"]) * -float(
        found.values["counterweight.block.com.x"]
    )
    assert moment == pytest.approx(MASS * 0.3, rel=SHARP)
    assert abs(fa.dynamics.inverse(found.arm, [0.0], [0.0], [0.0])[0]) < SHARP


@pytest.mark.slow
def test_choices_are_those_of_an_exhaustive_grid() -> None:
    """Also where there are too many for all to be computed, and differential evolution searches."""
    ratios = [float(x) for x in np.geomspace(3.0, 300.0, 90)]
    vary = {"way.motor": [*CATALOGUE], "way.motor.gear_ratio": ratios}
    study = driven(
        vary, ["required_energy", "required_peak_current", "motor_mass"], design="grid", motors=CATALOGUE
    )
    every = RowEvaluation(study).rows(0, study.rows)
    within = (every["required_peak_current.way"] <= 1.5) & (every["motor_mass"] <= 1.0)
    assert 0 < within.sum() < study.rows
    best = np.flatnonzero(within)[int(np.argmin(every["required_energy"][within]))]
    bounds = {"required_peak_current": (None, 1.5), "motor_mass": (None, 1.0)}
    for evaluations, said in ((1000, "All 270 combinations"), (250, "The search")):
        found = optimise(study, "required_energy", subject_to=bounds, evaluations=evaluations)
        assert found.message.startswith(said)
        assert found.values["way.motor"] == every["way.motor"][best]
        assert found.values["way.motor.gear_ratio"] == every["way.motor.gear_ratio"][best]


@pytest.mark.slow
def test_arm_of_an_optimum_has_what_was_chosen() -> None:
    """Its currents along the motion, from its own inverse dynamics, are the figures."""
    limits = {"max_voltage": 24.0, "max_current": 7.5, "continuous_current": 3.0}
    motors = {name: motor | limits for name, motor in CATALOGUE.items()}
    vary = {
        "way.motor": ["small", "large"],
        "ratio": Variable("ratio", Uniform(0.5, 4.0), of=("way.motor.gear_ratio",), factor=True),
        "payload.mass": [0.4],
    }
    study = driven(vary, ["required_rms_current", "required_heat_margin"], motors=motors)
    found = optimise(study, "required_rms_current", evaluations=2000)
    motor = found.arm.joints[0].motor
    assert motor is not None
    assert (motor.max_voltage, motor.max_current) == (24.0, 7.5)
    assert motor.gear_ratio == pytest.approx(-9.0 * float(found.values["ratio"]))
    assert motor.torque_constant is not None
    assert motor.torque_constant == CATALOGUE[str(found.values["way.motor"])]["torque_constant"]
    motion = study.motions["motion"]["one"]
    tau = fa.compile(found.arm).inverse_dynamics(motion.q, motion.qd, motion.qdd)[:-1, 0]
    current = tau / (motor.gear_ratio * motor.torque_constant)
    rms = float(np.sqrt(np.mean(current * current)))
    assert found.value == pytest.approx(rms, rel=EXACT)
    assert found.figures["required_heat_margin"] == pytest.approx(1.0 - rms / 3.0, rel=EXACT)


@pytest.mark.slow
def test_figures_of_simulations_are_optimised_too() -> None:
    """The error of a stiff enough law falls with its bandwidth, so that the bound on its torque decides."""
    study = driven(
        {"controller.bandwidth": LogUniform(3.0, 60.0), "start.way": [0.05]},
        ["tracking_error", "peak_torque"],
        law="computed_torque",
        step=2e-3,
    )
    found = optimise(study, "tracking_error", subject_to={"peak_torque": (None, 90.0)}, evaluations=400)
    assert 90.0 * (1.0 - 1e-3) < found.figures["peak_torque.way"] <= 90.0
    free = optimise(study, "tracking_error", evaluations=400)
    assert free.value < found.value
    assert free.figures["peak_torque.way"] > 90.0


@pytest.mark.slow
def test_same_seed_same_search() -> None:
    told: list[tuple[float, float, str]] = []
    bounds = {"required_peak_voltage": (None, 9.0)}
    one, two, other = (
        optimise(geared(), "required_copper_loss", subject_to=bounds, evaluations=800, seed=seed, progress=p)
        for seed, p in ((3, None), (3, lambda *now: told.append(now)), (4, None))
    )
    assert one.to_json() == two.to_json() != other.to_json()
    assert one.value == pytest.approx(other.value, rel=1e-7)
    assert told[0][1] == 800
    assert told[-1][2] == f"best {two.value:.6g}"
    assert [x[0] for x in told] == sorted(x[0] for x in told)
    values = [value for _, value in two.history]
    assert values == sorted(values, reverse=True)
    assert values[-1] == two.value


@pytest.mark.slow
def test_start_is_in_the_first_population() -> None:
    start = {"way.motor.gear_ratio": MATCHED}
    found = optimise(geared(), "required_copper_loss", start=start, evaluations=50, polish=False)
    assert found.values["way.motor.gear_ratio"] == pytest.approx(MATCHED, rel=1e-12)


@pytest.mark.slow
def test_what_cannot_be_met_says_by_how_much() -> None:
    found = optimise(
        geared(),
        maximise="required_copper_loss",
        subject_to={"required_peak_voltage": (None, 0.1)},
        evaluations=400,
    )
    study = geared()
    least = min(volts(study, N) for N in np.geomspace(2.0, 400.0, 2000))
    assert not found.feasible
    assert found.history == ()
    assert found.missed["required_peak_voltage.way"] == pytest.approx(least - 0.1, rel=1e-3)
    assert found.message.startswith("No row met every constraint; widen")
    text = str(found)
    assert "not feasible: the nearest found" in text
    assert "<= 0.1" in text
    assert json.loads(json.dumps(found.to_json()))["feasible"] is False


def test_rows_that_are_no_numbers_are_not_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = RowEvaluation.figures

    def some(self: RowEvaluation, values: Any) -> dict[str, Floats]:
        made = figures(self, values)
        return {name: np.where(values["way.motor.gear_ratio"] < share, np.nan, x) for name, x in made.items()}

    monkeypatch.setattr(RowEvaluation, "figures", some)
    share = 1.4 * MATCHED
    found = optimise(geared(), "required_rms_current", evaluations=2000)
    assert found.feasible
    assert found.values["way.motor.gear_ratio"] == pytest.approx(share, rel=1e-3)
    share = math.inf
    found = optimise(geared(), "required_rms_current", evaluations=100)
    assert not found.feasible
    assert found.message == "No row had finite figures"
    assert found.to_json()["value"] is None


def test_report_names_variables_figures_and_bounds() -> None:
    found: Optimum = optimise(
        geared(), "required_copper_loss", subject_to={"required_peak_voltage": (1.0, 900.0)}, evaluations=200
    )
    text = found.table()
    assert text.startswith(f"block: minimise required_copper_loss = {found.value:.6g} J, feasible")
    for part in ("way.motor.gear_ratio", "2 to 400", "1 to 900", "least", f"{found.evaluations} rows"):
        assert part in text
    assert repr(found).startswith("<Optimum of 'block': required_copper_loss = ")
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "optimise: expected one of minimise and maximise, got neither"),
        ({"minimise": "required_energy", "maximise": "required_energy"}, "minimise and maximise, got both"),
        ({"minimise": "copper"}, "optimise, minimise: the study has no figure 'copper'"),
        ({"subject_to": {"energy": (0, 1)}}, "optimise, subject_to, 'energy': the study has no figure"),
        ({"subject_to": {"required_copper_loss": 3}}, "expected (low, high), None for no bound"),
        ({"subject_to": {"required_copper_loss": (2, 1)}}, "expected low below high, got 2 and 1."),
        ({"evaluations": 3}, "optimise, evaluations: expected a whole number from 50 to 1000000, got 3."),
        ({"start": {}}, "optimise, start: expected all variables, way.motor.gear_ratio is missing."),
        ({"start": {"gear": 3}}, "optimise, start: expected one of way.motor.gear_ratio, got 'gear'"),
        (
            {"start": {"way.motor.gear_ratio": 1.0}},
            "optimise, start, way.motor.gear_ratio: must be at least 2",
        ),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], said: str) -> None:
    aim = {} if not given or "maximise" in given else {"minimise": "required_copper_loss"}
    with pytest.raises(fa.ForearmError) as error:
        optimise(geared(), **{**aim, **given})
    assert said in str(error.value)


def test_what_has_no_bounds_is_refused() -> None:
    study = driven({"block.mass": Normal(1.7, 0.1)}, "required_rms_torque", beam())
    said = "optimise, block.mass: expected a bounded distribution, but Normal ranges from -inf to inf"
    with pytest.raises(fa.InputError, match=said):
        optimise(study, "required_rms_torque")


def test_figure_of_several_joints_is_named_with_one() -> None:
    arm = fa.load("ascher2")
    still = np.zeros((2, arm.n))
    study = Study(
        "two", arm, {"gravity.z": Uniform(-10, 10)}, "required_rms_torque", motion=(still, still, still)
    )
    names = ", ".join(f"required_rms_torque.{joint.name}" for joint in arm.joints)
    with pytest.raises(fa.InputError, match=f"has one value per joint; name one of {names}"):
        optimise(study, "required_rms_torque")


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(fa.InputError, match=r"optimise: requires SciPy.*pip install 'forearm\[optimise\]'"):
        optimise(geared(), "required_copper_loss")


def test_constraints_are_read_from_texts() -> None:
    assert constraint_of("voltage_margin>=0.05") == ("voltage_margin", 0.05, None)
    assert constraint_of(" peak_torque.joint2 < 8e1 ") == ("peak_torque.joint2", None, 80.0)
    assert constraint_of("-1<=work<=2") == constraint_of("2 >= work >= -1") == ("work", -1.0, 2.0)
    assert constraints_of(["a>=1", "b<=2", "a<=3"]) == {"a": (1.0, 3.0), "b": (None, 2.0)}
    for text in ("voltage_margin", "a=3", "a<b", "3<4", "1<=a>=2", "1<=a", "<=3", ">=1<=2"):
        with pytest.raises(fa.InputError, match="constraint: expected"):
            constraint_of(text)
    with pytest.raises(fa.InputError, match="constraint, a: expected one lower bound, got 1 and 2"):
        constraints_of(["a>=1", "a>=2"])
