"""QEMU's machine protocol: why did it stop, and may I press this button, please.

One JSON object per line, over a socket in the file system. QEMU's
docs/interop/qmp-spec describes it.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

from lab.problem import Problem

CONNECT_SECONDS = 60.0
ANSWER_SECONDS = 120.0


class Qmp:
    """A connection that remembers every event; `command` waits for its answer."""

    def __init__(self, path: Path) -> None:
        self._socket = _connect(path)
        self._answers: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.command("qmp_capabilities")

    def command(self, name: str, **arguments: Any) -> Any:
        with self._changed:
            before = len(self._answers)
            request = {"execute": name, **({"arguments": arguments} if arguments else {})}
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            self._changed.wait_for(lambda: len(self._answers) > before or not self._open, ANSWER_SECONDS)
            if len(self._answers) == before:
                raise Problem(f"QEMU did not answer {name}", "run again with more --timeout")
            answer = self._answers[-1]
        if "error" in answer:
            raise Problem(f"QEMU refused {name}: {answer['error'].get('desc', '')}")
        return answer["return"]

    def monitor(self, line: str) -> str:
        """A command of the human monitor, such as `nmi` or `info registers -a`."""
        return str(self.command("human-monitor-command", **{"command-line": line}))

    def shutdown_reason(self) -> str:
        """Why the machine ended: guest-shutdown, guest-reset, host-ui, … or "" when it did not say."""
        self._reader.join(ANSWER_SECONDS)
        for event in self.events:
            if event["event"] == "SHUTDOWN":
                return str(event["data"].get("reason", ""))
        return ""

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        try:
            with self._socket.makefile("r", encoding="utf-8") as lines:
                for line in lines:
                    self._take(json.loads(line))
        except (OSError, ValueError):
            pass  # QEMU has gone: what it said before counts
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        with self._changed:
            if "event" in message:
                self.events.append(message)
            elif "return" in message or "error" in message:
                self._answers.append(message)
            self._changed.notify_all()


def _connect(path: Path) -> socket.socket:
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                raise Problem(f"QEMU did not open {path}: {error}") from None
            time.sleep(0.02)
