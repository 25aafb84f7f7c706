"""The signals that ask a process to end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at every signal that asks for an end. Only the main thread hears signals."""
    loop = asyncio.get_running_loop()
    heard = _SIGNALS if threading.current_thread() is threading.main_thread() else ()
    for number in heard:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
