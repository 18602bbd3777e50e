"""The studio's page in a browser: drags, sliders, falls, plans, controllers, exports, keys, names from
files shown as text, nothing on the console.

The engine is the stand-in of `stand_in.js`, so that these tests are of the page alone.
"""

from __future__ import annotations

import csv
import io
import math
import re
import time
from pathlib import Path
from typing import Any

import pytest
from sweeps import long
from viewer.browser import Open, without_webgl
from viewer.stand_in import PAGE, recording, six, sliding, three

from forearm.viewer.studio_page import scripts

pytestmark = pytest.mark.slow

MOST_BYTES = 150_000
PATIENCE = 20.0  # seconds, on a busy machine
PIXELS = 3.0  # how far from the pointer what is dragged may be
HOSTILE = "</script><img src=x onerror=document.title='taken'><b>&amp;\"'"


def until(shown: Any, expression: str, given: Any = None) -> None:
    """Wait for it to be true; asked from outside, as the page's policy forbids eval."""
    end = time.monotonic() + PATIENCE
    while not shown.evaluate(expression, given):
        assert time.monotonic() < end, f"never true: {expression}"
        shown.wait_for_timeout(15)


def joints(shown: Any) -> list[float]:
    return shown.evaluate("forearmStudio.getJoints()")  # type: ignore[no-any-return]


def pixel(shown: Any, body: int | str) -> tuple[float, float]:
    at = shown.evaluate("body => forearmStudio.pixelOf(body)", body)
    return at["x"], at["y"]


def drag(shown: Any, start: tuple[float, float], dx: float, dy: float) -> None:
    shown.mouse.move(*start)
    shown.mouse.down()
    shown.mouse.move(start[0] + dx, start[1] + dy, steps=6)
    shown.mouse.up()


def middle_of_link(shown: Any, first: int, second: int | str) -> tuple[float, float]:
    (x, y), (u, v) = pixel(shown, first), pixel(shown, second)
    return (x + u) / 2, (y + v) / 2


def test_a_joint_slider_and_its_number_move_the_joint_within_its_limits(opened: Open) -> None:
    shown = opened([three()])
    shown.locator("#joint-1").focus()
    shown.keyboard.press("End")
    assert joints(shown)[1] == pytest.approx(2.2)
    assert "upper limit" in shown.inner_text("#say")
    shown.wait_for_selector(".joint.stopped")
    shown.get_by_label("elbow, value").fill("30")
    shown.keyboard.press("Enter")
    assert joints(shown)[2] == pytest.approx(math.radians(30.0))
    shown.locator("#degrees").click()
    shown.get_by_label("elbow, value").fill("-0.25")
    shown.keyboard.press("Enter")
    assert joints(shown)[2] == pytest.approx(-0.25)
    shown.get_by_label("elbow, value").fill("99")
    shown.keyboard.press("Enter")
    assert joints(shown)[2] == pytest.approx(2.6), "limits hold"


@pytest.mark.parametrize("webgl", [True, *long([False])])
def test_a_dragged_link_turns_its_own_joint_to_the_pointer(opened: Open, webgl: bool) -> None:
    shown = opened([three(shapes=False)], "" if webgl else without_webgl())
    assert shown.evaluate("forearmStudio.state().renderer") == ("webgl" if webgl else "canvas")
    before, start = joints(shown), middle_of_link(shown, 2, "hand")
    assert shown.evaluate("([x, y]) => forearmStudio.bodyAt(x, y)", list(start)) == 2
    drag(shown, start, -10.0, 40.0)
    after = joints(shown)
    assert after[:2] == before[:2]
    assert abs(after[2] - before[2]) > 0.1
    x, y = middle_of_link(shown, 2, "hand")
    assert y - start[1] > 20.0, "the link followed the pointer"
    assert x != start[0]


def test_the_hand_is_dragged_by_inverse_kinematics(opened: Open) -> None:
    shown = opened([six()])
    before, start = joints(shown), pixel(shown, "hand")
    orientation = shown.evaluate("forearmStudio.getHand()")
    drag(shown, start, -50.0, -30.0)
    x, y = pixel(shown, "hand")
    assert math.hypot(x - start[0] + 50.0, y - start[1] + 30.0) < PIXELS
    assert joints(shown) != before
    now = shown.evaluate("forearmStudio.getHand()")
    for k in (0, 1, 2, 4, 5, 6, 8, 9, 10):
        assert now[k] == pytest.approx(orientation[k], abs=1e-4), "it keeps its orientation"
    drag(shown, (x, y), 400.0, -200.0)
    assert "Not reached from here" in shown.inner_text("#missed")


@pytest.mark.long
def test_branches_are_listed_and_can_be_changed(opened: Open) -> None:
    shown = opened([three()])
    shown.wait_for_selector("#branches button")
    assert shown.locator("#branches button").all_inner_texts() == ["elbow up", "elbow down"]
    where = shown.evaluate("forearmStudio.getHand()")
    chosen = shown.locator("#branches button[aria-pressed=true]").inner_text()
    shown.locator("#branches button[aria-pressed=false]").click()
    until(
        shown, "name => document.querySelector('#branches [aria-pressed=true]')?.textContent !== name", chosen
    )
    now = shown.evaluate("forearmStudio.getHand()")
    assert [now[k] for k in (3, 7, 11)] == pytest.approx([where[k] for k in (3, 7, 11)], abs=1e-5)


def test_let_go_it_falls_and_can_be_pushed_paused_stepped_and_scrubbed(opened: Open) -> None:
    shown = opened([three(shapes=False)])
    shown.keyboard.press("l")
    until(shown, "forearmStudio.state().t > 0.15")
    shown.evaluate("forearmStudio.pause()")
    run = shown.evaluate(
        "(() => { const r = forearmStudio.run(); return {t: [...r.t], q: r.q.map(c => [...c]), e: [...r.energy[2]]}; })()"
    )
    assert run["q"][1][-1] > run["q"][1][0] + 1e-3, "the shoulder gives way"
    assert run["e"][-1] < run["e"][0], "friction takes energy"
    end = shown.evaluate("forearmStudio.state().t")
    shown.locator("#next").click()
    assert shown.evaluate("forearmStudio.state().t") > end
    shown.evaluate("forearmStudio.seek(0)")
    assert joints(shown) == pytest.approx(three()["home"])
    shown.evaluate("forearmStudio.seek(1e9)")
    shown.locator("#tab-move").click()
    shown.locator("#push-way").select_option("1 1")
    before = joints(shown)[0]
    shown.locator("#push").click()
    until(shown, "q => Math.abs(forearmStudio.getJoints()[0] - q) > 1e-3", before)
    assert shown.evaluate("forearmStudio.run().about.pushed")
    shown.keyboard.press("s")
    assert shown.evaluate("forearmStudio.state().mode") == "pose"


@pytest.mark.long
def test_a_link_is_pushed_with_the_mouse_while_it_moves(opened: Open) -> None:
    arm = three(shapes=False) | {"gravity": [0.0, 0.0, 0.0]}
    shown = opened([arm])
    shown.evaluate("forearmStudio.letGo()")
    until(shown, "forearmStudio.state().t > 0.02")
    before, start = joints(shown), middle_of_link(shown, 2, "hand")
    shown.mouse.move(*start)
    shown.mouse.down()
    shown.mouse.move(start[0], start[1] + 90.0, steps=4)
    until(shown, "q => Math.abs(forearmStudio.getJoints()[2] - q) > 5e-3", before[2])
    shown.mouse.up()
    assert shown.evaluate("Math.max(...forearmStudio.run().tau.flatMap(c => [...c].map(Math.abs))) > 0")


def test_a_plan_plays_from_pose_to_pose(opened: Open) -> None:
    shown = opened([three()])
    shown.locator("#tab-move").click()
    shown.evaluate("forearmStudio.setJoints([0.2, 0.1, 0.3])")
    shown.locator("#set-B").click()
    shown.evaluate("forearmStudio.setJoints([-0.4, 0.5, 0.9])")
    shown.locator("#plan").click()
    assert shown.evaluate("forearmStudio.state().kind") == "plan"
    ends = shown.evaluate(
        "(() => { const {q} = forearmStudio.run(); return q.map(c => [c[0], c[c.length - 1]]); })()"
    )
    assert [a for a, _ in ends] == pytest.approx([-0.4, 0.5, 0.9])
    assert [b for _, b in ends] == pytest.approx([0.2, 0.1, 0.3])
    until(shown, "forearmStudio.state().t > 0.05")
    assert shown.locator("#panels canvas").count() >= 4


def test_two_controllers_track_side_by_side(opened: Open) -> None:
    shown = opened([three()])
    shown.locator("#tab-move").click()
    shown.locator("#compare").check()
    assert shown.evaluate("forearmStudio.state().arms") == 2
    settings = [
        {"name": "computed_torque", "bandwidth": 20},
        {"name": "pd", "bandwidth": 8, "bits": 10, "delay": 1},
    ]
    shown.evaluate("s => { forearmStudio.track([0.6, 0.4, 0.8], s); forearmStudio.finish(); }", settings)
    errors = shown.evaluate(
        "[0, 1].map(k => Math.max(...forearmStudio.run(k).error.flatMap(c => [...c].map(Math.abs))))"
    )
    assert errors[0] < 0.05 < errors[1], "a model follows better than gains alone"
    assert shown.evaluate("forearmStudio.run(1).about.controller.bits") == 10
    shown.locator("#difference").check()
    until(shown, "document.querySelector('#panels b').textContent.startsWith('difference')")


@pytest.mark.long
def test_world_sliders_change_what_the_drives_hold(opened: Open) -> None:
    shown = opened([three()])
    held = "forearmStudio.engine().torque(forearmStudio.getJoints(), [0, 0, 0], [0, 0, 0])[1]"
    before = shown.evaluate(held)
    shown.locator("#tab-world").click()
    shown.get_by_label("payload").nth(1).fill("2")
    assert abs(shown.evaluate(held)) > abs(before)
    shown.get_by_label("magnitude").nth(1).fill("0")
    assert shown.evaluate(held) == pytest.approx(0.0, abs=1e-12)
    shown.locator("#reset-world").click()
    assert shown.evaluate(held) == before


def test_what_is_taken(opened: Open) -> None:
    shown = opened([three()])
    shown.evaluate("forearmStudio.letGo(); forearmStudio.finish(0.1)")
    shown.locator("#tab-take").click()
    with shown.expect_download() as waiting:
        shown.locator("#take-csv").click()
    rows = list(csv.reader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert rows[0][:4] == ["t", "q_waist", "q_shoulder", "q_elbow"]
    assert {"qd_waist", "tau_elbow", "voltage_elbow"} <= set(rows[0])
    exact = shown.evaluate("[...forearmStudio.run().q[1]]")
    assert [float(row[2]) for row in rows[1:]] == exact, "every bit of the doubles"
    with shown.expect_download() as waiting:
        shown.locator("#take-picture").click()
    assert Path(waiting.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    texts = shown.locator("#texts pre").all_inner_texts()
    assert any("fa.load" in text for text in texts)
    assert any(text.startswith("forearm ") for text in texts)


def test_a_recording_plays_and_its_events_are_text(opened: Open) -> None:
    shown = opened([three()], recording=recording())
    assert shown.evaluate("forearmStudio.state().kind") == "recording"
    shown.evaluate("forearmStudio.seek(1)")
    assert joints(shown)[0] == pytest.approx(math.sin(1.0), abs=1e-4)
    shown.locator("#happened summary").click()
    assert "<b>stands</b>" in shown.inner_text("#happened li")
    shown.locator("#happened li button").click()
    assert shown.evaluate("forearmStudio.state().t") == pytest.approx(0.75)
    assert joints(shown)[1] == pytest.approx(0.5 * math.sin(1.5), abs=1e-4)


@pytest.mark.long
def test_a_program_can_send_states_and_plans(opened: Open) -> None:
    shown = opened([three()])
    send = "message => forearmStudio.receive(message)"
    assert shown.evaluate(send, {"type": "state", "q": [0.1, 0.2, 0.3], "t": 0.0})
    assert shown.evaluate(send, {"type": "state", "q": [0.2, 0.2, 0.3], "tau": [1.0, 2.0, 3.0], "t": 0.5})
    assert joints(shown) == [0.2, 0.2, 0.3]
    assert shown.evaluate("[...forearmStudio.run().tau[2]][1]") == 3.0
    for wrong in (
        {"type": "state", "q": [1.0]},
        {"type": "state", "q": [None, 0, 0]},
        {"type": "plan"},
        7,
        None,
    ):
        assert not shown.evaluate(send, wrong)
    assert shown.evaluate(send, {"type": "plan", "t": [0.0, 1.0], "q": [[0, 0, 0], [1, 0.5, 0]]})
    shown.evaluate("forearmStudio.pause(); forearmStudio.seek(0.5)")
    assert joints(shown) == pytest.approx([0.5, 0.25, 0.0])


def test_names_from_files_are_text(opened: Open) -> None:
    arm = three(HOSTILE)
    for joint, body in zip(arm["joints"], arm["bodies"], strict=True):
        joint["name"] = body["joint"] = HOSTILE
        body["name"] = body["frames"][0]["name"] = HOSTILE
    arm["title"], arm["missing"] = HOSTILE, [HOSTILE]
    arm["laws"][0]["label"] = HOSTILE
    shown = opened([arm, arm | {"home": [0.0, 0.1, 0.2]}], recording=recording())
    for tab in ("pose", "world", "move", "see", "take"):
        shown.locator(f"#tab-{tab}").click()
    shown.evaluate("forearmStudio.show('frames', true); dispatchEvent(new Event('beforeprint'))")
    assert shown.title() == "Stand-in"
    assert shown.locator("#studio img, #studio b[onerror], script:not([type]) ~ script").count() == 0
    assert shown.locator(".sheet td").first.text_content() == HOSTILE
    assert shown.locator(".sheet img").count() == 1, "the picture of the view alone"
    assert shown.get_by_label(HOSTILE, exact=True).count() >= 3


def test_everything_has_a_name_and_can_be_reached_by_keys(opened: Open) -> None:
    shown = opened([three()])
    nameless = shown.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length))).length"
    )
    assert nameless == 0
    shown.locator("#tab-pose").focus()
    shown.keyboard.press("ArrowRight")
    assert shown.locator("#tab-world").get_attribute("aria-selected") == "true"
    shown.locator("#view").focus()
    before = pixel(shown, "hand")
    shown.keyboard.press("ArrowLeft")
    assert pixel(shown, "hand") != before
    shown.keyboard.press("0")
    shown.keyboard.press("5")
    shown.keyboard.press("l")
    until(shown, "forearmStudio.state().playing")
    shown.keyboard.press(" ")
    assert not shown.evaluate("forearmStudio.state().playing")
    shown.keyboard.press("?")
    assert shown.locator("#keys").is_visible()


@pytest.mark.parametrize(("width", "height"), [(400, 800), *long([(900, 600), (2560, 1440)])])
def test_it_fits_every_width(opened: Open, width: int, height: int) -> None:
    shown = opened([sliding()], context={"viewport": {"width": width, "height": height}})
    shown.evaluate("forearmStudio.plan([1, 1, -0.1])")
    for tab in ("pose", "move") + (("curves",) if height < 700 or width < 820 else ()):
        shown.locator(f"#tab-{tab}").click()
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert shown.evaluate(
            "[...document.querySelectorAll('.side [role=tabpanel]')].every(p => p.scrollWidth <= p.clientWidth + 1)"
        )
    shown.wait_for_selector("#panels canvas")


@pytest.mark.long
def test_a_lost_context_goes_over_to_the_painter(opened: Open) -> None:
    lose = "document.querySelector('#view canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
    shown = opened([three()])
    shown.evaluate(lose)
    until(shown, "forearmStudio.state().renderer === 'canvas'")
    shown.evaluate("forearmStudio.setJoints([0.1, 0.1, 0.1])")


@pytest.mark.long
def test_nothing_is_drawn_when_nothing_changes(opened: Open) -> None:
    shown = opened([three()])
    shown.wait_for_timeout(400)
    before = shown.evaluate("forearmStudio.frames().drawn")
    shown.wait_for_timeout(300)
    assert shown.evaluate("forearmStudio.frames().drawn") == before


def test_the_sources_keep_to_their_size_and_put_no_markup_together() -> None:
    names = (PAGE / "order.txt").read_text(encoding="utf-8").split()
    assert len(scripts()) < MOST_BYTES, "as a page has them: without comments and indentation"
    for name in names:
        text = (PAGE / name).read_text(encoding="utf-8")
        assert text.isascii()
        assert len(text.splitlines()) <= 300
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text)
