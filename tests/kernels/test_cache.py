"""Machine code on disk: found by other processes, never trusted when damaged,
and never in the way when the disk is.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pwd
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.kernels import cache, cache_key, compile_request, elf
from forearm.kernels.compiled import Compiled, CompileRequest

ARM = fa.load("ascher2")
STATES = np.linspace(0.1, 0.9, 3 * 5 * ARM.n).reshape(3, 5, ARM.n)
KEYS = [hashlib.sha256(str(k).encode()).hexdigest() for k in range(8)]
ABOUT = {"arm": "a", "functions": ["f"], "dtype": "float64", "part": "single"}
PATIENCE = 120  # s that a process may take before it is said to hang
# One state and many, as a process of its own prints them.
WORK = """
import sys
import numpy as np
import forearm as fa

arm = fa.load("ascher2")
kernel = fa.compile(arm)
states = np.linspace(0.1, 0.9, 3 * 5 * arm.n).reshape(3, 5, arm.n)
print(kernel.inverse_dynamics(*states[:, 0]).tobytes().hex(), kernel.inverse_dynamics(*states).tobytes().hex())
"""  # noqa: E501
NOTHING_MADE = (
    "import sys\nsys.modules['forearm.kernels.compile_request'] = None\n"  # importing it is an error now
)
WITHOUT_LLVM = "assert 'llvmlite' not in sys.modules, 'LLVM was loaded'\n" if elf.is_possible() else ""
BY_LLVM = "import forearm.kernels.elf as elf\nelf.is_possible = lambda: False\n"


def torques() -> str:
    """What WORK prints."""
    kernel = fa.compile(ARM)
    return (
        f"{kernel.inverse_dynamics(*STATES[:, 0]).tobytes().hex()} "
        f"{kernel.inverse_dynamics(*STATES).tobytes().hex()}"
    )


def one_torque() -> bytes:
    """One state by a kernel that knows nothing yet: one file of the cache."""
    return bytes(fa.compile(ARM).inverse_dynamics(*STATES[:, 0]).tobytes())


def run(code: str, place: Path | str, **environment: str) -> str:
    """What a process of its own prints."""
    made = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"FOREARM_CACHE": str(place)} | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert made.returncode == 0, f"left with {made.returncode}: {made.stderr}"
    return made.stdout.strip()


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def assert_whole(place: Path) -> None:
    """Nothing but files that can be read."""
    for name in names(place):
        key = name.removesuffix(cache.ENDING)
        assert cache.read(key) is not None, name


def sealed(head: Any, code: bytes) -> bytes:
    """A file of the cache with a digest that is right, whatever is in it."""
    body = (head if isinstance(head, bytes) else json.dumps(head).encode()) + b"\n" + code
    return cache.MAGIC + hashlib.sha256(body).hexdigest().encode() + body


@pytest.fixture(scope="module")
def right() -> str:
    return run(WORK, "off")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache: the folder is not there yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("FOREARM_CACHE", str(folder))
    monkeypatch.delenv("FOREARM_CACHE_BYTES", raising=False)
    return folder


@pytest.fixture
def makings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that were compiled, as it happens."""
    parts: list[str] = []
    made = compile_request.made

    def noted(request: CompileRequest, part: str, *rest: Any) -> Any:
        parts.append(part)
        return made(request, part, *rest)

    monkeypatch.setattr(compile_request, "made", noted)
    return parts


@pytest.fixture
def kept(place: Path) -> Path:
    """The one file of a cache that holds one function."""
    one_torque()
    (path,) = place.iterdir()
    return path


# Found again


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_has_the_same_bits(place: Path, right: str) -> None:
    assert run(WORK, place) == right
    assert len(names(place)) == 2
    assert run(NOTHING_MADE + WORK + WITHOUT_LLVM, place) == right
    assert_whole(place)


@pytest.mark.slow
def test_nothing_made_would_notice(place: Path) -> None:
    with pytest.raises(AssertionError, match=r"import of forearm\.kernels\.compile_request halted"):
        run(NOTHING_MADE + WORK, place)


@pytest.mark.slow
def test_llvm_s_own_loader_takes_the_same_files(place: Path, right: str) -> None:
    run(WORK, place)
    assert run(NOTHING_MADE + BY_LLVM + WORK, place) == right


@pytest.mark.slow
def test_kernels_of_one_process_share_it(place: Path, makings: list[str]) -> None:
    first = torques()
    assert makings == ["single", "batch"]
    assert torques() == first
    assert makings == ["single", "batch"]


def test_what_is_told_about_a_function_comes_back_whole(place: Path, makings: list[str]) -> None:
    request = CompileRequest(random_arm(3, 3).rigid(), ("bias", "inertia_matrix"), "float32")
    made, found = Compiled(request), Compiled(request)
    assert (made.inputs, made.outputs, made.counts) == (found.inputs, found.outputs, found.counts)
    assert makings == ["single"]
    assert [slot.shape for slot in found.outputs] == [(3,), (3, 3)]


# Damaged files


@pytest.mark.slow
def test_a_file_cut_short_anywhere_is_not_read(kept: Path) -> None:
    key, content = kept.stem, kept.read_bytes()
    for length in [*range(0, 700, 7), *range(700, len(content), 61), len(content) - 1]:
        kept.write_bytes(content[:length])
        assert cache.read(key) is None, length
        assert cache.about(kept) is None, length
    kept.write_bytes(content)
    assert cache.read(key) is not None
    assert cache.about(kept) is not None


@pytest.mark.slow
def test_one_bit_flipped_anywhere_is_noticed(kept: Path) -> None:
    key, content = kept.stem, kept.read_bytes()
    rng = random.Random(0)
    for at in [*range(0, 600, 3), *(rng.randrange(len(content)) for _ in range(200))]:
        changed = bytearray(content)
        changed[at] ^= 1 << rng.randrange(8)
        kept.write_bytes(changed)
        assert cache.read(key) is None, at
    kept.write_bytes(content + b"\0")
    assert cache.read(key) is None


def flipped(content: bytes, at: int) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 4
    return bytes(changed)


def rewritten(content: bytes, **changes: Any) -> bytes:
    """The file with another head and a digest that is right; None takes a field out."""
    head, code = cache._opened(content)
    return sealed({name: value for name, value in (head | changes).items() if value is not None}, code)


def without(name: str, content: bytes) -> bytes:
    return rewritten(content, **{name: None})


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda c: b"",
    "foreign": lambda c: b"\x89PNG\r\n" * 100,
    "cut in the head": lambda c: c[:150],
    "cut in the code": lambda c: c[:-1],
    "cut in half": lambda c: c[: len(c) // 2],
    "bit in the digest": lambda c: flipped(c, len(cache.MAGIC) + 5),
    "bit in the code": lambda c: flipped(c, len(c) // 2),
    "last bit": lambda c: flipped(c, len(c) - 1),
    "another key": lambda c: rewritten(c, key=KEYS[0]),
    "head not a table": lambda c: sealed([1, 2], cache._opened(c)[1]),
    "head not JSON": lambda c: sealed(b"{", cache._opened(c)[1]),
    "head too deep": lambda c: sealed(b"[" * 100_000, b""),
    "no code": lambda c: sealed(cache._opened(c)[0], b""),
    **{f"no {name}": partial(without, name) for name in ("key", "inputs", "counts")},
    "inputs a number": lambda c: rewritten(c, inputs=3),
    "shapes of words": lambda c: rewritten(c, outputs=[["tau", ["x"]]]),
    "counts of nothing": lambda c: rewritten(c, counts={"nothing": 1}),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_costs_nothing_but_time(damage: str, kept: Path, makings: list[str]) -> None:
    content = kept.read_bytes()
    truth = one_torque()
    kept.write_bytes(DAMAGE[damage](content))
    assert one_torque() == truth
    assert makings == ["single"]
    assert kept.read_bytes() == content, "replaced by a good one"
    assert one_torque() == truth
    assert makings == ["single"]


# What has a right digest was written here; even so no garbage may end the process, which LLVM's loader would.
GARBAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda code: b"",
    "noise": lambda code: random.Random(1).randbytes(3000),
    "noise behind a good start": lambda code: code[:64] + random.Random(1).randbytes(3000),
    "half": lambda code: code[: len(code) // 2],
}


@pytest.mark.skipif(not elf.is_possible(), reason="only LLVM loads code here, and it trusts what it is given")
@pytest.mark.slow
@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.sweep(first=1)
def test_garbage_under_a_right_digest_does_not_end_the_process(garbage: str, place: Path, right: str) -> None:
    run(WORK, place)
    good = {path: path.read_bytes() for path in place.iterdir()}
    for path, content in good.items():
        head, code = cache._opened(content)
        path.write_bytes(sealed(head, GARBAGE[garbage](code)))
    assert run(WORK, place) == right
    assert {path: path.read_bytes() for path in place.iterdir()} == good


@pytest.mark.slow
def test_noise_does_not_end_the_process_where_only_llvm_loads(place: Path, right: str) -> None:
    run(WORK, place)
    for path in place.iterdir():
        path.write_bytes(sealed(cache._opened(path.read_bytes())[0], GARBAGE["noise"](b"")))
    assert run(BY_LLVM + WORK, place) == right
    assert_whole(place)


def test_a_link_is_not_followed_and_is_replaced(kept: Path, tmp_path: Path, makings: list[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    kept.rename(elsewhere)
    kept.symlink_to(elsewhere)
    one_torque()
    assert makings == ["single"]
    assert not kept.is_symlink()
    assert kept.read_bytes() == elsewhere.read_bytes()


def test_a_folder_in_its_place_is_left_alone(kept: Path, makings: list[str]) -> None:
    truth = one_torque()
    kept.unlink()
    (kept / "inner").mkdir(parents=True)
    assert one_torque() == truth
    assert makings == ["single"]
    assert names(kept.parent) == [kept.name]
    assert names(kept) == ["inner"]


@pytest.mark.slow
def test_a_pipe_is_not_waited_for_and_is_replaced(place: Path, right: str) -> None:
    run(WORK, place)
    for path in place.iterdir():
        path.unlink()
        os.mkfifo(path, 0o600)
    assert run(WORK, place) == right
    assert all(stat.S_ISREG(path.lstat().st_mode) for path in place.iterdir())
    assert_whole(place)


def test_a_file_too_large_is_not_read(
    kept: Path, monkeypatch: pytest.MonkeyPatch, makings: list[str]
) -> None:
    monkeypatch.setattr(cache, "LARGEST", kept.stat().st_size - 1)
    assert cache.read(kept.stem) is None
    assert cache.about(kept) is None
    kept.unlink()
    one_torque()
    assert names(kept.parent) == [], "nor written"


# Several at once


@pytest.mark.slow
def test_processes_at_once_on_an_empty_cache(place: Path, right: str) -> None:
    environment = os.environ | {"FOREARM_CACHE": str(place)}
    started = [
        subprocess.Popen([sys.executable, "-c", WORK], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=PATIENCE)[0].strip() for process in started]
    assert said == [right] * 2
    assert [process.returncode for process in started] == [0] * 2
    assert len(names(place)) == 2
    assert all(name.endswith(cache.ENDING) for name in names(place))
    assert_whole(place)


WRITER = """
import itertools, sys
from forearm.kernels import cache
keys = sys.argv[1:]
for k in itertools.count():
    cache.write(keys[k % len(keys)], {"k": k % 256}, bytes([k % 256]) * 6_000_000)
    print("written", flush=True)
"""


@pytest.mark.long
def test_writers_that_are_killed_leave_only_whole_files(place: Path) -> None:
    rng = random.Random(3)
    for _ in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, *KEYS[:3]], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        time.sleep(rng.uniform(0.05, 0.2))
        writer.kill()
        writer.communicate()
    found = cache.entries(place)
    assert found, "something was written"
    for entry in found:
        kept = cache.read(entry.path.stem)
        assert kept is not None
        head, code = kept
        assert code == bytes([head["k"]]) * 6_000_000


@pytest.mark.slow
def test_one_killed_before_the_file_has_its_name_does_no_harm(place: Path, right: str) -> None:
    kill = "import os, signal\nos.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)\n"
    killed = subprocess.run(
        [sys.executable, "-c", kill + WORK], check=False, timeout=PATIENCE, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL
    (part,) = place.glob("*.part")
    assert run(WORK, place) == right
    assert part.exists(), "it could be being written"
    assert len(cache.entries(place)) == 2


def test_unfinished_files_go_when_they_are_old(place: Path) -> None:
    cache.write(KEYS[0], ABOUT, b"code")
    old, young = (place / f"{KEYS[1]}.{k}.{k}.part" for k in (1, 2))
    ours_not = place / "download.part"
    for path, age in ((old, cache.STALE + 60), (young, cache.STALE - 600), (ours_not, 2 * cache.STALE)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    cache.write(KEYS[2], ABOUT, b"code")
    assert names(place) == sorted([f"{KEYS[0]}.kernel", f"{KEYS[2]}.kernel", young.name, ours_not.name])


def test_a_file_that_vanishes_while_the_folder_is_read_hides_no_other(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in KEYS[:4]:
        cache.write(key, ABOUT, b"code")
    scandir = os.scandir

    class Racing:
        def __init__(self, item: Any) -> None:
            self.name, self.path, self.item = item.name, item.path, item

        def is_file(self, **named: bool) -> bool:
            return bool(self.item.is_file(**named))

        def stat(self, **named: bool) -> os.stat_result:
            if self.name.startswith(KEYS[1]):
                raise FileNotFoundError(self.path)
            return os.stat(self.path, follow_symlinks=named["follow_symlinks"])

    class Scan:
        def __init__(self, folder: Path) -> None:
            self.found = scandir(folder)

        def __enter__(self) -> Iterator[Racing]:
            return iter(
                sorted((Racing(item) for item in self.found), key=lambda r: not r.name.startswith(KEYS[1]))
            )

        def __exit__(self, *_: object) -> None:
            self.found.close()

    monkeypatch.setattr(os, "scandir", Scan)
    assert sorted(entry.path.stem for entry in cache.entries(place)) == sorted([KEYS[0], *KEYS[2:4]])


@pytest.mark.slow
def test_a_child_does_not_disturb_its_parent(place: Path, right: str) -> None:
    fork = """
import os
single, batch = kernel.inverse_dynamics(*states[:, 0]), states[:, :3].copy()
fresh = fa.compile(arm)
fresh.inverse_dynamics(*states[:, 0])  # its table of addresses is filled
child = os.fork()
if child == 0:
    fresh.inverse_dynamics(*batch)  # code that only the child has
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(fresh.inverse_dynamics(*batch)[0], single)
"""
    assert run(WORK + fork, place) == right


# The disk is in the way


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EIO], ids=errno.errorcode.get
)
@pytest.mark.parametrize("call", ["open", "replace", "fdopen", "mkdir", "scandir", "utime"])
@pytest.mark.sweep
def test_errors_of_the_disk_are_not_the_user_s(
    call: str, number: int, place: Path, right: str, makings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    cache_key.surroundings()  # once a process; it reads this package's own files
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        found = torques(), torques()
    assert found == (right, right)
    assert not [name for name in names(place) if name.endswith(".part")]
    writing = call in ("open", "replace", "fdopen", "mkdir")
    assert len(names(place)) == (0 if writing else 2)
    assert len(makings) == (4 if writing else 2)


def test_a_folder_that_cannot_be_written_is_still_read(place: Path, makings: list[str]) -> None:
    truth = one_torque()
    place.chmod(0o500)
    if os.access(place, os.W_OK):
        pytest.skip("nothing is read-only to this user")
    try:
        assert one_torque() == truth
        torques()
        assert makings == ["single", "batch"]
        assert len(names(place)) == 1
    finally:
        place.chmod(0o700)


@pytest.mark.slow
def test_a_disk_that_fills_up_half_way_leaves_nothing_behind(place: Path, right: str) -> None:
    # Python ignores the signal that comes with it, so that a write stops short with an error.
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    assert run(limit + WORK, place) == right
    assert place.is_dir()
    assert names(place) == []


@pytest.mark.slow
def test_a_file_where_the_folder_should_be(place: Path, right: str) -> None:
    place.write_text("mine", encoding="utf-8")
    assert torques() == right
    assert place.read_text(encoding="utf-8") == "mine"
    assert "not a folder" in str(cache.trouble(place))


@pytest.mark.slow
@pytest.mark.parametrize("off", ["off", ""])
@pytest.mark.sweep(first=1)
def test_off_reads_and_writes_nothing(off: str, tmp_path: Path, right: str) -> None:
    assert run(WORK, off, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "xdg")) == right
    assert names(tmp_path) == []


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOREARM_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.folder() == tmp_path / ".cache" / "forearm"
    one_torque()
    assert stat.S_IMODE((tmp_path / ".cache" / "forearm").stat().st_mode) == 0o700
    assert [stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / ".cache" / "forearm").iterdir()] == [0o600]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "forearm"
    monkeypatch.setenv("FOREARM_CACHE", "~/mine")
    assert cache.folder() == tmp_path / "mine"


@pytest.mark.parametrize("named", [None, "~/mine", "~nobody-of-this-name/mine"])
def test_without_a_home_there_is_no_cache(
    named: str | None, monkeypatch: pytest.MonkeyPatch, right: str
) -> None:
    def unknown(_: object) -> Any:
        raise KeyError

    for name in ("HOME", "XDG_CACHE_HOME", "FOREARM_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    if named is not None:
        monkeypatch.setenv("FOREARM_CACHE", named)
    assert cache.folder() is None
    assert torques() == right


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(mode: int, kept: Path, makings: list[str]) -> None:
    place = kept.parent
    truth, content = one_torque(), kept.read_bytes()
    place.chmod(mode)
    assert "can be written to by others" in str(cache.trouble(place))
    assert one_torque() == truth
    assert makings == ["single"], "not read"
    kept.unlink()
    one_torque()
    assert names(place) == [], "not written"
    place.chmod(0o755)
    kept.write_bytes(content)
    kept.chmod(0o600)
    makings.clear()
    assert one_torque() == truth
    assert makings == []


def test_the_folder_of_another_user_is_not_used(
    kept: Path, makings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert cache.trouble(kept.parent) == "belongs to another user"
    one_torque()
    assert makings == ["single"]


@pytest.mark.parametrize("mode", [0o660, 0o606])
def test_a_file_that_others_may_write_to_is_not_used_and_is_replaced(
    mode: int, kept: Path, makings: list[str]
) -> None:
    kept.chmod(mode)
    assert cache.about(kept) is None
    one_torque()
    assert makings == ["single"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_the_file_of_another_user_is_not_used(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = os.getuid()
    monkeypatch.setattr(cache, "trouble", lambda place: None)
    assert cache.read(kept.stem) is not None
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert cache.read(kept.stem) is None


# Bounded


def aged(place: Path, key: str, age: float) -> None:
    os.utime(place / f"{key}.kernel", (time.time() - age,) * 2)


def test_the_longest_unused_go_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_CACHE_BYTES", "45000")
    for k, key in enumerate(KEYS[:4]):
        cache.write(key, ABOUT, bytes(10_000))
        aged(place, key, 1000.0 - k)
    assert [entry.path.stem for entry in cache.entries(place)] == KEYS[:4]
    assert cache.read(KEYS[0]) is not None, "used now, so the youngest"
    cache.write(KEYS[4], ABOUT, bytes(10_000))
    assert sorted(e.path.stem for e in cache.entries(place)) == sorted([KEYS[0], *KEYS[2:5]])
    cache.write(KEYS[5], ABOUT, bytes(25_000))
    left = {entry.path.stem for entry in cache.entries(place)}
    assert KEYS[5] in left
    assert not {KEYS[2], KEYS[3]} & left
    assert sum(entry.size for entry in cache.entries(place)) <= 45_000
    cache.write(KEYS[6], ABOUT, bytes(50_000))
    assert {entry.path.stem for entry in cache.entries(place)} == left, "more than the bound is not kept"


@pytest.mark.slow
def test_many_files_are_bounded_though_they_are_not_looked_at_after_every_write(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes to the folder too, unseen between two looks."""
    monkeypatch.setenv("FOREARM_CACHE_BYTES", "100000")
    monkeypatch.setattr(cache, "MANY", 10)
    looked_at, written = [], cache._written

    def look(place: Path) -> Any:
        looked_at.append(place)
        return written(place)

    monkeypatch.setattr(cache, "_written", look)
    ours, others = (
        [hashlib.sha256(f"{who} {k}".encode()).hexdigest() for k in range(100)] for who in ("we", "they")
    )
    for k, key in enumerate(ours):
        cache.write(key, ABOUT, bytes(1000))
        aged(place, key, 1000.0 - k)
        (place / f"{others[k]}.kernel").write_bytes(bytes(1000))
        if k == 30:
            assert len(looked_at) < 20
        if k % 10 == 9:
            taken = sum(path.stat().st_size for path in place.iterdir())
            assert taken <= 100_000 * (1.0 + cache.SHARE)
    assert cache.read(ours[-1]) is not None
    assert cache.read(ours[0]) is None


def strangers(place: Path) -> list[str]:
    """Things in the folder that the cache did not write, though their names look like it."""
    place.mkdir(mode=0o700, exist_ok=True)
    for name in (
        "notes.txt",
        "my.kernel",
        f"{'g' * 64}.kernel",
        f"{KEYS[7]}.kernel.bak",
        f"{KEYS[7]}.part",
        "x.1.2.part",
    ):
        (place / name).write_bytes(bytes(5000))
        os.utime(place / name, (1.0, 1.0))
    (place / f"{KEYS[6]}.kernel").mkdir()
    (place / f"{KEYS[5]}.kernel").symlink_to(place / "notes.txt")
    return names(place)


def test_foreign_files_are_never_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = strangers(place)
    monkeypatch.setenv("FOREARM_CACHE_BYTES", "1500")
    for key in KEYS[:3]:
        cache.write(key, ABOUT, bytes(1000))
    assert names(place) == sorted([*foreign, f"{KEYS[2]}.kernel"])
    (place / f"{KEYS[1]}.12.34.part").write_bytes(b"half")
    count, size = cache.clear(place)
    assert (count, names(place)) == (2, foreign)
    assert 1000 < size < 1500


@pytest.mark.parametrize(
    ("given", "bound"),
    [("1000", 1000), ("0", 0), ("", None), ("-1", None), ("1e6", None), ("\u00b2", None), ("9" * 5000, None)],
)
def test_the_bound(given: str, bound: int | None, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.getfilesystemencoding() == "ascii" and not given.isascii():
        pytest.skip("no variable can hold it here")
    monkeypatch.setenv("FOREARM_CACHE_BYTES", given)
    assert cache.bound() == (cache.BOUND if bound is None else bound)
    cache.write(KEYS[0], ABOUT, bytes(2000))
    assert len(names(place)) == (1 if bound is None else 0)


# What a file says about itself


def test_about_reads_no_more_than_the_start(kept: Path) -> None:
    head = cache.about(kept)
    assert head is not None
    shown = {name: head[name] for name in ("arm", "functions", "dtype", "part")}
    assert shown == {
        "arm": "ascher2",
        "functions": ["inverse_dynamics"],
        "dtype": "float64",
        "part": "single",
    }
    content = kept.read_bytes()
    kept.write_bytes(flipped(content, len(content) - 1))
    assert cache.about(kept) == head
    assert cache.read(kept.stem) is None


@pytest.mark.parametrize(
    "damage",
    [
        d
        for d in DAMAGE
        if d
        not in {
            "bit in the digest",
            "bit in the code",
            "last bit",
            "no name",
            "no inputs",
            "no counts",
            "no entry",
            "inputs a number",
            "shapes of words",
            "another name",
            "counts of nothing",
            "no code",
        }
    ],
)
def test_about_says_nothing_of_a_damaged_start(damage: str, kept: Path) -> None:
    kept.write_bytes(DAMAGE[damage](kept.read_bytes()))
    assert cache.about(kept) is None


@pytest.mark.parametrize(
    "changes",
    [{"arm": "a\x1b[2J"}, {"arm": 3}, {"functions": "f" * 3 + "\n"}, {"functions": [None]}, {"bytes": "x"}],
    ids=str,
)
def test_about_gives_only_what_can_be_printed(changes: dict[str, Any], kept: Path) -> None:
    kept.write_bytes(rewritten(kept.read_bytes(), **changes))
    assert cache.about(kept) is None


def test_about_takes_no_endless_head(place: Path) -> None:
    place.mkdir(mode=0o700)
    path = place / f"{KEYS[0]}.kernel"
    path.write_bytes(sealed({"key": KEYS[0], "bytes": 0, **ABOUT, "arm": "x" * cache.HEAD}, b""))
    path.chmod(0o600)
    assert cache.about(path) is None
