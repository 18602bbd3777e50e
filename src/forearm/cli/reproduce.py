"""`forearm reproduce`: the printed figures of the five documents, recomputed."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter

from forearm.cli.command import Command, add_json, show_json, width
from forearm.reproduce import DOCUMENTS, Result, reproduce
from forearm.tables import number, text_table


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", nargs="?", default="all", metavar="DOCUMENT", help=f"{', '.join(DOCUMENTS)} or all")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    results = list(reproduce(given.document))
    if given.json:
        show_json({"results": [_plain(result) for result in results]})
        return 0
    items = list(dict.fromkeys(result.item.id for result in results))
    for item in items:
        print(_report([result for result in results if result.item.id == item]) + "\n")
    verdicts = Counter(result.verdict for result in results)
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()) + f": {len(results)} figures in all")
    return 0


def _report(results: list[Result]) -> str:
    item = results[0].item
    title = f"{item.document.capitalize()}, {item.place}: {item.title}"
    rows = [[r.label, r.printed, "-" if r.ours is None else number(r.ours, 7), r.verdict] for r in results]
    text = f"{title}\n{text_table(['figure', 'printed', 'ours', 'verdict'], rows, width())}"
    notes = [*dict.fromkeys(("assumed", r.item.assumed) for r in results)]
    notes += [*dict.fromkeys((f"why ({r.label})" if len(results) > 8 else "why", r.reason) for r in results if r.reason)]
    for name, words in notes:
        if words:
            filled = textwrap.fill(" ".join(f"{name}: {words}".split()), width(), subsequent_indent="  ")
            text += f"\n{filled}"
    return text


def _plain(result: Result) -> dict[str, object]:
    item = result.item
    return {
        "document": item.document, "id": item.id, "place": item.place, "title": item.title, "label": result.label,
        "printed": result.printed, "ours": result.ours, "verdict": result.verdict, "assumed": item.assumed,
        "reason": result.reason,
    }  # fmt: skip


COMMAND = Command(
    "forearm reproduce mata",
    _add_arguments,
    _run,
)
