"""`forearm reproduce`: the printed values of the five documents compared with ours, and their figures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from forearm.cli.command import Command, show_json, width
from forearm.cli.options import JSON, Option
from forearm.cli.outputs import PAGES, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import show
from forearm.errors import InputError
from forearm.reading.fields import FlagField
from forearm.reading.textfile import write_text
from forearm.reproduce import DOCUMENTS, Result, catalogue, reproduce
from forearm.reproduce.catalogue import counted_in
from forearm.reproduce.catalogue import pictures as listed
from forearm.reproduce.totals import TOGETHER, VERDICTS, headline, recomputed, totals
from forearm.tables import Report, filled, number


def _run(given: argparse.Namespace) -> int:
    catalogue(given.document)  # an unknown name is refused before anything is computed
    _check(given)
    with ProgressBar() as bar:
        figures = _figures(given.document, bar) if given.figures or given.with_figures else {}
        drawn = _draw(figures, Path(given.figures), bar) if given.figures else []
        results = list(reproduce(given.document, bar))
        if given.html:
            bar.say("writing the page")
            _write_page(results, figures if given.with_figures else {}, given.html)
    if given.json:
        show_json(_document(results, drawn))
        return 0
    items = list(dict.fromkeys(result.item.id for result in results))
    for item in items:
        show(_report([result for result in results if result.item.id == item]))
        print()
    show(_summary(results))
    print(filled(headline(results), width()))
    if given.figures:
        print("".join(f"{line}\n" for line in _not_drawn(given.document)), end="")
        print("" if drawn else f"no figure of {given.document} is drawn\n", end="")
    tell_written([*drawn, given.html])
    return 0


def _check(given: argparse.Namespace) -> None:
    """Refuse unwritable outputs before anything is computed."""
    if given.with_figures and not given.html:
        raise InputError(
            "--with-figures puts figures into a page; give --html FILE too, or --figures DIR "
            "for files of their own."
        )
    if given.figures:
        _check_folder(Path(given.figures), is_needed=any(given.document in (name, "all") for name in DRAWN))


def _check_folder(folder: Path, is_needed: bool) -> None:
    """Refuse a path that is not a folder; create the folder if something is plotted into it."""
    if folder.exists() and not folder.is_dir():
        raise InputError("a file, not a folder; name a folder.", f"--figures {folder}")
    try:
        if is_needed:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"no folder can be made there ({error.strerror}); name another.", f"--figures {folder}"
        ) from error


def _figures(document: str, bar: ProgressBar) -> dict[str, dict[str, Any]]:
    """Our plots of the documents, by document and name."""
    figures = {}
    for name in DRAWN:
        if document in (name, "all"):
            bar.say(f"computing the figures of {name.capitalize()}")
            figures[name] = DRAWN[name]()
    return figures


def _write_page(results: list[Result], figures: dict[str, dict[str, Any]], path: str) -> None:
    from forearm.cli.reproduce_report import report_page
    from forearm.plots.figure import figure_bytes

    pictures = {
        name: {title: figure_bytes(figure) for title, figure in of.items()} for name, of in figures.items()
    }
    write_text(path, report_page(results, pictures))


def _draw(figures: dict[str, dict[str, Any]], folder: Path, bar: ProgressBar) -> list[Path]:
    """Save the plots as files, each atomically, and return their paths."""
    from forearm.plots.figure import save_figure

    paths = []
    for name, pictures in figures.items():
        for figure_name, figure in pictures.items():
            path = folder / f"{name}-{figure_name}.png"
            bar.say(f"drawing {path.name}")
            save_figure(figure, path)
            paths.append(path)
    return paths


def _not_drawn(document: str) -> list[str]:
    """One paragraph for each listed figure without a plot, with the reason."""
    texts = [
        f"not drawn: {picture.document.capitalize()}, {picture.place}, {picture.what}. {picture.reason}"
        for picture in listed(document)
        if not picture.drawn
    ]
    return [filled(" ".join(text.split()), width(), "  ") for text in texts]


def _waters() -> dict[str, Any]:
    from forearm.plots.trajectories import waters_figure

    return {"fig-5": waters_figure()}


def _mata() -> dict[str, Any]:
    from forearm.plots.mata import mata_figures

    return mata_figures()


def _dhanaraj() -> dict[str, Any]:
    from forearm.plots.friction import friction_figures
    from forearm.plots.operations import count_figures
    from forearm.plots.schedules import schedule_figures

    return count_figures() | friction_figures() | schedule_figures()


DRAWN = {"waters": _waters, "mata": _mata, "dhanaraj": _dhanaraj}


def _report(results: list[Result]) -> Report:
    item = results[0].item
    title = f"{item.document.capitalize()}, {item.place}: {item.title}"
    rows = [
        [r.label, r.printed, "-" if r.ours is None else number(r.ours, 7), r.verdict, r.kind] for r in results
    ]
    notes = [*dict.fromkeys(("assumed", r.item.assumed) for r in results)] + _reasons(results)
    notes += [("repeated", f"counted in {place}") for place in counted_in(results)]
    after = [" ".join(f"{name}: {words}".split()) for name, words in notes if words]
    return Report(["value", "printed", "ours", "verdict", "kind"], rows, title, after=after, under="  ")


def _summary(results: list[Result]) -> Report:
    """The number of values with each verdict, by document and kind."""
    rows, last = [], ""
    for total in totals(results):
        name = total.document if total.document == TOGETHER else total.document.capitalize()
        counts = [*(total.counts[verdict] for verdict in VERDICTS), total.number]
        rows.append(["" if name == last else name, total.kind or "all kinds", *map(str, counts)])
        last = name
    return Report(["values of", "kind", *VERDICTS, "in all"], rows)


def _reasons(results: list[Result]) -> list[tuple[str, str]]:
    """Each reason once, with the values it applies to if a long table has several reasons or most values
    have none.
    """
    labels: dict[str, list[str]] = {}
    for result in results:
        if result.reason:
            labels.setdefault(result.reason, []).append(result.label)
    few = len(results) <= 8 or (len(labels) == 1 and sum(map(len, labels.values())) > 3)
    return [("why" if few else f"why ({'; '.join(named)})", reason) for reason, named in labels.items()]


def _document(results: list[Result], drawn: list[Path]) -> dict[str, object]:
    """The document that --json prints."""
    row = recomputed(results)
    return {
        "results": [_plain(result) for result in results],
        "totals": [
            {"document": total.document, "kind": total.kind or "all kinds", **total.counts}
            for total in totals(results)
        ],
        "recomputed": {"agreeing": row.agreeing, "compared": row.compared},
        "figures": [str(path) for path in drawn],
    }


def _plain(result: Result) -> dict[str, object]:
    names = ("label", "printed", "ours", "verdict", "kind", "repeats", "reason")
    of_item = {name: getattr(result.item, name) for name in ("document", "id", "place", "title", "assumed")}
    return of_item | {name: getattr(result, name) for name in names}


COMMAND = Command(
    (
        "forearm reproduce mata\nforearm reproduce dhanaraj --figures figures\nforearm reproduce all "
        "--html reproduced.html"
    ),
    (
        Option("document", f"{', '.join(DOCUMENTS)} or all", "DOCUMENT", default="all", count="?"),
        Option(
            "--figures",
            f"also plot the figures of the document ({', '.join(DRAWN)}) into this folder, as .png",
            "DIR",
        ),
        Option("--html", "also write everything as one page for a browser", endings=PAGES),
        Option("--with-figures", "include the figures in the page of --html", reads=FlagField()),
        JSON,
    ),
    _run,
)
