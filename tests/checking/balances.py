"""Balances of built-in arms, each computed once: by far the longest part of a check."""

from __future__ import annotations

from functools import cache

import forearm as fa
from forearm.checking import Balance, balance


@cache
def balance_of(name: str) -> Balance:
    return balance(fa.load(name))
