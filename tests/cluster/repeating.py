"""Something done again and again beside a test, until its context ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(action: Callable[[], object], seconds: float) -> Iterator[None]:
    """Do this every so many seconds on a thread of its own; what it raises fails the test, at the end."""
    stop, trouble = threading.Event(), []

    def repeat() -> None:
        while not stop.wait(seconds):
            try:
                action()
            except Exception as error:
                trouble.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert trouble == []
