"""The page's single copy of plotly.js, where no server has it as a file."""

from functools import cache

import anywidget
import traitlets

from rashomon_explorer.figure_library import plotly_module


class PlotlyBundle(anywidget.AnyWidget):
    """Carries plotly.js to a browser that asks for it, once, whatever the number of figures.

    The dashboard's server has it as a file, and its page does not ask.
    """

    _esm = "export default { render() {} }"
    code = traitlets.Bytes().tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.on_msg(lambda *_: self._bring())

    def _bring(self) -> None:
        self.code = plotly_module()


@cache
def _bundle_for(_connection: object) -> PlotlyBundle:
    return PlotlyBundle()


def shared_bundle() -> PlotlyBundle:
    """Return the kernel's one bundle widget, made anew if it was closed.

    >>> shared_bundle() is shared_bundle()
    True
    """
    bundle = _bundle_for(None)
    if bundle.comm is None:
        _bundle_for.cache_clear()
        bundle = _bundle_for(None)
    return bundle
