"""Memory limits of this process and its current use of them."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path
from typing import NamedTuple

_GROUPS = (  # root of a container's group, its limit, its usage, and its page-cache entries
    ("/sys/fs/cgroup", "memory.max", "memory.current", ("inactive_file", "active_file")),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
)
_MEMBER = Path("/proc/self/cgroup")  # groups of this process
_ADDRESSES = "ulimit -v"
_NOBODY_SAYS = 2**60  # older kernels report no limit as a large number
_STATUS, _MACHINE = Path("/proc/self/status"), Path("/proc/meminfo")


class MemoryLimit(NamedTuple):
    """A memory limit of this process, and its current use."""

    name: str
    allowed: int
    used: int
    is_process: bool

    @property
    def left(self) -> int:
        """Bytes that may still be allocated."""
        return max(0, self.allowed - self.used)


def memory_limits() -> list[MemoryLimit]:
    """Limits of this process, ``ulimit -v`` and ``ulimit -d``, and of its container."""
    return [*_process_limits(), *_container_limits()]


def spare_addresses() -> None:
    """Under ``ulimit -v``, make Arrow use the system allocator if it is not imported yet."""
    if "pyarrow" not in sys.modules and any(
        limit.name == _ADDRESSES for limit in _process_limits()
    ):
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _process_limits() -> Iterator[MemoryLimit]:
    try:
        import resource
    except ImportError:  # on Windows and in a browser
        return

    for kind, name, line in (
        (resource.RLIMIT_AS, _ADDRESSES, "VmSize"),
        (resource.RLIMIT_DATA, "ulimit -d", "VmData"),
    ):
        soft = resource.getrlimit(kind)[0]
        if soft != resource.RLIM_INFINITY:
            yield MemoryLimit(name, soft, _status_bytes(line), is_process=True)


def _container_limits() -> Iterator[MemoryLimit]:
    for root, limit_file, current, files in _GROUPS:
        for folder in _groups_within(root):
            try:
                limit = (folder / limit_file).read_text().strip()
                if not limit.isdigit() or int(limit) >= _NOBODY_SAYS:
                    continue
                used = int((folder / current).read_text())
                lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
                cached = sum(int(size) for name, size in lines if name in files)
            except OSError:
                continue
            yield MemoryLimit("the container", int(limit), max(0, used - cached), is_process=False)


def _groups_within(root: str) -> list[Path]:
    """Return the groups of this process below a root, and the root; all their limits apply."""
    try:
        lines = [line.split(":", 2) for line in _MEMBER.read_text().splitlines()]
    except OSError:
        lines = []
    folders = [Path(root)]
    for _, kinds, path in (line for line in lines if len(line) == 3):
        if kinds in ("", "memory"):  # the unified hierarchy, or the older one for memory
            group = Path(path.strip("/"))
            folders += [Path(root, part) for part in (group, *group.parents) if part != Path()]
    return folders


def free_memory() -> int:
    """Bytes of the machine's memory that programs may still take; 0 if unknown."""
    return _status_bytes("MemAvailable", _MACHINE)


def _status_bytes(name: str, path: Path | None = None) -> int:
    """Bytes in a line of a status file on Linux, the process's by default; 0 on other systems."""
    try:
        lines = (path or _STATUS).read_text().splitlines()
    except OSError:
        return 0
    sizes = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(next(sizes, "0")) * 1024


def release_freed_memory() -> None:
    """Return memory that was freed to the operating system; glibc keeps it otherwise."""
    with suppress(OSError, AttributeError):  # another C library, such as that of macOS
        CDLL(None).malloc_trim(0)
