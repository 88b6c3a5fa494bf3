"""Workers that crash, hang or nest too deeply cost one task and no more."""

from __future__ import annotations

import os
import signal
import sys
import time

from pallas_static_grid.pool import Lost, Pool


def work(task: str) -> str:
    kind, _, argument = task.partition(" ")
    if kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    if kind == "exit":
        os._exit(3)
    if kind == "hang":
        time.sleep(60)
    if kind == "deep":
        return str(depth(int(argument)))
    return f"done {task}"


def depth(left: int) -> int:
    return 0 if left == 0 else 1 + depth(left - 1)


def results(tasks: list[str], jobs: int, limit: float = 30) -> dict[str, str | Lost]:
    pool = Pool(work, tasks, jobs, limit)
    found = {tasks[index]: result for index, result in pool.results(range(len(tasks)))}
    assert len(found) == len(tasks)
    return found


def test_every_task_gets_its_result() -> None:
    tasks = [f"task {n}" for n in range(50)]
    for jobs in (1, 3, 100):
        assert results(tasks, jobs) == {task: f"done {task}" for task in tasks}


def test_no_task_no_worker() -> None:
    assert results([], 2) == {}


def test_a_worker_that_dies_costs_one_task() -> None:
    tasks = ["a", "die", "b", "exit", "c", "d"]
    for jobs in (1, 2):
        found = results(tasks, jobs)
        assert isinstance(found["die"], Lost)
        assert f"signal {int(signal.SIGKILL)}" in found["die"].reason
        assert isinstance(found["exit"], Lost)
        assert "exit code 3" in found["exit"].reason
        assert {task for task in tasks if found[task] == f"done {task}"} == {"a", "b", "c", "d"}


def test_a_task_that_hangs_is_given_up() -> None:
    started = time.monotonic()
    found = results(["hang", "a", "b"], 2, limit=1)
    assert time.monotonic() - started < 20
    assert isinstance(found["hang"], Lost)
    assert "gave up after 1 seconds" in found["hang"].reason
    assert found["a"] == "done a"


def test_workers_have_the_stack_that_deep_sources_need() -> None:
    here = sys.getrecursionlimit()
    found = results([f"deep {10 * here}"], 1)
    assert found == {f"deep {10 * here}": str(10 * here)}


def test_tasks_are_started_in_the_order_given() -> None:
    tasks = [f"task {n}" for n in range(5)]
    order = [3, 1, 4, 0, 2]
    assert [index for index, _ in Pool(work, tasks, 1, 30).results(order)] == order


def test_no_worker_is_left_over() -> None:
    pool = Pool(work, ["a", "hang", "b"], 2, 60)
    for _, result in pool.results([0, 1, 2]):
        assert result == "done a" or result == "done b"
        break
    import multiprocessing

    assert multiprocessing.active_children() == []
