"""The 43 subtasks: three operations each, what they wait for, and torques in any order that keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from arms import random_arm
from schedules.square_arms import State, agree, built_in, square_arm, state_of, truth

import forearm as fa
from forearm import Arm
from forearm.schedules.cases import general_arm
from forearm.schedules.elimination import remaining
from forearm.schedules.formulas import ChainState, Key, start, torque
from forearm.schedules.links import JointState, SubtaskChain, chain_of, joints_at
from forearm.schedules.order import plain_order
from forearm.schedules.subtasks import OPERATIONS, SUBTASKS, Place

STYLES = ("modified", "standard", "frames")
COMPLEX_STEP = 1e-30  # torques are linear in accelerations: its size does not matter


def in_order(motion: ChainState, order: Sequence[Place]) -> list[float]:
    """The torques by all 43 subtasks of every link, done one after the other in the given order."""
    values = start(motion.chain)
    for i, number in order:
        made = SUBTASKS[number - 1].compute(motion, values, i)
        values.update({(name, i): value for name, value in made.items()})
    return [torque(motion.chain, values, i) for i in range(1, len(motion.chain) + 1)]


def arms() -> list[Arm]:
    made = [built_in(name) for name in ("puma560-dhanaraj6", "puma560-akb", "stanford")]
    made += [square_arm(seed, n, style=style) for style in STYLES for seed, n in ((1, 1), (3, 5))]
    return [*made, square_arm(5, 4, "PPPP"), square_arm(6, 4, "PRPR"), square_arm(7, 4, "RRRP")]


def states(arm: Arm, seed: int) -> Iterator[State]:
    """Generic, at pi, at rest, fast."""
    q, qd, qdd = state_of(arm, seed)
    none = np.zeros(arm.n)
    yield from ((q, qd, qdd), (np.full(arm.n, np.pi), qd, qdd), (q, none, none), (q, 30.0 * qd, none))


def motion_at(chain: SubtaskChain, state: State) -> ChainState:
    q, qd, qdd = (v.tolist() for v in state)
    return ChainState(chain, tuple(joints_at(chain, q, qd, qdd)))


def ones(n: int) -> State:
    return np.ones(n), np.ones(n), np.ones(n)


class Watched(Mapping[Key, object]):
    """Values that remember who asked for what."""

    def __init__(self, values: dict[Key, object]) -> None:
        self.values_, self.asked = values, set[Key]()

    def __getitem__(self, key: Key) -> object:
        self.asked.add(key)
        return self.values_[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


def data_flow(chain: SubtaskChain) -> dict[Place, set[Place]]:
    """Which subtasks make what each subtask takes, found by watching them run."""
    motion = motion_at(chain, ones(len(chain)))
    values: dict[Key, object] = dict(start(chain))
    owner: dict[Key, Place] = {}
    waits: dict[Place, set[Place]] = {}
    for i, number in plain_order(chain):
        watched = Watched(values)
        made = SUBTASKS[number - 1].compute(motion, watched, i)
        waits[i, number] = {owner[key] for key in watched.asked if key in owner}
        for name, value in made.items():
            assert (name, i) not in owner, "a quantity is made once"
            values[name, i], owner[name, i] = value, (i, number)
    return waits


def test_a_link_has_43_subtasks_of_three_operations() -> None:
    assert [task.number for task in SUBTASKS] == list(range(1, 44))
    done = [o.place[1] for o in remaining(chain_of(general_arm())).operations if o.place[0] == 4]
    assert all(done.count(task.number) == OPERATIONS for task in SUBTASKS)


@pytest.mark.parametrize("arm", arms(), ids=lambda arm: f"{arm.name}-{arm.n}")
def test_torques_are_those_of_the_modified_recursion(arm: Arm) -> None:
    chain = chain_of(arm)
    for state in states(arm, 1):
        right = truth(arm, state)
        found = in_order(motion_at(chain, state), plain_order(chain))
        if np.abs(right).max() > 1e-3:  # else: a lone axis along gravity, at rest
            assert agree(found, right)


@pytest.mark.parametrize(
    "arm",
    [built_in("puma560-dhanaraj6"), built_in("stanford"), square_arm(8, 5, "RPRRP")],
    ids=lambda a: a.name,
)
def test_any_order_that_keeps_the_data_gives_the_same_bits(arm: Arm) -> None:
    chain, rng = chain_of(arm), np.random.default_rng(3)
    waits = data_flow(chain)
    motion = motion_at(chain, next(states(arm, 4)))
    first = in_order(motion, plain_order(chain))
    for _ in range(3):
        order: list[Place] = []
        done: set[Place] = set()
        left = sorted(waits)
        while left:
            ready = [place for place in left if waits[place] <= done]
            place = ready[int(rng.integers(len(ready)))]
            left.remove(place)
            done.add(place)
            order.append(place)
        assert in_order(motion, order) == first


def test_table_4_1_names_all_that_the_data_ask_for_and_nothing_without_use() -> None:
    """In the closure of the table's precedence, and each printed group of tasks is taken from by someone."""
    waits = data_flow(chain_of(general_arm()))
    for (i, number), takes in waits.items():
        if i not in (3, 4):  # links of which nothing is special
            continue
        allowed = {(i + shift, other) for other, shift in SUBTASKS[number - 1].after}
        assert takes <= allowed, f"T{number} takes from {takes - allowed}"
        steps = {SUBTASKS[other - 1].makes for _, other in allowed}
        # Vectors are taken whole in the table: of a step that is named, some component is taken by
        # this component or another.
        near = [
            SUBTASKS[n - 1].number
            for n in range(1, 44)
            if SUBTASKS[n - 1].makes == SUBTASKS[number - 1].makes
        ]
        used = {SUBTASKS[other - 1].makes for n in near for _, other in waits[i, n]}
        assert used == steps, f"T{number}"


def test_over_complex_numbers_a_step_of_accelerations_gives_the_inertia_matrix() -> None:
    """The subtasks are not written for floats; the truth is the composite-body method."""
    for arm in (built_in("puma560-akb"), square_arm(9, 5, "RPRRR")):
        chain = chain_of(arm)
        q, qd, qdd = next(states(arm, 6))
        joints = joints_at(chain, q.tolist(), qd.tolist(), qdd.tolist())
        M = np.empty((arm.n, arm.n))
        for j in range(arm.n):
            moved = [
                JointState(o.c, o.s, o.qd, o.qdd + (COMPLEX_STEP * 1j if k == j else 0.0), o.p)
                for k, o in enumerate(joints)
            ]
            tau = in_order(ChainState(chain, tuple(moved)), plain_order(chain))
            M[:, j] = [complex(t).imag / COMPLEX_STEP for t in tau]
        assert agree(M, fa.dynamics.inertia_matrix(arm, q))


def test_a_task_too_early_is_refused_by_name() -> None:
    chain = chain_of(square_arm(1, 2, "RR"))
    motion = motion_at(chain, ones(2))
    order = list(plain_order(chain))
    order.remove((1, 6))
    order.insert(order.index((1, 10)) + 1, (1, 6))
    with pytest.raises(KeyError, match=r"alpha\.x"):
        in_order(motion, order)


def test_trees_are_refused() -> None:
    with pytest.raises(
        fa.ModelError,
        match=r"^subtasks: expected a serial arm, got 'random1', a tree or an arm with mimicking joints",
    ):
        chain_of(random_arm(1, 4, tree=True).rigid())
