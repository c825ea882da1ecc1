"""A server of admission as gunicorn runs it, one for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.webhook.serving import Server, start, stop


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start(tmp_path_factory.mktemp("server"))
    yield running
    stop(running)
