"""Run the ``rashomon-explorer`` command by ``python -m rashomon_explorer``."""

import sys

from rashomon_explorer.cli import main

if __name__ == "__main__":
    sys.exit(main())
