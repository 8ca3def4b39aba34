"""Size, layout and words of the project beside `tests/house_budget.toml`: run by `make lint`.

python -m tests.house
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rashomon_explorer"
TARGETS = ROOT / "tests" / "house_budget.toml"
# What is counted in thousands may exceed its target by this share.
MARGIN = 0.02
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
# Locals that name a role in a sentence instead of a quantity.
ROLES = set(
    "one ones own other others found known place places said kept told asked given made taken "
    "chosen picked wanted seen shown held whole same beside apart alone beyond plain bare most "
    "least followed".split()
)
_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def sources():
    """Text of each module by its dotted name, with ``.__init__`` for a folder's own."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def code_lines(text, tree):
    """Lines with code: neither blank, nor comments, nor docstrings."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*_LAYOUT, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def exported_names(tree):
    """Names of a module's ``__all__``."""
    return {
        name
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        for name in ast.literal_eval(node.value)
    }


def _of_package(node):
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name)


def _called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def syntax_figures(trees):
    """Count over the syntax trees of all modules, by dotted name."""
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    functions = [node for _, node in nodes if isinstance(node, Function)]
    calls = Counter(_called(node) for _, node in nodes if isinstance(node, ast.Call))
    stored = [n.id for _, n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    classes = Counter(n.name for _, n in nodes if isinstance(n, ast.ClassDef) and n.name[0] != "_")
    private = [node.name for node in functions if re.match(r"_(?!_)", node.name)]
    return {
        "import_lines": sum(
            node.end_lineno - node.lineno + 1
            for _, node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
        ),
        "imports_in_functions": sum(_of_package(x) for f in functions for x in ast.walk(f)),
        "rooms_imported_by_a_string": sum(
            _called(node) in ("import_module", "__import__")
            and f"{PACKAGE.name}." in ast.unparse(node.args[0])
            for name, node in nodes
            if isinstance(node, ast.Call) and node.args and not name.endswith(".__init__")
        ),
        "class_names_used_twice": sum(count > 1 for count in classes.values()),
        "one_caller_functions": sum(calls[name] == 1 for name in private),
        "role_locals_per_1000": round(1000 * sum(x in ROLES for x in stored) / len(stored)),
    }


def modules_loaded(module):
    """Modules of the package that importing one loads, in a process of its own."""
    code = (
        f"import sys; import {module}; "
        "print(sum(m.split('.')[0] == 'rashomon_explorer' for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def measured(texts, trees):
    """Figures of the project by the names of the targets."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("theory/*.md")]
    words = [len(page.read_text(encoding="utf-8").split()) for page in pages]
    rooms = [tree for name, tree in trees.items() if name.endswith(".__init__")]
    tests = (ROOT / "tests").rglob("*.py")
    return {
        "package_lines": sum(text.count("\n") for text in texts.values()),
        "code_lines": sum(code_lines(text, trees[name]) for name, text in texts.items()),
        "package_files": len(texts),
        "root_modules": len([p for p in PACKAGE.glob("*.py") if not p.name.startswith("__")]),
        "exported_names": len(set().union(*map(exported_names, rooms))),
        **syntax_figures(trees),
        "test_lines": sum(path.read_text(encoding="utf-8").count("\n") for path in tests),
        "docs_words": sum(words),
        "longest_page_words": max(words),
        "readme_lines": (ROOT / "README.md").read_text(encoding="utf-8").count("\n"),
        "modules_loaded_by_measures": modules_loaded("rashomon_explorer.measures"),
        "modules_loaded_by_estimators": modules_loaded("rashomon_explorer.estimators.linear"),
    }


def ceiling(target):
    """Largest figure that passes."""
    return int(target * (1 + MARGIN)) if target >= 1000 else target


def above_targets(figures, targets):
    """Figures above their ceilings, and names that one side lacks."""
    missing = [f"{name} has no target, or no figure" for name in figures.keys() ^ targets.keys()]
    return missing + [
        f"{name} is {figures[name]:,}, target {target:,}: merge or remove as much, or raise the "
        "target in a commit that says by how much and why"
        for name, target in targets.items()
        if name in figures and figures[name] > ceiling(target)
    ]


def bare_sections(tree):
    """Sections of docstrings that say no more than a type: Returns, Yields, Raises."""
    bare = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        _, *sections = SECTION.split(ast.get_docstring(node) or "")
        for title, text in zip(sections[::2], sections[1::2], strict=True):
            indented = [line.startswith(" ") for line in text.splitlines() if line.strip()]
            silent = any(not line and not after for line, after in pairwise([*indented, False]))
            if (title in ("Returns", "Yields") and not any(indented)) or (
                title == "Raises" and silent
            ):
                bare.append(f"{node.name}: section {title} has a type and no words")
    return bare


def layout_findings(names):
    """Folders with fewer than three topics, and modules whose names are no words."""
    folders = {path.parent for path in PACKAGE.rglob("__init__.py")}
    small = [
        f"{folder.relative_to(ROOT)} has fewer than three modules or folders"
        for folder in sorted(folders)
        if len([*folder.glob("[!_]*.py"), *folder.glob("*/__init__.py")]) < 3
    ]
    return small + [f"{name} is no word" for name in names if not re.fullmatch(r"[a-z_.]+", name)]


def main():
    """Print each figure beside its target, and what is wrong; 1 if anything is."""
    texts = sources()
    trees = {name: ast.parse(text) for name, text in texts.items()}
    figures, targets = measured(texts, trees), tomllib.loads(TARGETS.read_text(encoding="utf-8"))
    for name, figure in figures.items():
        print(f"{name:30} {figure:>8,}  target {targets.get(name, 'missing'):>8,}")
    findings = [
        *above_targets(figures, targets),
        *layout_findings(texts),
        *(f"{name}: {text}" for name, tree in trees.items() for text in bare_sections(tree)),
    ]
    print(*findings, sep="\n")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
