"""Make the pictures in docs/images: the terminal and the HTML report, of the demo.

Needs Debian's chromium and chromium-driver, and selenium.
"""

from __future__ import annotations

import importlib.util
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
DEMO = ROOT / "fixtures" / "demo"
WIDTH = 100
THEME = TerminalTheme(
    (250, 250, 250),
    (36, 41, 47),
    [
        (36, 41, 47), (190, 30, 45), (17, 99, 41), (120, 85, 0),
        (9, 105, 218), (130, 60, 160), (20, 110, 120), (90, 96, 104),
    ],
    [
        (90, 96, 104), (190, 30, 45), (17, 99, 41), (120, 85, 0),
        (9, 105, 218), (130, 60, 160), (20, 110, 120), (36, 41, 47),
    ],
)  # fmt: skip


def load(path: Path) -> ModuleType:
    """A module by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_a_terminal(*arguments: str) -> str:
    """What a command prints to a terminal."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "pallas_static_grid", *arguments],
        cwd=DEMO,
        env=environment,
        stdin=child,
        stdout=child,
        stderr=subprocess.DEVNULL,
    ):
        os.close(child)
        printed = b""
        while chunk := _read(parent):
            printed += chunk
    os.close(parent)
    return printed.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


def terminal(arguments: list[str], lines: int) -> str:
    """The first lines of a command's output as an SVG."""
    printed = on_a_terminal(*arguments).split("\n")
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115 - exits
    console.print(Text(f"$ pallas-static-grid {' '.join(arguments)}\n"))
    console.print(Text.from_ansi("\n".join(printed[:lines])))
    svg = console.export_svg(title="pallas-static-grid", theme=THEME)
    start, end = svg.index("@font-face"), svg.rindex("@font-face")
    end = svg.index("}", end) + 1
    return svg[:start] + svg[end:]


def report(browser: ModuleType, folder: Path) -> bytes:
    """The HTML report as a PNG."""
    page = folder / "report.html"
    arguments = ["diff", "--exit-zero", "--quiet", "--format", "html", "--output", str(page)]
    subprocess.run([sys.executable, "-m", "pallas_static_grid", *arguments], cwd=DEMO, check=True)
    with browser.chromium(folder, (1180, 1720)) as driver:
        driver.get(page.as_uri())
        driver.find_element("css selector", "input[value=split] + span").click()
        script = (
            "const a = [...document.querySelectorAll('article')]"
            ".find((a) => a.dataset.path.endsWith('gated.py'));"
            "document.querySelectorAll('section.file').forEach("
            "(s) => { if (!s.contains(a)) s.hidden = true; });"
        )
        driver.execute_script(script)
        return driver.get_screenshot_as_png()


def main() -> int:
    """Write the pictures."""
    IMAGES.mkdir(exist_ok=True)
    svg = terminal(["diff", "raggedkit/kernels/gated.py"], 60)
    (IMAGES / "terminal.svg").write_text(svg, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        (IMAGES / "report.png").write_bytes(
            report(load(ROOT / "tests" / "browser.py"), Path(folder))
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
