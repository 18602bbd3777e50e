"""Parts on the executors of Dask, MPI, loky, submitit and Ray, each for real where it is installed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from studies.toy_campaign import ToyTask, assert_right, manifest_of

from forearm.errors import InputError
from forearm.studies.engines.ray_executor import RayExecutor
from forearm.studies.engines.runner import run_parts
from forearm.studies.storage.result_folder import ResultFolder, StudyError

TOY = Path(__file__).with_name("toy_campaign.py")
MANIFEST = manifest_of(150, 5)
TASK = ToyTask(MANIFEST)
PARTS = 30
PATIENCE = 120.0  # s

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> ResultFolder:
    return ResultFolder.open(tmp_path / "out", MANIFEST)


@pytest.fixture
def dask_client(tmp_path: Path) -> Any:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            scheduler_port=0,
            dashboard_address=None,
            local_directory=str(tmp_path / "dask"),
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_dask(folder: ResultFolder, dask_client: Any) -> None:
    """By its client a part fails and a worker is killed; its executor computes what is missing."""
    (pid,) = dask_client.run(os.getpid).values()
    struck = threading.Event()

    def progress(done: float, total: float, what: str) -> None:
        if done >= 50 and not struck.is_set():
            struck.set()
            os.kill(pid, signal.SIGKILL)

    task = ToyTask(MANIFEST, pause=0.02, failing=(7,))
    with pytest.raises(StudyError, match=r"1 part failed:\n  part 7 \(rows 35 to 39\): row 7: no such arm\."):
        run_parts(folder, task, dask_client, wanted=range(25), progress=progress)
    assert struck.is_set()
    assert folder.missing() == [7, *range(25, PARTS)]
    assert run_parts(folder, TASK, dask_client.get_executor(pure=False)) == PARTS - 24
    assert_right(folder.path, MANIFEST)


class DaskProcesses:
    """A scheduler of Dask with two workers, in processes of their own."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        folder.mkdir()
        self._file = folder / "scheduler.json"
        self._log = (folder / "log").open("wb")
        self._folder = folder
        options = ["--host", "127.0.0.1", "--port", str(port), "--scheduler-file", str(self._file)]
        self.scheduler = self._started("dask_scheduler", *options)
        self.address = self._address()
        many = ["--nworkers", "2", "--nthreads", "1", "--local-directory", str(folder)]
        self.workers = self._started("dask_worker", self.address, *many)

    def _started(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        # Workers find the task by the path of this process.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *options, "--no-dashboard"],
            env=environment,
            stderr=self._log,
        )

    def _address(self) -> str:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, ValueError):  # not yet written, or half
                return str(json.loads(self._file.read_text(encoding="utf-8"))["address"])
            assert self.scheduler.poll() is None, (self._folder / "log").read_text(encoding="utf-8")
            time.sleep(0.02)
        raise AssertionError("no scheduler of Dask came up")

    def close(self) -> None:
        self.workers.terminate()  # its processes end with it
        self.workers.wait(PATIENCE)
        self.scheduler.kill()
        self.scheduler.wait(PATIENCE)
        self._log.close()


@pytest.fixture
def dask_processes(tmp_path: Path) -> Iterator[Callable[..., DaskProcesses]]:
    pytest.importorskip("distributed")
    made: list[DaskProcesses] = []

    def make(port: int = 0) -> DaskProcesses:
        made.append(DaskProcesses(tmp_path / f"dask-{len(made)}", port))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of Dask's client that lost its scheduler
def test_dask_with_its_scheduler_killed_ends_and_another_completes(
    folder: ResultFolder, dask_processes: Callable[..., DaskProcesses]
) -> None:
    Client = pytest.importorskip("distributed").Client
    first = dask_processes()

    def kill(done: float, total: float, what: str) -> None:
        if done >= 50 and first.scheduler.poll() is None:
            first.scheduler.kill()
            first.scheduler.wait(PATIENCE)

    task = ToyTask(MANIFEST, pause=0.02)
    with (
        Client(first.address, timeout=1) as client,
        pytest.raises(StudyError, match="accepts no more parts: 'the connection to its scheduler was lost'"),
    ):
        run_parts(folder, task, client, progress=kill)
    kept = folder.parts_done()
    assert 10 <= len(kept) < PARTS
    with Client(dask_processes().address, timeout=PATIENCE) as client:
        assert run_parts(folder, task, client) == PARTS - len(kept)
    assert_right(folder.path, MANIFEST)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_dask_with_its_scheduler_restarted_at_its_address_goes_on(
    folder: ResultFolder, dask_processes: Callable[..., DaskProcesses]
) -> None:
    Client = pytest.importorskip("distributed").Client
    first = dask_processes()

    def restart(done: float, total: float, what: str) -> None:
        if done >= 50 and first.scheduler.poll() is None:
            first.close()
            dask_processes(int(first.address.rpartition(":")[2]))

    with Client(first.address, timeout=PATIENCE) as client:
        run_parts(folder, ToyTask(MANIFEST, pause=0.02), client, progress=restart)
    assert first.scheduler.poll() is not None
    assert_right(folder.path, MANIFEST)


def mpi_command(folder: Path, processes: int, *options: str) -> list[str]:
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("no mpiexec beside Python: pip install mpich")
    words = [mpiexec, "-n", processes, sys.executable, "-m", "mpi4py.futures", TOY, folder]
    return [*map(str, words), "--engine", "mpi", "--rows", "150", "--rows-per-part", "5", *options]


def test_mpi(tmp_path: Path) -> None:
    words = mpi_command(tmp_path / "out", 2)
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    assert_right(tmp_path / "out", MANIFEST)


@pytest.mark.long
def test_mpi_with_a_worker_killed_ends_and_goes_on_when_started_again(tmp_path: Path) -> None:
    words = mpi_command(tmp_path / "out", 3, "--deadly", "20", "--deadly-once", str(tmp_path))
    ran = subprocess.run(words, capture_output=True, check=False, timeout=PATIENCE)
    assert ran.returncode != 0
    kept = ResultFolder.at(tmp_path / "out").parts_done()
    assert len(kept) < PARTS
    assert 20 not in kept
    ran = subprocess.run(words, capture_output=True, check=False, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr.decode()
    assert_right(tmp_path / "out", MANIFEST)


def test_loky(folder: ResultFolder) -> None:
    executor = pytest.importorskip("loky").ProcessPoolExecutor(max_workers=1)
    try:
        assert run_parts(folder, TASK, executor) == PARTS
    finally:
        executor.shutdown(kill_workers=True)
    assert_right(folder.path, MANIFEST)


@pytest.mark.long
def test_loky_with_a_worker_killed_goes_on_with_a_new_pool(folder: ResultFolder, tmp_path: Path) -> None:
    loky = pytest.importorskip("loky")
    task = ToyTask(MANIFEST, deadly=(20,), deadly_once=tmp_path)
    for is_last in (False, True):
        executor = loky.ProcessPoolExecutor(max_workers=2)
        try:
            if is_last:
                run_parts(folder, task, executor)
            else:
                with pytest.raises(StudyError, match="the executor accepts no more parts"):
                    run_parts(folder, task, executor)
                assert len(folder.parts_done()) > 0
        finally:
            executor.shutdown(kill_workers=True)
    assert_right(folder.path, MANIFEST)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # logs of its debug executor
@pytest.mark.parametrize("cluster", ["debug", pytest.param("local", marks=pytest.mark.long)])
def test_submitit(tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its jobs are new processes, which find the task by the path of this one.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    manifest = manifest_of(20, 5)
    folder = ResultFolder.open(tmp_path / "out", manifest)
    executor = pytest.importorskip("submitit").AutoExecutor(folder=tmp_path / "jobs", cluster=cluster)
    executor.update_parameters(timeout_min=2)
    assert run_parts(folder, ToyTask(manifest), executor, workers=2) == 4
    assert_right(tmp_path / "out", manifest)


@pytest.mark.long  # it looks for lost jobs every 15 s
def test_submitit_with_a_job_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    manifest = manifest_of(20, 5)
    folder = ResultFolder.open(tmp_path / "out", manifest)
    executor = pytest.importorskip("submitit").AutoExecutor(folder=tmp_path / "jobs", cluster="local")
    executor.update_parameters(timeout_min=2)
    task = ToyTask(manifest, deadly=(2,), deadly_once=tmp_path)
    assert run_parts(folder, task, executor, workers=2) == 4
    assert_right(tmp_path / "out", manifest)


@pytest.fixture
def ray_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        yield RayExecutor()
    finally:
        ray.shutdown()


def test_ray(folder: ResultFolder, ray_executor: Any, tmp_path: Path) -> None:
    with pytest.raises(
        StudyError, match=r"1 part failed:\n  part 7 \(rows 35 to 39\): .*row 7: no such arm\."
    ):
        run_parts(folder, ToyTask(MANIFEST, failing=(7,)), ray_executor, wanted=range(20))
    with pytest.raises(StudyError, match=r"part 7 \(rows 35 to 39\): given up after 2 tries: "):
        run_parts(folder, ToyTask(MANIFEST, deadly=(7,)), ray_executor, retries=1, wanted=[7])
    assert folder.missing() == [7, *range(20, PARTS)]
    task = ToyTask(MANIFEST, deadly=(20,), deadly_once=tmp_path)
    assert run_parts(folder, task, ray_executor) == PARTS - 19
    assert_right(folder.path, MANIFEST)


class FakeRay(ModuleType):
    """What RayExecutor uses of Ray, on threads."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.pool = ThreadPoolExecutor(2)
        self.kept: list[Any] = []
        self.options: dict[str, Any] = {}

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def put(self, value: Any) -> int:
        self.kept.append(value)
        return len(self.kept) - 1

    def remote(self, function: Any = None, **options: Any) -> Any:
        if function is None:
            self.options = options
            return self.remote
        return SimpleNamespace(
            remote=lambda kept, part: SimpleNamespace(
                future=lambda: self.pool.submit(function, self.kept[kept], part)
            )
        )


def test_what_is_asked_of_ray(folder: ResultFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    RayExecutor().submit(TASK, 0).result()
    assert fake.options == {}
    executor = RayExecutor(num_cpus=2)
    assert (executor.max_workers, RayExecutor(5).max_workers) == (2, 5)
    fake.kept.clear()
    with fake.pool:
        assert run_parts(folder, TASK, executor) == PARTS
    assert fake.options == {"num_cpus": 2}
    assert len(fake.kept) == 1, "the task is sent once"
    assert_right(folder.path, MANIFEST)


def test_ray_is_asked_for_by_name_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"RayExecutor: Ray is not installed: pip install 'forearm\[ray\]'"):
        RayExecutor()
