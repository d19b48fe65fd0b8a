"""Pages in a real browser: headless Chromium, cut off from every network.

It needs the programs ``chromium`` and ``chromedriver`` (the Debian packages ``chromium`` and
``chromium-driver``); nothing is downloaded in their place.
"""

import base64
import contextlib
import functools
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.chrome.webdriver import WebDriver

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"
PHONE = 600  # narrower windows are emulated as a phone's

# Nothing listens at the proxy, and no name resolves, not even its own; file:// needs neither.
OFFLINE = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
QUIET = (
    "--headless=new",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
)

# Every picture loads, wherever it is on the page, and late scripts get a moment.
SETTLE = """
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
const settle = async () => {
  for (const lazy of document.querySelectorAll("[loading=lazy]")) lazy.loading = "eager";
  const pictures = [...document.images].filter((image) => !image.complete);
  const loaded = pictures.map((image) => new Promise((resolve) => {
    image.addEventListener("load", resolve);
    image.addEventListener("error", resolve);
  }));
  await Promise.race([Promise.all([document.fonts.ready, ...loaded]), pause(20000)]);
  await pause(100);
};
"""

SURVEY = r"""
const [width, done] = arguments;
const cut = (text) => text.length > 120 ? text.slice(0, 117) + "..." : text;

// What is named on the page is requested sooner or later, if not by this browser at this width.
const named = () => {
  const urls = [];
  for (const attribute of ["src", "poster", "data"])
    for (const element of document.querySelectorAll(`[${attribute}]`))
      if (typeof element[attribute] === "string") urls.push(element[attribute]);
  for (const element of document.querySelectorAll("[srcset]"))
    urls.push(...element.srcset.split(/[\s,]+/));
  const hints = /\b(icon|apple-touch-icon|manifest|preconnect|dns-prefetch|prefetch)\b/i;
  for (const link of document.querySelectorAll("link[href]"))
    if (hints.test(link.rel)) urls.push(link.href);
  return urls.filter((url) => /^(https?|wss?):/i.test(url)).map((url) => "request: " + url);
};
const label = (element) => element.localName
  + (element.id ? "#" + element.id : "")
  + [...element.classList].map((name) => "." + name).join("");

// The element that reaches farthest to the right, with those around it; what scrolls or is
// clipped in a box of its own does not count.
const widest = () => {
  let best = document.body, reach = 0;
  const visit = (element) => {
    const box = element.getBoundingClientRect();
    const clips = getComputedStyle(element).overflowX !== "visible";
    const right = scrollX + (clips ? box.right
                                   : Math.max(box.right, box.left + (element.scrollWidth || 0)));
    if (box.width && right >= reach) [best, reach] = [element, right];
    if (!clips) for (const child of element.children) visit(child);
  };
  for (const child of document.body.children) visit(child);
  const path = [];
  for (let e = best; e && e !== document.body && path.length < 3; e = e.parentElement)
    path.unshift(label(e));
  return cut(path.join(" > ") || "body");
};
const overflow = (when) => {
  const root = document.scrollingElement || document.documentElement;
  if (root.scrollWidth <= Math.min(root.clientWidth, width)) return [];
  return [`horizontal scroll at ${width} px${when}: ${root.scrollWidth} px, ${widest()}`];
};

// Tables and pictures whose right end no scrolling brings into sight.
const cutOff = () => {
  const lines = [];
  for (const element of document.querySelectorAll("table, img")) {
    const right = element.getBoundingClientRect().right;
    for (let box = element.parentElement; box; box = box.parentElement) {
      const overflow = getComputedStyle(box).overflowX;
      if (overflow === "auto" || overflow === "scroll") break;
      if (overflow !== "visible" && right > box.getBoundingClientRect().right + 1) {
        lines.push(`cut off at ${width} px: ${label(element)} in ${label(box)}`);
        break;
      }
    }
  }
  return lines;
};

const anchors = () => [...document.querySelectorAll("a:any-link, area[href]")].map((element) => {
  const written = element.getAttribute("href") ?? element.getAttribute("xlink:href");
  const link = { written: cut(written), url: null, here: false, found: false };
  let url;
  try { url = new URL(written, document.baseURI); } catch { return link; }
  link.url = url.protocol === "file:" ? url.href : url.protocol;
  link.here = url.protocol === "file:" && url.pathname === location.pathname;
  if (link.here) {
    let name = url.hash.slice(1).split(":~:")[0];
    const known = (id) => document.getElementById(id)
      || document.querySelector(`a[name="${CSS.escape(id)}"]`);
    link.found = !name || name.toLowerCase() === "top" || !!known(name);
    try { link.found ||= !!known(decodeURIComponent(name)); } catch { }
  }
  return link;
});

(async () => {
  await settle();
  const found = [];
  if (!document.title.trim()) found.push("no <title>");
  if (!document.querySelector("meta[name=viewport i]")) found.push("no <meta name=viewport>");
  for (const image of document.images) {
    const name = cut(image.currentSrc || image.getAttribute("src") || image.outerHTML);
    if (!image.naturalWidth) found.push("image does not load: " + name);
    if (!image.hasAttribute("alt")) found.push("image without alt: " + name);
  }
  found.push(...named(), ...overflow(""), ...cutOff());
  const links = anchors();
  const closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) {
    details.removeAttribute("name");  // of those that share one, only one could be open
    details.open = true;
  }
  if (closed.length) {
    await settle();
    if (!found.some((line) => line.startsWith("horizontal")))
      found.push(...overflow(" with all <details> open"));
    found.push(...cutOff());
  }
  return { found, links };
})().then(done, (error) => done({ found: ["survey failed: " + error], links: [] }));
"""


def missing() -> str:
    """Which programs are not installed, as the reason to skip a test; empty if none is."""
    lacking = []
    if not any(map(shutil.which, BROWSERS)):
        lacking.append("chromium")
    if not shutil.which(DRIVER):
        lacking.append("chromium-driver")
    return f"not installed: {', '.join(lacking)}" if lacking else ""


@contextlib.contextmanager
def browser() -> Iterator[WebDriver]:
    """Headless Chromium with a profile of its own and no network.

    Yields
    ------
    WebDriver
        One driver serves any number of pages; it ends with the context.
    """
    os.environ.setdefault("SE_OFFLINE", "true")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        options = webdriver.ChromeOptions()
        options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
        for argument in (*QUIET, *OFFLINE, f"--user-data-dir={home}/profile"):
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.unhandled_prompt_behavior = "dismiss"
        service = webdriver.ChromeService(
            executable_path=shutil.which(DRIVER), env={**os.environ, "HOME": home}
        )
        driver = webdriver.Chrome(options=options, service=service)
        try:
            driver.set_page_load_timeout(120)
            driver.set_script_timeout(120)
            driver.command_executor.client_config.timeout = 150
            yield driver
        finally:
            driver.quit()
            _kill(driver.capabilities.get("goog:processID"), home)


def problems(driver: WebDriver, path: Path, widths: Sequence[int] = (390, 1280)) -> list[str]:
    """What is wrong with a local page, opened once at each width.

    Parameters
    ----------
    driver : WebDriver
        The one of `browser`.
    path : Path
        The HTML file.
    widths : sequence of int
        Widths of the window, in pixels; the narrow ones are a phone's.

    Returns
    -------
    list of str
        One line for each error in the console, request to a network (blocked as it is), dialog
        or new window, image that does not load or has no ``alt``, link to a local file or
        fragment that does not exist, horizontal scroll (looked for again with every
        ``<details>`` open), and missing ``<title>`` or ``<meta name=viewport>``. What recurs at
        several widths is there once.

    Raises
    ------
    FileNotFoundError
        If there is no such page.
    TimeoutException
        If a script of the page does not end; the driver is then of no more use.
    """
    page = Path(path).resolve(strict=True)
    window = driver.current_window_handle
    found = []
    for width in widths:
        # Off the previous page first, so that nothing of it is in the logs of this one.
        driver.get("about:blank")
        driver.get_log("browser")
        driver.get_log("performance")
        survey = None
        try:
            visit(driver, page, width)
            url = _url(driver)
            if url.split("#")[0] != page.as_uri():
                found.append(f"page moves to {url}")
            else:
                survey = driver.execute_async_script(SETTLE + SURVEY, width)
        except TimeoutException:
            raise  # a script that does not end: this driver is of no more use
        except WebDriverException as error:
            found.append(f"page does not open: {str(error.msg).partition(chr(10))[0]}")
        _close_others(driver, window)
        found += _requests(driver)
        found += [
            f"console: {entry['message'][:300]}"
            for entry in driver.get_log("browser")
            if entry["level"] == "SEVERE"
        ]
        if survey is None:
            found.append("page could not be checked")
            continue
        found += survey["found"]
        found += [line for link in survey["links"] if (line := _dead_link(link))]
    return list(dict.fromkeys(line.replace(f"{page.parent.as_uri()}/", "") for line in found))


def screenshot(driver: WebDriver, path: Path, output: Path, width: int) -> None:
    """Write a PNG of a whole local page.

    Parameters
    ----------
    driver : WebDriver
        The one of `browser`.
    path : Path
        The HTML file.
    output : Path
        The PNG file.
    width : int
        Width of the window, in pixels.
    """
    visit(driver, Path(path).resolve(strict=True), width)
    driver.execute_async_script(SETTLE + "settle().then(arguments[0], arguments[0]);")
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    image = driver.execute_cdp_cmd(
        "Page.captureScreenshot",
        {"format": "png", "captureBeyondViewport": True, "clip": {**size, "scale": 1}},
    )
    Path(output).write_bytes(base64.b64decode(image["data"]))


def _kill(process, home):
    """End a browser that did not answer when it was asked to."""
    with contextlib.suppress(OSError):
        if home in Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8"):
            os.kill(process, signal.SIGKILL)


def visit(driver: WebDriver, page: Path, width: int) -> None:
    """Open a local page in a window of so many pixels; a narrow one is a phone's."""
    phone = width < PHONE
    metrics = {"width": width, "height": 844 if phone else 800}
    metrics |= {"deviceScaleFactor": 1, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.get(page.as_uri())


def _url(driver):
    """Where the page is. A dialog that opens in the meantime leaves the question without answer."""
    answers = (driver.current_url for _ in range(10))
    return next(filter(None, answers), "nowhere that it says")


def _close_others(driver, window):
    """Close what a page has opened: a window behind another one is not drawn."""
    for other in driver.window_handles:
        if other != window:
            driver.switch_to.window(other)
            driver.close()
    driver.switch_to.window(window)


def _requests(driver):
    """The requests that were tried, blocked ones too, the new windows and the dialogs."""
    for entry in driver.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        match event["method"]:
            case "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if url.startswith("blob:") and event["params"]["documentURL"] == url:
                    yield "worker, whose requests are not seen"
            case "Network.webSocketCreated" | "Network.webTransportCreated" | "Page.windowOpen":
                url = event["params"]["url"]
            case "Page.javascriptDialogOpening":
                yield f"dialog: {event['params']['message'][:120]}"
                continue
            case _:
                continue
        scheme = url.split(":", 1)[0]
        # A file on another host is how //host/file reads on a local page.
        if scheme in {"http", "https", "ws", "wss"} or (scheme == "file" and urlsplit(url).netloc):
            yield f"request: {url[:300]}"


def _dead_link(link):
    """What is wrong with a link of the survey, or None."""
    written, url = link["written"], link["url"]
    if url is None:
        return f"link is no URL: {written}"
    if not url.startswith("file:"):
        return None
    if written.startswith(("/", "\\", "file:")):
        return f"link to a place on this machine: {written}"
    if link["here"]:
        return None if link["found"] else f"link to a missing fragment: {written}"
    parts = urlsplit(url)
    target = Path(unquote(parts.path))
    if not target.exists():
        return f"link to a missing file: {written}"
    fragment = parts.fragment.split(":~:")[0]
    if not fragment or fragment.lower() == "top" or target.suffix not in {".html", ".htm", ".svg"}:
        return None
    names = _names(target, target.stat().st_mtime_ns)
    if fragment in names or unquote(fragment) in names:
        return None
    return f"link to a missing fragment: {written}"


@functools.lru_cache
def _names(path, _changed):
    """What fragments of another page may point to, as it is written in the file."""
    names = set()

    class Names(HTMLParser):
        def handle_starttag(self, tag, attrs):
            wanted = {"id", "name"} if tag == "a" else {"id"}
            names.update(value for key, value in attrs if key in wanted)

    Names().feed(path.read_text(encoding="utf-8", errors="replace"))
    return names
