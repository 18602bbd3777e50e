"""The report of a study in a browser."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.made_up_study import HOSTILE, study
from viewer.browser import LOCAL

import forearm as fa
from forearm.studies.report.columns import axis_range, worst_places
from forearm.studies.report.page import report_page
from forearm.studies.report.pareto import cost_of, pareto_front
from forearm.viewer.door import recording_page


def until(shown: Any, expression: str) -> None:
    """Wait for it to be true; asked from outside, as the page's policy forbids eval."""
    for _ in range(500):
        if shown.evaluate(expression):
            return
        shown.wait_for_timeout(20)
    raise AssertionError(f"never true: {expression}")


@pytest.fixture(scope="module")
def shown(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page in a browser; what it says on the console or asks of a network fails the tests."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    made = study(prefix=HOSTILE)
    real = made.columns["row"][worst_places(made.columns["margin"], "more", 1)[0]]
    arm = fa.load("puma560")
    played = recording_page(fa.simulate(arm, [0.1] * arm.n, [0.0] * arm.n, 0.2), plays=True)

    def simulation(row: int) -> str:
        return played if row == real else f"<!DOCTYPE html><title>of row {row}</title><p>\u00b5</p>"

    file.write_text(report_page(made, simulation_page=simulation), encoding="utf-8")
    said: list[str] = []
    context = browser.new_context(viewport={"width": 900, "height": 1200})
    page = context.new_page()
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))
    context.on("request", lambda sent: said.extend(() if sent.url.startswith(LOCAL) else (sent.url,)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert said == []


@pytest.mark.slow
def test_arrow_keys_step_along_the_front(shown: Any) -> None:
    made = study()
    shown.select_option("#front-x", "2")
    shown.select_option("#front-y", "1")
    front = pareto_front(cost_of(made.columns["error"], "less"), cost_of(made.columns["margin"], "more"))
    order = front[np.argsort(made.columns["margin"][front])]
    rows = made.columns["row"][order].tolist()
    assert shown.inner_text("#front-note").startswith(f"{len(rows)} rows are on the front.")
    shown.locator("#front-plot svg").focus()
    seen = []
    for _ in rows:
        shown.keyboard.press("ArrowRight")
        seen.append(int(re.findall(r"Row (\d+),", shown.inner_text("#front-note"))[0]))
        assert shown.inner_text("#front-plot .tip b") == f"row {seen[-1]}"
    assert seen == rows, "from left to right, once each"
    shown.locator("#front-rows summary").click()
    shown.wait_for_selector("#front-rows tbody th")
    assert [int(x) for x in shown.locator("#front-rows tbody th").all_inner_texts()] == rows
    shown.keyboard.press("Escape")


@pytest.mark.slow
def test_pointing_at_a_dot_says_its_row(shown: Any) -> None:
    made = study()
    shown.select_option("#front-x", "0")
    shown.select_option("#front-y", "2")
    shown.locator("#front-plot").scroll_into_view_if_needed()
    most = int(np.nanargmax(made.columns["torque"]))  # alone at the right end
    dots = shown.evaluate("""[...document.querySelectorAll("#front-plot .dots circle")].map((dot) => {
      const area = dot.getBoundingClientRect();
      return [area.x + area.width / 2, area.y + area.height / 2];
    })""")
    assert len(dots) == np.isfinite(made.columns["torque"] + made.columns["margin"]).sum()
    shown.mouse.move(*max(dots))
    assert shown.inner_text("#front-plot .tip b") == f"row {made.columns['row'][most]}"
    values = shown.inner_text("#front-plot .tip dl")
    assert f"{made.columns['torque'][most]:.4g} N m" in values
    assert HOSTILE + made.columns["law"][most] in values


@pytest.mark.slow
def test_clicking_a_dot_gives_the_command_and_the_simulation_of_its_row(shown: Any) -> None:
    made = study()
    shown.select_option("#front-x", "0")
    shown.select_option("#front-y", "2")
    assert shown.locator("#front-chosen").is_hidden()
    shown.locator("#front-plot svg").scroll_into_view_if_needed()
    place = int(np.nanargmax(made.columns["torque"]))  # a worst row, so that its simulation is embedded
    row = made.columns["row"][place]
    dots = shown.evaluate("""[...document.querySelectorAll("#front-plot .dots circle")].map((dot) => {
      const area = dot.getBoundingClientRect();
      return [area.x + area.width / 2, area.y + area.height / 2];
    })""")
    shown.mouse.click(*max(dots))
    said = shown.inner_text("#front-chosen")
    assert said.startswith(f"Row {row}: ")
    assert f"mass {made.columns['mass'][place]:.4g} kg; " in said
    assert f"forearm sweep 'my results' --row {row} --html row-{row}.html" in said
    with shown.context.expect_page() as opened:
        shown.locator("#front-chosen [data-simulation]").click()
    opened.value.wait_for_url("blob:**")
    assert opened.value.title() == f"of row {row}"
    opened.value.close()
    shown.bring_to_front()
    assert shown.inner_text("#front-chosen .said") == f"The simulation of row {row} is in a new tab."


@pytest.mark.slow
def test_axes_of_texts_keep_the_rows_of_their_levels(shown: Any) -> None:
    made = study()
    handle = shown.locator(".handle").nth(2)
    assert handle.get_attribute("aria-label") == "law"
    handle.focus()
    shown.keyboard.press("ArrowUp")  # the upper half: the two most frequent of three
    kept = int(np.isin(made.columns["law"], ["fast", "slow"]).sum())
    note = shown.inner_text("#parallel-note")
    assert note == f"{kept} of 300 rows kept: law {HOSTILE}fast, {HOSTILE}slow."
    shown.keyboard.press("Escape")
    shown.mouse.click(
        *shown.evaluate("""() => {
          const line = document.querySelector(".lines path.thick:last-child");
          const at = line.getPointAtLength(line.getTotalLength() * 0.97);
          const area = line.ownerSVGElement.getBoundingClientRect();
          return [area.x + at.x, area.y + at.y];
        }""")
    )
    assert re.match(r"Row \d+: .* --html row-\d+\.html", shown.inner_text("#parallel-chosen"))


@pytest.mark.long
def test_ranges_keep_the_rows_that_are_in_them(shown: Any) -> None:
    made = study()
    mass = made.columns["mass"]
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."
    handle = shown.locator(".handle").first
    handle.scroll_into_view_if_needed()
    area = shown.locator("#parallel-plot svg").bounding_box()
    hand = handle.locator(".hand").bounding_box()
    x, y = hand["x"] + hand["width"] / 2, [area["y"] + share * area["height"] for share in (0.3, 0.6)]
    shown.mouse.move(x, y[0])
    shown.mouse.down()
    shown.mouse.move(x, y[1], steps=4)
    shown.mouse.up()
    kept, low, high = re.findall(
        r"(\d+) of 300 rows kept: mass ([\d.]+) to ([\d.]+) kg", shown.inner_text("#parallel-note")
    )[0]
    digits = 0.006  # what the note rounds off
    inside = ((mass >= float(low) + digits) & (mass <= float(high) - digits)).sum()
    around = ((mass >= float(low) - digits) & (mass <= float(high) + digits)).sum()
    assert inside <= int(kept) <= around < 300
    assert shown.locator(".lines path:not(.out)").count() == int(kept)
    shown.mouse.click(x, y[0])
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."
    handle.focus()
    shown.keyboard.press("ArrowUp")
    ends = axis_range(mass)
    half = int((mass >= 0.5 * (ends.low + ends.high)).sum())
    assert shown.inner_text("#parallel-note").startswith(f"{half} of 300 rows kept: mass from ")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("-")
    shown.keyboard.press("+")
    assert " to " in handle.get_attribute("aria-valuetext")
    shown.keyboard.press("Escape")
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."
    shown.keyboard.press("ArrowUp")
    shown.locator("#parallel-clear").click()
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."


@pytest.mark.slow
def test_buttons_copy_commands_and_open_simulations(shown: Any) -> None:
    button = shown.locator("#worst [data-simulation]").first
    row = button.get_attribute("data-simulation")
    with shown.context.expect_page() as opened:
        button.click()
    opened.value.wait_for_url("blob:**")
    assert opened.value.title() == f"of row {row}"
    assert opened.value.inner_text("p") == "\u00b5"
    opened.value.close()
    shown.bring_to_front()
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.locator("#worst [data-copy]").first.click()
    shown.wait_for_selector("#simulation-note code")
    command = shown.locator("#worst [data-copy]").first.get_attribute("data-copy")
    assert shown.inner_text("#simulation-note") == f"Copied: {command}"
    assert shown.evaluate("navigator.clipboard.readText()") == command


@pytest.mark.slow
def test_the_simulation_of_a_row_plays_in_its_tab(shown: Any) -> None:
    """What the report's policy forbids, such as scripts of that page, is an error on the console."""
    worst = shown.locator("section#worst h3", has_text="margin").locator("xpath=following-sibling::div[1]")
    with shown.context.expect_page() as opened:
        worst.locator("[data-simulation]").first.click()
    tab = opened.value
    tab.wait_for_url("blob:**")
    until(tab, "forearmStudio.ready.then(() => forearmStudio.state().playing)")
    before = tab.evaluate("forearmStudio.state().t")
    until(tab, f"forearmStudio.state().t !== {before}")
    tab.close()
    shown.bring_to_front()


@pytest.mark.slow
def test_the_page_fits_a_narrow_screen(shown: Any) -> None:
    shown.set_viewport_size({"width": 400, "height": 800})
    try:
        assert shown.evaluate("document.documentElement.scrollWidth") <= 400
        # drawn anew once the browser has told the page its width
        until(shown, "document.querySelector('#front-plot svg').getBoundingClientRect().width <= 400")
    finally:
        shown.set_viewport_size({"width": 900, "height": 1200})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_ticks_are_round_and_inside_their_axes(tmp_path: Path) -> None:
    import subprocess

    import forearm.studies.report.page as module

    basics = (module.FOLDER / "basics.js").read_text(encoding="utf-8")
    axes = [
        (0.0, 1.0, False),
        (-3.3e-7, 8e-7, False),
        (1.0, 1e9, True),
        (2e-4, 0.05, True),
        (3.0, 3e30, True),
    ]
    asked = [{"low": low, "high": high, "base": 0.0, "log": is_log} for low, high, is_log in axes]
    script = f"""const document = {{ getElementById: () => ({{ textContent: '{{"columns": []}}' }}) }};
    {basics}
    const made = {json.dumps(asked)}.map((column) => ticksOf(axisOf(column), 6));
    console.log(JSON.stringify(made));"""
    file = tmp_path / "ticks.js"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run(["node", str(file)], capture_output=True, text=True, check=True)
    for (low, high, is_log), ticks in zip(axes, json.loads(done.stdout), strict=True):
        assert 2 <= len(ticks) <= 7
        for tick in ticks:
            x = float(tick["text"])
            share = (x - low) / (high - low) if not is_log else math.log(x / low) / math.log(high / low)
            assert tick["share"] == pytest.approx(share, abs=1e-9)
            assert -1e-6 <= share <= 1.0 + 1e-6
            digits = f"{abs(x):.10e}".split("e")[0].rstrip("0").rstrip(".")
            assert len(digits.replace(".", "")) <= 2, "few digits"
