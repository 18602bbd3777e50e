"""Machine code by what it is made of: read from the cache, or made now and kept there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from forearm.kernels import cache
from forearm.kernels.elf import Loaded, NotHere
from forearm.kernels.identity import surroundings, told
from forearm.kernels.native import loaded

Placed = TypeVar("Placed")
# what must be known about code: its arm, functions, dtype and part, and whatever `place` reads
About = dict[str, Any]


def kept_or_made(
    parts: tuple[object, ...],
    names: list[str],
    make: Callable[[], tuple[About, bytes]],
    place: Callable[[About, Loaded], Placed],
) -> Placed:
    """What `place` makes of the code for these parts in memory, with the functions that `names` lists.

    Code from the cache that is not what was written, as `place` finds it, is made again.
    """
    key = cache.key_of(*told(parts), surroundings())
    kept = cache.read(key)
    if kept is not None:
        about, code = kept
        with contextlib.suppress(KeyError, TypeError, ValueError, NotHere):
            return place(about, loaded(code, names, made_here=False))
    about, code = make()
    cache.write(key, about, code)
    return place(about, loaded(code, names))
