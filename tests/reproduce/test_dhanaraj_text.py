"""What Dhanaraj's prose and listings say in numbers, recomputed, against truths that the
recomputing code does not know.
"""

from __future__ import annotations

import ast
import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import forearm as fa
from forearm.counting.counts import count
from forearm.counting.models import chain
from forearm.drives.transmission import through
from forearm.plots.operations import puma_methods
from forearm.reproduce import friction_study
from forearm.reproduce.catalogue import Item, Result, catalogue, results
from forearm.reproduce.recompute import dhanaraj_programs, dhanaraj_text, friction, mata_counts, schedules
from forearm.reproduce.recompute.dhanaraj import d4_arm
from forearm.symbols.counts import Counts

D4 = json.loads(
    (Path(__file__).parent.parent / "data" / "vectors" / "d4_truth.json").read_text(encoding="utf-8")
)
ITEMS = {item.id: item for item in catalogue("dhanaraj")}
LISTED = 1e-5  # N m: seven digits of up to 60
EQUATION_3_3 = (
    "mu * r / d * (root((0.5*d*fx - ny)**2 + (0.5*d*fy - nx)**2) + root((0.5*d*fx + ny)**2 "
    "+ (0.5*d*fy + nx)**2))"
)
EQUATION_3_4 = "mu / d * (abs(0.5*d*fx - ny) + abs(0.5*d*fy - nx) + abs(0.5*d*fx + ny) + abs(0.5*d*fy + nx))"


def printed(item: Item) -> dict[str, float]:
    return {value.label: float(value.printed) for value in item.values}


def found(id: str) -> dict[str, Result]:
    return {result.label: result for result in results(ITEMS[id])}


def operators(equation: str) -> tuple[int, int]:
    """Products (with quotients and squares) and sums in a formula, by Python's own parser."""
    kinds = [type(node.op) for node in ast.walk(ast.parse(equation)) if isinstance(node, ast.BinOp)]
    return sum(k in (ast.Mult, ast.Div, ast.Pow) for k in kinds), sum(k in (ast.Add, ast.Sub) for k in kinds)


def test_friction_as_written_has_the_operators_of_its_equations() -> None:
    figures = friction.table_3_3()
    for name, equation in (("journal bearing", EQUATION_3_3), ("linear bearing", EQUATION_3_4)):
        counted = figures[f"{name}, multiplications"], figures[f"{name}, additions"]
        assert counted == operators(equation), name


def test_one_case_of_a_gear_has_the_operators_of_horner_s_rule() -> None:
    figures = friction.table_3_3()
    for how, eta in (("linear", "a*x + b"), ("cubic", "((a*x + b)*x + c)*x + e")):
        products, sums = operators(eta)
        # and the load over the rated torque
        assert figures[f"transmission, {how}, multiplications"] == products + 1
        assert figures[f"transmission, {how}, additions"] == sums + 1  # and the break-away torque


@pytest.mark.slow
def test_half_the_coefficient_is_half_the_friction_of_the_joints() -> None:
    study = friction_study.study()
    joints = 0.5 * study.joint
    loads = study.basic + joints
    gears = np.zeros_like(loads)
    for link, gear in enumerate(friction_study.gears()):
        r, etas = np.array(gear.efficiency).T
        eta = np.interp(np.abs(loads[:, link]) / gear.rated_torque, r, etas)
        way = np.sign(study.motion.qd[:, link])
        given = (
            np.where(loads[:, link] * way > 0.0, loads[:, link] / eta, loads[:, link] * eta)
            + way * gear.breakaway
        )
        gears[:, link] = np.where(way == 0.0, 0.0, given - loads[:, link])
    share = 100.0 * np.abs(joints).sum() / np.abs(joints + gears).sum()
    (ours,) = friction.low_friction().values()
    assert ours == pytest.approx(share, rel=1e-9)


def test_quadrants_hold_only_beyond_the_break_away_torque() -> None:
    """The shares are no matter of course: a load below what breaks the gear away takes more torque
    than itself either way.
    """
    assert set(friction.quadrants().values()) == {1.0}
    gear = friction_study.gears()[0]
    assert abs(through(gear, 0.01 * gear.rated_torque, -1.0)) > 0.01 * gear.rated_torque


def test_formulas_of_table_1_1_are_read_as_they_are_meant() -> None:
    figures = dhanaraj_text.table_1_1_sums()
    n = 6
    uicker = 32.5 * n**4 + (86 + 5 / 12) * n**3 + 171.25 * n**2 + (53 + 1 / 3) * n - 128
    assert figures["Uicker/Kahn, multiplications"] == pytest.approx(uicker, abs=1e-9)
    assert figures["Uicker/Kahn, additions"] == pytest.approx(
        25 * n**4 + 199 / 3 * n**3 + 129.5 * n**2 + 127 / 3 * n - 96
    )
    assert figures["Newton-Euler, total"] == 150 * n - 48 + 131 * n - 48
    assert mata_counts.value("412 n - 277", 1) == 135


@pytest.mark.slow
def test_fitted_formulas_pass_through_the_counts_of_six_links() -> None:
    figures = dhanaraj_text.table_1_1_formulas()
    for name, counts in (
        ("Hollerbach 3x3", count(chain(6), "lagrange-hollerbach")),
        ("Newton-Euler", Counts(852, 738)),  # as Luh counts it
    ):
        at_six = [
            sum(figures[f"{name}, {what}, n^{k}"] * 6**k for k in (0, 1))
            for what in ("multiplications", "additions")
        ]
        assert at_six == [counts.mul, counts.add]
    assert dhanaraj_text.orders()["Uicker/Kahn"] == max(int(k[-1]) for k in figures if k.startswith("Uicker"))


@pytest.mark.parametrize("case", D4["cases"], ids=range(len(D4["cases"])))
def test_typed_constants_of_d_4_give_what_the_listing_gives(case: dict[str, list[float]]) -> None:
    """The catalogue's numbers put together as the subroutines do: nothing of ours in between."""
    q, qd = np.array(case["q"]), np.array(case["qd"])
    values = printed(ITEMS["d.4-inertia-11"]) | printed(ITEMS["d.4-velocity-all"])
    rows: dict[str, tuple[list[str], float]] = {
        "ac(1,1)": (dhanaraj_programs.ACC_11, np.array(case["ac"])[0, 0])
    }
    for k, terms in enumerate((dhanaraj_programs.VEL_1, dhanaraj_programs.VEL_2, dhanaraj_programs.VEL_3)):
        rows[f"vc({k + 1})"] = (terms, case["vc"][k])
    for name, (terms, truth) in rows.items():
        inner = sum(
            values.get(f"{name}, {term}", 1.0) * dhanaraj_programs._term(term, q, qd) for term in terms
        )
        assert values[f"{name}, factor"] * inner == pytest.approx(truth, abs=LISTED), name


def test_the_arm_of_d_4_is_the_listing_s_to_its_digits() -> None:
    for case in D4["cases"]:
        assert np.abs(fa.dynamics.inertia_matrix(d4_arm(16.04), case["q"]) - case["ac"]).max() < LISTED
        assert (
            np.abs(fa.dynamics.inverse(d4_arm(16.05), case["q"], case["qd"], np.zeros(3)) - case["vc"]).max()
            < LISTED
        )


def test_the_load_of_d_4_is_ten_kilograms_at_the_end_of_d_1_2_s_forearm() -> None:
    m3, y3, (xx, yy, zz) = (
        dhanaraj_programs.PROGRAM_M3,
        dhanaraj_programs.PROGRAM_Y3,
        dhanaraj_programs.PROGRAM_MOMENTS_3,
    )
    link = d4_arm(m3 + 10.0).link("link3")
    assert link.com[1] == pytest.approx((m3 * y3 - 10.0 * 0.4318) / link.mass, abs=5e-5)
    more = 10.0 * 0.4318**2
    assert np.diag(link.inertia) == pytest.approx([xx + more, yy, zz + 0.83 + more], abs=5e-5)


@pytest.mark.parametrize("id", [f"d.3.{k}-constants" for k in (1, 2, 3, 4)])
def test_constants_of_the_listings_are_ours_to_a_unit_of_their_last_digit(id: str) -> None:
    for label, result in found(id).items():
        exponent = Decimal(result.printed).as_tuple().exponent
        assert isinstance(exponent, int)
        assert result.ours is not None
        assert abs(result.ours - float(result.printed)) < 10.0**exponent, label


def test_parameters_differ_only_where_the_document_errs() -> None:
    wrong = {label for label, result in found("tables-2.1-2.5-2.6").items() if result.verdict == "differs"}
    assert wrong == {f"I{k}{k}, link {i}" for i in (5, 6) for k in "xyz"}
    wrong = {label for label, result in found("tables-2.2-2.7-2.8").items() if result.verdict == "differs"}
    assert wrong == {"alpha / pi, link 3", "y, link 1", "z, link 3"}


@pytest.mark.filterwarnings("ignore::forearm.ModelWarning")
def test_masses_of_stanford_in_his_frames_are_those_decoded_from_his_program() -> None:
    """From Paul's book on one side, from the constants of D.3.2 on the other, which has rotors in Izz."""
    figures, his = dhanaraj_programs.parameters_of_stanford(), fa.load("stanford-dhanaraj6")
    for i in range(2, 7):
        link = his.link(f"link{i}")
        assert figures[f"mass, link {i}"] == link.mass
        assert [figures[f"{axis}, link {i}"] for axis in "xyz"] == pytest.approx(list(link.com), abs=1e-12)
        moments = [figures[f"I{axis}{axis}, link {i}"] for axis in "xyz"]
        if i != 3:  # its Izz and its motor are left out there
            moments[2] += figures[f"I motor, link {i}"]
            assert moments == pytest.approx(list(np.diag(link.inertia)), abs=1e-12)


def test_idle_processors_are_what_the_tasks_leave() -> None:
    figures, loads = schedules.idle(), schedules.loads()
    assert figures["idle, %"] == pytest.approx(100.0 * (1.0 - loads["tasks, general arm"] / (13 * 27)))
    assert figures["forward layers, 2n + 2"] + figures["backward layers, 2n + 1"] == 27
    steps = schedules.steps_of_link()
    # T3 is in two
    assert (
        steps["forward"] + steps["backward"] == sum(v for k, v in steps.items() if k.startswith("step")) - 1
    )


def test_times_follow_from_table_4_8() -> None:
    figures = dhanaraj_text.machine_times()
    assert figures["Lagrange on an 8086, ms"] == pytest.approx(117819 * 21.06 / 468)
    assert dhanaraj_text.sampling()["samples a second for 10 Hz"] == pytest.approx(20 * 10)
    assert math.isclose(figures["samples a second"], 1.0 / 3.65e-3)


@pytest.mark.slow
def test_bars_of_figure_2_9_are_the_counts_of_generated_code_and_of_the_table() -> None:
    methods = puma_methods()
    counts = fa.generate(fa.load("puma560-dhanaraj6"), "inverse_dynamics").counts
    assert methods["generated code, anew"] == (counts.mul, counts.add)
    assert sum(methods["I (Dhanaraj), printed"]) == 360
    assert len([name for name in methods if name.endswith("printed")]) == 6
