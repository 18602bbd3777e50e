"""Counts of formulations: that counting changes no result, and the exact figures with
their derivation in words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from counting.counted import values

import forearm as fa
from forearm.counting.cost import FARTHEST, curves, general, general_matrices, per_joint
from forearm.counting.counts import METHODS, Convention, conventional, count, full_cross, run
from forearm.counting.models import GenericChain, chain
from forearm.counting.polynomial import Polynomial, fit
from forearm.dynamics.reference import INVERSE
from forearm.errors import InputError, ModelError
from forearm.model import AT_REST
from forearm.symbols import Counts, evaluate
from forearm.symbols.recorder import Recorder

EVERY = [(function, name) for function, names in METHODS.items() for name in names]
ROUNDING = 1e-12  # relative to the largest entry: the counted run adds in another order than NumPy's products
SOLVED = 1e-10  # accelerations, whose rounding grows with the condition of M
SMALL = [name for name in METHODS["inverse"] if name not in FARTHEST]


def state(n: int, first: float) -> Any:
    return first + 0.23 * np.arange(n)


def float_answer(arm: fa.Arm, function: str, name: str) -> Any:
    """What the reference gives at the state that is counted."""
    n = arm.n
    q = 0.4 + 0.37 * np.arange(n)
    if function == "inverse":
        return fa.dynamics.inverse(arm, q, state(n, 0.31), state(n, 0.57), name)
    if function == "forward":
        return fa.dynamics.forward(arm, q, state(n, 0.31), 1.0 + 0.3 * np.arange(n), name)
    M = fa.dynamics.inertia_matrix(arm, q, name)
    return np.concatenate([M[j, : j + 1] for j in range(n)])


@pytest.mark.parametrize(("function", "name"), EVERY)
@pytest.mark.parametrize("convention", ["standard", "modified", "frames"])
@pytest.mark.sweep
def test_counted_run_gives_the_answer_of_the_float_run(function: str, name: str, convention: Any) -> None:
    arm = random_arm(3, 4, convention).rigid().replace(gravity=(0.0, 0.0, -9.81))
    counted = values(run(arm, name, function), arm)
    expected = float_answer(arm, function, name)
    tolerance = SOLVED if function == "forward" else ROUNDING
    np.testing.assert_allclose(counted, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", METHODS["inverse"])
def test_general_run_gives_the_same_torques_for_every_formulation(name: str) -> None:
    arm = GenericChain("RRPR")
    model = arm.model()
    q, qd, qdd = ([f + s * j for j in range(4)] for f, s in ((0.4, 0.37), (0.31, 0.23), (0.57, 0.23)))
    expected = np.array(INVERSE["newton-euler"](model, q, qd, qdd, AT_REST, None), dtype=float)
    counted = values(run(arm, name), arm)
    np.testing.assert_allclose(counted, expected, rtol=0.0, atol=ROUNDING * np.abs(expected).max())


@pytest.mark.parametrize(
    "options", [{"dense": True}, {"full_cross": True}, {"dense": True, "full_cross": True}]
)
def test_conventions_change_the_count_and_not_the_torque(options: dict[str, bool]) -> None:
    arm = chain(5)
    plain, other = (run(arm, "newton-euler"), run(arm, "newton-euler", convention=Convention(**options)))
    np.testing.assert_allclose(values(other, arm), values(plain, arm), rtol=1e-11)
    assert other.counts.mul > plain.counts.mul


@pytest.mark.parametrize(
    ("name", "crosses"),
    [
        # Each link: 1 in wd, 3 in a, 3 in a_c, 1 in N, 1 of its own and 1 of the next link in n.
        ("newton-euler", 10 * 6 - 1),
        # 1 in wd; in n as above.
        ("modified-newton-euler", 3 * 6 - 1),
        ("gibbs-appell", 3 * 6 - 1),
    ],
)
def test_with_full_cross_each_vector_product_takes_six_and_three(name: str, crosses: int) -> None:
    graph, calls = Recorder(), []
    model = conventional(chain(6).model(), graph, Convention())

    def noted(a: Any, b: Any) -> Any:
        made = full_cross(graph, a, b)
        calls.append(graph.counts(made) - graph.counts([a, b]))
        return made

    INVERSE[name](replace(model, cross=noted), *(graph.inputs(x, 6) for x in ("q", "qd", "qdd")))
    assert calls == [Counts(6, 3)] * crosses
    made = full_cross(graph, np.array([0.0, 0.0, 1.0], dtype=object), graph.inputs("b", 3))
    given = {name: float(name.split()[0]) for name in graph.leaves.values() if " at " in name}
    found = evaluate(graph, made, given | {"b[0]": 2.0, "b[1]": 3.0, "b[2]": 5.0})
    np.testing.assert_array_equal(found.astype(float), [-3.0, 2.0, 0.0])


def test_moving_base_makes_the_first_link_like_any_other() -> None:
    # The difference between six and five links is that between any two;
    # a base at rest lacks what folds at link 1.
    moving = Convention(moving_base=True)
    steps = [count(chain(n), "newton-euler", convention=moving) for n in (1, 2, 5, 6)]
    assert steps[3] - steps[2] == count(chain(6), "newton-euler") - count(chain(5), "newton-euler")
    assert steps[0].mul > count(chain(1), "newton-euler").mul


def test_single_pendulum_by_hand() -> None:
    # tau = (Izz + m (rx^2 + ry^2)) qdd along a vertical axis: gravity does no work. Recursively: w = (0, 0,
    # qd), 1 mul for qd^2; a_c needs x and y: -qd^2 rx - qdd ry and qdd rx - qd^2 ry, 4 mul, 2 add; F 2 mul;
    # N_z = Izz qdd 1 mul; r x F along z 2 mul, 1 add; the sum 1 add.
    got = count(chain(1, aligned=True), "modified-newton-euler")
    assert got == Counts(mul=10, add=4)


@pytest.mark.parametrize(
    ("function", "name", "mul", "add"),
    [
        # Each further link by Newton-Euler, modified DH: w 8/5, wd 10/7, a 26/19 (three vector products
        # and a turn), a_c 18/15, F 3/0, N 24/18, f 8/7 (a turn and a sum), n 20/19 (two vector products,
        # a turn and three sums).
        ("inverse", "newton-euler", "117n - 136", "90n - 115"),
        # lambda 6/9 replaces the vector products: a 17/13, a_c 9/9, N 24/21 by 2.41.
        ("inverse", "modified-newton-euler", "105n - 118", "90n - 109"),
        # Mata's steps: 50/43 outwards, f 3/0, t 15/15, phi 8/7, chi 20/19.
        ("inverse", "gibbs-appell", "96n - 108", "84n - 102"),
        ("inverse", "kane", "119n - 138", "92n - 115"),
        ("inverse", "lagrange-silver", "6n^2 + 177n - 118", "6n^2 + 128n - 94"),
        ("inverse", "lagrange-waters", "304n - 371", "240n - 328"),
        ("inverse", "lagrange-hollerbach-4x4", "271n - 326", "204n - 277"),
        ("inverse", "lagrange-hollerbach", "311n - 387", "225n - 313"),
        ("inverse", "lagrange-recursive-d", "8n^2 + 284n - 354", "6n^2 + 218n - 308"),
        ("inverse", "lagrange-recursive", "25n^2 + 226n - 301", "20n^2 + 158n - 247"),
        ("inertia_matrix", "unit-acceleration", "34n^2 - 69n + 39", "26n^2 - 50n + 24"),
        ("inertia_matrix", "composite-body", "11n^2 + 43n - 95", "7n^2 + 47n - 89"),
        # Half of n^2: s turned 8/7, z turned 8/4, D_jk 7/6: (23, 17)/2 as Mata has them.
        ("inertia_matrix", "gibbs-appell", "(23/2)n^2 + (15/2)n - 36", "(17/2)n^2 + (51/2)n - 65"),
        (
            "inertia_matrix",
            "orthogonal-complement",
            "n^3 + (45/2)n^2 - (99/2)n + 30",
            "n^3 + 15n^2 - 28n + 12",
        ),
        ("forward", "articulated-body", "295n - 427", "255n - 394"),
        ("forward", "conjugate-gradient", "73n^2 + 34n - 154", "58n^2 + 10n - 130"),
    ],
)
def test_general_counts(function: str, name: str, mul: str, add: str) -> None:
    by = general(name, function)
    assert (str(by.mul), str(by.add)) == (mul, add)


@pytest.mark.parametrize("name", SMALL)
def test_polynomials_hold_at_n_that_the_fit_never_saw(name: str) -> None:
    by = general(name)
    got = count(chain(13), name)
    assert (got.mul, got.add, got.div) == (by.mul(13), by.add(13), by.div(13))


@pytest.mark.slow
def test_orders_in_n_are_those_that_the_names_promise() -> None:
    orders = {name: general(name).degree for name in METHODS["inverse"] if name != "lagrange-naive"}
    assert orders["lagrange-uicker"] == 4
    assert orders["lagrange-stored"] == 3
    assert {name for name, order in orders.items() if order == 2} == {
        "lagrange-recursive",
        "lagrange-recursive-d",
        "lagrange-silver",
    }


@pytest.mark.long
def test_naive_is_of_order_five_and_six_joints_take_55734_and_35706() -> None:
    by = general("lagrange-naive")
    assert by.degree == 5
    assert by.at(6) == Counts(55734, 35706)


def test_customised_chain_takes_the_general_count_and_one_addition_a_joint() -> None:
    # chain6 has no special number but for the offset of each angle, which is added to q.
    for name in SMALL:
        got = count(fa.load("chain6"), name)
        assert (got.mul, got.add) == (general(name).mul(6), general(name).add(6) + 6)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["puma560-akb", "stanford", "ur5"])
@pytest.mark.parametrize(("function", "name"), [e for e in EVERY if e[1] not in FARTHEST])
@pytest.mark.sweep
def test_customising_never_costs_more_and_takes_two_turns_a_joint_at_most(
    arm: str, function: str, name: str
) -> None:
    loaded = fa.load(arm)
    got, most = count(loaded, name, function), general(name, function).at(loaded.n)
    if all(j.kind == "revolute" for j in loaded.joints) and arm != "ur5":
        assert got.mul + got.add <= most.mul + most.add
    assert got.trig <= 2 * loaded.n


def test_what_the_results_do_not_need_is_left_out() -> None:
    # The last joint's torque is one component of three; of the first link's forces only
    # two components matter.
    lean, fat = (
        count(chain(6), "gibbs-appell"),
        count(chain(6), "gibbs-appell", convention=Convention(everything=True)),
    )
    assert fat.mul - lean.mul == 16
    assert fat.add - lean.add == 18


def test_one_more_joint_by_its_kind() -> None:
    more = per_joint("newton-euler")
    assert more["revolute"] == Counts(117, 90, trig=2)
    # Sliding: no rate in w (0/1), no acceleration and Coriolis term in wd (2/3), but both in a (2/3, and 2
    # mul for the factor 2), and a lever that grows with q (2/0): 117 - 2 + 4 + 2, 90 - 1 - 3 + 3.
    assert more["prismatic"] == Counts(121, 89)


def test_by_quantity_splits_the_whole_without_rest() -> None:
    result = run(fa.load("puma560-akb"), "gibbs-appell")
    table = result.by_quantity()
    assert sum(table.values(), Counts()) == result.counts
    assert table["", -1] == Counts()
    interior = run(chain(5), "newton-euler").by_quantity()
    assert interior["w", 2] == Counts(8, 5, trig=2)
    assert interior["N", 2] == Counts(24, 18)


def test_bias_drops_what_multiplies_accelerations() -> None:
    by = [count(chain(n), "gibbs-appell", convention=Convention(no_acceleration=True)) for n in (5, 6)]
    assert by[1] - by[0] == Counts(96, 83, trig=2)  # Mata Table 3: 96n, 83n


@pytest.mark.long
@pytest.mark.slow
def test_curves_are_exact_and_end_where_they_must() -> None:
    drawn = {
        name: curve for name, curve in curves(general).items() if name in ("newton-euler", "lagrange-stored")
    }
    assert drawn["newton-euler"][0][-1] == 100
    assert drawn["lagrange-stored"][0][-1] == 30
    exact = count(chain(100), "newton-euler")
    assert drawn["newton-euler"][1][-1] == exact.mul + exact.add


NO_MEANING = {
    "dense": ("forward", "articulated-body"),
    "full_cross": ("forward", "composite-body"),
    "no_acceleration": ("forward", "gibbs-appell"),
    "moving_base": ("inertia_matrix", "composite-body"),
}


def test_what_the_method_does_not_allow_is_refused() -> None:
    """Trees, followers, conventions without meaning there, and names that do not exist."""
    tree, follower = (random_arm(4, 4, "frames", tree=k == 0, mimic=k == 1) for k in range(2))
    assert count(tree, "newton-euler").mul > 0
    assert count(follower, "composite-body", "forward").mul > 0
    refused: list[tuple[Any, str, str, Convention, str]] = [
        (tree, "lagrange-waters", "inverse", Convention(), "method for serial chains"),
        (follower, "articulated-body", "forward", Convention(), "does not take the mimicking joints"),
        (chain(3), "gibbs-apell", "inverse", Convention(), "did you mean 'gibbs-appell'"),
        (chain(3), "newton-euler", "invers", Convention(), "did you mean 'inverse'"),
        (chain(3), "lagrange-waters", "inverse", Convention(dense=True), "not know the convention dense"),
    ]
    for option, (function, name) in NO_MEANING.items():
        convention = Convention(**{option: True})
        refused.append((chain(3), name, function, convention, f"does not know the convention {option}"))
    for arm, name, function, convention, said in refused:
        with pytest.raises((InputError, ModelError), match=said):
            count(arm, name, function, convention)


def test_fit_finds_polynomials_and_where_they_start() -> None:
    assert str(fit(lambda n: n * (n - 1) // 2 + 7)) == "(1/2)n^2 - (1/2)n + 7"
    late = fit(lambda n: 5 * n - 3 if n > 2 else 1)
    assert (str(late), late.start, late(100)) == ("5n - 3", 3, 497)
    assert str(fit(lambda _n: 4)) == "4"
    assert isinstance(general_matrices("lagrange-waters")[0], Polynomial)
    with pytest.raises(ValueError, match="no polynomial"):
        fit(lambda n: 2**n)
