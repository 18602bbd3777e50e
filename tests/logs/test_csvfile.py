"""Text logs: what is read, what is refused and where, with Arrow and without;
written numbers keep their bits.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from forearm.errors import InputError
from forearm.logs import arrow, csvfile
from forearm.logs.block import RowBlock
from forearm.logs.columns import MAX_COLUMNS, Question, find_columns
from forearm.logs.csvfile import CsvReader, CsvWriter
from forearm.spatial import Floats

QUESTION = Question(("a", "b"), ("q", "qd"), "tau")


@pytest.fixture(params=["with Arrow", "without"], autouse=True)
def _either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without":
        monkeypatch.setattr(arrow, "arrow", lambda: None)


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvfile, "BLOCK", 64)


def blocks(data: bytes | str, question: Question = QUESTION) -> Iterator[RowBlock]:
    reader = CsvReader(io.BytesIO(data if isinstance(data, bytes) else data.encode()), "log.csv")
    yield from reader.blocks(find_columns(reader.header, question, "log.csv", True), whole=True)


def q_of(data: bytes | str) -> list[list[float]]:
    return [row for block in blocks(data) for row in block.states["q"].tolist()]


def refusal(data: bytes | str) -> str:
    with pytest.raises(InputError) as error:
        list(blocks(data))
    return str(error.value)


@pytest.mark.parametrize(
    "data",
    [
        "q1,q2\n1,2\n3,4\n",
        "q1,q2\n1,2\n3,4",
        "q1;q2\n1;2\n3;4\n",
        "q1\tq2\n1\t2\n3\t4\n",
        "q2,t,q1\n2,now,1\n4,then,3\n",
        "\ufeffq1,q2\n1,2\n3,4\n",
        "q1,q2\r\n1,2\r\n3,4\r\n",
        "# made by a robot\n\n  # q1;q2\nq1,q2\n1,2\n3,4\n\n\n\r\n",
        " q1 , q2 \n 1 , 2\n3.0,+4e0\n",
        '"q1","q2",note\n1,2,"a, b"\n"3",4,plain\n',
    ],
)
def test_what_a_csv_may_look_like(data: str) -> None:
    assert q_of(data) == [[1.0, 2.0], [3.0, 4.0]]


def test_absent_quantities_are_zero() -> None:
    (block,) = blocks("q1,q2\n1,2\n3,4\n")
    assert block.states["qd"].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_header_without_rows_has_no_block() -> None:
    assert q_of("q1,q2\n") == q_of("q1,q2") == q_of("q1,q2\n\n\n") == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,x,5", "column 'q2': expected a finite number, got 'x'."),
        ("1,,5", "column 'q2': expected a finite number, got an empty field."),
        ("nan,2,5", "column 'q1': expected a finite number, got 'nan'."),
        ("1e999,2,5", "column 'q1': expected a finite number, got '1e999'."),
        ("__import__('os'),2,5", "column 'q1': expected a finite number, got \"__import__('os')\"."),
        ("1,2,5,6", "expected 3 fields as in the header, got 4: '1,2,5,6'."),
        ("", "expected 3 fields as in the header, got a blank line."),
        ('1,2,"5', "unbalanced quotes: unexpected end of data; got '1,2,\"5'."),
        ("1,2,5\0", "a NUL byte: not a text file, or UTF-16. Save it as CSV in UTF-8."),
    ],
)
@pytest.mark.usefixtures("_small_blocks")
def test_a_fault_is_reported_with_its_line_wherever_the_block_begins(row: str, message: str) -> None:
    for before in (0, 1, 7, 20, 50):
        data = "# top\nq1,q2,t\n" + "1.5,2.5,0\n" * before + row + "\n" + "3,4,5\n" * 9
        text = refusal(data)
        where = f"log.csv, line {before + 3}"
        assert text in (f"{where}, {message}", f"{where}: {message}")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"q1;q2\n1,5;2\n", "got '1,5'. Use a decimal point, not a comma."),
        (b"q1,q2\n1,2,3\n4\n", "line 2: expected 2 fields as in the header, got 3"),
        (b"q1,q2\n1,2\n3\r,4\n", "line"),
        (b"q1,q2,t\n1,2,a\n1,2,\xe9\n", "line 3: not UTF-8 text. Save it as CSV in UTF-8."),
        ("q1,q2\n1,2\n".encode("utf-16"), "line 1: a NUL byte: not a text file, or UTF-16"),
        (b"# q1,q2\n1,2\n3,4\n", "line 2: expected a header row such as t,q1,q2,...,qd1,qd2,... above"),
        (b"", "empty; expected a header row and rows of numbers."),
        (b"# only\n\n", "empty; expected a header row and rows of numbers."),
        (b"q" * 5_000_000, "line 1: longer than the 1000000 bytes allowed"),
        (b"q1,q2\n1,2\n" + b"1" * 9_000_000, "line 3: longer than the 1000000 bytes allowed"),
        (b"q1,q2\n" + b"\n" * 5_000_000 + b"1,2\n", "line 2: longer"),
        (b"q1,q2" + b",x" * MAX_COLUMNS + b"\n", f"more than {MAX_COLUMNS} columns"),
    ],
    ids=range(12),
)
def test_a_file_that_is_no_table_is_refused_without_being_held(data: bytes, words: str) -> None:
    assert words in refusal(data)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_blocks")
def test_blocks_together_are_the_file() -> None:
    numbers = np.random.default_rng(5).normal(size=(300, 2))
    data = "q1,q2\n" + "".join(f"{a!r},{b!r}\n" for a, b in numbers.tolist())
    assert len(list(blocks(data))) > 50
    assert np.array_equal(q_of(data), numbers)
    assert np.array_equal(q_of(data.replace("\n", "\r\n") + "\r\n" * 80), numbers)


def written(rows: str, results: Floats, separator: str = ",") -> str:
    (block,) = blocks(f"q1{separator}q2{separator}t\n{rows}")
    stream = io.BytesIO()
    writer = CsvWriter(stream, ["q1", "q2", "t", "tau1", "tau2"], separator)
    writer.write(block, results)
    writer.close()
    return stream.getvalue().decode()


def test_rows_are_copied_as_they_came() -> None:
    text = written("1.50;2e0;now\n 3 ;4;\n", np.array([[0.5, -1.25], [1e-300, 2.5]]), ";")
    assert text == "q1;q2;t;tau1;tau2\n1.50;2e0;now;0.5;-1.25\n 3 ;4;;1e-300;2.5\n"


@pytest.mark.slow
@settings(max_examples=25)
@given(arrays(np.float64, (5, 2), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_written_numbers_read_back_bit_for_bit(numbers: Floats) -> None:
    for way in (arrow.written, lambda *_: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrow, "written", way)
            text = written("1,2,3\n" * len(numbers), numbers)
        (block,) = blocks(text.replace("q1,q2,t,tau1,tau2", "x,y,t,q1,q2"))
        assert block.states["q"].tobytes() == numbers.tobytes()


def test_names_are_quoted_where_they_must_be() -> None:
    assert csvfile.header_line(["a,b", 'say "x"', "q1", "a\rb"], ",") == '"a,b","say ""x""",q1,"a\rb"\n'
