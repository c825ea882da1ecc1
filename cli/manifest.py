"""Objects written as YAML for people to read and for `kubectl apply`: every part where it stands, no anchors."""

from __future__ import annotations

from typing import Any

import yaml


class _Dumper(yaml.CSafeDumper):
    """Writes a part that stands in several places in each of them."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML's signature
        """Tell that nothing is ever written as an alias."""
        return True


def yaml_of(document: Any, width: int = 120) -> str:
    """Return a document as YAML in block style, keys in their own order."""
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width)
    return text
