"""Rename symbols by their meaning: ``python comparison/semantic_rename.py ROOT names.txt``.

Each line of the list is ``module qualified.name new_name``. A language server (basedpyright) finds
every use, methods and re-exports included; text in documents and mutation lists is left alone and
its remaining uses are printed.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

SERVER = os.environ.get("LANGSERVER", "basedpyright-langserver")


class Client:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.process = subprocess.Popen(
            [SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root
        )
        self.number = 0
        self.opened: set[str] = set()
        self.call("initialize", {
            "processId": os.getpid(), "rootUri": root.as_uri(),
            "workspaceFolders": [{"uri": root.as_uri(), "name": "root"}],
            "capabilities": {"workspace": {"workspaceEdit": {"documentChanges": False},
                                            "didChangeWatchedFiles": {"dynamicRegistration": False},
                                            "configuration": True}},
        })
        self.notify("initialized", {})

    def send(self, message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self) -> dict:
        length = 0
        while True:
            line = self.process.stdout.readline().strip()
            if not line:
                break
            if line.lower().startswith(b"content-length"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def notify(self, method: str, params: dict) -> None:
        self.send({"method": method, "params": params})

    def call(self, method: str, params: dict):
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self.read()
            if "method" in message and "id" in message:
                if message["method"] == "workspace/configuration":
                    answer = [{"analysis": {"diagnosticMode": "openFilesOnly"}} if "analysis" not in (item.get("section") or "") else {"diagnosticMode": "openFilesOnly"} for item in message["params"]["items"]]
                else:
                    answer = None
                self.send({"id": message["id"], "result": answer})
            elif message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]


def position(path: Path, qualified: str) -> tuple[int, int] | None:
    """Line and column of the name at its definition."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    scope = ast.parse(text)
    parts = qualified.split(".")
    for depth, part in enumerate(parts):
        found = None
        for node in ast.walk(scope) if depth and isinstance(scope, ast.FunctionDef) else scope.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == part:
                found = node
                break
            if isinstance(node, ast.arg) and node.arg == part:
                found = node
                break
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and name.id == part:
                        found = name
            if found is not None:
                break
        if found is None and isinstance(scope, ast.ClassDef):
            for node in ast.walk(scope):
                if isinstance(node, ast.Attribute) and node.attr == part and isinstance(node.ctx, ast.Store):
                    return node.end_lineno - 1, node.end_col_offset - len(part)
        if found is None and depth == 0 and len(parts) == 1:
            for node in ast.walk(scope):
                if isinstance(node, ast.FunctionDef) and node.name == part:
                    found = node
        if found is None:
            return None
        scope = found
    if isinstance(scope, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        line = scope.lineno - 1
        match = re.search(r"(?:class|def)\s+(" + re.escape(parts[-1]) + r")\b", lines[line])
        return line, len(lines[line][: match.start(1)].encode("utf-16-le")) // 2
    return scope.lineno - 1, scope.col_offset


def apply(edits: dict) -> list[Path]:
    changed = []
    for uri, changes in edits.items():
        path = Path(unquote(urlparse(uri).path))
        lines = path.read_text(encoding="utf-8").split("\n")
        for change in sorted(changes, key=lambda c: (c["range"]["start"]["line"], c["range"]["start"]["character"]), reverse=True):
            start, end = change["range"]["start"], change["range"]["end"]
            line = lines[start["line"]]
            assert start["line"] == end["line"]
            raw = line.encode("utf-16-le")
            raw = raw[: 2 * start["character"]] + change["newText"].encode("utf-16-le") + raw[2 * end["character"] :]
            lines[start["line"]] = raw.decode("utf-16-le")
        path.write_text("\n".join(lines), encoding="utf-8")
        changed.append(path)
    return changed


def main(root: Path, listed: Path) -> None:
    client = Client(root)
    for entry in listed.read_text(encoding="utf-8").splitlines():
        entry = entry.split("#")[0].strip()
        if not entry:
            continue
        module, qualified, new = entry.split()
        path = root / (module.replace(".", "/") + ".py")
        if not path.exists():
            path = root / module.replace(".", "/") / "__init__.py"
        if not path.exists():
            print("no module:", entry)
            continue
        place = position(path, qualified)
        if place is None:
            print("not found:", entry)
            continue
        uri = path.as_uri()
        text = path.read_text(encoding="utf-8")
        client.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}})
        try:
            result = client.call("textDocument/rename", {
                "textDocument": {"uri": uri},
                "position": {"line": place[0], "character": place[1]}, "newName": new,
            })
        except RuntimeError as error:
            print("refused:", entry, error)
            result = None
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        edits = {}
        if result:
            edits = result.get("changes") or {}
            for change in result.get("documentChanges") or []:
                edits.setdefault(change["textDocument"]["uri"], []).extend(change["edits"])
        changed = apply(edits)
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": p.as_uri(), "type": 2} for p in changed]})
        print(f"{entry}: {sum(map(len, edits.values()))} in {len(edits)} files", flush=True)
    client.process.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
