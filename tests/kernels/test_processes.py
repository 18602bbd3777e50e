"""Kernels in children of a process, in signal handlers and in interpreters beside the main one:
each script runs in a process of its own, which may hang or crash.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.slow
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
HEAD = """
import os, signal, sys, threading, time
import numpy as np
import forearm as fa
from arms import random_arm

def arm(seed, n=2):
    return random_arm(seed, n, drives=False).rigid()

def answer(kernel):
    n = kernel.arm.n
    return kernel.inverse_dynamics(*np.linspace(-0.9, 1.1, 3 * n).reshape(3, n))

def right(kernel):
    n = kernel.arm.n
    want = fa.dynamics.inverse(kernel.arm, *np.linspace(-0.9, 1.1, 3 * n).reshape(3, n))
    return np.allclose(answer(kernel), want, rtol=1e-12, atol=1e-12)

def child(work):
    '''What a child ends with: 0 if its work is right; 14 if it hangs.'''
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # whatever the parent does at it
        signal.alarm(120)
        try:
            os._exit(0 if work() else 1)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(2)
    return os.waitpid(pid, 0)[1]

# What is imported when first used is imported now: a child never ends an import that another thread began.
answer(fa.compile(arm(0)))
fa.dynamics.inverse
"""


def python(code: str, head: str = HEAD, cache: str = "off") -> str:
    """What a process prints; it must end well, and in time."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", head + code],
        cwd=TESTS,
        env={**os.environ, "FOREARM_CACHE": cache},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@needs_fork
def test_a_child_forked_while_another_thread_compiles_can_compile() -> None:
    code = """
ended = threading.Event()
def work():
    for seed in range(1, 1000):
        if ended.is_set():
            return
        answer(fa.compile(arm(seed, 3)))
thread = threading.Thread(target=work)
thread.start()
for k in range(4):
    time.sleep(0.02 + 0.013 * k)
    assert child(lambda: right(fa.compile(arm(2000 + k)))) == 0, k
assert thread.is_alive()
ended.set()
thread.join()
"""
    python(code)


@needs_fork
def test_a_child_forked_in_the_middle_of_a_kernel_calls_that_kernel() -> None:
    """Half made in the parent, it is made anew in the child."""
    code = """
kernel = fa.compile(arm(1, 4))
thread = threading.Thread(target=answer, args=(kernel,))
thread.start()
while thread.is_alive():
    assert child(lambda: right(kernel)) == 0
    time.sleep(0.005)
assert right(kernel)
"""
    python(code)


@needs_fork
def test_a_fork_that_cannot_wait_leaves_a_child_that_says_so() -> None:
    code = """
from forearm.kernels import locks
locks.PATIENCE = 0.05
made, held, ended = fa.compile(arm(1)), threading.Event(), threading.Event()
answer(made)
def hold():
    with locks.making():
        held.set()
        ended.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
def work():
    try:
        answer(fa.compile(arm(2)))
    except fa.ForearmError as error:
        return "forked while another thread was compiling" in str(error) and right(made)
assert child(work) == 0
ended.set()
thread.join()
assert right(fa.compile(arm(2)))
assert child(lambda: right(fa.compile(arm(3)))) == 0
"""
    python(code)


@needs_fork
def test_parent_and_child_go_on_loading_beside_each_other() -> None:
    code = """
kernels = [fa.compile(arm(seed)) for seed in range(3)]
want = [answer(k).tobytes() for k in kernels]
def work():
    kernels.pop()
    more = [fa.compile(arm(seed)) for seed in range(10, 14)]
    return all(map(right, more)) and [answer(k).tobytes() for k in kernels] == want[:2]
pid = os.fork()
if pid == 0:
    signal.alarm(120)
    os._exit(0 if work() else 1)
assert all(right(fa.compile(arm(seed))) for seed in range(20, 24))
assert [answer(k).tobytes() for k in kernels] == want
assert os.waitpid(pid, 0)[1] == 0
"""
    python(code)


HANDLER = """
counted = [0]
def handle(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)
    counted[0] += 1
    called()
    signal.setitimer(signal.ITIMER_REAL, wait)
signal.signal(signal.SIGALRM, handle)
"""


@needs_timer
@pytest.mark.parametrize("of", ["another kernel", "the same kernel"])
@pytest.mark.sweep(first=1)
def test_a_signal_handler_calls_a_kernel_while_its_thread_compiles(of: str) -> None:
    code = """
answers = []
def called():
    kernel = fa.compile(arm(100 + counted[0])) if other else current[0]
    answers.append(right(kernel))
wait = 0.011
current = [fa.compile(arm(1, 3))]
signal.setitimer(signal.ITIMER_REAL, wait)
for seed in range(2, 5):
    current[0] = kernel = fa.compile(arm(seed, 3))
    answer(kernel)
    assert right(kernel)
signal.setitimer(signal.ITIMER_REAL, 0)
assert counted[0] > 2 and all(answers)
"""
    python(f"other = {of == 'another kernel'}\n{HANDLER}{code}")


@needs_timer
def test_a_signal_handler_that_comes_while_the_compiler_is_loaded_is_told() -> None:
    """From a cold start: the answer is right, or the error says what to do."""
    head = HEAD[: HEAD.index("# What is imported")]
    code = """
told, answers = [], []
def called():
    try:
        answers.append(np.isfinite(answer(fa.compile(arm(1)))).all())
    except fa.ForearmError as error:
        assert "call that kernel once beforehand" in str(error), error
        told.append(error)
fa.compile, arm(1)  # these import too
wait = 0.007
signal.setitimer(signal.ITIMER_REAL, wait)
assert np.isfinite(answer(fa.compile(arm(2)))).all()
signal.setitimer(signal.ITIMER_REAL, 0)
assert counted[0] and all(answers)
"""
    python(HANDLER + code, head)


@needs_fork
@needs_timer
def test_a_signal_handler_forks_while_its_thread_compiles() -> None:
    code = """
ends = []
def called():
    ends.append(child(lambda: right(fa.compile(arm(3)))))
wait = 0.02
signal.setitimer(signal.ITIMER_REAL, wait)
for seed in range(4, 6):
    assert right(fa.compile(arm(seed, 3)))
signal.setitimer(signal.ITIMER_REAL, 0)
assert ends and not any(ends)
"""
    python(HANDLER + code)


def test_threads_that_call_one_kernel_first_share_its_code() -> None:
    code = """
kernel, start = fa.compile(arm(1)), threading.Barrier(8)
found = []
def work():
    start.wait()
    found.append(right(kernel))
    found.append(kernel.compiled("inverse_dynamics").part("single"))
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert found.count(True) == 8 and len({id(part) for part in found if part is not True}) == 1
"""
    python(code)


# Workers import this file again, where the method starts a new interpreter.
WORKERS = """
import multiprocessing, sys
import numpy as np
import forearm as fa

ARM = fa.load("ascher2")
STATES = np.linspace(-0.8, 0.9, 6 * ARM.n).reshape(3, 2, ARM.n)
INHERITED = None

def passed(kernel, fused):
    return kernel.inverse_dynamics(*STATES).tobytes(), fused(STATES[0])["J"].tobytes()

def inherited(_):
    return INHERITED.inverse_dynamics(*STATES).tobytes()

if __name__ == "__main__":
    method = sys.argv[1]
    INHERITED = kernel = fa.compile(ARM)
    fused = kernel.fused(["gravity", "jacobian"])
    want = passed(kernel, fused)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(passed, [(kernel, fused)] * 3) == [want] * 3
        if method == "fork":
            assert pool.map(inherited, range(3)) == [want[0]] * 3
    print("done")
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
@pytest.mark.sweep(first=2)
def test_kernels_go_to_workers_however_they_are_started(method: str, tmp_path: Path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    script = tmp_path / "workers.py"
    script.write_text(WORKERS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), method],
        env={**os.environ, "FOREARM_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr[-2000:]


def test_another_interpreter_of_this_process_has_kernels_or_numpy_s_word_that_it_cannot() -> None:
    code = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
inside = '''
try:
    import numpy
except ImportError as error:
    text = str(error)
    assert "subinterpreter" in text or "more than once" in text, text
else:
    import forearm as fa
    arm = fa.load("ascher2")
    assert fa.compile(arm).gravity([0.1, 0.2]).shape == (2,)
'''
if "numpy" not in sys.modules:
    import numpy
found = interpreters.create()
failed = getattr(interpreters, "exec", None) or interpreters.run_string
assert not failed(found, inside)
interpreters.destroy(found)
"""
    if not any(map(find_spec, ("_interpreters", "_xxsubinterpreters"))):
        pytest.skip("this Python has no interpreters beside the main one")
    python(code, head="")
