"""Pressing Draw as somebody does who wants the draws whatever little is promised of them."""

from rashomon_explorer.explorer.panels import DrawPanel


def press_draw(panel: DrawPanel) -> None:
    panel.draw.click()
    if panel.question.open:
        panel.question.yes.click()
