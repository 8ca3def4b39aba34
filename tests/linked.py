"""An environment that holds what one distribution asks for, by links to what is installed here."""

import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def asked_for_by(wanting: Distribution) -> list[Distribution]:
    """What a distribution requires, and what that requires, and so on; not itself."""
    found: dict[str, Distribution] = {}
    waiting = list(_required(wanting, ""))
    seen: set[tuple[str, str]] = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in seen:
            seen.add((name, extra))
            found[name] = distribution(name)
            waiting += _required(found[name], extra)
    return list(found.values())


def link(installed: Distribution, place: Path) -> None:
    """Link the files of a distribution, its data files included, into another environment."""
    for path in {_highest(file) for file in installed.files or ()}:
        here = Path(str(installed.locate_file(path))).absolute()
        if here.is_relative_to(sys.prefix) and here.exists() and here.name != "__pycache__":
            there = place / here.relative_to(sys.prefix)
            there.parent.mkdir(parents=True, exist_ok=True)
            if not there.exists():
                there.symlink_to(here)


def _highest(file: PurePosixPath) -> PurePosixPath:
    """The folder of a package as one; what lies outside of the packages' folder, file by file."""
    return file if file.parts[0] == ".." else PurePosixPath(file.parts[0])


def _required(wanting: Distribution, extra: str) -> Iterator[tuple[str, str]]:
    for line in wanting.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = canonicalize_name(requirement.name)
            yield from ((name, each) for each in ("", *requirement.extras))
