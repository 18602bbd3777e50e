"""The server of a live studio: its page, an event stream to each tab, joint values sent back by tabs.

    GET  /         the page
    GET  /events   Server-Sent Events: states and plans as they are sent, for as long as the tab is open
    POST /joints   joints that a user set in a tab: {"arm": 0, "q": [...]}

Each connection has its own thread and serves one request. Nothing is logged, and no error leaves a thread.
"""

from __future__ import annotations

import hashlib
import json
import os
import selectors
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from forearm.viewer.live_feed import LiveFeed
from forearm.viewer.live_request import (
    BrowserRequest,
    RequestRefused,
    Visitors,
    check_own_page,
    read_body,
    read_request,
)

PERIOD = 1.0 / 60.0  # s between messages to a tab
BEAT = 5.0  # s between heartbeats to a tab
LOOK = 1.0  # s between checks whether an idle tab is still connected
PATIENCE = 10.0  # s limit of a request or a message
LINGER, MOST_LEFT = 0.5, 1 << 20  # s and bytes that a refused client may still send
MOST_CONNECTIONS, MOST_TABS = 64, 32
MOST_BODY = 65_536  # bytes of joints sent back by a tab
BUFFER = 1 << 17  # bytes in flight to a tab: a slow one gets recent states instead of a backlog
PIECE = 1 << 16  # bytes of a response per write
RETRY = 1000  # ms until a browser reconnects
HEADERS = (
    "Connection: close",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    "Referrer-Policy: same-origin",
    "Cross-Origin-Resource-Policy: same-origin",
)
# Who may embed the page when there is no token: notebooks on this machine.
FRAMES = "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:"
METHODS = {"/": "GET", "/events": "GET", "/joints": "POST"}


class StudioServer(socketserver.TCPServer):
    """Serves from construction until `close`; `taken` receives what tabs send back, and raises RequestRefused
    if it is invalid.
    """

    allow_reuse_address = os.name != "nt"  # on Windows it would let other processes take over the port
    request_queue_size = 32

    def __init__(
        self,
        address: tuple[str, int],
        visitors: Visitors,
        page: str,
        feed: LiveFeed,
        taken: Callable[[object], None],
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._visitors, self._page, self._feed, self._taken = visitors, page.encode(), feed, taken
        self._digest = hashlib.sha256(self._page).hexdigest()[:16]
        self._open: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self.tabs = 0
        super().__init__(address, socketserver.BaseRequestHandler)
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.1,), name="forearm studio", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def close(self) -> None:
        """Free the port, disconnect all tabs and end all threads."""
        self._feed.close()
        self.shutdown()
        self.server_close()
        with self._lock:
            still = dict(self._open)
        for connection in still:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # wakes threads waiting on it
        for thread in (self._thread, *still.values()):
            thread.join(PATIENCE)

    def abandon(self) -> None:
        """In a forked process: the sockets belong to the parent, and stay open there."""
        for connection in (self.socket, *self._open):
            connection.close()

    # ---- called by socketserver --------------------------------------------------------------------------

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next connection; if file descriptors run out, it waits before the next attempt."""
        try:
            return self.socket.accept()
        except OSError:
            time.sleep(PERIOD)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """One thread per connection, up to MOST_CONNECTIONS."""
        thread = threading.Thread(
            target=self._converse, args=(request,), name="forearm studio client", daemon=True
        )
        with self._lock:
            if len(self._open) >= MOST_CONNECTIONS:
                raise ConnectionRefusedError
            self._open[request] = thread
        thread.start()

    def close_request(self, request: Any) -> None:
        """The end of a connection."""
        with self._lock:
            self._open.pop(request, None)
        request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: connection errors do not belong in the program's terminal."""

    # ---- a connection ------------------------------------------------------------------------------------

    def _converse(self, connection: socket.socket) -> None:
        try:
            try:
                self._answer(connection)
            except RequestRefused as refusal:
                _send(connection, refusal.status, "text/plain", f"{refusal.why}\n".encode(), *refusal.headers)
                _let_finish(connection)
        except OSError:
            pass  # the tab was closed
        finally:
            self.shutdown_request(connection)

    def _answer(self, connection: socket.socket) -> None:
        request = read_request(connection, PATIENCE)
        self._visitors.check(request)
        method = METHODS.get(request.path)
        if method is None:
            raise RequestRefused(404, "Not found.")
        if request.method != method:
            raise RequestRefused(405, f"Only {method} is allowed here.", f"Allow: {method}")
        connection.settimeout(PATIENCE)
        if request.path == "/":
            frames = () if self._visitors.token else (f"Content-Security-Policy: {FRAMES}",)
            _send(connection, 200, "text/html", self._page, *frames)
        elif request.path == "/events":
            check_own_page(request, needed=False)
            self._admit(connection, request)
        else:
            check_own_page(request, needed=True)
            self._taken(_content(connection, request))
            _send(connection, 204, "", b"")

    def _admit(self, connection: socket.socket, request: BrowserRequest) -> None:
        with self._lock:
            if self.tabs >= MOST_TABS:
                raise RequestRefused(503, f"{MOST_TABS} tabs are already open.")
            self.tabs += 1
        try:
            self._stream(connection, request)
        finally:
            with self._lock:
                self.tabs -= 1

    def _stream(self, connection: socket.socket, request: BrowserRequest) -> None:
        """Send states and plans for as long as the tab is connected."""
        feed = self._feed
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        last = feed.number_of(request.header("Last-Event-ID") or request.query.get("after", ""))
        # read before the first event is sent, so that the tab misses nothing from here on
        last, messages = feed.after(last, 0.0)
        hello = f'retry: {RETRY}\nevent: hello\ndata: {{"page":"{self._digest}"}}\n\n'
        connection.sendall(_head(200, "text/event-stream", None) + hello.encode())
        beaten = time.monotonic()
        while not feed.is_closed:
            if messages:
                events = (f"id: {feed.place(last)}\ndata: {message}\n\n" for message in messages)
                connection.sendall("".join(events).encode())
                time.sleep(PERIOD)
            elif _has_gone(connection):
                return
            elif time.monotonic() - beaten >= BEAT:
                connection.sendall(b"event: beat\ndata: {}\n\n")
                beaten = time.monotonic()
            last, messages = feed.after(last, LOOK)


def _content(connection: socket.socket, request: BrowserRequest) -> object:
    """The JSON of a request."""
    if (request.header("Content-Type") or "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "The content must be application/json.")
    body = read_body(connection, request, MOST_BODY, PATIENCE)
    try:
        content: object = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestRefused(400, "The content is not JSON.") from None
    return content


def _head(status: int, kind: str, length: int | None, *more: str) -> bytes:
    """The head of a response."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *HEADERS, *more]
    if kind:
        lines.append(f"Content-Type: {kind}; charset=utf-8")
    if length is not None and status != HTTPStatus.NO_CONTENT:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _send(connection: socket.socket, status: int, kind: str, body: bytes, *more: str) -> None:
    connection.settimeout(PATIENCE)
    connection.sendall(_head(status, kind, len(body), *more))
    for start in range(0, len(body), PIECE):  # the time limit is per piece: a large page may take longer
        connection.sendall(body[start : start + PIECE])


def _let_finish(connection: socket.socket) -> None:
    """Drain some pending input: closing at once would discard our response."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(LINGER)
    until, left = time.monotonic() + LINGER, MOST_LEFT
    while left > 0 and time.monotonic() < until:
        data = connection.recv(PIECE)
        if not data:
            return
        left -= len(data)


def _has_gone(connection: socket.socket) -> bool:
    """Whether a tab, which sends nothing after its request, has disconnected."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(0))
