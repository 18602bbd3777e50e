"""Executors that `forearm sweep --engine` makes: Dask, Ray, MPI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from forearm.errors import InputError, shorten
from forearm.studies.engines.runner import ENGINES

OTHERS = {"dask": "distributed", "ray": "ray", "mpi": "mpi4py.futures"}  # where each is imported from
ALL = (*ENGINES, *OTHERS)


@contextmanager
def executor_of(engine: str, scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """The executor of an engine by name; None where the runner's own workers compute.

    Args:
        engine: one of ALL.
        scheduler: the address of one that runs, for Dask and Ray; None: one on this machine.
        workers: how many, where they are started here; None: one per core.
    """
    if scheduler is not None and engine not in ("dask", "ray"):
        raise InputError(f"only --engine dask and ray have one, got --engine {engine}.", "--scheduler")
    if engine in ENGINES:
        yield None
        return
    module = _imported(engine)
    if engine == "dask":
        with _dask_client(module, scheduler, workers) as client:
            yield client
    elif engine == "mpi":
        _check_mpi()
        with module.MPIPoolExecutor() as executor:
            yield executor
    else:
        from forearm.studies.engines.ray_executor import RayExecutor

        module.init(address=scheduler, log_to_driver=False)
        try:
            yield RayExecutor(workers)
        finally:
            module.shutdown()


def _check_mpi() -> None:
    """Refuse a single process: its pool would wait for ever for others."""
    if import_module("mpi4py.MPI").COMM_WORLD.Get_size() < 2:
        raise InputError(
            "expected several processes, got one; start it by 'mpiexec -n 8 python -m "
            "mpi4py.futures -m forearm sweep ... --engine mpi'.",
            "--engine mpi",
        )


def _imported(engine: str) -> Any:
    try:
        return import_module(OTHERS[engine])
    except ImportError as error:
        raise InputError(
            f"{OTHERS[engine].partition('.')[0]} is not installed: pip install 'forearm[{engine}]'.",
            f"--engine {engine}",
        ) from error


@contextmanager
def _dask_client(module: Any, scheduler: str | None, workers: int | None) -> Iterator[Any]:
    if scheduler is not None:
        try:
            client = module.Client(scheduler)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers there: {shorten(str(error), 99)}. Start one by "
                "'dask scheduler', or leave --scheduler out for a cluster on this machine.",
                f"--scheduler {scheduler}",
            ) from error
        with client:
            yield client
        return
    own = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with module.LocalCluster(**own) as cluster, module.Client(cluster) as client:
        yield client
