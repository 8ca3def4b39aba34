"""Server of the dashboard: address, authentication and proxies."""

import sys
from types import ModuleType
from typing import cast

# Keeps an optional dependency of Voilà from being imported, if it is not loaded yet. Its grammars
# are not needed here, and building them takes longer than all other imports.
sys.modules.setdefault("rfc3987_syntax", cast(ModuleType, None))
