"""The results of a study as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from forearm.pages import SCRIPTS, html_page
from forearm.palette import page_colours
from forearm.progress import Progress
from forearm.studies.report.columns import StudyColumns
from forearm.studies.report.embedded import embedded_rows, script_json
from forearm.studies.report.groups import groups
from forearm.studies.report.histograms import histograms
from forearm.studies.report.markup import grouped, paragraph, rows_said, section
from forearm.studies.report.plots import parallel_plot, scatter_plot
from forearm.studies.report.sensitivities import sensitivities
from forearm.studies.report.simulations import SimulationPage, simulation_blocks
from forearm.studies.report.source import ReportSource
from forearm.studies.report.summary import facts_table, figures_table
from forearm.studies.report.worst import failed_said, worst_rows, worst_section
from forearm.svg import INKS, INKS_ON_DARK
from forearm.values import check_whole

FOLDER = Path(__file__).parent
SCRIPT_FILES = ("basics.js", "scatter.js", "parallel.js", "actions.js")
# A simulation page opened from here is subject to this policy, too.
POLICY = f"{SCRIPTS}; img-src data: blob:"
# From low to high, for lines visible on white and on dark pages.
RAMP = ("#3b0f70", "#35448c", "#27678d", "#1c8a8b", "#1f9c7e", "#4aa64f", "#93a31a", "#c98a00")
RAMP_ON_DARK = ("#8d7be8", "#6d90e8", "#4fa6dc", "#3fbcc0", "#4fcf9a", "#86dc6a", "#c6e24a", "#fde725")
MOST_WORST = 100
SIMULATIONS = 6  # each takes a second or two to create, and some 100 kB
STEPS = ("statistics", "distributions", "sensitivities", "fronts", "page")


def report_page(
    results: ReportSource,
    *,
    worst: int = 3,
    simulation_page: SimulationPage | None = None,
    simulations: int = SIMULATIONS,
    progress: Progress | None = None,
) -> str:
    """The text of the page.

    Args:
        results: of a study.
        worst: rows to show as the worst of each figure.
        simulation_page: maps a row number to the page that plays its simulation, or None.
        simulations: largest number of such pages to embed, the worst of each figure first.
        progress: progress callback.
    """
    check_whole(worst, "report, worst", 0, MOST_WORST)
    check_whole(simulations, "report, simulations", 0, MOST_WORST)
    columns = StudyColumns(results)
    rows = worst_rows(columns, worst)
    make_page = simulation_page or (lambda row: None)
    simulated = [] if simulation_page is None else columns.row[rows.simulated(simulations)].tolist()
    tell = _Steps(len(STEPS) + len(simulated), progress)
    tell("statistics")
    summary = facts_table(columns) + paragraph(failed_said(rows, columns.done))
    summary += figures_table(columns) if columns.done else paragraph("No rows are computed yet.")
    tell("distributions")
    drawn = histograms(columns)
    tell("sensitivities")
    found = sensitivities(columns)
    levels = groups(columns)
    tell("fronts")
    document = embedded_rows(columns, found.importance, worst)
    blocks = simulation_blocks(simulated, make_page, tell)
    tell("page")
    sections = [
        ("summary", "Summary", summary),
        ("distributions", "Distributions", drawn),
        ("fronts", "Pareto front", scatter_plot(columns, document)),
        ("sensitivities", "Sensitivities", found.html),
        ("levels", "By level", levels),
        ("parallel", "Parallel coordinates", parallel_plot(columns, document)),
        ("worst", "Worst cases", worst_section(columns, rows, blocks.__contains__)),
    ]
    tell.finish()
    return _page(results, columns.done, [part for part in sections if part[2]], document, blocks)


class _Steps:
    """Counts steps and reports each before it begins."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress = 0, total, progress

    def __call__(self, what: str) -> None:
        if self.progress is not None:
            self.progress(self.done, self.total, what)
        self.done += 1

    def finish(self) -> None:
        if self.progress is not None:
            self.progress(self.total, self.total, "page")


def _page(
    results: ReportSource,
    done: int,
    sections: list[tuple[str, str, str]],
    document: Mapping[str, Any],
    blocks: Mapping[int, str],
) -> str:
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in sections)
    body = [
        f"<header><h1>{escape(results.name)}</h1>{paragraph(_headline(results, done))}</header>",
        f'<nav aria-label="contents">{links}</nav>',
        "<noscript><p>Plots of rows and buttons need JavaScript; tables do not.</p></noscript>",
        "<main>",
        *(section(*part) for part in sections),
        "</main>",
        _footer(results),
        *(blocks[row] for row in sorted(blocks)),
        f'<script type="application/json" id="study">{script_json(document)}</script>',
        f'<script>"use strict";\n(() => {{\n{scripts()}\n}})();</script>',
    ]
    colours = page_colours(
        INKS | {f"ramp{k}": colour for k, colour in enumerate(RAMP)},
        INKS_ON_DARK | {f"ramp{k}": colour for k, colour in enumerate(RAMP_ON_DARK)},
    )
    title = f"{results.name}: results"
    return html_page(title, "\n".join(body), FOLDER / "page.css", colours, policy=POLICY)


def _headline(results: ReportSource, done: int) -> str:
    inputs, outputs = len(results.variables), len(results.figures)
    rows = rows_said(done) if done == results.rows else f"{grouped(done)} of {rows_said(results.rows)}"
    return f"{rows}, {inputs} variable{'s' * (inputs != 1)}, {outputs} figure{'s' * (outputs != 1)} of merit."


def _footer(results: ReportSource) -> str:
    from forearm import __version__  # imported on use: the package imports the rooms

    made = f"<code>{escape(results.command)}</code>, forearm {escape(__version__)}"
    return f"<footer><p>Made by {made}. This file works without network.</p></footer>"


def scripts() -> str:
    """The scripts of the page in order."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8").strip() for name in SCRIPT_FILES)
