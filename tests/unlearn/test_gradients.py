from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sublimate.unlearn import gradients
from sublimate.unlearn.conjugate import flat, shaped
from sublimate.unlearn.curvature import gauss_newton_product
from sublimate.unlearn.gradients import Sums, movable, summed_gradients, summed_over_samples


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.b.weight = self.a.weight
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        return self.head(self.b(self.a(x.flatten(1)).tanh()).tanh()), "beside"


class Branching(nn.Module):
    """Looks at a value: torch cannot vectorise that."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        return self.head(x if float(x.sum()) > 0 else 2 * x)


class Attentive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.TransformerEncoderLayer(2, 1, 4, dropout=0.5, batch_first=True), nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x.flatten(2).transpose(1, 2).reshape(len(x), 2, 2)).mean(1))


def convolutional() -> nn.Module:
    layers = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(8, 3)
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def frozen() -> nn.Module:
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    model[1].weight.requires_grad_(False)
    return model


class Recurrent(nn.Module):
    """An LSTM has no derivative forwards in torch, and cannot be vectorised."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.LSTM(2, 3, batch_first=True), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x.flatten(1).view(len(x), 2, 2))[0].mean(1))


KINDS: dict[str, Any] = {
    "recurrent": Recurrent,
    "tied": Tied,
    "branching": Branching,
    "attentive": Attentive,
    "convolutional": convolutional,
    "frozen": frozen,
}


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return KINDS[request.param]()


@pytest.fixture
def batch() -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(2)
    return torch.randn(7, 1, 2, 2, generator=g), torch.randint(3, (7,), generator=g)


def slow(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """One backward pass for each record, on a copy."""
    model = copy.deepcopy(model).eval()
    sums = {name: torch.zeros_like(p) for name, p in model.named_parameters() if p.requires_grad}
    for i in range(len(y)):
        model.zero_grad()
        out = model(x[i : i + 1])
        F.cross_entropy(out[0] if isinstance(out, tuple) else out, y[i : i + 1]).backward()
        for name, p in model.named_parameters():
            if p.grad is not None:
                sums[name] += p.grad**2
    return sums


def close(found: Any, wanted: Any, tolerance: float = 1e-6) -> None:
    assert list(found) == list(wanted)
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=1e-5, atol=tolerance)


def test_squares_by_hand() -> None:
    # Equal rows give p = (1/2, 1/2); a gradient is (p − e_y) xᵀ, its square x²/4 whatever the label.
    model = nn.Linear(2, 2, bias=False)
    nn.init.ones_(model.weight)
    x, y = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), torch.tensor([0, 1, 0])
    squares = torch.tensor([(1 + 0 + 1) / 4, (0 + 4 + 1) / 4])
    close(summed_over_samples(model, x, y), {"weight": squares.repeat(2, 1)})
    # First row: −1/2·(1, 0) + 1/2·(0, 2) − 1/2·(1, 1) = (−1, 1/2); the second is its opposite.
    close(summed_gradients(model, x, y), {"weight": torch.tensor([[-1.0, 0.5], [1.0, -0.5]])})
    close(summed_over_samples(model, x, y, each=torch.abs), {"weight": torch.tensor([[1.0, 1.5], [1.0, 1.5]])})


def test_squares_are_those_of_single_records(model: nn.Module, batch: tuple[Tensor, Tensor]) -> None:
    close(summed_over_samples(model, *batch), slow(model, *batch))


def test_large_networks_go_one_by_one_with_the_same_result(
    model: nn.Module, batch: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = summed_over_samples(model, *batch)
    monkeypatch.setattr(gradients, "AT_ONCE", 1)
    monkeypatch.setattr(gradients, "_vectorised", None)
    close(summed_over_samples(model, *batch), at_once)


def test_chunks_do_not_matter(batch: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    model = frozen()
    size = sum(p.numel() for p in movable(model).values())
    x, y = (t.repeat(3, *[1] * (t.ndim - 1)) for t in batch)  # 21 records
    whole = summed_over_samples(model, x, y)
    monkeypatch.setattr(gradients, "AT_ONCE", 8 * size)
    monkeypatch.setattr(gradients, "_one_by_one", None)
    close(summed_over_samples(model, x, y), whole)


def test_modes_gradients_and_switches_are_given_back(model: nn.Module, batch: tuple[Tensor, Tensor]) -> None:
    model.train()
    next(model.children()).eval()
    before = [m.training for m in model.modules()], torch.backends.mha.get_fastpath_enabled()
    summed_over_samples(model, *batch)
    summed_gradients(model, *batch)
    gauss_newton_product(model, batch[0], {name: torch.ones_like(p) for name, p in movable(model).items()})
    assert before == ([m.training for m in model.modules()], torch.backends.mha.get_fastpath_enabled())
    assert all(p.grad is None for p in model.parameters())


def test_gauss_newton_product_is_the_dense_one(model: nn.Module, batch: tuple[Tensor, Tensor]) -> None:
    x = batch[0].abs()  # one branch for all
    v = {name: torch.randn(p.shape, generator=torch.Generator().manual_seed(3)) for name, p in movable(model).items()}
    found = flat(gauss_newton_product(model, x, v))
    model.eval()
    H = torch.zeros(len(found), len(found))
    for i in range(len(x)):
        out = model(x[i : i + 1])
        z = (out[0] if isinstance(out, tuple) else out)[0]
        rows = [
            torch.autograd.grad(logit, list(movable(model).values()), retain_graph=True, materialize_grads=True)
            for logit in z
        ]
        J = torch.stack([torch.cat([g.reshape(-1) for g in row]) for row in rows])
        p = z.detach().softmax(0)
        H += J.T @ (p.diag() - p.outer(p)) @ J
    torch.testing.assert_close(found, H @ flat(v), rtol=1e-4, atol=1e-5)


def test_a_vector_takes_the_shapes_of_the_parameters(model: nn.Module) -> None:
    values = {name: p.detach() for name, p in movable(model).items()}
    close(shaped(flat(values), model), values, 0)


def test_sums_survive_saving() -> None:
    model = frozen()
    sums, again = Sums(model), Sums(model)
    sums.add({name: torch.full_like(p, 3.0) for name, p in movable(model).items()}, 2)
    again.load_state_dict(sums.state_dict())
    again.add({name: torch.full_like(p, 3.0) for name, p in movable(model).items()}, 2)
    close(again.means(), {name: torch.full_like(p, 1.5) for name, p in movable(model).items()})
    assert list(sums.means()) == ["1.bias", "3.weight", "3.bias"]  # not what is frozen
