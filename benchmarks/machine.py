"""What the measurements were made on."""

import os
import platform
from importlib.metadata import version
from typing import Any


def machine() -> dict[str, Any]:
    """Cores, interpreter and the versions that decide the speed."""
    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }
