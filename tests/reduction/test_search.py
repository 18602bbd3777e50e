"""The plan that is found: never dearer than the plain one, always the same, and the arm stays what it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm
from codegen.truths import EXACT
from dynamics.cases import random_state
from reduction.cases import (
    assert_same_dynamics,
    chain_for,
    dh_arm,
    dynamics_of,
    known,
    scaled,
    special_geometry,
)
from sweeps import long

import forearm as fa
from forearm import Arm, Link
from forearm.reduction import search
from forearm.reduction.chain import Chain
from forearm.reduction.plan import PLAIN_PLAN, planned
from forearm.reduction.search import LARGEST, LONGEST, ChainContent, best_plan, cost, search_plan

SPECIAL = special_geometry()
ARMS: dict[str, Arm] = {name: fa.load(name).rigid() for name in ("puma560", "stanford", "panda", "ascher2")}
ARMS |= {
    name: SPECIAL[name]
    for name in ("parallel", "right angles", "as URDF", "gantry and wrist", "RPPR", "PPP", "R", "P")
}
ARMS |= {
    "tree": random_arm(11, 4, "frames", tree=True).rigid(),
    "followers": random_arm(12, 3, "standard", mimic=True).rigid(),
    "tree, followers": random_arm(14, 3, "modified", tree=True, mimic=True).rigid(),
}


PAYS = ("puma560", "panda", "stanford", "gantry and wrist", "tree")  # whose best plan is cheaper


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_the_arm_stays_what_it_is_and_is_not_dearer(name: str) -> None:
    chain = chain_for(ARMS[name])
    made = planned(chain, best_plan(chain))
    assert_same_dynamics(made, ARMS[name])
    costs = [cost(made), cost(planned(chain)), cost(chain)]
    assert costs == sorted(costs)
    if name in PAYS:
        assert len(set(costs)) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "mass"), [(1e-4, 1e-9), (100.0, 1e6), *long([(1e-2, 1e-4), (1e-3, 1e-6)])]
)
@pytest.mark.sweep(first=1)
def test_arms_of_any_size(length: float, mass: float) -> None:
    """From a tenth of a millimetre to a hundred metres: nothing is 0 only because it is small
    in kilograms and metres.
    """
    for name in ("crossing", "as URDF", "puma560-akb"):
        arm = scaled(SPECIAL.get(name) or fa.load(name), length, mass)
        chain = chain_for(arm)
        for made in (planned(chain), planned(chain, best_plan(chain))):
            truth = known(arm, 1)
            for what, value in dynamics_of(made, random_state(arm, 1)).items():
                assert np.abs(value - truth[what]).max() <= EXACT * np.abs(truth[what]).max(), (name, what)


def test_cost_is_that_of_the_traced_inverse_dynamics() -> None:
    """One joint about a level axis: two products and a sum a torque;
    about a vertical one only one product.
    """
    one = dh_arm([(0.0, 0.0, 0.0, 0.0)]).replace(gravity=(0.0, -9.81, 0.0))
    one = one.with_link(Link(name="link1", mass=2.0, com=np.array([0.5, 0.0, 0.0]), inertia=0.1 * np.eye(3)))
    assert cost(planned(chain_for(one))) == (3, 2)  # I qdd + m g c cos q
    assert cost(planned(chain_for(one.replace(gravity=(0.0, 0.0, -9.81))))) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parallel", "tree, followers"])
def test_the_search_finds_the_same_again(name: str) -> None:
    chain = chain_for(ARMS[name])
    assert search_plan(chain) == search_plan(chain) == best_plan(chain)
    assert best_plan(chain_for(ARMS[name])) is best_plan(chain), "kept for every chain with its numbers"
    assert ChainContent.of(chain) == ChainContent.of(chain_for(ARMS[name])), "counting leaves the chain alone"


def test_chains_are_told_apart_by_every_number() -> None:
    chain = chain_for(ARMS["tree, followers"])
    content, s = ChainContent.of(chain), chain.segments[-1]
    others = [
        chain.changed(len(chain.segments) - 1, **{name: value})
        for name, value in (
            ("parent", s.parent - 1), ("revolute", not s.revolute), ("phi", s.alpha), ("alpha", (0.6, 0.8)),
            ("l", s.l + 1e-9), ("axis", s.axis + 1e-9), ("offset", s.offset + 1e-9), ("m", s.m + 1e-9),
            ("h", s.h + 1e-9), ("J", s.J + 1e-9),
        )
    ]  # fmt: skip
    others += [replace(chain, g=chain.g + 1e-9), replace(chain, grounded=chain.grounded + 1e-9)]
    contents = [ChainContent.of(other) for other in others]
    assert content not in contents
    assert len(set(contents)) == len(contents)
    assert content == ChainContent.of(replace(chain))


def largest(chain: Chain) -> float:
    return max(abs(float(x)) for s in chain.segments for x in (s.m, *s.h, *s.J.flat))


def test_moments_do_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """One joint whose cheapest plan has a larger moment than the plain one:
    it is not taken where that is too large.
    """
    chain = chain_for(SPECIAL["R"])
    plain, cheapest = planned(chain), planned(chain, best_plan(chain))
    assert largest(plain) < largest(cheapest) <= LARGEST * largest(plain)
    monkeypatch.setattr(search, "LARGEST", 1.0)
    bounded = planned(chain, search_plan(chain))
    assert largest(bounded) <= largest(plain)
    assert cost(bounded) > cost(cheapest)


def test_long_arms_and_arms_without_joints_keep_the_plain_plan() -> None:
    long = fa.load(f"chain{LONGEST + 1}")
    assert best_plan(chain_for(long)) is PLAIN_PLAN
    assert_same_dynamics(planned(chain_for(long)), long)
    still = Arm(name="still", links=(Link(name="base", mass=1.0),), tree=())
    assert best_plan(chain_for(still)) is PLAIN_PLAN
    shorter = fa.load("chain2")
    assert best_plan(chain_for(shorter)) != PLAIN_PLAN


def test_frames_of_symbols_are_not_turned_or_moved_by_their_numbers() -> None:
    chain = chain_for(SPECIAL["RPPR"])
    free, bound = best_plan(chain), best_plan(chain, frozenset(range(4)))
    assert free.rolled == {3}
    assert set(free.origins.values()) & {"centre"}
    assert not bound.rolled
    assert "centre" not in bound.origins.values()
    assert_same_dynamics(planned(chain, bound), SPECIAL["RPPR"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *long(range(1, 4))])
def test_a_calibrated_arm_loses_no_digits(seed: int) -> None:
    """Lengths and twists a little off 0: dividing by them would make moments of a million times the arm's."""
    rng = np.random.default_rng(seed)
    rows = [
        [j.placement.a, j.placement.alpha, j.placement.d, j.placement.theta]  # type: ignore[union-attr]
        for j in fa.load("panda").tree
    ]
    table = np.array(rows) + rng.normal(0.0, 1e-6, (7, 4))
    panda = fa.load("panda")
    arm = fa.from_dh(
        "calibrated",
        table,
        convention="modified",
        mass=[k.mass for k in panda.links[1:]],
        com=[k.com for k in panda.links[1:]],
        inertia=[k.inertia for k in panda.links[1:]],
    )
    chain = chain_for(arm)
    made = planned(chain, best_plan(chain))
    for number in range(3):
        truth = known(arm, number)
        for what, value in dynamics_of(made, random_state(arm, number)).items():
            assert np.abs(value - truth[what]).max() <= EXACT * np.abs(truth[what]).max(), what
