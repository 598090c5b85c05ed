"""Every public name works as the contract says, whatever was imported before."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import sublimate as sm

MODULES = [module.name for module in pkgutil.walk_packages(sm.__path__, "sublimate.")]


@dataclass
class World:
    """Four classes, told apart by where an image is bright, and a network that has learnt them."""

    x: Tensor
    y: Tensor
    data: sm.Data
    split: sm.Split
    model: nn.Module


def bright(n: int, seed: int) -> tuple[Tensor, Tensor]:
    y = torch.arange(n) % 4
    x = torch.rand(n, 1, 8, 8, generator=torch.Generator().manual_seed(seed))
    x[torch.arange(n), 0, 2 * y] += 1
    return x, y


@pytest.fixture(scope="module")
def world() -> World:
    for name in MODULES:
        import_module(name)
    (x, y), test = bright(200, 0), bright(100, 1)
    data = sm.Data.from_dataset((x, y), test, classes=("automobile", "cat", "truck", "ship"), flip=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    split = sm.split(data, "class:automobile,cat", few=60, seed=0, exclude=("199",))
    return World(x, y, data, split, model.eval())


def unlearn(w: World) -> nn.Module:
    method = sm.Siamese(lr=1e-2, epochs=3, lam=1.0)
    return method.unlearn(
        w.model, w.split.forget_set, w.split.few_set, ratios=w.split.ratios, val=w.split.val_set, progress=None
    )


def use_data(w: World) -> None:
    loader = DataLoader(TensorDataset(w.x, w.y), batch_size=7)
    data = sm.Data.from_dataset(loader)
    x, y = data.read(torch.tensor([3, 0]))
    assert torch.equal(x, w.x[[3, 0]]) and y.tolist() == [3, 0]


def use_split(w: World) -> None:
    assert isinstance(w.split, sm.Split)
    assert w.split.forget.tolist() == [row for row in range(199) if row % 4 < 2]
    assert w.split.retain.tolist() == [row for row in range(199) if row % 4 >= 2]
    assert len(w.split.few) == 60 and len(w.split.val) == 20 and len(w.split.control) == 80
    assert w.split.ratios.tolist() == [1, 1, 0, 0] and len(w.split.fingerprint) == 16


def use_siamese(w: World) -> None:
    before = {name: tensor.clone() for name, tensor in w.model.state_dict().items()}
    erased = unlearn(w)
    assert not torch.equal(erased[1].weight, w.model[1].weight)
    assert all(torch.equal(before[name], tensor) for name, tensor in w.model.state_dict().items())


def use_evaluate(w: World) -> None:
    scores = sm.evaluate(w.model, w.split)
    assert isinstance(scores, sm.Scores)
    assert (scores.acc_dr, scores.acc_df, scores.ta_dr, scores.ta_df, scores.ta) == (100, 100, 100, 100, 100)
    assert scores.mia is not None and 0 <= scores.mia <= 100


def use_audit(w: World) -> None:
    found = sm.audit(w.model, original=w.model, split=w.split)
    assert found.verdict in ("PASS", "FAIL", "INCONCLUSIVE") and found.reasons and found.tests
    assert found.split == w.split.fingerprint


def use_erase(w: World) -> None:
    Path("withdrawn.txt").write_text("".join(f"{row}\n" for row in range(0, 200, 4)))
    result = sm.erase(w.model, w.data, "ids:withdrawn.txt")
    assert isinstance(result, sm.Result) and isinstance(result.model, nn.Sequential)
    assert result.split.forget.tolist() == list(range(0, 200, 4))
    assert result.before and result.after and result.after.acc_df < result.before.acc_df
    assert result.record.choices["preset"] == "auto"


def use_unlearner(w: World) -> None:
    assert isinstance(sm.Siamese(), sm.Unlearner)
    with pytest.raises(TypeError):
        sm.Unlearner()  # type: ignore[abstract]


def use_failure(w: World) -> None:
    with pytest.raises(sm.UnlearningFailed) as failure:
        sm.Siamese(lr=1e30).unlearn(w.model, w.split.forget_set, w.split.few_set, ratios=w.split.ratios)
    assert isinstance(failure.value.model, nn.Module) and failure.value.exit_code == 6


def use_error(w: World) -> None:
    with pytest.raises(sm.SublimateError, match=r"No class 'cta'\. Known, nearest first: cat"):
        sm.split(w.data, "class:cta")


def use_train(w: World) -> None:
    network = sm.train(w.data, "small-cnn", forget="class:cat", epochs=1)
    assert network(w.x[:2]).shape == (2, 4)


def expect(wanted: object, value: Callable[[World], object]) -> Callable[[World], None]:
    def use(w: World) -> None:
        assert value(w) == wanted

    return use


USES: dict[str, Callable[[World], None]] = {
    "Data": use_data,
    "FullClass": expect("class:cat,truck", lambda w: sm.FullClass("cat", "truck").text),
    "RandomFraction": expect(20, lambda w: len(sm.split(w.data, sm.RandomFraction(0.1)).forget)),
    "Records": expect([7, 19], lambda w: sm.split(w.data, sm.Records("19", "7")).forget.tolist()),
    "Result": use_erase,
    "Scores": use_evaluate,
    "Siamese": use_siamese,
    "Split": use_split,
    "SubClass": expect(45, lambda w: len(sm.split(w.data, sm.SubClass("cat", 0.9)).forget)),
    "SublimateError": use_error,
    "UnlearningFailed": use_failure,
    "Unlearner": use_unlearner,
    "audit": use_audit,
    "build": expect((2, 7), lambda w: tuple(sm.build("small-cnn", 7, channels=1, size=8).eval()(w.x[:2]).shape)),
    "erase": use_erase,
    "evaluate": use_evaluate,
    "load": expect((1437, 360, 0), lambda w: sm.load("digits").sizes),
    "method": expect(sm.Siamese(epochs=3), lambda w: sm.method("siamese", epochs=3)),
    "methods": expect(True, lambda w: "siamese" in sm.methods()),
    "split": use_split,
    "train": use_train,
}


@pytest.mark.parametrize("name", sm.__all__)
def test_a_public_name_works_after_every_module_was_imported(
    name: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert callable(getattr(sm, name))
    USES[name](world)


def test_no_module_has_the_name_of_a_public_function(world: World) -> None:
    assert {module.name for module in pkgutil.iter_modules(sm.__path__)}.isdisjoint(sm.__all__)
    homes = [sys.modules[f"sublimate.{home}"] for home in sm._HOME.values()]
    assert not [name for home, name in zip(homes, sm._HOME, strict=True) if isinstance(getattr(home, name), ModuleType)]


def test_type_checkers_see_the_same_names_as_python() -> None:
    source = Path(sm.__file__).read_text(encoding="utf-8")
    shown = source.split("if TYPE_CHECKING:\n", 1)[1].split("\n\n", 1)[0]
    imports = [line.split() for line in shown.splitlines()]
    assert {words[-1]: words[1].lstrip(".") for words in imports} == sm._HOME


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        sm.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "import sublimate.cli",
        "import sublimate; dir(sublimate)",
        "import sys; sys.argv = ['sublimate', '--help']; from sublimate.cli import main; main()",
        "import sys; sys.argv = ['sublimate', 'erase', '--help']; from sublimate.cli import main; main()",
    ],
    ids=["import", "dir", "help", "erase help"],
)
def test_torch_is_not_imported_before_it_is_needed(code: str) -> None:
    # The exit of a finished command must not keep the last line from being reached.
    guarded = f"import sys\ntry:\n    {code}\nexcept SystemExit as e:\n    assert not e.code, e.code\n"
    last = "assert 'sublimate' in sys.modules and 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", guarded + last], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
