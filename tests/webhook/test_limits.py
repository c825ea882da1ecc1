"""Connections leave files for everything else, down to a fewest that is kept even where there are not files enough."""

from __future__ import annotations

import resource

import pytest

from webhook.limits import FEWEST_CONNECTIONS, MOST_CONNECTIONS, OTHER_FILES, THREADS, most_connections


@pytest.mark.parametrize(
    ("files", "connections"),
    [
        pytest.param(1 << 20, MOST_CONNECTIONS, id="many files"),
        pytest.param(resource.RLIM_INFINITY, MOST_CONNECTIONS, id="no limit"),
        pytest.param(1024, 1024 - OTHER_FILES, id="the usual limit"),
        pytest.param(100, FEWEST_CONNECTIONS, id="too few files for anything"),
    ],
)
def test_connections_leave_files_for_everything_else(files: int, connections: int) -> None:
    assert most_connections(files) == connections
    assert connections > THREADS
