"""The line between page and program stays up while both ends answer."""

import json
from typing import Any

import pytest

from rashomon_explorer._utils.assets import asset_path


def configured() -> dict[str, Any]:
    return json.loads((asset_path("apps") / "voila.json").read_text(encoding="utf-8"))


def test_a_line_is_given_up_after_several_pings_without_an_answer_and_not_after_the_first() -> None:
    # Pongs are looked at when the next ping is due. A timeout of one interval is over by then,
    # however fast they came: every page lost its line every 30 s, and what was clicked meanwhile.
    from jupyter_server.base.websocket import WebSocketMixin  # takes a second

    line = WebSocketMixin()
    line.settings = configured()["Voila"]["tornado_settings"]

    assert line.ping_timeout >= 3 * line.ping_interval > 0


@pytest.mark.law
def test_a_page_is_waited_for_on_a_busy_machine() -> None:
    # After four seconds Voilà took what had come for all, and the first page stayed empty.
    from voila.execute import VoilaExecutor

    waits = VoilaExecutor(None, **configured()["VoilaExecutor"])
    assert waits.iopub_timeout >= 300 and waits.startup_timeout >= 300
    assert VoilaExecutor(None).iopub_timeout < 60  # what is to be outdone
