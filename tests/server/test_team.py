"""The container and the proxies of docs/team.md without either, and the scripts that are sent."""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import yaml
from voila.paths import collect_static_paths

from rashomon_explorer.cli import _parser
from rashomon_explorer.server.serving import joined_parts, packed_files, packed_plotly
from rashomon_explorer.server.settings import TOKEN_VARIABLE, proxied_dashboard, take_token
from tests.conftest import free_port
from tests.patience import until

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
LINES = [
    line.split(maxsplit=1)
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def _said(word):
    return [rest for name, rest in LINES if name == word]


def test_the_container_is_given_what_the_wheel_is_made_of():
    copies = [words for words in _said("COPY") if not words.startswith("--from=build ")]
    copied = {name for words in copies for name in shlex.split(words)[:-1]}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", "constraints.txt", *wheel["only-include"], *wheel["force-include"]}
    assert needed | {"README.md", "LICENSE", "hatch_build.py"} == copied
    assert all((ROOT / name).exists() for name in copied)


def test_the_container_starts_what_the_command_understands_and_not_as_root():
    program, *words = json.loads(_said("ENTRYPOINT")[0])
    options = _parser().parse_args(words)
    assert program == "rashomon-explorer"
    assert (options.ip, str(options.port)) == ("0.0.0.0", _said("EXPOSE")[0])
    assert not options.no_token and not options.any_host
    assert _said("USER") == ["1000"]
    assert _said("VOLUME") == [_said("WORKDIR")[-1]]
    names = [name for name, _ in LINES]
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_compose_keeps_the_ledgers_and_needs_a_token():
    service = COMPOSE["services"]["explorer"]
    program = json.loads(_said("ENTRYPOINT")[0])
    options = _parser().parse_args([*program[1:], *service["command"]])
    assert options.any_host and options.base_url == "/explorer/"
    assert service["environment"][TOKEN_VARIABLE].startswith(f"${{{TOKEN_VARIABLE}:?")
    (volume,) = COMPOSE["volumes"]
    assert service["volumes"] == [f"{volume}:{_said('VOLUME')[0]}"]
    assert service["ports"] == [f"127.0.0.1:{options.port}:{options.port}"]


def test_the_demo_of_compose_keeps_nothing_and_may_be_framed():
    service = COMPOSE["services"]["demo"]
    program = json.loads(_said("ENTRYPOINT")[0])
    command = [re.sub(r"\$\{\w+:-(.*)\}", r"\1", word) for word in service["command"]]
    options = _parser().parse_args([*program[1:], *command])
    assert options.demo and options.frame_ancestors == ["https://example.org"]
    assert service["profiles"] == ["demo"]  # it starts by name only
    assert service["read_only"] and service["tmpfs"] == ["/tmp"] and "volumes" not in service


def test_the_base_of_the_container_is_pinned():
    (base,) = _said("ARG")
    assert re.fullmatch(r"PYTHON=python:3\.\d+-slim@sha256:[0-9a-f]{64}", base)
    assert [line.split()[0] for line in _said("FROM")] == ["${PYTHON}", "${PYTHON}"]


def test_a_token_of_ones_own_is_taken_out_of_sight(monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, "mine")
    assert take_token() == ("mine", False)
    token, new = take_token()
    assert new and len(token) == 32 and token != take_token()[0]


def test_a_jupyter_server_finds_the_dashboard_and_shares_a_secret_with_it():
    points = PROJECT["project"]["entry-points"]["jupyter_serverproxy_servers"]
    place = EntryPoint("rashomon-explorer", points["rashomon-explorer"], "")
    assert place.load() is proxied_dashboard
    first, second = proxied_dashboard(), proxied_dashboard()
    token = first["environment"][TOKEN_VARIABLE]
    assert first["request_headers_override"] == {"Authorization": f"token {token}"}
    assert token != second["environment"][TOKEN_VARIABLE] and len(token) == 32
    filled = [word.format(port=1234, base_url="/user/ann/") for word in first["command"]]
    assert filled[0] == sys.executable
    options = _parser().parse_args(filled[3:])
    assert options.any_host and options.base_url == "/user/ann/rashomon-explorer/"
    assert token not in " ".join(first["command"])


def _is_healthy(port):
    (words,) = [words for words in _said("HEALTHCHECK") if "CMD" in words]
    program, *arguments = json.loads(words.partition("CMD")[2])
    assert program == "python"
    arguments = [word.replace("8866", str(port)) for word in arguments]
    return subprocess.run([sys.executable, *arguments], capture_output=True).returncode == 0


def test_behind_a_proxy_the_secret_opens_and_the_folder_is_kept(start_dashboard, tmp_path):
    """No home folder is needed there, and two interrupts are no worse than one."""
    from tests.server.test_cli import _get

    (tmp_path / "file").touch()
    words = ["--no-browser", "--any-host", "--base-url", "/user/ann/x/", "--most-pages", "1"]
    environment = {TOKEN_VARIABLE: "secret" * 4, "HOME": str(tmp_path / "file" / "home")}
    running = start_dashboard(tmp_path / "home", *words, environment=environment)
    assert running.url.endswith("/user/ann/x/")
    asked = {"Host": "hub.example", "Authorization": f"token {'secret' * 4}"}
    for refused in ({**asked, "Authorization": "token other"}, {"Host": "hub.example"}):
        status, headers, _ = _get(running, refused, "/user/ann/x/")
        assert status == 302 and headers["Location"].startswith("/user/ann/x/login")
        for name in packed_files(()):
            assert _get(running, refused, f"/user/ann/x/{name}")[0] == 302
    assert _is_healthy(running.port)
    known = {**asked, "If-None-Match": packed_plotly()[1]}
    assert _get(running, known, "/user/ann/x/plotly.mjs")[0] == 304
    status, _, page = _get(running, asked, "/user/ann/x/")
    assert status == 200 and "/user/ann/x/voila" in page and "secret" not in page
    assert 'href="/user/ann/x/plotly.mjs"' in page
    assert page.index('src="/user/ann/x/voila-parts.js"') < page.index("voila/static/voila.js")
    status, headers, _ = _get(running, asked, "/user/ann/x/?token=theirs")
    assert (status, headers["Location"]) == (302, "/user/ann/x/")
    status, headers, page = _get(running, asked, "/user/ann/x/")
    assert status == 503 and "the number of open pages to 1;" in page
    assert headers["Retry-After"] == "120"
    # The server writes of a request after it has answered.
    until(lambda: "503 GET" in running.log(), "the refusal to be in the log", running.log)
    kernels, told = running.kernels(), running.log()
    running.process.send_signal(signal.SIGTERM)
    time.sleep(0.05)
    assert running.stop() == 0
    assert running.log() == told
    assert not [kernel for kernel in kernels if kernel.is_running()]
    assert not _is_healthy(free_port())


STRICT = '"use strict";push([[7,8],{7:(e)=>{e.seven=1}}]);//# sourceMappingURL=7.map'


def _put(folder, files):
    folder.mkdir()
    for name, code in files.items():
        (folder / name).write_text(code)
    return folder


def test_parts_are_those_that_the_first_script_names(tmp_path):
    """Once each; what has no file is shared between bundles, and what is not named waits."""
    main = "Promise.all([r.e(7),r.e(9),x.e(7)]),x.e(11)"
    own = _put(tmp_path / "own", {"voila.js": main, "11.voila.js": "own()"})
    codes = {7: STRICT, 9: "nine()", 10: "ten()", 11: "base()"}
    base = _put(tmp_path / "base", {f"{name}.voila.js": code for name, code in codes.items()})
    joined = joined_parts([own, base]).decode()
    assert joined == f"(()=>{{{STRICT}\n}})();\n(()=>{{nine()\n}})();\n(()=>{{own()\n}})();\n"
    assert joined_parts([base]) == b"" == joined_parts([])


def test_the_installed_scripts_are_of_the_kind_that_is_known():
    """Fails where Voilà builds its scripts in another way: pages ask for sixty files then."""
    folders = collect_static_paths(["voila", "nbconvert"], "lab")
    joined = joined_parts(folders)
    assert len(re.findall(rb"\n\}\)\(\);\n", joined)) > 40
    assert len(re.findall(rb"webpackChunk_JUPYTERLAB_CORE_OUTPUT\|\|\[\]\)\.push", joined)) > 40
