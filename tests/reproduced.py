"""Verdicts on the printed figures of a document, computed once."""

from __future__ import annotations

from functools import cache

from forearm.reproduce import Result, reproduce


@cache
def reproduced(document: str) -> tuple[Result, ...]:
    return tuple(reproduce(document))
