"""Verdicts on the printed figures of a document, computed once in a run of the tests."""

from __future__ import annotations

import os
import pickle
from functools import cache
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from forearm.counting import printed as counts
from forearm.reproduce import Result, reproduce
from forearm.reproduce.catalogue import catalogue
from forearm.schedules import printed as schedules

# All that gives what the documents print: the files of counts and schedules, and what is made of them.
READERS = [
    kept for module in (counts, schedules) for kept in vars(module).values() if hasattr(kept, "cache_info")
]


def reproduced(document: str) -> tuple[Result, ...]:
    """Its printed values, recomputed and compared."""
    return _kept(document)[0]


def readers(document: str) -> frozenset[str]:
    """The items of a document whose functions read printed numbers while they computed."""
    return _kept(document)[1]


@cache
def _kept(document: str) -> tuple[tuple[Result, ...], frozenset[str]]:
    """In the folder of this run, where other workers find them."""
    kept = Path(os.environ["FOREARM_CACHE"]) / f"{document}.results"
    try:
        found: tuple[tuple[Result, ...], frozenset[str]] = pickle.loads(kept.read_bytes())
    except OSError:
        found = _watched(document)
        beside = kept.with_suffix(f".{os.getpid()}")
        beside.write_bytes(pickle.dumps(found))
        beside.replace(kept)
    return found


def _watched(document: str) -> tuple[tuple[Result, ...], frozenset[str]]:
    """Computed, with the number of reads before each item."""
    module = import_module("forearm.reproduce.catalogue")  # the package has a function of that name
    items, reads = catalogue(document), list[int]()
    with patch.object(module, "_data", wraps=module._data) as data:

        def count(*_: object) -> None:
            infos = [kept.cache_info() for kept in READERS]
            reads.append(data.call_count + sum(info.hits + info.misses for info in infos))

        results = tuple(reproduce(document, count))
    pairs = zip(items, reads, reads[1:], strict=False)
    return results, frozenset(item.id for item, before, after in pairs if after > before)
