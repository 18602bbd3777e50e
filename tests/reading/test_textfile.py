"""Files written whole or not at all, with the rights they should have, and files that are none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from forearm.errors import InputError
from forearm.reading.textfile import STRING_OR_COMMENT, parse_toml, read_bytes, replacing, write_text


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_the_rights_that_the_umask_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o027)
    try:
        # To ask for the umask is to set it, for every thread of the process: nobody may.
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
        write_text(tmp_path / "new.toml", "x")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert rights(tmp_path / "new.toml") == 0o640


def test_a_file_keeps_its_rights_and_nobody_else_reads_what_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "private.toml"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o600)
    with replacing(path) as stream:
        stream.write(b"new")
        (temporary,) = set(tmp_path.iterdir()) - {path}
        assert rights(temporary) == 0o600
        assert path.read_text(encoding="utf-8") == "old"
    assert (rights(path), path.read_text(encoding="utf-8"), list(tmp_path.iterdir())) == (
        0o600,
        "new",
        [path],
    )


def test_after_a_failure_the_old_file_is_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_text("old", encoding="utf-8")

    def fail() -> None:
        with replacing(path) as stream:
            stream.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (path.read_text(encoding="utf-8"), list(tmp_path.iterdir())) == ("old", [path])


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 300, "missing/arm.toml", "folder"])
def test_a_path_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot be written: "):
        write_text(f"{tmp_path}/{name}" if name else "", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_pipe_is_no_file_of_an_arm(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(
        InputError, match=r"pipe\.toml: a pipe or a device; only CSV logs can be read from one\.$"
    ):
        read_bytes(tmp_path / "pipe.toml", 10)


def test_text_that_is_no_toml_says_so() -> None:
    with pytest.raises(InputError, match=r"^x\.toml: not UTF-8 text \(byte 0\)\. Is this a TOML file\?$"):
        parse_toml(b"\xff", "x.toml")


@pytest.mark.parametrize(
    "text",
    [
        '"' + '\\"' * 9,
        '"""' + '\n\\"""' * 9,
        '"""' + '\n\\"""' * 9 + "\\",
        "'''" + "\n'" * 9,
        "'" + '"' * 9,
        '"""a"""""',
        "'''a''''",
    ],
)
def test_an_open_string_is_read_once(text: str) -> None:
    """One match from end to end: otherwise each quotation mark begins another search of all the rest."""
    assert STRING_OR_COMMENT.fullmatch(text.encode())


@pytest.mark.parametrize("string", [b'"""a""""', b"'''a'''''", b'"\\""', b"'\\'"])
def test_strings_hide_no_long_key(string: bytes) -> None:
    with pytest.raises(InputError, match=r"^x\.toml: a key with more than 64 dotted parts"):
        parse_toml(b"x = [" + string + b", {" + b"a." * 70 + b"a = 1}]", "x.toml")
