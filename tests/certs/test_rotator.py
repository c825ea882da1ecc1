"""One look at a time: what is written, who is told, what is served, and what happens when others are faster."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from certs import files
from certs.api import ApiError
from certs.credentials import Stage, Tokens, write
from certs.installation import ClientKind
from certs.observation import ROTATE
from certs.rotator import Rotator
from certs.situation import Seen
from tests.support.fakeapi import FakeApi
from tests.support.installation import (
    INSTALLATION,
    NOW,
    SETTINGS,
    TOKEN,
    bundles,
    cluster,
    controller,
    credentials,
    pair,
    secret,
    shown,
    stored,
)

STEP = timedelta(seconds=10)
WEBHOOKS = [client.path for client in INSTALLATION.clients if client.kind is ClientKind.WEBHOOKS]
CONTROLLERS = [client.path for client in INSTALLATION.clients if client.kind is ClientKind.CONTROLLER]


@dataclass
class AllReady:
    """Replicas that are always as far, and are counted on to say so."""

    seen: Seen = Seen.ALL

    def serving(self, certificate: bytes) -> Seen:
        return self.seen

    def accepting(self, token: str, trusted: bytes) -> Seen:
        return self.seen


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


def rotator(api: FakeApi, folder: Path | None = None, clock: Clock | None = None) -> Rotator:
    installation = replace(INSTALLATION, folder=folder)
    return Rotator(api, installation, SETTINGS, AllReady(), clock or Clock())


def run(rotator: Rotator, clock: Clock, seconds: float) -> None:
    """Let it look every ten seconds."""
    end = clock.now + timedelta(seconds=seconds)
    while clock.now < end:
        clock.now += STEP
        rotator.look()


def test_the_first_look_installs_everything(tmp_path: Path) -> None:
    api = cluster()
    assert rotator(api, tmp_path).look()
    made = stored(api)
    assert made.certificates.authority
    assert set(bundles(api)) == {made.certificates.authority.certificate}
    assert shown(api) == {"token-1"}
    assert files.stored(tmp_path) == made.certificates.serving


def test_the_second_look_writes_nothing() -> None:
    api = cluster()
    rotator(api).look()
    written = list(api.log)
    assert not rotator(api).look()
    assert api.log == written


def test_decisions_are_told_as_events_about_the_secret() -> None:
    api = cluster()
    rotator(api).look()
    assert [(event["reason"], event["type"], event["message"]) for event in api.posted] == [
        ("CertificatesReplaced", "Normal", "Missing: there is no CA"),
        ("TokenReplaced", "Normal", "Missing: there is no usable token"),
    ]
    assert {event["involvedObject"]["uid"] for event in api.posted} == {"uid-secret"}


def test_an_event_that_is_refused_stops_nothing() -> None:
    api = cluster()
    with api.refusing(INSTALLATION.events_path):
        rotator(api).look()
    assert shown(api) == {"token-1"}


def test_a_rotation_goes_through_all_stages_and_leaves_nothing_behind(tmp_path: Path) -> None:
    api, clock = cluster(credentials()), Clock()
    before = stored(api)
    looking = rotator(api, tmp_path, clock)
    looking.look()
    api.store(INSTALLATION.secret_path, {**api.get(INSTALLATION.secret_path), "metadata": _asking(api)})
    stages = []
    for _ in range(20):
        clock.now += STEP
        looking.look()
        stages.append(stored(api).certificates.stage)
    assert list(dict.fromkeys(stages)) == [
        Stage.PUBLISHING,
        Stage.PUBLISHED,
        Stage.SWITCHING,
        Stage.SWITCHED,
        Stage.STEADY,
    ]
    after = stored(api)
    assert after.certificates.authority != before.certificates.authority
    assert set(bundles(api)) == {after.certificates.authority.certificate}  # type: ignore[union-attr]
    assert (set(after.tokens.values), shown(api)) == ({2}, {"token-2"})
    assert files.stored(tmp_path) == after.certificates.serving
    assert ROTATE not in api.get(INSTALLATION.secret_path)["metadata"]["annotations"]


@pytest.mark.parametrize("minutes", [0, 1, 2, 9])
def test_a_rotation_ends_whichever_replicas_clock_is_ahead(minutes: int) -> None:
    api, clocks = cluster(credentials()), [Clock(), Clock(NOW + timedelta(minutes=minutes))]
    looking = [rotator(api, clock=clock) for clock in clocks]
    api.store(INSTALLATION.secret_path, {**api.get(INSTALLATION.secret_path), "metadata": _asking(api)})
    for _ in range(60 + 6 * minutes):
        for replica, clock in zip(looking, clocks, strict=True):
            clock.now += STEP
            replica.look()
    after = stored(api)
    assert (after.certificates.stage, set(after.tokens.values)) == (Stage.STEADY, {2})
    assert not [event for event in api.posted if event["reason"].endswith("Resumed")]


def test_a_clock_that_is_set_back_does_not_stop_a_rotation() -> None:
    api, clock = cluster(credentials(NOW - timedelta(days=2))), Clock()
    looking = rotator(api, clock=clock)
    api.store(INSTALLATION.secret_path, {**api.get(INSTALLATION.secret_path), "metadata": _asking(api)})
    run(looking, clock, 30)
    assert stored(api).certificates.stage is Stage.PUBLISHED
    clock.now -= timedelta(minutes=9)
    run(looking, clock, 270)
    assert (stored(api).certificates.stage, set(stored(api).tokens.values)) == (Stage.STEADY, {2})


def _asking(api: FakeApi) -> dict[str, object]:
    metadata: dict[str, object] = api.get(INSTALLATION.secret_path)["metadata"]
    return {**metadata, "annotations": {ROTATE: "now", "kept": "yes"}}


def test_controllers_are_restarted_no_more_often_than_a_rotation_needs() -> None:
    api, clock = cluster(credentials()), Clock()
    looking = rotator(api, clock=clock)
    looking.look()
    api.log.clear()
    api.store(INSTALLATION.secret_path, {**api.get(INSTALLATION.secret_path), "metadata": _asking(api)})
    run(looking, clock, 300)
    assert api.log.count(f"PATCH {CONTROLLERS[0]}") == 3  # a CA comes, the token changes, a CA goes


def test_keys_and_annotations_of_others_stay() -> None:
    api = cluster()
    api.store(INSTALLATION.secret_path, secret({"theirs": b"1"}, {"kept": "yes", ROTATE: "now"}))
    rotator(api).look()
    live = api.get(INSTALLATION.secret_path)
    assert live["data"]["theirs"] == "MQ=="
    assert live["metadata"]["annotations"]["kept"] == "yes"


def test_garbage_is_replaced_by_what_is_remembered(tmp_path: Path) -> None:
    api, clock = cluster(), Clock()
    looking = rotator(api, tmp_path, clock)
    looking.look()
    good, trusting = stored(api), bundles(api)
    api.store(INSTALLATION.secret_path, secret({"ca.crt": b"garbage", "tls.crt": b"\xff", "tls.key": b"{}"}))
    looking.look()
    assert stored(api) == good
    assert bundles(api) == trusting


def test_garbage_is_replaced_by_new_ones_after_a_restart(tmp_path: Path) -> None:
    api = cluster()
    api.store(INSTALLATION.secret_path, secret({"ca.crt": b"garbage", "tls.crt": b"\xff", "tls.key": b"{}"}))
    rotator(api, tmp_path).look()
    made = stored(api).certificates
    assert set(bundles(api)) == {made.authority.certificate}  # type: ignore[union-attr]
    assert files.stored(tmp_path) == made.serving


def test_what_a_working_installation_never_needs_is_a_warning() -> None:
    api = cluster()
    api.store(INSTALLATION.secret_path, secret({"ca.crt": b"garbage"}))
    rotator(api).look()
    assert next((event["reason"], event["type"]) for event in api.posted) == ("CertificatesReplaced", "Warning")


def test_a_file_of_tokens_that_somebody_edited_is_put_right(caplog: pytest.LogCaptureFixture) -> None:
    api = cluster(credentials())
    data = write(credentials())
    api.store(INSTALLATION.secret_path, secret({**write(stored(api)), "tokens": data["tokens"] + b"backdoor\n"}))
    with caplog.at_level(logging.WARNING):
        rotator(api).look()
    assert stored(api).tokens == Tokens({1: TOKEN}, 1, made=NOW)
    assert "tokens" in api.get(INSTALLATION.secret_path)["data"]
    assert "put right" in caplog.text


def test_a_client_that_somebody_blanked_is_told_again() -> None:
    api = cluster()
    rotator(api).look()
    api.store(CONTROLLERS[0], controller("cre-workloadruns"))
    rotator(api).look()
    assert len(set(bundles(api))) == 1


def test_a_client_that_is_not_installed_is_nobody_to_tell() -> None:
    api, clock = cluster(), Clock()
    api.remove(CONTROLLERS[1])
    looking = rotator(api, clock=clock)
    looking.look()
    api.store(INSTALLATION.secret_path, {**api.get(INSTALLATION.secret_path), "metadata": _asking(api)})
    run(looking, clock, 300)
    assert (stored(api).certificates.stage, set(stored(api).tokens.values)) == (Stage.STEADY, {2})


def test_a_client_that_refuses_stops_no_other_and_holds_up_the_rotation(tmp_path: Path) -> None:
    api, clock = cluster(), Clock()
    looking = rotator(api, tmp_path, clock)
    looking.look()
    serving = stored(api).certificates.serving
    api.store(INSTALLATION.secret_path, {**api.get(INSTALLATION.secret_path), "metadata": _asking(api)})
    with api.refusing(CONTROLLERS[0]):
        run(looking, clock, 600)
        assert stored(api).certificates.stage is Stage.PUBLISHING
    assert files.stored(tmp_path) == serving
    assert bundles(api)[0].count(b"BEGIN") == 2
    run(looking, clock, 300)
    assert stored(api).certificates.stage is Stage.STEADY


def test_a_new_certificate_is_not_served_before_the_clients_are_told(tmp_path: Path) -> None:
    api = cluster(credentials())
    rotator(api, tmp_path).look()
    old = files.stored(tmp_path)
    authority, serving = pair()
    content = credentials(authority=authority, serving=serving)
    api.store(INSTALLATION.secret_path, secret(write(content)))

    class Refusing(FakeApi):
        def patch(self, path: str, body: dict, content_type: str) -> dict:  # type: ignore[type-arg]
            raise ApiError(403, f"{path} is refused")

    refusing = Refusing()
    refusing.objects = api.objects
    with pytest.raises(ApiError):
        rotator(refusing, tmp_path).look()
    assert files.stored(tmp_path) == old
    rotator(api, tmp_path).look()
    assert files.stored(tmp_path) == serving


def test_the_first_certificate_is_served_even_if_a_client_cannot_be_told(tmp_path: Path) -> None:
    api = cluster()
    with api.refusing(*CONTROLLERS):
        rotator(api, tmp_path).look()
    assert files.stored(tmp_path) == stored(api).certificates.serving


def test_without_the_secret_nothing_is_changed(tmp_path: Path) -> None:
    api = cluster()
    rotator(api, tmp_path).look()
    serving, log = files.stored(tmp_path), list(api.log)
    api.remove(INSTALLATION.secret_path)
    with pytest.raises(ApiError, match="not found"):
        rotator(api, tmp_path).look()
    assert (files.stored(tmp_path), api.log) == (serving, log)


@pytest.mark.parametrize("attempt", range(20))
def test_three_replicas_that_start_at_once_agree(tmp_path: Path, attempt: int) -> None:
    api, barrier = cluster(), threading.Barrier(3)
    folders = [tmp_path / str(number) for number in range(3)]
    failures: list[BaseException] = []

    def start(folder: Path) -> None:
        folder.mkdir()
        looking = rotator(api, folder)
        barrier.wait()
        try:
            looking.look()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=start, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [line for line in api.log if line.startswith("PUT")] == [f"PUT {INSTALLATION.secret_path}"]
    serving = stored(api).certificates.serving
    assert [files.stored(folder) for folder in folders] == [serving] * 3
    assert set(bundles(api)) == {stored(api).certificates.authority.certificate}  # type: ignore[union-attr]


def test_conflicts_without_end_are_given_up_until_the_next_look() -> None:
    class Busy(FakeApi):
        def put(self, path: str, body: dict) -> dict:  # type: ignore[type-arg]
            raise ApiError(409, f"{path} has been modified")

    busy = Busy()
    busy.objects = cluster().objects
    with pytest.raises(ApiError, match="modified"):
        rotator(busy).look()


def test_a_late_replica_cannot_take_back_what_another_has_published() -> None:
    """The late one has read everything before the other published a next CA, and writes only afterwards."""
    api, clock = cluster(credentials()), Clock()
    rotator(api, clock=clock).look()

    class Late(FakeApi):
        """Another replica goes through its whole look after this one's last read."""

        overtaken = False

        def get(self, path: str) -> dict:  # type: ignore[type-arg]
            found = super().get(path)
            if path == INSTALLATION.secret_path and not self.overtaken:
                self.overtaken = True
                api.store(path, {**api.get(path), "metadata": _asking(api)})
                rotator(api, clock=clock).look()
            return found

    api.store(WEBHOOKS[0], {**api.get(WEBHOOKS[0]), "webhooks": [{"name": "a.cre", "clientConfig": {}}]})
    late = Late()
    late.objects, late._lock = api.objects, api._lock
    rotator(late, clock=clock).look()
    assert {bundle.count(b"BEGIN") for bundle in bundles(api)} == {2}
