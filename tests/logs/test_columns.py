"""Columns found by every spelling, in any order; what is missing, double or ambiguous is named."""

from __future__ import annotations

import warnings

import pytest
from refusals import refused

from forearm.errors import IgnoredWarning, InputError
from forearm.logs.columns import MAX_COLUMNS, Columns, Question, find_columns, recognised
from forearm.logs.spelling import WORDS, read_mapping, time_column

QUESTION = Question(("base", "elbow", "wrist"), ("q", "qd", "qdd"), "tau")


def find(header: list[str], question: Question = QUESTION, is_written: bool = True) -> Columns:
    return find_columns(header, question, "log.csv", is_written)


@pytest.mark.parametrize(
    ("q", "tau"),
    [
        (["q1", "q2", "q3"], ("tau1", "tau2", "tau3")),
        (["q_1", "q_2", "q_3"], ("tau_1", "tau_2", "tau_3")),
        (["q[0]", "q[1]", "q[2]"], ("tau[0]", "tau[1]", "tau[2]")),
        (["q_base", "q_elbow", "q_wrist"], ("tau_base", "tau_elbow", "tau_wrist")),
        (["q.base", "q.elbow", "q.wrist"], ("tau.base", "tau.elbow", "tau.wrist")),
    ],
)
def test_every_spelling_is_taken_and_kept_for_the_results(q: list[str], tau: tuple[str, ...]) -> None:
    columns = find(["t", *q])
    assert columns.places == {"q": (1, 2, 3)}
    assert columns.absent == ("qd", "qdd")
    assert columns.made == tau


def test_columns_come_in_any_order() -> None:
    columns = find(["qd3", "q1", "note", "qd1", "q3", "q2", "qd2"])
    assert columns.places == {"q": (1, 5, 4), "qd": (3, 6, 0)}
    assert columns.flat == (1, 5, 4, 3, 6, 0)


def test_spelling_of_results_follows_the_first_quantity_there_is() -> None:
    assert find(["qd[0]", "qd[1]", "qd[2]"]).made == ("tau[0]", "tau[1]", "tau[2]")


def test_missing_columns_are_named_with_every_spelling() -> None:
    with pytest.raises(InputError) as error:
        find(["q1", "q2", "q3", "qd2"])
    assert str(error.value) == (
        "log.csv: qd is present for some joints only; missing: qd1, qd3. "
        "qd1 may also be spelled qd_1, qd[0], qd_base or qd.base. "
        "Give qd for every joint, or for none (zero)."
    )


def test_a_log_without_any_quantity_is_told_what_a_header_needs() -> None:
    with pytest.raises(InputError) as error:
        find(["t", "x"])
    assert str(error.value) == (
        "log.csv: no column with q or qd or qdd of a joint. The header needs q1..q3, qd1..qd3, qdd1..qdd3, "
        "or "
        "for the first joint q1, q_1, q[0], q_base or q.base; the file has t, x. "
        "Map other names, without the joint's number: columns={'theirs': 'q'} "
        "(--columns theirs=q for theirs1, theirs2, ...)."
    )


def test_mapped_names_that_fit_no_column_are_named() -> None:
    with refused(r"InputError.*No column of the file is called angel\.$"):
        find_columns(["t", "angle1"], QUESTION, "log.csv", True, {"angel": "q", "angle": "tau"})
    with refused(r"InputError.*No column of the file is called pos\.$"):
        find_columns(["t", "actual_pos_A1"], QUESTION, "log.csv", True, {"pos": "q", "t": "t"})


def test_results_that_are_there_already_are_written_under_another_name() -> None:
    assert find(["q1", "q2", "q3", "tau_elbow"]).made == ("tau_model1", "tau_model2", "tau_model3")
    assert find(["q1", "q2", "q3", "tau_elbow"], is_written=False).made == ("tau1", "tau2", "tau3")
    with refused(r"InputError.*tau_elbow and tau_model2 are already in the file\. Rename some there first"):
        find(["q1", "q2", "q3", "tau_elbow", "tau_model2"])


def test_one_quantity_in_two_spellings_is_refused() -> None:
    text = "'q1' and 'q_base' are the same quantity; remove one, or map one to q, for example --columns q_b"
    with pytest.raises(InputError, match=text):
        find(["q1", "q2", "q3", "q_base"])
    told = find_columns(["q1", "q2", "q3", "q_base"], QUESTION, "log.csv", True, {"q_base": "q1"})
    assert told.places == {"q": (3, 1, 2)}


@pytest.mark.parametrize(
    ("header", "made"),
    [
        (["position_0", "position_1", "position_2"], ("tau_0", "tau_1", "tau_2")),
        (["position1", "position2", "position3"], ("tau1", "tau2", "tau3")),
        (["Position0", "Position1", "Position2"], ("tau0", "tau1", "tau2")),
        (["field.position0", "field.position1", "field.position2"], ("tau0", "tau1", "tau2")),
        (["/joint_states/position[0]", "/joint_states/position[1]", "/joint_states/position[2]"], None),
        (
            ["/joint_states/base/position", "/joint_states/elbow/position", "/joint_states/wrist/position"],
            None,
        ),
        (["base.position", "elbow.position", "wrist.position"], ("tau_base", "tau_elbow", "tau_wrist")),
        (["joint_position_base", "joint_position_elbow", "joint_position_wrist"], None),
    ],
)
def test_the_words_of_other_worlds_are_taken(header: list[str], made: tuple[str, ...] | None) -> None:
    columns = find(["%time", *header])
    assert columns.places == {"q": (1, 2, 3)}
    assert columns.made == made or made is None


def test_the_log_of_a_franka_arm_is_read() -> None:
    joints = tuple(f"panda_joint{k}" for k in range(1, 8))
    words = ("tau_J", "tau_J_d", "dtau_J", "q", "q_d", "dq", "dq_d", "ddq_d", "tau_ext_hat_filtered")
    header = ["time", *(f"{word}[{i}]" for word in words for i in range(7))]
    found = recognised(header, joints, tuple(WORDS), (), "log.csv")
    read = {quantity: header[found[quantity, 3].place] for quantity, i in found if i == 3}
    assert read == {
        "tau": "tau_J[3]",
        "asked": "tau_J_d[3]",
        "q": "q[3]",
        "wanted_q": "q_d[3]",
        "qd": "dq[3]",
        "wanted_qd": "dq_d[3]",
        "wanted_qdd": "ddq_d[3]",
    }


def test_numbers_from_0_to_n_are_refused() -> None:
    with refused("InputError.*q0 and q3 are both present, so joints are counted neither from"):
        find(["q0", "q1", "q2", "q3"])


def test_other_names_can_be_told() -> None:
    header = ["angle_a", "angle_b", "angle_c", "q1"]
    given = {"angle_a": "q1", "angle_b": "q2", "angle_c": "q3"}
    columns = find_columns(header, QUESTION, "log.csv", True, given)
    assert columns.places == {"q": (0, 1, 2)}
    assert columns.made == ("tau1", "tau2", "tau3")
    header = ["winkel1", "winkel2", "winkel3", "q1"]
    assert find_columns(header, QUESTION, "log.csv", True, {"winkel": "q"}).places == {"q": (0, 1, 2)}
    with refused(r"InputError.*'winkel' is mapped to 'Q', which is not a quantity of a motion; did you"):
        find_columns(header, QUESTION, "log.csv", True, {"winkel": "Q"})
    with refused(r"InputError.*--columns: expected .* but part 1 is 'a'; got 'a,b=q'"):
        read_mapping("a,b=q", "--columns")
    with refused(r"InputError.*but part 2 is ''; got 'a=q,'"):
        read_mapping("a=q,", "--columns")
    with refused(r"InputError.*'q' is mapped to 'winkel', .*the file's name comes first: 'winkel' to 'q'"):
        find_columns(header, QUESTION, "log.csv", True, {"q": "winkel"})
    assert read_mapping("position=q, effort = tau", "--columns") == {"position": "q", "effort": "tau"}


def test_times_are_found_with_their_unit() -> None:
    assert time_column(["q1", "t"]) == (1, 1.0)
    assert time_column(["time_ms", "q1"]) == (0, 1e3)
    assert time_column(["%time", "field.position0"]) == (0, 1e9)
    assert time_column(["Timestamp", "q1"]) == (0, 1.0)
    assert time_column(["clock", "q1"]) is None
    assert time_column(["t", "clock"], {"clock": "t"}) == (1, 1.0)


def test_a_name_that_is_also_a_number_of_another_joint_is_refused() -> None:
    question = Question(("2", "1"), ("q", "qd", "qdd"), "tau")
    with refused(r"InputError.*'q_1' is ambiguous, by number or by name; write q\[0\] or q\[1\]\."):
        find(["q_1", "q_2"], question)
    assert find(["q.2", "q.1"], question).places == {"q": (0, 1)}
    # A joint named by its own number is no contradiction.
    assert find(["q_1", "q_2"], Question(("1", "2"), ("q",), "tau")).places == {"q": (0, 1)}


def test_a_column_twice_and_too_many_columns_are_refused() -> None:
    with refused("InputError.*column 't' occurs twice; rename one"):
        find(["t", "q1", "q2", "q3", "t"])
    with refused(f"InputError.*10001 columns, expected at most {MAX_COLUMNS}"):
        find([f"x{k}" for k in range(MAX_COLUMNS + 1)])


def test_joints_that_the_arm_does_not_have_are_warned_of() -> None:
    with pytest.warns(IgnoredWarning, match=r"ignored, no such joint in an arm with 3 joints: q4, qd\[7\]\."):
        find(["q1", "q2", "q3", "q4", "qd[7]", "x4"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find(["q1", "q2", "q3", "query4", "temperature1"])


def test_messages_stay_short_for_hostile_headers() -> None:
    with pytest.raises(InputError) as error:
        find([f"{k}{'x' * 5000}\n" for k in range(1000)])
    assert len(str(error.value)) < 2000
    assert "and 988 more" in str(error.value)
    assert "\n" not in str(error.value)
