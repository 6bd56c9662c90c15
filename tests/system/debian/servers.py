"""Servers and clients of Python's library over 127.0.0.1, in one process."""

import asyncio
import http.server
import multiprocessing.connection
import socket
import tempfile
import threading
import urllib.request
import xmlrpc.client
import xmlrpc.server
from pathlib import Path


def in_background(work) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


folder = tempfile.mkdtemp()
(Path(folder) / "page").write_text("a page of forty bytes, with its newline\n")


class Files(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments) -> None:
        super().__init__(*arguments, directory=folder)


web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
in_background(web.serve_forever)
with urllib.request.urlopen(f"http://localhost:{web.server_port}/page") as answer:
    print("page", answer.status, len(answer.read()))


async def echo() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\n")
    print("echo", (await reader.read()).decode().strip())
    writer.close()


asyncio.run(echo())

calls = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False)
calls.register_function(lambda a, b: a + b, "add")
in_background(calls.serve_forever)
print("sum", xmlrpc.client.ServerProxy(f"http://127.0.0.1:{calls.server_address[1]}").add(2, 3))

listener = multiprocessing.connection.Listener(("localhost", 0), authkey=b"key")
accepted: list = []
waiting = in_background(lambda: accepted.append(listener.accept()))
client = multiprocessing.connection.Client(listener.address, authkey=b"key")
waiting.join()
client.send({"a": 1})
print("object", accepted[0].recv())

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
asker = socket.create_connection(web.server_address)  # another kind beside it
asker.close()
asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asker.sendto(b"ping", server.getsockname())
datagram, sender = server.recvfrom(100)
server.sendto(datagram, sender)
print("answer", asker.recv(100))
