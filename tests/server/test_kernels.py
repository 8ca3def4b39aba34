"""Kernels and their lines: a page is waited for, counted, and not ended while it is loading."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from rashomon_explorer._utils.assets import asset_path
from rashomon_explorer.server.serving import LimitedPages, PatientKernels

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
CONFIGURED = json.loads((asset_path("apps") / "voila.json").read_text(encoding="utf-8"))


def _manager(kind, monkeypatch):
    """A manager of kernels that are only noted."""

    async def start(self, *_, **__):
        self._kernels["one"] = None
        return "one"

    async def end(self, kernel_id, **_):
        self._kernels.pop(kernel_id)

    monkeypatch.setattr(AsyncMappingKernelManager, "start_kernel", start)
    monkeypatch.setattr(kind, "list_kernel_ids", lambda self: list(self._kernels))
    monkeypatch.setattr(kind, "shutdown_kernel", end)
    manager = kind(cull_idle_timeout=120)
    manager._kernels, manager._kernel_connections = {}, {}
    return manager


@pytest.mark.parametrize(("kind", "left"), [(PatientKernels, 1), (AsyncMappingKernelManager, 0)])
def test_idle_time_begins_when_a_program_is_given_to_its_page(kind, left, monkeypatch):
    manager = _manager(kind, monkeypatch)
    spec = SimpleNamespace(metadata={})
    kernel = SimpleNamespace(kernel_name="python3", kernel_spec=spec, execution_state="idle")
    kernel.last_activity, manager._kernels["one"] = LONG_AGO, kernel
    asyncio.run(manager.cull_kernel_if_idle("one"))
    assert len(manager._kernels) == left
    if left:  # a page that was left is ended all the same
        kernel.last_activity = LONG_AGO
        asyncio.run(manager.cull_kernel_if_idle("one"))
        assert not manager._kernels


def test_a_page_counts_although_the_next_program_has_not_begun(monkeypatch):
    """Voilà waits a second before it starts another: one program and one task, yet one page."""
    manager = _manager(PatientKernels, monkeypatch)

    async def visit():
        begun = asyncio.create_task(manager.start_kernel())
        await begun
        assert manager.pages([begun]) == []
        later = asyncio.create_task(asyncio.sleep(10))
        assert manager.pages([later]) == ["one"]
        later.cancel()

    asyncio.run(visit())


def test_a_page_that_comes_first_waits_for_the_program_that_is_being_started(monkeypatch):
    """It gets that one: Voilà would start a second beside it, which takes half of the cores."""
    manager = _manager(PatientKernels, monkeypatch)

    async def scenario():
        failed = asyncio.get_running_loop().create_future()
        failed.set_result(None)
        for waiting in ([], [failed]):  # nobody waits for a program that could not begin
            await asyncio.wait_for(manager.begun(waiting), 5)
        kept = asyncio.ensure_future(asyncio.Event().wait())
        waits = asyncio.ensure_future(manager.begun([kept]))
        await asyncio.sleep(0.05)
        assert not waits.done()
        await manager.start_kernel()
        await asyncio.wait_for(waits, 5)
        await asyncio.wait_for(manager.begun([kept]), 5)
        kept.cancel()

    asyncio.run(scenario())


def test_a_line_is_given_up_after_several_pings_without_an_answer_and_not_after_the_first():
    # Pongs are looked at when the next ping is due. A timeout of one interval is over by then,
    # however fast they came: every page lost its line every 30 s, and what was clicked meanwhile.
    from jupyter_server.base.websocket import WebSocketMixin  # takes a second

    assert f"{PatientKernels.__module__}.{PatientKernels.__name__}" in json.dumps(CONFIGURED)
    line = WebSocketMixin()
    line.settings = CONFIGURED["Voila"]["tornado_settings"]
    assert line.ping_timeout >= 3 * line.ping_interval > 0


@pytest.mark.law
def test_a_page_is_waited_for_on_a_busy_machine():
    # After four seconds Voilà took what had come for all, and the first page stayed empty.
    from voila.execute import VoilaExecutor

    waits = VoilaExecutor(None, **CONFIGURED["VoilaExecutor"])
    assert waits.iopub_timeout >= 300 and waits.startup_timeout >= 300
    assert VoilaExecutor(None).iopub_timeout < 60  # what is to be outdone


def test_no_more_pages_open_than_are_allowed():
    answer = {}
    page = SimpleNamespace(
        current_user="visitor",
        request=SimpleNamespace(query_arguments={}),
        settings={"most_pages": 3},
        _open=lambda: 3,
        set_status=lambda status: answer.update(status=status),
        set_header=lambda *header: answer.update([header]),
        finish=lambda body: answer.update(body=body),
    )
    asyncio.run(LimitedPages.get(page))
    assert answer["status"] == 503 and "3" in answer["body"] and answer["Retry-After"]


def test_the_token_leaves_the_address_and_other_parameters_stay():
    page = SimpleNamespace(request=SimpleNamespace(query="token=secret&theme=dark", path="/"))
    assert LimitedPages._without_token(page) == "/?theme=dark"
