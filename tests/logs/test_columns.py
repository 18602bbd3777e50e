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
        ("q1 q2 q3", "tau1 tau2 tau3"),
        ("q_1 q_2 q_3", "tau_1 tau_2 tau_3"),
        ("q[0] q[1] q[2]", "tau[0] tau[1] tau[2]"),
        ("q_base q_elbow q_wrist", "tau_base tau_elbow tau_wrist"),
        ("q.base q.elbow q.wrist", "tau.base tau.elbow tau.wrist"),
    ],
)
def test_every_spelling_is_taken_in_any_order_and_kept_for_the_results(q: str, tau: str) -> None:
    columns = find(["t", *q.split()[::-1], "note"])
    assert columns.places == {"q": (3, 2, 1)}
    assert columns.absent == ("qd", "qdd")
    assert columns.made == tuple(tau.split())
    assert find([name.replace("q", "qd") for name in q.split()]).made == columns.made


@pytest.mark.parametrize(
    ("header", "mapped", "words"),
    [
        (
            "q1 q2 q3 qd2",
            None,
            "qd is present for some joints only; missing: qd1, qd3. .*also be spelled qd_1, qd.0., qd_base "
            "or qd.base. Give qd for every joint, or for none",
        ),
        (
            "t x",
            None,
            "no column with q or qd or qdd of a joint. The header needs q1..q3, .* first joint q1, "
            "q_1, q.0., q_base or q.base; the file has t, x. Map other names, .*theirs=q for theirs1",
        ),
        ("t angle1", {"angel": "q", "angle": "tau"}, ".*No column of the file is called angel.$"),
        ("t actual_pos_A1", {"pos": "q", "t": "t"}, ".*No column of the file is called pos.$"),
        ("q0 q1 q2 q3", None, ".*q0 and q3 are both present, so joints are counted neither from"),
        ("t q1 q2 q3 t", None, ".*column 't' occurs twice; rename one"),
        ("x " * MAX_COLUMNS + "x", None, f".*10001 columns, expected at most {MAX_COLUMNS}"),
        (" ".join(f"{k}{'x' * 5000}\n" for k in range(1000)), None, r"(?=[^\n]{,2000}$).*and 988 more"),
        ("winkel1 q1", {"winkel": "Q"}, ".*'winkel' is mapped to 'Q', which is not a quantity of a motion"),
        ("winkel1 q1", {"q": "winkel"}, ".*'q' is mapped to 'winkel', .*file's name comes first: 'winkel'"),
    ],
    ids=range(10),
)
def test_what_a_header_lacks_is_named(header: str, mapped: dict[str, str] | None, words: str) -> None:
    with refused(f"InputError: log.csv: {words}|InputError{words}"):
        find_columns(header.split(" "), QUESTION, "log.csv", True, mapped)


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
        ("position_0 position_1 position_2", "tau_0 tau_1 tau_2"),
        ("position1 position2 position3", "tau1 tau2 tau3"),
        ("Position0 Position1 Position2", "tau0 tau1 tau2"),
        ("field.position0 field.position1 field.position2", "tau0 tau1 tau2"),
        ("/joint_states/position[0] /joint_states/position[1] /joint_states/position[2]", None),
        ("/joint_states/base/position /joint_states/elbow/position /joint_states/wrist/position", None),
        ("base.position elbow.position wrist.position", "tau_base tau_elbow tau_wrist"),
        ("joint_position_base joint_position_elbow joint_position_wrist", None),
    ],
)
def test_the_words_of_other_worlds_are_taken(header: str, made: str | None) -> None:
    columns = find(["%time", *header.split()])
    assert columns.places == {"q": (1, 2, 3)}
    assert made is None or columns.made == tuple(made.split())


def test_the_log_of_a_franka_arm_is_read() -> None:
    joints = tuple(f"panda_joint{k}" for k in range(1, 8))
    words = ("tau_J", "tau_J_d", "dtau_J", "q", "q_d", "dq", "dq_d", "ddq_d", "tau_ext_hat_filtered")
    header = ["time", *(f"{word}[{i}]" for word in words for i in range(7))]
    found = recognised(header, Question(joints, (), ""), tuple(WORDS), "log.csv")
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


def test_other_names_can_be_told() -> None:
    header = ["angle_a", "angle_b", "angle_c", "q1"]
    given = {"angle_a": "q1", "angle_b": "q2", "angle_c": "q3"}
    columns = find_columns(header, QUESTION, "log.csv", True, given)
    assert columns.places == {"q": (0, 1, 2)}
    assert columns.made == ("tau1", "tau2", "tau3")
    header = ["winkel1", "winkel2", "winkel3", "q1"]
    assert find_columns(header, QUESTION, "log.csv", True, {"winkel": "q"}).places == {"q": (0, 1, 2)}
    for text, words in (("a,b=q", "--columns: expected .* but part 1 is 'a'"), ("a=q,", "but part 2 is ''")):
        with refused(f"InputError.*{words}; got '{text}'"):
            read_mapping(text, "--columns")
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


def test_joints_that_the_arm_does_not_have_are_warned_of() -> None:
    with pytest.warns(IgnoredWarning, match=r"ignored, no such joint in an arm with 3 joints: q4, qd\[7\]\."):
        find(["q1", "q2", "q3", "q4", "qd[7]", "x4"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find(["q1", "q2", "q3", "query4", "temperature1"])
