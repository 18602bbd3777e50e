"""Write the results of `forearm reproduce` into the pages docs/documents/*.md, between their two marks.

    python docs/make_documents.py

The text before the first mark is written by hand: the function for each equation or method. The text between
the marks is generated: the headline, totals by kind, and the verdict on every printed value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from forearm.reproduce import DOCUMENTS, Result, reproduce
from forearm.reproduce.kinds import KINDS
from forearm.reproduce.totals import VERDICTS, headline, totals

FOLDER = Path(__file__).parent / "documents"
BEGIN, END = "<!-- verdicts: python docs/make_documents.py -->", "<!-- end of verdicts -->"
KINDS_ARE = "The other [kinds](../glossary.md#kinds-of-printed-values) prove less."
MOST_REASONS = 3  # of one item; the command shows longer lists better


def section(document: str, results: Iterable[Result]) -> str:
    """What of a document counts as evidence: the headline, totals by kind, and one row for each item."""
    rows: dict[str, list[Result]] = {}
    for result in results:
        if result.item.document == document:
            rows.setdefault(result.item.id, []).append(result)
    lines = ["| place | what | kind | where it is | verdict |", "| --- | --- | --- | --- | --- |"]
    lines += [_row(found) for found in rows.values()]
    of_document = [result for found in rows.values() for result in found]
    sums = [f"| kind | {' | '.join(VERDICTS)} | in all |", "| --- " * (len(VERDICTS) + 2) + "|"]
    for total in totals(of_document):
        counts = [*(total.counts[verdict] for verdict in VERDICTS), total.number]
        sums.append(f"| {total.kind or 'all kinds'} | {' | '.join(map(str, counts))} |")
    return "\n".join([BEGIN, f"{headline(of_document)} {KINDS_ARE}", "", *sums, "", *lines, END])


def written(document: str, text: str, results: Iterable[Result]) -> str:
    """The text of a page with its generated part replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + section(document, results) + after


def _row(found: list[Result]) -> str:
    item = found[0].item
    where = f"`forearm.reproduce.recompute.{item.recompute}`" if item.recompute else "not computed"
    if item.id.startswith("counts:"):
        where = "`forearm count --printed`"
    counts = Counter(result.verdict for result in found)
    verdict = ", ".join(f"{counts[v]} {v}" if len(found) > 1 else v for v in VERDICTS if counts[v])
    reasons = [*dict.fromkeys(result.reason for result in found if result.reason)]
    if len(reasons) > MOST_REASONS:
        verdict += f"; why: `forearm reproduce {item.document}`"
    elif reasons:
        verdict += ": " + " ".join(reasons)
    kinds = ", ".join(kind for kind in KINDS if any(result.kind == kind for result in found))
    return "| " + " | ".join(_cell(text) for text in (item.place, item.title, kinds, where, verdict)) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def main() -> None:
    """Recompute all results and rewrite every page."""
    results = list(reproduce("all"))
    for document in DOCUMENTS:
        path = FOLDER / f"{document}.md"
        path.write_text(written(document, path.read_text(encoding="utf-8"), results), encoding="utf-8")
        print(f"written: documents/{path.name}")


if __name__ == "__main__":
    main()
