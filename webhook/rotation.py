"""The process beside the admission server: keeps certificates, tokens and shipped LogProfiles as they should be.

It alone of the pod has credentials for the API server, and nobody can send it anything. What goes wrong is logged once
and tried again at the next look, whatever it is; only settings that cannot be understood end it, at its start.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.api import Api, ApiError, ClusterApi
from certs.installation import Installation
from certs.replicas import ServiceReplicas
from certs.rotator import Rotator
from certs.settings import Settings
from webhook.profiles import ProfileInstaller
from webhook.settings import KUBECONFIG, TLS_DIR, SettingsError

SOURCES = ("own", "cert-manager")
INTERVAL_SECONDS = 10.0
SOON_SECONDS = 1.0  # after something was decided: the next stage may be due

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rotation:
    """All that the environment says of this process."""

    installation: Installation
    settings: Settings
    interval: float
    """Seconds between two looks."""
    profiles: Path | None
    """Folder of the LogProfiles that are installed, one a file; unset installs none."""
    kubeconfig: str | None


@dataclass(slots=True)
class Attempt:
    """A step that is done again and again: what went wrong may be over at the next, and is told once."""

    step: Callable[[], bool]
    _told: str = ""

    def __call__(self) -> bool:
        """Do the step and return its answer, or False where it did not come to an end."""
        try:
            answer = self.step()
        except (ApiError, OSError) as error:  # OSError: a full disk, a file that may not be read
            if self._is_news(error):
                log.warning("not done yet: %s", error)
            return False
        # A bug, or a Secret, a profile that nobody foresaw: seen by its traceback. To end would mend neither, and who
        # begins again has forgotten the credentials that it would put back.
        except Exception as error:
            if self._is_news(error):
                log.exception("not done yet")
            return False
        self._told = ""
        return answer

    def _is_news(self, error: Exception) -> bool:
        """Tell whether it is not what went wrong at the step before, too."""
        before, self._told = self._told, f"{type(error).__name__}: {error}"
        return self._told != before


def read_rotation(environment: Mapping[str, str]) -> Rotation:
    """Read the settings. Raises SettingsError."""
    source = environment.get("WORKLOADRUN_TLS_SOURCE", "own")
    if source not in SOURCES:
        raise SettingsError(f"WORKLOADRUN_TLS_SOURCE must be {' or '.join(SOURCES)}, not {source!r}")
    installation = _installation(environment, own=source == "own")
    profiles = environment.get("WORKLOADRUN_PROFILES_DIR")
    return Rotation(
        installation=installation,
        settings=_settings(environment, installation, own=source == "own"),
        interval=_number(environment, "WORKLOADRUN_INTERVAL_SECONDS", INTERVAL_SECONDS, least=0.1),
        profiles=Path(profiles) if profiles else None,
        kubeconfig=environment.get(KUBECONFIG) or None,
    )


def run(rotation: Rotation, api: Api, stop: threading.Event) -> None:
    """Look again and again until told to stop."""
    replicas = ServiceReplicas(api, rotation.installation)
    rotator = Rotator(api, rotation.installation, rotation.settings, replicas, clock=lambda: datetime.now(UTC))
    look, install = Attempt(rotator.look), Attempt(ProfileInstaller(api, rotation.profiles).install)
    while not stop.is_set():
        decided = look()
        install()
        stop.wait(min(SOON_SECONDS, rotation.interval) if decided else rotation.interval)


def main() -> None:
    """Run until SIGTERM; end with one line where the settings cannot be understood."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        rotation = read_rotation(os.environ)
    except SettingsError as error:
        sys.exit(f"error: {error}")
    stop = threading.Event()
    for number in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # process 1 of a container is not ended by them unless it asks for it
        signal.signal(number, lambda *_: stop.set())
    run(rotation, ClusterApi(rotation.kubeconfig), stop)


def _installation(environment: Mapping[str, str], *, own: bool) -> Installation:
    controllers = environment.get("WORKLOADRUN_COMPOSITE_CONTROLLERS", "")
    return Installation(
        namespace=_required(environment, "WORKLOADRUN_NAMESPACE"),
        secret=_required(environment, "WORKLOADRUN_TLS_SECRET"),
        admission_service=_required(environment, "WORKLOADRUN_ADMISSION_SERVICE"),
        hooks_service=_required(environment, "WORKLOADRUN_HOOKS_SERVICE"),
        webhook_configuration=_required(environment, "WORKLOADRUN_WEBHOOK_CONFIGURATION") if own else "",
        controllers=tuple(name for name in controllers.split(",") if name),
        serving_secret="" if own else _required(environment, "WORKLOADRUN_TLS_SERVING_SECRET"),
        folder=Path(_required(environment, TLS_DIR)) if own else None,
    )


def _settings(environment: Mapping[str, str], installation: Installation, *, own: bool) -> Settings:
    services = (installation.admission_service, installation.hooks_service)
    names = tuple(installation.server_name(service) for service in services)
    defaults = Settings(names)

    def days(name: str, default: timedelta) -> timedelta:
        return timedelta(days=_number(environment, name, default / timedelta(days=1), least=1))

    def seconds(name: str, default: timedelta) -> timedelta:
        return timedelta(seconds=_number(environment, name, default.total_seconds(), least=0))

    return Settings(
        names=names,
        authority_lifetime=days("WORKLOADRUN_CA_DAYS", defaults.authority_lifetime),
        serving_lifetime=days("WORKLOADRUN_SERVING_DAYS", defaults.serving_lifetime),
        renew_fraction=_number(
            environment, "WORKLOADRUN_RENEW_FRACTION", defaults.renew_fraction, least=0.05, most=0.9
        ),
        token_lifetime=days("WORKLOADRUN_TOKEN_DAYS", defaults.token_lifetime),
        settle=seconds("WORKLOADRUN_SETTLE_SECONDS", defaults.settle),
        patience=seconds("WORKLOADRUN_PATIENCE_SECONDS", defaults.patience),
        external=not own,
    )


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise SettingsError(f"{name} is not set")
    return value


def _number(environment: Mapping[str, str], name: str, default: float, *, least: float, most: float = 100_000) -> float:
    text = environment.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise SettingsError(f"{name} must be a number from {least:g} to {most:g}, not {text!r}")
    return value


if __name__ == "__main__":
    main()
