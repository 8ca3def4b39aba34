"""Work in the background: only the newest answer is shown, and what changed is found again."""

import asyncio
import threading
from types import SimpleNamespace

from rashomon_explorer.explorer.background import LatestTask, LazyUpdate


def test_an_older_answer_that_comes_later_is_not_shown():
    async def asked():
        newest, shown, go = LatestTask(), [], threading.Event()
        newest.do(lambda: go.wait(60) and "old", shown.append)
        older = newest._task
        newest.do(lambda: "new", shown.append)
        await newest._task
        go.set()
        await older
        return shown

    assert asyncio.run(asked()) == ["new"]


def test_what_changed_while_it_was_found_is_found_again():
    async def looked():
        state = SimpleNamespace(
            page="people", view="curator", busy=False, data=None, observe=lambda *_: None
        )
        found, shown = [], []

        def find():
            found.append(len(found))
            if len(found) == 1:
                loop.call_soon_threadsafe(update.mark)
            return found[-1]

        loop = asyncio.get_running_loop()
        update = LazyUpdate(state, [], "people", find, shown.append)
        update.mark()
        while len(shown) < 2:
            await asyncio.wait_for(update._task, 60)
            assert update._task.done() and len(shown) == 2
        return shown

    assert asyncio.run(looked()) == [0, 1]
