"""Installs the LogProfiles that come with the product: Helm cannot, in one release with the CRD that they need.

Each is applied once after a start, so an upgrade brings new ones. One whose spec somebody else has changed, as the API
server's record of field managers says, is theirs and stays as it is.
"""

from __future__ import annotations

import logging
from pathlib import Path

import yaml

from certs.api import APPLY, FIELD_MANAGER, NOT_FOUND, Api, ApiError, Object

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
            self._install(yaml.safe_load(self._left[0].read_text("utf-8")))
            del self._left[0]
        return began

    def _install(self, profile: Object) -> None:
        name = profile["metadata"]["name"]
        path = f"{LOG_PROFILES}/{name}"
        if others := self._changed_by(path):
            log.info("LogProfile %s is left as %s made it", name, ", ".join(others))
            return
        self._api.patch(path, profile, APPLY)
        log.info("LogProfile %s is installed", name)

    def _changed_by(self, path: str) -> list[str]:
        """Name the others who have written the spec of what is there."""
        try:
            managed = self._api.get(path)["metadata"].get("managedFields", [])
        except ApiError as error:
            if error.status == NOT_FOUND:
                return []
            raise
        writers = {entry.get("manager", "somebody") for entry in managed if "f:spec" in entry.get("fieldsV1", {})}
        return sorted(writers - {FIELD_MANAGER})
