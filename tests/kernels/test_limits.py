"""Many kernels in one process, and little memory: what is not needed is given back, code and data lie side
by side, and what cannot be had is an error of ours. Scripts run in processes of their own, which may crash.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from forearm.errors import OutOfMemory
from forearm.kernels import elf, memory, thread_pool
from forearm.kernels.compiled import Native
from forearm.kernels.thread_pool import shared_rows

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.slow
needs_loader = pytest.mark.skipif(not elf.is_possible(), reason="only LLVM's loader works on this machine")
needs_limits = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no limit on address space")
HEAD = """
import gc, mmap, os, re, signal, sys, threading, weakref
from pathlib import Path
import numpy as np
import forearm as fa
from arms import random_arm

ARM = random_arm(2, 2, drives=False).rigid()
ONE, MANY = np.array([0.3, -0.7]), np.linspace(-1.0, 1.0, 10).reshape(5, 2)

def kernel():
    made = fa.compile(ARM)
    made.gravity(ONE), made.gravity(MANY)
    return made

def mappings():
    return Path("/proc/self/maps").read_text().splitlines()

def size():
    return 1024 * int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

def limited(more, work):
    '''How a child ends that has so many bytes of address space more: 0 if its work is right, 3 if it is told
    that there is no memory, 14 if it hangs, 11 or 6 if it crashes.'''
    import resource
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_AS, (size() + more, resource.RLIM_INFINITY))
        try:
            os._exit(0 if work() else 1)
        except MemoryError:
            os._exit(3)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

first = kernel()
want = first.gravity(ONE).tobytes()
"""


def python(code: str, timeout: float = 400.0) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HEAD + code],
        cwd=TESTS,
        env={**os.environ, "FOREARM_COMPILE": "quick"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode} {done.stdout[-1000:]} {done.stderr[-3000:]}"


@needs_loader
def test_small_kernels_share_a_few_mappings_and_give_their_memory_back() -> None:
    """They are in a cycle with the functions that Python calls: the collector finds it, on any thread. A
    finaliser in the same garbage may still call the kernel.
    """
    code = """
from forearm.kernels import memory
def both():  # that Python's own callbacks may have
    return [line for line in mappings() if "rwx" in line]
before, had = len(mappings()), both()
kernels = [kernel() for _ in range(60)]
assert len(mappings()) - before < 40, len(mappings()) - before
assert all(k.gravity(ONE).tobytes() == want for k in kernels)
assert both() == had
del kernels
gc.collect()
blocks = len(memory._here.taken)
for _ in range(2):
    some = [kernel() for _ in range(30)]
    gone = [weakref.ref(k) for k in some]
    assert len(memory._here.taken) == blocks + 60
    del some
    gc.collect()
    assert not any(ref() for ref in gone)
    assert len(memory._here.taken) == blocks
    assert len(memory._here.arenas) == 1
assert first.gravity(ONE).tobytes() == want

answers = []
class Last:
    def __del__(self):
        answers.append(self.kernel.gravity(ONE).tobytes())
for _ in range(5):
    last = Last()
    last.kernel, last.itself = kernel(), last
    del last
    gc.collect()
assert answers == [want] * 5

def work():
    for k in range(15):
        some = [kernel() for _ in range(3)]
        assert all(k.gravity(ONE).tobytes() == want for k in some)
        if k % 7 == 0:
            gc.collect()
    ended.append(1)
ended = []
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
assert len(ended) == 3
"""
    python(code)


@pytest.mark.long
@needs_loader
def test_twenty_thousand_kernels_live_in_one_process() -> None:
    code = """
before = len(mappings())
kernels = [kernel() for _ in range(20_000)]
assert len(mappings()) - before < 2000
assert all(k.gravity(ONE).tobytes() == want for k in kernels)
"""
    python(code, timeout=600.0)


def _can_refuse_executable_memory() -> bool:
    """Whether this system knows PR_SET_MDWE; PR_GET_MDWE changes nothing."""
    return sys.platform.startswith("linux") and int(ctypes.CDLL(None).prctl(66, 0, 0, 0, 0)) >= 0


@needs_loader
@pytest.mark.skipif(not _can_refuse_executable_memory(), reason="this system does not know PR_SET_MDWE")
def test_where_written_memory_never_becomes_executable_code_is_mapped_again() -> None:
    """Or an error says what forbids it: without files in memory, and before LLVM's loader would crash."""
    code = """
import ctypes
from forearm.kernels import native
from forearm.kernels.compile_request import made
from forearm.kernels.compiled import CompileRequest
_, object_code = made(CompileRequest(ARM, ("gravity",), "float64"), "single", False)

prctl = ctypes.CDLL(None).prctl
assert prctl(65, 1, 0, 0, 0) == 0
held = [kernel() for _ in range(3)]
for _ in range(3):  # pages are used again
    assert kernel().gravity(ONE).tobytes() == want
assert all(k.gravity(ONE).tobytes() == want for k in held)
assert "rwx" not in "".join(line for line in mappings() if "memfd:forearm" in line)

def refused(*_):
    raise PermissionError(1, "refused")
os.memfd_create = refused
for attempt in (kernel, lambda: native.loaded_by_llvm(object_code, ["gravity"])):
    try:
        attempt()
    except fa.ForearmError as error:
        assert "this process may not make memory executable (Permission denied)" in str(error), error
        assert "PR_SET_MDWE" in str(error)
    else:
        raise AssertionError("it went on")
assert held[0].gravity(ONE).tobytes() == want
"""
    python(code)


@needs_loader
@needs_limits
def test_no_more_mappings_is_an_error_that_says_so() -> None:
    most = int(Path("/proc/sys/vm/max_map_count").read_text(encoding="utf-8"))
    if most > 200_000:
        pytest.skip(f"{most} mappings take too long to make")
    code = """
from forearm.kernels import native
code = native.object_code("define double @third() { ret double 0x3FD5555555555555 }")
flags, rights = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE)
held, loaded = [None] * (1 << 18), []
try:
    for k in range(len(held)):
        held[k] = mmap.mmap(-1, mmap.PAGESIZE, flags=flags, prot=rights[k % 2])
except OSError:
    pass
try:
    for _ in range(1000):
        loaded.append(native.loaded(code, ["third"]))
except fa.ForearmError as error:
    told = error
held.clear()
assert isinstance(told, MemoryError) and "max_map_count" in str(told), told
assert kernel().gravity(ONE).tobytes() == want
"""
    python(code)


@needs_limits
def test_without_memory_to_compile_for_threads_or_stacks_there_is_an_error_or_an_answer() -> None:
    code = """
# LLVM is not asked to compile: it would end the process.
os.environ["FOREARM_CACHE"] = "off"
fa.compile(ARM).bias(ONE, ONE)  # LLVM is loaded
def work():
    return np.isfinite(fa.compile(random_arm(9, 5, drives=False).rigid()).gravity(np.ones(5))).all()
for more in (0, 1 << 18, 1 << 20, 1 << 21, 1 << 22):
    assert limited(more, work) == 3, more
assert limited(1 << 28, work) == 0

# A batch without memory for threads is computed by fewer: between the sizes of one stack and two a thread
# begins and finds no memory to go on with.
q = np.linspace(-1.0, 1.0, 80_000).reshape(-1, 2)
all_of_it, out, same = first.bias(q, q, threads=1), np.empty_like(q), np.empty(q.shape, dtype=bool)
def work():
    first.bias(q, q, out=out, threads=4)
    return np.equal(out, all_of_it, out=same).all()
steps = [k << 12 for k in range(0, 24, 4)]
for more in [base + step for base in (0, 8 << 20, 16 << 20) for step in steps]:
    assert limited(more, work) == 0, more
assert limited(1 << 28, work) == 0

# Loops over the joints of long arms keep their arrays on a stack, which cannot grow.
long = fa.compile(fa.load("chain60"))
q = np.linspace(-1.0, 1.0, 240).reshape(4, 60)
def other():
    made.append(long.inertia_matrix(q, threads=1))
made = []
thread = threading.Thread(target=other)  # the main thread's stack stays as it is
thread.start()
thread.join()
out = np.empty_like(made[0])
assert limited(0, lambda: long.inertia_matrix(q, out=out, threads=1) is out) == 3
assert limited(1 << 24, lambda: long.inertia_matrix(q, out=out, threads=1) is out) == 0
"""
    python(code)


@needs_limits
def test_identification_without_memory_for_linear_algebra_says_so() -> None:
    """OpenBLAS would wait for ever for a thread that could not start, or end the process."""
    code = """
t = 0.01 * np.arange(4000)
q = 0.1 * np.stack([np.sin(5.0 * t), np.sin(7.0 * t)], axis=1)
log = {"t": t, "q": q, "tau": first.inverse_dynamics(q, 0.1 * t[:, None] * q, -30.0 * q)}
def work():
    try:
        return fa.identify(ARM, log, torque_side="link", check=False).arm.n == 2
    except fa.OutOfMemory as error:
        os._exit(5 if "address space" in str(error) else 4)
assert work()  # with threads, which a child has to start again
for more in (0, 6 << 20, 10 << 20, 24 << 20):
    assert limited(more, work) == 5, more
"""
    python(code)


def test_a_function_that_runs_out_of_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    @thread_pool.says_if_memory_is_short
    def fit(rows: int) -> int:
        if rows > 5:
            raise MemoryError("Unable to allocate 8 GiB")
        return rows

    assert fit(5) == 5
    with pytest.raises(
        OutOfMemory, match=r"^fit: no memory \(Unable to allocate 8 GiB\)\. Free memory, or raise"
    ):
        fit(6)
    monkeypatch.setattr(thread_pool, "is_left", lambda size: False)
    monkeypatch.setattr(thread_pool, "cores", lambda: 4)
    with pytest.raises(OutOfMemory, match=r"^fit: fewer than 160 MB of address space are left\. .*ulimit -v"):
        fit(5)


def test_rows_of_a_thread_that_finds_no_memory_are_computed_by_the_caller() -> None:
    rows, main, failed = np.zeros(1000), threading.get_ident(), []

    def call(address: int, count: int) -> None:
        first = (address - rows.ctypes.data) // 8
        if threading.get_ident() != main:
            failed.append(first)
            raise MemoryError
        time.sleep(0.001)  # until others have begun
        rows[first : first + count] += 1.0

    for _ in range(5):
        shared_rows(Native(call, 0), [rows], [8], len(rows), 4)
    assert failed
    assert (rows == 5.0).all()


@needs_loader
@pytest.mark.parametrize("seed", range(3))
def test_blocks_never_overlap_and_all_come_back(seed: int) -> None:
    rng, arena = random.Random(seed), memory.Arena(64 * memory.PAGE)
    held: list[tuple[memory.Range, memory.Range]] = []
    for _ in range(600):
        if held and rng.random() < 0.45:
            for taken in held.pop(rng.randrange(len(held))):
                arena.give(taken)
        else:
            align = rng.choice((64, 64, 256, memory.PAGE))
            code, data = rng.randrange(6) * memory.PAGE, rng.randrange(40) * memory.LINE
            found = arena.take(code, data, align)
            if found is not None:
                assert found[0][0] % memory.PAGE == found[1][0] % align == 0 or data == 0
                held.append(found)
        ranges = sorted([*arena.free, *(r for pair in held for r in pair if r[0] < r[1])])
        assert [a for a, _ in ranges] == [0, *(b for _, b in ranges[:-1])]
        assert ranges[-1][1] == arena.size
        assert arena.left == sum(b - a for a, b in arena.free)
        data_pages = {p for _, (a, b) in held if a < b for p in range(a // memory.PAGE, -(-b // memory.PAGE))}
        code_pages = {p for (a, b), _ in held for p in range(a // memory.PAGE, b // memory.PAGE)}
        assert not code_pages & data_pages, "data lies in pages of code"
    for pair in held:
        for taken in pair:
            arena.give(taken)
    assert arena.free == [(0, arena.size)]
