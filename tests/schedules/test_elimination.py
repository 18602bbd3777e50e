"""What zeros leave of the subtasks: found by propagation, checked by numbers,
and beside the document's tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from schedules.square_arms import Array, State, agree, built_in, random_order, square_arm, state_of, truth

import forearm as fa
from forearm import Arm
from forearm.schedules.assembly import Layered, layers_of, run_tasks, subtask_work, table_graph
from forearm.schedules.cases import (
    derived_sparse,
    derived_special,
    derived_steps,
    general_arm,
    patterned_arm,
    stanford_pattern,
)
from forearm.schedules.elimination import given_values, remaining
from forearm.schedules.formulas import ChainState, start
from forearm.schedules.links import SubtaskChain, chain_of, joints_at
from forearm.schedules.order import plain_order
from forearm.schedules.printed import place_of, printed_layers, sparse_cases, special_cases
from forearm.schedules.subtasks import OPERATIONS, SUBTASKS, Place
from forearm.schedules.terms import Book

SAME = 1e-12  # relative: values that are equal by renaming come from the same bits but for products with 1


def arms() -> list[Arm]:
    made = [built_in(name) for name in ("puma560-dhanaraj6", "puma560", "stanford")]
    return [*made, general_arm(), stanford_pattern(), general_arm(1), general_arm(2)] + [
        square_arm(seed, n, style=style)
        for seed, n, style in ((1, 1, "frames"), (2, 4, "standard"), (3, 6, "modified"))
    ]


@pytest.mark.parametrize("all_made", [True, False])
@pytest.mark.parametrize("arm", arms(), ids=lambda arm: f"{arm.name}-{arm.n}")
def test_what_is_left_gives_the_torques_in_any_order(arm: Arm, all_made: bool) -> None:
    work = subtask_work(arm, all_made)
    assert all(1 <= len(operations) <= OPERATIONS for operations in work.operations)
    done = [k for operations in work.operations for k in operations]
    assert sorted(done) == sorted(set(done)), "nothing is done twice"
    rng = np.random.default_rng(2)
    for seed in (1, 2):
        state = state_of(arm, seed)
        orders = [None, *(random_order(work.graph, rng) for _ in range(2))]
        found = [run_tasks(work, *state, order=order) for order in orders]
        assert agree(found[0], truth(arm, state))
        assert all((tau == found[0]).all() for tau in found)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 6, 11])
def test_layers_are_4n_plus_3_and_two_more_with_what_the_first_link_leaves_out(n: int) -> None:
    first = {(1, number) for number in derived_special()["first"]}
    whole, less = table_graph(n), table_graph(n, first)
    assert max(whole.layers) == whole.graph.critical_path == 4 * n + 5
    for some in (less, subtask_work(general_arm(n), all_made=True).layered):
        assert max(some.layers) == some.graph.critical_path == 4 * n + 3 == layers_of(n)
        for k, earlier in enumerate(some.graph.before):
            assert all(some.layers[e] < some.layers[k] for e in earlier)


def test_wrong_orders_states_and_numbers_of_links_are_refused() -> None:
    work = subtask_work(general_arm(3))
    state, n, ones = state_of(work.arm), len(work.graph), [1.0] * 3
    name = work.graph.tasks[-1].name
    refused: list[tuple[tuple[Any, ...], Any, str]] = [
        (state, reversed(range(n)), f"{name} comes before"),
        (state, range(n - 1), f"order: expected every task once; {name} is missing"),
        (state, [*range(n), n - 1], f"order: expected every task once; {name} is repeated"),
        (state, [*range(n), n + 5], f"order: expected tasks from 0 to {n - 1}, got {n + 5}"),
        (([1.0],) * 3, None, "shape"),
        ((np.ones((2, 3)),) * 3, None, "one state"),
    ]
    for (q, qd, qdd), order, said in refused:
        with pytest.raises(fa.InputError, match=said):
            run_tasks(work, q, qd, qdd, order and list(order))
    assert np.isnan(run_tasks(work, [np.nan, 0.0, 0.0], ones, ones)).all()
    for links in (0, 201, 2.0, True, "6"):
        with pytest.raises(fa.InputError, match="from 1 to 200"):
            table_graph(links)  # type: ignore[arg-type]


def numbers(chain: SubtaskChain, states: list[State]) -> tuple[list[Array], dict[Place, list[Array]]]:
    """What is known before, and what each subtask makes, over several states:
    the full 43, run over floats.
    """
    known: list[list[float]] = []
    made: dict[Place, list[list[float]]] = {}
    for state in states:
        joints = tuple(joints_at(chain, *(v.tolist() for v in state)))
        values = start(chain)
        known.append(given_values(chain, joints))
        for i, number in plain_order(chain):
            new = SUBTASKS[number - 1].compute(ChainState(chain, joints), values, i)
            values.update({(name, i): value for name, value in new.items()})
            made.setdefault((i, number), []).append(list(new.values()))
    return list(np.array(known).T), {place: list(np.array(rows).T) for place, rows in made.items()}


@pytest.mark.slow
@pytest.mark.parametrize("arm", [general_arm(4), stanford_pattern()], ids=lambda a: a.name)
def test_left_out_subtasks_make_nothing_new_and_the_others_do(arm: Arm) -> None:
    """By numbers alone: over random states what they make is constant, or known already up to a sign."""
    chain = chain_of(arm)
    known, made = numbers(chain, [state_of(arm, seed) for seed in range(2)])
    empty = remaining(chain).left_out()
    for place in plain_order(chain):
        scale = [max(1.0, float(np.abs(v).max())) for v in made[place]]
        new = [
            np.ptp(v) > SAME * s
            and not any(min(abs(v - w).max(), abs(v + w).max()) <= SAME * s for w in known)
            for v, s in zip(made[place], scale, strict=True)
        ]
        assert any(new) == (place not in empty), place
        known += made[place]


def test_what_costs_nothing() -> None:
    book = Book()
    x, y = book.take("x"), book.take("y")
    for made in (x * 1.0, 1.0 * x, x + 0.0, 0.0 + x, x - 0.0, 0.0 - -x):
        assert (made.sign, made.at) == (1.0, x.at)  # type: ignore[union-attr]
    for made in (x * -1.0, -x, 0.0 - x):
        assert (made.sign, made.at) == (-1.0, x.at)  # type: ignore[union-attr]
    assert x * 0.0 == 0.0 * y == 0.0
    assert book.operations == []
    assert len({id(made) for made in (x + y, x - y, x * y, 2.0 * x, x + 1.0)}) == len(book.operations) == 5


def test_special_cases_beside_table_4_2() -> None:
    found, printed = derived_special(), special_cases()
    assert found["last"] == printed["last"]
    assert found["sliding"] - printed["sliding"] == {18, 19}, "turns of a sliding joint cost nothing"
    assert printed["sliding"] <= found["sliding"]
    assert printed["first"] - found["first"] == {8, 26}, "qd1^2 must be made, and the force of link 1"
    assert found["first"] - printed["first"] == {10, 19, 22, 25, 28}


def test_zeros_in_vectors_beside_tables_4_5_and_4_6() -> None:
    assert derived_steps() == {"3": (6, 4, 2, 0), "4": (6, 4, 2, 0), "8 p": (3, 2, 1, 0), "8 s": (3, 2, 1, 0)}
    printed = {link: len(tasks) for link, tasks in sparse_cases().items()}
    assert printed == {1: 9, 2: 12, 3: 15, 4: 12, 5: 12, 6: 15}
    assert derived_sparse() == {1: 11, 2: 12, 3: 13, 4: 12, 5: 12, 6: 15}
    assert {(3, 16), (3, 17)} <= sparse_cases()[3], "the table drops what carries the sliding link"
    places = set(subtask_work(stanford_pattern(), all_made=True).layered.places)
    assert len(places & {(3, k) for k in range(12, 18)}) == 2


@pytest.mark.parametrize("pattern", ["", "x", "z", "xy", "yz", "xyz"])
def test_which_element_is_zero_does_not_matter(pattern: str) -> None:
    arm = patterned_arm("R" * 6, ["xyz"] * 4 + [pattern, "xyz"], ["xyz"] * 3 + [pattern, "xyz"])
    work = subtask_work(arm, all_made=True)
    numbers_of = [number for link, number in work.layered.places if link == 5]
    zeros = 3 - len(pattern)
    assert (
        sum(12 <= n <= 17 for n in numbers_of)
        == sum(20 <= n <= 25 for n in numbers_of)
        == (6, 4, 2, 0)[zeros]
    )
    assert sum(36 <= n <= 38 for n in numbers_of) == (3, 2, 1, 0)[zeros]


@pytest.mark.slow
def test_long_arms_and_arms_that_only_slide() -> None:
    everything = {(i, task.number) for i in range(1, 61) for task in SUBTASKS}
    assert len(table_graph(60, everything - {(1, 41), (60, 41)}).graph) == 2
    assert subtask_work(general_arm(60), all_made=True).graph.critical_path == 4 * 60 + 3
    arm = patterned_arm("P" * 40, ["xyz"] * 40, ["xyz"] * 39, [0, *([90, -90] * 20)])
    state = state_of(arm)
    assert agree(run_tasks(subtask_work(arm), *state), truth(arm, state))


def test_stacking_gives_table_4_3_but_for_the_first_link() -> None:
    rows = [[place_of(task) for task in row] for row in printed_layers("4.3")]
    everything = {(i, task.number) for i in range(1, 7) for task in SUBTASKS}
    stacked = table_graph(6, everything - {place for row in rows for place in row})
    layer = {place: k for k, row in enumerate(rows, start=1) for place in row}
    later = {
        place: ours - layer[place]
        for place, ours in zip(stacked.places, stacked.layers, strict=True)
        if ours != layer[place]
    }
    assert later == {(1, number): 1 for number in range(20, 26)}
    ours = [[stacked.places[k] for k in row if stacked.places[k][0] > 1] for row in stacked.rows]
    assert ours == [[place for place in row if place[0] > 1] for row in rows], "in the document's order too"


def test_what_is_left_out_hands_on_what_it_waits_for() -> None:
    """Precedence between the tasks that stay is that of the whole graph, through those that do not."""
    whole, dropped = table_graph(3), {(2, 3), (2, 6), (2, 18), (1, 41)}
    part = table_graph(3, dropped)
    assert set(part.places) == set(whole.places) - dropped

    def ancestors(layered: Layered) -> dict[Place, set[Place]]:
        """Of every task, in an order that keeps precedence."""
        found: dict[Place, set[Place]] = {}
        for k in sorted(range(len(layered.places)), key=lambda k: layered.layers[k]):
            earlier = [layered.places[e] for e in layered.graph.before[k]]
            found[layered.places[k]] = {*earlier}.union(*(found[place] for place in earlier))
        return found

    of_whole = ancestors(whole)
    assert ancestors(part) == {place: of_whole[place] - dropped for place in part.places}
