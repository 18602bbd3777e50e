"""Browser requests to a live studio: read within limits, refused unless they come from its own page.

A browser sends requests on behalf of any page, including hostile ones. They are distinguished by the host
name in the request (Host; against DNS rebinding, only our own names are accepted), the requesting page
(Origin, Sec-Fetch-Site), and the token, if there is one.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
import time
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException, parse_headers
from io import BytesIO
from urllib.parse import parse_qsl

MOST_HEAD = 16_384  # bytes of a request's first line and headers
MOST_PARAMETERS = 8
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
FIRST_LINE = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]")
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")


class RequestRefused(Exception):
    """A request that is answered with an error: an HTTP status and a message."""

    def __init__(self, status: int, why: str, *headers: str) -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers


@dataclass(frozen=True)
class BrowserRequest:
    """A browser request; `begun` are the bytes of its body that came with the head."""

    method: str
    path: str
    query: dict[str, str]
    headers: Message
    begun: bytes

    def header(self, name: str) -> str | None:
        """A header's value; a repeated header is refused, as servers disagree on its meaning."""
        found = self.headers.get_all(name, [])
        if len(found) > 1:
            raise RequestRefused(400, f"{name} is given more than once.")
        return str(found[0]).strip() if found else None


@dataclass(frozen=True)
class Visitors:
    """Who may send requests: the accepted host names, whether any IP address is accepted too, and the token
    that each request must contain.
    """

    names: frozenset[str] = LOCAL
    any_address: bool = False
    token: str | None = None

    def check(self, request: BrowserRequest) -> None:
        """Refuse requests with another host name, or without the token.

        Any port is accepted: tunnels and containers may map ours to another.
        """
        host = request.header("Host") or ""
        found = HOST.fullmatch(host)
        if found is None or not self._is_ours(found[1].lower()):
            raise RequestRefused(
                403, "This host name does not belong to the studio; open the address it gave."
            )
        given = request.query.get("token", "")
        if self.token is not None and not hmac.compare_digest(given.encode(), self.token.encode()):
            raise RequestRefused(403, "The token is missing or wrong; open the address the studio gave.")

    def _is_ours(self, name: str) -> bool:
        if name in self.names or not self.any_address:
            return name in self.names
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


def check_own_page(request: BrowserRequest, needed: bool) -> None:
    """Refuse requests from other pages, and with `needed` those that do not state their origin."""
    origin, site = request.header("Origin"), request.header("Sec-Fetch-Site")
    is_foreign = origin not in (None, f"http://{request.header('Host')}") or site not in (None, "same-origin")
    if is_foreign or (needed and origin is None and site is None):
        raise RequestRefused(403, "Only the studio's own page may ask for this.")


def read_request(connection: socket.socket, patience: float) -> BrowserRequest:
    """The head of a request, which must arrive within `patience` s."""
    head, begun = _head(connection, time.monotonic() + patience)
    line, _, fields = head.partition(b"\r\n")
    found = FIRST_LINE.fullmatch(line)
    if found is None:
        raise RequestRefused(400, "This is not an HTTP/1.1 request.")
    try:
        headers = parse_headers(BytesIO(fields + b"\r\n\r\n"))
        path, _, parameters = found[2].decode("ascii").partition("?")
        query = dict(parse_qsl(parameters, max_num_fields=MOST_PARAMETERS))
    except (HTTPException, ValueError):
        raise RequestRefused(400, "The request cannot be read.") from None
    return BrowserRequest(found[1].decode("ascii"), path, query, headers, begun)


def read_body(connection: socket.socket, request: BrowserRequest, most: int, patience: float) -> bytes:
    """The body of a request, of at most `most` bytes."""
    length = request.header("Content-Length")
    if length is None or request.header("Transfer-Encoding") is not None:
        raise RequestRefused(411, "Content-Length is missing.")
    if not re.fullmatch(r"[0-9]{1,18}", length):
        raise RequestRefused(400, "Content-Length is not a number.")
    if int(length) > most:
        raise RequestRefused(413, f"The content has more than {most} bytes.")
    body, until = request.begun, time.monotonic() + patience
    while len(body) < int(length):
        body += _received(connection, until)
    return body[: int(length)]


def _head(connection: socket.socket, until: float) -> tuple[bytes, bytes]:
    """Everything before the empty line, and the bytes after it."""
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > MOST_HEAD:
            raise RequestRefused(431, f"The head of the request has more than {MOST_HEAD} bytes.")
        data += _received(connection, until)
    head, _, begun = data.partition(b"\r\n\r\n")
    return head, begun


def _received(connection: socket.socket, until: float) -> bytes:
    left = until - time.monotonic()
    if left > 0.0:
        connection.settimeout(left)
        try:
            data = connection.recv(MOST_HEAD)
        except TimeoutError:
            data = b""
            left = 0.0
    if left <= 0.0:
        raise RequestRefused(408, "The request did not arrive in time.")
    if not data:
        raise ConnectionError("the peer closed the connection")
    return data
