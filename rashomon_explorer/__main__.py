"""``python -m rashomon_explorer`` is the ``rashomon-explorer`` command."""

import sys

from rashomon_explorer.cli import main

if __name__ == "__main__":
    sys.exit(main())
