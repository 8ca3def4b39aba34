"""The line between page and program stays up while both ends answer."""

import json

from jupyter_server.base.websocket import WebSocketMixin

from rashomon_explorer.assets import asset_path


def test_a_line_is_given_up_after_several_pings_without_an_answer_and_not_after_the_first() -> None:
    # Pongs are looked at when the next ping is due. A timeout of one interval is over by then,
    # however fast they came: every page lost its line every 30 s, and what was clicked meanwhile.
    configured = json.loads((asset_path("apps") / "voila.json").read_text(encoding="utf-8"))
    line = WebSocketMixin()
    line.settings = configured["Voila"]["tornado_settings"]

    assert line.ping_timeout >= 3 * line.ping_interval > 0
