"""Scripts of the studio's page, run by node without a browser: its clock, its controllers, its bars."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import forearm as fa
from forearm.viewer.arm_code import arm_code
from forearm.viewer.studio_page import FOLDER
from tools import starts

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not starts("node"), reason="node is not installed")]
ARM, MANY = "puma560-dhanaraj3", 2
SCRIPTS = ("basics", "matrix", "engine", "words", "actor", "run", "clock", "pose", "curves", "joints", "move")
# What the scripts ask of a browser: elements that keep values, listeners that nobody calls, and a clock that
# stands, so that no computation runs out of time.
BROWSER = """
const elements = {}, nothing = () => {};
const blank = () => ({ style: {}, value: "", classList: { toggle: nothing }, setAttribute: nothing, addEventListener: nothing, append: nothing, replaceChildren: nothing });
const document = { getElementById: (id) => (elements[id] ||= blank()), createElement: blank };
const window = blank(), parent = window, matchMedia = blank, changed = nothing, performance = { now: () => 0 };
"""
# Motions of all joints by so much for each arm; what the page does in that many seconds; a push from the panel.
BEGIN = """
data.arms.forEach((arm, k) => actors.push(makeActor(arm, k)));
for (const actor of actors) { holdActor(actor); placeActor(actor); }
const law = { name: "computed_torque", bandwidth: 30, period: 0.002, delay: 0, bits: null, saturate: false };
const follow = (...far) => {
  const ends = actors.map((a) => [a.q.slice(), a.q.map((x) => x + far[a.index])]);
  track((a) => ends[a.index], { velocity: 1, acceleration: 1 }, actors.map(() => law));
};
const watch = (seconds) => { for (let t = 0; clock.playing && t < seconds; t += 0.02) advanceClock(0.02); };
const push = () => { element("push-way").value = "2 1"; element("push-force").value = "300"; pushHand(); };
"""
InPage = Callable[[str], Any]


@pytest.fixture(scope="module")
def in_page(tmp_path_factory: pytest.TempPathFactory) -> InPage:
    """A function that returns what a script returns among those of a page with two arms."""
    file = tmp_path_factory.mktemp("page") / "page.js"
    text = fa.studio([ARM] * MANY, file.with_suffix(".html")).path.read_text(encoding="utf-8")
    found = re.search(r'id="studio-data">(.*?)</script>', text, re.S)
    assert found is not None
    code = f"const code = {arm_code(fa.load(ARM))}, engineCode = [{', '.join(['code'] * MANY)}];"
    given = f'document.getElementById("studio-data").textContent = JSON.stringify({found[1]});'
    page = [(FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]

    def answer(script: str) -> Any:
        said = f"console.log(JSON.stringify((() => {{\n{script}\n}})()));"
        file.write_text("\n".join([code, BROWSER, given, *page, BEGIN, said]), encoding="utf-8")
        done = subprocess.run(
            ["node", str(file)], capture_output=True, text=True, check=False, encoding="utf-8"
        )
        assert not done.returncode, done.stderr[-2000:]
        return json.loads(done.stdout)

    return answer


def test_a_push_leaves_the_controller_in_charge(in_page: InPage) -> None:
    found = in_page("""
    follow(0.4, 0.2);
    watch(10);
    const [actor] = actors, goal = actor.run.about.q1, first = { live: clock.live, end: runsEnd() };
    const error = () => Math.max(...goal.map((x, j) => Math.abs(x - actor.q[j])));
    const before = error();
    push();
    watch(0.2);
    const pushed = error();
    watch(10);
    const { kind, pushed: noted } = actor.run.about;
    return { first, before, pushed, after: error(), kinds: [clock.kind, kind], noted, end: runsEnd() };
    """)
    assert found["first"]["live"] is False, "the tracked run had ended before the push"
    assert (found["kinds"], found["noted"]) == (["track", "track"], True)
    assert found["pushed"] > 20 * max(found["before"], 1e-4), "the push moved the arm"
    assert found["after"] < 0.02 * found["pushed"], "and the controller brought it back"
    assert found["end"] == pytest.approx(found["first"]["end"] + 2.2, abs=0.01)


def test_a_push_of_an_arm_that_is_held_lets_it_fall(in_page: InPage) -> None:
    assert in_page("push(); watch(0.1); return [clock.kind, actors[0].run.about.pushed];") == ["fall", True]


def test_arms_whose_motions_last_differently_all_come_to_their_end(in_page: InPage) -> None:
    found = in_page("""
    follow(0.1, 1.2);
    watch(20);
    return { playing: clock.playing, live: clock.live, t: clock.t, ends: actors.map((a) => endOf(a.run)) };
    """)
    assert (found["playing"], found["live"]) == (False, False)
    assert found["t"] == found["ends"][1] > 1.5 * found["ends"][0]


def test_what_is_shown_as_zero_draws_no_bar(in_page: InPage) -> None:
    found = in_page("""
    const shown = (limit, values) => {
      const part = meter("voltage", limit, "V"), peaks = [0];
      return values.map((x) => { showMeter(part, x, peaks, 0); return [part.value.textContent, part.bar.style.transform]; });
    };
    return { free: shown(null, [3e-17, -0.004, 8, -2, 3e-17]), small: shown(0.004, [0.002]) };
    """)
    assert found["free"] == [
        ["0.00 V", "scaleX(0.0000)"],
        ["0.00 V", "scaleX(0.0000)"],
        ["8.00 V", "scaleX(1.0000)"],
        ["-2.00 V", "scaleX(-0.2500)"],
        ["0.00 V", "scaleX(0.0000)"],
    ]
    assert found["small"] == [["0.00 V", "scaleX(0.5000)"]], "of a limit, however small"
