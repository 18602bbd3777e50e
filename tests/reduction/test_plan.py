"""Whatever a plan chooses, torques, inertia matrix and energies stay what they are;
a plan that does not fit says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from arms import every_kind, random_arm, real_tensor
from codegen.truths import EXACT, assert_close
from reduction.cases import (
    GRAVITIES,
    all_arms,
    assert_same_dynamics,
    chain_for,
    changed_link,
    special_geometry,
    with_gravity,
)

from forearm import Arm, ModelError
from forearm.reduction.chain import Chain
from forearm.reduction.plan import PLAIN_PLAN, ReductionPlan, in_units, planned, rolled, slid
from forearm.reduction.recursion import inverse
from forearm.reduction.regroup import PLAIN, SMALLEST, Choice, regrouped, solve_three
from forearm.reduction.search import SLOTS, SQUARES
from forearm.symbols import Graph, evaluate

SPECIAL = special_geometry()
ARMS: dict[str, Arm] = SPECIAL | {
    f"n{n}, kind {k}": arm.rigid() for n in (1, 3) for k, arm in enumerate(every_kind(n, n))
}
SHORT = (
    "parallel",
    "right angles",
    "as URDF",
    "gantry and wrist",
    "PRR",
    "n3, kind 4",
    "n3, kind 7",
    "crossing",
)
NAMES = {name for names in SLOTS for name in names}


def growth(chain: Chain, plain: Chain) -> float:
    """How much larger moments have become: so many digits go where they cancel."""

    def largest(c: Chain) -> float:
        return max(abs(float(x)) for s in c.segments for x in (s.m, *s.h, *s.J.flat))

    return max(1.0, largest(chain) / largest(plain))


def assert_plan_fits(arm: Arm, plan: ReductionPlan) -> None:
    chain = planned(chain_for(arm), plan)
    assert_same_dynamics(chain, arm, tolerance=EXACT * growth(chain, chain_for(arm)))


def fitting(arm: Arm, plans: list[ReductionPlan]) -> list[ReductionPlan]:
    """Those of the plans that are not refused, each found to leave the arm as it is."""
    taken = []
    for plan in plans:
        try:
            planned(chain_for(arm), plan)
        except ModelError:
            continue
        assert_plan_fits(arm, plan)
        taken.append(plan)
    return taken


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_the_plain_plan_and_frames_that_roll(name: str) -> None:
    """Last frames may be rolled, and angles need not be added along parallel axes."""
    arm = ARMS[name]
    chain = chain_for(arm)
    assert_plan_fits(arm, PLAIN_PLAN)
    for i, s in enumerate(chain.segments):
        if not chain.children()[i] and s.revolute and s.h[1] != 0.0:
            assert rolled(chain, i).segments[i].h[1] == 0.0
            assert_same_dynamics(rolled(chain, i), arm)
            assert_plan_fits(arm, ReductionPlan(rolled=frozenset({i})))
    apart = replace(chain, summed=False)
    assert apart.runs() == list(range(len(chain.segments)))
    assert_same_dynamics(apart, arm)
    assert_same_dynamics(planned(apart), arm)


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_the_plain_plan_under_every_gravity(gravity: str) -> None:
    for name in SHORT:
        assert_plan_fits(with_gravity(ARMS[name], GRAVITIES[gravity]), PLAIN_PLAN)


def test_the_plain_plan_leaves_no_mass_behind_turning_joints() -> None:
    for arm in all_arms(4).values():
        for s in planned(chain_for(arm)).segments:
            if s.revolute:
                assert (s.m, s.h[2], s.J[2, 2]) == (0.0, 0.0, 0.0)
            else:
                assert not s.J.any()


def choices_of(chain: Chain) -> Iterator[tuple[int, Choice]]:
    """Every turning segment with every choice in one place of it."""
    for i, s in enumerate(chain.segments):
        for slot, names in enumerate(SLOTS):
            for name in names:
                choice = [*PLAIN]
                choice[slot] = name
                if s.revolute and (s.parent >= 0 or not name.startswith("before")):
                    yield i, (choice[0], choice[1], choice[2])


def test_what_is_chosen_to_vanish_vanishes() -> None:
    tried = set()
    for arm in (SPECIAL["right angles"], SPECIAL["crossing"], SPECIAL["parallel"]):
        chain = chain_for(arm)
        for i, choice in choices_of(chain):
            try:
                made = regrouped(chain, {i: choice}).segments
            except ModelError:
                continue
            s, before = made[i], made[i - 1]
            values = {"m": s.m, "hz": s.h[2], "Jzz": s.J[2, 2]}
            values |= {"Ixx": s.J[1, 1] + s.J[2, 2], "Iyy": s.J[0, 0] + s.J[2, 2]}
            values |= {"before.hx": before.h[0], "before.hy": before.h[1], "before.Jxz": before.J[0, 2]}
            values |= {"before.Jyz": before.J[1, 2], "before.Jyy": before.J[1, 1]}
            for what in set(choice) & set(values):  # before.hz goes on to the body before that one
                assert values[what] == 0.0, (i, choice, what)
                tried.add(what)
    assert tried == NAMES - {"before.hz"}


def random_plan(chain: Chain, rng: np.random.Generator) -> ReductionPlan:
    """Anything for every segment, fitting or not."""
    count = len(chain.segments)
    choices: dict[int, Choice] = {}
    for i, s in enumerate(chain.segments):
        a, b, c = (
            str(rng.choice([n for n in names if s.parent >= 0 or "before" not in n])) for names in SLOTS
        )
        if s.revolute and rng.random() < 0.5 and len({a, b, c}) == 3:
            choices[i] = (a, b, c)
    some = [i for i in range(count) if rng.random() < 0.4]
    return ReductionPlan(
        choices=choices,
        origins={i: "next" if chain.segments[i].revolute else "centre" for i in some if rng.random() < 0.5},
        rolled=frozenset(i for i in some if not chain.children()[i] and chain.segments[i].revolute),
        unit=(int(rng.integers(count)), int(rng.integers(3))) if rng.random() < 0.3 else None,
        squares={i: str(rng.choice(SQUARES)) for i in some},
        straight=frozenset(some),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_random_plans(name: str) -> None:
    rng = np.random.default_rng(len(name))
    chain = chain_for(ARMS[name])
    taken = fitting(ARMS[name], [random_plan(chain, rng) for _ in range(40)])
    assert len(taken) >= 5, "hardly any plan fits: the test says little"


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SHORT, "RPPR", "n1, kind 0"])
def test_origins_slide(name: str) -> None:
    arm = ARMS[name]
    chain = chain_for(arm)
    for i, s in enumerate(chain.segments):
        v = np.array([0.0, 0.0, 0.17]) if s.revolute else np.array([0.11, -0.23, 0.31])
        made = slid(chain, i, v)
        assert_same_dynamics(made, arm)
        assert_same_dynamics(regrouped(made, {}), arm)
        fitting(arm, [ReductionPlan(origins={i: how}) for how in ("next", "centre")])


def test_origins_slide_where_the_plan_says() -> None:
    chain = chain_for(SPECIAL["crossing"])
    assert chain.segments[2].l[2] != 0.0
    assert planned(chain, ReductionPlan(origins={1: "next"})).segments[2].l[2] == 0.0
    chain = chain_for(SPECIAL["RPPR"])
    made = planned(chain, ReductionPlan(origins={2: "centre"}))
    assert made.segments[2].m > 0.0
    at_centre = slid(chain, 2, np.array(chain.segments[2].h / chain.segments[2].m)).segments[2]
    assert_close(at_centre.h, np.zeros(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parallel", "as URDF", "crossing", "hand on the base"])
def test_other_units_of_length(name: str) -> None:
    arm = SPECIAL[name]
    chain = chain_for(arm)
    lengths = [(i, k) for i, s in enumerate(chain.segments) for k in range(3) if s.l[k] != 0.0]
    assert lengths
    for unit in lengths:
        assert_same_dynamics(in_units(chain, unit), arm)
        made = planned(chain, ReductionPlan(unit=unit))
        assert abs(made.segments[unit[0]].l[unit[1]]) == 1.0
        assert_same_dynamics(made, arm)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["right angles", "parallel", "slides across", "n3, kind 4"])
def test_ways_to_squares(name: str) -> None:
    places = range(len(ARMS[name].moving.bodies))
    for squares in SQUARES:
        for some in (*([i] for i in places), places):
            assert_plan_fits(ARMS[name], ReductionPlan(squares=dict.fromkeys(some, squares)))


@pytest.mark.parametrize("name", ["parallel", "all parallel", "in one line", "first two vertical"])
def test_moments_go_straight_through_runs(name: str) -> None:
    arm = SPECIAL[name]
    chain = chain_for(arm)
    inner = [i for i, first in enumerate(chain.runs()) if first != i]
    assert inner, "no run of parallel axes in this arm"
    for some in ({inner[0]}, {inner[-1]}, set(inner), set(range(arm.n))):
        made = planned(chain, ReductionPlan(straight=frozenset(some)))
        assert {i for i, s in enumerate(made.segments) if s.straight} == some & set(inner)
        assert_same_dynamics(made, arm)


def test_angles_are_added_along_parallel_axes_of_trees() -> None:
    """Two branches that begin parallel to what carries them: each adds its own angle."""
    arm = SPECIAL["parallel"]
    link, joint = arm.links[-1], arm.tree[2]
    twin = replace(joint, name="twin", child="twin_link")
    branched = arm.replace(links=(*arm.links, replace(link, name="twin_link")), tree=(*arm.tree, twin))
    chain = chain_for(branched)
    assert sorted(chain.runs().count(first) for first in set(chain.runs())) == [1, 4]
    assert_same_dynamics(chain, branched)
    assert_plan_fits(branched, ReductionPlan(straight=frozenset(range(branched.n))))


def round_tip(arm: Arm, mass: float = 1.7) -> Arm:
    """The arm with a last link that looks the same however far it turns."""
    body = arm.moving.bodies[-1]
    axis = body.after[:3, :3].T @ body.axis
    point = -body.after[:3, :3].T @ body.after[:3, 3]  # of the axis, in the link's frame
    inertia = 0.02 * np.eye(3) + 0.013 * np.outer(axis, axis)
    return changed_link(arm, arm.links[-1].name, mass=mass, com=point + 0.08 * axis, inertia=inertia)


@pytest.mark.parametrize("name", ["right angles", "right angles, standard", "parallel", "as URDF"])
def test_round_bodies_stand_still(name: str) -> None:
    arm = round_tip(SPECIAL[name])
    made = planned(chain_for(arm))
    assert [s.still for s in made.segments] == [False] * (arm.n - 1) + [True]
    assert_same_dynamics(made, arm)
    graph = Graph()
    q, qd, qdd = ([graph.input(f"{name}[{i}]") for i in range(arm.n)] for name in ("q", "qd", "qdd"))
    inverse(made, q, qd, qdd)
    turned = {
        graph.leaves[graph.left[i]]
        for i in range(len(graph))
        if graph.left[i] in graph.leaves and graph.right[i] < 0
    }
    assert f"q[{arm.n - 1}]" not in turned


def test_a_body_that_is_not_round_does_not_stand_still() -> None:
    arm = round_tip(SPECIAL["as URDF"])
    tip = arm.links[-1]
    rng = np.random.default_rng(3)
    for changes in (
        {"com": tip.com + np.array([1e-9, 0.0, 0.0])},
        {"inertia": real_tensor(rng, tip.mass, np.array([0.1, 0.2, 0.3]))},
    ):
        made = planned(chain_for(changed_link(arm, tip.name, **changes)))
        assert not any(s.still for s in made.segments)


@pytest.mark.parametrize(
    ("name", "plan", "text"),
    [
        ("parallel", ReductionPlan(origins={3: "next"}), "the origin of segment 3 cannot be moved to 'next'"),
        (
            "parallel",
            ReductionPlan(origins={1: "centre"}),
            "the origin of segment 1 cannot be moved to 'centre'",
        ),
        ("RPPR", ReductionPlan(origins={1: "next"}), "the origin of segment 1 cannot be moved to 'next'"),
        # level already
        (
            "all parallel",
            ReductionPlan(origins={1: "next"}),
            "the origin of segment 1 cannot be moved to 'next'",
        ),
        ("parallel", ReductionPlan(rolled=frozenset({1})), "the frame of segment 1 cannot be rolled"),
        ("RRP", ReductionPlan(rolled=frozenset({2})), "the frame of segment 2 cannot be rolled"),
        ("parallel", ReductionPlan(unit=(1, 1)), "this length cannot be the unit"),
        ("RRP", ReductionPlan(unit=(1, 0)), "this length cannot be the unit"),
        (
            "crossing",
            ReductionPlan(choices={2: ("before.hx", "hz", "Jzz")}),
            "does not depend on moments that can be moved",
        ),
        (
            "parallel",
            ReductionPlan(choices={2: ("before.Jxz", "before.hy", "Jzz")}),
            "does not depend on moments that can be moved",
        ),
    ],
)
def test_plans_that_do_not_fit_are_refused(name: str, plan: ReductionPlan, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        planned(chain_for(SPECIAL[name]), plan)


def test_plans_are_followed_by_symbols_too() -> None:
    """The same plan over symbols and over numbers, evaluated at those numbers."""
    arm = random_arm(9, 4, "frames", prismatic=False, fixed=False).rigid()
    chain, graph, given = chain_for(arm), Graph(), dict[str, float]()
    segments = []
    for i, s in enumerate(chain.segments):
        given |= {f"m{i}": float(s.m)} | {f"h{i}{k}": float(s.h[k]) for k in range(3)}
        h = np.array([graph.parameter(f"h{i}{k}") for k in range(3)], dtype=object)
        J = np.empty((3, 3), dtype=object)
        for a in range(3):
            for b in range(a + 1):
                given[f"J{i}{a}{b}"] = float(s.J[a, b])
                J[a, b] = J[b, a] = graph.parameter(f"J{i}{a}{b}")
        segments.append(replace(s, m=graph.parameter(f"m{i}"), h=h, J=J))
    plan = ReductionPlan(
        choices={2: ("m", "before.hy", "Ixx"), 3: ("before.hx", "hz", "Jzz")}, origins={1: "next"}
    )
    over_numbers = planned(chain, plan)
    over_symbols = planned(replace(chain, segments=tuple(segments)), plan)
    for s, number in zip(over_symbols.segments, over_numbers.segments, strict=True):
        found = evaluate(graph, {"m": s.m, "h": s.h, "J": s.J}, given)
        for name in ("m", "h", "J"):
            assert_close(found[name], getattr(number, name), 1e-13)


def test_three_equations() -> None:
    """Rows with zeros, which must be exchanged; over symbols; and rows that cannot be solved well."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        A, b = rng.normal(size=(3, 3)) * (rng.random((3, 3)) < 0.7), rng.normal(size=3)
        A = A + np.eye(3) if abs(np.linalg.det(A)) < 0.05 else A
        assert_close(solve_three(A.tolist(), b.tolist()), np.linalg.solve(A, b), 1e-12 * np.linalg.cond(A))
    A, graph = rng.normal(size=(3, 3)), Graph()
    rows = [[graph.parameter(f"a{i}{j}") for j in range(3)] for i in range(3)]
    given = {f"a{i}{j}": A[i, j] for i in range(3) for j in range(3)}
    found = evaluate(graph, solve_three([[*row] for row in rows], b.tolist()), given)
    assert_close(found, np.linalg.solve(A, b), 1e-12 * np.linalg.cond(A))
    for singular in (A[[0, 0, 2]], A * [0.0, 1.0, 1.0], np.diag([1.0, 0.9 * SMALLEST, 1.0])):
        with pytest.raises(ModelError, match="does not depend"):
            solve_three(singular.tolist(), [1.0, 2.0, 3.0])
