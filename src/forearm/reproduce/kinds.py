"""Kinds of comparison: how our value was obtained, and so what its agreement with the printed one proves."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal["recomputed", "decoded", "echoed", "arithmetic", "statement", "repeated"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEANINGS: dict[Kind, str] = {
    "recomputed": "computed by our own formulation, program, schedule or simulation from inputs that do not "
    "contain the answer",
    "decoded": "computed from parameters decoded from the same listing or table, or by a counting convention "
    "chosen because it yields the printed count; agreement shows only that one choice explains the values",
    "echoed": "an input that is read back: it guards our built-in data and proves nothing else",
    "arithmetic": "arithmetic on other values that the document prints",
    "statement": "a claim in words, where 0 stands for 'the same' and 1 for 'it holds', or a value that the "
    "document quotes and that nothing here computes",
    "repeated": "compared again: the same printed value elsewhere or by another computation, or one that "
    "follows from values compared elsewhere; it counts there, not here",
}
