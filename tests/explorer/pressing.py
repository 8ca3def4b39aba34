"""Press the button of a paid action, and yes where it asks."""

import re
from typing import Any


def press(panel: Any) -> None:
    panel.button.click()
    if panel.question.open:
        panel.question.yes.click()


def price_on(button: Any) -> str:
    """The cost that a button shows: "Draw 20 models (ε = 4)"."""
    found = re.search(r"\((ε = .*)\)$", button.description)
    assert found, button.description
    return found[1]
