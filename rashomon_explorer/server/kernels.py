"""Kernel manager: kernels assigned to pages, and shutdown of idle kernels."""

from asyncio import Task, current_task, sleep
from datetime import UTC, datetime
from typing import Any
from weakref import ReferenceType, ref

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

_MOMENT = 0.02  # seconds


class PatientKernels(AsyncMappingKernelManager):
    """Kernel manager that ends idle kernels, with idle time from the first check on."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._asked_about: set[str] = set()
        self._started_by: dict[str, ReferenceType[Task[Any]] | None] = {}

    async def start_kernel(self, *args: Any, **options: Any) -> str:  # type: ignore[override]
        """Start a kernel and record its task, which Voilà's pool holds until assignment."""
        task = current_task()
        kernel_id = str(await super().start_kernel(*args, **options))
        known = {name: by for name, by in self._started_by.items() if name in self._kernels}
        self._started_by = {**known, kernel_id: None if task is None else ref(task)}
        return kernel_id

    def pages(self, waiting: list[Task[Any]]) -> list[str]:
        """Ids of the kernels assigned to a page: not started by a task in ``waiting``."""
        starting_tasks = {name: by() for name, by in self._started_by.items() if by is not None}
        return [name for name in self.list_kernel_ids() if starting_tasks.get(name) not in waiting]

    async def begun(self, waiting: list[Task[Any]]) -> None:
        """Wait until the first spare kernel has started or failed."""
        while waiting and not self._started_by and not any(task.done() for task in waiting):
            await sleep(_MOMENT)

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """End the kernel if it is idle; idle time starts at the first call for it."""
        if kernel_id not in self._asked_about:
            self._asked_about.intersection_update(self.list_kernel_ids())
            self._asked_about.add(kernel_id)
            self._kernels[kernel_id].last_activity = datetime.now(UTC)
        await super().cull_kernel_if_idle(kernel_id)
