"""Installs the LogProfiles that come with the product: Helm cannot, in one release with the CRD that they need.

Each is applied once after a start, so an upgrade brings new ones and what a user changes meanwhile stays until then.
"""

from __future__ import annotations

import logging
from pathlib import Path

import yaml

from certs.api import APPLY, Api

LOG_PROFILES = "/apis/cre.nvidia.com/v1alpha1/logprofiles"

log = logging.getLogger(__name__)


class ProfileInstaller:
    """Applies the files of a folder, one LogProfile each, until all are there."""

    def __init__(self, api: Api, folder: Path | None) -> None:
        self._api = api
        self._left = sorted(folder.glob("*.yaml")) if folder else []

    def install(self) -> bool:
        """Apply what is left, and tell whether anything was. Raises ApiError at the first that is refused."""
        began = bool(self._left)
        while self._left:
            profile = yaml.safe_load(self._left[0].read_text("utf-8"))
            name = profile["metadata"]["name"]
            self._api.patch(f"{LOG_PROFILES}/{name}", profile, APPLY)
            log.info("LogProfile %s is installed", name)
            del self._left[0]
        return began
