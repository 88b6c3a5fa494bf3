"""Worker processes that may die: a task whose worker is lost is a value like any other.

`multiprocessing.Pool` waits for ever for a task whose worker was killed, and
`concurrent.futures` gives up all tasks; so there is one pipe per worker here, and a lost worker
is replaced.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_STACK = 256 * 2**20
_DEPTH = 20_000


@dataclass(frozen=True, slots=True)
class Lost:
    """A task that got no result, and why."""

    reason: str


@dataclass(eq=False, slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    task: int | None = None
    since: float = 0.0


class Pool(Generic[Task, Result]):
    """Runs a function over tasks in child processes that share what the parent has read."""

    def __init__(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, limit: float
    ) -> None:
        self._function = function
        self._tasks = tasks
        self._jobs = max(1, min(jobs, len(tasks)))
        self._limit = limit
        self._process = _process_class()
        self._workers: list[_Worker] = []

    def results(self, order: Sequence[int]) -> Iterator[tuple[int, Result | Lost]]:
        """The result of each task, as it comes in; tasks are started in `order`."""
        waiting = deque(order)
        try:
            for _ in range(self._jobs):
                self._workers.append(self._start())
            for worker in self._workers:
                self._give(worker, waiting)
            while any(worker.task is not None for worker in self._workers):
                yield from self._collect(waiting)
        finally:
            for worker in self._workers:
                self._stop(worker)

    def _collect(self, waiting: deque[int]) -> Iterator[tuple[int, Result | Lost]]:
        busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        ready = wait(list(busy), timeout=0.5)
        for pipe, worker in busy.items():
            task = worker.task
            assert task is not None
            if pipe in ready:
                outcome = self._receive(worker)
            elif time.monotonic() - worker.since > self._limit:
                outcome = Lost(f"gave up after {self._limit:.0f} seconds")
            else:
                continue
            worker.task = None
            if isinstance(outcome, Lost):
                self._replace(worker)
            self._give(worker, waiting)
            yield task, outcome

    def _receive(self, worker: _Worker) -> Result | Lost:
        try:
            result: Result = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(5)
            code = worker.process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            return Lost(f"the process that handled it died ({how}): probably nested too deeply")
        return result

    def _give(self, worker: _Worker, waiting: deque[int]) -> None:
        if not waiting:
            return
        worker.task, worker.since = waiting.popleft(), time.monotonic()
        try:
            worker.pipe.send(worker.task)
        except OSError:  # it died while idle: reading from it will say so
            return

    def _start(self) -> _Worker:
        ours, theirs = multiprocessing.Pipe()
        process = self._process(
            target=_work, args=(self._function, self._tasks, theirs, ours), daemon=True
        )
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _replace(self, worker: _Worker) -> None:
        self._stop(worker)
        fresh = self._start()
        worker.process, worker.pipe = fresh.process, fresh.pipe

    @staticmethod
    def _stop(worker: _Worker) -> None:
        worker.pipe.close()
        worker.process.kill()  # it holds nothing that wants an orderly end
        worker.process.join()


def _process_class() -> type[BaseProcess]:
    """Forking is cheap and shares the files read; elsewhere children start afresh."""
    if sys.platform not in ("win32", "darwin"):
        return multiprocessing.get_context("fork").Process
    return multiprocessing.get_context("spawn").Process


def _work(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    pipe: Connection,
    parents_end: Connection,
) -> None:
    """A worker's life: task numbers in, results out; on a stack that deep sources need."""
    parents_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    sys.setrecursionlimit(_DEPTH)
    threading.stack_size(_STACK)
    thread = threading.Thread(target=_serve, args=(function, tasks, pipe), daemon=True)
    thread.start()
    thread.join()


def _serve(function: Callable[[Task], Result], tasks: Sequence[Task], pipe: Connection) -> None:
    try:
        while True:
            pipe.send(function(tasks[pipe.recv()]))
    except (EOFError, OSError, KeyboardInterrupt):
        return
