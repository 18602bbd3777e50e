"""The regressor against the torques: times the parameters it gives them, and each column is what
one parameter changes.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import every_kind, random_arm
from dynamics.cases import Array, awkward_states, random_state, rigid_arms, simple_drives, with_kinds

import forearm as fa
from forearm import Arm, InputError, Link, dynamics
from forearm.dynamics.regressor import INERTIA_ENTRIES, PARAMETERS
from forearm.spatial import parallel_axis

# Of the largest torque, or of 1 where all are small: the same sums in another order.
EXACT = 1e-12
SIZES = (1, 2, 4, 6)


def assert_close(found: Array, truth: Array, tolerance: float = EXACT) -> None:
    assert found.shape == truth.shape
    assert float(np.abs(found - truth).max(initial=0.0)) <= tolerance * max(
        1.0, float(np.abs(truth).max(initial=0.0))
    )


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_times_the_parameters_it_is_the_torques(n: int) -> None:
    arms = [*rigid_arms(n).values(), *(arm.rigid() for arm in every_kind(n, n))]
    for arm in arms:
        for seed in (1, 2):
            state = random_state(arm, seed)
            assert_close(
                dynamics.regressor(arm, *state) @ dynamics.inertial_parameters(arm),
                dynamics.inverse(arm, *state),
            )


@pytest.mark.parametrize("kinds", ["P", "PPP", "PRRR", "RRRP", "PRPRP"])
def test_sliding_joints(kinds: str) -> None:
    arm = with_kinds(random_arm(50, len(kinds), "frames"), kinds)
    state = random_state(arm, 3)
    assert_close(
        dynamics.regressor(arm, *state) @ dynamics.inertial_parameters(arm), dynamics.inverse(arm, *state)
    )


def test_states_where_things_break() -> None:
    arm = fa.load("puma560").rigid()
    for state in awkward_states(arm).values():
        assert_close(
            dynamics.regressor(arm, *state) @ dynamics.inertial_parameters(arm), dynamics.inverse(arm, *state)
        )


def test_it_is_of_the_rigid_arm() -> None:
    arm = simple_drives(random_arm(8, 3, "standard"))
    state = random_state(arm, 1)
    assert np.array_equal(dynamics.regressor(arm, *state), dynamics.regressor(arm.rigid(), *state))
    assert_close(
        dynamics.regressor(arm, *state) @ dynamics.inertial_parameters(arm),
        dynamics.inverse(arm.rigid(), *state),
    )


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
        roomy(random_arm(3, 3, "standard", fixed=False).rigid()),
        roomy(with_kinds(random_arm(4, 4, "frames", fixed=False, tree=True), "RPRR")),
        roomy(random_arm(5, 2, "modified", fixed=False, mimic=True, tree=True).rigid()),
        roomy(with_kinds(random_arm(6, 3, "frames", fixed=False), "PRP")),
    ],
    ids=["chain", "tree", "followers", "sliding"],
)
def test_each_column_is_what_its_parameter_changes(arm: Arm) -> None:
    """Torques are linear in the parameters, so the difference is exact, whatever the step."""
    state = random_state(arm, 5)
    Y, before = dynamics.regressor(arm, *state), dynamics.inverse(arm, *state)
    names = dynamics.parameter_names(arm)
    for body in arm.moving.bodies:
        ten = ten_of(arm.link(body.joint.child))
        for k, parameter in enumerate(PARAMETERS):
            changed = ten + 0.3 * np.eye(10)[k]
            there = with_parameters(arm, body.joint.child, changed)
            column = (dynamics.inverse(there, *state) - before) / 0.3
            # torques of 100 cancel
            assert_close(Y[:, names.index(f"{body.joint.child}.{parameter}")], column, 10.0 * EXACT)


def test_parameters_are_about_the_origin_of_the_link() -> None:
    arm = random_arm(3, 3, "standard", fixed=False).rigid()
    expected = np.concatenate([ten_of(arm.link(body.joint.child)) for body in arm.moving.bodies])
    assert_close(dynamics.inertial_parameters(arm), expected, 1e-14)


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


def test_the_regressor_does_not_know_the_parameters() -> None:
    arm = random_arm(3, 3, "standard", fixed=False).rigid()
    state = random_state(arm, 2)
    assert np.array_equal(dynamics.regressor(arm, *state), dynamics.regressor(roomy(arm), *state))


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


def test_shapes() -> None:
    arm = random_arm(2, 2, "frames", tree=True, mimic=True).rigid()
    bodies = len(arm.moving.bodies)
    assert bodies == 4
    states = [random_state(arm, seed) for seed in range(3)]
    q, qd, qdd = (np.array(x) for x in zip(*states, strict=True))
    Y = dynamics.regressor(arm, q, qd, qdd)
    assert Y.shape == (3, 2, 10 * bodies)
    assert Y.dtype == np.float64
    for k, state in enumerate(states):
        assert np.array_equal(Y[k], dynamics.regressor(arm, *state))
    assert dynamics.regressor(arm, q[:0], qd[:0], qdd[:0]).shape == (0, 2, 10 * bodies)


def test_nan_stays_in_its_row() -> None:
    arm = fa.load("stanford").rigid()
    q, qd, qdd = (np.tile(x, (3, 1)) for x in random_state(arm, 1))
    qdd[1, 5] = np.nan
    qd[2, 0] = np.inf
    Y = dynamics.regressor(arm, q, qd, qdd)
    assert np.isfinite(Y[0]).all()
    assert np.isnan(Y[1:]).all()


def test_wrong_shapes_are_refused() -> None:
    arm = fa.load("stanford")
    with pytest.raises(InputError, match=r"qdd: expected a number, .* beside q \(3, 6\), got \(2, 6\)"):
        dynamics.regressor(arm, np.zeros((3, 6)), np.zeros(6), np.zeros((2, 6)))
    with pytest.raises(InputError, match="q: 'stanford' has 6 joints"):
        dynamics.regressor(arm, np.zeros(5), np.zeros(5), np.zeros(5))


def test_an_arm_without_joints() -> None:
    still = Arm(name="still", links=(Link(name="base", mass=1.0),), tree=())
    none = np.zeros(0)
    assert dynamics.regressor(still, none, none, none).shape == (0, 0)
    assert dynamics.inertial_parameters(still).shape == (0,)
    assert dynamics.parameter_names(still) == []
