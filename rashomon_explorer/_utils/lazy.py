"""Registries whose entries may be imported on first access."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


class LazyRegistry(MutableMapping[str, T]):
    """Entries by name; a string ``"module:Class"`` is imported on first access."""

    def __init__(self, entries: Mapping[str, T | str]) -> None:
        self._entries = dict(entries)
        self._named_only = {name for name, one in entries.items() if isinstance(one, str)}

    def eager(self) -> dict[str, T]:
        """Entries not given as strings; entries given as strings are used only on request."""
        return {name: self[name] for name in self if name not in self._named_only}

    def named_only(self) -> dict[str, T]:
        """Entries that were given as strings; this imports them."""
        return {name: self[name] for name in self if name in self._named_only}

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
