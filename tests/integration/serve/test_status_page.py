"""The page in a real browser, in each phase of a real stop, in two colour schemes and sizes."""

import os
import sys
from pathlib import Path

import pytest
from browser import CONTRASTS, Browser
from serve_peer import wait_until
from serve_world import STUBBORN

PAGE = Path(__file__).resolve().parents[3] / "probes/listener/status_page.html"
# Normal text has at least this contrast to its background (WCAG 2.1, 1.4.3).
READABLE = 4.5
pytestmark = pytest.mark.plain_build


@pytest.fixture
def browser():
    one = Browser()
    yield one
    one.close()


def looks_right(browser, phase):
    """In light and dark, on a phone and on a desk."""
    for scheme in ("light", "dark"):
        for width in (400, 1400):
            browser.dress(width, 900, scheme)
            wide, seen = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
            assert wide <= seen == width, f"{phase}: wider than {width} px"
            assert browser.run(CONTRASTS, READABLE) == [], f"{phase}, {scheme}"
            if folder := os.environ.get("LASTCALL_SCREENSHOTS"):
                browser.picture(f"{folder}/{phase}-{scheme}-{width}.png")


def shows(browser, phase, *texts):
    def is_there():
        if browser.run("return document.body.dataset.phase") != phase:
            return False
        text = browser.text()
        return text if all(each in text for each in texts) else False

    text = wait_until(is_there, f"{phase} with {texts}", pause=0.05)
    looks_right(browser, phase)
    return text


def part_shown(browser):
    return browser.run("return document.querySelector('#legend .on').textContent")


def test_it_is_one_small_file_that_needs_no_other():
    text = PAGE.read_text()
    assert len(text) < 40_000
    assert "http:" not in text and "https:" not in text and "//" not in text


def test_it_shows_each_phase_of_a_stop(world, browser):
    one = world(
        shutdown={"grace_period": "24s", "late_accept": "4s", "deregister_timeout": "5s",
                  "cleanup_reserve": "8s", "cancel_settle": "3s"},
    )  # fmt: skip
    ready = one.path("ready")
    stubborn = [word.replace("{ready!r}", repr(ready)) for word in STUBBORN]
    engine = one.run(*stubborn)
    one.wait_for_log('"phase begun","phase":"serving"')
    wait_until(lambda: os.path.exists(ready), "the engine")
    peer = one.peer()
    peer.ask("request.begin", id="r", endpoint="generate")
    peer.ask("request.begin", id="s", endpoint="embed")
    browser.open(f"http://127.0.0.1:{one.port}/")
    text = shows(browser, "serving", "2\nin flight", "generate", "If a stop began now")
    assert "now" not in browser.run("return document.querySelector('#bar').innerText")

    engine.terminate()
    shows(browser, "deregistering", "2 requests", "are cut in", "This stop")
    peer.send("request.end", id="s", outcome="completed")
    shows(browser, "draining", "1 request in flight", "are cut in", "deadline in")
    first = browser.run("return parseFloat(document.querySelector('#now').style.left)")
    wait_until(
        lambda: browser.run("return parseFloat(document.querySelector('#now').style.left)") > first,
        "'now' moves",
    )
    shows(browser, "draining", "asked to end")
    assert part_shown(browser).startswith("Cancelling")
    shows(browser, "cleaning_up", "cleaned up")
    assert engine.wait(timeout=30) is not None
    wait_until(lambda: browser.run("return document.body.dataset.lost"), "the end", pause=0.05)
    assert "no longer answers" in browser.text()
    looks_right(browser, "ended")

    asked = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert set(asked) == {f"http://127.0.0.1:{one.port}/status"}
    policy = [line for line in browser.console() if "Content Security Policy" in line]
    assert not policy and text


def test_names_are_text_and_never_markup(world, browser):
    one = world()
    one.run(sys.executable, "-c", "import signal; signal.pause()")
    one.wait_for_log('"phase begun","phase":"serving"')
    name = "<img src=x onerror=document.body.dataset.hit=1>"
    one.peer().ask("request.begin", id="r", endpoint=name)
    browser.open(f"http://127.0.0.1:{one.port}/")
    wait_until(lambda: name in browser.text(), "the name", pause=0.05)
    assert not browser.run("return document.body.dataset.hit || document.images.length")
