"""How long a cluster's workers have got nowhere."""

import time
from collections.abc import Iterable

_STEADY_SECONDS = 60.0  # from which on a worker is taken to be at work, and not to be restarting
_UNPROVEN_SECONDS = 100.0  # for workers that came and have never finished a task


class ClusterWatch:
    """Time since a cluster got on with its work, over as many tries as that takes.

    A worker that runs on gets on, however long its task takes, and so does a task that ends. A
    worker that dies and starts again and again does not: its address is another one every time.

    Parameters
    ----------
    patience : float
        Seconds that the cluster may get nowhere.
    proven : bool
        Whether its workers have finished a task before.
    """

    def __init__(self, patience: float, *, proven: bool) -> None:
        self._patience, self._proven = patience, proven
        self._steady = min(_STEADY_SECONDS, patience / 3)
        self._since: dict[str, float] = {}
        self._finished = 0
        self._last = time.monotonic()
        self.met = False

    def look(self, running: Iterable[str], finished: int = 0) -> None:
        """Note which workers run, by address, and how many tasks of this try are finished."""
        now = time.monotonic()
        self._since = {address: self._since.get(address, now) for address in running}
        self.met |= bool(self._since)
        if any(now - since >= self._steady for since in self._since.values()):
            self.reset()
        if finished > self._finished:
            self._proven = True
            self.reset()
        self._finished = finished

    def reset(self) -> None:
        """Note that the cluster got on just now."""
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds for which to wait on; negative when it is over."""
        soon = self.met and not self._proven
        most = min(self._patience, _UNPROVEN_SECONDS) if soon else self._patience
        return self._last + most - time.monotonic()
