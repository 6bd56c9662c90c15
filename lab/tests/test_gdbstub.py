"""A debugger's door that answers wrongly, closes, or says nothing: a guest that failed, and no other error."""

import contextlib
import socket
import tempfile
import threading
import unittest
from pathlib import Path

from lab.gdbstub import GdbStub
from lab.guest import GuestFailure

ACKNOWLEDGED = b"+$OK#9a"


class Doors(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "gdb"

    def stub(self, *answers: bytes, closes: bool = False) -> GdbStub:
        """Connected to a door that gives these answers, one to each packet, and is then silent or closes."""
        door = self.enterContext(contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)))
        door.bind(str(self.path))
        door.listen()

        def serve() -> None:
            with door.accept()[0] as connection:
                for answer in answers:
                    while b"#" not in connection.recv(4096):
                        pass
                    connection.sendall(answer)
                while not closes and connection.recv(4096):
                    pass

        server = threading.Thread(target=serve)
        server.start()
        self.addCleanup(server.join)
        stub = GdbStub(self.path, patience=0.2)
        self.addCleanup(stub._socket.close)
        return stub

    def test_it_stops_somewhere_else(self) -> None:
        with self.assertRaisesRegex(GuestFailure, "stopped with 'W00' instead of at 0x1000"):
            self.stub(ACKNOWLEDGED, b"+$W00#b7").run_to(0x1000)

    def test_it_closes(self) -> None:
        with self.assertRaisesRegex(GuestFailure, "door"):
            self.stub(ACKNOWLEDGED, closes=True).run_to(0x1000)

    def test_it_is_silent(self) -> None:
        with self.assertRaisesRegex(GuestFailure, "timed out"):
            self.stub(ACKNOWLEDGED).run_to(0x1000)

    def test_there_is_none(self) -> None:
        with self.assertRaisesRegex(GuestFailure, "no door"):
            GdbStub(self.path, patience=0.1)


if __name__ == "__main__":
    unittest.main()
