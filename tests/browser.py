"""A headless Chromium for the tests that look at pages in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executables() -> tuple[str, str]:
    """Paths of the browser and its driver; skips the test where one is missing."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs Debian's chromium and chromium-driver (apt-get install them)")
    return browser, driver


@contextmanager
def chromium(folder: Path, size: tuple[int, int] = (1280, 900)) -> Iterator[webdriver.Chrome]:
    """A browser that keeps its profile and its downloads under `folder`."""
    browser, driver = executables()
    options = Options()
    options.binary_location = browser
    for flag in (
        *FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        "--window-size={},{}".format(*size),
    ):
        options.add_argument(flag)
    options.add_experimental_option(
        "prefs", {"download.default_directory": str(folder / "downloads")}
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield running
    finally:
        running.quit()
