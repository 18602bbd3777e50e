"""A studio that shows data from a running program: `fa.studio(arm)` without a path."""

from __future__ import annotations

import atexit
import html
import math
import os
import re
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.values import LARGEST, as_finite, as_floats, check_number, check_whole, is_number
from forearm.viewer.live_feed import LiveFeed
from forearm.viewer.live_request import LOCAL, RequestRefused, Visitors
from forearm.viewer.live_server import StudioServer

SCRIPT = Path(__file__).with_name("page") / "live.js"
POLICY = "; connect-src 'self'"  # additional permissions of a served page
EVERYWHERE = ("0.0.0.0", "::")
TOKEN_BYTES = 24
LOOK = 0.2  # s between checks whether a studio that is waited for was closed
HEIGHT = 640  # px in a notebook
# sampling of a plan: 1/s, least and largest number of rows
PLAN_RATE, LEAST_ROWS, MOST_ROWS = 250.0, 50, 2000


def live_studio(
    page: Callable[[str, str], str], arms: Sequence[Arm], *, host: str | None = None, port: int = 0
) -> LiveStudio:
    """Serve a page for some arms.

    Args:
        page: returns the page's text; its arguments are an addition to the page's Content-Security-Policy and
            a script to append to its own.
        arms: the arms on the page.
        host: the address or name to listen on; requests then need the token that is in `url`. None: this
            machine only, without a token.
        port: the port to listen on; 0: a free one.
    """
    script = re.sub(r"^[ \t]*//.*\n|^[ \t]+", "", SCRIPT.read_text(encoding="utf-8"), flags=re.M)
    return LiveStudio(page(POLICY, script), arms, host=host, port=port)


class LiveStudio:
    """A local page that shows what the program sends, in every open tab.

    Tabs may come and go, and so may the program: tabs reconnect to the same port. `send` and `plan` never
    wait for a tab. All methods are thread-safe.

    Args:
        page: the text of the page, with `live.js` among its scripts.
        arms: the arms on it.
        host: the address or name to listen on, with a token; None: 127.0.0.1, without one.
        port: the port to listen on; 0: a free one.
    """

    def __init__(self, page: str, arms: Sequence[Arm], *, host: str | None = None, port: int = 0) -> None:
        if host is not None and not (isinstance(host, str) and host):
            raise InputError(f"expected an address or a name, got {shorten(host)}.", "studio", "host")
        check_whole(port, "studio, port", 0, 65535)
        self._name = " and ".join(arm.name for arm in arms)
        self._sizes = [arm.n for arm in arms]
        self._began = time.monotonic()
        self._joints: list[Floats | None] = [None] * len(arms)
        self._lock = threading.Lock()
        self._end = ""  # why sending is no longer possible
        self.is_awaited = False  # at the end of the program; one that sends or reads ends when it likes
        self._feed = LiveFeed(len(arms))
        token = None if host is None else secrets.token_urlsafe(TOKEN_BYTES)
        try:
            self._server = StudioServer(
                (host or "127.0.0.1", port), _visitors(host, token), page, self._feed, self._take_joints
            )
        except OSError as error:
            raise InputError(
                f"cannot listen on {shorten(host or '127.0.0.1')}, port {port}: "
                f"{error.strerror or error}. Choose another port, or 0 for a free one.",
                "studio",
            ) from error
        self._url = _url(host, self._server.port, token)
        _open.add(self)

    @property
    def url(self) -> str:
        """The address for a browser, with the token if there is one."""
        return self._url

    def open(self) -> bool:
        """Open a tab in the default browser; False if there is none."""
        self._check_open("open")
        return webbrowser.open(self._url)

    def wait(self) -> None:
        """Print the address, and serve until Ctrl-C or `close`."""
        self._check_open("wait")
        _serve([self])

    def send(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        t: float | None = None,
        arm: int = 0,
    ) -> None:
        """Show a state, and add it to the curves.

        Tabs are updated about 60 times per second; the curves include every state, up to about 10,000 per
        second.

        Args:
            q: joint coordinates (n,), rad or m.
            qd: joint velocities (n,), rad/s or m/s; None: 0.
            tau: torques (n,), N m or N; None: computed from q and qd at zero acceleration.
            t: time, s; an earlier time than the last starts new curves; None: time since the start of the
                studio.
            arm: which arm on the page, from 0.
        """
        self._check_open("send")
        self.is_awaited = False
        n = self._size(arm, "send")
        given = {"q": q} | {name: x for name, x in (("qd", qd), ("tau", tau)) if x is not None}
        values: dict[str, Any] = {
            name: _within(as_finite(x, (n,), f"send, {name}"), f"send, {name}").tolist()
            for name, x in given.items()
        }
        values["t"] = time.monotonic() - self._began if t is None else check_number(t, "send, t")
        self._feed.add_state(int(arm), values)

    def plan(self, motion: Any, arm: int = 0) -> None:
        """Show a motion: tabs play it.

        Args:
            motion: a `Plan`, anything else with `.duration` and `.at(t)`, a `Simulation`, or times (m,) and
                joints (m, n).
            arm: which arm on the page, from 0.
        """
        self._check_open("plan")
        self.is_awaited = False
        t, q = _rows(motion, self._size(arm, "plan"))
        self._feed.add_plan(int(arm), {"t": t.tolist(), "q": q.tolist()})

    def joints(self, arm: int = 0) -> Floats | None:
        """The joints (n,), rad or m, that a user last set in any tab; None: none yet.

        Args:
            arm: which arm on the page, from 0.
        """
        self._size(arm, "joints")
        self.is_awaited = False
        q = self._joints[arm]
        return None if q is None else q.copy()

    def close(self) -> None:
        """Free the port. Tabs keep their content and wait for another studio on the same port."""
        with self._lock:
            if self._end:
                return
            self._end = "is closed; create another with fa.studio"
        _open.discard(self)
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        tabs = self._server.tabs
        said = self._end.partition(";")[0] or f"{self._url}, {tabs} {'tab' if tabs == 1 else 'tabs'}"
        return f"<LiveStudio of {shorten(self._name)}: {said}>"

    def _repr_html_(self) -> str:
        """The page itself, in an iframe."""
        if self._end:
            return f"<p>{html.escape(repr(self))}</p>"
        address = html.escape(self._url)
        style = f"width:100%;height:{HEIGHT}px;border:0"
        return f'<iframe src="{address}" title="live studio" style="{style}"></iframe>'

    def _check_open(self, what: str) -> None:
        if self._end:
            raise InputError(f"this studio {self._end}.", what)

    def _size(self, arm: object, what: str) -> int:
        return self._sizes[check_whole(arm, f"{what}, arm", 0, len(self._sizes) - 1)]

    def _take_joints(self, content: object) -> None:
        """Joints from a tab, validated as untrusted input."""
        given = content if isinstance(content, dict) else {}
        arm, q = given.get("arm"), given.get("q")
        if not isinstance(arm, int) or isinstance(arm, bool) or not 0 <= arm < len(self._sizes):
            raise RequestRefused(400, "No such arm.")
        if not isinstance(q, list) or len(q) != self._sizes[arm] or not all(map(is_number, q)):
            raise RequestRefused(400, f"The joints must be {self._sizes[arm]} numbers.")
        if not all(abs(x) <= LARGEST for x in q):
            raise RequestRefused(400, f"No number may exceed {LARGEST:g}.")
        self._joints[arm] = np.array([float(x) for x in q])

    def _leave_to_parent(self) -> None:
        self._lock = threading.Lock()  # a thread of the parent may hold the old one
        self._end = "belongs to the process that this one was forked from; send from that process"
        self._server.abandon()


def _rows(motion: Any, n: int) -> tuple[Floats, Floats]:
    """Times (m,) and joints (m, n) of any kind of motion."""
    from forearm.simulation.result import Simulation

    if isinstance(motion, Simulation):
        times = _times(float(motion.t[0]), float(motion.t[-1]))
        pair: Any = (times, motion.at(times)[0])
    elif hasattr(motion, "duration") and hasattr(motion, "at"):
        times = _times(0.0, check_number(motion.duration, "plan, duration"))
        pair = (times, motion.at(times)[0])
    elif hasattr(motion, "t") and hasattr(motion, "q"):
        pair = (motion.t, motion.q)
    else:
        pair = motion
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(
            f"expected a Plan, a motion, a Simulation, or times and joints (t, q), got {shorten(motion)}.",
            "plan",
        )
    t = as_floats(pair[0], "plan, t")
    if t.ndim != 1 or len(t) < 2:
        raise InputError(f"expected at least two times, (m,), got shape {t.shape}.", "plan", "t")
    t, q = as_finite(t, t.shape, "plan, t"), as_finite(pair[1], (len(t), n), "plan, q")
    if (np.diff(t) < 0.0).any():
        raise InputError("times must be non-decreasing.", "plan", "t")
    kept = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_ROWS)).astype(int))
    return _within(t[kept], "plan, t"), _within(q[kept], "plan, q")


def _times(start: float, end: float) -> Floats:
    if not end > start:
        raise InputError(
            f"expected a motion of positive duration, got one from {start:g} to {end:g} s.", "plan"
        )
    rows = math.ceil(min(max((end - start) * PLAN_RATE, LEAST_ROWS), MOST_ROWS - 1.0))
    return np.clip(np.linspace(start, end, rows + 1), start, end)


def _within(x: Floats, what: str) -> Floats:
    if x.size and np.abs(x).max() > LARGEST:
        raise InputError(f"no number may exceed {LARGEST:g}, got {shorten(x.tolist())}.", what)
    return x


def _visitors(host: str | None, token: str | None) -> Visitors:
    """The host names that requests may use."""
    if host is None:
        return Visitors()
    here = socket.gethostname().lower()
    if host in EVERYWHERE:
        return Visitors(LOCAL | {here, f"{here}.local"}, True, token)
    return Visitors(LOCAL | {_bracketed(host).lower()}, False, token)


def _url(host: str | None, port: int, token: str | None) -> str:
    name = "127.0.0.1" if host is None or host in EVERYWHERE else _bracketed(host)
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


_open: set[LiveStudio] = set()  # serving until closed, even if no longer referenced


def is_script(caller: str) -> bool:
    """Whether the module of this name is a program of its own: not an import, a prompt or a notebook."""
    return caller == "__main__" and not hasattr(sys, "ps1") and not sys.flags.interactive


def _serve(studios: Sequence[LiveStudio]) -> None:
    """Print addresses, and serve until Ctrl-C or until all are closed."""
    for studio in studios:
        print(f"studio of {shorten(studio._name)}: {studio.url} (Ctrl-C ends it)", flush=True)
    with suppress(KeyboardInterrupt):
        while not all(studio._end for studio in studios):
            time.sleep(LOOK)
    for studio in studios:
        studio.close()


def _close_all() -> None:
    """The end of the program: studios that it opened and left alone are served until Ctrl-C."""
    if getattr(sys, "last_value", None) is None:  # no error ended the program
        _serve([studio for studio in _open if studio.is_awaited])
    for studio in list(_open):
        studio.close()


def _in_child() -> None:
    for studio in _open:
        studio._leave_to_parent()
    _open.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
