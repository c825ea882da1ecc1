"""The process beside the server: its settings, its loop, and the LogProfiles that it installs."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from certs.api import ApiError
from tests.support.fakeapi import FakeApi
from webhook.profiles import LOG_PROFILES, ProfileInstaller
from webhook.rotation import read_rotation, run
from webhook.settings import SettingsError

OWN = {
    "WORKLOADRUN_NAMESPACE": "readiness",
    "WORKLOADRUN_TLS_SECRET": "run-tls",
    "WORKLOADRUN_TLS_DIR": "/run/serving",
    "WORKLOADRUN_ADMISSION_SERVICE": "run-admission",
    "WORKLOADRUN_HOOKS_SERVICE": "run-hooks",
    "WORKLOADRUN_WEBHOOK_CONFIGURATION": "run",
}
CERT_MANAGER = {
    **{
        key: value
        for key, value in OWN.items()
        if key not in ("WORKLOADRUN_TLS_DIR", "WORKLOADRUN_WEBHOOK_CONFIGURATION")
    },
    "WORKLOADRUN_TLS_SOURCE": "cert-manager",
    "WORKLOADRUN_TLS_SERVING_SECRET": "run-serving",
}


def test_defaults_are_those_that_are_documented() -> None:
    settings = read_rotation(OWN).settings
    assert settings.names == ("run-admission.readiness.svc", "run-hooks.readiness.svc")
    assert settings.authority_lifetime == timedelta(days=3650)
    assert settings.serving_lifetime == timedelta(days=365)
    assert (settings.renew_fraction, settings.token_lifetime) == (0.25, timedelta(days=90))


def test_everything_can_be_set() -> None:
    rotation = read_rotation(
        {
            **OWN,
            "WORKLOADRUN_COMPOSITE_CONTROLLERS": "cre-workflows,cre-jobs",
            "WORKLOADRUN_CA_DAYS": "10",
            "WORKLOADRUN_SERVING_DAYS": "2",
            "WORKLOADRUN_RENEW_FRACTION": "0.5",
            "WORKLOADRUN_TOKEN_DAYS": "1",
            "WORKLOADRUN_SETTLE_SECONDS": "3",
            "WORKLOADRUN_PATIENCE_SECONDS": "60",
            "WORKLOADRUN_INTERVAL_SECONDS": "0.5",
            "WORKLOADRUN_PROFILES_DIR": "/profiles",
        }
    )
    settings = rotation.settings
    assert rotation.installation.controllers == ("cre-workflows", "cre-jobs")
    assert (settings.authority_lifetime.days, settings.serving_lifetime.days, settings.token_lifetime.days) == (
        10,
        2,
        1,
    )
    assert (settings.renew_fraction, settings.settle.seconds, settings.patience.seconds) == (0.5, 3, 60)
    assert (rotation.interval, rotation.profiles) == (0.5, Path("/profiles"))


def test_with_cert_manager_neither_webhooks_nor_files_are_ours() -> None:
    rotation = read_rotation({**CERT_MANAGER, "WORKLOADRUN_COMPOSITE_CONTROLLERS": "cre-jobs"})
    assert rotation.settings.external
    assert rotation.installation.folder is None
    assert [client.path.rpartition("/")[2] for client in rotation.installation.clients] == ["cre-jobs"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"WORKLOADRUN_TLS_SOURCE": "vault"}, "own or cert-manager", id="an unknown source"),
        pytest.param({"WORKLOADRUN_TLS_SECRET": ""}, "WORKLOADRUN_TLS_SECRET is not set", id="no Secret"),
        pytest.param({"WORKLOADRUN_CA_DAYS": "ten"}, "WORKLOADRUN_CA_DAYS must be a number", id="no number"),
        pytest.param({"WORKLOADRUN_CA_DAYS": "nan"}, "WORKLOADRUN_CA_DAYS must be a number", id="not a number"),
        pytest.param({"WORKLOADRUN_RENEW_FRACTION": "1"}, "from 0.05 to 0.9", id="a certificate renewed at once"),
    ],
)
def test_what_is_wrong_is_one_line(change: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_rotation({**OWN, **change})


def test_it_goes_on_after_trouble_and_ends_when_told() -> None:
    stop = threading.Event()
    looks: list[str] = []

    class Unreachable(FakeApi):
        def get(self, path: str) -> dict:  # type: ignore[type-arg]
            looks.append(path)
            if len(looks) > 20:
                stop.set()
            raise ApiError(0, "the API server is away")

    run(read_rotation({**OWN, "WORKLOADRUN_INTERVAL_SECONDS": "0.1"}), Unreachable(), stop)
    assert len(looks) > 20


def profile(folder: Path, name: str) -> None:
    text = f"apiVersion: cre.nvidia.com/v1alpha1\nkind: LogProfile\nmetadata: {{name: {name}}}\nspec: {{}}\n"
    (folder / f"{name}.yaml").write_text(text)


def test_profiles_are_installed_once(tmp_path: Path) -> None:
    for name in ("b", "a"):
        profile(tmp_path, name)
    api = FakeApi()
    installer = ProfileInstaller(api, tmp_path)
    assert installer.install()
    assert not installer.install()
    assert api.log == [f"APPLY {LOG_PROFILES}/a", f"APPLY {LOG_PROFILES}/b"]


def test_profiles_that_are_refused_are_tried_again(tmp_path: Path) -> None:
    for name in ("b", "a"):
        profile(tmp_path, name)
    api = FakeApi()
    installer = ProfileInstaller(api, tmp_path)
    with api.refusing(f"{LOG_PROFILES}/b", status=500), pytest.raises(ApiError):
        installer.install()
    assert installer.install()
    assert sorted(api.objects) == [f"{LOG_PROFILES}/a", f"{LOG_PROFILES}/b"]


def test_without_a_folder_there_is_nothing_to_install() -> None:
    assert not ProfileInstaller(FakeApi(), None).install()
