"""Imports on first access, and the message for a missing package of an extra."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from typing import Any, cast

EXTENSIONS: dict[str, tuple[str, ...]] = {}
"""Modules that extend a room below them, by what they extend; the package's door lists them."""


def load_extensions(extended: str) -> None:
    """Import the modules that extend a room; each registers what it adds."""
    for module in EXTENSIONS.get(extended, ()):
        import_module(module)


def install_text(extra: str) -> str:
    """Say how to install an extra; in public indexes the package's name is not ours yet."""
    return f"in your clone of the repository, pip install '.[{extra}]'"


def missing_package(purpose: str, package: str | None, extra: str = "app") -> ImportError:
    """Return an ImportError that says what to install."""
    name = (package or "").partition(".")[0]
    with_what = " with all that figures, reports and the dashboard need" if extra == "app" else ""
    return ImportError(
        f"{purpose} needs {name}, which is not installed. Install it{with_what}: "
        f"{install_text(extra)}",
        name=name,
    )


def lazy_names(
    package: str, names: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for the imports ``if TYPE_CHECKING`` of these names."""

    @cache
    def imports() -> list[tuple[str, str]]:
        return list(_typed_imports(_source(package)))

    @cache
    def module_with(name: str) -> str | None:
        single = (module for imported, module in imports() if imported == name)
        starred = (module for imported, module in imports() if imported == "*" and name in names)
        return next(single, None) or next((m for m in starred if _defines(m, name)), None)

    def get(name: str) -> Any:
        module = module_with(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(module), name)

    return get, lambda: sorted({*names, *(n for n, module in imports() if module == package)})


def _source(module: str) -> str:
    loader = getattr(find_spec(module), "loader", None)
    return cast(InspectLoader, loader).get_source(module) or ""


def _defines(module: str, name: str) -> bool:
    """Whether a module defines a name at its top level, or a package exports it, by its source."""
    if getattr(find_spec(module), "submodule_search_locations", None) is not None:
        return f'"{name}"' in _source(module)
    return re.search(rf"^(?:(?:class|def) )?{name}\b", _source(module), re.MULTILINE) is not None


def _typed_imports(source: str) -> Iterator[tuple[str, str]]:
    """Names and modules of the imports under ``if TYPE_CHECKING``."""
    for block in ast.parse(source).body:
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING":
            for node in block.body:
                if isinstance(node, ast.ImportFrom):
                    yield from ((alias.name, node.module or "") for alias in node.names)
