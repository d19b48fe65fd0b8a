"""Pages of a folder in a browser: headless Chromium, without a network."""

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needed = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
OPTIONS += ("--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files")
OPTIONS += ("--virtual-time-budget=1000000", "--enable-logging=stderr", "--dump-dom")

# Shows each page as wide as a phone, and lists what is wrong with it.
SURVEY = """<!doctype html><meta charset=utf-8><body><script>
const found = [];
const survey = async (url) => {
  const frame = document.createElement("iframe");
  Object.assign(frame, {width: 390, height: 800, src: url});
  const loaded = new Promise((resolve) => frame.onload = resolve);
  document.body.append(frame);
  await loaded;
  const page = frame.contentDocument, width = page.documentElement.scrollWidth;
  if (!page.title) found.push(`${url} does not open`);
  if (width > 390) found.push(`${url} is ${width} px wide`);
  for (const image of page.images) {
    image.loading = "eager";
    if (!image.complete)
      await new Promise((resolve) => image.onload = image.onerror = resolve);
    if (!image.naturalWidth) found.push(`${url}: no image ${image.src}`);
    if (!image.alt) found.push(`${url}: no text in place of ${image.src}`);
  }
  frame.remove();
};
(async () => {
  for (const url of URLS) await survey(url);
  document.body.textContent = "found: " + JSON.stringify(found);
})();
</script>"""


def show(url):
    """The page of a URL as its scripts leave it, and the errors in the browser's console."""
    with tempfile.TemporaryDirectory() as profile:
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", url]
        run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    console = re.findall(r"CONSOLE.*", run.stderr)
    return run.stdout, [line for line in console if re.search("Uncaught|Failed|ERR_", line)]


def problems(pages, folder):
    """What is wrong with pages, one line each; the page that looks at them is put into `folder`."""
    path = Path(folder, "survey.html")
    urls = json.dumps([page.as_uri() for page in pages])
    path.write_text(SURVEY.replace("URLS", urls), encoding="utf-8")
    page, errors = show(path.as_uri())
    found = re.search(r"found: (\[.*?\])</body>", page)
    return errors + (json.loads(html.unescape(found[1])) if found else ["pages do not open"])
