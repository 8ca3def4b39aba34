"""Take names out of a package's ``__all__``: ``python comparison/unexport.py ROOT list.txt``.

Each line of the list is ``package`` (all of its names) or ``package Name Name …``; every import of
such a name then names the module that defines it.
"""

import ast
import re
import sys
from pathlib import Path


def main(root: Path, listed: Path) -> None:
    moved: dict[str, dict[str, str]] = {}
    for entry in listed.read_text(encoding="utf-8").splitlines():
        package, *names = entry.split("#")[0].split() or [""]
        if not package:
            continue
        path = root / package.replace(".", "/") / "__init__.py"
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        origin = {
            alias.asname or alias.name: node.module
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        everything = next(
            ast.literal_eval(n.value) for n in tree.body
            if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"
        )
        chosen = [n for n in (names or everything) if n in origin]
        for name in set(names or everything) - set(chosen):
            print(f"{package}.{name} is defined there: stays")
        moved[package] = {name: origin[name] for name in chosen}
        lines = text.splitlines(keepends=True)
        cuts = []
        body = "".join(l for l in lines)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                left = []
                for alias in node.names:
                    name = alias.asname or alias.name
                    used = len(re.findall(rf"\b{name}\b", body)) > 2 + body.count(f'"{name}"') - 1
                    if name not in chosen or used:
                        left.append(ast.unparse(alias) if False else (alias.name + (f" as {alias.asname}" if alias.asname else "")))
                new = f"from {node.module} import {', '.join(left)}\n" if left else ""
                cuts.append((node.lineno, node.end_lineno, new))
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                left = [n for n in everything if n not in chosen]
                new = "__all__ = [" + ", ".join(f'"{n}"' for n in left) + "]\n" if left else ""
                cuts.append((node.lineno, node.end_lineno, new))
        for start, end, new in sorted(cuts, reverse=True):
            lines[start - 1 : end] = [new]
        path.write_text("".join(lines).rstrip() + "\n", encoding="utf-8")
    for path in [p for d in ("rashomon_explorer", "tests", "benchmarks", "apps", "mutants", "comparison") for p in (root / d).rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if not any(f"from {package} import" in text for package in moved):
            continue
        lines = text.splitlines(keepends=True)
        cuts = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module in moved and not node.level:
                there = moved[node.module]
                if path.name == "__init__.py" and path.parent == root / node.module.replace(".", "/"):
                    continue
                groups: dict[str, list[str]] = {}
                for alias in node.names:
                    written = alias.name + (f" as {alias.asname}" if alias.asname else "")
                    groups.setdefault(there.get(alias.name, node.module), []).append(written)
                if list(groups) == [node.module]:
                    continue
                indent = " " * node.col_offset
                cuts.append((node.lineno, node.end_lineno, "".join(
                    f"{indent}from {module} import ({', '.join(names)})\n" for module, names in groups.items())))
        for start, end, new in sorted(cuts, reverse=True):
            lines[start - 1 : end] = [new]
        text = "".join(lines)
        for package, there in moved.items():  # doctests
            def doctest(match: re.Match[str]) -> str:
                names = [n.strip() for n in match[2].split(",")]
                groups: dict[str, list[str]] = {}
                for name in names:
                    groups.setdefault(there.get(name.split(" as ")[0], package), []).append(name)
                return "\n".join(f"{match[1]}from {m} import {', '.join(ns)}" for m, ns in groups.items())
            text = re.sub(rf"^( *>>> )from {re.escape(package)} import ([\w, ]+)$", doctest, text, flags=re.M)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
