"""Imports on first access, and the message for a missing package of an extra."""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader
from typing import Any, TypeVar, cast

T = TypeVar("T")


class LazyRegistry(MutableMapping[str, T]):
    """Entries by name; a string ``"module:Class"`` is imported on first access."""

    def __init__(self, entries: Mapping[str, T | str]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> T:
        entry = self._entries[name]
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            entry = self._entries[name] = getattr(import_module(module), attribute)
        return entry

    def __setitem__(self, name: str, entry: T) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def missing_package(purpose: str, package: str | None, extra: str = "app") -> ImportError:
    """Return an ImportError that says what to install."""
    name = (package or "").partition(".")[0]
    with_what = " with all that figures, reports and the dashboard need" if extra == "app" else ""
    return ImportError(
        f"{purpose} needs {name}, which is not installed. Install it{with_what}: "
        f"pip install 'rashomon-explorer[{extra}]'",
        name=name,
    )


def lazy_names(
    package: str, names: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that imports a name's module on first use.

    The modules are those from which the package imports names ``if TYPE_CHECKING``: type checkers
    and editors read the same list.
    """

    @cache
    def modules() -> dict[str, str]:
        source = cast(InspectLoader, sys.modules[package].__loader__).get_source(package)
        return dict(_typed_imports(source or ""))

    def get(name: str) -> Any:
        module = modules().get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(module), name)

    return get, lambda: sorted(
        {*names, *(n for n, module in modules().items() if module == package)}
    )


def _typed_imports(source: str) -> Iterator[tuple[str, str]]:
    """Names and modules of the imports under ``if TYPE_CHECKING``."""
    for block in ast.parse(source).body:
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING":
            for node in block.body:
                if isinstance(node, ast.ImportFrom):
                    yield from ((alias.name, node.module or "") for alias in node.names)
