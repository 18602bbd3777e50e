"""A live studio and its tabs: what is sent arrives, whoever is slow, gone or back again."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from arms import random_arm
from viewer.stream_client import PATIENCE, Tab, ask, eventually, port_of

import forearm as fa
from forearm.viewer import live, live_server
from forearm.viewer.live import MOST_ROWS, LiveStudio, is_script
from forearm.viewer.live_feed import HISTORY, LiveFeed
from forearm.viewer.live_feed import MOST_ROWS as MOST_STATES

PAGE = "<!DOCTYPE html><title>a page</title>"
ARMS = (random_arm(1, 3), random_arm(2, 4))
RNG = np.random.default_rng(5)


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveStudio]:
    monkeypatch.setattr(live_server, "LOOK", 0.02)  # so that nothing waits long for who has gone
    with LiveStudio(PAGE, ARMS) as made:
        yield made


def tabs(studio: LiveStudio) -> int:
    return studio._server.tabs


def test_a_tab_that_opens_gets_the_latest_state_of_each_arm_and_the_latest_plan(studio: LiveStudio) -> None:
    first, second = RNG.normal(size=(3, 3)), RNG.normal(size=4)
    studio.plan(([0.0, 1.0], RNG.normal(size=(2, 3))))
    studio.send(RNG.normal(size=3), t=0.5)
    studio.send(second, t=0.25, arm=1)
    rows = RNG.normal(size=(2, 4))
    studio.plan(([0.5, 1.5], rows), arm=1)
    studio.send(first[0], first[1], first[2], t=1.5)
    with Tab(studio) as tab:
        messages = [tab.message() for _ in range(3)]
    assert messages == [
        {"type": "states", "arm": 1, "rows": [{"q": second.tolist(), "t": 0.25}]},
        {"type": "plan", "arm": 1, "t": [0.5, 1.5], "q": rows.tolist()},
        {
            "type": "states",
            "arm": 0,
            "rows": [{"q": first[0].tolist(), "qd": first[1].tolist(), "tau": first[2].tolist(), "t": 1.5}],
        },
    ]


def test_every_tab_gets_every_state_in_few_messages(studio: LiveStudio) -> None:
    q = RNG.normal(size=(MOST_STATES, 3))
    with Tab(studio) as one, Tab(studio) as other:
        assert tabs(studio) == 2
        assert "2 tabs" in repr(studio)
        for k, row in enumerate(q):
            studio.send(row, t=0.001 * k)
        for tab in (one, other):
            rows = tab.rows(len(q))
            assert [row["q"] for row in rows] == q.tolist()
            assert [row["t"] for row in rows] == [0.001 * k for k in range(len(q))]
        studio.plan(([0.0, 1.0], np.ones((2, 3))))
        for _ in range(2):  # time goes on by itself
            studio.send(np.zeros(3))
        assert one.message()["type"] == "plan"
        t = [row["t"] for row in one.rows(2)]
        assert 0.0 <= t[0] <= t[1]


def test_threads_may_send_at_once(studio: LiveStudio) -> None:
    def send(k: int) -> None:
        for j in range(50):
            studio.send(np.full(3, k), t=float(j))

    with Tab(studio) as tab:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(send, range(4)))
        rows = tab.rows(200)
    for k in range(4):
        assert [row["t"] for row in rows if row["q"] == [k, k, k]] == list(range(50))


def test_a_tab_that_reconnects_gets_what_it_missed(studio: LiveStudio) -> None:
    with Tab(studio) as tab:
        studio.send(np.zeros(3), t=0.0)
        assert tab.rows(1)[0]["t"] == 0.0
        last = tab.last
    for k in range(1, 6):
        studio.send(np.zeros(3), t=float(k))
    with Tab(studio, last) as again, Tab(studio, path=f"/events?after={last}") as by_address:
        for tab in (again, by_address):
            assert [row["t"] for row in tab.rows(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert again.last != last
    for unknown in ("0123456789ab-1", f"{last}9", "-", "x" * 300, last.replace("-", "-\u0661")):
        with Tab(studio, unknown.encode("ascii", "replace").decode()) as tab:
            assert [row["t"] for row in tab.rows(1)] == [5.0], unknown


def test_a_closed_tab_is_noticed(studio: LiveStudio) -> None:
    tab, other = Tab(studio), Tab(studio)
    assert tabs(studio) == 2
    tab.close()
    assert eventually(lambda: tabs(studio) == 1)
    studio.send(np.zeros(3), t=2.0)
    assert other.rows(1)[0]["t"] == 2.0
    other.close()
    assert eventually(lambda: tabs(studio) == 0)


@pytest.mark.slow
def test_a_tab_that_does_not_read_holds_up_nobody(
    studio: LiveStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_server, "PATIENCE", 1.0)
    monkeypatch.setattr(live_server, "BUFFER", 4096)
    q = RNG.normal(size=3)
    seen: list[float] = []

    def read(tab: Tab) -> None:
        while not seen or seen[-1] != -1.0:
            seen.append(tab.rows(1)[-1]["t"])

    def is_dropped() -> bool:
        for _ in range(MOST_STATES // 4):
            studio.send(q, q, q, t=0.0)
        time.sleep(0.03)
        return tabs(studio) == 1

    with Tab(studio, buffer=4096), Tab(studio) as other:
        reader = threading.Thread(target=read, args=(other,), daemon=True)
        reader.start()
        assert eventually(is_dropped)
        studio.send(q, t=-1.0)
        reader.join(PATIENCE)
    assert seen[-1] == -1.0


def test_what_is_kept_does_not_grow() -> None:
    feed = LiveFeed(1)
    for k in range(2 * HISTORY):
        feed.add_state(0, {"t": float(k)})
        if k % 100 == 0:
            feed.add_plan(0, {})
    assert len(feed._states) == HISTORY
    number, messages = feed.after(0, 0.0)
    assert number == 2 * HISTORY + len(range(0, 2 * HISTORY, 100))
    assert sum(message.startswith('{"type":"plan"') for message in messages) == len(feed._plans)
    states = [json.loads(message)["rows"] for message in messages if "rows" in message]
    assert states[-1][-1]["t"] == 2 * HISTORY - 1
    t = [row["t"] for rows in states for row in rows]
    assert t == sorted(set(t))
    assert all(len(rows) <= MOST_STATES for rows in states)


def test_of_too_many_states_some_are_left_out_but_not_the_last() -> None:
    feed = LiveFeed(1)
    for k in range(3 * MOST_STATES):
        feed.add_state(0, {"t": k})
    (message,) = feed.after(0, 0.0)[1]
    t = [row["t"] for row in json.loads(message)["rows"]]
    assert (len(t), t[0], t[-1]) == (MOST_STATES, 0, 3 * MOST_STATES - 1)
    assert set(np.diff(t)) <= {3, 4}


def test_a_tab_that_gets_nothing_gets_signs_of_life(
    studio: LiveStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_server, "BEAT", 0.01)
    with Tab(studio) as tab:
        assert tab.event("beat") == tab.event("beat") == "{}"


def test_tabs_learn_whether_the_page_is_still_theirs() -> None:
    def hello(page: str) -> str:
        with LiveStudio(page, ARMS[:1]) as studio, Tab(studio) as tab:
            return tab.hello

    assert hello("one") == hello("one") != hello("another")


def test_close_frees_the_port_and_ends_threads() -> None:
    before = set(threading.enumerate())
    studio = LiveStudio(PAGE, ARMS)
    port = port_of(studio)
    tab, silent = Tab(studio), socket.create_connection(("127.0.0.1", port), PATIENCE)
    assert eventually(lambda: len(set(threading.enumerate()) - before) == 3)
    with pytest.raises(fa.InputError, match=rf"cannot listen on '127.0.0.1', port {port}: .*Choose another"):
        LiveStudio(PAGE, ARMS, port=port)
    studio.close()
    assert set(threading.enumerate()) <= before
    assert studio not in live._open
    assert silent.recv(1) == b""
    with pytest.raises(EOFError):
        tab.message()
    studio.close()
    for call in (
        lambda: studio.send(np.zeros(3)),
        lambda: studio.plan(([0, 1], np.zeros((2, 3)))),
        studio.open,
    ):
        with pytest.raises(fa.InputError, match=r"this studio is closed; create another with fa\.studio\."):
            call()
    assert "is closed" in repr(studio)
    assert "iframe" not in studio._repr_html_()
    with LiveStudio(PAGE, ARMS, port=port) as again:
        assert ask(again, "GET", "/")[2] == PAGE
        assert f'<iframe src="{again.url}"' in again._repr_html_()
        assert "height:640px" in again._repr_html_()
    tab.close()
    silent.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_does_not_serve_and_the_end_of_the_program_ends_all() -> None:
    """The child lives on while the parent closes: nobody is left at the port."""
    script = """
import os, socket, sys, warnings
sys.path[:0] = ["tests"]
warnings.simplefilter("ignore")  # newer Pythons warn of any fork with threads
from arms import random_arm
from viewer.stream_client import Tab, port_of
from forearm.errors import InputError
from forearm.viewer.live import LiveStudio
studio, last = (LiveStudio("page", [random_arm(1, 3)]) for _ in range(2))
port, tab = port_of(studio), Tab(studio)
(until, end), (heard, told) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.close(end)
    try:
        studio.send([0.0] * 3)
    except InputError as error:
        os.write(told, f"{error} {studio!r}".encode())
    studio.close()
    os.read(until, 1)  # the parent is through
    sys.exit()
print(os.read(heard, 1000).decode())
studio.send([1.0, 2.0, 3.0])
print(tab.rows(1)[0]["q"])
studio.close()
try:
    socket.create_connection(("127.0.0.1", port), 5.0)
except ConnectionRefusedError:
    print("free")
os.close(end)
os.waitpid(child, 0)
open_at_the_end = Tab(last)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    why = "belongs to the process that this one was forked from"
    said = f"send: this studio {why}; send from that process. <LiveStudio of 'random1': {why}>"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [said, "[1.0, 2.0, 3.0]", "free"]


# ---- what is sent ----------------------------------------------------------------------------------------


NO_STATES: list[tuple[dict[str, object], str]] = [
    ({"q": [0.0] * 3, "qd": [[0.0] * 3]}, r"send, qd: expected shape \(3,\), got \(1, 3\)\."),
    ({"q": [0.0] * 3, "tau": [0.0, 1e31, 0.0]}, r"send, tau: no number may exceed 1e\+30"),
    ({"q": [0.0] * 3, "t": np.inf}, r"send, t: the number must be finite, got inf\."),
    ({"q": [0.0] * 3, "arm": 2}, r"send, arm: expected a whole number from 0 to 1, got 2\."),
    ({"q": [0.0] * 3, "arm": 1}, r"send, q: expected shape \(4,\), got \(3,\)\."),
]
NO_PLANS: list[tuple[object, str]] = [
    (None, r"plan: expected a Plan, a motion, a Simulation, or times and joints \(t, q\), got None\."),
    (([0.0], [[0.0] * 3]), r"plan, t: expected at least two times, \(m,\), got shape \(1,\)\."),
    (([0.0, 1.0], [[0.0] * 3]), r"plan, q: expected shape \(2, 3\), got \(1, 3\)\."),
    (([1.0, 0.0], [[0.0] * 3] * 2), r"plan, t: times must be non-decreasing\."),
    (([0.0, 1.0], [[0.0, 1e300, 0.0]] * 2), r"plan, q: no number may exceed 1e\+30"),
]


def test_states_and_plans_that_cannot_be_shown_are_refused(studio: LiveStudio) -> None:
    for arguments, why in NO_STATES:
        with pytest.raises(fa.InputError, match=why):
            studio.send(**arguments)  # type: ignore[arg-type]
    for motion, why in NO_PLANS:
        with pytest.raises(fa.InputError, match=why):
            studio.plan(motion)
    assert studio._feed.after(None, 0.0) == (0, [])


def sent_plan(studio: LiveStudio) -> tuple[np.ndarray, np.ndarray]:
    content = json.loads(studio._feed.after(None, 0.0)[1][-1])
    return np.array(content["t"]), np.array(content["q"])


def test_long_tables_are_thinned(studio: LiveStudio) -> None:
    t = np.cumsum(RNG.random(5 * MOST_ROWS))
    q = RNG.normal(size=(len(t), 3))
    studio.plan((t, q))
    times, rows = sent_plan(studio)
    assert (len(times), times[0], times[-1]) == (MOST_ROWS, t[0], t[-1])
    assert (rows == q[np.searchsorted(t, times)]).all()


@pytest.mark.slow
def test_plans_motions_and_simulations_are_shown_as_they_are(studio: LiveStudio) -> None:
    arm = ARMS[0].replace(gravity=(0.0, 0.0, 0.0))
    made = fa.simulate(arm, np.zeros(3), 0.1 * np.ones(3), 0.05, method="rk4")
    studio.plan(made)
    t, q = sent_plan(studio)
    assert (t[0], t[-1], len(t)) == (made.t[0], made.t[-1], 51)
    assert (q == made.at(t)[0]).all()

    class Line:
        duration = 0.5

        def at(self, t: np.ndarray) -> tuple[np.ndarray, None, None]:
            return np.outer(t, [1.0, -2.0, 3.0]), None, None

    studio.plan(Line())
    t, q = sent_plan(studio)
    assert (t[0], t[-1], len(t)) == (0.0, 0.5, 126)
    assert (q == np.outer(t, [1.0, -2.0, 3.0])).all()


# ---- at the end of a program ------------------------------------------------------------------------------

SCRIPT = """
import signal
import forearm as fa
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored
fa.studio("ascher2")
print("the last line")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another signal there")
def test_a_script_that_only_opens_a_studio_serves_it_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "the last line\n"
            said = program.stdout.readline()
            found = re.fullmatch(
                r"studio of 'ascher2': (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", said
            )
            assert found, said
            with urllib.request.urlopen(found[1], timeout=30) as page:
                assert b"ascher2" in page.read()
            program.send_signal(signal.SIGINT)
            rest = program.communicate(timeout=30)
        finally:
            program.kill()
    assert (program.returncode, *rest) == (0, "", "")


def test_a_program_that_uses_its_studio_or_fails_is_not_kept(
    studio: LiveStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = (
        lambda: studio.send([0.0] * 3),
        lambda: studio.plan(([0.0, 1.0], [[0.0] * 3] * 2)),
        studio.joints,
    )
    for call in calls:
        studio.is_awaited = True
        call()
        assert not studio.is_awaited
    studio.is_awaited = True
    monkeypatch.setattr(sys, "last_value", ZeroDivisionError(), raising=False)
    monkeypatch.setattr(live, "_open", {studio})
    live._close_all()
    assert "is closed" in repr(studio)
    monkeypatch.undo()
    live._open.discard(studio)


def test_an_import_or_a_prompt_is_no_script(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_script("__main__")
    assert not is_script("tests.viewer.test_live")
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert not is_script("__main__")
