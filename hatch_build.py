"""Build hook: the README in the package's metadata, with absolute links."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ReadmeHook(MetadataHookInterface):
    """Point relative links and pictures of README.md to the repository, for package indexes."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field ``readme``."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        for kind, pattern in (("raw", r"(!\[[^]]*\]\()"), ("blob", r"((?<!!)\[[^]]*\]\()")):
            address = f"{metadata['urls']['Homepage']}/{kind}/main/"
            text = re.sub(rf"{pattern}(?![a-z]+:|#)", rf"\g<1>{address}", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
