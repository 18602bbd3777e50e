"""Messages sent by a program, stored for the tabs: the last states, the last plans.

Every message has a number. A tab requests everything after the last number it knows, whenever it is ready:
the program never waits for a tab, and memory does not grow with the number of tabs.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

HISTORY = 4096  # stored states of all arms together: 4 s at 1 kHz
PLANS = 8  # stored plans
MOST_ROWS = 512  # states of an arm in one message; beyond that, states are dropped evenly
NAME_BYTES = 6


@dataclass(frozen=True)
class SentState:
    """A state of an arm; its text is generated when the first tab requests it."""

    number: int
    arm: int
    values: dict[str, Any]

    @cached_property
    def text(self) -> str:
        """The state as JSON."""
        return _json(self.values)


@dataclass(frozen=True)
class SentPlan:
    """A plan for an arm, as JSON."""

    number: int
    text: str


Sent = TypeVar("Sent", SentState, SentPlan)


class LiveFeed:
    """Numbered states and plans; one lock, held only while references are copied."""

    def __init__(self, arms: int) -> None:
        self.name = secrets.token_hex(NAME_BYTES)  # numbers of an earlier run of the program are invalid here
        self.is_closed = False
        self._news = threading.Condition()
        self._number = 0
        self._states: deque[SentState] = deque(maxlen=HISTORY)
        self._plans: deque[SentPlan] = deque(maxlen=PLANS)
        self._latest: list[SentState | None] = [None] * arms

    def add_state(self, arm: int, values: dict[str, Any]) -> None:
        """Add a state for every tab; the oldest one is dropped."""
        with self._news:
            self._number += 1
            state = SentState(self._number, arm, values)
            self._states.append(state)
            self._latest[arm] = state
            self._news.notify_all()

    def add_plan(self, arm: int, values: dict[str, Any]) -> None:
        """Add a plan for every tab."""
        text = _json({"type": "plan", "arm": arm} | values)
        with self._news:
            self._number += 1
            self._plans.append(SentPlan(self._number, text))
            self._news.notify_all()

    def close(self) -> None:
        """Wake all waiting threads, which then find the feed closed."""
        with self._news:
            self.is_closed = True
            self._news.notify_all()

    def after(self, last: int | None, patience: float) -> tuple[int, list[str]]:
        """Messages after number `last`, or the initial ones of a new tab (None): the latest state of each arm
        and the latest plan. Waits at most `patience` s for the first. Also returns the number to continue
        from.
        """
        with self._news:
            if last is None:
                states = [state for state in self._latest if state is not None]
                plans = list(self._plans)[-1:]
            else:
                self._news.wait_for(lambda: self.is_closed or self._number > last, patience)
                states, plans = _behind(last, self._states), _behind(last, self._plans)
            number = self._number
        return number, _messages([*states, *plans])

    def place(self, number: int) -> str:
        """A number as the id of an event."""
        return f"{self.name}-{number}"

    def number_of(self, place: str) -> int | None:
        """The number of an id; None if it is not from this feed."""
        name, _, digits = place.partition("-")
        if name != self.name or not digits.isascii() or not digits.isdigit() or len(digits) > 18:
            return None
        number = int(digits)
        return number if number <= self._number else None


def _behind(last: int, kept: deque[Sent]) -> list[Sent]:
    """Entries after a number, newest first, without visiting those already sent."""
    found = []
    for each in reversed(kept):
        if each.number <= last:
            break
        found.append(each)
    return found


def _messages(kept: Iterable[SentState | SentPlan]) -> list[str]:
    """As JSON, in order of arrival; the states between two plans are grouped by arm."""
    made: list[str] = []
    states: dict[int, list[SentState]] = {}
    for each in sorted(kept, key=lambda message: message.number):
        if isinstance(each, SentState):
            states.setdefault(each.arm, []).append(each)
        else:
            made += [*_batches(states), each.text]
            states = {}
    return made + _batches(states)


def _batches(states: dict[int, list[SentState]]) -> list[str]:
    return [
        f'{{"type":"states","arm":{arm},"rows":[{",".join(state.text for state in _thinned(rows))}]}}'
        for arm, rows in states.items()
    ]


def _thinned(rows: list[SentState]) -> list[SentState]:
    """At most MOST_ROWS of the states, evenly spaced, including the last."""
    if len(rows) <= MOST_ROWS:
        return rows
    last = len(rows) - 1
    return [rows[k * last // (MOST_ROWS - 1)] for k in range(MOST_ROWS)]


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, allow_nan=False, separators=(",", ":"))
