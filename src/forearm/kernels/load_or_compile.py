"""Machine code by its cache key: read from the cache, or compiled now and stored there."""

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
# metadata of code: its arm, functions, dtype and part, and whatever `place` reads
About = dict[str, Any]


def kept_or_made(
    parts: tuple[object, ...],
    names: list[str],
    make: Callable[[], tuple[About, bytes]],
    place: Callable[[About, Loaded], Placed],
    known: Callable[[], Placed | None] = lambda: None,
    cpu: str | None = None,
) -> Placed:
    """The result of `place` for the code of these parts in memory, with the functions listed in `names`.

    Cached code that `place` finds invalid is compiled again. `known` returns what another thread compiled
    while this one was waiting for the lock; what another process compiled meanwhile is in the cache. The code
    is for the processor `chosen` unless one is given.
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


# what the thread that holds the lock is compiling; more than one if interrupted
_under_way: list[object] = []


def _made(make: Callable[[], tuple[About, bytes]]) -> tuple[About, bytes]:
    """Compile, or raise if a signal handler cannot: it interrupted the imports of its own thread."""
    _under_way.append(make)
    try:
        return make()
    except (ImportError, AttributeError) as error:
        if len(_under_way) == 1:
            raise
        raise ForearmError(
            "a signal handler or a finaliser calls a kernel while its thread loads the "
            "compiler; call that kernel once beforehand so that it is already compiled.",
            "compile",
        ) from error
    finally:
        _under_way.pop()
