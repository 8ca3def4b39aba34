"""A program that waited long for its page is not ended while the page is being loaded."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from rashomon_explorer._utils.assets import asset_path
from rashomon_explorer.server.kernels import PatientKernels

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)


def _idle(kind):
    class Held(kind):
        def list_kernel_ids(self):
            return list(self._kernels)

        async def shutdown_kernel(self, kernel_id, **_):
            self._kernels.pop(kernel_id)

    manager = Held(cull_idle_timeout=120)
    kernel = SimpleNamespace(
        last_activity=LONG_AGO,
        execution_state="idle",
        kernel_name="python3",
        kernel_spec=SimpleNamespace(metadata={}),
    )
    manager._kernels = {"one": kernel}
    manager._kernel_connections = {}
    return manager, kernel


@pytest.mark.parametrize(("kind", "left"), [(PatientKernels, 1), (AsyncMappingKernelManager, 0)])
def test_idle_time_begins_when_a_program_is_given_to_its_page(kind, left):
    manager, _ = _idle(kind)
    asyncio.run(manager.cull_kernel_if_idle("one"))
    assert len(manager._kernels) == left


def test_a_page_that_was_left_is_ended_all_the_same():
    manager, kernel = _idle(PatientKernels)
    asyncio.run(manager.cull_kernel_if_idle("one"))
    kernel.last_activity = LONG_AGO
    asyncio.run(manager.cull_kernel_if_idle("one"))
    assert not manager._kernels


def test_the_dashboard_is_told_to_use_it():
    told = (asset_path("apps") / "voila.json").read_text(encoding="utf-8")
    assert f"{PatientKernels.__module__}.{PatientKernels.__name__}" in told


def _begins(kernel_id):
    class Started(PatientKernels):
        def list_kernel_ids(self):
            return list(self._kernels)

    async def start(self, *_, **__):
        self._kernels[kernel_id] = None
        return kernel_id

    return Started(), start


def test_a_page_counts_although_the_next_program_has_not_begun(monkeypatch):
    """Voilà waits a second before it starts another: one program and one task, yet one page."""
    manager, start = _begins("one")
    monkeypatch.setattr(AsyncMappingKernelManager, "start_kernel", start)
    manager._kernels = {}

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
    manager, start = _begins("one")
    monkeypatch.setattr(AsyncMappingKernelManager, "start_kernel", start)

    async def scenario():
        kept = asyncio.ensure_future(asyncio.Event().wait())
        waits = asyncio.ensure_future(manager.begun([kept]))
        await asyncio.sleep(0.05)
        assert not waits.done()
        manager._kernels = {}
        await manager.start_kernel()
        await asyncio.wait_for(waits, 5)
        await asyncio.wait_for(manager.begun([kept]), 5)
        kept.cancel()

    asyncio.run(scenario())


def test_nobody_waits_for_a_program_that_could_not_begin():
    async def scenario():
        manager = PatientKernels()
        failed = asyncio.get_running_loop().create_future()
        failed.set_result(None)
        for waiting in ([], [failed]):
            await asyncio.wait_for(manager.begun(waiting), 5)

    asyncio.run(scenario())
