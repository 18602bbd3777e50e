"""An identification as one HTML page that fetches nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forearm.identification.report import summary
from forearm.identification.report.figures import (
    BAND,
    OverTime,
    friction_drawing,
    interval_bar,
    share_bars,
    spectrum_drawing,
)
from forearm.identification.report.rows import measured_rms, parameter_rows
from forearm.identification.report.spectra import welch
from forearm.identification.report.thinning import breaks
from forearm.pages import html_page
from forearm.palette import page_colours
from forearm.reading.textfile import write_text
from forearm.svg import INKS, INKS_ON_DARK
from forearm.tables import Report, number
from forearm.values import check_ending

if TYPE_CHECKING:
    from forearm.identification.result import Identification

STYLE = Path(__file__).with_name("page.css")
ENDINGS = (".html", ".htm")
MOST_LABEL = 300  # characters
LONG = 30  # characters of a cell that may be broken
DOUBT = {"What the data cannot tell": "unknown", "What to measure next": "next"}  # sections of their own


def write_page(found: Identification, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    check_ending(path, ENDINGS, "a page for a browser")
    write_text(path, page(found))


def page(found: Identification) -> str:
    """The text of the page."""
    sections = [
        ("joints", "Joints", _joints(found)),
        *_doubts(found),
        ("parameters", "Parameters", _parameters(found)),
        ("efforts", "Measured and predicted", _efforts(found)),
        ("spectra", "Spectra of what is left", _spectra(found)),
        ("friction", "Friction", _friction(found)),
        ("logs", "Logs and stages", _logs(found)),
    ]
    sections = [section for section in sections if section[2]]
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in sections)
    head = [f"<h1>{escape(found.arm.name)}, identified</h1>"]
    head += [f"<p>{escape(line)}</p>" for line in summary.headline(found)]
    body = ["<header>", *head, "</header>", f"<nav>{links}</nav>", _findings(found), "<main>"]
    body += [f'<section id="{name}"><h2>{escape(t)}</h2>\n{text}\n</section>' for name, t, text in sections]
    title = f"{found.arm.name} identified"
    colours = page_colours(INKS, INKS_ON_DARK)
    return html_page(title, "\n".join(filter(None, [*body, "</main>"])), STYLE, colours)


def _findings(found: Identification) -> str:
    told = dict(summary.sentences(found))
    lines = [*told.get("Findings", []), *told.get("What the residuals still hold", [])]
    return f'<ul class="findings">{_items(lines)}</ul>' if lines else ""


def _doubts(found: Identification) -> list[tuple[str, str, str]]:
    told = dict(summary.sentences(found))
    return [
        (name, title, f'<ul class="said">{_items(told[title])}</ul>')
        for title, name in DOUBT.items()
        if title in told
    ]


def _joints(found: Identification) -> str:
    """What is left of each joint, with bars of it, and how well other logs are predicted."""
    rms = np.array([found.rms_before, found.rms, found.rms_left_out])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = rms / measured_rms(found)
    most = float(np.nanmax(np.where(np.isfinite(shares), shares, np.nan), initial=0.0))
    kinds = ("before", "predicted", "outside")
    bars = [
        share_bars(list(zip(kinds, shares[:, i].tolist(), strict=True)), most) for i in range(found.arm.n)
    ]
    told = summary.joints_table(found)
    key = _key((("before", "before"), ("predicted", "left"), ("outside", "left out of the fit")))
    note = (
        "<p>Bars are shares of the measured rms. Left out: each log is predicted by a model that was fitted "
        "to the rest of the data.</p>"
    )
    return key + _table(told, {1: ("left, as bars", bars)}) + note + _validation(found)


def _validation(found: Identification) -> str:
    """Every log: what is left of it where it was fitted, and where it was not."""
    if len(found.logs) < 2:
        return ""
    rows = []
    for log in found.logs:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = log.rms_left_out / log.rms
        worst = int(np.nanargmax(ratio)) if np.isfinite(ratio).any() else 0
        values = [" ".join(number(float(x), 3) for x in block) for block in (log.rms, log.rms_left_out)]
        rows.append([log.signals.name, *values, f"{ratio[worst]:.2f} ({found.arm.joints[worst].name})"])
    header = ["log", "left, rms by joint", "left out, rms by joint", "worst ratio"]
    return _table(Report(header, rows, "Cross-validation"))


def _parameters(found: Identification) -> str:
    rows = parameter_rows(found)
    told = summary.parameters_table(found)
    bars = [interval_bar(row) for row in rows]
    labels = [f"<small>{escape(_cut(row.label))}</small>" * (row.label != row.name) for row in rows]
    sure = f"{100.0 * found.confidence:g} % interval"
    key = _key((("now", sure),), (("is", "now"), ("was", "before")))
    note = (
        "<p>Each row has a scale of its own. These are values from the data alone; the new arm has the "
        "nearest that bodies can have.</p>"
    )
    return key + note + _table(Report(told.header, told.rows), {1: (sure, bars)}, labels)


def _cut(label: str) -> str:
    """A combination of so many parameters that nobody reads all of them, cut."""
    return label if len(label) <= MOST_LABEL else f"{label[:MOST_LABEL].rpartition(' ')[0]} ..."


def _efforts(found: Identification) -> str:
    drawn = OverTime(found)
    key = _key(
        (("measured", "measured"), ("predicted", "predicted"), ("before", "by the arm before"))
        + (("level", "two deviations of the noise"),)
    )
    names = [log.signals.name for log in found.logs]
    order = f"<p>Logs one after the other: {escape(', '.join(names))}.</p>" if len(names) > 1 else ""
    blocks = [
        _figure(joint.name, drawn.efforts(i)) + _figure(f"{joint.name}, what is left", drawn.residuals(i))
        for i, joint in enumerate(found.arm.joints)
    ]
    return f'{key}{order}<div class="panels">{"".join(blocks)}</div>'


def _spectra(found: Identification) -> str:
    spectrum = welch(found.residual, found.t, breaks(found.t, found.log_of))
    if spectrum is None:
        return ""
    note = (
        "<p>A right model leaves white noise: a flat line at 0 dB. What rises at low frequencies is friction "
        "or inertia that the model lacks, a peak is a resonance or ripple of a gear.</p>"
    )
    key = _key(
        (
            ("predicted", "what is left"),
            ("white", "white noise"),
            ("level", f"{100 * BAND:g} % of white noise"),
        )
    )
    drawn = [(j.name, spectrum_drawing(found, spectrum, i)) for i, j in enumerate(found.arm.joints)]
    return note + key + _panels(drawn)


def _friction(found: Identification) -> str:
    note = (
        "<p>Efforts less all that the model has besides friction, by speed: medians, and bars that hold 80 % "
        "of the samples.</p>"
    )
    drawn = [(j.name, friction_drawing(found, i)) for i, j in enumerate(found.arm.joints)]
    key = _key((("predicted", "law found"), ("before", "law before"), ("bar", "data")))
    panels = _panels(drawn)
    return note + key + panels if panels else ""


def _logs(found: Identification) -> str:
    stages = summary.stages_table(found)
    parts = [_table(summary.logs_table(found)), _table(stages) if stages.header else ""]
    rows = [
        [test.joint, test.against, f"{test.p_value:.2g}", f"{100.0 * test.share:.2g} %"]
        for test in found.tests
    ]
    if rows:
        header = ["joint", "against", "p", "share"]
        parts.append(
            _table(Report(header, rows, "Residual tests (p: probability of more were the model right)"))
        )
    return "".join(parts)


def _panels(drawn: Iterable[tuple[str, str]]) -> str:
    figures = "".join(_figure(name, text) for name, text in drawn if text)
    return f'<div class="panels">{figures}</div>' if figures else ""


def _figure(name: str, drawn: str) -> str:
    return f"<figure><figcaption>{escape(name)}</figcaption>{drawn}</figure>"


def _items(lines: Iterable[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def _key(lines: Iterable[tuple[str, str]], dots: Iterable[tuple[str, str]] = ()) -> str:
    made = [
        f'<li><svg viewBox="0 0 34 10"><path class="{kind}" d="M0,5 L34,5"/></svg>{escape(text)}</li>'
        for kind, text in lines
    ]
    made += [
        f'<li><svg viewBox="0 0 34 10"><circle class="{kind}" cx="17" cy="5" r="4"/></svg>{escape(text)}</li>'
        for kind, text in dots
    ]
    return f'<ul class="key">{"".join(made)}</ul>'


Column = tuple[str, list[str]]  # title, and HTML of every row


def _table(told: Report, inside: dict[int, Column] | None = None, under: Sequence[str] | None = None) -> str:
    """A table, numbers to the right, with further columns of HTML before some of its own, and HTML under the
    names in its first.
    """
    columns: list[tuple[str, str, list[str]]] = []
    for k, title in enumerate(told.header):
        columns += [("", *inside[k])] if inside and k in inside else []
        cells = [str(row[k]) for row in told.rows]
        is_long = k > 0 and max(map(len, cells)) > LONG
        kind = "number" if all(map(_is_number, cells)) else "words" if is_long else ""
        columns.append((kind, title, [escape(cell) for cell in cells]))
    names = [f'<span class="name">{name.replace(".", ".<wbr>")}</span>' for name in columns[0][2]]
    columns[0][2][:] = [a + b for a, b in zip(names, under or [""] * len(names), strict=True)]
    kinds = [f' class="{kind}"' if kind else "" for kind, _, _ in columns]
    head = "".join(f"<th{kind}>{escape(c[1])}</th>" for kind, c in zip(kinds, columns, strict=True))
    lines = [
        "".join(f"<td{kind}>{c[2][r]}</td>" for kind, c in zip(kinds, columns, strict=True))
        for r in range(len(told.rows))
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    title = f'<p class="title">{escape(told.title)}</p>' if told.title else ""
    return (
        f'{title}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.split()[0])
    except (ValueError, IndexError):
        return cell in ("-", "", "not known")
    return True
