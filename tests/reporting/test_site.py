"""The site of docs/: made without a warning, whole, and of use from a folder, without a network."""

import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import browser
import pytest
from conftest import ROOT, chosen, once
from running import run
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import dpmcmc

SETTINGS = ROOT / "src/dpmcmc_studies/reporting/site"
STUDIES = sorted(path.parent.name for path in ROOT.glob("docs/*/study.json"))
needs_browser = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """What `make docs` makes."""

    def make(directory):
        command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning"]
        command += ["--conf-dir", SETTINGS, "--doctree-dir", directory / "doctrees"]
        run(ROOT, *command, "docs", directory / "site")

    return once(tmp_path_factory, "site", make) / "site"


class Parts(HTMLParser):
    """What a page links to, what it loads, and the names that links to it may have."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.names = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.names.add(told.get("id"))
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        elif tag == "link" and told.get("rel") not in ("canonical", "author"):
            self.loaded.append(told["href"])
        elif "src" in told:
            self.loaded.append(told["src"])


@pytest.fixture(scope="module")
def parts(site):
    return {path: Parts(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_internal_link_leads_somewhere(parts):
    count, dead = 0, []
    for page, found in parts.items():
        for written in [*found.links, *found.loaded]:
            link = urlsplit(written)
            if link.scheme:
                continue
            count += 1
            target = (page.parent / unquote(link.path)).resolve() if link.path else page
            names = parts[target].names if target in parts else set()
            if not target.exists() or (link.fragment and unquote(link.fragment) not in names):
                dead.append(f"{page.name}: {written}")
    assert not dead and count > 5000


def test_nothing_is_loaded_from_elsewhere(parts):
    loaded = {written for found in parts.values() for written in found.loaded}
    assert not [url for url in loaded if re.match(r"(https?:)?//", url)]


def test_the_site_has_all_studies_and_all_public_names(site):
    for name in STUDIES:
        assert (site / name / "index.html").exists()
        for page in ROOT.glob(f"docs/{name}/pages/*.md"):
            assert (site / name / f"pages/{page.stem}.html").exists()
    names = {path.stem.removeprefix("dpmcmc.") for path in site.glob("api/*.html")}
    assert names == set(dpmcmc._public_names())


MARKDOWN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "results/README.md"]
MARKDOWN += [path for place in ("docs", "examples") for path in ROOT.glob(f"{place}/**/*.md")]


def test_every_link_between_files_of_the_checkout_leads_somewhere():
    """GitHub shows Markdown where it is, and the site includes some of it from elsewhere."""
    links = [
        (page, link)
        for page in MARKDOWN
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if not urlsplit(link).scheme and urlsplit(link).path
    ]
    places = [(page, link, page.parent / unquote(urlsplit(link).path)) for page, link in links]
    assert len(links) > 300
    assert [(page.name, link) for page, link, place in places if not place.exists()] == []


@pytest.fixture(scope="module")
def driver():
    with browser.browser() as driver:
        yield driver


PAGES = ["index", "errors", "studies", "reading", "api", "api/dpmcmc.DPHMC"]
PAGES += [f"{name}/README" for name in STUDIES]
PAGES += [f"{path.parts[-3]}/pages/{path.stem}" for path in ROOT.glob("docs/*/pages/*.md")]
KEPT = ["index", "api/dpmcmc.DPHMC", "chapter-6/README", "dp-mcmc-paper/pages/central-limit"]


@needs_browser
@pytest.mark.parametrize("page", chosen(sorted(PAGES), *KEPT))
def test_a_page_opens_without_fault_and_loses_no_column(site, driver, page):
    assert browser.problems(driver, site / f"{page}.html") == []


def wait(driver, find):
    """What `find` gives, once it gives something."""
    for _ in range(100):
        if found := find(driver):
            return found
        time.sleep(0.1)
    pytest.fail(f"nothing is found on {driver.current_url}")


def elements(selector):
    """A function that finds what is shown of a CSS selector."""
    return lambda driver: [
        element
        for element in driver.find_elements(By.CSS_SELECTOR, selector)
        if element.is_displayed()
    ]


@needs_browser
def test_search_finds_a_page_in_a_folder(site, driver):
    browser.visit(driver, site / "index.html", 1280)
    wait(driver, elements(".search-button-field"))[0].click()
    field = wait(driver, elements("dialog input[type=search]"))[0]
    field.send_keys("leapfrog", Keys.ENTER)
    results = wait(driver, elements("#search-results li a"))
    assert "search.html" in driver.current_url and len(results) > 1
    title = results[0].text
    results[0].click()
    assert wait(driver, elements("h1"))[0].text.rstrip("#") in title
    assert "leapfrog" in driver.page_source.lower()
    assert Path(unquote(urlsplit(driver.current_url).path)).exists()


@needs_browser
def test_menus_lead_to_a_page_of_a_study(site, driver):
    browser.visit(driver, site / "index.html", 1280)
    for link in ("Results", "Chapter 6 of the thesis", "Comparison of the algorithms"):
        wait(driver, lambda d, link=link: d.find_elements(By.PARTIAL_LINK_TEXT, link))[0].click()
    assert "chapter-6/pages/comparison.html" in driver.current_url
    wait(driver, elements(".bd-breadcrumbs a"))


@needs_browser
def test_a_reader_chooses_dark_or_light(site, driver):
    browser.visit(driver, site / "index.html", 1280)
    colours = set()
    for mode in ("light", "dark"):
        wait(driver, elements(".theme-switch-button"))[0].click()
        wait(driver, elements(f".theme-change-button[data-mode={mode}]"))[0].click()
        colours.add(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
