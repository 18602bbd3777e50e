"""Machine code by what it is made of: read from the cache, or made now and kept there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from forearm.errors import ForearmError
from forearm.kernels import cache
from forearm.kernels.cache_key import surroundings, told
from forearm.kernels.cpu import chosen
from forearm.kernels.elf import Loaded, UnsupportedObject
from forearm.kernels.file_lock import compiling
from forearm.kernels.locks import making
from forearm.kernels.native import loaded

Placed = TypeVar("Placed")
# what must be known about code: its arm, functions, dtype and part, and whatever `place` reads
About = dict[str, Any]


def kept_or_made(
    parts: tuple[object, ...],
    names: list[str],
    make: Callable[[], tuple[About, bytes]],
    place: Callable[[About, Loaded], Placed],
    known: Callable[[], Placed | None] = lambda: None,
    cpu: str | None = None,
) -> Placed:
    """What `place` makes of the code for these parts in memory, with the functions that `names` lists.

    Code from the cache that is not what was written, as `place` finds it, is made again. `known` is what
    another thread may have made while this one waited to compile; what another process made meanwhile is in
    the cache. The code is for the processor `chosen` unless one is given.
    """
    key = cache.key_of(*told(parts), surroundings(chosen(cpu)))
    found = _kept(key, names, place)
    if found is not None:
        return found
    with making():
        found = known()
        if found is not None:
            return found
        with compiling(key):
            found = _kept(key, names, place)
            if found is not None:
                return found
            about, code = _made(make)
            cache.write(key, about, code)
        return place(about, loaded(code, names))


def _kept(key: str, names: list[str], place: Callable[[About, Loaded], Placed]) -> Placed | None:
    kept = cache.read(key)
    if kept is not None:
        about, code = kept
        with contextlib.suppress(KeyError, TypeError, ValueError, UnsupportedObject):
            return place(about, loaded(code, names, made_here=False))
    return None


_under_way: list[object] = []  # what the thread that holds the lock makes; more than one if interrupted


def _made(make: Callable[[], tuple[About, bytes]]) -> tuple[About, bytes]:
    """What is made, or why a signal handler cannot make it: it interrupted the imports of its own thread."""
    _under_way.append(make)
    try:
        return make()
    except (ImportError, AttributeError) as error:
        if len(_under_way) == 1:
            raise
        raise ForearmError(
            "compile: a signal handler or a finaliser calls a kernel while its thread loads the compiler; "
            "call that kernel once before, so that it is compiled already."
        ) from error
    finally:
        _under_way.pop()
