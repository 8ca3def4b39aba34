"""Registries with entries that are imported when they are read."""

from rashomon_explorer._utils.lazy import LazyRegistry


def test_a_string_is_imported_when_it_is_read():
    registry = LazyRegistry({"a": int, "b": "collections:OrderedDict"})
    assert list(registry) == ["a", "b"] and len(registry) == 2
    assert registry.eager() == {"a": int}
    assert registry["b"].__name__ == "OrderedDict"
    # What was read stays one that nobody takes unasked.
    assert list(registry.eager()) == ["a"] and list(registry.named_only()) == ["b"]
    registry["a"] = float
    del registry["b"]
    assert dict(registry) == {"a": float}
