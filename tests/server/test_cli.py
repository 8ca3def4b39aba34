"""The command: what it prints, what it serves and what it leaves behind."""

import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from rashomon_explorer._utils.assets import asset_path
from rashomon_explorer._utils.formatting import rounded_down, rounded_up
from rashomon_explorer.cli import DEFAULT_PORT, main
from rashomon_explorer.privacy import Ledger, bounded_range, gdp
from tests.patience import LONG, until

Start = Callable[..., Any]


@pytest.fixture(scope="module")
def dashboard(start_dashboard: Start, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One for all tests that only ask, in a home folder where nothing is set up as it should be."""
    home = tmp_path_factory.mktemp("home")
    startup = home / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("import os; os._exit(1)", encoding="utf-8")
    (home / ".jupyter").mkdir()
    (home / ".jupyter" / "voila.json").write_text("no JSON", encoding="utf-8")
    folder = tmp_path_factory.mktemp("command")
    return start_dashboard(folder, environment={"HOME": str(home)})


@pytest.fixture(scope="module")
def visit(dashboard: Any) -> tuple[int, Any, str]:
    """The page, asked for once: each visit starts a kernel, and one for the next."""
    return _get(dashboard)


def test_it_prints_one_line_and_that_is_the_address(dashboard: Any, visit: Any) -> None:
    """What is set up in the home folder does not matter."""
    assert visit[0] == 200 and len(dashboard.token) == 32
    assert dashboard.log() == f"Rashomon Explorer is at {dashboard.url}\n"
    assert dashboard.url == f"http://127.0.0.1:{dashboard.port}/?token={dashboard.token}"


def test_the_page_is_the_notebook_with_its_widgets_and_without_its_code(visit: Any) -> None:
    page = visit[2]
    assert "application/vnd.jupyter.widget-view+json" in page
    notebook = json.loads(asset_path("apps/explorer.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not [one for one in code if "".join(one["source"]).splitlines()[0] in page]
    # Other extensions of JupyterLab are for it alone, take seconds, and may fail on other pages.
    config = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert config is not None
    loaded = {one["name"] for one in json.loads(config[1])["federated_extensions"]}
    widgets = {"@jupyter-widgets/jupyterlab-manager", "@voila-dashboards/widgets-manager8"}
    assert loaded == {*widgets, "anywidget"}


def test_the_page_may_load_from_this_machine_only(dashboard: Any, visit: Any) -> None:
    _, headers, page = visit
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self' ") and "cdn." not in page
    assert not re.search(r"https?:|\bwss?:(?:\s|$)", policy)
    connections = psutil.Process(dashboard.process.pid).net_connections()
    listening = [one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN]
    assert set(listening) == {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/", "/?token=guess", "/voila/api/shutdown/1"])
def test_without_the_token_there_is_nothing_to_see(dashboard: Any, path: str) -> None:
    status, headers, page = _get(dashboard, path=path)
    assert status in (302, 403, 405) and "widget-view" not in page
    if status == 302:
        assert headers["Location"].startswith("/login?next=")


def test_who_comes_without_the_token_is_asked_for_it_and_leaves(dashboard: Any, visit: Any) -> None:
    status, _, page = _get(dashboard, path="/login?next=%2F%3Fa%3D%22")
    assert status == 200 and "Open the address printed at" in page and "Jupyter" not in page
    assert 'action="/login?next=%2F%3Fa%3D%22"' in page
    cookie = visit[1]["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
    status, headers, page = _get(dashboard, path="/logout")
    assert status == 200 and "needs the token again" in page
    assert "rashomon-explorer-" in headers["Set-Cookie"] and "expires" in headers["Set-Cookie"]


def test_the_token_leaves_the_address_bar_and_reaches_no_kernel(dashboard: Any, visit: Any) -> None:
    path = f"/?token={dashboard.token}&theme=dark"
    status, headers, _ = _get(dashboard, path=path)
    assert (status, headers["Location"]) == (302, "/?theme=dark")
    assert dashboard.token not in headers["Set-Cookie"]
    for kernel in dashboard.kernels():
        assert dashboard.token not in "".join(kernel.environ().values())
        assert kernel.cmdline()[0] == sys.executable
        assert kernel.environ()["RASHOMON_EXPLORER_HOME"] == str(dashboard.home)


def test_another_name_for_this_machine_is_refused(dashboard: Any) -> None:
    # A page elsewhere can point a name of its own at 127.0.0.1 and then read ours.
    assert _get(dashboard, {"Host": "elsewhere.example"})[0] == 403
    assert _get(dashboard, {"Host": f"localhost:{dashboard.port}"}, "/login")[0] == 200


@pytest.mark.parametrize("host", ["elsewhere.example", "elsewhere.example:80", "[::1", ""])
@pytest.mark.parametrize("path", ["/login", "/login?next=%2F", "/logout"])
def test_another_name_is_refused_in_words_and_without_a_traceback(
    dashboard: Any, host: str, path: str
) -> None:
    status, _, page = _get(dashboard, {"Host": host}, path)
    assert status == 403
    assert "This host name is not allowed" in page and "elsewhere" not in page
    assert "Traceback" not in dashboard.log()


ODD = """
/voila/templates/x /voila/templates/x/y /voila/templates/ /voila/templates/%00
/voila/templates/explorer/static/../../x /voila/templates/%2e%2e/static/x /voila/labextensions/x
/voila/labextensions/%00 /voila/api/themes/x /voila/static/x /plotly.mjs/x /voila/files/x
/login?next=%ff /static/%ff /voila/query/a-b-c-d-e
""".split()


@pytest.mark.parametrize("with_token", [False, True])
@pytest.mark.parametrize("path", ODD)
def test_an_odd_address_is_refused_and_leaves_nothing_in_the_log(
    dashboard: Any, path: str, with_token: bool
) -> None:
    if with_token:
        path += f"{'&' if '?' in path else '?'}token={dashboard.token}&token=%ff"
    assert _get(dashboard, path=path)[0] < 500
    assert dashboard.log().count("\n") == 1


def test_no_socket_opens_without_the_token(dashboard: Any) -> None:
    asked = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    for path in ("/voila/query/a-b-c-d-e", "/api/kernels/a-b-c-d-e/channels"):
        status, _, _ = _get(dashboard, {**asked, "Sec-WebSocket-Key": "x"}, path)
        assert status in (302, 403)


def test_an_interrupt_ends_it_without_a_trace_once_it_was_visited(
    dashboard: Any, visit: Any
) -> None:
    # The last of those that share it.
    _check_end(dashboard, dashboard.kernels())


@pytest.mark.parametrize("moment", ["at once", "starting"])
def test_an_interrupt_ends_it_without_a_trace(
    moment: str, start_dashboard: Start, tmp_path: Path
) -> None:
    with _taken(DEFAULT_PORT):  # which is stepped over
        running = start_dashboard(tmp_path / "home", "--no-browser")
        assert running.port != DEFAULT_PORT
    running.wait()
    if moment == "starting":
        until(running.kernels, "a kernel")
    _check_end(running, running.kernels())


def _check_end(running: Any, kernels: Sequence[psutil.Process]) -> None:
    """Interrupt a dashboard: it prints nothing more, and leaves no kernel behind."""
    assert running.stop() == 0
    assert running.log().count("\n") == 1
    assert not [kernel for kernel in kernels if kernel.is_running()]


def test_it_opens_the_browser_when_it_is_ready(start_dashboard: Start, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    environment = {"BROWSER": f"{browser} %s"}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = start_dashboard(tmp_path / "home", f"--port={port}", environment=environment)
    running.wait()
    until(lambda: opened.exists() and opened.read_text(), "the browser to be asked")
    assert opened.read_text() == running.url
    assert running.stop() == 0


def test_a_taken_port_is_an_error_that_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["--no-browser", "--port", str(port)]) == 1
    assert f"port {port} is in use" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "80.5"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([f"--port={port}"])
    assert f"whole number from 1 to 65535, got '{port}'" in capsys.readouterr().err


def test_a_kernel_left_in_the_home_folder_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "kernels" / "python3"
    foreign.mkdir(parents=True)
    spec = {"argv": ["/elsewhere/python"], "display_name": "Elsewhere", "language": "python"}
    (foreign / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    from jupyter_client.kernelspec import KernelSpecManager

    from rashomon_explorer.server.dashboard import RunningInterpreter

    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == "/elsewhere/python"
    assert RunningInterpreter().get_kernel_spec("python3").argv[0] == sys.executable
    assert list(RunningInterpreter().get_all_specs()) == ["python3"]


def test_it_creates_a_ledger_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lending.ledger"
    words = ["ledger", "create", str(path), "--epsilon", "2", "--delta", "1e-6"]
    assert main(words) == 0
    assert capsys.readouterr().out == f"created {path}\nbudget  ε = 2 at δ = 1e-06\n"
    assert Ledger.open(path).budget == (2.0, 1e-6)
    assert main(words) == 1
    assert "does not overwrite it" in capsys.readouterr().err
    assert main(["ledger", "create", str(tmp_path / "own"), "--delta", "1e-6"]) == 1
    assert "needs --epsilon" in capsys.readouterr().err
    for wrong in ("inf", "-1", "nan", "much"):
        with pytest.raises(SystemExit):
            main(["ledger", "create", str(tmp_path / "own"), f"--epsilon={wrong}"])
    assert not (tmp_path / "own").exists()
    assert main(["ledger", "create", str(tmp_path / "own")]) == 0
    assert Ledger.open(tmp_path / "own").budget is None


@pytest.mark.parametrize("command", ["show", "export"])
@pytest.mark.parametrize("content", [None, "", "not a ledger"])
def test_what_is_no_ledger_is_an_error_and_stays_as_it_was(
    content: str | None, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    told = {None: "there is no ledger at", "": "is empty: a ledger was lost"}
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert main(["ledger", command, str(path)]) == 1
    shown = capsys.readouterr().err
    assert str(path) in shown and told.get(content, "") in shown
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == content


def test_it_shows_a_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lending.ledger"
    ledger = Ledger.create(path, epsilon=2.0, delta=1e-6)
    ledger.reserve(bounded_range(eta=0.5), note="first look").commit()
    ledger.reserve(bounded_range(eta=0.25))
    assert main(["ledger", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "ε = 2 at δ = 1e-06" in shown
    assert f"spent   ε = {rounded_up(ledger.spent())} at δ = 1e-06\n" in shown
    assert f"left    ε = {rounded_down(ledger.remaining)}\n" in shown
    assert "charges 2: 1 committed, 1 reserved and not started (spent)\n" in shown
    assert "committed: first look" in shown
    assert "reserved: no note" in shown


def test_it_shows_a_ledger_without_a_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.ledger"
    Ledger.create(path).reserve(bounded_range(eta=0.5)).commit()
    assert main(["ledger", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "budget  none" in shown and "spent   ε = 0.5 at δ = 0\n" in shown
    Ledger(path).reserve(gdp(mu=0.1))
    assert main(["ledger", "show", str(path)]) == 0
    assert "no finite ε at δ = 0; use a larger δ, such as --delta" in capsys.readouterr().out
    assert main(["ledger", "show", str(path), "--delta", "1e-6"]) == 0
    assert f"ε = {rounded_up(Ledger(path).spent(1e-6))} at δ = 1e-06\n" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["ledger", "show", str(path), "--delta", "2"])
    assert "must be in [0, 1), got '2'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "export"])
def test_it_reads_a_ledger_of_an_older_schema(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = Path(__file__).parents[1] / "privacy" / "ledger-version-1.sqlite"
    path = Path(shutil.copy(old, tmp_path / "old.ledger"))
    assert main(["ledger", command, str(path)]) == 0
    told = capsys.readouterr().out
    assert "first look, ψ ≤ 0.02" in told and ("1.929" in told) == (command == "export")
    if command == "show":
        assert "spent   ε = 1.93 at δ = 1e-06\n" in told
        assert "charges 8: 7 committed, 1 started and not ended (spent)\n" in told


def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "long.ledger")
    for _ in range(3):
        ledger.reserve(bounded_range(eta=0.5), note="long " * 20_000)
    run = "import sys; from rashomon_explorer.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", run, "ledger", "show", str(ledger.path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline().startswith(b"budget")
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


def test_it_exports_a_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lending.ledger"
    ledger = Ledger.create(path, epsilon=2.0, delta=1e-6)
    ledger.reserve(bounded_range(eta=0.5), note="ψ").commit()
    ledger.reserve(bounded_range(eta=0.25)).void("never mind")
    assert main(["ledger", "export", str(path)]) == 0
    told = capsys.readouterr().out
    assert told == ledger.export() + "\n"
    assert [entry["state"] for entry in json.loads(told)["entries"]] == ["spent", "voided"]
    assert main(["ledger", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "voided: no note" in shown
    assert ": never mind" in shown


def test_help_names_every_command_and_data_sets_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rashomon_explorer", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    )
    for word in ["--port", "--no-browser", "datasets", "ledger"]:
        assert word in done.stdout
    assert main(["datasets"]) == 0
    assert "lending" in capsys.readouterr().out


@contextmanager
def _taken(port: int) -> Iterator[None]:
    """Keep `port` busy, whoever holds it."""
    try:
        server = socket.create_server(("127.0.0.1", port))
    except OSError:
        yield
    else:
        with server:
            yield


def _get(
    running: Any,
    headers: Mapping[str, str] | None = None,
    path: str | None = None,
    method: str = "GET",
) -> tuple[int, Any, str]:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=LONG)
    try:
        known = {"Authorization": f"token {running.token}"} if path is None else {}
        connection.request(method, path or "/", headers={**known, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()
