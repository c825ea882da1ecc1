"""The process beside the server: its settings, its loop, and the LogProfiles that it installs."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from certs import files
from certs.api import ApiError, ClusterApi
from certs.credentials import ROTATION, write
from certs.replicas import ServiceReplicas
from certs.rotator import Rotator
from tests.support.fakeapi import FakeApi
from tests.support.installation import INSTALLATION, NOW, SETTINGS, cluster, credentials, secret, stored
from webhook.profiles import LOG_PROFILES, ProfileInstaller
from webhook.rotation import Attempt, read_rotation, run
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


class Page(BaseHTTPRequestHandler):
    """A proxy's page instead of the API server's answer; after some of them, this is enough."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if len(self.server.asked) > 5:  # type: ignore[attr-defined]
            self.server.stop.set()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html>log in first</html>")

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_proxys_page_is_told_once_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.asked, server.stop = [], threading.Event()  # type: ignore[attr-defined]
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        api = ClusterApi(str(kubeconfig(tmp_path, server.server_port)))
        run(read_rotation({**OWN, "WORKLOADRUN_INTERVAL_SECONDS": "0.1"}), api, server.stop)  # type: ignore[attr-defined]
        server.shutdown()
        serving.join()
    (line,) = lines(caplog)
    assert line.endswith("no API server answers so: 25 bytes of text/html")


def kubeconfig(folder: Path, port: int) -> Path:
    content = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (folder / "config").write_text(json.dumps(content))
    return folder / "config"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was told above the ordinary."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def rotator(api: FakeApi, folder: Path) -> Rotator:
    installation = read_rotation({**OWN, "WORKLOADRUN_TLS_DIR": str(folder)}).installation
    return Rotator(api, installation, SETTINGS, ServiceReplicas(api, installation), clock=lambda: NOW)


def test_files_that_cannot_be_written_are_told_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api, folder = cluster(), tmp_path / "serving"
    look = Attempt(rotator(api, folder).look)
    assert [look() for _ in range(3)] == 3 * [False]
    (line,) = lines(caplog)
    assert line.startswith("not done yet: [Errno 2] No such file or directory")
    folder.mkdir()
    look()
    assert files.stored(folder) == stored(api).certificates.serving
    assert lines(caplog) == [line]


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param(b'{"tokens": {"current": []}}', id="a number that is a list"),
        pytest.param(b'{"tokens": {"current": 1, "made": "0001-01-01T00:00:00+23:00"}}', id="before all time"),
        pytest.param(100_000 * b"[", id="nested without end"),
    ],
)
def test_what_a_spoilt_secret_does_to_it_is_over_when_the_secret_is_mended(tmp_path: Path, spoilt: bytes) -> None:
    known = credentials()
    api, content = cluster(known), write(known)
    look = Attempt(rotator(api, tmp_path).look)
    look()
    api.store(INSTALLATION.secret_path, secret({**content, ROTATION: spoilt}))
    look()
    look()
    api.store(INSTALLATION.secret_path, secret())
    look()
    assert stored(api).certificates == known.certificates  # remembered all the while


def failing(*errors: Exception | None) -> Callable[[], bool]:
    """Make a step that fails in these ways, one after the other, or does not."""
    left = list(errors)

    def step() -> bool:
        error = left.pop(0)
        if error:
            raise error
        return True

    return step


def test_a_bug_is_told_once_with_its_traceback_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    attempt = Attempt(failing(KeyError("a"), KeyError("a"), TypeError("a"), None, TypeError("a")))
    assert [attempt() for _ in range(5)] == [False, False, False, True, False]
    told = [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert told == [KeyError, TypeError, TypeError]
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


def test_trouble_outside_is_told_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    attempt = Attempt(failing(ApiError(500, "away"), OSError(28, "No space left on device")))
    assert [attempt(), attempt()] == [False, False]
    assert lines(caplog) == ["not done yet: away", "not done yet: [Errno 28] No space left on device"]
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("content", ["", "metadata: {name: [", "- a"], ids=["nothing", "no YAML", "a list"])
def test_a_profile_that_cannot_be_read_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    api = FakeApi()
    (tmp_path / "a.yaml").write_text(content)
    install = Attempt(ProfileInstaller(api, tmp_path).install)
    assert [install(), install()] == [False, False]
    assert lines(caplog) == ["not done yet"]
    profile(tmp_path, "a")
    assert install()
    assert api.log == [f"APPLY {LOG_PROFILES}/a"]


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


def written_by(*managers: str, field: str = "f:spec") -> dict[str, object]:
    """Write a LogProfile as the API server keeps it, with the record of who wrote a field of it."""
    managed = [{"manager": manager, "operation": "Update", "fieldsV1": {field: {}}} for manager in managers]
    return {"metadata": {"name": "a", "managedFields": managed}, "spec": {"theirs": True}}


@pytest.mark.parametrize(
    ("live", "installed"),
    [
        pytest.param(written_by("workloadrun"), True, id="ours alone: the version that is shipped now replaces it"),
        pytest.param(written_by("workloadrun", "kubectl-edit"), False, id="changed by somebody: it stays"),
        pytest.param(written_by("kubectl"), False, id="made by somebody: it stays"),
        pytest.param(written_by("kubectl-label", field="f:metadata"), True, id="only labelled by somebody: replaced"),
    ],
)
def test_a_profile_that_somebody_changed_is_left_alone(
    tmp_path: Path, live: dict[str, object], installed: bool
) -> None:
    profile(tmp_path, "a")
    api = FakeApi({f"{LOG_PROFILES}/a": live})
    assert ProfileInstaller(api, tmp_path).install()
    assert (api.get(f"{LOG_PROFILES}/a")["spec"] == {}) is installed


def test_without_a_folder_there_is_nothing_to_install() -> None:
    assert not ProfileInstaller(FakeApi(), None).install()
