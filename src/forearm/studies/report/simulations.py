"""Pages of single simulations embedded in the report: compressed, opened in a new tab on request."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable

SimulationPage = Callable[[int], str | None]


def embedded_page(row: int, page: str) -> str:
    """An inert script element with a page in gzip and base64; identical for equal pages.

    Args:
        row: number of the row.
        page: a whole HTML page.
    """
    packed = base64.b64encode(gzip.compress(page.encode("utf-8"), 9, mtime=0)).decode("ascii")
    return f'<script type="application/octet-stream" id="simulation-{row}">{packed}</script>'


def simulation_blocks(
    rows: list[int], simulation_page: SimulationPage, tell: Callable[[str], object]
) -> dict[int, str]:
    """The elements of those rows that have a page; `tell` is called before each."""
    blocks: dict[int, str] = {}
    for row in rows:
        tell(f"simulation of row {row}")
        if (page := simulation_page(row)) is not None:
            blocks[row] = embedded_page(row, page)
    return blocks
