"""The site of docs/: made without a warning, whole, and of use from a folder, without a network."""

import re
import shutil
import sys
import tempfile

import browser
import pytest
from conftest import ROOT, once
from running import run

import dpmcmc

SETTINGS = ROOT / "src/dpmcmc_studies/reporting/site"
STUDIES = sorted(path.parent.name for path in ROOT.glob("docs/*/study.json"))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site that `make docs` makes; Sphinx fails for a dead link, an anchor too, and so on."""

    def make(directory):
        command = [sys.executable, "-m", "sphinx", "--quiet", "--conf-dir", SETTINGS]
        command += ["--doctree-dir", directory / "doctrees"]
        only_local = ["--builder", "linkcheck", "--define", "linkcheck_ignore=https?://"]
        with tempfile.TemporaryDirectory(dir=ROOT, prefix=".pages-") as folder:
            for pages in (ROOT / "docs", SETTINGS / "pages"):
                shutil.copytree(pages, folder, dirs_exist_ok=True)
            run(ROOT, *command, "--fail-on-warning", folder, directory / "site")
            run(ROOT, *command, *only_local, folder, directory / "links")

    return once(tmp_path_factory, "site", make) / "site"


@pytest.fixture(scope="module")
def pages(site):
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def test_nothing_is_loaded_from_elsewhere(pages):
    loads = re.compile(r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|url\((?:https?:)?//')
    styles = re.compile(r'<link (?![^>]*rel="(?:canonical|author)")[^>]*href="(?:https?:)?//')
    texts = [path.read_text(encoding="utf-8") for path in pages]
    assert not [text for text in texts if loads.search(text) or styles.search(text)]


def test_the_site_has_all_studies_and_all_public_names(site):
    for name in STUDIES:
        assert (site / name / "index.html").exists()
        for page in ROOT.glob(f"docs/{name}/pages/*.md"):
            assert (site / name / f"pages/{page.stem}.html").exists()
    names = {
        path.stem.removeprefix("dpmcmc.").removeprefix("release.notebook.")
        for path in site.glob("api/*.html")
    }
    assert names == set(dpmcmc._public_names())


@browser.needed
def test_pages_fit_a_phone_and_search_works_in_a_folder(site, pages, tmp_path):
    assert browser.problems(pages, tmp_path) == []
    found, errors = browser.show(f"{(site / 'search.html').as_uri()}?q=leapfrog")
    assert 'href="api/dpmcmc.HMC.html"' in found and errors == []
