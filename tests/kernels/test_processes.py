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
from sweeps import long

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


def python(code: str, head: str = HEAD) -> None:
    """A process that compiles quickly and keeps nothing; it must end well, and in time."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", head + code],
        cwd=TESTS,
        env={**os.environ, "FOREARM_CACHE": "off", "FOREARM_COMPILE": "quick"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@needs_fork
def test_children_compile_and_call_whatever_threads_of_their_parent_do() -> None:
    """Forked while another thread compiles other kernels, or the very one that is called: half made in the
    parent, it is made anew in the child. If a fork cannot wait, the child says so.
    """
    code = """
from forearm.kernels import locks
for kernels in ([fa.compile(arm(1, 3))], map(fa.compile, map(arm, range(2, 1000)))):
    ended, kernels, own = threading.Event(), iter(kernels), fa.compile(arm(1000))
    called = [own]
    def work():
        for called[0] in kernels:
            answer(called[0])
            if ended.is_set():
                return
    thread = threading.Thread(target=work)
    thread.start()
    for k in range(3):
        assert child(lambda: right(fa.compile(arm(2000 + k))) and right(called[0])) == 0, k
        time.sleep(0.005)
    ended.set()
    thread.join()
    assert right(called[0])

locks.PATIENCE = 0.05
answer(own)
held, ended = threading.Event(), threading.Event()
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
        return "forked while another thread was compiling" in str(error) and right(own)
assert child(work) == 0
ended.set()
thread.join()
assert right(fa.compile(arm(2)))
assert child(lambda: right(fa.compile(arm(3)))) == 0

# Parent and child go on loading beside each other.
kernels = [fa.compile(arm(seed)) for seed in range(3)]
want = [answer(k).tobytes() for k in kernels]
def go_on():
    kernels.pop()
    assert [answer(k).tobytes() for k in kernels] == want[:2]
    return all(right(fa.compile(arm(k))) for k in (10, 11))
pid = os.fork()
if pid == 0:
    signal.alarm(120)
    os._exit(0 if go_on() else 1)
assert all(right(fa.compile(arm(seed))) for seed in (20, 21))
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


@needs_fork
@needs_timer
def test_a_signal_handler_does_what_it_likes_while_its_thread_compiles() -> None:
    """It calls another kernel, the same one, or forks."""
    code = """
answers, wait, seeds = [], 0.011, iter(range(2, 500))
current = [fa.compile(arm(1, 3))]
ways = [
    lambda: right(fa.compile(arm(100 + counted[0]))),
    lambda: right(current[0]),
    lambda: child(lambda: right(fa.compile(arm(3)))) == 0,
]
for way in ways:
    answers.clear()
    called = lambda: answers.append(way())
    signal.setitimer(signal.ITIMER_REAL, wait)
    while len(answers) < 3:
        current[0] = kernel = fa.compile(arm(next(seeds), 3))
        assert right(kernel)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert all(answers)
"""
    python(HANDLER + code)


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

def inherited():
    return INHERITED.inverse_dynamics(*STATES).tobytes()

if __name__ == "__main__":
    INHERITED = kernel = fa.compile(ARM)
    fused = kernel.fused(["gravity", "jacobian"])
    want = passed(kernel, fused)
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.apply(passed, (kernel, fused)) == want
            if method == "fork":
                assert pool.apply(inherited) == want[0]
    print("done")
"""


@pytest.mark.parametrize("methods", ["spawn fork", *long(["forkserver"])])
def test_kernels_go_to_workers_however_they_are_started(methods: str, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS, encoding="utf-8")
    here = set(methods.split()) & set(multiprocessing.get_all_start_methods())
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), *sorted(here, reverse=True)],
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
