"""The law of rotation: at no moment does a client meet a server that it does not trust, or show a token nobody takes.

Replicas look at different times with clocks that differ, API servers and Metacontroller notice changes late, kubelets
bring the hooks' Secret later still, some replicas cannot be asked: all within what the settings allow for.
"""

from __future__ import annotations

import base64
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import files
from certs.credentials import Stage
from certs.observation import ROTATE
from certs.rotator import Rotator
from certs.situation import Seen
from tests.support.fakeapi import FakeApi
from tests.support.installation import INSTALLATION, NOW, SETTINGS, cluster, stored

SECOND = timedelta(seconds=1)
WARM_UP = 300  # seconds: kubelets have brought the first certificate by then
LENGTH = 1300
LATEST_NOTICE = 25  # seconds, of a client; less than the time to settle
LATEST_KUBELET = 120
CLOCKS = 290  # seconds, ahead or behind: two of them differ by less than ten minutes
CONTROLLER = INSTALLATION.clients[-1].path
WEBHOOKS = INSTALLATION.clients[0].path


@dataclass
class Past:
    """What a path held, so that somebody can see it as it was some seconds ago."""

    values: list[object] = field(default_factory=list)

    def ago(self, seconds: int) -> object:
        return self.values[max(0, len(self.values) - 1 - seconds)]


@dataclass
class World:
    """Two admission replicas, two hooks replicas, two API servers, one Metacontroller."""

    dice: random.Random
    folder: Path
    seconds: int = 0
    api: FakeApi = field(default_factory=cluster)
    past: dict[str, Past] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kubelets = [self.dice.randint(1, LATEST_KUBELET) for _ in range(2)]
        self.servers = [self.dice.randint(0, LATEST_NOTICE) for _ in range(2)]
        self.metacontroller = self.dice.randint(0, LATEST_NOTICE)
        self.rotators = [self._rotator(number) for number in range(2)]
        self.due = [0, self.dice.randint(0, 9)]

    def _rotator(self, number: int) -> Rotator:
        folder, ahead = self.folder / str(number), self.dice.uniform(-CLOCKS, CLOCKS)
        folder.mkdir()
        clock: Callable[[], datetime] = lambda: NOW + SECOND * (self.seconds + ahead)  # noqa: E731
        return Rotator(self.api, replace(INSTALLATION, folder=folder), SETTINGS, self, clock)

    def serving(self, certificate: bytes) -> Seen:
        found = [files.stored(rotator.installation.folder) for rotator in self.rotators]  # type: ignore[arg-type]
        admission = [pair.certificate for pair in found if pair]
        return self._seen([text == certificate for text in [*admission, *(self._hooks(n, "tls.crt") for n in (0, 1))]])

    def accepting(self, token: str, trusted: bytes) -> Seen:
        return self._seen([token in self._hooks(number, "tokens").decode().split() for number in (0, 1)])

    def _seen(self, answers: list[bool]) -> Seen:
        if self.dice.random() < 0.2:
            return Seen.UNKNOWN
        return Seen.ALL if all(answers) else Seen.NOT_ALL

    def _hooks(self, number: int, key: str) -> bytes:
        data = self.past[INSTALLATION.secret_path].ago(self.kubelets[number]).get("data", {})  # type: ignore[attr-defined]
        return base64.b64decode(data.get(key, ""))

    def tick(self) -> None:
        self.seconds += 1
        for number, rotator in enumerate(self.rotators):
            if self.seconds >= self.due[number]:
                self.due[number] = self.seconds + self.dice.randint(5, 15)
                rotator.look()
        for path in (INSTALLATION.secret_path, WEBHOOKS, CONTROLLER):
            self.past.setdefault(path, Past()).values.append(self.api.objects[path])  # replaced, never changed

    def ask(self) -> None:
        live = self.api.get(INSTALLATION.secret_path)
        self.api.store(
            INSTALLATION.secret_path, {**live, "metadata": {**live["metadata"], "annotations": {ROTATE: ""}}}
        )

    def check(self) -> None:
        for late in self.servers:
            webhook = self.past[WEBHOOKS].ago(late)["webhooks"][0]  # type: ignore[index]
            trusted = base64.b64decode(webhook["clientConfig"]["caBundle"])
            for rotator in self.rotators:
                pair = files.stored(rotator.installation.folder)  # type: ignore[arg-type]
                assert pair
                assert trusts(trusted, pair.certificate), f"an API server refuses admission at {self.seconds} s"
        hook = self.past[CONTROLLER].ago(self.metacontroller)["spec"]["hooks"]["sync"]["webhook"]  # type: ignore[index]
        token = base64.b64decode(
            self.api.objects[INSTALLATION.secret_path]["data"][hook["authorization"]["secretRef"]["key"]]
        )
        for number in (0, 1):
            served, tokens = self._hooks(number, "tls.crt"), self._hooks(number, "tokens")
            assert trusts(hook["caBundle"]["inline"].encode(), served), f"hooks are refused at {self.seconds} s"
            assert token in tokens.split(), f"hooks refuse at {self.seconds} s"


@lru_cache(maxsize=256)
def trusts(bundle: bytes, certificate: bytes) -> bool:
    leaf = x509.load_pem_x509_certificate(certificate)
    for authority in x509.load_pem_x509_certificates(bundle):
        try:
            leaf.verify_directly_issued_by(authority)
        except Exception:
            continue
        return True
    return False


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10**9))
def test_no_request_is_refused_while_everything_rotates(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(random.Random(seed), Path(folder))
        first = None
        for second in range(LENGTH):
            world.tick()
            if second == WARM_UP:
                first = stored(world.api)
            if second >= WARM_UP:
                world.check()
            if second in (WARM_UP, WARM_UP + 500):
                world.ask()
        last = stored(world.api)
    assert first
    assert last.certificates.authority != first.certificates.authority
    assert (last.certificates.stage, last.tokens.stage) == (Stage.STEADY, Stage.STEADY)
    assert last.tokens.current >= 2
