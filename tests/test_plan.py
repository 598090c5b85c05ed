"""A step runs once, whatever happens in between: kills, damage, failures, company."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from sublimate.errors import InputRefused, IntegrityError, Interrupted, ResourceError, SublimateError, UsageError
from sublimate.plan import Advance, Step, doing, price, result, run
from sublimate.plan.steps import order
from sublimate.store import Store

CHORES = '''
"""Functions for steps; the log says which of them really ran."""

import hashlib
import time
from types import SimpleNamespace

from sublimate.errors import Interrupted, UnlearningFailed
from sublimate.plan import Step


def note(context, word):
    with open(context.store.root.parent / "log", "a") as file:
        file.write(word + "\\n")


def give(context, value):
    note(context, f"give {value}")
    return value


def join(context):
    note(context, "join")
    return b"+".join(context.inputs.values())


def chain(context, links):
    """A hash of a hash of a hash: each link is saved."""
    begin, slot = dict(context.inputs)["seed"], context.slot()
    done, value = (slot.load() or b"0 " + begin).split(b" ", 1)
    for link in range(int(done), links):
        value = hashlib.sha256(value).hexdigest().encode()
        note(context, f"link {link}")
        slot.save(b"%d %s" % (link + 1, value))
        if context.interrupted():
            raise Interrupted("Stopped.", "Go on.")
    return value


def fail(context, how):
    if how == "typed":
        raise UnlearningFailed("It collapsed.", "Be gentle.", model=object())
    return {"json": {1, 2}} if how == "result" else 1 // 0


def wait(context):
    """Until somebody says go, or stop."""
    note(context, "begun")
    while not (context.store.root.parent / "go").exists():
        if context.interrupted():
            context.slot("half").save(b"half")
            raise Interrupted("Stopped.", "Go on.")
        time.sleep(0.01)
    return context.slot("half").load() or b"whole"


def threads(context):
    import torch

    return torch.get_num_threads()


def plan():
    seed = Step(name="seed", function=give, parameters={"value": 7})
    long = Step(name="long", function=chain, parameters={"links": 3}, needs=(seed,))
    other = Step(name="other", function="chores:give", parameters={"value": {"b": 1, "a": [2.5, None]}})
    return [Step(name="all", function=join, needs=(other, long)), other]
'''
ENDING = {"seed": b"7", "other": b'{"a":[2.5,null],"b":1}'}


@pytest.fixture
def chores(tmp_path, monkeypatch):
    (tmp_path / "chores.py").write_text(CHORES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "chores", raising=False)
    import chores

    yield chores
    sys.modules.pop("chores", None)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def log(store):
    path = store.root.parent / "log"
    return path.read_text().splitlines() if path.exists() else []


def until(ready):
    for _ in range(6000):
        if ready():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


ONCE = ["give {'a': [2.5, None], 'b': 1}", "give 7", "link 0", "link 1", "link 2", "join"]
LOGGED = {"other": ONCE[0], "seed": ONCE[1], "long": ONCE[2], "all": ONCE[5]}


def test_a_plan_runs_once(chores, store):
    first = run(chores.plan(), store)
    assert log(store) == ONCE
    assert run(chores.plan(), store) == first
    assert log(store) == ONCE
    assert list(first.done) == ["other", "seed", "long", "all"] and not first.failed and not first.skipped
    contents = {step.name: result(step, store) for step in order(chores.plan())}
    assert {name: contents[name] for name in ENDING} == ENDING
    assert contents["all"] == contents["long"] + b"+" + contents["other"]  # by name, not as listed
    assert not list((store.root / "slots").iterdir())


def test_the_key_is_all_a_result_depends_on():
    need = Step(name="need", function="m:f")
    usual = {"name": "a", "function": "m:f", "parameters": {"x": 1, "y": (2, None)}, "needs": (need,)}
    changes = [
        {"function": "m:g"},
        {"parameters": {"x": 1}},
        {"parameters": {"x": 1.5, "y": [2, None]}},
        {"needs": ()},
        {"needs": (Step(name="need", function="m:f", version="2"),)},
        {"needs": (Step(name="named otherwise", function="m:f"),)},
        {"version": "2"},
        {"threads": 2},
    ]
    keys = [Step(**(usual | change)).key for change in [{}, *changes]]
    assert len(set(keys)) == len(keys)
    same = [{"name": "b"}, {"parameters": {"y": [2, None], "x": 1}}, {"hints": {"path": "elsewhere"}}]
    assert {Step(**(usual | change)).key for change in same} == {keys[0]}


def test_the_key_stays_from_version_to_version():
    # printf '["m:f",{"x":1},{},"1",1]' | sha256sum
    assert Step(name="a", function="m:f", parameters={"x": 1}).key == (
        "9dbd0bebd362a14e03299a310714d97fa9c66e9374420074d440aa824b3edce4"
    )


def test_the_order_of_the_needs_is_nothing(chores):
    a, b = (Step(name=name, function="chores:give", parameters={"value": name}) for name in "ab")
    assert Step(name="c", function="m:f", needs=(a, b)).key == Step(name="c", function="m:f", needs=(b, a)).key


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"bytes", {(1, 2): 3}])
def test_parameters_are_json(value):
    with pytest.raises(InputRefused, match="The parameters of a cannot be written as JSON"):
        Step(name="a", function="m:f", parameters={"x": value})


def test_a_function_has_a_name_that_finds_it(chores):
    assert Step(name="a", function=chores.give).function == "chores:give"
    main = eval("lambda: 0", {"__name__": "__main__"})
    for nameless in (lambda context: 0, main, threading.Lock().acquire):
        with pytest.raises(UsageError):
            Step(name="a", function=nameless)


def test_names_are_unique():
    one, two = (Step(name="a", function="m:f", version=version) for version in "12")
    with pytest.raises(InputRefused, match="Two different steps are named a"):
        order([one, two])
    with pytest.raises(InputRefused, match="Two needs of b"):
        Step(name="b", function="m:f", needs=(one, two))
    assert len(order([one, Step(name="a", function="m:f", version="1")])) == 1


def test_a_failure_stops_only_those_that_need_it(chores, store):
    def failing(how):
        return Step(name=how, function=chores.fail, parameters={"how": how})

    broken = [failing(how) for how in ("typed", "unforeseen", "result")]
    nowhere = Step(name="nowhere", function="chores:nothing")
    after = Step(name="after", function=chores.join, needs=(broken[0],))
    ran = run([*broken, nowhere, Step(name="later", function=chores.join, needs=(after,)), *chores.plan()], store)
    assert list(ran.done) == ["other", "seed", "long", "all"] and log(store) == ONCE
    assert ran.skipped == ("after", "later")
    kinds = {name: (type(error).__name__, error.cause) for name, error in ran.failed.items()}
    assert kinds["typed"] == ("UnlearningFailed", "Step typed: It collapsed.")
    assert ran.failed["typed"].remedy == "Be gentle." and ran.failed["typed"].model is None
    assert type(ran.failed["unforeseen"]) is SublimateError
    assert (
        "Step unforeseen: ZeroDivisionError" in kinds["unforeseen"][1] and "(chores.py, line " in kinds["unforeseen"][1]
    )
    assert kinds["result"][0] == "InputRefused" and "The result cannot be written as JSON" in kinds["result"][1]
    assert kinds["nowhere"][0] == "UsageError"


def test_a_damaged_result_is_made_again(chores, store):
    digests = run(chores.plan(), store).done
    victim = next(store.root.rglob(digests["long"]))
    victim.write_bytes(b"damaged")
    done, todo = price(chores.plan(), store)
    assert [s.name for s in done] == ["other", "seed", "all"] and [s.name for s in todo] == ["long"]
    assert run(chores.plan(), store).done == digests
    assert log(store) == ONCE + ONCE[2:5]
    with pytest.raises(IntegrityError, match="no result of none"):
        result(Step(name="none", function="m:f"), store)


def test_the_price_runs_nothing(chores, store):
    done, todo = price(chores.plan(), store)
    assert not done and [step.name for step in todo] == ["other", "seed", "long", "all"]
    assert not store.root.exists()


def test_progress_is_over_the_whole_plan(chores, store):
    told: list[Advance] = []
    run(chores.plan(), store, progress=told.append)
    assert [(a.done, a.total, a.name) for a in told] == [
        (k + ended, 4, name) for k, name in enumerate(["other", "seed", "long", "all"]) for ended in (0, 1)
    ]


def test_the_thread_count_is_the_steps(chores, store):
    import torch

    before = torch.get_num_threads()
    steps = [Step(name=str(n), function=chores.threads, threads=n) for n in (1, 2)]
    run(steps, store)
    assert [result(step, store) for step in steps] == [b"1", b"2"]
    assert torch.get_num_threads() == before


# Torch takes seconds to import and has nothing to do in these steps.
NO_TORCH = """
import sys
from types import SimpleNamespace
sys.modules["torch"] = SimpleNamespace(get_num_threads=lambda: 1, set_num_threads=lambda count: None)
"""

KILLER = (
    NO_TORCH
    + """
import os, signal
from itertools import count
from pathlib import Path

from sublimate import store
from sublimate.plan import run
from chores import plan


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def run_and_die(folder, moment):
    moments, write = count(), store.rewrite

    def deadly(path, data):
        if next(moments) == moment:
            die()
        write(path, data)
        if next(moments) == moment:
            die()

    store.rewrite = deadly
    run(plan(), store.Store(folder / "store"))
    os._exit(0)


for moment in count():
    folder = Path(sys.argv[1], str(moment))
    folder.mkdir()
    child = os.fork() or run_and_die(folder, moment)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        break
"""
)


def test_killed_before_and_after_every_write_it_ends_in_the_same_bytes(chores, store, tmp_path):
    whole = run(chores.plan(), store).done
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    subprocess.run([sys.executable, "-c", KILLER, str(deaths)], check=True)
    folders = sorted(deaths.iterdir(), key=lambda folder: int(folder.name))
    assert len(folders) == 2 * (4 * 2 + 3) + 1  # four results with their names, three saved links; the last one lives
    for folder in folders:
        left = Store(folder / "store")
        done, _ = price(chores.plan(), left)
        before = log(left)
        assert run(chores.plan(), left).done == whole
        again = log(left)[len(before) :]
        assert not {LOGGED[step.name] for step in done} & set(again)
        assert len([line for line in log(left) if line.startswith("link")]) <= 4  # a saved link is not made twice
        assert {step.name: result(step, left) for step in done} == {s.name: result(s, store) for s in done}


RUNNER = (
    NO_TORCH
    + """
from pathlib import Path
from sublimate.cli.common import signals
from sublimate.errors import Interrupted
from sublimate.plan import Step, run
from sublimate.store import Store
import chores

steps = chores.plan() if sys.argv[2] == "plan" else [Step(name="wait", function=chores.wait)]
try:
    with signals() as interrupted:
        ran = run(steps, Store(sys.argv[1]), interrupted=interrupted)
except Interrupted as error:
    sys.exit(error.exit_code)
sys.exit(len(ran.failed))
"""
)


def start(store, which):
    return subprocess.Popen([sys.executable, "-c", RUNNER, str(store.root), which])


def test_processes_share_the_work(chores, store):
    processes = [start(store, "plan") for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert sorted(log(store)) == sorted(ONCE)


def test_a_step_in_work_is_left_to_its_worker_and_a_killed_worker_leaves_it(chores, store):
    step = Step(name="wait", function=chores.wait)
    process = start(store, "wait")
    until(lambda: log(store) == ["begun"])
    assert doing.attempt(step, store, lambda: False, lambda within: None) is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    (store.root.parent / "go").touch()
    assert run([step], store).done and log(store) == ["begun", "begun"]


def test_while_another_works_the_rest_is_done(chores, store):
    busy, free = (
        Step(name="wait", function=chores.wait),
        Step(name="free", function=chores.give, parameters={"value": 1}),
    )
    process = start(store, "wait")
    until(lambda: log(store) == ["begun"])

    def go(told):
        if told.name == "free" and told.done:
            (store.root.parent / "go").touch()

    assert list(run([busy, free], store, progress=go).done) == ["free", "wait"]
    assert process.wait() == 0 and log(store) == ["begun", "give 1"]


def test_without_file_locks_it_goes_on(chores, store, monkeypatch):
    monkeypatch.setattr(doing, "fcntl", None)
    assert len(run(chores.plan(), store).done) == 4 and log(store) == ONCE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves(chores, store, number):
    process = start(store, "wait")
    until(lambda: log(store) == ["begun"])
    process.send_signal(number)
    assert process.wait() == 75
    (store.root.parent / "go").touch()
    step = Step(name="wait", function=chores.wait)
    assert not price([step], store)[0]
    run([step], store)
    assert result(step, store) == b"half"


def test_an_interrupted_step_is_no_failure(chores, store):
    with pytest.raises(Interrupted, match="Step long: Stopped"):
        run(chores.plan(), store, interrupted=lambda: "link 0" in log(store))
    with pytest.raises(Interrupted, match="Stopped after 0 of 4 steps"):
        run(chores.plan(), store, interrupted=lambda: True)
    assert run(chores.plan(), store).done and log(store) == ONCE


def test_without_ray_the_remedy_is_named(chores, store, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'sublimate\[cluster\]'"):
        run(chores.plan(), store, workers="local-ray")


@pytest.mark.slow
def test_ray_gives_the_same(chores, store, tmp_path):
    pytest.importorskip("ray", reason="ray is not installed (the extra `cluster`)")
    elsewhere = Store(tmp_path / "elsewhere" / "store")
    elsewhere.root.parent.mkdir()
    broken = Step(name="broken", function=chores.fail, parameters={"how": "typed"})
    two = Step(name="two", function=chores.threads, threads=2)
    steps = [broken, Step(name="after", function=chores.join, needs=(broken,)), two, *chores.plan()]
    handler = signal.getsignal(signal.SIGTERM)
    here, there = run(steps, store), run(steps, elsewhere, workers="local-ray")
    assert here.done == there.done and result(two, elsewhere) == b"2"
    assert (there.failed["broken"].cause, there.skipped) == ("Step broken: It collapsed.", ("after",))
    assert sorted(log(elsewhere)) == sorted(log(store)) == sorted(ONCE)
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.slow
def test_ray_saves_when_stopped(chores, store):
    pytest.importorskip("ray", reason="ray is not installed (the extra `cluster`)")
    step = Step(name="wait", function=chores.wait)
    with pytest.raises(Interrupted):
        run([step], store, workers="local-ray", interrupted=lambda: log(store) == ["begun"])
    (store.root.parent / "go").touch()
    run([step], store)
    assert result(step, store) == b"half"


class OneByOne:
    """Ray as far as a plan sees it, in this process; `asked` is what each task asked for."""

    exceptions = SimpleNamespace(RayError=ConnectionError)

    def __init__(self, gpus):
        self.gpus, self.asked = gpus, []

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": 2.0} | ({"GPU": self.gpus} if self.gpus else {})

    def remote(self, function):
        def options(**room):
            return SimpleNamespace(remote=lambda *given: self.asked.append(room) or (function, given))

        return SimpleNamespace(options=options)

    def wait(self, tasks, **more):
        return tasks, []

    def get(self, task):
        return task[0](*task[1])


@pytest.mark.parametrize(
    ("gpus", "device", "asked"),
    [
        (0.0, None, {"num_cpus": 1}),
        (0.0, "cpu", {"num_cpus": 1}),
        (2.0, "cpu", {"num_cpus": 1}),
        (2.0, None, {"num_cpus": 1, "num_gpus": 0.25}),
        (2.0, "cuda", {"num_cpus": 1, "num_gpus": 0.25}),
    ],
)
def test_steps_ask_a_cluster_for_what_they_run_on(gpus, device, asked, chores, store, monkeypatch):
    ray = OneByOne(gpus)
    monkeypatch.setitem(sys.modules, "ray", ray)
    ran = run([Step(name="two", function=chores.threads, device=device)], store, workers="local-ray")
    assert list(ran.done) == ["two"] and ray.asked == [asked]


def test_a_gpu_where_the_cluster_has_none(chores, store, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", OneByOne(0.0))
    with pytest.raises(ResourceError, match="no GPU"):
        run([Step(name="two", function=chores.threads, device="cuda")], store, workers="local-ray")


@pytest.mark.parametrize(("address", "kind"), [("127.0.0.1:1", ResourceError), ("lokal", UsageError)])
def test_a_cluster_that_is_not_there(chores, store, monkeypatch, address, kind):
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())  # it is not asked
    with pytest.raises(kind, match=address):
        run(chores.plan(), store, workers=address)
