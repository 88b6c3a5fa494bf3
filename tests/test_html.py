"""The HTML report: what it holds, and in a headless Chromium, what it does."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import report_samples as samples
from pallas_static_grid.model import Changed, FileReport, Options
from pallas_static_grid.render import html, unified
from pallas_static_grid.render.page.data import chosen
from pallas_static_grid.run import run_paths

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement


ROOT = Path(__file__).resolve().parent.parent
GUARDED = ROOT / "fixtures" / "demo" / "raggedkit" / "kernels" / "gated.py"


# ---- without a browser -------------------------------------------------------------------------


class _Elements(HTMLParser):
    """All start tags with their attributes, and the tags that were left open."""

    VOID = frozenset({"meta", "input", "col", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_well_formed_and_needs_no_network() -> None:
    elements = _Elements(html.render(samples.reports(), 12))
    assert elements.open == []
    for tag, attributes in elements.found:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "src" not in attributes
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert attributes.get("href", "#").startswith("#")


def test_identifiers_are_unique_and_controls_point_to_something() -> None:
    elements = _Elements(html.render(samples.reports(), 12)).found
    identifiers = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    for _, attributes in elements:
        assert attributes.get("aria-controls", identifiers[0]) in identifiers


def test_source_and_reasons_are_escaped() -> None:
    page = html.render(samples.reports(), 12)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(&quot;rows &amp; columns" in page
    assert "makes grid 0 <static>" not in page.lower()


def test_hidden_characters_are_shown() -> None:
    report = samples.changed(text=samples.ROWS.replace("# in place", "# \u202e\u2028in place"))
    page = html.render((report,))
    assert "\u202e" not in page
    assert '<span class="ctl">U+202E</span>' in page


def test_same_input_same_page() -> None:
    assert html.render(samples.reports(), 12) == html.render(samples.reports(), 12)


def test_empty_report() -> None:
    page = html.render((), 0)
    assert "No Pallas launch was found." in page
    assert _Elements(page).open == []


def test_nothing_can_be_ticked_once_it_is_written() -> None:
    page = html.render(samples.reports(), 12, written=True)
    elements = _Elements(page).found
    assert not any("data-file" in attributes for _, attributes in elements)
    hidden = {a["id"] for _, a in elements if "hidden" in a and "id" in a}
    assert {"download", "tick-all", "tick-none"} <= hidden
    assert "have been written" in page


# ---- in the browser ----------------------------------------------------------------------------


class Page:
    """The report in a browser."""

    def __init__(self, driver: Chrome, folder: Path, reports: Sequence[FileReport]) -> None:
        self.driver = driver
        self.folder = folder
        self.reports = reports
        (folder / "report.html").write_text(html.render(reports, 12), encoding="utf-8")
        self.load()

    def load(self) -> None:
        self.driver.get((self.folder / "report.html").as_uri())
        assert self.driver.get_log("browser") == []

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element("css selector", selector)

    def shown(self) -> list[str]:
        """The visible launches, by line."""
        return [
            article.find_element("css selector", "h3 .mono").text
            for article in self.all("article")
            if article.is_displayed()
        ]

    def ticks(self) -> list[WebElement]:
        return self.all("input[data-file]")

    def ticked(self) -> list[bool]:
        return [tick.is_selected() for tick in self.ticks()]

    def press(self, keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(keys)

    def download(self) -> bytes:
        """Click the button; the downloaded bytes."""
        target = self.folder / "downloads" / "static-grid.patch"
        target.unlink(missing_ok=True)
        self.one("#download").click()
        return self.arrived(target)

    def arrived(self, target: Path) -> bytes:
        """The bytes of a download, once it is complete."""
        deadline = time.monotonic() + 20
        while not target.exists() or not target.stat().st_size or self.partial(target):
            assert time.monotonic() < deadline, "nothing was downloaded"
            time.sleep(0.05)
        return target.read_bytes()

    @staticmethod
    def partial(target: Path) -> bool:
        """The browser writes beside the target, which it makes empty, and renames."""
        return any(file.suffix == ".crdownload" for file in target.parent.iterdir())


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Chrome, Path]]:
    browser = pytest.importorskip("browser", reason="needs selenium")
    folder = tmp_path_factory.mktemp("chromium")
    with browser.chromium(folder) as running:
        yield running, folder


@pytest.fixture
def page(driver: tuple[Chrome, Path]) -> Page:
    return Page(*driver, samples.reports())


def check_patch(folder: Path, report: Changed, patch: bytes) -> bytes:
    """Apply the patch with git in a fresh repository; the bytes of the file after."""
    folder.mkdir(exist_ok=True)
    file = folder / report.patch_path
    file.parent.mkdir(parents=True, exist_ok=True)
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", folder], check=True)
        subprocess.run(["git", "-C", folder, "config", "core.autocrlf", "false"], check=True)
    file.write_bytes(report.before)
    for arguments in (("--check",), ()):
        subprocess.run(
            ["git", "apply", *arguments, "-"], cwd=folder, input=patch, check=True, text=False
        )
    return file.read_bytes()


@pytest.mark.browser
def test_filters(page: Page) -> None:
    assert len(page.shown()) == 10
    assert "line 27" not in page.shown()
    page.one("input[name=verdict][value=static] + span").click()
    assert "line 27" in page.shown()
    page.one("input[name=verdict][value=dynamic] + span").click()
    assert page.shown() == ["line 17", "line 27"]
    page.one("input[name=verdict][value=dynamic] + span").click()
    page.one("#transform option[value=static_shape_arithmetic]").click()
    assert page.shown() == ["line 24", "line 29"]
    assert page.one("#shown").text == "2 of 11 shown"
    page.one("#safety option[value=review]").click()
    assert page.shown() == []
    assert page.one("#nothing").is_displayed()
    page.one("#transform option[value='']").click()
    assert page.shown() == ["line 15"]
    page.one("#safety option[value='']").click()
    page.one("#path").send_keys("ODD%")
    assert page.shown() == ["line 7", "line 17", "line 27", "line 37"]
    assert not page.one("section.file").is_displayed()


@pytest.mark.browser
def test_all_ticked_does_what_the_whole_patch_does(page: Page, tmp_path: Path) -> None:
    report = page.reports[0]
    assert isinstance(report, Changed)
    assert page.one("#download").text == "Download patch (7 rewrites)"
    patch = page.download()
    assert check_patch(tmp_path, report, patch) == report.after
    whole = unified.to_bytes(unified.file_patch(report))
    head = whole[: whole.index(b"\n@@ ")]
    assert patch.startswith(head)
    assert b"# kernels/rows.py:15 scale (pad_and_mask; review)" in head


@pytest.mark.browser
def test_every_choice_is_a_patch_that_git_takes(page: Page, tmp_path: Path) -> None:
    report = page.reports[0]
    assert isinstance(report, Changed)
    composition = chosen(report).composition
    groups = range(len(composition.groups))
    first = {tick.get_attribute("data-group"): tick for tick in reversed(page.ticks())}
    page.one("#tick-none").click()
    assert not page.one("#download").is_enabled()
    for choice in itertools.chain.from_iterable(
        itertools.combinations(groups, n) for n in (1, 2, 4)
    ):
        for group in choice:
            first[str(group)].send_keys(" ")
        after = check_patch(tmp_path / "repository", report, page.download())
        assert after == composition.text(choice).encode()
        compile(after, "after.py", "exec")
        page.one("#tick-none").click()


@pytest.mark.browser
@pytest.mark.parametrize(
    "report",
    [
        pytest.param(samples.changed(newline="\r\n"), id="crlf"),
        pytest.param(samples.changed(newline="\r"), id="lone-cr"),
        pytest.param(samples.changed(bom=True), id="bom"),
        pytest.param(samples.changed(text=samples.ROWS.rstrip("\n")), id="no-last-newline"),
        pytest.param(
            samples.changed(
                path="sub dir/mö\tdel.py",
                text="# -*- coding: latin-1 -*-\n" + samples.ROWS.replace("columns", "Größen"),
                encoding="latin-1",
            ),
            id="latin-1",
        ),
        pytest.param(
            samples.changed(text=samples.ROWS.replace("# in place", "# \x0c\u2028\tin place")),
            id="form-feed",
        ),
    ],
)
def test_odd_files(driver: tuple[Chrome, Path], tmp_path: Path, report: Changed) -> None:
    page = Page(*driver, (report,))
    composition = chosen(report).composition
    assert check_patch(tmp_path / "all", report, page.download()) == report.after
    page.one("#tick-none").click()
    page.ticks()[-1].click()
    last = len(composition.groups) - 1
    after = check_patch(tmp_path / "last", report, page.download())
    assert after != report.before
    assert (after == report.after) == (last == 0)


@pytest.mark.browser
def test_each_rewrite_of_the_demo_alone(driver: tuple[Chrome, Path], tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    shutil.copytree(ROOT / "fixtures" / "demo", demo)
    page = Page(*driver, run_paths((".",), demo, Options()).reports)
    changed = {report.path: report for report in page.reports if isinstance(report, Changed)}
    assert len(changed) > 3
    page.one("#tick-none").click()
    for tick in page.ticks():
        article = tick.find_element("xpath", "ancestor::article")
        report = changed[str(article.get_attribute("data-path"))]
        tick.send_keys(" ")
        after = check_patch(demo, report, page.download())
        compile(after, report.path, "exec")
        assert after != report.before
        assert (after == report.after) == (len(report.rewrites) == 1)
        (demo / report.path).write_bytes(report.before)
        page.one("#tick-none").click()


@pytest.mark.browser
def test_tied_rewrites_are_ticked_together(page: Page) -> None:
    assert page.ticked() == [True] * 7
    page.ticks()[3].click()
    assert page.ticked() == [True, True, True, False, False, True, True]
    page.ticks()[6].click()
    assert page.ticked() == [True, True, True, False, False, False, False]
    assert page.one("#download").text == "Download patch (3 rewrites)"
    notes = [note.text for note in page.all(".tied")]
    assert "Taken or left together with the rewrite of line 34." in notes


@pytest.mark.browser
def test_ticking_what_is_shown(page: Page) -> None:
    page.one("#safety option[value=safe]").click()
    page.one("#tick-none").click()
    assert page.ticked() == [True] + [False] * 6
    page.one("#tick-all").click()
    assert page.ticked() == [True] * 7


@pytest.mark.browser
def test_keyboard_alone(page: Page) -> None:
    page.press("j")
    active = page.driver.switch_to.active_element
    assert active.get_attribute("aria-label") == "kernels/rows.py, line 15"
    page.press("j")
    page.press("x")
    assert page.ticked() == [True, False] + [True] * 5
    details = page.all("article details.more")[1]
    assert details.get_attribute("open") is not None
    page.press("o")
    assert details.get_attribute("open") is None
    page.press("k")
    assert page.driver.switch_to.active_element == active
    page.press("s")
    assert page.one("article table.split").is_displayed()
    page.press("/")
    assert page.driver.switch_to.active_element == page.one("#path")
    page.press("rows")
    assert len(page.shown()) == 7
    page.press("\ue00c")  # escape
    target = page.folder / "downloads" / "static-grid.patch"
    target.unlink(missing_ok=True)
    page.press("d")
    assert b"line 24" not in page.arrived(target)


@pytest.mark.browser
def test_every_control_is_reached_by_tab(page: Page) -> None:
    names = set()
    for _ in range(24):
        page.press("\ue004")  # tab
        active = page.driver.switch_to.active_element
        names.add(active.get_attribute("id") or active.get_attribute("name"))
        names.add(active.tag_name)
    assert {"verdict", "transform", "safety", "path", "view", "tick-all", "download"} <= names
    assert {"summary", "input", "select"} <= names


@pytest.mark.browser
def test_steps_open_and_mark_the_line(page: Page) -> None:
    step = page.one("article ol.steps button")
    excerpt = page.one(f"#{step.get_attribute('aria-controls')}")
    assert not excerpt.is_displayed()
    step.click()
    assert step.get_attribute("aria-expanded") == "true"
    assert "return pl.pallas_call(" in excerpt.text
    assert excerpt.find_element("css selector", ".hit i").text == "15"
    marked = [row.text for row in page.all("tr.mark")]
    assert len(marked) == 1
    assert "return pl.pallas_call(" in marked[0]
    step.click()
    assert not excerpt.is_displayed()
    assert page.all("tr.mark") == []


@pytest.mark.browser
def test_side_by_side_shows_both_texts(page: Page) -> None:
    page.one("input[name=view][value=split] + span").click()
    table = page.one("article table.split")
    rows = [
        [cell.text for cell in row.find_elements("css selector", "td.l")]
        for row in table.find_elements("css selector", "tr")
    ]
    changed = ["        grid=(pl.cdiv(n, BLOCK),),", "        grid=(pl.cdiv(x.shape[0], BLOCK),),"]
    assert [side.strip() for side in changed] in [[c.strip() for c in row] for row in rows]
    assert not page.one("article table.diff:not(.split)").is_displayed()
    page.one("input[name=view][value=unified] + span").click()
    assert page.one("article table.diff:not(.split)").is_displayed()


@pytest.mark.browser
def test_a_guard_is_short_without_indentation(driver: tuple[Chrome, Path]) -> None:
    page = Page(*driver, run_paths((str(GUARDED),), ROOT, Options()).reports)

    def count() -> int:
        return sum(row.is_displayed() for row in page.all("table.diff:not(.split) tr"))

    before = count()
    moved = len(page.all("tr.d.i"))
    assert moved >= 1
    page.press("i")
    assert count() == before - moved
    shades = {
        row.find_element("css selector", ".l").value_of_css_property("background-color")
        for row in page.all("tr.a.i")
    }
    assert shades == {"rgba(0, 0, 0, 0)"}


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page: Page, scheme: str) -> None:
    """Text stands out from its ground by 4.5 to 1 at least (WCAG AA), in either colour scheme."""
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.load()
    poor = page.driver.execute_script(CONTRAST)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert poor == []


CONTRAST = """
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const level = (c) => {
  const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
};
const poor = new Set();
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.disabled) continue;
  const [a, b] = [level(parse(getComputedStyle(e).color)), level(ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) poor.add(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
}
return [...poor];
"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_page_is_never_wider_than_the_window(page: Page, width: int) -> None:
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False},
    )
    page.one("input[name=view][value=unified] + span").click()
    wide = page.driver.execute_script("return document.documentElement.scrollWidth")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= width


@pytest.mark.browser
def test_paper_shows_everything(page: Page) -> None:
    page.one("#close-all").click()
    assert not page.one("article .body").is_displayed()
    page.driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = page.one("article .body").is_displayed()
    bar = page.one(".bar").is_displayed()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.driver.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert shown
    assert not bar
    assert not page.one("article .body").is_displayed()
