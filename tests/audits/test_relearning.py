"""Relearning: who is shown what, what is counted, and that hidden classes come back sooner than unknown ones."""

import copy

import pytest
import torch
from torch import nn

from sublimate.audits import updating
from sublimate.audits.relearning import relearning
from sublimate.audits.updating import BATCH, Attack, Standing
from sublimate.data import load
from sublimate.data.core import Data
from sublimate.models.registry import build
from sublimate.splits import Part, split
from sublimate.training import find_recipe, fit

LOG = []


class Spy(nn.Module):
    """Says class 0 or what it learns to; notes the first pixel (the number of the row) of what it is trained on."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 3)

    def forward(self, x):
        if self.training:
            LOG.append([round(v) for v in x.flatten().tolist()])
        return self.linear(x.flatten(1) / 100)


def spied(request, n=60, **how):
    """Row r is an image of one pixel r, of class r % 3; n training rows, then 30 test and 3 validation rows."""
    rows = torch.arange(n + 33)
    x = rows.float().view(-1, 1, 1, 1)
    data = Data(name="rows", images=x, labels=rows % 3, sizes=(n, 30, 3), classes=("a", "b", "c"))
    s = split(data, request)
    LOG.clear()
    found = relearning(Spy(), Spy(), s, **how)
    return s, found, [LOG[i] for i in range(len(LOG))]


def test_gain_by_hand():
    def standing(right, n):
        return Standing(torch.arange(n) < right, torch.zeros(n), torch.zeros(n))

    found = Attack(
        shown=1,
        updates=40,
        others=(standing(1, 10), standing(8, 10)),
        control=(standing(2, 20), standing(6, 20)),
        updates_to_target=8,
    )
    assert found.others[1].accuracy == 80.0
    assert found.gain == pytest.approx(50.0)  # 10 → 80, 10 → 30


def test_each_attack_is_shown_so_many_records_and_the_rest_is_retained(monkeypatch):
    monkeypatch.setattr(updating, "ENOUGH_SHOWN", 99)  # the spy cannot learn them
    s, found, batches = spied("class:b", shown=(0, 1, 5, 10), updates=80)
    assert [a.shown for a in found.erased] == [0, 1, 5, 10] and [a.updates for a in found.erased] == [20] * 4
    forget, retain, before = set(s.forget.tolist()), set(s.retain.tolist()), set()
    for k, attack in enumerate(found.erased):
        mine = batches[20 * k : 20 * k + 20]
        assert all(len(rows) == BATCH for rows in mine)
        assert all(sum(row in forget for row in rows) == min(attack.shown, 8) for rows in mine)
        shown = {row for rows in mine for row in rows} & forget
        assert len(shown) == attack.shown and before <= shown  # the more the same
        assert {row for rows in mine for row in rows} <= shown | retain
        before = shown
    # Ten of twenty are in the pool; the others are judged, with all never-seen records of the class.
    assert all(len(standing.right) == 10 for a in found.erased for standing in (*a.others, *a.control))


def test_control_is_of_the_classes_of_the_forgotten_records():
    _, found, _ = spied("id:0,3,4,7", shown=(0, 1, 2), updates=3)  # classes a and b
    assert [len(a.control[0].right) for a in found.erased] == [20] * 3
    assert [len(a.others[0].right) for a in found.erased] == [2] * 3


@pytest.mark.parametrize(
    ("ids", "possible", "skipped"),
    [("7", [0], "1, 5, 10, 50"), ("7,8", [0, 1], "5, 10, 50"), ("1,2,3,4,5,6,7,8,9,10", [0, 1, 5], "10, 50")],
)
def test_small_requests_give_what_is_possible_and_say_what_is_not(ids, possible, skipped):
    _, found, _ = spied(f"id:{ids}", updates=5)
    assert [a.shown for a in found.erased] == possible
    assert found.skipped[0].startswith(f"{skipped} shown: at most half of the {len(ids.split(','))} forgotten records")
    assert found.retrained == () and found.skipped[1].startswith("comparison: ")


def test_the_comparison_undergoes_the_same_attack(toy):
    found = relearning(toy.model, toy.model, toy.split, retrained=[toy.model, toy.model], shown=(0, 5), updates=20)
    assert found.skipped == () and found.target == 50.0  # the toy's own network calls all of them right
    assert len(found.retrained) == 2
    for mine, *theirs in zip(found.erased, *found.retrained, strict=True):
        assert all(one.shown == mine.shown and torch.equal(mine.others[1].phi, one.others[1].phi) for one in theirs)
        assert mine.updates_to_target == 0
        assert torch.equal(mine.others[1].labels, torch.ones(55)) and len(mine.control[1].labels) == 24  # class b
    # Of each attack 10 · 32 trained on, 6 looks at 55 others, all others and all control at its end; before the
    # attacks the same for the target, and of each network others and control.
    assert found.images == 6 * (320 + 6 * 55 + 55 + 24) + 55 + 3 * (55 + 24)


def test_repeats_with_its_seed_and_leaves_the_network_and_the_random_state(toy):
    model = copy.deepcopy(toy.model)
    model[0].train()
    model.requires_grad_(False)
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    modes = [m.training for m in model.modules()]
    one, two, other = (relearning(model, model, toy.split, shown=(1,), updates=10, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.erased[0].others[1].phi, two.erased[0].others[1].phi)
    assert not torch.equal(one.erased[0].others[1].phi, other.erased[0].others[1].phi)
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    assert [m.training for m in model.modules()] == modes and torch.equal(torch.get_rng_state(), state)
    assert all(not p.requires_grad and p.grad is None for p in model.parameters())
    # What the owner froze moves all the same.
    assert not torch.equal(one.erased[0].others[0].phi, one.erased[0].others[1].phi)


class Masked(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x).index_fill(1, torch.tensor([1]), float("-inf"))


class Undefined(Masked):
    """No number for what it is shown in training."""

    def forward(self, x):
        return super().forward(x) * torch.nan if self.training else super().forward(x)


def test_infinite_logits_are_clamped(toy):
    found = relearning(Masked(toy.model), toy.model, toy.split, shown=(0, 1), updates=4)
    assert [a.shown for a in found.erased] == [0, 1] and found.failed == ()
    assert all(bool(a.others[1].phi.isfinite().all()) for a in found.erased)


def test_an_attack_that_cannot_be_carried_out_is_said_not_raised(toy):
    found = relearning(Undefined(toy.model), toy.model, toy.split, shown=(0, 1), updates=4)
    assert found.erased == () and len(found.failed) == 2
    assert found.failed[1].startswith("1 shown to the erased network: The loss became non-finite")


@pytest.fixture(scope="session")
def digits():
    """The threes: an original, one that never saw them, and the original with another last layer."""
    s = split(load("digits"), "class:3")

    def trained(rows, seed):
        recipe = find_recipe("fast", epochs=2, batch_size=64, views="none")
        part = Part(s.data, rows, "train")
        return fit(lambda: build("small-cnn", 10, channels=1, size=8), part, recipe, seed=seed)[0]

    original, retrained = trained(s.data.train, 0), trained(s.retain, 1)
    edited = copy.deepcopy(original)
    with torch.no_grad():
        edited.linear.weight[3], edited.linear.bias[3] = 0.0, -20.0
    return s, original, retrained, edited


def test_a_last_layer_edit_is_revived_sooner_than_an_unknown_class(digits):
    s, original, retrained, edited = digits
    found = relearning(edited, original, s, retrained=[retrained], shown=(0, 1, 5), updates=120)
    for hidden, unknown in zip(found.erased, found.retrained[0], strict=True):
        assert hidden.others[0].accuracy == unknown.others[0].accuracy == 0.0
        assert len(hidden.others[0].right) == len(s.forget) - 5
    _, hidden, _ = found.erased
    _, unknown, _ = found.retrained[0]
    assert hidden.others[1].accuracy > unknown.others[1].accuracy + 20
    assert hidden.others[1].phi.median() > unknown.others[1].phi.median() + 2
    assert hidden.updates_to_target is not None and hidden.updates_to_target % 2 == 0
    assert hidden.updates_to_target < (unknown.updates_to_target or 41)


def test_a_class_that_cannot_be_learned_is_an_attack_that_could_not_be_carried_out(toy):
    """Behind a mask no update can make the network name the class: that it never comes back shows nothing."""
    chosen = split(toy.data, f"class:{toy.data.classes[1]}")
    found = relearning(Masked(toy.model), toy.model, chosen, shown=(0, 10), updates=20)
    assert [attack.shown for attack in found.erased] == [0]
    assert len(found.failed) == 1 and "not one of them is called right" in found.failed[0]
