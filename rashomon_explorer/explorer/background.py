"""Slow work of the page in worker threads, and updates that wait until an action ends."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial, wraps
from typing import Any, TypeVar, cast

from rashomon_explorer._utils.progress import ChainState
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.state import EPOCH, Epoch, ExplorerState

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])

FRAMES_A_SECOND = 12  # of figures that follow a slider or a running path


def has_event_loop() -> bool:
    """Whether an event loop is running; a script has none, and work then runs at once."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def in_page_loop(act: Callable[..., object]) -> Callable[..., object]:
    """Return a function that does ``act`` in the loop of this thread, from any thread."""
    if not has_event_loop():
        return act
    return partial(asyncio.get_running_loop().call_soon_threadsafe, act)


_MOST_LOOKS = 400


def chain_observer(state: ExplorerState) -> Callable[[ChainState], None]:
    """Return a function that shows looks at running chains in the state, from any thread."""
    publish = in_page_loop(partial(setattr, state, "chains"))
    looks: list[ChainState] = []
    state.chains = ()

    def show(look: ChainState) -> None:
        if looks and look.step < looks[-1].step:  # the next chain of several, as of each class
            looks.clear()
        if len(looks) >= _MOST_LOOKS:
            del looks[1::2]
        looks.append(look)
        publish(tuple(looks))

    return show


class BackgroundTask:
    """Slow work in a worker thread, or as a coroutine; the newest result counts."""

    def __init__(
        self,
        what: str,
        failed: Callable[[Exception], object] | None = None,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        log = partial(LOGGER.error, "%s failed", what)
        self.failed = failed or (lambda error: log(exc_info=error))
        self._changed = changed
        self._newest = 0
        self.running = False
        self.task: asyncio.Task[None] | None = None

    def start(self, work: Callable[[], T], show: Callable[[T], object]) -> None:
        """Pass the result of ``work`` to ``show`` unless superseded; at once without a loop."""
        if self.spawn(partial(asyncio.to_thread, work), show):
            return
        self._newest += 1
        self._set_running(True)
        try:
            show(work())
        finally:
            self._set_running(False)

    def spawn(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        show: Callable[[T], object] = lambda result: None,
    ) -> bool:
        """Run a coroutine in the event loop; return False without a call if there is none."""
        if not has_event_loop():
            return False
        self._newest += 1
        self._set_running(True)
        self.task = asyncio.create_task(self._run(self._newest, work, show))
        return True

    async def wait_until_idle(self) -> None:
        while self.running:
            await asyncio.sleep(0.01)

    def drop(self) -> None:
        self._newest += 1
        self._set_running(False)

    def repeat(
        self,
        state: ExplorerState,
        needs: Sequence[str],
        page: str,
        find: Callable[[], Any],
        show: Callable[[Any], object],
        withdraw: Callable[[], object] = lambda: None,
    ) -> Callable[[], None]:
        """Show a result, or its error, again when ``needs`` change and the view is visible."""
        outdated = True

        def show_current(epoch: Epoch, result: Any) -> None:
            if epoch == state.epoch:
                show(result)

        def start_if_needed(_change: object = None) -> None:
            nonlocal outdated
            visible = state.page == page or state.view == "release"
            if outdated and visible and not state.busy and not self.running:
                outdated = False
                self.start(partial(self._attempt, find), partial(show_current, state.epoch))

        def leave(_change: object) -> None:  # a result of another view, table or set is dropped
            withdraw()
            mark()

        def mark(_change: object = None) -> None:
            nonlocal outdated
            outdated = True
            start_if_needed()

        self._changed = start_if_needed
        state.observe(leave, [*EPOCH])
        state.observe(mark, [*needs])
        state.observe(start_if_needed, ["page", "phase"])
        return mark

    async def _run(
        self, number: int, work: Callable[[], Coroutine[Any, Any, T]], show: Callable[[T], object]
    ) -> None:
        try:
            result = await work()
            if number == self._newest:
                show(result)
        except Exception as error:
            self.failed(error)
        finally:
            if self._newest == number:
                self._set_running(False)

    def _attempt(self, find: Callable[[], Any]) -> Any:
        try:
            return find()
        except Exception as error:
            if not isinstance(error, DataError):  # whose message is shown to the user
                self.failed(error)
            return error

    def _set_running(self, running: bool) -> None:
        self.running = running
        self._changed()


def batch_updates(act: Method) -> Method:
    """Decorate a method to run inside its owner's ``together``, which delays redraws."""

    @wraps(act)
    def batched(owner: Any, /, *args: Any, **kwargs: Any) -> Any:
        with owner.together():
            return act(owner, *args, **kwargs)

    return cast(Method, batched)
