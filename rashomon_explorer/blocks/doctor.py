"""What a cluster's settings would break: rows that others can read, digits that differ."""

from collections.abc import Iterator
from shutil import disk_usage
from typing import Any

from rashomon_explorer.exceptions import ClusterError

_SECONDS = 10


def cluster_findings(scheduler: str | None = None) -> list[str]:
    """Look at Dask's settings here, and at a cluster's workers if an address is given.

    Parameters
    ----------
    scheduler : str, optional
        Address such as ``tls://cluster.example:8786``.

    Returns
    -------
    list of str
        What is wrong and what to do, a sentence each; empty if nothing was found.

    Raises
    ------
    ImportError
        If Dask is not installed.
    ClusterError
        If nobody answers at the address.
    """
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ImportError(
            "Dask is not installed: install rashomon-explorer[scale] to work on a cluster"
        ) from error
    found = list(_of_settings(lambda key: dask.config.get(key, None)))
    if scheduler is None:
        return found
    try:
        with distributed.Client(scheduler, timeout=_SECONDS, set_as_default=False) as client:
            return [*found, *_of_cluster(client.run(_told), scheduler)]
    except OSError as error:
        raise ClusterError(f"no scheduler answers at {scheduler}: {error}") from error


def _of_settings(setting: Any) -> Iterator[str]:
    if not setting("distributed.comm.require-encryption"):
        yield (
            "rows may travel in the clear: set distributed.comm.require-encryption to true, with "
            "certificates under distributed.comm.tls"
        )
    if setting("distributed.worker.memory.spill") is not False:
        yield (
            "workers spill rows to disk as they are when memory is short: set "
            "distributed.worker.memory.spill to false, or give them an encrypted folder "
            "(temporary-directory)"
        )


def _of_cluster(workers: dict[str, dict[str, Any]], scheduler: str) -> Iterator[str]:
    """Compare what each worker told, by address, with this process."""
    if not workers:
        yield f"the cluster at {scheduler} has no worker: sums would wait for one"
    here = {"here": _told(), **workers}
    if not scheduler.startswith(("tls://", "wss://", "inproc://")):
        yield f"{scheduler} is not encrypted: rows and sums can be read on the way, use tls://"
    for name, remedy in (
        ("package", "install the same version everywhere"),
        ("numpy", "install the same version everywhere, or sums differ in their last digits"),
        ("kernels", "use machines of one kind, or sums differ in their last digits"),
    ):
        told = {str(worker[name]) for worker in here.values()}
        if len(told) > 1:
            yield f"{name} differs between this process and the workers ({sorted(told)}): {remedy}"
    short = sorted({worker["disk"] for worker in workers.values() if worker["disk"]})
    if short:
        yield (
            f"workers spill to disks that leave {' or '.join(short)}: when both are full they "
            "pause, and work ends in a ClusterError after minutes. Make room, or set "
            "distributed.worker.memory.spill and target to false"
        )
    if any(worker["blas"] != [1] for worker in workers.values()):
        yield (
            "workers let BLAS use several threads, which decide the last digits of sums: set "
            "OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1 there"
        )


def _told(dask_worker: Any = None) -> dict[str, Any]:
    """Tell of this process what decides digits, and of a worker's disk; nothing of a row."""
    from importlib.metadata import version

    import numpy as np
    from threadpoolctl import threadpool_info

    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "package": version("rashomon-explorer"),
        "numpy": np.__version__,
        "kernels": sorted({pool.get("architecture") for pool in blas}),
        "blas": sorted({pool["num_threads"] for pool in blas}),
        "disk": "" if dask_worker is None else _short_disk(dask_worker),
    }


def _short_disk(worker: Any) -> str:
    """Say what a worker's disk leaves of its memory to be spilled, where it is not all of it."""
    if not hasattr(worker.data, "slow"):  # it never spills
        return ""
    left, most = disk_usage(worker.local_directory).free, worker.memory_manager.memory_limit
    return f"{left >> 20:,} MiB for {most >> 20:,} MiB of memory" if left < most else ""
