"""Base parameters: as many as the regressor has rank, and enough for every torque;
what they leave out no torque shows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from arms import STYLES, Array, random_arm
from codegen.truths import assert_close
from dynamics.cases import random_state, simple_drives
from reduction.cases import GRAVITIES, dh_arm, nearly_parallel, parallelogram, special_geometry, with_gravity
from sweeps import long

import forearm as fa
from forearm import Arm, Link, dynamics
from forearm.model import model_of
from forearm.reduction import base
from forearm.reduction.base import MOST_CHECKED, base_parameters, silent_changes

SPECIAL = special_geometry()
# Singular values of columns of length 1: the least of real ones seen is 1e-4 of the largest,
# the largest of rounding 1e-14.
RANK = 1e-9
GAP = 1e2  # no singular value within so many times of RANK, so that there is no doubt about the rank
ROUNDING = 1e-12  # of the largest column: what should be 0 and was computed
SILENT = 1e-12  # of the change's and the regressor's largest entries: a torque that should not be there
SIX_DIGITS = 5e-6  # relative: half a unit of the sixth digit of a coefficient that begins with 1
LITERATURE = {
    "puma560": 36,  # Gautier and Khalil
    "puma560-akb": 36,
    "ur5": 36,
    "ur10": 36,
    "panda": 43,  # Gaz, Cognetti, Oliva, Robuffo Giordano, De Luca 2019
    "ascher2": 6,
}


def samples(arm: Arm, count: int, seed: int = 23) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [scale * rng.uniform(-1.0, 1.0, (count, arm.n)) for scale in (3.0, 2.0, 5.0)]


def rank_of(arm: Arm) -> int:
    """The rank of the regressor over random states, by singular values."""
    size = 10 * len(arm.moving.bodies)
    Y = dynamics.regressor(arm, *samples(arm, 10 + 2 * size // arm.n)).reshape(-1, size)
    lengths = np.linalg.norm(Y, axis=0)
    real = lengths > ROUNDING * lengths.max()
    values = np.linalg.svd(Y[:, real] / lengths[real], compute_uv=False)
    assert not ((values > values[0] * RANK / GAP) & (values < values[0] * RANK * GAP)).any(), (
        "the rank is in doubt"
    )
    return int((values > RANK * values[0]).sum())


def assert_right(arm: Arm) -> None:
    """As many as the rank, none of them idle, the torques of the arm."""
    made = base_parameters(arm)
    assert len(made) == made.rank == rank_of(arm)
    assert len(made.names) == len(made.labels) == len(made.values) == len(made.columns) == len(made)
    q, qd, qdd = samples(arm, 5)
    torques = np.einsum("bij,j->bi", made.regressor(q, qd, qdd), made.values)
    assert_close(torques, dynamics.inverse(arm.rigid(), q, qd, qdd))
    assert_close(made.of(made.standard), made.values)
    assert np.array_equal(made.matrix[:, list(made.columns)], np.eye(len(made)))


@pytest.mark.slow
@pytest.mark.parametrize("name", LITERATURE)
def test_numbers_of_the_literature(name: str) -> None:
    arm = fa.load(name)
    assert len(arm.base_parameters()) == LITERATURE[name]
    assert repr(arm.base_parameters()).startswith(f"<BaseParameters of {name!r}: {LITERATURE[name]} of ")
    assert_right(arm)


@pytest.mark.slow
@pytest.mark.parametrize("block", [0, *long(range(1, 12))])
def test_many_random_arms(block: int) -> None:
    """Chains and trees, sliding, fixed and following joints, gravity or none:
    240 arms, some nearly special by chance.
    """
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        rng = np.random.default_rng(seed)
        style, chance = STYLES[int(rng.integers(3))], rng.random(4)
        arm = random_arm(
            seed,
            int(rng.integers(1, 5)),
            style,
            prismatic=bool(chance[0] < 0.6),
            tree=bool(chance[1] < 0.5),
            fixed=bool(chance[2] < 0.5),
            mimic=bool(chance[3] < 0.4),
        )
        assert_right(with_gravity(arm.rigid(), list(GRAVITIES.values())[seed % 4]))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SPECIAL if "mass" not in name])
def test_special_geometry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing follows anything the closed form is whole: without the numerical rank as many are found.
    What no torque shows moves neither a torque nor a base parameter.
    """
    arm = SPECIAL[name]
    assert_right(arm)
    made, Y = base_parameters(arm), dynamics.regressor(arm, *samples(arm, 6))
    for vector in silent_changes(model_of(arm)):
        assert np.abs(Y @ vector).max() <= SILENT * np.abs(vector).max() * np.abs(Y).max()
        assert_close(made.of(made.standard + 0.7 * vector), made.values)
    monkeypatch.setattr(base, "MOST_CHECKED", 0)
    closed = base_parameters.__wrapped__(arm)
    assert (closed.rank, closed.completed, len(closed)) == (None, 0, made.rank)


# where the rank is in doubt
@pytest.mark.slow
@pytest.mark.parametrize("gravity", [name for name in GRAVITIES if name != "nearly down"])
def test_every_gravity(gravity: str) -> None:
    for name in ("first two vertical", "cylinder", "gantry and wrist", "R", "PRP"):
        assert_right(with_gravity(SPECIAL[name], GRAVITIES[gravity]))
    assert_right(with_gravity(random_arm(31, 3, "frames", tree=True).rigid(), GRAVITIES[gravity]))


@pytest.mark.parametrize(
    ("name", "gravity", "expected"),
    [
        ("R", "none", 1),
        ("R", "tilted", 3),
        ("P", "none", 1),
        ("P", "tilted", 1),
        ("PPP", "tilted", 3),
        ("cylinder", "down", 2),
        ("cylinder", "tilted", 4),
    ],
)
def test_numbers_that_can_be_counted_by_hand(name: str, gravity: str, expected: int) -> None:
    """A pivot shows its moment, and across gravity two first moments; a slide its mass;
    three slides three masses.
    """
    assert len(base_parameters(with_gravity(SPECIAL[name], GRAVITIES[gravity]))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("off", [1e-2, 3e-4, 6e-5, 3e-6, 1e-9])
def test_twists_that_are_nearly_right_angles(off: float) -> None:
    """The first axis lies along y of link 1 but for a little:
    Izz shows, but so little that it must not be what is kept.
    """
    for kinds in ("RPPP", "RRR", "R"):
        rows = [
            (0.3, math.pi / 2.0 + off, 0.2, 0.1),
            (0.2, 0.7, 0.1, 0.4),
            (0.1, -0.9, 0.2, 0.3),
            (0.2, 0.4, 0.1, 0.2),
        ]
        assert_right(dh_arm(rows[: len(kinds)], kinds, "standard"))


def nearly_special(off: float) -> dict[str, Arm]:
    """Axes that are nearly parallel, slides that are nearly along an axis, gravity nearly along it,
    lines nearly the same.
    """
    return {
        "skewed": nearly_parallel(off, skewed=True),
        "parallel": dh_arm([(0.1, 0.4, 0.2, 0.3), (0.3, off, 0.2, 0.1), (0.2, 0.0, 0.1, 0.2)]),
        "slide": dh_arm([(0.1, 0.4, 0.2, 0.3), (0.0, off, 0.2, 0.1), (0.2, 0.9, 0.1, 0.2)], "RPR"),
        "gravity": with_gravity(dh_arm([(0.0, off, 0.2, 0.3), (0.3, 0.5, 0.2, 0.1)]), GRAVITIES["down"]),
        "line": dh_arm([(0.1, 0.4, 0.2, 0.3), (off, 0.0, 0.2, 0.1), (0.2, 0.5, 0.1, 0.2)]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("off", [1e-2, 1e-4, 1e-5, 1e-6, 1e-8, 1e-11, 1e-14])
def test_nearly_special_geometry_loses_no_torque(off: float) -> None:
    """Whether such an arm counts as special is a matter of taste; that its torques are right is not."""
    for arm in nearly_special(off).values():
        made = base_parameters(arm)
        q, qd, qdd = samples(arm, 6)
        torques = np.einsum("bij,j->bi", made.regressor(q, qd, qdd), made.values)
        assert_close(torques, dynamics.inverse(arm, q, qd, qdd))


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.2, 0.5, 1.0)])
def test_what_only_the_rank_shows_is_found(axis: tuple[float, float, float]) -> None:
    """Joint 2 undoes joint 1, so link 2 never turns: only its mass is felt,
    which no table of geometry knows.
    """
    arm = parallelogram(axis)
    made = base_parameters(arm)
    assert made.completed > 0
    assert not [name for name in made.names if name.startswith("link2.")]
    assert_right(arm)


def test_base_parameters_of_other_bodies_on_the_same_geometry() -> None:
    """of() of another arm's parameters is what that arm's own base parameters are, and gives its torques."""
    arm = SPECIAL["as URDF"]
    other = arm
    for k, link in enumerate(arm.links[1:]):
        other = other.with_link(
            Link(name=link.name, mass=1.5 + k, com=link.com[::-1], inertia=link.inertia + 0.01 * np.eye(3))
        )
    made = base_parameters(arm)
    values = made.of(dynamics.inertial_parameters(other))
    assert_close(values, base_parameters(other).values)
    state = random_state(arm, 4)
    assert_close(made.regressor(*state) @ values, dynamics.inverse(other, *state))
    assert np.abs(values - made.values).max() > 0.1


def parsed(label: str) -> dict[str, float]:
    """The coefficients by name: "a.m + 0.5 b.mx - b.my" and "-a.m"."""
    words = f"+ {label}" if not label.startswith("-") else f"- {label[1:]}"
    found = {}
    for sign, size, name in re.findall(r"([+-]) (?:(\d\S*) )?(\S+\.\w+)", words):
        found[name] = float(f"{sign}{size or '1'}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "stanford", "PPRPR", "in one line, opposite"])
def test_labels_say_what_the_matrix_says(name: str) -> None:
    arm = SPECIAL.get(name) or fa.load(name)
    made = base_parameters(arm)
    for name_, label, row in zip(made.names, made.labels, made.matrix, strict=True):
        assert re.match(rf"{re.escape(name_)}( |$)", label), "what leads a combination comes first"
        coefficients = parsed(label)
        assert coefficients[name_] == 1.0
        again = np.array([coefficients.pop(n, 0.0) for n in made.standard_names])
        assert not coefficients, "a name in the label that is no parameter"
        np.testing.assert_allclose(again, row, rtol=SIX_DIGITS, atol=1e-12)


def test_labels_of_a_pendulum_on_a_slide() -> None:
    """By hand: the slide feels both masses, the pendulum its own moments about its axis."""
    made = base_parameters(fa.load("stanford-dhanaraj3"))
    assert made.names[0] == "link1.Izz"
    arm = with_gravity(SPECIAL["PR"], GRAVITIES["down"])
    labels = dict(zip(base_parameters(arm).names, base_parameters(arm).labels, strict=True))
    first, second = (f"{b.joint.child}.m" for b in arm.moving.bodies)
    assert labels[first] == f"{first} + {second}"


@pytest.mark.slow
def test_long_arms_are_not_ranked() -> None:
    """7 n - 4 of n turning joints in general position, gravity across the first:
    three of the first, seven of each other.
    """
    long = fa.load(f"chain{MOST_CHECKED + 1}")
    made = base_parameters(long)
    assert (made.rank, made.completed) == (None, 0)
    assert len(made) == 7 * long.n - 4
    assert len(base_parameters(fa.load("chain5"))) == rank_of(fa.load("chain5")) == 7 * 5 - 4
    state = random_state(long, 1)
    assert_close(made.regressor(*state) @ made.values, dynamics.inverse(long, *state))


def test_drives_are_left_out() -> None:
    arm = simple_drives(random_arm(5, 3, "standard"))
    made, bare = base_parameters(arm), base_parameters(arm.rigid())
    assert made.labels == bare.labels
    assert np.array_equal(made.values, bare.values)
    q, qd, qdd = samples(arm, 3)
    truth = dynamics.inverse(arm.rigid(), q, qd, qdd)
    assert_close(made.regressor(q[0], qd[0], qdd[0]) @ made.values, truth[0])
    q[1, 0] = np.nan
    torques = made.regressor(q, qd, qdd) @ made.values
    assert np.isnan(torques[1]).all()
    assert_close(torques[[0, 2]], truth[[0, 2]])


@pytest.mark.slow
def test_a_rule_that_drops_what_shows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = base.silent_changes

    def too_many(model: Any) -> Iterator[Any]:
        yield from rules(model)
        yield np.eye(70)[49]

    monkeypatch.setattr(base, "silent_changes", too_many)
    with pytest.raises(AssertionError, match="42 in closed form, but the regressor has rank 43"):
        base_parameters.__wrapped__(fa.load("panda"))


def test_what_is_kept_cannot_be_changed() -> None:
    made = base_parameters(fa.load("panda"))
    for array in (made.values, made.matrix, made.standard):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 99.0
    with pytest.raises(fa.InputError, match="expected 70 numbers"):
        made.of([1.0, 2.0])
    none = base_parameters(Arm(name="still", links=(Link(name="base", mass=1.0),), tree=()))
    assert (len(none), none.values.shape, none.rank) == (0, (0,), None)
