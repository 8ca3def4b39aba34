"""A page whose program was stopped or killed says so, and takes it back if it comes back."""

import signal
from typing import Any

import pytest

from tests.browser.pages import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def dashboard(start_dashboard: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One of its own: the kernel it keeps ready for the next visit dies with the others."""
    return start_dashboard(tmp_path_factory.mktemp("silent"))


def test_a_page_says_that_its_program_is_silent(browser: Any, dashboard: Any) -> None:
    page = Page(browser, dashboard)
    assert page.text(".rx-kernel-lost") == ""
    kernels = dashboard.kernels()
    for kernel in kernels:
        kernel.send_signal(signal.SIGSTOP)
    page.wait(lambda: "does not answer" in page.text(".rx-kernel-lost"), "words about it")
    for kernel in kernels:
        kernel.send_signal(signal.SIGCONT)
    page.wait(lambda: page.text(".rx-kernel-lost") == "", "the words to go")
    for kernel in kernels:
        kernel.kill()
    page.wait(lambda: "stays spent" in page.text(".rx-kernel-lost"), "words about it")
    page.wait(lambda: page.run(_DISCONNECTED), "the widgets to notice")
    assert page.run(_MARKS) == 0, "marks of the widgets' own push the page apart"


_DISCONNECTED = "document.querySelectorAll('.rx-app .jupyter-widgets-disconnected').length"
_MARKS = """[...document.querySelectorAll('.rx-app .jupyter-widgets-disconnected')]
  .filter((n) => getComputedStyle(n, '::before').content !== 'none').length"""
