"""What a caller may hand in, and how: networks of any kind, gradients switched off, options of a wrong kind."""

import copy

import pytest
import torch
from torch import nn

import sublimate as sm
from sublimate.errors import InputRefused, UnlearningFailed
from sublimate.inference import predict
from sublimate.unlearn.auto import best

Options = {"epochs": 1, "lr": 0.01}


def erased(toy, model=None, **given):
    few, own = toy.split.few_set, {"ratios": toy.split.ratios, "val": toy.split.val_set} | given
    return sm.method("finetune", **Options).unlearn(model or toy.model, toy.split.forget_set, few, **own)


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode])
def test_gradients_that_are_switched_off_make_no_difference(toy, switch):
    expected = erased(toy)
    with switch():
        found = erased(toy)
        assert not torch.is_grad_enabled()
    assert same(found, expected)
    found(torch.zeros(1, *toy.data.shape)).sum().backward()  # of plain tensors


class Caching(nn.Module):
    """Makes a table at its first use, as positional encodings do."""

    def __init__(self, model):
        super().__init__()
        self.model, self.table = model, None

    def forward(self, x):
        if self.table is None:
            self.table = x.new_ones(x.shape[1:])
        return self.model(x * self.table)


def test_what_a_module_keeps_may_be_used_for_training(toy):
    model = Caching(copy.deepcopy(toy.model))
    predict(model, toy.split.forget_set)
    x = toy.data.normalise(toy.data.read(toy.data.train[:4])[0])
    model(x.requires_grad_()).sum().backward()


class Uncopyable(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def __deepcopy__(self, memo):
        raise RuntimeError("holds a lock")

    def forward(self, x):
        return self.model(x)


class Picky(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        raise ValueError("wants another image")


def test_networks_that_cannot_be_used_are_refused(toy):
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(4))
    cases = ((Uncopyable(toy.model), "holds a lock"), (Picky(), "wants another image"), (lazy, "no shape yet"))
    for model, words in cases:
        with pytest.raises(InputRefused, match=words):
            erased(toy, model)


def test_ratios_that_are_no_numbers_are_refused(toy):
    for ratios in ([float("nan")] * 4, ["a"], [[0.5]]):
        with pytest.raises(InputRefused, match="ratios"):
            erased(toy, ratios=ratios)


def test_a_head_that_is_too_narrow_is_refused(toy):
    narrow = nn.Sequential(nn.Flatten(), nn.Linear(toy.data.read(toy.data.train[:1])[0].numel(), 2))
    with pytest.raises(InputRefused, match="head has 2 outputs"):
        sm.evaluate(narrow, toy.split)
    with pytest.raises(InputRefused, match="head has 2 outputs"):
        sm.audit(narrow, original=toy.model, split=toy.split)


def test_a_sample_of_nothing_is_refused(toy):
    for sample in (0, -1, 0.5):
        with pytest.raises(InputRefused, match="sample"):
            sm.evaluate(toy.model, toy.split, sample=sample)
        with pytest.raises(InputRefused, match="sample"):
            sm.audit(toy.model, original=toy.model, split=toy.split, sample=sample)


def test_epochs_that_are_none_are_refused(toy):
    for epochs in (0, -1, 1.5):
        with pytest.raises(InputRefused, match="epochs"):
            sm.train(toy.data, "small-cnn", epochs=epochs)


def test_true_is_no_learning_rate():
    with pytest.raises(InputRefused, match="cannot be True"):
        sm.method("finetune", lr=True)
    assert sm.method("finetune", lr=1).lr == 1


def test_a_probe_that_only_fails_gives_back_a_network(toy):
    with pytest.raises(UnlearningFailed) as failed:
        best([{"lr": 1.0, "failed": "collapsed"}], toy.model)
    assert same(failed.value.model, toy.model) and failed.value.model is not toy.model


class Masked(nn.Module):
    """Holds an infinite mask, weights with five dimensions, and a state that is no tensor."""

    def __init__(self, model):
        super().__init__()
        self.model, self.volume = model, nn.Parameter(torch.zeros(1, 1, 1, 1, 1))
        self.register_buffer("mask", torch.tensor([0.0, float("-inf")]))

    def get_extra_state(self):
        return {"version": 1}

    def set_extra_state(self, state):
        assert state == {"version": 1}

    def forward(self, x):
        return self.model(x) + self.volume.sum() + self.mask[0]


@pytest.mark.parametrize("name", ["finetune", "siamese", "scrub"])
def test_infinite_masks_volumes_and_states_that_are_no_tensors_are_no_obstacle(toy, name):
    s, model = toy.split, Masked(copy.deepcopy(toy.model))
    erased = sm.method(name, lr=0.01, epochs=1).unlearn(model, s.forget_set, s.few_set, ratios=s.ratios, val=s.val_set)
    assert erased.mask[1] == float("-inf") and not torch.equal(erased.model[5].weight, model.model[5].weight)


def test_weights_that_are_no_numbers_are_refused_and_buffers_too(toy):
    for place in ("0.weight", "mask"):
        model = Masked(copy.deepcopy(toy.model))
        tensors = dict(model.model.named_parameters()) | dict(model.named_buffers())
        next(t for n, t in tensors.items() if n.endswith(place.split(".")[-1])).data.flatten()[0] = float("nan")
        with pytest.raises(InputRefused, match="non-finite weights"):
            erased(toy, model)


def test_another_precision_is_refused_with_the_remedy(toy):
    for model in (copy.deepcopy(toy.model).double(), copy.deepcopy(toy.model).bfloat16()):
        with pytest.raises(InputRefused) as refused:
            erased(toy, model)
        assert "model.float()" in refused.value.remedy


def test_a_callers_default_of_double_precision_makes_no_difference(toy):
    expected = erased(toy)
    torch.set_default_dtype(torch.float64)
    try:
        assert same(erased(toy), expected)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_factory_that_builds_another_network_is_refused(toy):
    s = toy.split
    with pytest.raises(InputRefused, match="another network"):
        sm.method("badt").unlearn(
            toy.model,
            s.forget_set,
            s.few_set,
            ratios=s.ratios,
            factory=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 4)),
        )


def test_what_a_run_without_effect_has_read_is_told(toy):
    s, method = toy.split, sm.method("siamese", lr=1e-30, epochs=1)
    with pytest.raises(UnlearningFailed, match="no effect") as failed:
        method.unlearn(toy.model, s.forget_set, s.few_set, ratios=s.ratios)
    assert failed.value.samples == method.reads(len(s.forget), len(s.few))


def test_who_starts_anew_and_fails_gives_back_the_original(toy):
    s = toy.split
    with pytest.raises(UnlearningFailed, match="collapsed") as failed:
        sm.method("retrain", recipe="paper", epochs=1).unlearn(
            toy.model, s.forget_set, s.few_set, ratios=s.ratios, val=s.val_set
        )
    assert same(failed.value.model, toy.model) and failed.value.model is not toy.model


def test_records_that_a_method_does_not_read_are_not_handed_on_as_true(toy):
    s = toy.split
    outcome = sm.method("finetune", **Options).run(toy.model, s.forget_set, s.few_set, ratios=s.ratios, records="old")
    assert outcome.records is None
