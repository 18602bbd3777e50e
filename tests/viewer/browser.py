"""A browser for tests of pages: Debian's chromium, drawn by software."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

Open = Callable[..., Any]
ARGUMENTS = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
]  # fmt: skip

LOCAL = ("file:", "blob:", "data:", "about:")  # addresses that ask nothing of a network


def find_browser() -> str | None:
    """Its path, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def without_webgl() -> str:
    """JavaScript that takes WebGL away from a page."""
    return """const given = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
      return kind === "webgl2" ? null : given.call(this, kind, options);
    };"""
