"""An identification as one self-contained HTML page."""

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
from forearm.identification.report.rows import parameter_rows
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
LONG = 30  # characters of a cell that may wrap
DOUBT = {"Not determined by the data": "unknown", "What to measure next": "next"}  # sections of their own


def write_page(found: Identification, path: str | os.PathLike[str]) -> None:
    """Write the page atomically."""
    check_ending(path, ENDINGS, "a page for a browser")
    write_text(path, page(found))


def page(found: Identification) -> str:
    """The text of the page."""
    told = dict(summary.sentences(found))
    findings = [*told.get("Findings", []), *told.get("Structure found in the residuals", [])]
    sections = [
        ("joints", "Joints", _joints(found)),
        *((name, title, _list("said", told.get(title, []))) for title, name in DOUBT.items()),
        ("parameters", "Parameters", _parameters(found)),
        ("efforts", "Measured and predicted", _efforts(found)),
        ("spectra", "Residual spectra", _spectra(found)),
        ("friction", "Friction", _friction(found)),
        ("logs", "Logs and stages", _logs(found)),
    ]
    sections = [section for section in sections if section[2]]
    links = "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in sections)
    head = [f"<h1>{escape(found.arm.name)}, identified</h1>"]
    head += [f"<p>{escape(line)}</p>" for line in summary.headline(found)]
    body = ["<header>", *head, "</header>", f"<nav>{links}</nav>", _list("findings", findings), "<main>"]
    body += [f'<section id="{name}"><h2>{escape(t)}</h2>\n{text}\n</section>' for name, t, text in sections]
    title = f"{found.arm.name} identified"
    colours = page_colours(INKS, INKS_ON_DARK)
    return html_page(title, "\n".join(filter(None, [*body, "</main>"])), STYLE, colours)


def _joints(found: Identification) -> str:
    """Residuals of each joint, with bars, and cross-validated residuals."""
    rms = np.array([found.rms_before, found.rms, found.rms_left_out])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = rms / found.agreement.measured
    most = float(np.nanmax(np.where(np.isfinite(shares), shares, np.nan), initial=0.0))
    kinds = ("before", "predicted", "outside")
    bars = [
        share_bars(list(zip(kinds, shares[:, i].tolist(), strict=True)), most) for i in range(found.arm.n)
    ]
    told = summary.joints_table(found)
    key = _key((("before", "before"), ("predicted", "residual"), ("outside", "held out of the fit")))
    note = (
        "<p>Bars are fractions of the measured rms. Held out: each log is predicted by a model fitted to "
        "the rest of the data.</p>"
    )
    return key + _table(told, {1: ("residual bars", bars)}) + note + _validation(found)


def _validation(found: Identification) -> str:
    """Residuals of every log, fitted and held out."""
    if len(found.logs) < 2:
        return ""
    rows = []
    for log in found.logs:
        rms, left_out = log.agreement.rms, log.agreement.rms_left_out
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = left_out / rms
        worst = int(np.nanargmax(ratio)) if np.isfinite(ratio).any() else 0
        values = [" ".join(number(float(x), 3) for x in block) for block in (rms, left_out)]
        rows.append([log.signals.name, *values, f"{ratio[worst]:.2f} ({found.arm.joints[worst].name})"])
    header = ["log", "residual rms by joint", "held-out rms by joint", "worst ratio"]
    return _table(Report(header, rows, "Cross-validation"))


def _parameters(found: Identification) -> str:
    rows = parameter_rows(found)
    told = summary.parameters_table(found)
    bars = [interval_bar(row) for row in rows]
    # long combinations of parameters are truncated
    texts = [
        row.label if len(row.label) <= MOST_LABEL else f"{row.label[:MOST_LABEL].rpartition(' ')[0]} ..."
        for row in rows
    ]
    labels = [
        f"<small>{escape(text)}</small>" * (row.label != row.name)
        for text, row in zip(texts, rows, strict=True)
    ]
    sure = f"{100.0 * found.confidence:g} % interval"
    key = _key((("now", sure),), (("is", "now"), ("was", "before")))
    note = (
        "<p>Each row has its own scale. These are values from the data alone; the new arm has the "
        "nearest physically consistent values.</p>"
    )
    return key + note + _table(Report(told.header, told.rows), {1: (sure, bars)}, labels)


def _efforts(found: Identification) -> str:
    drawn = OverTime(found)
    key = _key(
        (("measured", "measured"), ("predicted", "predicted"), ("before", "by the arm as given"))
        + (("level", "two standard deviations of the noise"),)
    )
    names = [log.signals.name for log in found.logs]
    order = f"<p>Logs one after the other: {escape(', '.join(names))}.</p>" if len(names) > 1 else ""
    blocks = [
        _figure(joint.name, drawn.efforts(i)) + _figure(f"{joint.name}, residual", drawn.residuals(i))
        for i, joint in enumerate(found.arm.joints)
    ]
    return f'{key}{order}<div class="panels">{"".join(blocks)}</div>'


def _spectra(found: Identification) -> str:
    spectrum = welch(found.residual, found.t, breaks(found.t, found.log_of))
    if spectrum is None:
        return ""
    note = (
        "<p>A correct model leaves white noise: a flat line at 0 dB. A rise at low frequencies is "
        "friction or inertia missing from the model, a peak is a resonance or gear ripple.</p>"
    )
    key = _key(
        (("predicted", "residual"), ("white", "white noise"), ("level", f"{100 * BAND:g} % of white noise"))
    )
    drawn = [(j.name, spectrum_drawing(found, spectrum, i)) for i, j in enumerate(found.arm.joints)]
    return note + key + _panels(drawn)


def _friction(found: Identification) -> str:
    note = (
        "<p>Efforts minus the model without friction, by speed: medians, and bars that contain 80 % of "
        "the samples.</p>"
    )
    key = _key((("predicted", "fitted law"), ("before", "previous law"), ("bar", "data")))
    panels = _panels((j.name, friction_drawing(found, i)) for i, j in enumerate(found.arm.joints))
    return note + key + panels if panels else ""


def _logs(found: Identification) -> str:
    tests = [
        [test.joint, test.against, f"{test.p_value:.2g}", f"{100.0 * test.share:.2g} %"]
        for test in found.tests
    ]
    title = "Residual tests (p: probability of a larger value if the model is correct)"
    tables = [summary.logs_table(found), summary.stages_table(found)]
    tables.append(Report(["joint", "against", "p", "share"], tests, title))
    return "".join(_table(table) for table in tables if table.rows)


def _panels(drawn: Iterable[tuple[str, str]]) -> str:
    figures = "".join(_figure(name, text) for name, text in drawn if text)
    return f'<div class="panels">{figures}</div>' if figures else ""


def _figure(name: str, drawn: str) -> str:
    return f"<figure><figcaption>{escape(name)}</figcaption>{drawn}</figure>"


def _list(kind: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="{kind}">{items}</ul>' if lines else ""


def _key(lines: Iterable[tuple[str, str]], dots: Iterable[tuple[str, str]] = ()) -> str:
    drawn = [(f'<path class="{kind}" d="M0,5 L34,5"/>', text) for kind, text in lines]
    drawn += [(f'<circle class="{kind}" cx="17" cy="5" r="4"/>', text) for kind, text in dots]
    made = [f'<li><svg viewBox="0 0 34 10">{mark}</svg>{escape(text)}</li>' for mark, text in drawn]
    return f'<ul class="key">{"".join(made)}</ul>'


Column = tuple[str, list[str]]  # title, and HTML of every row


def _table(told: Report, inside: dict[int, Column] | None = None, under: Sequence[str] | None = None) -> str:
    """A table with right-aligned values, additional HTML columns before some of its own, and HTML below the
    names in its first column.
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
