"""A process that reads whole long texts, so that no question that comes meanwhile waits for a part of that."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection

from ptxsim import instructions
from ptxsim.diagnostic import Finding
from ptxsim.editor.quick import judge


class Worker:
    """Judges one text after the other; the process begins with the second one, and ends with ours."""

    def __init__(self) -> None:
        self.connection: Connection | None = None

    def judge(self, text: str, name: str) -> tuple[list[Finding], bool]:
        """What `quick.judge` says; where there is no process yet, or it has died, said here."""
        if self.connection is not None:
            try:
                self.connection.send((text, name))
                found: tuple[list[Finding], bool] = self.connection.recv()
                return found
            except (EOFError, OSError):
                self.close()
        found = judge(text, name)
        gc.collect()
        gc.freeze()  # what stays: to look through it for garbage would take longer than any answer
        self._start()
        return found

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # the editor's connection is not the process's
        self.connection, other = context.Pipe()
        with other:
            self.process = context.Process(target=_serve, args=(other,), daemon=True)
            self.process.start()

    def close(self) -> None:
        """End the process, if there is one."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _serve(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asks says when to end
    if hasattr(os, "nice"):
        os.nice(5)  # answers to a person come first
    instructions.load_families()
    try:
        while True:
            connection.send(judge(*connection.recv()))
    except (EOFError, OSError):
        return
