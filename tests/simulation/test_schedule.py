"""Schedules: what they say between and behind their times, their files to the bit,
and every complaint about a file.
"""

from __future__ import annotations

import dataclasses
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import forearm as fa
from forearm.errors import ForearmError, InputError
from forearm.simulation import Schedule

PAIR = Schedule(times=np.array([0.0, 1.0, 3.0]), values=np.array([[1.0, -1.0], [2.0, 0.5], [6.0, 0.25]]))
FINITE = st.floats(min_value=-1e30, max_value=1e30)


@pytest.fixture
def arm() -> fa.Arm:
    return fa.load("chain2")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "volts.csv"
    path.write_text(text, encoding="utf-8")
    return path


# --- values -------------------------------------------------------------------------------------------


def test_values_hold_or_join() -> None:
    asked = [0.0, 0.5, 1.0, 2.0, 3.0, 99.0]
    np.testing.assert_array_equal(PAIR.values_at(asked)[:, 0], [1.0, 1.0, 2.0, 2.0, 6.0, 6.0])
    joined = Schedule(times=PAIR.times, values=PAIR.values, how="linear")
    np.testing.assert_array_equal(joined.values_at(asked)[:, 0], [1.0, 1.5, 2.0, 4.0, 6.0, 6.0])
    np.testing.assert_array_equal(joined.value(2.0), [4.0, 0.375])
    t, x = np.sort(np.random.default_rng(1).uniform(-1e3, 1e3, (2, 8)))
    line = Schedule(times=t, values=x[:, None], how="linear")
    between = np.linspace(t[0], 2e3, 99)
    np.testing.assert_allclose(line.values_at(between)[:, 0], np.interp(between, t, x), rtol=1e-12)
    np.testing.assert_array_equal(line.values_at(t)[:, 0], x)
    assert joined.value(2.0).shape == (2,)
    assert joined.values_at([]).shape == (0, 2)


def test_constant() -> None:
    constant = Schedule.constant([1, 2, 3])
    np.testing.assert_array_equal(constant.values_at([0.0, 5.0]), [[1, 2, 3], [1, 2, 3]])
    np.testing.assert_array_equal(Schedule.constant([4.0], start=-2.0).value(-1.0), [4.0])
    assert repr(constant) == "<Schedule of values for 3 joints: 1 rows, from 0 s on, hold>"
    assert repr(PAIR) == "<Schedule of values for 2 joints: 3 rows, 0 to 3 s, hold>"
    with pytest.raises(InputError, match=r"expected one value per joint, \(n,\), got shape \(1, 1\)"):
        Schedule.constant([[1.0]])


def test_before_the_first_time_there_is_no_value() -> None:
    said = r"schedule: it begins at 0\.0 s, so it has no value at .* s\. Give it a row for the time"
    for t in (-1e-9, float("nan"), float("inf"), -float("inf")):
        with pytest.raises(InputError, match=said):
            PAIR.value(t)


def test_a_converter_holds_what_was_there_at_the_start_of_its_period() -> None:
    np.testing.assert_array_equal(PAIR.sampled(0.4, 1.5)[:, 0], [1.0, 1.0, 1.0, 2.0])  # at 0, 0.4, 0.8, 1.2 s
    assert PAIR.sampled(0.5, 1.5).shape == (3, 2)
    assert PAIR.sampled(0.5, 0.0).shape == (0, 2)
    np.testing.assert_array_equal(PAIR.sampled(1.0, 2.0, start=1.0)[:, 0], [2.0, 2.0])


@given(period=st.sampled_from(["0.1", "0.001", "0.0007", "0.003"]), steps=st.integers(1, 3000))
def test_rounding_makes_no_step_late(period: str, steps: int) -> None:
    at = float(Fraction(period) * steps)  # what a person writes into the file for the start of a period
    schedule = Schedule(times=np.array([0.0, at]), values=np.array([[1.0], [2.0]]))
    held = schedule.sampled(float(period), at + 2.5 * float(period))
    assert len(held) == steps + 3
    np.testing.assert_array_equal(held[:, 0], [1.0] * steps + [2.0] * 3)


def test_too_many_samples() -> None:
    with pytest.raises(
        InputError, match=r"schedule: 1e\+09 s in periods of 0\.001 s are 1e\+12 samples of 2 joints; at most"
    ):
        PAIR.sampled(1e-3, 1e9)
    with pytest.raises(ForearmError, match="schedule, period: must be above 0"):
        PAIR.sampled(0.0, 1.0)
    with pytest.raises(ForearmError, match="schedule, duration: must be at least 0"):
        PAIR.sampled(1.0, -1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"times": [0.0, 1.0]},
            r"schedule: expected at least one time, \(K,\), and values \(K, n\), got \(2,\) and \(3, 2\)",
        ),
        ({"times": [], "values": np.zeros((0, 2))}, r"at least one time"),
        (
            {"times": [0.0, 1.0, 1.0]},
            r"schedule, times: expected increasing times, got 1\.0 s \(number 3\) after 1\.0 s\.",
        ),
        ({"times": [0.0, np.nan, 1.0]}, "schedule, times: every number must be finite"),
        ({"values": np.full((3, 2), np.inf)}, "schedule, values: every number must be finite"),
        ({"values": np.full((3, 2), 1e31)}, r"schedule, values: no number may exceed 1e\+30"),
        ({"values": "many"}, "schedule, values: expected numbers, got 'many'"),
        ({"how": "cubic"}, "schedule, how: expected one of hold, linear, got 'cubic'"),
        ({"how": None}, "schedule, how: expected one of hold, linear, got None"),
        ({"quantity": "current"}, "schedule, quantity: expected one of voltage, torque, got 'current'"),
        ({"joints": ("a",)}, "schedule: 2 columns of values, but 1 names of joints"),
        ({"joints": ("a", "\n")}, "joint: a name must be printable text"),
    ],
)
def test_what_is_no_schedule(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Schedule(**({"times": PAIR.times, "values": PAIR.values} | changes))


def test_a_schedule_for_something_else(arm: fa.Arm) -> None:
    PAIR.check_for(arm, "torque")
    volts = Schedule(times=PAIR.times, values=PAIR.values, joints=("joint1", "joint2"), quantity="voltage")
    volts.check_for(arm, "voltage")
    with pytest.raises(
        InputError, match="schedule: expected a torque in its columns, got a voltage in each; rename"
    ):
        volts.check_for(arm, "torque")
    with pytest.raises(
        InputError,
        match=(
            r"'chain3' has 3 joints \(joint1, joint2, joint3\), the schedule is for joint1, joint2\. Read it"
        ),
    ):
        volts.check_for(fa.load("chain3"), "voltage")
    with pytest.raises(InputError, match="the schedule is for 2 without names"):
        PAIR.check_for(fa.load("chain3"), "torque")


# --- files --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@settings(max_examples=15)
@given(data=st.data())
def test_written_and_read_it_is_the_same_to_the_bit(tmp_path_factory: Any, ending: str, data: Any) -> None:
    path = tmp_path_factory.mktemp("schedule") / f"a.{ending}"
    times = np.array(sorted(data.draw(st.sets(FINITE, min_size=1, max_size=6))))
    values = data.draw(hnp.arrays(np.float64, (len(times), 2), elements=FINITE))
    names = data.draw(st.sampled_from([(), ("joint1", "joint2")]))
    quantity = data.draw(st.sampled_from([None, "voltage", "torque"]))
    how = data.draw(st.sampled_from(["hold", "linear"]))
    schedule = Schedule(times=times, values=values, how=how, joints=names, quantity=quantity)
    schedule.write(path)
    again = Schedule.read(path, fa.load("chain2"), how)
    assert again.times.tobytes() == times.tobytes()
    assert again.values.tobytes() == values.tobytes()
    assert (again.how, again.quantity, again.joints) == (how, quantity, ("joint1", "joint2"))


TROUBLE = ["t", "time", "v2", "u1", "tau1", "1", "nan", " a", 'a"b', "a,b", ";;;", "ß", "#x", "0x1", "-"]


@pytest.mark.slow
@settings(max_examples=20)
@given(
    names=st.lists(
        st.one_of(st.sampled_from(TROUBLE), st.text(min_size=1, max_size=6)),
        min_size=3,
        max_size=3,
        unique=True,
    )
)
def test_any_names_of_joints_come_back(tmp_path_factory: Any, names: list[str]) -> None:
    assume(all(name.strip() and name.isprintable() for name in names))
    path = tmp_path_factory.mktemp("schedule") / "a.csv"
    named = fa.load("chain3")
    joints = [joint_named(joint, name) for joint, name in zip(named.tree, names, strict=True)]
    named = named.replace(tree=tuple(joints))
    schedule = Schedule(times=np.array([0.0]), values=np.array([[1.0, 2.0, 3.0]]), joints=tuple(names))
    if any(
        name == f"u{k}" and k != i + 1 for i, name in enumerate(names) for k in (1, 2, 3)
    ) and not is_plain(names):
        with pytest.raises(
            InputError, match="cannot be told apart in a file by name or by number; rename them"
        ):
            schedule.write(path)
        return
    schedule.write(path)
    again = Schedule.read(path, named)
    np.testing.assert_array_equal(again.values, schedule.values)
    assert again.joints == tuple(names)


def is_plain(names: list[str]) -> bool:
    """Whether a header of these names alone can be read back."""
    return set(names).isdisjoint(TROUBLE) and not any(
        set(name) & set(',;"') or name != name.strip() for name in names
    )


def joint_named(joint: fa.Joint, name: str) -> fa.Joint:
    return dataclasses.replace(joint, name=name)


@pytest.mark.parametrize(
    "header",
    ["time,joint1,joint2", "t,voltage1,voltage2", "t,v1,v2", "t,torque1,torque2", "t,tau1,joint2", "t,u1,u2"],
)
def test_headers_that_do(header: str, arm: fa.Arm, tmp_path: Path) -> None:
    schedule = Schedule.read(written(tmp_path, f"# a comment\n{header}\n0,1,2\n0.5,3,4\n"), arm)
    np.testing.assert_array_equal(schedule.values, [[1.0, 2.0], [3.0, 4.0]])
    assert schedule.quantity == {"v": "voltage", "t": "torque"}.get(header.split(",")[1][0])


def test_columns_in_any_order_and_separated_by_semicolons(arm: fa.Arm, tmp_path: Path) -> None:
    schedule = Schedule.read(written(tmp_path, "\ufeffv2;t;v1\r\n4;-1;3\r\n6;2;5\r\n\r\n"), arm, how="linear")
    np.testing.assert_array_equal(schedule.times, [-1.0, 2.0])
    np.testing.assert_array_equal(schedule.values, [[3.0, 4.0], [5.0, 6.0]])
    assert schedule.how == "linear"


COMPLAINTS = {
    "": r"volts\.csv: empty; expected a header row and rows of numbers",
    "t,v1,v2\n": r"volts\.csv: no row of numbers after the header",
    "0,1,2\n": r"volts\.csv, line 1: expected a header row such as .* above the numbers",
    "v1,v2\n1,2\n": (
        r"volts\.csv: no time column; name it t, in s\. Columns are t and, in any "
        r"order, the joints' names or"
    ),
    "t,v1\n0,1\n": (
        r"volts\.csv: every joint needs a column; missing: 'joint2'\. A joint without drive has zeros\."
    ),
    "t,joint1,jiont2\n0,1,2\n": r"volts\.csv, column 'jiont2': no such joint; did you mean 'joint2'",
    "t,v1,v2,v3\n0,1,2,3\n": (
        r"volts\.csv, column 'v3': no such joint; there are: joint1, joint2, t, time, voltage1, v1"
    ),
    "t,v1,v2,current\n0,1,2,3\n": r"volts\.csv, column 'current': no such joint; there are: joint1, joint2, ",
    "t,v1,v2,v1\n0,1,2,3\n": r"volts\.csv: 'v1' and 'v1' are the same column; remove one",
    "t,v1,joint1,v2\n0,1,2,3\n": r"volts\.csv: 'v1' and 'joint1' are the same column",
    "t,time,v1,v2\n0,1,2,3\n": r"volts\.csv: 't' and 'time' are the same column",
    "t,v1,tau2\n0,1,2\n": r"volts\.csv: 'v1' and 'tau2': a schedule holds voltages or torques, not both",
    "t,v1,v2\n0,1,2\n1,,2\n": (
        r"volts\.csv, line 3, column 'v1': expected a finite number, got an empty field"
    ),
    "t,v1,v2\n0,1,2\n\n1,1,2\n": (
        r"volts\.csv, line 3: expected 3 fields as in the header, got a blank line"
    ),
    "t,v1,v2\n0,1,2\n1,1\n": r"volts\.csv, line 3: expected 3 fields as in the header, got 2: '1,1'",
    "t,v1,v2\n0,1,nan\n": r"volts\.csv, line 2, column 'v2': expected a finite number, got 'nan'",
    "t,v1,v2\ninf,1,2\n": r"volts\.csv, line 2, column 't': expected a finite number, got 'inf'",
    "t,v1,v2\n0,1,off\n": r"volts\.csv, line 2, column 'v2': expected a finite number, got 'off'",
    "t;v1;v2\n0;1;2,5\n": r"got '2,5'\. Use a decimal point, not a comma",
    "t,v1,v2\n0,1,2\n1,1,2\n1,3,4\n": (
        r"volts\.csv, line 4, column 't': times must increase, got 1\.0 after 1\.0\. Sort the rows"
    ),
    "t,v1,v2\n0,1,2\n-1,1,2\n": r"volts\.csv, line 3, column 't': times must increase, got -1\.0 after 0\.0",
    "t,v1,v2\n0,1,1e31\n": r"volts\.csv, schedule, values: no number may exceed 1e\+30",
    "t,v1,v2\n0,1,2\0\n": r"volts\.csv, line 2: a NUL byte",
    't,v1,"v2\n0,1,2\n': r"volts\.csv, line 1: unbalanced quotes",
    "t," + "v1," * 20_000 + "\n": r"volts\.csv, line 1: more than 10000 columns",
    "t" * 2_000_000: r"volts\.csv, line 1: longer than the 1000000 bytes allowed",
}


@pytest.mark.parametrize("text", COMPLAINTS, ids=lambda text: text[:20].replace("\n", "/").replace("\0", "0"))
def test_complaints_about_a_file(text: str, arm: fa.Arm, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=COMPLAINTS[text]) as caught:
        Schedule.read(written(tmp_path, text), arm)
    assert len(str(caught.value)) < 600


def test_a_name_that_is_two_things(arm: fa.Arm, tmp_path: Path) -> None:
    odd = arm.replace(
        tree=tuple(joint_named(joint, name) for joint, name in zip(arm.tree, ("v2", "b"), strict=True))
    )
    with pytest.raises(InputError, match=r"column 'v2': ambiguous: .* such as u1\.\.u2, or rename the joint"):
        Schedule.read(written(tmp_path, "t,v2,b\n0,1,2\n"), odd)
    np.testing.assert_array_equal(
        Schedule.read(written(tmp_path, "t,u2,u1\n0,1,2\n"), odd).values, [[2.0, 1.0]]
    )


def test_late_times_in_parquet_and_across_blocks(
    arm: fa.Arm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"t": [0.0, 1.0, 0.5], "v1": [1.0, 2.0, 3.0], "v2": [0, 0, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r"a\.parquet, row 3, column 't': times must increase, got 0\.5 after 1\.0"
    ):
        Schedule.read(tmp_path / "a.parquet", arm)
    monkeypatch.setattr("forearm.logs.csvfile.BLOCK", 12)
    with pytest.raises(
        InputError, match=r"volts\.csv, line 7, column 't': times must increase, got 2\.0 after 4\.0"
    ):
        Schedule.read(
            written(tmp_path, "t,v1,v2\n" + "".join(f"{k},1,2\n" for k in (0, 1, 2, 3, 4, 2, 6))), arm
        )


def test_a_file_that_is_too_long(arm: fa.Arm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.simulation.schedule.MAX_NUMBERS", 5)
    with pytest.raises(
        InputError, match=r"volts\.csv: more than the 5 numbers allowed in a schedule; split the file"
    ):
        Schedule.read(written(tmp_path, "t,v1,v2\n0,1,2\n1,1,2\n"), arm)


def test_files_that_are_none(arm: fa.Arm, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: no such file\. Check the path\."):
        Schedule.read(tmp_path / "none.csv", arm)
    with pytest.raises(InputError, match=r"a\.xlsx: a table of states .* ends in"):
        Schedule.read(tmp_path / "a.xlsx", arm)
    with pytest.raises(InputError, match=r"schedule, arm: expected an Arm, .* got 'chain2'"):
        Schedule.read(tmp_path / "none.csv", "chain2")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected one of hold, linear, got 'spline'"):
        Schedule.read(tmp_path / "none.csv", arm, how="spline")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"a\.xlsx: a table of numbers ends in \.csv, \.parquet or \.pq"):
        PAIR.write(tmp_path / "a.xlsx")
    assert not os.listdir(tmp_path)


@settings(max_examples=40)
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text(alphabet="t,v12;\n\r\"'.-+e0N ", max_size=60).map(lambda s: ("t,v1,v2\n" + s).encode()),
    )
)
def test_any_bytes_are_a_schedule_or_an_error(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.mktemp("schedule") / "a.csv"
    path.write_bytes(data)
    try:
        schedule = Schedule.read(path, fa.load("chain2"))
    except ForearmError:
        return
    assert np.isfinite(schedule.values).all()
    assert (np.diff(schedule.times) > 0.0).all()
