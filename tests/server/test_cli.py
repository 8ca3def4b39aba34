"""The command: what it prints, what it serves and what it leaves behind."""

import http.client
import json
import re
import socket
import subprocess
import sys
from contextlib import contextmanager, nullcontext

import psutil
import pytest

import rashomon_explorer
from rashomon_explorer._utils.assets import asset_path
from rashomon_explorer._utils.formatting import rounded_down, rounded_up
from rashomon_explorer.cli import main
from rashomon_explorer.privacy import Ledger, bounded_range, gdp
from rashomon_explorer.server.settings import DEFAULT_PORT, token_problem
from tests.conftest import free_port
from tests.patience import LONG, until


@pytest.fixture(scope="module")
def dashboard(start_dashboard, tmp_path_factory):
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
def visit(dashboard):
    """The page, asked for once: each visit starts a kernel, and one for the next."""
    return _get(dashboard)


def test_it_prints_one_line_and_that_is_the_address(dashboard, visit):
    """What is set up in the home folder does not matter."""
    assert visit[0] == 200 and len(dashboard.token) == 32
    assert dashboard.log() == f"Rashomon Explorer is at {dashboard.url}\n"
    assert dashboard.url == f"http://127.0.0.1:{dashboard.port}/?token={dashboard.token}"


def test_the_page_is_the_notebook_with_its_widgets_and_without_its_code(visit):
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


def test_the_page_may_load_from_this_machine_only(dashboard, visit):
    _, headers, page = visit
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self' ") and "cdn." not in page
    assert not re.search(r"https?:|\bwss?:(?:\s|$)", policy)
    connections = psutil.Process(dashboard.process.pid).net_connections()
    listening = [one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN]
    assert set(listening) == {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/", "/?token=guess", "/voila/api/shutdown/1", "/plotly.mjs"])
def test_without_the_token_there_is_nothing_to_see(dashboard, path):
    status, headers, page = _get(dashboard, path=path)
    assert status in (302, 403, 405) and "widget-view" not in page
    if status == 302:
        assert headers["Location"].startswith("/login?next=")


def test_who_comes_without_the_token_is_asked_for_it_and_leaves(dashboard, visit):
    status, _, page = _get(dashboard, path="/login?next=%2F%3Fa%3D%22")
    assert status == 200 and "Open the address printed at" in page and "Jupyter" not in page
    assert 'action="/login?next=%2F%3Fa%3D%22"' in page
    cookie = visit[1]["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
    status, headers, page = _get(dashboard, path="/logout")
    assert status == 200 and "needs the token again" in page
    assert "rashomon-explorer-" in headers["Set-Cookie"] and "expires" in headers["Set-Cookie"]


def test_the_token_leaves_the_address_bar_and_reaches_no_kernel(dashboard, visit):
    path = f"/?token={dashboard.token}&theme=dark"
    status, headers, _ = _get(dashboard, path=path)
    assert (status, headers["Location"]) == (302, "/?theme=dark")
    assert dashboard.token not in headers["Set-Cookie"]
    for kernel in dashboard.kernels():
        assert dashboard.token not in "".join(kernel.environ().values())
        assert kernel.cmdline()[0] == sys.executable
        assert kernel.environ()["RASHOMON_EXPLORER_HOME"] == str(dashboard.home)
        assert kernel.environ()["MALLOC_MMAP_THRESHOLD_"] == "1000000"  # memory is given back


@pytest.mark.parametrize("path", ["/login", "/login?next=%2F", "/logout"])
def test_another_name_for_this_machine_is_refused_in_words(dashboard, path):
    """A page elsewhere can point a name of its own at 127.0.0.1 and then read ours."""
    assert _get(dashboard, {"Host": "elsewhere.example"})[0] == 403
    assert _get(dashboard, {"Host": f"localhost:{dashboard.port}"}, path)[0] == 200
    for host in ("elsewhere.example", "elsewhere.example:80", "[::1", ""):
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


@pytest.mark.parametrize("path", ODD)
def test_an_odd_address_is_refused_and_leaves_nothing_in_the_log(dashboard, path):
    token = f"{'&' if '?' in path else '?'}token={dashboard.token}&token=%ff"
    for address in (path, path + token):
        assert _get(dashboard, path=address)[0] < 500
    assert dashboard.log().count("\n") == 1


def test_no_socket_opens_without_the_token(dashboard):
    asked = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    for path in ("/voila/query/a-b-c-d-e", "/api/kernels/a-b-c-d-e/channels"):
        assert _get(dashboard, {**asked, "Sec-WebSocket-Key": "x"}, path)[0] in (302, 403)


def test_an_interrupt_ends_it_without_a_trace_once_it_was_visited(dashboard, visit):
    _check_end(dashboard, dashboard.kernels())  # the last of those that share it


def test_an_interrupt_ends_it_at_once_without_a_trace(start_dashboard, tmp_path):
    with _taken(DEFAULT_PORT):  # which is stepped over
        running = start_dashboard(tmp_path / "home", "--no-browser")
        assert running.port != DEFAULT_PORT
    running.wait()
    _check_end(running, running.kernels())


def _check_end(running, kernels):
    """Interrupt a dashboard: it prints nothing more, and leaves no kernel behind."""
    assert running.stop() == 0
    assert running.log().count("\n") == 1
    assert not [kernel for kernel in kernels if kernel.is_running()]


def test_it_opens_the_browser_when_it_is_ready_and_can_be_interrupted(start_dashboard, tmp_path):
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {"BROWSER": f"{browser} %s"}
    running = start_dashboard(tmp_path / "home", f"--port={port}", environment=environment)
    running.wait()
    until(lambda: opened.exists() and opened.read_text(), "the browser to be asked")
    assert opened.read_text() == running.url
    until(running.kernels, "a kernel")  # which is still starting
    _check_end(running, running.kernels())


def test_a_kernel_left_in_the_home_folder_is_not_used(tmp_path, monkeypatch):
    from jupyter_client.kernelspec import KernelSpecManager

    from rashomon_explorer.server.dashboard import RunningInterpreter

    foreign = tmp_path / "kernels" / "python3"
    foreign.mkdir(parents=True)
    spec = {"argv": ["/elsewhere/python"], "display_name": "Elsewhere", "language": "python"}
    (foreign / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == "/elsewhere/python"
    assert RunningInterpreter().get_kernel_spec("python3").argv[0] == sys.executable
    assert list(RunningInterpreter().get_all_specs()) == ["python3"]


@pytest.fixture
def command(capsys):
    """Run the command; return its status, and what it prints of results and of errors."""

    def run(*words):
        try:
            status = main([str(word) for word in words])
        except SystemExit as refused:
            status = refused.code
        return status, *capsys.readouterr()

    return run


PORT, OPEN = "whole number from 1 to 65535, got", "--no-token would expose the rows"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        *((f"--port={port}", f"{PORT} '{port}'") for port in ("0", "65536", "-1", "x", "80.5")),
        ("--ip example", "must be an address such as 127.0.0.1"),
        ("--base-url x", "must begin with /"),
        ("--base-url /x?y", "must begin with /"),
        ("--most-pages 0", "whole number >= 1"),
        ("--no-browser --no-token --ip 0.0.0.0", OPEN),
        ("--no-browser --no-token --any-host", OPEN),
        ("--no-browser --no-token --ip ::", OPEN),
    ],
)
def test_a_setting_that_is_none_or_unsafe_is_refused(words, told, command):
    status, _, error = command(*words.split())
    assert status and told in error


@pytest.mark.parametrize("words", ["--ip 0.0.0.0", "--any-host"])
def test_a_token_that_can_be_guessed_is_refused_on_an_open_address(words, command, monkeypatch):
    monkeypatch.setenv("RASHOMON_EXPLORER_TOKEN", "x" * 23)
    status, _, error = command("--no-browser", *words.split())
    assert status and "23 characters" in error and "at least 24" in error
    assert token_problem("x" * 24, any_host=True) == "" == token_problem("x", any_host=False)


def test_a_taken_port_is_an_error_that_says_so(command):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        status, _, error = command("--no-browser", "--port", port)
    assert status == 1 and f"port {port} is in use" in error


def test_it_creates_a_ledger_once(tmp_path, command):
    path, own = tmp_path / "lending.ledger", tmp_path / "own"
    words = ("ledger", "create", path, "--epsilon", "2", "--delta", "1e-6")
    assert command(*words) == (0, f"created {path}\nbudget  ε = 2 at δ = 1e-06\n", "")
    assert Ledger.open(path).budget == (2.0, 1e-6)
    assert "does not overwrite it" in command(*words)[2]
    assert "needs --epsilon" in command("ledger", "create", own, "--delta", "1e-6")[2]
    for wrong in ("inf", "-1", "nan", "much"):
        assert command("ledger", "create", own, f"--epsilon={wrong}")[0]
    assert not own.exists()
    assert command("ledger", "create", own)[0] == 0 and Ledger.open(own).budget is None


@pytest.mark.parametrize("action", ["show", "export"])
@pytest.mark.parametrize("content", [None, "", "not a ledger"])
def test_what_is_no_ledger_is_an_error_and_stays_as_it_was(content, action, tmp_path, command):
    path = tmp_path / "file"
    told = {None: "there is no ledger at", "": "is empty: a ledger was lost"}.get(content, "")
    if content is not None:
        path.write_text(content, encoding="utf-8")
    status, _, error = command("ledger", action, path)
    assert status == 1 and str(path) in error and told in error
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == content


def test_it_shows_and_exports_a_ledger(tmp_path, command):
    ledger = Ledger.create(tmp_path / "lending.ledger", epsilon=2.0, delta=1e-6)
    ledger.reserve(bounded_range(eta=0.5), note="first look, ψ").commit()
    ledger.reserve(bounded_range(eta=0.25))
    ledger.reserve(bounded_range(eta=0.25)).void("never mind")
    _, shown, _ = command("ledger", "show", ledger.path)
    for told in (
        f"spent   ε = {rounded_up(ledger.spent())} at δ = 1e-06\n",
        f"left    ε = {rounded_down(ledger.remaining)}\n",
    ):
        assert told in shown
    _, exported, _ = command("ledger", "export", ledger.path)
    assert exported == ledger.export() + "\n"
    states = [entry["state"] for entry in json.loads(exported)["entries"]]
    assert states == ["spent", "spent", "voided"]


def test_it_shows_a_ledger_without_a_budget(tmp_path, command):
    path = tmp_path / "own.ledger"
    Ledger.create(path).reserve(bounded_range(eta=0.5)).commit()
    _, shown, _ = command("ledger", "show", path)
    assert "budget  none" in shown and "spent   ε = 0.5 at δ = 0\n" in shown
    Ledger(path).reserve(gdp(mu=0.1))
    told = "no finite ε at δ = 0; use a larger δ, such as --delta"
    assert told in command("ledger", "show", path)[1]
    _, shown, _ = command("ledger", "show", path, "--delta", "1e-6")
    assert f"ε = {rounded_up(Ledger(path).spent(1e-6))} at δ = 1e-06\n" in shown
    assert "must be in [0, 1), got '2'" in command("ledger", "show", path, "--delta", "2")[2]


def test_a_reader_that_has_enough_is_no_error(tmp_path):
    ledger = Ledger.create(tmp_path / "long.ledger")
    for _ in range(3):
        ledger.reserve(bounded_range(eta=0.5), note="long " * 20_000)
    words = [sys.executable, "-m", "rashomon_explorer", "ledger", "show", str(ledger.path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline().startswith(b"budget")
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


@contextmanager
def _taken(port):
    """Keep a port busy, whoever holds it."""
    try:
        server = socket.create_server(("127.0.0.1", port))
    except OSError:
        server = nullcontext()
    with server:
        yield


def _get(running, headers=None, path=None):
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=LONG)
    try:
        known = {"Authorization": f"token {running.token}"} if path is None else {}
        connection.request("GET", path or "/", headers={**known, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode(errors="replace")
    finally:
        connection.close()


def test_a_demo_is_open_and_may_be_framed(start_dashboard, tmp_path):
    frame = ("--frame-ancestors", "https://demo.example")
    running = start_dashboard(
        tmp_path, "--demo", "--no-browser", "--port", str(free_port()), *frame
    )
    assert "token" not in running.url
    status, headers, _ = _get(running, path="/plotly.mjs")  # a page itself takes seconds
    assert status == 200
    assert "frame-ancestors 'self' https://demo.example" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--demo", "--data", "mine.parquet"], "shipped tables only"),
        (["--demo", "--schema", "mine.toml"], "shipped tables only"),
    ],
)
def test_a_demo_shows_no_table_of_ones_own(words, reason, capsys):
    assert main(words) == 1
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("origin", ["example.org", "https://a b", "https://a;script-src", "'none'"])
def test_a_frame_needs_an_origin(origin, capsys):
    with pytest.raises(SystemExit):
        main(["--frame-ancestors", origin])
    assert "must be an origin" in capsys.readouterr().err


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.split() == ["rashomon-explorer", rashomon_explorer.__version__]
