"""Ray as an executor of parts on a Ray cluster. Ray is imported when the executor is created."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from typing import Any

from forearm.errors import InputError
from forearm.values import check_whole


class RayExecutor:
    """An executor of `fa.sweep` over the Ray cluster that this process is connected to.

    Args:
        max_workers: number of parts computed concurrently; None: the processors of the cluster.
        **options: options of `ray.remote`, for example `num_cpus=2`.
    """

    def __init__(self, max_workers: int | None = None, **options: Any) -> None:
        self._given = None if max_workers is None else check_whole(max_workers, "max_workers", 1)
        try:
            ray = import_module("ray")
        except ImportError as error:
            raise InputError("Ray is not installed: pip install 'forearm[ray]'.", "RayExecutor") from error
        if not ray.is_initialized():
            ray.init()
        self._ray = ray
        self._call = ray.remote(**options)(_call) if options else ray.remote(_call)
        self._sent: dict[int, tuple[Any, Any]] = {}  # a task and its Ray reference, by identity

    @property
    def max_workers(self) -> int:
        """Number of parts computed concurrently; a cluster may grow."""
        return self._given or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def submit(self, task: Callable[[int], bytes], part: int, /) -> Future[bytes]:
        """Start `task(part)` on the cluster.

        Args:
            task: A picklable callable; it is sent to each node once.
            part: The number of the part.
        """
        if id(task) not in self._sent:
            self._sent[id(task)] = task, self._ray.put(task)
        future: Future[bytes] = self._call.remote(self._sent[id(task)][1], part).future()
        return future


def _call(task: Callable[[int], bytes], part: int) -> bytes:
    return task(part)
