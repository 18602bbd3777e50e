"""Frames a second, and the time to the first picture, of a falling Panda in a browser without a GPU; run by hand:

python tests/viewer/measure_frames.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import sync_playwright
from viewer.browser import ARGUMENTS, find_browser, without_webgl

import forearm as fa

BENT = [0.3, -0.6, 0.2, -2.1, 0.2, 1.7, 0.6]
SECONDS = 6.0


def main() -> None:
    """One row for each way to draw and size of the window."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = fa.studio("panda", Path(folder) / "panda.html", q=BENT)
        browser = playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        for script, kind in (("", "WebGL by software"), (without_webgl(), "painter")):
            for width, height in ((1280, 800), (400, 800), (1920, 1080)):
                context = browser.new_context(viewport={"width": width, "height": height})
                shown = context.new_page()
                if script:
                    shown.add_init_script(script)
                start = time.perf_counter()
                shown.goto(page.path.as_uri())
                shown.evaluate("forearmStudio.ready")
                first = time.perf_counter() - start
                shown.evaluate("forearmStudio.letGo()")
                shown.wait_for_timeout(1000 * SECONDS)
                found = shown.evaluate("forearmStudio.frames()")
                print(
                    f"{kind}, {width} x {height}: ready after {first:.2f} s, {found['perSecond']:.0f} frames per "
                    f"second at a quality of {found['quality']}"
                )
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
