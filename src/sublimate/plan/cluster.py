"""Steps on a Ray cluster, or on the cores of this machine."""

from __future__ import annotations

import logging
import os
import re
import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Interrupted, ResourceError, UsageError
from ..files import make_folder
from ..store import Store
from .doing import Answer, attempt
from .steps import Step

if TYPE_CHECKING:
    from .running import Tell, Workers


GPU_SHARE = 0.25  # of one GPU for every step: small networks seldom fill one


@contextmanager
def on_ray(address: str, steps: list[Step], store: Store, tell: Tell, pause: float) -> Iterator[Workers]:
    """Workers that take steps as the cluster has room; when the plan is stopped, they save what they have begun."""
    ray = _import()
    _check(address)
    with _connected(ray, address, cores=max((step.threads for step in steps), default=1)):
        task, stop = ray.remote(_task), store.root / "locks" / f"stop {secrets.token_hex(8)}"
        gpus = _gpus(ray, steps)
        running: dict[Any, Step] = {}

        def work(ready: list[Step]) -> list[tuple[Step, Answer]]:
            for step in ready:
                if step not in running.values():
                    running[task.options(**_room(step, gpus)).remote(step, store, stop)] = step
                    tell(step.name, None)
            ended, _ = ray.wait(list(running), timeout=pause)
            answers = [(step, _answer(ray, ref, step)) for ref in ended for step in [running.pop(ref)]]
            if ended and all(answer is None for _, answer in answers):
                time.sleep(pause)  # other processes are at these
            return [(step, answer) for step, answer in answers if answer is not None]

        try:
            yield work
        finally:
            if running:
                _save(ray, list(running), stop)


def _gpus(ray: Any, steps: list[Step]) -> float:
    """How many the cluster has; a step that asks for one where there is none would wait for ever."""
    found = float(ray.cluster_resources().get("GPU", 0))
    if not found and any(step.device and step.device.startswith("cuda") for step in steps):
        raise ResourceError("The cluster has no GPU.", "Give --device cpu or --device auto, or add a machine with one.")
    return found


def _room(step: Step, gpus: float) -> dict[str, float]:
    """What a step asks of the cluster; Ray hides the GPUs of a machine from those that ask for none."""
    wanted = gpus > 0 if step.device is None else step.device.startswith("cuda")
    return {"num_cpus": step.threads} | ({"num_gpus": GPU_SHARE} if wanted else {})


def _task(step: Step, store: Store, stop: Path) -> Answer | None:
    if stop.exists():
        return Interrupted(f"Step {step.name} was not begun.", "The same plan continues.")
    return attempt(step, store, stop.exists, lambda within: None)


def _answer(ray: Any, task: Any, step: Step) -> Answer | None:
    try:
        answer: Answer | None = ray.get(task)
    except ray.exceptions.RayError as error:  # Ray has tried several times
        cause = f"Step {step.name}: its worker was lost ({type(error).__name__})."
        return ResourceError(cause, "Run the plan again: it continues.")
    return answer


def _save(ray: Any, running: list[Any], stop: Path) -> None:
    make_folder(stop.parent)
    stop.touch()  # in the folder that all see
    try:
        ray.wait(running, num_returns=len(running))
    finally:
        stop.unlink()


@contextmanager
def _connected(ray: Any, address: str, cores: int) -> Iterator[None]:
    if ray.is_initialized():  # the caller's own connection
        yield
        return
    options: dict[str, Any] = {"address": address}
    if address == "local-ray":
        # A step that asks for more cores than there are would wait for ever.
        options = {"address": "local", "num_cpus": max(cores, os.cpu_count() or 1), "include_dashboard": False}
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError:
        raise _no_answer(address) from None
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # Ray sets one of its own, which would end the process unsaved
    try:
        yield
    finally:
        ray.shutdown()


def _check(address: str) -> None:
    """Ray itself would try for minutes."""
    if address in ("local-ray", "auto"):
        return
    place = re.fullmatch(r"(?:ray://)?([^:/]+):(\d{1,5})", address)
    if not place:
        raise UsageError(f"No workers {address!r}.", "Give local, local-ray, auto, or host:port of a Ray cluster.")
    try:
        socket.create_connection((place[1], int(place[2])), timeout=10).close()
    except (OSError, OverflowError):
        raise _no_answer(address) from None


def _no_answer(address: str) -> ResourceError:
    return ResourceError(f"No Ray cluster answers at {address}.", "Start it, or correct the address.")


def _import() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    try:
        import ray
    except ImportError:
        raise UsageError("Ray is not installed.", "pip install 'sublimate[cluster]', or run it locally.") from None
    return ray
