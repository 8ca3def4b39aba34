"""Work in the background: only the newest result is shown, and outdated work is repeated."""

import asyncio
import threading

import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.background import BackgroundTask
from rashomon_explorer.explorer.state import ExplorerState


def test_an_older_result_that_comes_later_is_not_shown():
    async def scenario():
        task, shown, go = BackgroundTask("it"), [], threading.Event()
        task.start(lambda: go.wait(60) and "old", shown.append)
        older = task.task
        task.start(lambda: "new", shown.append)
        await task.task
        assert not task.running
        go.set()
        await older
        return shown

    assert asyncio.run(scenario()) == ["new"]


@pytest.mark.parametrize("loop", [True, False])
def test_an_error_reaches_the_boundary_and_the_task_ends(loop):
    """In a worker it goes to ``failed``; without a loop it is raised where the work was started."""
    failed, changes = [], []
    task = BackgroundTask("it", failed.append, lambda: changes.append(task.running))

    async def scenario():
        task.start(lambda: 1 / 0, failed.append)
        await task.task

    if loop:
        asyncio.run(scenario())
        assert [type(error) for error in failed] == [ZeroDivisionError]
    else:
        with pytest.raises(ZeroDivisionError):
            task.start(lambda: 1 / 0, failed.append)
        assert not failed
    assert changes == [True, False]


def test_what_changed_while_it_was_computed_is_computed_again():
    async def scenario():
        found, shown, state = [], [], ExplorerState(page="people")

        def find():
            found.append(len(found))
            if len(found) == 1:
                loop.call_soon_threadsafe(mark)
            return found[-1]

        loop, task = asyncio.get_running_loop(), BackgroundTask("it")
        mark = task.repeat(state, [], "people", find, shown.append)
        mark()
        while len(shown) < 2:
            await asyncio.wait_for(task.task, 60)
        return shown

    assert asyncio.run(scenario()) == [0, 1]


def test_work_of_a_panel_is_done_where_somebody_looks_and_shows_errors_in_place(caplog):
    state, shown = ExplorerState(), []

    def find():
        if state.psi == 1.0:
            raise DataError("no rows")
        return 1 / state.psi

    task = BackgroundTask("it")
    task.repeat(state, ["psi"], "people", find, shown.append)
    state.psi = 0.5
    assert not shown
    state.page = "people"
    assert shown == [2.0]
    state.psi = 1.0
    assert str(shown[-1]) == "no rows" and not caplog.records  # an explanation
    state.psi = 0.0
    assert isinstance(shown[-1], ZeroDivisionError) and len(caplog.records) == 1

    async def looked():
        state.psi = 0.25
        while task.task is None or not task.task.done():
            await asyncio.sleep(0.01)

    asyncio.run(looked())
    assert shown[-1] == 4.0
