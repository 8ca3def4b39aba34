"""A process that has the libraries loaded and forks for each run of tests.

Loading numpy, scipy and scikit-learn takes longer than most of the tests that notice something.
"""

import importlib
import os
import sys
from typing import NoReturn

_INTERNAL_ERROR = 3
# Not hypothesis: pytest rewrites its assertions when it loads it itself.
_HEAVY = (
    "numpy",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "pandas",
    "sklearn.base",
    "sklearn.linear_model",
    "sklearn.pipeline",
    "sklearn.utils.validation",
    "threadpoolctl",
    "pytest",
)


def main() -> None:
    """For each line, a test's path, run it in a child and print the exit status."""
    for name in _HEAVY:
        importlib.import_module(name)
    sys.path.insert(0, os.getcwd())
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _end(line.strip())
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _end(test: str) -> NoReturn:
    """Run and leave, whatever happens: what breaks pytest itself has caught nothing."""
    ended = _INTERNAL_ERROR
    try:
        ended = _run(test)
    finally:
        os._exit(ended)


def _run(test: str) -> int:
    import pytest

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", test]))


if __name__ == "__main__":
    main()
