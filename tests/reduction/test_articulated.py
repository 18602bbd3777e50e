"""Accelerations by articulated bodies: those that the reference's inertia matrix and bias
give, on every kind of arm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import every_kind, random_arm
from codegen.truths import assert_close
from dynamics.cases import State, awkward_states, random_state, simple_drives, with_kinds
from reduction.cases import special_geometry

import forearm as fa
from forearm import Arm, dynamics
from forearm.drives.joint import driven, drives_of, rotor_inertia
from forearm.model import model_of
from forearm.reduction import articulated
from forearm.reduction.chain import Chain
from forearm.reduction.frames import chain_of
from forearm.reduction.plan import planned
from forearm.symbols import Graph, evaluate

# times the condition number of M: articulated bodies and a solution of M qdd = ... lose the same digits
FORWARD = 1e-13
KINDS = {
    "chain": 0,
    "modified": 1,
    "frames": 2,
    "tree": 3,
    "modified tree": 4,
    "frames tree": 5,
    "turning": -1,
}
ARMS = {f"{kind}, {n}": every_kind(8 + n, n)[k] for n in (1, 4) for kind, k in KINDS.items()}
ARMS |= {
    f"{kinds}": with_kinds(random_arm(60 + k, len(kinds)), kinds)
    for k, kinds in enumerate(("P", "PPP", "RPPR", "PRRP"))
}
SPECIAL = special_geometry()
# What hangs behind the last joint has inertia about it, so that M can be inverted.
ARMS |= {
    name: SPECIAL[name]
    for name in ("parallel", "in one line", "right angles", "cylinder", "gantry and wrist", "as URDF")
}
ARMS = {name: simple_drives(arm) for name, arm in ARMS.items()}


def chains(arm: Arm) -> list[Chain]:
    chain = chain_of(model_of(arm))
    return [chain, planned(chain)]


def accelerations(chain: Chain, arm: Arm, q: Any, qd: Any, tau: Any) -> Any:
    net = tau - np.array(driven(drives_of(arm), [0.0] * arm.n, None, qd.tolist()))
    return articulated.forward(chain, q.tolist(), qd.tolist(), net.tolist(), rotor_inertia(arm).tolist())


def solved(arm: Arm, q: Any, qd: Any, tau: Any) -> Any:
    return np.linalg.solve(dynamics.inertia_matrix(arm, q), tau - dynamics.bias(arm, q, qd))


def assert_solved(arm: Arm, q: Any, qd: Any, tau: Any) -> None:
    condition = float(np.linalg.cond(dynamics.inertia_matrix(arm, q)))
    for chain in chains(arm):
        found = accelerations(chain, arm, q, qd, tau)
        assert_close(found, solved(arm, q, qd, tau), FORWARD * max(10.0, condition))


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_what_matrix_and_bias_give(name: str) -> None:
    for seed, arm in ((1, ARMS[name]), (2, ARMS[name].rigid())):
        q, qd, tau = random_state(arm, seed)
        assert_solved(arm, q, qd, 5.0 * tau)


def test_the_arms_are_what_they_are_meant_to_be() -> None:
    """Rotors, trees, sliding and turning joints and regrouped masses are all there, and no followers."""
    made = [chain_of(model_of(arm)) for arm in ARMS.values()]
    assert any(rotor_inertia(arm).min() > 0.0 for arm in ARMS.values())
    assert any(s.parent != k - 1 for chain in made for k, s in enumerate(chain.segments))
    assert {s.revolute for chain in made for s in chain.segments} == {True, False}
    assert any(planned(chain).segments[-1].m != chain.segments[-1].m for chain in made)
    assert not any(model_of(arm).has_followers for arm in ARMS.values())


@pytest.mark.parametrize("name", ["panda", "stanford"])
def test_built_in_arms_wherever_things_break(name: str) -> None:
    arm = fa.load(name)
    for q, qd, tau in awkward_states(arm).values():
        assert_solved(arm, q, qd, tau)


@pytest.mark.slow
def test_fifty_joints_give_back_their_torques() -> None:
    """Where M is hard to invert: what inverse dynamics gives back, measured by the parts it is made of."""
    arm = simple_drives(random_arm(3, 50, tree=True))
    q, qd, tau = random_state(arm, 4)
    for chain in chains(arm):
        qdd = np.array(accelerations(chain, arm, q, qd, tau))
        parts = np.abs(dynamics.inertia_matrix(arm, q)) @ np.abs(qdd)
        assert np.abs(dynamics.inverse(arm, q, qd, qdd) - tau).max() <= 1e-12 * parts.max()


def test_rotors_and_torques_each_matter() -> None:
    arm = ARMS["frames tree, 4"]
    q, qd, tau = random_state(arm, 5)
    chain, rotor = planned(chain_of(model_of(arm))), rotor_inertia(arm)
    own = np.array(articulated.forward(chain, q.tolist(), qd.tolist(), tau.tolist(), rotor.tolist()))
    for k in range(arm.n):
        for given in (tau, rotor):
            before, given[k] = given[k], 1.01 * given[k]
            found = articulated.forward(chain, q.tolist(), qd.tolist(), tau.tolist(), rotor.tolist())
            given[k] = before
            assert abs(found[k] - own[k]) > 1e-9 * np.abs(own).max()


def test_symbols_give_the_same() -> None:
    """The same functions over expressions, as kernels trace them."""
    arm, graph = ARMS["frames tree, 4"], Graph()
    state = [x.tolist() for x in random_state(arm, 6)]
    symbols = [[graph.input(f"{name}{k}") for k in range(arm.n)] for name in State._fields]
    values = {
        f"{name}{k}": x for name, row in zip(State._fields, state, strict=True) for k, x in enumerate(row)
    }
    chain, rotor = planned(chain_of(model_of(arm))), rotor_inertia(arm).tolist()
    symbolic, numeric = (articulated.forward(chain, q, qd, tau, rotor) for q, qd, tau in (symbols, state))
    assert_close(evaluate(graph, symbolic, values), numeric, 1e-11)
