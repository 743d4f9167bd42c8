"""A bare TCP server for scenarios that speak for themselves."""
import socket
import threading


class TcpServer:
    """`talk(socket)` for each connection, in a thread."""

    def __init__(self, lab, talk, address="127.0.0.1", backlog=128):
        self.listener = socket.create_server((address, 0), backlog=backlog)
        self.port = self.listener.getsockname()[1]
        self.authority = f"{address}:{self.port}"
        self.talk, self.open = talk, []
        lab.cleanup(self.stop)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(sock)
            threading.Thread(target=self.guarded, args=(sock,), daemon=True).start()

    def guarded(self, sock):
        try:
            self.talk(sock)
        except OSError:
            pass
        finally:
            sock.close()

    def stop(self):
        for sock in [self.listener] + self.open:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()
