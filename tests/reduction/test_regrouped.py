"""The equivalent arm as users have it: torques, accelerations and matrices of the arm, drives
included; no reactions.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from arms import every_kind, random_arm
from codegen.truths import assert_close
from dynamics.cases import awkward_states, random_state, simple_drives
from reduction.cases import special_geometry

import forearm as fa
from forearm import Arm, InputError, Link, ModelError, dynamics

SPECIAL = special_geometry()
ARMS: dict[str, Arm] = {name: fa.load(name) for name in ("puma560", "puma560-akb", "stanford")}
ARMS |= {
    name: SPECIAL[name] for name in ("parallel", "PPP", "R", "PPRPR", "a point mass", "inertia without mass")
}
ARMS |= {f"kind {k}": simple_drives(arm) for k, arm in enumerate(every_kind(4, 3))}
# Accelerations are wrong by cond(M) times what torques and matrices are wrong by, which is 1e-14.
FORWARD = 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep(first=9)
def test_torques_matrices_and_accelerations_are_those_of_the_arm(name: str) -> None:
    arm = ARMS[name]
    made = arm.regrouped()
    q, qd, qdd = random_state(arm, 1)
    M = dynamics.inertia_matrix(arm, q)
    assert_close(made.inverse(q, qd, qdd), dynamics.inverse(arm, q, qd, qdd))
    assert_close(made.inertia_matrix(q), M)
    tau = 3.0 * qdd
    accelerations = dynamics.forward(arm, q, qd, tau)
    found = made.forward(q, qd, tau)
    assert_close(found, accelerations, FORWARD * max(100.0, float(np.linalg.cond(M))))
    assert_close(dynamics.inverse(arm, q, qd, found), tau, 1e-11)


@pytest.mark.slow
def test_states_where_things_break_are_rows_of_a_batch() -> None:
    arm = ARMS["puma560"]
    made = arm.regrouped()
    states = [*awkward_states(arm).values()]
    q, qd, qdd = (np.array(x) for x in zip(*states, strict=True))
    q[3, 5] = np.nan  # on which torques hardly depend
    results = made.inverse(q, qd, qdd), made.forward(q, qd, qdd), made.inertia_matrix(q)
    for k, state in enumerate(states):
        if k == 3:
            assert all(np.isnan(found[k]).all() for found in results)
            continue
        truths = dynamics.inverse(arm, *state), dynamics.forward(arm, *state)
        own = made.inverse(*state), made.forward(*state), made.inertia_matrix(state.q)
        for found, alone in zip(results, own, strict=True):
            assert np.array_equal(found[k], alone)
        for found, truth, tolerance in zip(results, truths, (1e-12, 1e-11), strict=False):
            assert_close(found[k], truth, tolerance)
    assert made.inverse(q[:0], qd[:0], qdd[:0]).shape == (0, arm.n)
    with pytest.raises(InputError, match=r"qdd: expected a number, .* beside qd \(2, 6\)"):
        made.inverse(np.zeros(6), np.zeros((2, 6)), np.zeros((3, 6)))
    with pytest.raises(InputError, match=r"expected shape \(6,\) or \(B, 6\)"):
        made.inertia_matrix(np.zeros(5))


def test_an_arm_without_joints() -> None:
    none = np.zeros(0)
    made = Arm(name="still", links=(Link(name="base", mass=1.0),), tree=()).regrouped()
    assert (made.inverse(none, none, none).shape, made.inertia_matrix(none).shape) == ((0,), (0, 0))
    assert made.forward(none, none, none).shape == (0,)


def test_reactions_are_refused_and_the_remedy_is_named() -> None:
    made = ARMS["puma560"].regrouped()
    with pytest.raises(ModelError, match=r"^'puma560' is regrouped here.*fa\.dynamics\.trace.*fa\.generate"):
        made.reactions(np.zeros(6), np.zeros(6), np.zeros(6))


@pytest.mark.slow
def test_forces_in_the_joints_are_indeed_not_kept() -> None:
    """What the refusal is for: the mass behind the last joint is gone, so no force would be found there."""
    made = ARMS["puma560-akb"].regrouped()
    assert made.chain.segments[-1].m == 0.0
    assert ARMS["puma560-akb"].moving.bodies[-1].mass > 0.0


@pytest.mark.parametrize("what", ["bearings", "transmission"])
def test_friction_that_depends_on_the_load_is_refused(what: str) -> None:
    """With the arm and two ways out; the rigid arm can be regrouped, and Stribeck's friction,
    which knows no load, stays.
    """
    arm = random_arm(2, 3, "frames")
    without: dict[str, Any] = {"bearings": {"transmission": None}, "transmission": {"bearings": ()}}
    some = arm.replace(tree=tuple(dataclasses.replace(j, **without[what]) for j in arm.tree))
    said = r"^'random2': the friction of its bearings or gears depends on forces.*arm\.rigid\(\).*fa\.compile"
    with pytest.raises(ModelError, match=said):
        some.regrouped()
    some.rigid().regrouped()
    none = arm.replace(tree=tuple(dataclasses.replace(j, bearings=(), transmission=None) for j in arm.tree))
    assert any(j.friction and j.friction.static for j in none.joints)
    q, qd, qdd = random_state(none, 1)
    qd *= 0.03
    tau = dynamics.inverse(none, q, qd, qdd)
    np.testing.assert_allclose(none.regrouped().inverse(q, qd, qdd), tau, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(none.regrouped().forward(q, qd, tau), qdd, rtol=1e-8)
