"""What holds for every test: compiled code is kept in a folder of this run, not in the user's
cache; commands get Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import gpu_receipt
import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from sweeps import mark_sweeps
from viewer.browser import ARGUMENTS, find_browser

from forearm.kernels.native import OPTIMISED, QUICK

# Tests of kernels compile as users do; others quickly, unless told otherwise: the same bits in half the time.
KERNELS = Path(__file__).parent / "kernels"
ELSEWHERE = os.environ.setdefault("FOREARM_COMPILE", QUICK)
# Whatever the speed of the machine, and though the tree may not be written to: the same examples each time.
# `--hypothesis-profile=fresh`, as in `make test-long`, draws others, and prints how to repeat what fails.
EVERYWHERE = hypothesis.settings(
    deadline=None, database=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("repeatable", EVERYWHERE, derandomize=True)
hypothesis.settings.register_profile("fresh", EVERYWHERE, print_blob=True)
hypothesis.settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    # Runs in the background (make test &) begin with Ctrl-C ignored, which processes that
    # tests start would inherit.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Before anything is collected, as modules may compile when they are imported.
    # The workers of xdist inherit it.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.mkdtemp(prefix="forearm-tests-")
        os.environ["FOREARM_CACHE"] = folder
        os.environ["COLUMNS"] = "100"  # whatever terminal there is, or none
        # Whatever language its user reads; argparse looks for translations on the disk at every word.
        os.environ["LANGUAGE"] = "C"
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each worker has a core
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()  # nothing that is collected goes away
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before cases are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_sweeps(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    os.environ["FOREARM_COMPILE"] = OPTIMISED if item.path.is_relative_to(KERNELS) else ELSEWHERE
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    # One message for each of thousands of tests, and not five: it began, was set up, passed, ...
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests that stay, not to be gone through at each collection of garbage
    gc.set_threshold(50_000, 20, 20)  # graphs are large and live for the length of a test


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(gpu_receipt.state())


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One for all tests of pages in a process: Playwright cannot be entered twice."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_browser()
    if path is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
