"""One visit in the dark: words can be read, a file of one's own, Stop, and a program that ends."""

import signal

import numpy as np
import pytest

from rashomon_explorer.privacy import Ledger
from tests.browser.pages import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def dashboard(own_dashboard):
    return own_dashboard


@pytest.fixture(scope="module")
def page(browser, dashboard):
    """One visit for the tests below, in their order: the last one ends its program."""
    return Page(browser, dashboard, "theme=dark")


def test_text_has_contrast_in_the_dark(page):
    assert page.run("document.body.dataset.jpThemeLight") == "false"
    page.draw_inside("breast_cancer")
    page.check_contrast()


def test_a_bad_table_is_explained_then_the_good_one_is_declared_row_by_row(
    page, dashboard, tmp_path
):
    bad = tmp_path / "bad.csv"
    bad.write_text("age,income,repaid\n20,1000,yes\n30,no\n40,3000,yes\n")
    page.upload(bad)
    page.wait(lambda: "line 3" in page.alert, "the bad line")
    assert "Traceback" not in page.text("body")

    good = tmp_path / "good.csv"
    rows = [f"{20 + i % 60},{1000 + 37 * i % 8000},{'yes' if i % 3 else 'no'}" for i in range(300)]
    good.write_text("\n".join(["age,income,repaid", *rows]))
    page.upload(good)
    page.wait(lambda: len(page.shown(".rx-form tbody tr")) == 3, "a row a column")
    page.replace(page.field("age", "high"), "10")
    page.wait(
        lambda: "must have low < high" in page.text(".rx-problem"), "the problem beside its row"
    )
    page.replace(page.field("age", "high"), "90")
    page.wait(lambda: not page.shown(".rx-problem"), "the problem to go")
    page.declare("name,kind,low,high\nincome,numeric,0,9000")
    page.wait(lambda: "good: 300 rows" in page.status, "the good file")
    assert page.alert == ""
    page.draw()
    page.drawn()
    assert (dashboard.home / "good.ledger").is_file()


def test_stop_keeps_what_was_drawn_and_what_was_spent(page, dashboard, tmp_path):
    names, rng = [f"x{k}" for k in range(30)], np.random.default_rng(0)
    rows = [
        ",".join([*(f"{value:.3f}" for value in rng.uniform(-1, 1, 30)), word])
        for word in rng.choice(["no", "yes"], 400)
    ]
    path = tmp_path / "noise.csv"
    path.write_text("\n".join([",".join([*names, "target"]), *rows]), encoding="utf-8")
    page.upload(path)
    lines = [f"{name},numeric,-1,1" for name in names]
    page.declare("\n".join(["name,kind,low,high", *lines]))
    page.wait(lambda: "noise: 400 rows" in page.status, "the file")
    # 30 columns of noise on a wide ball: the exact sampler finds nothing, which is foretold once.
    page.open("More")
    page.choose("Mechanism", "exact")
    numbers = {"How good?": "0.02", "Radius": "32", "Budget ε": "100", "How many?": "1"}
    numbers["How private?"] = "49"  # twice that is left: Draw can be pressed again
    for label, number in numbers.items():
        page.type_number(label, number)
    page.draw()
    page.wait(lambda: "exact draws failed" in page.alert, "the warning")
    page.wait(lambda: page.button("Draw ").is_enabled(), "the button")
    assert not (dashboard.home / "noise.ledger").exists()
    page.draw()
    page.wait(lambda: page.status.startswith(("Drawing:", "Sampling")), "the sampler at work")
    page.wait(lambda: not page.button("Draw ").is_enabled(), "the button to rest")
    page.wait(lambda: page.shown("progress"), "the progress")
    page.button("Stop").click()
    page.wait(lambda: page.button("Draw ").is_enabled(), "the end of the draw")
    page.wait(lambda: page.status.startswith("Stopped"), "the word for it")
    assert Ledger.open(dashboard.home / "noise.ledger").spent() == pytest.approx(49.0)
    page.wait(lambda: page.text(".rx-spent-value") == "49", "what was spent")


def test_a_page_says_that_its_program_is_silent(page, dashboard):
    page.wait(lambda: page.text(".rx-kernel-lost") == "", "the program to answer")
    page.browser.execute_script(_HURRIED)
    kernel = page.kernel(dashboard)
    kernel.send_signal(signal.SIGSTOP)
    page.wait(lambda: "does not respond" in page.text(".rx-kernel-lost"), "words about it")
    kernel.send_signal(signal.SIGCONT)
    page.wait(lambda: page.text(".rx-kernel-lost") == "", "the words to go")
    kernel.kill()
    page.wait(lambda: "stay spent" in page.text(".rx-kernel-lost"), "words about it")
    page.wait(lambda: page.run(_DISCONNECTED), "the widgets to notice")
    assert page.run(_MARKS) == 0, "marks of the widgets' own push the page apart"


# The page's clock runs ten times as fast.
_HURRIED = "const now = performance.now.bind(performance); performance.now = () => 10 * now()"
_DISCONNECTED = "document.querySelectorAll('.rx-app .jupyter-widgets-disconnected').length"
_MARKS = """[...document.querySelectorAll('.rx-app .jupyter-widgets-disconnected')]
  .filter((n) => getComputedStyle(n, '::before').content !== 'none').length"""
