"""A CSV file of one's own: target, sensitive columns, public bounds."""

import csv
import io
import warnings
from pathlib import PurePath
from typing import Any

import ipywidgets

from rashomon_explorer.datasets import load_csv
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.explorer.declarations import (
    Declarations,
    parse_declarations,
    skeleton,
)
from rashomon_explorer.explorer.guard import guarded
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.widgets import FilePicker

_HOW = (
    "On this page: correct the file and choose it again, or write in the box of bounds one line a "
    "column: “age: 18, 90”, “sex: female | male”, or “id: leave out”. A number to predict "
    "needs its own line too."
)
_TASKS = [("decide by the target", ""), ("classes", "classification"), ("a number", "regression")]


class UploadPanel:
    """Declare a CSV file and load it.

    Attributes
    ----------
    file : FilePicker
        Takes one file.
    target, task, positive, sensitive, bounds, learn
        The declaration.
    load : ipywidgets.Button
        Loads the file as declared.
    widget : ipywidgets.Widget
        The panel.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.file = FilePicker("CSV file", accept=".csv,text/csv")
        self.target = ipywidgets.Dropdown(description="Target column", options=[])
        self.task = ipywidgets.Dropdown(description="The target is", options=_TASKS)
        self.positive = ipywidgets.Text(
            description="Positive class", placeholder="for three or more classes"
        )
        self.sensitive = ipywidgets.SelectMultiple(
            description="Sensitive columns (kept from the models)", options=[], rows=3
        )
        self.bounds = ipywidgets.Textarea(
            description="Public bounds, from knowledge and not from the rows",
            placeholder="age: 18, 90\nsex: female | male\nid: leave out",
            rows=5,
        )
        self.learn = ipywidgets.Checkbox(
            description="Learn the bounds from the rows: removes the privacy guarantee",
            indent=False,
        )
        self.load = ipywidgets.Button(description="Use this file", disabled=True)
        self.load.add_class("rx-wide")
        self.file.observe(guarded(self.state, "Reading the file", self._named), "picked")
        self.load.on_click(guarded(self.state, "Loading the CSV file", lambda _: self.read()))
        self._details = ipywidgets.VBox(
            [self.target, self.task, self.positive, self.sensitive, self.bounds, self.learn]
        )
        self._details.layout.display = "none"
        self.widget = ipywidgets.VBox([self.file, self._details, self.load])
        self.widget.add_class("rx-upload")

    def lines(self) -> tuple[str, ...]:
        """Python that loads the same file."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._arguments().items())
        return (
            "from rashomon_explorer.datasets import load_csv",
            f"load_csv({self.file.name!r}, {arguments})",
        )

    def _named(self, _change: object) -> None:
        self._details.layout.display = "none"
        self.load.disabled = True
        _refuse_large(self.file)
        columns = _header(self.file.content, self.file.name)
        self._details.layout.display = None
        self.load.disabled = False
        self.state.alert = None
        self.sensitive.value = ()
        self.sensitive.options = columns
        self.target.options = columns
        self.target.value = columns[-1]
        self.bounds.value = skeleton(columns[:-1])
        self.session.say(f"{self.file.name}: {len(columns)} columns. Declare them, then load.")

    def _arguments(self) -> dict[str, Any]:
        said = _of_features(
            parse_declarations(self.bounds.value), {self.target.value, *self.sensitive.value}
        )
        target_bounds = parse_declarations(self.bounds.value).bounds.get(self.target.value)
        task = self.task.value or None
        given: dict[str, Any] = {
            "target": self.target.value,
            "sensitive": list(self.sensitive.value),
            "bounds": said.bounds,
            "categories": said.categories,
            "drop": said.drop,
            "task": task,
            "positive": self.positive.value.strip() or None,
            "target_bounds": target_bounds,
            "learn_bounds": self.learn.value,
            "name": PurePath(self.file.name).stem,
        }
        always = {"target", "name"}
        return {name: value for name, value in given.items() if value or name in always}

    def read(self) -> None:
        """Load the file as declared."""
        with warnings.catch_warnings():
            # The person ticked the box that says so, and every figure repeats it.
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            try:
                data = load_csv(self.file.content, **self._arguments())
            except DataError as error:
                raise DataError(f"{error}\n{_HOW}") from error
        self.session.choose(data)


def _of_features(said: Declarations, others: set[str]) -> Declarations:
    return Declarations(
        bounds={name: pair for name, pair in said.bounds.items() if name not in others},
        categories=said.categories,
        drop=[name for name in said.drop if name not in others],
    )


def _refuse_large(file: FilePicker) -> None:
    if file.size > file.most_bytes:
        raise DataError(
            f"{file.name} has {file.size / 1e6:.1f} MB, and the page takes "
            f"{file.most_bytes / 1e6:g} MB at most: read it in Python, "
            "Explorer(data=load_csv(path, target=..., bounds=...))"
        )


def _header(content: bytes, name: str) -> list[str]:
    try:
        first = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} is not UTF-8 text (byte {error.start}): save it as a UTF-8 CSV file"
        ) from None
    columns = next(csv.reader(io.StringIO(first)), [])
    if len(columns) < 2:
        raise DataError(
            f"{name} has {len(columns)} column(s) in its first line, expected a header with the "
            "target and at least one feature, separated by commas"
        )
    return columns
