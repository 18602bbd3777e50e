"""Requests to a live studio that are not from its own page, too large, too slow or no requests at all."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from email.message import Message

import numpy as np
import pytest
from arms import random_arm
from hypothesis import given
from hypothesis import strategies as st
from viewer.stream_client import PATIENCE, Tab, ask, eventually, port_of, post, raw

import forearm as fa
from forearm.viewer import live, live_server
from forearm.viewer.live import LiveStudio
from forearm.viewer.live_request import MOST_HEAD, BrowserRequest, RequestRefused, Visitors, read_request

PAGE = "<!DOCTYPE html><title>a page</title>"
ARMS = (random_arm(1, 3), random_arm(2, 4))
JOINTS = {"arm": 0, "q": [0.1, -0.2, 3]}
LONGEST_ANSWER = 700  # bytes, head included


@pytest.fixture(scope="module")
def shared() -> Iterator[LiveStudio]:
    with LiveStudio(PAGE, ARMS) as studio:
        yield studio


@pytest.fixture
def studio() -> Iterator[LiveStudio]:
    with LiveStudio(PAGE, ARMS) as made:
        yield made


def test_the_page_comes_with_headers_that_keep_it_to_itself(shared: LiveStudio) -> None:
    status, headers, text = ask(shared, "GET", "/")
    assert (status, text) == (200, PAGE)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Content-Security-Policy"].startswith("frame-ancestors 'self' http://localhost:*")
    with Tab(shared) as tab:
        assert tab.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        for each in (headers, tab.headers, ask(shared, "GET", "/no")[1]):
            assert each["Cache-Control"] == "no-store"
            assert each["X-Content-Type-Options"] == "nosniff"
            assert not any(name.lower().startswith("access-control") for name in each)
            assert "Server" not in each


def test_joints_come_back(studio: LiveStudio) -> None:
    assert studio.joints() is studio.joints(1) is None
    assert post(studio, JOINTS) == 204
    assert post(studio, {"arm": 1, "q": [1, 2, 3, 4]}, Sec_Fetch_Site="same-origin") == 204
    found = studio.joints()
    assert found is not None
    assert found.tolist() == JOINTS["q"]
    found[:] = 9.0
    again, other = studio.joints(0), studio.joints(arm=1)
    assert again is not None
    assert other is not None
    assert (again.tolist(), other.tolist()) == (JOINTS["q"], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(fa.InputError, match=r"joints, arm: expected a whole number from 0 to 1, got -1\."):
        studio.joints(-1)


@pytest.mark.parametrize(
    "content",
    [
        [], None, {"arm": 0}, {"arm": 0, "q": [1, 2]}, {"arm": 2, "q": [1, 2, 3]}, {"arm": -1, "q": [1, 2, 3, 4]},
        {"arm": True, "q": [1, 2, 3, 4]}, {"arm": "0", "q": [1, 2, 3]}, {"arm": 0, "q": [1, 2, True]},
        {"arm": 0, "q": [1, 2, "3"]}, {"arm": 0, "q": "123"}, {"arm": 0, "q": [1, 2, 10**400]},
        b'{"arm": 0, "q": [1, 2, NaN]}', b'{"arm": 0, "q": [1, 2, 1e999]}', b"\xff\xfe{", b"[" * 60_000,
    ],
)  # fmt: skip
def test_joints_that_are_none_are_refused(shared: LiveStudio, content: object) -> None:
    assert post(shared, content) == 400
    assert shared.joints() is shared.joints(1) is None


def test_content_is_of_one_kind_and_of_bounded_size(shared: LiveStudio) -> None:
    assert post(shared, JOINTS, Content_Type="text/plain") == 415
    assert post(shared, b" " * (live_server.MOST_BODY + 1)) == 413
    assert post(shared, b" " * 500_000) == 413
    own = "Host: localhost\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\n"
    for length, status in (
        ("", 411),
        ("Content-Length: -1\r\n", 400),
        ("Content-Length: 1e3\r\n", 400),
        (f"Content-Length: {10**19}\r\n", 400),
        ("Content-Length: 2\r\nContent-Length: 3\r\n", 400),
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", 411),
    ):
        answer = raw(shared, f"POST /joints HTTP/1.1\r\n{own}{length}\r\n{{}}".encode())
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), length
    assert shared.joints() is None


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "localhost.attacker.example", "192.168.0.1", "[::2]", "0.0.0.0", "", "localhost:",
     "localhost:99999999", "user@localhost", "[::1"],
)  # fmt: skip
def test_another_name_is_refused(shared: LiveStudio, host: str) -> None:
    """DNS rebinding: a stranger's name that leads to this machine."""
    for method, path in (("GET", "/"), ("GET", "/events"), ("POST", "/joints"), ("GET", "/no")):
        status, _, text = ask(shared, method, path, Host=host)
        assert (status, "open the address it gave" in text) == (403, True)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "localhost:{}", "localhost:9"]
)
def test_names_of_this_machine_are_taken_whatever_tunnel_they_came_through(
    shared: LiveStudio, host: str
) -> None:
    assert ask(shared, "GET", "/", Host=host.format(port_of(shared)))[0] == 200


def test_a_request_has_one_host(shared: LiveStudio) -> None:
    assert raw(shared, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 403 ")
    twice = raw(shared, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: attacker.example\r\n\r\n")
    assert twice.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "headers",
    [
        {},  # of nobody
        {"Origin": "http://attacker.example"},
        {"Origin": "https://localhost:5000"},
        {"Origin": "http://127.0.0.1:5000"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": "http://localhost:5000", "Sec_Fetch_Site": "cross-site"},
        {"Origin": "http://attacker.example", "Sec_Fetch_Site": "same-origin"},
    ],
)
def test_other_pages_neither_listen_nor_set_joints(shared: LiveStudio, headers: dict[str, str]) -> None:
    body = json.dumps(JOINTS).encode()
    asked = {"Host": "localhost:5000", "Content_Type": "application/json"} | headers
    assert ask(shared, "POST", "/joints", body, **asked)[0] == 403
    assert not headers or ask(shared, "GET", "/events", None, **asked)[0] == 403
    assert shared.joints() is None


def test_with_a_host_every_request_needs_the_token() -> None:
    with (
        LiveStudio(PAGE, ARMS, host="127.0.0.1") as studio,
        LiveStudio(PAGE, ARMS, host="127.0.0.1") as other,
    ):
        address, token = studio.url.split("?token=")
        assert address == f"http://127.0.0.1:{port_of(studio)}/"
        assert len(token) >= 32
        assert token not in other.url
        wrong = ("", "?token=", f"?token={token[:-1]}", f"?token={token}x", "?token=%ff", f"?Token={token}")
        for query in wrong:
            assert ask(studio, "GET", f"/{query}")[0] == 403
            assert ask(studio, "GET", f"/events{query}")[0] == 403
            assert post(studio, JOINTS, f"/joints{query}") == 403
            assert ask(studio, "GET", f"/no{query}")[0] == 403
        assert studio.joints() is None
        right = f"?token={token}"
        status, headers, text = ask(studio, "GET", f"/{right}")
        assert (status, text) == (200, PAGE)
        assert "Content-Security-Policy" not in headers  # notebooks of other machines may frame it
        assert post(studio, JOINTS, f"/joints{right}") == 204
        studio.send(np.zeros(3), t=1.0)
        with Tab(studio, path=f"/events{right}") as tab:
            assert tab.rows(1)[0]["t"] == 1.0
        assert ask(studio, "GET", f"/{right}", Host="attacker.example")[0] == 403


def test_who_listens_everywhere_is_reached_by_any_address_but_not_by_any_name() -> None:
    """Without a server: nothing here listens to other machines."""

    def is_refused(host: str, given: str, token: str = "secret") -> bool:
        headers = Message()
        headers["Host"] = given
        try:
            live._visitors(host, "secret").check(BrowserRequest("GET", "/", {"token": token}, headers, b""))
        except RequestRefused:
            return True
        return False

    here = socket.gethostname()
    for everywhere in ("0.0.0.0", "::"):
        for name in ("192.168.0.7:80", "[fe80::1]:80", "localhost", here, here.upper()):
            assert not is_refused(everywhere, name)
            assert is_refused(everywhere, name, "secreT")
        assert is_refused(everywhere, "attacker.example")
    assert not is_refused("192.168.0.7", "192.168.0.7:80")
    assert not is_refused("Robot", "robot:80")
    assert not is_refused("fe80::1", "[fe80::1]:80")
    assert is_refused("192.168.0.7", "192.168.0.8:80")
    assert live._url("0.0.0.0", 5, "x") == "http://127.0.0.1:5/?token=x"
    assert live._url("fe80::1", 5, "x") == "http://[fe80::1]:5/?token=x"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # a browser that was told https
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/0.9\r\n\r\n", 400),
        (b"get / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"Host: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 2 * MOST_HEAD, 431),
        (b"GET //localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /../page HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405),
        (b"OPTIONS /joints HTTP/1.1\r\nHost: localhost\r\nOrigin: http://attacker.example\r\n\r\n", 405),
        (b"GET /joints HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    ],
)
def test_what_is_no_request_gets_a_short_answer(
    shared: LiveStudio, data: bytes, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = raw(shared, data)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert len(answer) < LONGEST_ANSWER
    assert b"content-type: text/plain" in answer.lower()
    assert capfd.readouterr() == ("", "")


def test_who_says_nothing_or_leaves_is_let_go(
    studio: LiveStudio, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for data in (b"", b"GET / HT", b"POST /joints HTTP/1.1\r\nHost: localhost\r\n"):
        with socket.create_connection(("127.0.0.1", port_of(studio))) as gone:
            gone.sendall(data)
    assert eventually(lambda: not studio._server._open)
    monkeypatch.setattr(live_server, "PATIENCE", 0.05)
    own = b"Host: localhost\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\n"
    for data in (
        b"",
        b"GET / HTTP/1.1\n\n",
        b"POST /joints HTTP/1.1\r\n" + own + b"Content-Length: 9\r\n\r\n{",
    ):
        assert raw(studio, data).startswith(b"HTTP/1.1 408 ")
    assert eventually(lambda: not studio._server._open)
    assert capfd.readouterr() == ("", "")


def test_there_are_only_so_many_connections(studio: LiveStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_server, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(live_server, "MOST_TABS", 1)
    monkeypatch.setattr(live_server, "LOOK", 0.02)
    with Tab(studio):
        with Tab(studio) as second:
            assert second.status == 503
        assert eventually(lambda: len(studio._server._open) == 1)
        silent = [socket.create_connection(("127.0.0.1", port_of(studio)), PATIENCE) for _ in range(2)]
        assert eventually(lambda: len(studio._server._open) == 3)
        assert raw(studio, b"") == b""
        assert len(studio._server._open) == 3
        for each in silent:
            each.close()
        assert eventually(lambda: len(studio._server._open) == 1)
        assert ask(studio, "GET", "/")[0] == 200


def test_an_error_inside_ends_one_connection_in_silence(
    studio: LiveStudio, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A thread that cannot be started, as at the end of the interpreter."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as broken:
        broken.setattr(threading.Thread, "start", refuse)
        assert raw(studio, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == b""
    assert ask(studio, "GET", "/")[0] == 200
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"port": -1}, r"studio, port: expected a whole number from 0 to 65535, got -1\."),
        ({"host": ""}, r"studio, host: expected an address or a name, got ''\."),
        ({"host": "192.0.2.1"}, r"studio: cannot listen on '192\.0\.2\.1', port 0: .*\. Choose another"),
    ],
)
def test_where_nobody_can_listen(arguments: dict[str, object], why: str) -> None:
    with pytest.raises(fa.InputError, match=why):
        LiveStudio(PAGE, ARMS, **arguments)  # type: ignore[arg-type]


PIECES = st.sampled_from(
    [b"GET ", b"POST ", b"/", b"/joints", b"/events", b"?", b"token=", b"%", b"&", b" HTTP/1.1", b"\r\n",
     b"\n", b"\r\n\r\n",
     b"Host: localhost", b"Origin: ", b"Content-Length: 3", b": ", b" ", b"\t", b"\0", b"\xff"]
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(PIECES | st.binary(max_size=6), max_size=14))
def test_any_bytes_are_a_request_or_refused(parts: list[bytes]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"".join(parts))
        theirs.shutdown(socket.SHUT_WR)
        try:
            request = read_request(ours, PATIENCE)
            Visitors(token="x").check(request)
        except (RequestRefused, ConnectionError):
            return
    assert request.query["token"] == "x"


def test_what_a_browser_sends_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(
            b"POST /joints?token=x%20y&after=a-1 HTTP/1.1\r\nHost: localhost:80\r\nX-A:  b c \r\n\r\n{}"
        )
        request = read_request(ours, PATIENCE)
    assert (request.method, request.path, request.begun) == ("POST", "/joints", b"{}")
    assert request.query == {"token": "x y", "after": "a-1"}
    assert (request.header("host"), request.header("X-a"), request.header("Y")) == (
        "localhost:80",
        "b c",
        None,
    )
    Visitors(token="x y").check(request)
