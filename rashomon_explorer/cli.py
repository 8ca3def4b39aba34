"""The ``rashomon-explorer`` command: dashboard, datasets and ledgers."""

import argparse
import json
import math
import os
import re
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import rashomon_explorer as rx
from rashomon_explorer._utils.assets import TABLE_VARIABLE
from rashomon_explorer._utils.formatting import left_text, rounded_up
from rashomon_explorer._utils.imports import missing_package
from rashomon_explorer.exceptions import DataError, LedgerError
from rashomon_explorer.server import settings

T = TypeVar("T")

_OTHER_PORTS = 50
_APP = ("voila", "ipykernel", "ipywidgets", "anywidget", "plotly", "jinja2")
_STATES = {
    "committed": "committed",
    "started": "started and not ended (spent)",
    "reserved": "reserved and not started (spent)",
    "voided": "voided (not spent)",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rashomon-explorer",
        description="Start the dashboard on this machine and open it in the browser.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {rx.__version__}")
    parser.add_argument(
        "--port",
        type=_port,
        help=f"port to use (default: {settings.DEFAULT_PORT}, or a free one near it)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, do not open it"
    )
    parser.add_argument(
        "--ip",
        type=_ip,
        default=settings.LOOPBACK,
        help=f"address to listen on (default: {settings.LOOPBACK})",
    )
    parser.add_argument(
        "--any-host",
        action="store_true",
        help="allow any host name, as behind a proxy; the token still protects the page",
    )
    parser.add_argument("--base-url", type=_folder, default="/", help="URL prefix behind a proxy")
    parser.add_argument(
        "--no-token",
        action="store_true",
        help=f"no authentication on this machine; else a token is needed, a new one or that of "
        f"{settings.TOKEN_VARIABLE}",
    )
    parser.add_argument(
        "--most-pages",
        type=_count,
        default=settings.MOST_PAGES,
        help=f"open at once ({settings.MOST_PAGES})",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="public demo: shipped tables only, no files, no token, budgets that end with the page",
    )
    parser.add_argument(
        "--frame-ancestors",
        type=_origin,
        action="append",
        default=[],
        metavar="ORIGIN",
        help="site that may show the page in a frame, such as https://example.org; may be repeated",
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="CSV file, or Parquet file or folder of any size, to open (docs/scale.md)",
    )
    parser.add_argument("--target", help="target column; by default the schema's")
    parser.add_argument("--schema", type=Path, help="schema file, TOML or a CSV data dictionary")
    parser.set_defaults(run=_start)

    commands = parser.add_subparsers(title="other commands", metavar="command")
    datasets = commands.add_parser("datasets", help="list the data sets that come with the package")
    datasets.set_defaults(run=_list_datasets)
    ledger = commands.add_parser("ledger", help="create or inspect a privacy ledger")
    ledger_commands = ledger.add_subparsers(metavar="command", required=True)
    create = ledger_commands.add_parser("create", help="create a ledger; nothing is overwritten")
    create.add_argument("path", type=Path, help="the ledger's file")
    create.add_argument(
        "--epsilon", type=_epsilon, help="privacy budget, permanent; none if omitted"
    )
    create.add_argument("--delta", type=_delta, help="δ of the budget, permanent (default: 0)")
    create.add_argument(
        "--accounting", choices=("gdp", "rdp", "pure"), help="notion to count in (docs/ledger.md)"
    )
    create.add_argument("--order", type=float, help="order of --accounting rdp")
    create.set_defaults(run=_create_ledger)
    show = ledger_commands.add_parser("show", help="print the budget and what was spent")
    show.add_argument("path", type=Path, help="the ledger's file")
    show.add_argument("--delta", type=_delta, help="δ of the total (default: the budget's)")
    show.set_defaults(run=_with_ledger, act=_show_ledger)
    export = ledger_commands.add_parser("export", help="print everything in it as JSON")
    export.add_argument("path", type=Path, help="the ledger's file")
    export.set_defaults(run=_with_ledger, act=_export_ledger)
    return parser


def _checked(
    convert: Callable[[str], T], is_valid: Callable[[T], bool], expected: str
) -> Callable[[str], T]:
    """Return a type of arguments: converted text that is valid, or an error that says why not."""

    def checked(text: str) -> T:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not is_valid(value):
            raise argparse.ArgumentTypeError(f"must be {expected}, got {text!r}")
        return value

    return checked


def _natural_number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError
    return int(text)


_port = _checked(_natural_number, lambda port: 1 <= port <= 65535, "a whole number from 1 to 65535")
_count = _checked(_natural_number, lambda count: count >= 1, "a whole number >= 1")
_epsilon = _checked(float, lambda epsilon: 0 <= epsilon < math.inf, "finite and >= 0")
_delta = _checked(float, lambda delta: 0 <= delta < 1, "in [0, 1)")
_ip = _checked(
    lambda text: str(ip_address(text)), bool, f"an address such as {settings.LOOPBACK} or 0.0.0.0"
)


def _folder(text: str) -> str:
    if text.startswith("/") and not set(text) & set("?#\\ "):
        return text if text.endswith("/") else f"{text}/"
    raise argparse.ArgumentTypeError(f"must begin with / and hold no ? or #, got {text!r}")


def _origin(text: str) -> str:
    if re.fullmatch(r"https?://[\w.*-]+(:\d+)?", text):
        return text
    raise argparse.ArgumentTypeError(f"must be an origin such as https://example.org, got {text!r}")


def _start(options: argparse.Namespace) -> int:
    if options.demo and (options.data or options.schema or options.target):
        return _complain("--demo shows the shipped tables only: leave --data and --schema out")
    if options.port is not None and not _is_free(options.ip, options.port):
        return _complain(
            f"port {options.port} is in use; choose another, or omit --port for a free one"
        )
    any_host = options.any_host or not settings.is_loopback(options.ip)
    if options.no_token and any_host and not options.demo:
        return _complain(
            "--no-token would expose the rows on the network; "
            f"use it with --ip {settings.LOOPBACK} and without --any-host"
        )
    try:
        _ask_for_table(options)
        missing = [name for name in _APP if find_spec(name) is None]
        if missing:
            raise missing_package("The dashboard", missing[0])
    except (DataError, ImportError) as error:
        return _complain(str(error))
    open_to_all = options.no_token or options.demo
    token, new = ("", True) if open_to_all else settings.take_token()
    if not open_to_all and (problem := settings.token_problem(token, any_host)):
        return _complain(problem)
    from rashomon_explorer.server.dashboard import serve

    serve(
        settings.Serving(
            home=Path.cwd(),
            ip=options.ip,
            port=settings.DEFAULT_PORT if options.port is None else options.port,
            port_retries=_OTHER_PORTS if options.port is None else 0,
            browse=not options.no_browser,
            base_url=options.base_url,
            any_host=any_host,
            token=token,
            told=new,
            most_pages=options.most_pages,
            demo=options.demo,
            frame_ancestors=tuple(options.frame_ancestors),
        )
    )
    return 0


def _ask_for_table(options: argparse.Namespace) -> None:
    """Pass the table to the page by an environment variable; reads only file footers."""
    if options.data is None:
        if options.target or options.schema:
            raise DataError(
                "--target and --schema need a table: add --data with its file or folder"
            )
        return
    from rashomon_explorer.data.csv import is_text_table
    from rashomon_explorer.rows import chunk_rows

    schema = None if options.schema is None else options.schema.absolute()
    declared = None if schema is None else rx.TableSchema.from_schema_or_path(schema).target
    target = options.target or (None if declared is None else declared.name)
    if target is None:
        raise DataError("no target column: set --target, or the target in the schema")
    path = options.data.absolute()
    if not is_text_table(path):
        chunk_rows(path, target=target).n  # noqa: B018 (opened now)
    elif not path.is_file():
        raise DataError(f"there is no file {path}")
    table = {"path": str(path), "target": target, "schema": schema and str(schema)}
    os.environ[TABLE_VARIABLE] = json.dumps(table)


def _is_free(ip: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        socket.create_server((ip, port), family=family).close()
    except OSError:
        return False
    return True


def _list_datasets(options: argparse.Namespace) -> int:
    print(rx.list_datasets().to_string(index=False, max_colwidth=60))
    return 0


def _create_ledger(options: argparse.Namespace) -> int:
    if options.epsilon is None and options.delta is not None:
        return _complain("a budget needs --epsilon as well as --delta")
    try:
        names = ("epsilon", "delta", "accounting", "order")
        ledger = rx.Ledger.create(options.path, **{name: getattr(options, name) for name in names})
    except (LedgerError, ValueError) as error:
        return _complain(str(error))
    print(f"created {ledger.path}")
    print(next(_ledger_lines(ledger, None)))
    return 0


def _with_ledger(options: argparse.Namespace) -> int:
    try:
        options.act(rx.Ledger(options.path), options)
    except LedgerError as error:
        return _complain(str(error))
    return 0


def _show_ledger(ledger: "rx.Ledger", options: argparse.Namespace) -> None:
    ledger.check()
    for line in _ledger_lines(ledger, options.delta):
        print(line)


def _export_ledger(ledger: "rx.Ledger", options: argparse.Namespace) -> None:
    print(ledger.export())


def _ledger_lines(ledger: "rx.Ledger", delta: float | None) -> Iterator[str]:
    budget, entries = ledger.budget, ledger.entries()
    if budget is None:
        yield "budget  none: charges are recorded, never refused"
    else:
        yield f"budget  ε = {rounded_up(budget[0])} at δ = {budget[1]:g}"
    yield f"spent   {_spent(ledger, delta)}"
    if budget is not None:
        yield f"left    ε = {left_text(ledger.remaining)}"
    yield f"charges {_counts(entry.state for entry in entries)}"
    for entry in entries:
        yield ""
        yield f"{entry.id}. {entry.when}, {entry.who}, {entry.state}: {entry.note or 'no note'}"
        yield f"   {entry.guarantee}"
        if not entry.counts:
            yield f"   voided {entry.voided_when}, {entry.voided_by}: {entry.voided_why}"


def _spent(ledger: "rx.Ledger", delta: float | None) -> str:
    spent = ledger.spent(delta)
    if delta is None:
        delta = ledger.budget[1] if ledger.budget is not None else 0.0
    if math.isfinite(spent):
        return f"ε = {rounded_up(spent)} at δ = {delta:g}"
    return f"no finite ε at δ = {delta:g}; use a larger δ, such as --delta 1e-6"


def _counts(states: Iterable[str]) -> str:
    """Return the number of charges in each state, marked as spent if not completed."""
    counts = Counter(states)
    if not counts:
        return "none"
    text = ", ".join(f"{counts[state]} {word}" for state, word in _STATES.items() if counts[state])
    return f"{counts.total()}: {text}"


def _complain(message: str) -> int:
    print(f"rashomon-explorer: {message}", file=sys.stderr)
    return 1
