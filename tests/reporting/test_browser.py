"""The browser's check of pages: that it fails on a bad page, and only there."""

import base64
import socket
import struct
import time

import pytest
from browser import browser, missing, problems, screenshot

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

HEAD = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>A page</title>"
    "<meta name=viewport content='width=device-width, initial-scale=1'>"
)
DOT = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==")
IMAGE = f"data:image/gif;base64,{base64.b64encode(DOT).decode()}"

GOOD = f"""
<h1 id=start>A page</h1><p id="é b">
<a href="#start">here</a> <a href="#%C3%A9%20b">here</a> <a href="#">top</a>
<a href="other%20page.html#there">there</a> <a href="other%20page.html?x=1">there</a>
<a href="https://example.org/">elsewhere</a> <a href="mailto:a@example.org">write</a>
<img src="{IMAGE}" alt="A dot"> <img src="{IMAGE}" alt="">
<p style="height: 20000px"><p><img src="dot.gif" alt="" loading=lazy>
<pre style="overflow-x: auto">{"long " * 300}</pre>
<div style="overflow-x: hidden"><div style="overflow-x: auto">
<table><tr><td>{"long" * 300}</table></div></div>
<details name=a><summary>More</summary><p>Short.</details>
<script>console.warn("not an error")</script>
"""

TALL = "<p style='height: 20000px'>"
WIDE = "<div class='far out' style='width: 2000px'>wide</div>"

# What is on the page, and how the line that reports it begins.
BAD = {
    "exception": ("<script>null.x</script>", "console: page.html"),
    "late exception": ("<script>setTimeout(() => null.x, 50)</script>", "console: page.html"),
    "rejection": ("<script>Promise.reject(Error('no'))</script>", "console: page.html"),
    "console error": ("<script>console.error('no')</script>", "console: page.html"),
    "missing script": ("<script src=no.js></script>", "console: no.js"),
    "missing style": ("<link rel=stylesheet href=no.css>", "console: no.css"),
    "remote script": ("<script src=//example.org/x.js></script>", "request: file://example.org"),
    "remote style": ("<style>@import 'https://example.org/x'</style>", "request: https://"),
    "remote fetch": (
        "<script>fetch('https://example.org/x').catch(() => 0)</script>",
        "request: https://example.org/x",
    ),
    "socket": ("<script>new WebSocket('ws://example.org/x')</script>", "request: ws://example.org"),
    "beacon": ("<script>navigator.sendBeacon('http://example.org/x')</script>", "request: http://"),
    "remote frame": (
        f"{TALL}<iframe src='https://example.org/' loading=lazy></iframe>",
        "request: https://example.org/",
    ),
    "remote in a frame": (
        "<iframe srcdoc='<link rel=stylesheet href=https://example.org/x>'></iframe>",
        "request: https://example.org/x",
    ),
    "remote icon": ("<link rel=icon href=https://example.org/x>", "request: https://example.org/x"),
    "remote video": ("<video preload=none src=https://example.org/x></video>", "request: https://"),
    "sharper image": (f"<img alt='' src={IMAGE} srcset='https://example.org/x 9x'>", "request: "),
    "connection": ("<link rel=preconnect href=https://example.org>", "request: https://"),
    "redirection": ("<script>location = 'https://example.org/'</script>", "page moves to https:"),
    "refresh": ("<meta http-equiv=refresh content='0;url=other page.html'>", "page moves to other"),
    "window": ("<script>open('https://example.org/x')</script>", "request: https://"),
    "worker": (
        "<script>new Worker(URL.createObjectURL(new Blob([''])))</script>",
        "worker, whose requests are not seen",
    ),
    "dialog": ("<script>alert('well?')</script>", "dialog: well?"),
    "late dialog": ("<script>setTimeout(() => alert('well?'), 50)</script>", "dialog: well?"),
    "missing image": ("<img src=no.png alt=''>", "image does not load: no.png"),
    "lazy image": (f"{TALL}<img src=no.png alt='' loading=lazy>", "image does not load: no.png"),
    "hidden image": ("<details><img src=no.png alt=''></details>", "image does not load: no.png"),
    "broken image": ("<img src='data:image/png;base64,AAAA' alt=''>", "image does not load: data:"),
    "image of nothing": ("<img alt=''>", "image does not load: <img"),
    "image without alt": (f"<img src='{IMAGE}'>", "image without alt: data:"),
    "missing file": ("<a href=no.html>x</a>", "link to a missing file: no.html"),
    "missing fragment": ("<a href=#no>x</a>", "link to a missing fragment: #no"),
    "fragment elsewhere": (
        "<a href='other page.html#no'>x</a>",
        "link to a missing fragment: other page.html#no",
    ),
    "link in a drawing": (
        "<svg><a xlink:href=#no><text>x</text></a></svg>",
        "link to a missing fragment: #no",
    ),
    "absolute link": ("<a href=/>x</a>", "link to a place on this machine: /"),
    "no link": ("<a href='http://['>x</a>", "link is no URL: http://["),
    "wide box": (f"<main>{WIDE}</main>", "horizontal scroll at 1280 px: 2008 px, main > div.far"),
    "wide text": (f"<pre class=log>{'x' * 300}</pre>", "horizontal scroll at 390 px: "),
    "cut table": (
        f"<div style='overflow-x: hidden'><table id=t><tr><td>{WIDE}</table></div>",
        "cut off at 390 px: table#t in div",
    ),
    "wide when open": (
        f"<details name=a><summary>x</summary>{WIDE}</details>"
        "<details name=a><summary>x</summary></details>",
        "horizontal scroll at 390 px with all <details> open: 2008 px, details > div.far.out",
    ),
}


@pytest.fixture(scope="module")
def driver():
    with browser() as driver:
        yield driver


@pytest.fixture
def write(tmp_path):
    (tmp_path / "dot.gif").write_bytes(DOT)
    (tmp_path / "other page.html").write_text(f"{HEAD}<p id=there>", encoding="utf-8")

    def write(body, head=HEAD):
        page = tmp_path / "page.html"
        page.write_text(head + body, encoding="utf-8")
        return page

    return write


def test_good_page(driver, write):
    assert problems(driver, write(GOOD)) == []


@pytest.mark.parametrize("case", BAD)
def test_bad_page(driver, write, case):
    body, line = BAD[case]
    found = problems(driver, write(body))
    assert any(text.startswith(line) for text in found), found


def test_missing_head(driver, write):
    found = problems(driver, write("<p>x", head="<!doctype html>"))
    assert found == [
        "no <title>",
        "no <meta name=viewport>",
        "horizontal scroll at 390 px: 980 px, p",  # as a phone shows such a page
    ]


def test_missing_page(driver, tmp_path):
    with pytest.raises(FileNotFoundError):
        problems(driver, tmp_path / "no.html")


def test_too_wide_for_a_phone_only(driver, write):
    page = write("<div id=box style='width: 400px'>x</div>")
    assert problems(driver, page) == ["horizontal scroll at 390 px: 408 px, div#box"]
    assert problems(driver, page, widths=[1280]) == []


def test_exact_width(driver, write):
    page = write("<script>console.error(innerWidth + '/' + screen.width)</script>")
    (line,) = problems(driver, page, widths=[390])
    assert line.endswith('"390/390"')


def test_nothing_is_left_of_the_page_before(driver, write):
    late = "<script>for (const t of [50, 400]) setTimeout(() => null.x, t)</script>"
    assert problems(driver, write(late))
    time.sleep(0.5)
    assert problems(driver, write(GOOD)) == []


def test_network_is_cut(driver, write):
    """A server on this very machine is not reached, and what was asked of it is reported."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        found = problems(
            driver,
            write(
                f"<img src='http://{host}/image' alt=''>"
                f"<script>new WebSocket('ws://{host}/socket')</script>"
                f"<iframe src='http://{host}/frame'></iframe>"
                f"<script>new Worker(URL.createObjectURL(new Blob(['fetch(\"http://{host}/\")'])))"
                "</script>"
            ),
        )
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert {
        f"request: http://{host}/image",
        f"request: ws://{host}/socket",
        f"request: http://{host}/frame",
    } <= {*found}


@pytest.mark.parametrize("width", [390, 1280])
def test_screenshot(driver, write, tmp_path, width):
    page = write("<style>body { margin: 0 }</style><p style='height: 3000px; margin: 0'>x")
    screenshot(driver, page, tmp_path / "page.png", width)
    data = (tmp_path / "page.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (width, 3000)
