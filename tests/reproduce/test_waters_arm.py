"""Waters on coordinates, the phase plane, orders and interaction, by other ways than those
that the catalogue takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reproduced import reproduced

import forearm as fa
from forearm.reproduce.recompute import waters_arm

DIFFER = {
    "in the root of v",
    "changes, velocity limit reached",
    "the same, the U_ni multiplied from both ends",
    "naive, matrix products",
    "naive, order-16 operations",
}
OURS = (
    "waters-orientation",
    "waters-wrist",
    "waters-plane",
    "waters-switching",
    "waters-matrices",
    "waters-order",
    "waters-3x3",
    "waters-interaction",
)


@pytest.mark.slow
def test_verdicts() -> None:
    results = [r for r in reproduced("waters") if r.item.id in OURS]
    assert {r.item.id for r in results} == set(OURS)
    assert {r.label for r in results if r.verdict == "differs"} == DIFFER
    assert not [r.label for r in results if r.unexplained]


def test_an_arm_whose_last_axes_do_not_meet_has_no_such_wrist(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waters_arm.wrist()["W moved by q4, q5, q6"] == 0.0
    monkeypatch.setattr(waters_arm, "load_builtin", lambda _name: fa.load("chain6"))
    assert waters_arm.wrist()["W moved by q4, q5, q6"] > 0.01


@pytest.mark.slow
def test_naive_products_by_his_sum() -> None:
    """The sum that gives 2254 is of the fifth power in n: its fifth differences are
    constant, its fourth are not.
    """
    sums = np.cumsum([j * (j - 1) * (j * j + j + 1) for j in range(1, 12)])
    assert sums[5] == 2254
    assert len(set(np.diff(sums, 5))) == 1
    assert len(set(np.diff(sums, 4))) > 1
    assert waters_arm.orders()["naive, matrix products"] == 5.0


def test_a_change_more_only_where_the_velocity_is_at_its_limit() -> None:
    limited = [m for m in waters_arm._motions() if len(waters_arm._phases(m)) == 3]
    assert limited
    for motion in limited:
        assert float(motion.extremes()[2][0]) == pytest.approx(waters_arm.VELOCITY)


def test_lines_that_meet_are_those_of_the_planner() -> None:
    """Without a limit of the velocity the fastest motion is on one of the pairs, so there is always one."""
    assert {waters_arm._meeting(*ends) for ends in waters_arm._ends()} == {1, 2}


def test_sliding_joints_that_are_not_at_right_angles_interact(monkeypatch: pytest.MonkeyPatch) -> None:
    def skewed(name: str, rows: list[Any], **rest: Any) -> Any:
        return fa.from_dh(name, [(0.0, 1.2, 0.3, 1.0), *rows[1:]], **rest)

    assert waters_arm.interaction()["elements between sliding joints, kg"] == 0.0
    monkeypatch.setattr(waters_arm, "from_dh", skewed)
    assert waters_arm.interaction()["elements between sliding joints, kg"] > 1.0


def test_products_of_the_u_by_hand() -> None:
    """n = 3: U_21, U_31, U_22, U_32, W_2 and U_33 take one each;
    from both ends W_2 and A_2 A_3, then 1 + 2 + 1.
    """
    rows = waters_arm._recurrence(3)
    assert waters_arm._products([u for row in rows for u in row]) == 6.0
    assert waters_arm._products(waters_arm._from_hand(3)) == 6.0
    assert waters_arm._products(waters_arm._from_hand(6)) == 18.0


def test_both_ways_to_the_u_give_the_same() -> None:
    last, straight = waters_arm._recurrence(5)[-1], waters_arm._from_hand(5)
    for a, b in zip(last, straight, strict=True):
        assert np.abs(a.value - b.value).max() < 1e-9 * np.abs(a.value).max()
