"""A live studio in a browser: two tabs, a program that comes back, joints that a user sets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from viewer.browser import without_webgl
from viewer.stream_client import PATIENCE, eventually, port_of

import forearm as fa
from forearm.viewer.live import LiveStudio, live_studio
from forearm.viewer.studio_page import ShownArm, studio_page

ARM = random_arm(7, 3, drives=False)
MS = 1000.0
RUN = """() => {
  const { t, q, qd, tau } = forearmStudio.run(), rows = (all) => all.map((column) => Array.from(column));
  return { t: Array.from(t), q: rows(q), qd: rows(qd), tau: rows(tau) };
}"""
DRAWN = 1e-9  # of poses computed by other code


def serve(
    port: int = 0, host: str | None = None, arms: Sequence[fa.Arm] = (ARM,), rest: int = 20000
) -> LiveStudio:
    def page(policy: str, script: str) -> str:
        assert "RESTS_AFTER = 20000" in script
        script = script.replace("RESTS_AFTER = 20000", f"RESTS_AFTER = {rest}")
        return studio_page(
            [ShownArm(arm, "", "") for arm in arms], triangles=100, policy=policy, more_script=script
        )

    return live_studio(page, arms, port=port, host=host)


def opened_tab(context: Any, studio: LiveStudio, said: list[str]) -> Any:
    tab = context.new_page()
    tab.add_init_script(without_webgl())  # which costs a processor more than all the rest
    tab.set_default_timeout(PATIENCE * MS)
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(studio.url)
    tab.evaluate("forearmStudio.ready")
    tab.wait_for_selector("#live:has-text('Live')")
    return tab


def wait_for_joints(tab: Any, q: Any) -> None:
    tab.wait_for_function(
        "(q) => forearmStudio.getJoints().every((x, j) => x === q[j])", arg=np.asarray(q).tolist()
    )


def set_by_hand(tab: Any, studio: LiveStudio, q: Any) -> bool:
    """Whether joints that are set in the page come back to Python."""
    tab.evaluate("(q) => { forearmStudio.setJoints(q) }", np.asarray(q).tolist())
    shown = tab.evaluate("forearmStudio.getJoints()")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = studio.joints()
        if found is not None and found.tolist() == shown:
            return True
        tab.wait_for_timeout(10)
    return False


@pytest.mark.long
def test_two_tabs_show_what_is_sent_and_find_the_program_again(browser: Any) -> None:
    rng = np.random.default_rng(3)
    said: list[str] = []
    context = browser.new_context(viewport={"width": 400, "height": 400}, reduced_motion="reduce")
    with serve() as studio:
        port = port_of(studio)
        first = rng.normal(size=3)
        studio.send(first, t=0.0)
        tabs = [opened_tab(context, studio, said) for _ in range(2)]
        for tab in tabs:
            wait_for_joints(tab, first)  # what was sent before it was opened
        q, qd, tau = rng.normal(size=(3, 100, 3))
        for k in range(100):
            studio.send(q[k], qd[k], tau[k], t=0.001 * (k + 1))
        for tab in tabs:
            wait_for_joints(tab, q[-1])
            run = tab.evaluate(RUN)
            assert run["t"] == [0.0, *(0.001 * (k + 1) for k in range(100))]
            for name, sent in (("q", q), ("qd", qd), ("tau", tau)):
                assert np.array(run[name]).T[1:].tolist() == sent.tolist(), name
            hand = np.reshape(tab.evaluate("forearmStudio.getHand()"), (4, 4))
            assert np.abs(hand - ARM.base @ fa.kinematics.forward(ARM, q[-1])).max() < DRAWN
        assert studio.joints() is None  # nobody touched it
        assert set_by_hand(tabs[1], studio, [0.01, 0.02, -0.03])
        studio.plan(([0.0, 0.05, 0.1], [[0.0] * 3, [0.1] * 3, [0.2, 0.1, 0.0]]))
        for tab in tabs:
            wait_for_joints(tab, [0.2, 0.1, 0.0])
            assert tab.evaluate("forearmStudio.state().kind") == "received"
        assert said == []
    for tab in tabs:
        tab.wait_for_selector("#live:has-text('Not connected')")
    with serve(port) as studio:
        studio.send(first, t=0.0)
        for tab in tabs:
            tab.wait_for_selector("#live:has-text('Live')")
            wait_for_joints(tab, first)
        assert set_by_hand(tabs[0], studio, [0.03, 0.01, 0.02])
    context.close()
    # What Chromium itself says of a program that is not there; nothing of the page.
    assert all("ERR_CONNECTION_REFUSED" in text or "ERR_INCOMPLETE_CHUNKED" in text for text in said), said


@pytest.mark.long
def test_a_token_is_passed_on_notebooks_may_frame_the_page_and_another_page_replaces_it(browser: Any) -> None:
    said: list[str] = []
    context = browser.new_context()
    with serve(host="127.0.0.1") as studio:
        tab = opened_tab(context, studio, said)
        studio.send([0.1, 0.2, 0.3])
        wait_for_joints(tab, [0.1, 0.2, 0.3])
        assert set_by_hand(tab, studio, [0.01, 0.02, -0.03])
    with serve() as studio:
        port = port_of(studio)
        tab = opened_tab(context, studio, said)
        with LiveStudio(studio._repr_html_(), [ARM]) as notebook:
            page = context.new_page()
            page.goto(f"http://localhost:{port_of(notebook)}/")
            page.frame_locator("iframe").locator("#live:has-text('Live')").wait_for()
            assert studio._server.tabs == 2
            page.close()
    with LiveStudio("<title>another</title>", [ARM], port=port):
        tab.wait_for_function("() => document.title === 'another'")
    context.close()


@pytest.mark.long
def test_two_arms_are_told_apart(browser: Any) -> None:
    said: list[str] = []
    context = browser.new_context()
    with serve(arms=(ARM, random_arm(8, 2, drives=False))) as studio:
        tab = opened_tab(context, studio, said)
        studio.send([0.1, 0.2, 0.3], t=0.0)
        studio.send([-0.1, -0.2], t=0.0, arm=1)
        wait_for_joints(tab, [0.1, 0.2, 0.3])
        tab.wait_for_function("() => forearmStudio.getJoints(1)[1] === -0.2")
        tab.evaluate(
            "() => { forearmStudio.setJoints([0.01, 0.02], 1); forearmStudio.setJoints([0.03, 0, 0], 0); }"
        )
        assert eventually(lambda: studio.joints() is not None and studio.joints(1) is not None)
        for arm in (0, 1):
            found = studio.joints(arm)
            assert found is not None
            assert found.tolist() == tab.evaluate("(arm) => forearmStudio.getJoints(arm)", arm)
    context.close()
    assert said == []


@pytest.mark.long
def test_a_hidden_tab_lets_go_and_gets_what_it_missed_when_it_is_seen(browser: Any) -> None:
    said: list[str] = []
    context = browser.new_context()
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with serve(rest=50) as studio:
        tab = opened_tab(context, studio, said)
        studio.send([0.1, 0.2, 0.3], t=0.0)
        wait_for_joints(tab, [0.1, 0.2, 0.3])
        tab.evaluate(hide, True)
        tab.wait_for_timeout(200)
        assert eventually(lambda: studio._server.tabs == 0)
        for k in range(1, 20):
            studio.send([0.1, 0.2, 0.01 * k], t=0.1 * k)
        assert tab.evaluate("() => forearmStudio.run().t.length") == 1
        tab.evaluate(hide, False)
        wait_for_joints(tab, [0.1, 0.2, 0.01 * 19])
        assert tab.evaluate("() => forearmStudio.run().t.length") == 20
    context.close()
    assert said == []
