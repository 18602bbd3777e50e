"""Requests to a live studio by sockets and http.client, as no browser would send some of them."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from forearm.viewer.live import LiveStudio

PATIENCE = 10.0  # s until a test that waits has failed


def port_of(studio: LiveStudio) -> int:
    port = urlsplit(studio.url).port
    assert port is not None
    return port


def eventually(is_so: Callable[[], bool]) -> bool:
    """Whether it comes to be so within the patience of tests."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def ask(
    studio: LiveStudio, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of an answer; `Sec_Fetch_Site` names the header Sec-Fetch-Site."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(studio), timeout=PATIENCE)
    try:
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def post(studio: LiveStudio, content: object, path: str = "/joints", **headers: str) -> int:
    """The status of joints that the studio's own page sends."""
    own = {"Content_Type": "application/json", "Origin": f"http://127.0.0.1:{port_of(studio)}"} | headers
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return ask(studio, "POST", path, body, **own)[0]


def raw(studio: LiveStudio, data: bytes) -> bytes:
    """All that the server answers to these bytes."""
    with socket.create_connection(("127.0.0.1", port_of(studio)), timeout=PATIENCE) as connection:
        connection.sendall(data)
        found = b""
        try:
            while more := connection.recv(65536):
                found += more
        except ConnectionResetError:
            pass
        return found


class Tab:
    """A browser's stream of events."""

    def __init__(self, studio: LiveStudio, last: str = "", path: str = "/events", buffer: int = 0) -> None:
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port_of(studio)))
        again = f"Last-Event-ID: {last}\r\n" if last else ""
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{again}\r\n".encode())
        self._lines = self.socket.makefile("rb")
        self.status = int(self._lines.readline().split()[1])
        self.headers = {}
        while line := self._lines.readline().strip().decode():
            name, _, text = line.partition(": ")
            self.headers[name] = text
        self.last = last
        self.hello = self.event("hello") if self.status == http.HTTPStatus.OK else ""

    def event(self, kind: str) -> str:
        """The data of the next event of a kind; others are passed over."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            fields: dict[str, str] = {}
            while line := self._lines.readline().decode().rstrip("\n"):
                name, _, text = line.partition(": ")
                fields[name] = text
            if not fields:
                raise EOFError("the server closed the stream")
            self.last = fields.get("id", self.last)
            if fields.get("event", "message") == kind:
                return fields["data"]
        raise TimeoutError(f"no {kind}")

    def message(self) -> Any:
        """The next message of the program."""
        return json.loads(self.event("message"))

    def rows(self, count: int) -> list[dict[str, Any]]:
        """So many states, of however many messages."""
        found: list[dict[str, Any]] = []
        while len(found) < count:
            message = self.message()
            assert message["type"] == "states"
            found += message["rows"]
        return found

    def close(self) -> None:
        self._lines.close()
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
