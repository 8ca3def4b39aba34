"""Imports on first access, and the message for a missing package of an extra."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

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
    package: str, modules: Mapping[str, str], names: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that imports a name's module on first use."""

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return get, lambda: list(names)
