"""The regressor against the torques: times the parameters it gives them, and each column is what
one parameter changes.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import Array, awkward_states, random_state, rigid_arms, simple_drives, with_kinds

import forearm as fa
from forearm import Arm, Link, dynamics
from forearm.dynamics.regressor import INERTIA_ENTRIES, PARAMETERS
from forearm.spatial import parallel_axis

# Of the largest torque, or of 1 where all are small: the same sums in another order.
EXACT = 1e-12


def assert_close(found: Array, truth: Array, tolerance: float = EXACT) -> None:
    assert found.shape == truth.shape
    assert float(np.abs(found - truth).max(initial=0.0)) <= tolerance * max(
        1.0, float(np.abs(truth).max(initial=0.0))
    )


ARMS = {f"n{n}, {kind}": arm for n in (1, 3) for kind, arm in rigid_arms(n).items()}
ARMS |= {kinds: with_kinds(random_arm(50, len(kinds), "frames"), kinds) for kinds in ("PPP", "PRRR", "RRRP")}


@pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS.keys())
def test_times_the_parameters_it_is_the_torques(arm: Arm) -> None:
    """Also where states are awkward, and whatever the arm's own parameters are."""
    states = [random_state(arm, 1), *awkward_states(arm).values()][:: 3 if arm.n == 1 else 1]
    q, qd, qdd = (np.array(rows) for rows in zip(*states, strict=True))
    Y, pi = dynamics.regressor(arm, q, qd, qdd), dynamics.inertial_parameters(arm)
    assert Y.dtype == np.float64
    for rows, state in zip(Y, states, strict=True):
        assert_close(rows @ pi, dynamics.inverse(arm, *state))
    assert np.array_equal(Y[0], dynamics.regressor(roomy(arm), *states[0]))
    assert dynamics.regressor(arm, q[:0], qd[:0], qdd[:0]).shape == (0, arm.n, len(pi))


def test_it_is_of_the_rigid_arm() -> None:
    arm = simple_drives(random_arm(8, 3, "standard"))
    state = random_state(arm, 1)
    Y = dynamics.regressor(arm, *state)
    assert np.array_equal(Y, dynamics.regressor(arm.rigid(), *state))
    assert_close(Y @ dynamics.inertial_parameters(arm), dynamics.inverse(arm.rigid(), *state))


def roomy(arm: Arm) -> Arm:
    """The arm with inertias so large that any parameter may change by a good part and
    every link stays a body.
    """
    rng = np.random.default_rng(7)
    links = []
    for link in arm.links:
        products = rng.uniform(0.02, 0.08, (3, 3))
        inertia = np.diag(rng.uniform(2.0, 3.0, 3)) + products + products.T
        links.append(Link(name=link.name, mass=2.0 + link.mass, com=link.com, inertia=inertia))
    return arm.replace(links=tuple(links))


def with_parameters(arm: Arm, link: str, ten: Array) -> Arm:
    """The arm with a link of these ten parameters about its origin."""
    m, h, about = ten[0], ten[1:4], np.zeros((3, 3))
    for value, (a, b) in zip(ten[4:], INERTIA_ENTRIES, strict=True):
        about[a, b] = about[b, a] = value
    return arm.with_link(Link(name=link, mass=m, com=h / m, inertia=about - parallel_axis(m, h / m)))


def ten_of(link: Link) -> Array:
    return np.array(
        [link.mass, *(link.mass * link.com), *(link.inertia_about_origin[entry] for entry in INERTIA_ENTRIES)]
    )


@pytest.mark.parametrize(
    "arm",
    [
        roomy(random_arm(3, 2, "standard", fixed=False).rigid()),
        roomy(with_kinds(random_arm(4, 3, "frames", fixed=False, tree=True), "PRP")),
        roomy(random_arm(5, 2, "modified", fixed=False, mimic=True, tree=True).rigid()),
    ],
    ids=["chain", "tree", "followers"],
)
def test_each_column_is_what_its_parameter_changes(arm: Arm) -> None:
    """About the origin of its link. Torques are linear in the parameters, so the difference is exact,
    whatever the step.
    """
    state = random_state(arm, 5)
    Y, before = dynamics.regressor(arm, *state), dynamics.inverse(arm, *state)
    names, pi = dynamics.parameter_names(arm), dynamics.inertial_parameters(arm)
    for body in arm.moving.bodies:
        ten = ten_of(arm.link(body.joint.child))
        for k, parameter in enumerate(PARAMETERS):
            there = with_parameters(arm, body.joint.child, ten + 0.3 * np.eye(10)[k])
            column = (dynamics.inverse(there, *state) - before) / 0.3
            at = names.index(f"{body.joint.child}.{parameter}")
            assert pi[at] == pytest.approx(ten[k], rel=1e-14, abs=1e-14)
            assert_close(Y[:, at], column, 10.0 * EXACT)  # torques of 100 cancel


def test_links_on_fixed_joints_belong_to_the_body_that_carries_them() -> None:
    arm = random_arm(9, 3, "frames").rigid()
    assert len(arm.links) > arm.n + 1
    state = random_state(arm, 2)
    for link in arm.links:
        heavier = arm.with_link(
            Link(name=link.name, mass=link.mass + 0.7, com=link.com, inertia=link.inertia)
        )
        change = dynamics.inertial_parameters(heavier) - dynamics.inertial_parameters(arm)
        index = arm.moving.frames[link.name][0]
        assert [k for k in range(arm.n) if change[10 * k] > 0.1] == ([] if index < 0 else [index])
        difference = dynamics.inverse(heavier, *state) - dynamics.inverse(arm, *state)
        assert_close(dynamics.regressor(arm, *state) @ change, difference, 10.0 * EXACT)


def test_names() -> None:
    arm = fa.load("puma560")
    names = dynamics.parameter_names(arm)
    assert names[:10] == [
        f"link1.{p}" for p in ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
    ]
    assert names[-1] == "link6.Izz"
    assert len(names) == len(dynamics.inertial_parameters(arm)) == 60
    arm = random_arm(2, 2, "frames", tree=True, mimic=True)
    assert dynamics.parameter_names(arm)[::10] == [f"{body.joint.child}.m" for body in arm.moving.bodies]
