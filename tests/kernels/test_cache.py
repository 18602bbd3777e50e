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
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from arms import posture, random_arm

import forearm as fa
from forearm.kernels import cache, cache_key, compile_request, elf
from forearm.kernels.compiled import Compiled, CompileRequest
from forearm.kernels.numeric_ik import Reacher
from forearm.kernels.rollout import PlantOptions, Simulator

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


def one_torque() -> str:
    """One state by a kernel that knows nothing yet: one file of the cache."""
    return fa.compile(ARM).inverse_dynamics(*STATES[:, 0]).tobytes().hex()


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
def work(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What a process prints that has to compile, and the cache that it leaves."""
    folder = tmp_path_factory.mktemp("work") / "cache"
    return run(WORK, folder), folder


@pytest.fixture
def right(work: tuple[str, Path]) -> str:
    return work[0]


@pytest.fixture
def truth(right: str) -> str:
    """Of one state."""
    return right.split()[0]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache: the folder is not there yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("FOREARM_CACHE", str(folder))
    monkeypatch.delenv("FOREARM_CACHE_BYTES", raising=False)
    return folder


@pytest.fixture
def filled(work: tuple[str, Path], place: Path) -> Path:
    """A cache with the files that WORK needs."""
    return Path(shutil.copytree(work[1], place))


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
def kept(filled: Path) -> Path:
    """The one file of a cache that holds one function."""
    (batch,) = (path for path in filled.iterdir() if (cache.about(path) or {})["part"] == "batch")
    batch.unlink()
    (path,) = filled.iterdir()
    return path


# Found again


FORK = """
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


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_has_the_same_bits(filled: Path, right: str) -> None:
    """Nor does its child, which disturbs its parent in nothing."""
    assert len(names(filled)) == 2
    assert run(NOTHING_MADE + WORK + WITHOUT_LLVM + FORK, filled) == right
    assert_whole(filled)


def test_what_is_told_about_a_function_comes_back_whole(place: Path, makings: list[str]) -> None:
    request = CompileRequest(random_arm(3, 3).rigid(), ("bias", "inertia_matrix"), "float32")
    made, found = Compiled(request), Compiled(request)
    assert (made.inputs, made.outputs, made.counts) == (found.inputs, found.outputs, found.counts)
    assert makings == ["single"]
    assert [slot.shape for slot in found.outputs] == [(3,), (3, 3)]


def accelerations() -> Any:
    zero = np.zeros(2)
    plant = Simulator(ARM, PlantOptions(False), (0.0,), ((),), (1.0,))
    return plant.accelerations(zero, zero, zero, zero, zero + 1.0)


def reached() -> Any:
    arm = random_arm(8, 3)
    T = fa.kinematics.forward(arm, posture(arm, 1, 9))[:, :3].reshape(-1, 12)
    return Reacher(arm, False, True).run(T, None, 3, 0, 1e-9, 50)


@pytest.mark.slow
@pytest.mark.parametrize("run", [accelerations, reached])
def test_rollouts_and_numeric_kinematics_are_kept_too(
    run: Callable[[], Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run()
    (entry,) = cache.entries(place)
    with monkeypatch.context() as patch:
        patch.setattr("forearm.kernels.native.object_code", None)  # making it again would fail
        assert np.array_equal(run(), made)
    cache.write(entry.path.stem, ABOUT, b"no object file")
    assert np.array_equal(run(), made), "made again"


# Damaged files


@pytest.mark.slow
def test_a_file_cut_short_or_with_one_bit_flipped_anywhere_is_not_read(kept: Path) -> None:
    content, rng = kept.read_bytes(), random.Random(0)
    size = len(content)
    cut = [content[:k] for k in [*range(0, 700, 21), *range(700, size, 199), size - 1]]
    places = [*range(0, 600, 9), *(rng.randrange(size) for _ in range(50))]
    for damaged in [*cut, *(flipped(content, k, rng.randrange(8)) for k in places), content + b"\0"]:
        kept.write_bytes(damaged)
        assert cache.read(kept.stem) is None
        assert cache.about(kept) is None or len(damaged) >= size


def flipped(content: bytes, at: int, bit: int = 2) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 1 << bit
    return bytes(changed)


def rewritten(content: bytes, **changes: Any) -> bytes:
    """The file with another head and a digest that is right; None takes a field out."""
    head, code = cache._opened(content)
    return sealed({name: value for name, value in (head | changes).items() if value is not None}, code)


# Behind the head, of which `about` reads no more, and in it.
IN_THE_BODY: dict[str, Callable[[bytes], bytes]] = {
    "bit in the digest": lambda c: flipped(c, len(cache.MAGIC) + 5),
    "last bit": lambda c: flipped(c, len(c) - 1),
    "no inputs": lambda c: rewritten(c, inputs=None),
    "inputs a number": lambda c: rewritten(c, inputs=3),
    "shapes of words": lambda c: rewritten(c, outputs=[["tau", ["x"]]]),
    "counts of nothing": lambda c: rewritten(c, counts={"nothing": 1}),
}
IN_THE_HEAD: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda c: b"",
    "foreign": lambda c: b"\x89PNG\r\n" * 100,
    "cut": lambda c: c[:150],
    "no code": lambda c: sealed(cache._opened(c)[0], b""),
    "another key": lambda c: rewritten(c, key=KEYS[0]),
    "no key": lambda c: rewritten(c, key=None),
    "not a table": lambda c: sealed([1, 2], cache._opened(c)[1]),
    "not JSON": lambda c: sealed(b"{", cache._opened(c)[1]),
    "too deep": lambda c: sealed(b"[" * 100_000, b""),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", [*IN_THE_BODY, *IN_THE_HEAD])
def test_damage_costs_nothing_but_time(damage: str, kept: Path, makings: list[str], truth: str) -> None:
    content = kept.read_bytes()
    kept.write_bytes((IN_THE_BODY | IN_THE_HEAD)[damage](content))
    assert (cache.about(kept) is None) == (damage in IN_THE_HEAD)
    for _ in range(2):
        assert one_torque() == truth
        assert makings == ["single"]
        assert kept.read_bytes() == content, "replaced by a good one"


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
def test_garbage_under_a_right_digest_does_not_end_the_process_and_a_pipe_is_not_waited_for(
    garbage: str, kept: Path, work: tuple[str, Path], right: str
) -> None:
    good, (pipe,) = kept.read_bytes(), (kept.with_name(name) for name in names(work[1]) if name != kept.name)
    head, code = cache._opened(good)
    kept.write_bytes(sealed(head, GARBAGE[garbage](code)))
    os.mkfifo(pipe, 0o600)
    assert run(WORK, kept.parent) == right
    assert kept.read_bytes() == good
    assert stat.S_ISREG(pipe.lstat().st_mode), "replaced"
    assert_whole(kept.parent)


@pytest.mark.slow
def test_llvm_s_own_loader_takes_the_same_files_and_noise_does_not_end_the_process(
    kept: Path, work: tuple[str, Path], right: str
) -> None:
    (name,) = {*names(work[1])} - {kept.name}
    noise = sealed(cache._opened((work[1] / name).read_bytes())[0], GARBAGE["noise"](b""))
    (kept.parent / name).write_bytes(noise)
    (kept.parent / name).chmod(0o600)
    before = kept.stat().st_ino
    assert run(BY_LLVM + WORK, kept.parent) == right
    assert kept.stat().st_ino == before, "not written again"
    assert_whole(kept.parent)


@pytest.mark.parametrize("is_link", [True, False], ids=["link", "folder"])
def test_a_link_in_its_place_is_replaced_and_a_folder_left_alone(
    is_link: bool, kept: Path, tmp_path: Path, makings: list[str], truth: str
) -> None:
    elsewhere = kept.rename(tmp_path / "elsewhere")
    if is_link:
        kept.symlink_to(elsewhere)
    else:
        (kept / "inner").mkdir(parents=True)
    assert one_torque() == truth
    assert makings == ["single"]
    assert names(kept.parent) == [kept.name]
    assert not kept.is_symlink()
    assert kept.read_bytes() == elsewhere.read_bytes() if is_link else names(kept) == ["inner"]


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
def test_one_killed_before_the_file_has_its_name_does_no_harm(place: Path, truth: str) -> None:
    kill = "import os, signal\nos.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)\n"
    killed = subprocess.run(
        [sys.executable, "-c", kill + WORK], check=False, timeout=PATIENCE, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL
    (part,) = place.glob("*.part")
    assert one_torque() == truth
    assert part.exists(), "it could be being written"
    assert len(cache.entries(place)) == 1


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
    cache.write(KEYS[0], ABOUT, b"code")
    scandir, gone = os.scandir, Mock(is_file=lambda **_: True, stat=Mock(side_effect=FileNotFoundError))
    gone.name = f"{KEYS[1]}.kernel"

    def racing(folder: Any) -> Any:
        with scandir(folder) as found:
            return nullcontext([gone, *found])

    monkeypatch.setattr(os, "scandir", racing)
    assert [entry.path.stem for entry in cache.entries(place)] == [KEYS[0]]
    assert gone.stat.called


# The disk is in the way


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "number"),
    [("open", errno.EROFS), ("replace", errno.ENOSPC), ("fdopen", errno.EIO), ("mkdir", errno.EACCES)]
    + [("scandir", errno.EIO), ("utime", errno.EROFS)],
)
def test_errors_of_the_disk_are_not_the_user_s(
    call: str, number: int, place: Path, truth: str, makings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    cache_key.surroundings()  # once a process; it reads this package's own files
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        found = one_torque(), one_torque()
    assert found == (truth, truth)
    assert not [name for name in names(place) if name.endswith(".part")]
    writing = call in ("open", "replace", "fdopen", "mkdir")
    assert len(names(place)) == (0 if writing else 1)
    assert len(makings) == (2 if writing else 1)


@pytest.mark.usefixtures("kept")
def test_a_folder_that_cannot_be_written_is_still_read(place: Path, makings: list[str], truth: str) -> None:
    place.chmod(0o500)
    if os.access(place, os.W_OK):
        pytest.skip("nothing is read-only to this user")
    try:
        assert one_torque() == truth
        assert makings == []
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
def test_a_file_where_the_folder_should_be(place: Path, truth: str) -> None:
    place.write_text("mine", encoding="utf-8")
    assert one_torque() == truth
    assert place.read_text(encoding="utf-8") == "mine"
    assert "not a folder" in str(cache.trouble(place))


@pytest.mark.slow
@pytest.mark.parametrize("off", ["off", ""])
def test_off_reads_and_writes_nothing(
    off: str, tmp_path: Path, truth: str, makings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("FOREARM_CACHE", off)
    assert [one_torque(), one_torque()] == [truth] * 2
    assert makings == ["single"] * 2
    assert names(tmp_path) == []


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOREARM_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    place = tmp_path / ".cache" / "forearm"
    assert cache.folder() == place
    one_torque()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (place, *place.iterdir())] == [0o700, 0o600]
    for name, value, there in (("XDG_CACHE_HOME", "xdg", "xdg/forearm"), ("FOREARM_CACHE", "mine", "mine")):
        monkeypatch.setenv(name, str(tmp_path / value))
        assert cache.folder() == tmp_path / there
    monkeypatch.setenv("FOREARM_CACHE", "~/mine")
    assert cache.folder() == tmp_path / "mine"


@pytest.mark.parametrize("named", [None, "~/mine", "~nobody-of-this-name/mine"])
def test_without_a_home_there_is_no_cache(
    named: str | None, monkeypatch: pytest.MonkeyPatch, truth: str
) -> None:
    def unknown(_: object) -> Any:
        raise KeyError

    for name in ("HOME", "XDG_CACHE_HOME", "FOREARM_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    if named is not None:
        monkeypatch.setenv("FOREARM_CACHE", named)
    assert cache.folder() is None
    if named is None:
        assert one_torque() == truth


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(
    mode: int, kept: Path, makings: list[str], truth: str
) -> None:
    place, content = kept.parent, kept.read_bytes()
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


def test_what_is_another_user_s_is_not_used(
    kept: Path, makings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert cache.trouble(kept.parent) == "belongs to another user"
    one_torque()
    assert makings == ["single"]
    monkeypatch.setattr(cache, "trouble", lambda place: None)
    assert cache.read(kept.stem) is None, "the file alone"
    monkeypatch.setattr(os, "getuid", lambda: me)
    assert cache.read(kept.stem) is not None


@pytest.mark.parametrize("mode", [0o660, 0o606])
def test_a_file_that_others_may_write_to_is_not_used_and_is_replaced(
    mode: int, kept: Path, makings: list[str]
) -> None:
    kept.chmod(mode)
    assert cache.about(kept) is None
    one_torque()
    assert makings == ["single"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


# Bounded


def aged(place: Path, key: str, age: float) -> None:
    os.utime(place / f"{key}.kernel", (time.time() - age,) * 2)


def test_the_longest_unused_go_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_CACHE_BYTES", "45000")

    def left() -> set[str]:
        assert sum(entry.size for entry in cache.entries(place)) <= 45_000
        return {entry.path.stem for entry in cache.entries(place)}

    for k, key in enumerate(KEYS[:4]):
        cache.write(key, ABOUT, bytes(10_000))
        aged(place, key, 1000.0 - k)
    assert [entry.path.stem for entry in cache.entries(place)] == KEYS[:4]
    assert cache.read(KEYS[0]) is not None, "used now, so the youngest"
    cache.write(KEYS[4], ABOUT, bytes(10_000))
    assert left() == {KEYS[0], *KEYS[2:5]}
    cache.write(KEYS[5], ABOUT, bytes(25_000))
    kept = left()
    assert KEYS[5] in kept
    assert not {KEYS[2], KEYS[3]} & kept
    cache.write(KEYS[6], ABOUT, bytes(50_000))
    assert left() == kept, "more than the bound is not kept"


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
    likely = (f"{'g' * 64}.kernel", f"{KEYS[7]}.kernel.bak", f"{KEYS[7]}.part", "my.kernel", "x.1.2.part")
    for name in ("notes.txt", *likely):
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
    [("1000", 1000), ("0", 0), *((bad, None) for bad in ("", "-1", "1e6", "\u00b2", "9" * 5000))],
)
def test_the_bound(given: str, bound: int | None, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.getfilesystemencoding() == "ascii" and not given.isascii():
        pytest.skip("no variable can hold it here")
    monkeypatch.setenv("FOREARM_CACHE_BYTES", given)
    assert cache.bound() == (cache.BOUND if bound is None else bound)
    cache.write(KEYS[0], ABOUT, bytes(2000))
    assert len(names(place)) == (bound is None)


# What a file says about itself


def test_about_reads_no_more_than_the_start(kept: Path) -> None:
    head, content = cache.about(kept), kept.read_bytes()
    assert head is not None
    told = {"arm": "ascher2", "functions": ["inverse_dynamics"], "dtype": "float64", "part": "single"}
    assert head | told == head
    kept.write_bytes(flipped(content, len(content) - 1))
    assert cache.about(kept) == head
    assert cache.read(kept.stem) is None


@pytest.mark.parametrize(
    "changes",
    [{"arm": "a\x1b[2J"}, {"arm": 3}, {"functions": "fff\n"}, {"functions": [None]}, {"bytes": "x"}]
    + [{"arm": "x" * cache.HEAD}],
    ids=lambda changes: str(changes)[:30],
)
def test_about_gives_only_a_short_head_that_can_be_printed(changes: dict[str, Any], kept: Path) -> None:
    kept.write_bytes(rewritten(kept.read_bytes(), **changes))
    assert cache.about(kept) is None
