"""Times of calls on a GPU, to be run by hand: `python tests/kernels/cuda/measure_calls.py`.

What a call costs in Python at batch 256, beside PyTorch's own addition, and how many states a second go from
NumPy to NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from kernels.cuda.gpu_function import RealFunction

from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import driver
from forearm.kernels.dispatch import Call


def microseconds(act: Callable[[], object], wait: Callable[[], object], times: int = 2000) -> float:
    """Median of nine runs, each waited for at its end."""
    found = []
    for _ in range(9):
        wait()
        start = perf_counter()
        for _ in range(times):
            act()
        found.append(1e6 * (perf_counter() - start) / times)
        wait()
    return float(np.median(found))


def main() -> None:
    """Print the table."""
    device, function = driver().device(0), RealFunction()
    print(device)
    x, y = np.random.default_rng(0).normal(size=(2, 256, 3))
    places = [device.allocated(8 * 256 * k, None) for k in (3, 3, 3, 9)]
    launch, addresses = function.launcher(0), [p.address for p in places]
    rows: list[tuple[str, Callable[[], object]]] = [("launcher", lambda: launch(0, addresses, 256))]
    for name in ("torch", "cupy"):
        try:
            library: Any = __import__(name)
        except ImportError:
            continue
        options = {"device": "cuda"} if name == "torch" else {}
        numbers = (x, y, np.zeros((256, 3)), np.zeros((256, 3, 3)))
        a, b, c, d = (library.asarray(v, **options) for v in numbers)
        rows += [
            (f"{name}, out=", lambda a=a, b=b, c=c, d=d: run(function, (a, b), Call({}, [c, d]))),  # type: ignore[misc]
            (f"{name}, new", lambda a=a, b=b: run(function, (a, b), Call({}))),  # type: ignore[misc]
            (f"{name}.add(out=)", lambda add=library.add, a=a, b=b, c=c: add(a, b, out=c)),  # type: ignore[misc]
        ]
    for label, act in rows:
        print(f"{label:20} {microseconds(act, device.synchronize):8.2f} us")
    for count in (256, 1 << 14, 1 << 20, 1 << 22):
        for kind in ("pageable", "pinned"):
            arrays = [np.zeros(shape) for shape in ((count, 3), (count, 3), (count, 3), (count, 3, 3))]
            if kind == "pinned":
                arrays = [device.pinned(a.nbytes).array.view(a.dtype).reshape(a.shape) for a in arrays]
            for a in arrays[:2]:
                a[...] = np.random.default_rng(0).normal(size=a.shape)
            times = []
            for _ in range(6):
                start = perf_counter()
                run(function, tuple(arrays[:2]), Call({}, arrays[2:]))
                times.append(perf_counter() - start)
            speed = count / min(times)
            print(f"NumPy, {kind}, {count:9,} states {speed / 1e6:9.1f} M/s {144e-9 * speed:6.1f} GB/s")


if __name__ == "__main__":
    main()
