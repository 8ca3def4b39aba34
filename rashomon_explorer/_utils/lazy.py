"""Registries whose entries may be imported on first access."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import TypeVar

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
