"""Verdicts on the printed figures of a document, computed once in a run of the tests."""

from __future__ import annotations

import os
import pickle
from functools import cache
from pathlib import Path

from forearm.reproduce import Result, reproduce


@cache
def reproduced(document: str) -> tuple[Result, ...]:
    """Kept in the folder of this run, where other workers find them."""
    kept = Path(os.environ["FOREARM_CACHE"]) / f"{document}.results"
    try:
        found: tuple[Result, ...] = pickle.loads(kept.read_bytes())
    except OSError:
        found = tuple(reproduce(document))
        beside = kept.with_suffix(f".{os.getpid()}")
        beside.write_bytes(pickle.dumps(found))
        beside.replace(kept)
    return found
