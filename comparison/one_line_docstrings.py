"""One line for every docstring of what no room exports: ``python comparison/one_line_docstrings.py ROOT``.

What a room exports, by the ``__all__`` of its ``__init__.py``, keeps its whole docstring, and so do
the public methods of an exported class.
"""

import ast
import inspect
import re
import sys
from pathlib import Path

CITED = re.compile(
    r"\b(Theorem|Lemma|Proposition|Corollary|Algorithm|Appendix|Remark|Eq\.|equation|arXiv)\b"
    r"|[A-Z][a-z]+(?: et al\.| and [A-Z][a-z]+)? \(?(?:19|20)\d\d|docs/"
)
SOURCE_LINES = 4

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def exported_names(package: Path) -> set[str]:
    """Names in the ``__all__`` of the package and its rooms."""
    names: set[str] = set()
    for path in package.rglob("__init__.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                names |= set(ast.literal_eval(node.value))
    return names


def source_of(doc: str) -> list[str]:
    """The shortest paragraph that names a theorem or a page, of at most four lines."""
    paragraphs = [part.strip("\n").splitlines() for part in doc.expandtabs().split("\n\n")[1:]]
    cited = []
    for lines in paragraphs:
        if len(lines) > 1 and set(lines[1].strip()) == {"-"}:
            lines = lines[2:] if lines[0].strip() in ("Notes", "References") else []
        text = "\n".join(lines)
        plain = ">>>" not in text and lines and not any(line.startswith("        ") for line in lines)
        if plain and len(lines) <= SOURCE_LINES and CITED.search(text):
            cited.append([line.strip() for line in lines])
    return min(cited, key=len, default=[])


def shorten(path: Path, exported: set[str]) -> int:
    """Lines that were taken out of a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    cuts: list[tuple[int, int, str]] = []

    def visit(node: ast.AST, documented: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, Definition):
                visit(child, documented)
                continue
            private = child.name.startswith("_") and not child.name.startswith("__")
            whole = (documented or (child.name in exported)) and not private
            if isinstance(node, ast.FunctionDef):
                whole = False
            first = child.body[0]
            if (
                not whole
                and isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
                and first.end_lineno > first.lineno
            ):
                summary = first.value.value.strip().split("\n\n")[0]
                summary = " ".join(line.strip() for line in summary.splitlines())
                indent = " " * first.col_offset
                source = source_of(inspect.cleandoc(first.value.value))
                raw = lines[first.lineno - 1].lstrip().startswith(('r"', 'R"'))
                quote = 'r"""' if raw else '"""'
                written = f"{indent}{quote}{summary}"
                if source and len(written) <= 100:
                    body = "".join(f"{indent}{line}\n" for line in source)
                    cuts.append(
                        (first.lineno, first.end_lineno, f'{written}\n\n{body}{indent}"""\n')
                    )
                elif len(written) + 3 <= 100:
                    cuts.append((first.lineno, first.end_lineno, f'{written}"""\n'))
                else:
                    original = lines[first.lineno - 1].rstrip("\n")
                    own = len(first.value.value.strip().split("\n\n")[0].splitlines())
                    kept = lines[first.lineno - 1 : first.lineno - 1 + own]
                    print(f"{path}:{first.lineno}: {own} lines stay: {original.strip()}")
                    cuts.append(
                        (first.lineno, first.end_lineno, "".join(kept) + f'{indent}"""\n')
                    )
            visit(child, whole and isinstance(child, ast.ClassDef))

    visit(ast.parse(text), False)
    for start, end, new in sorted(cuts, reverse=True):
        lines[start - 1 : end] = [new]
    if cuts:
        path.write_text("".join(lines), encoding="utf-8")
    return text.count("\n") - "".join(lines).count("\n")


if __name__ == "__main__":
    package = Path(sys.argv[1]) / "rashomon_explorer"
    exported = exported_names(package)
    print(sum(shorten(path, exported) for path in sorted(package.rglob("*.py"))), "lines less")
