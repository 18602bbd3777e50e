"""Numeric inverse kinematics on a GPU: one thread per pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.compiled import Slot
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_compiled import ENTRY, kept_or_assembled
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import Launcher, driver
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.kernels.dispatch import Call
from forearm.kernels.load_or_compile import About
from forearm.kernels.numeric_ik import Reacher, reacher_of
from forearm.kernels.numeric_ik_turn import POSE
from forearm.kinematics.numerical import NumericOptions, NumericSolution, poses_of, solution_of, starts_of

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel

THREADS = 64  # threads per block
MOST_KEPT = 8  # sets of options of a kernel, each with its settings on the device
_kept: WeakKeyDictionary[Kernel, dict[tuple[Any, ...], ReachOnDevice]] = WeakKeyDictionary()
TOLD = ("steps", "starts", "solved")  # one number each per pose
CALLED = "pose"  # the function that a kernel calls for each pose


def inverse_numeric(
    owner: Kernel,
    T: Any,
    start: Any,
    link: str | None,
    options: NumericOptions,
    threads: int | None,
    index: int,
) -> NumericSolution:
    """The result of `Kernel.inverse_numeric`; `index` is the device used for host arrays. Poses on a device
    are read in place, and the result is on the same device.
    """
    arm, function = owner.arm, _function(owner, link, options, start is not None)
    if library_of(T) is not None:
        if not hasattr(T, "reshape"):
            raise InputError(
                f"expected a NumPy, PyTorch, CuPy or JAX array, got {type(T).__name__}, which "
                "has no reshape.",
                "T",
            )
        if len(T.shape) not in (2, 3) or tuple(T.shape[-2:]) != (4, 4):
            raise InputError(f"expected poses of shape (4, 4) or (B, 4, 4), got {tuple(T.shape)}.", "T")
        given = (T.reshape((*T.shape[:-2], POSE)), *(() if start is None else (start,)))
        q, error, steps, starts, solved = run(function, given, Call({}, None, threads), index)
        is_known = library_of(q) is not INTERFACE  # whose arrays are plain memory
        flags = solved == 1.0 if is_known else solved
        return NumericSolution(q, flags, error, steps, starts, "on the device; `solved` says which are")
    if library_of(start) is not None:
        raise InputError(
            f"T is in host memory; expected start there too, got {type(start).__name__} on a device.", "start"
        )
    rows, single = poses_of(T)
    flat = np.concatenate([rows, np.tile([0.0, 0.0, 0.0, 1.0], (len(rows), 1))], axis=1)
    states = [flat[0] if single else flat]
    if start is not None:
        first = starts_of(arm, start, len(rows))
        states.append(first[0] if single else np.broadcast_to(first, (len(rows), arm.n)))
    q, error, steps, starts, solved = run(function, tuple(states), Call({}, None, threads), index)
    return solution_of(q, error, solved, steps, starts)


def _function(owner: Kernel, link: str | None, options: NumericOptions, is_given: bool) -> ReachOnDevice:
    """The function of a kernel with these options, cached with it."""
    kept = _kept.setdefault(owner, {})
    key = link, options, is_given
    if key not in kept:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        name = None if link is None else owner.arm.link(link).name
        reacher = reacher_of(owner.arm, name, options.position_only, options.limits)
        kept[key] = ReachOnDevice(reacher, options, is_given)
    return kept[key]


class ReachOnDevice:
    """Numeric inverse kinematics with its options, in the form that `cuda.dispatch` calls: the settings stay
    on the device, and their address is passed with every launch.
    """

    dtype = "float64"

    def __init__(self, reacher: Reacher, options: NumericOptions, is_given: bool) -> None:
        self.reacher, self.arm, self.is_given = reacher, reacher.arm, is_given
        n = self.arm.n
        self.inputs = (Slot("T", (POSE,)), *((Slot("start", (n,)),) if is_given else ()))
        self.outputs = Slot("q", (n,)), Slot("error", (2,)), *(Slot(name, ()) for name in TOLD)
        # The kernel itself moves a start inside the limits.
        first = np.zeros((1, n)) if is_given else None
        self.settings = reacher.arguments(first, *options.asked)[1]
        self._launchers: dict[int, Launcher] = {}

    def launcher(self, index: int, each: bool = False) -> Launcher:
        """The launcher on a device."""
        return self._launchers.get(index) or self._launchers.setdefault(index, self._made(index))

    def _made(self, index: int) -> Launcher:
        arm, position_only, is_given = self.arm, self.reacher.position_only, self.is_given

        def make() -> tuple[About, str]:
            return made(arm, position_only, is_given)

        parts = ("reach", arm, position_only, is_given, "cuda")
        launch = kept_or_assembled(parts, make, driver().device(index))[1].call
        kept = INTERFACE.sent(self.settings, index, 0)
        kept.is_ready = True
        place, before = INTERFACE.seen("settings", kept, 0).address, len(self.inputs)

        def call(stream: int, addresses: Sequence[int], count: int) -> None:
            launch(stream, (*addresses[:before], place, *addresses[before:]), count)

        call.settings = kept  # type: ignore[attr-defined]  # they stay as long as the launcher does
        return call


def made(arm: Arm, position_only: bool, is_given: bool) -> tuple[About, str]:
    """The metadata of the kernel, and its PTX."""
    from forearm.kernels.cuda.ptx import assembly
    from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module, row_kernel_text
    from forearm.kernels.numeric_ik_row import pose_text

    target = DEVICE_TARGETS["float64"]
    sizes = {"T": POSE, **({"start": arm.n} if is_given else {}), "settings": 0}
    sizes |= {"q": arm.n, "error": 2, **dict.fromkeys(TOLD, 1)}
    texts = [
        pose_text(CALLED, arm, position_only, is_given, target),
        row_kernel_text(ENTRY, CALLED, sizes, target, THREADS, ["settings"]),
    ]
    about = {
        "arm": arm.name,
        "functions": ["inverse_numeric"],
        "dtype": "float64",
        "part": "cuda",
        "arguments": len(sizes),
        "threads": THREADS,
        "shared": 0,
    }
    return about, assembly(device_module(texts, target))
