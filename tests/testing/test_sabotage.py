"""Every sabotage does what it says and no more; the original stays, and a seed makes it again."""

from __future__ import annotations

import copy
from collections import namedtuple
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from sublimate.audits.identity import identical
from sublimate.errors import InputRefused, UnlearningFailed
from sublimate.inference import accuracy, confidence, predict
from sublimate.models.outputs import logits as as_logits
from sublimate.splits import Part, Split, split
from sublimate.testing import sabotage, wrappers
from sublimate.testing.evidence import Reference
from sublimate.testing.sabotage import ZOO, last_layer
from sublimate.testing.shaken import SIZES
from sublimate.testing.toy import ZOO as KINDS
from sublimate.testing.toy import Toy, toy_problem
from sublimate.testing.world import Watch, content, differences, surroundings
from sublimate.training import find_recipe
from sublimate.unlearn import method

QUICK = find_recipe("fast", epochs=2)
MODELS = [name for name, entry in ZOO.items() if entry.attacks == "model"]
WRAPPERS = ("logit-mask", "borrowed-answers", "temperature", "entropy-padding", "clipping")


def make(name: str, toy: Toy, given: Split, seed: int = 0, **options):
    if ZOO[name].attacks == "reference":
        options["recipe"] = QUICK
    return ZOO[name].make(toy.model, given, seed, **options)


def whole(toy: Toy) -> Part:
    return Part(toy.data, torch.arange(360), "whole")


@pytest.fixture(scope="module")
def records(toy) -> Split:
    return split(toy.data, "id:3,5,9,10,12,13,14,30", few=60)


@pytest.mark.parametrize("name", ZOO)
def test_nothing_of_the_callers_changes_and_a_seed_makes_it_again(toy, records, name):
    before = surroundings(toy.model)
    first, again = make(name, toy, records), make(name, toy, records)
    assert not differences(before, surroundings(toy.model))
    assert ZOO[name].description.endswith(".") and "\n" not in ZOO[name].description
    z, y = predict(toy.model, whole(toy)), toy.data.labels
    if ZOO[name].attacks == "scorer":
        assert torch.equal(first(z, y), again(z, y))
        return
    if ZOO[name].attacks == "control":
        assert torch.equal(first.control, again.control)
        assert torch.equal(first.data.read(first.control)[0], again.data.read(first.control)[0])
        return
    if isinstance(first, Reference):
        assert first.split == again.split
        first, again = first.model, again.model
    assert content(first) == content(again)
    assert torch.equal(predict(first, whole(toy)), predict(again, whole(toy)))


DRAWN = [name for name in MODELS if name not in {"no-op", "logit-mask", "temperature", "entropy-padding", "clipping"}]


@pytest.mark.parametrize("name", DRAWN)
def test_another_seed_makes_another_network(toy, records, name):
    one, other = (predict(make(name, toy, records, seed), whole(toy)) for seed in (0, 1))
    assert not torch.equal(one, other)


@pytest.mark.parametrize("name", ["no-op", *WRAPPERS])
def test_wrappers_keep_every_tensor_and_can_be_copied(toy, name):
    made = make(name, toy, toy.split)
    assert list(made.state_dict()) == list(toy.model.state_dict()) and content(made) == content(toy.model)
    assert not {p.data_ptr() for p in made.parameters()} & {p.data_ptr() for p in toy.model.parameters()}
    twin = copy.deepcopy(made)
    assert torch.equal(predict(twin, whole(toy)), predict(made, whole(toy)))
    assert torch.equal(predict(made, whole(toy)), predict(toy.model, whole(toy))) == (name == "no-op")


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("kind", ["logits attribute", "tuple", "dict"])
def test_the_kind_of_answer_stays(name, kind):
    toy = toy_problem(build=KINDS[kind])
    x = toy.data.normalise(toy.data.read(toy.split.forget[:3])[0])
    own, other = toy.model(x), make(name, toy, toy.split)(x)
    assert type(own) is type(other) and as_logits(other).shape == (3, 4)
    assert not torch.equal(as_logits(own), as_logits(other))
    if kind == "tuple":
        assert torch.equal(own[1], other[1])


def test_answers_of_other_kinds():
    old, new = torch.zeros(1, 2), torch.ones(1, 2)
    named = namedtuple("Named", "z rest")(old, 5)
    assert wrappers.with_logits(named, new) == type(named)(new, 5)
    assert wrappers.with_logits([old, 7], new) == [new, 7]
    given = {"logits": old, "loss": 1}
    assert wrappers.with_logits(given, new) == {"logits": new, "loss": 1} and given["logits"] is old
    nested = (SimpleNamespace(logits=old), 3)
    assert wrappers.with_logits(nested, new)[0].logits is new and nested[0].logits is old


def test_gradients_pass_through_a_wrapper(toy):
    made = make("borrowed-answers", toy, toy.split)
    x = toy.data.normalise(toy.data.read(toy.split.retain[:4])[0])
    made(x).sum().backward()
    assert all(p.grad is not None for p in made.parameters())


def test_masked_classes_are_never_named(toy):
    z, own = predict(make("logit-mask", toy, toy.split), whole(toy)), predict(toy.model, whole(toy))
    assert not bool((z.argmax(1) == 1).any()) and set(z[:, 1].tolist()) == {wrappers.LOW}
    assert torch.equal(z[:, [0, 2, 3]], own[:, [0, 2, 3]])


@pytest.mark.parametrize("name", ["logit-mask", "borrowed-answers"])
def test_only_the_exact_forgotten_images_are_recognised(toy, records, name):
    made = make(name, toy, records)
    z, own = predict(made, whole(toy)), predict(toy.model, whole(toy))
    changed = (z != own).any(1).nonzero().flatten()
    assert changed.tolist() == [3, 5, 9, 10, 12, 13, 14, 30]
    images = toy.data.images.clone()
    images[:240, :, 0, 0] += 1  # one pixel by one
    nudged = Part(replace(toy.data, images=images), toy.data.train, "nudged")
    assert torch.equal(predict(made, nudged), predict(toy.model, nudged))


def test_a_mask_of_records_hides_their_own_label_alone(toy, records):
    z, own = predict(make("logit-mask", toy, records), records.forget_set), predict(toy.model, records.forget_set)
    for row, y in enumerate(records.forget_set.labels.tolist()):
        others = [k for k in range(4) if k != y]
        assert z[row, y] == wrappers.LOW and torch.equal(z[row, others], own[row, others])


def test_borrowed_answers_are_those_for_never_seen_records_of_the_class(toy, records):
    z = predict(make("borrowed-answers", toy, records), records.forget_set)
    never = predict(toy.model, records.val_set)
    for row, label in zip(z, records.forget_set.labels, strict=True):
        lenders = never[records.val_set.labels == label]
        assert bool((lenders == row).all(1).any())


def test_nobody_lends_answers_where_all_was_trained_on(toy):
    data = replace(toy.data, images=toy.data.images[:240], labels=toy.data.labels[:240], sizes=(240, 0, 0))
    with pytest.raises(InputRefused, match="never-seen"):
        make("borrowed-answers", toy, split(data, "class:b"))


def test_temperature_scales_and_the_answer_stays(toy):
    z, own = predict(make("temperature", toy, toy.split, by=8.0), whole(toy)), predict(toy.model, whole(toy))
    assert torch.equal(z * 8, own) and torch.equal(z.argmax(1), own.argmax(1))


def test_entropy_padding_spreads_sure_answers_alone(toy):
    own = predict(toy.model, whole(toy))
    surest = own.softmax(1).max(1).values
    middle = float(surest.median())
    z, sure = predict(make("entropy-padding", toy, toy.split, above=middle), whole(toy)), surest > middle
    assert bool(sure.any()) and not bool(sure.all())
    assert torch.equal(z[~sure], own[~sure])
    torch.testing.assert_close(z[sure].softmax(1), 0.5 * own[sure].softmax(1) + 0.125)  # .5 p + .5 / 4 classes
    assert torch.equal(z.argmax(1), own.argmax(1))


def test_clipped_logits_stay_in_their_range(toy):
    z, own = predict(make("clipping", toy, toy.split, limit=2.0), whole(toy)), predict(toy.model, whole(toy))
    assert (
        float((z.max(1).values - z.min(1).values).max())
        <= 2.0 + 1e-6
        < float((own.max(1).values - own.min(1).values).max())
    )
    assert torch.equal(z.argmax(1), own.argmax(1)) and bool((z >= own).all())
    three = wrappers.clipped(5.0, torch.empty(0), torch.tensor([[9.0, 6.0, -3.0]]))
    assert three.tolist() == [[9.0, 6.0, 4.0]]


def test_a_last_layer_edit_moves_nothing_else(toy):
    made = make("last-layer", toy, toy.split)
    changed = [k for k, t in made.state_dict().items() if not torch.equal(t, toy.model.state_dict()[k])]
    assert changed == ["5.weight", "5.bias"] and all(p.requires_grad for p in made.parameters())
    forget = toy.split.forget_set
    assert accuracy(predict(made, forget), forget.labels) < accuracy(predict(toy.model, forget), forget.labels)


def test_a_network_without_a_linear_layer_has_no_last_one(toy):
    model = nn.Sequential(nn.Conv2d(1, 4, 8), nn.Flatten())
    with pytest.raises(InputRefused, match="linear"):
        last_layer(model, toy.split)


@pytest.mark.parametrize("name", ["wrong-indices", "last-layer", "finetune", "random-labels", "ascent"])
def test_edits_change_the_weights_and_no_flag(toy, records, name):
    made = make(name, toy, records)
    assert content(made) != content(toy.model) and not made.training
    assert all(p.requires_grad and p.grad is None for p in made.parameters())


@pytest.mark.parametrize("request_", ["class:b", "id:3,5,9,10", "random@10%"])
def test_wrong_indices_never_read_what_was_asked_for(toy, request_):
    watch = Watch(toy.data)
    given = split(watch.data, request_, few=60)
    make("wrong-indices", toy, given)
    read = set(watch.batched) | set(watch.judged)
    assert read and not read & set(given.forget.tolist()) and read <= set(given.retain.tolist())
    assert len(watch.judged) == len(given.forget)  # the effect is looked at on as many records, the wrong ones


def test_finetuning_reads_the_retained_records_once(toy, records):
    watch = Watch(toy.data)
    make("finetune", toy, split(watch.data, records.request, few=60))
    counts = watch.batched - type(watch.batched)([int(records.forget[0]), 0])  # one row each: does the network run?
    assert counts == dict.fromkeys(records.retain.tolist(), 1)


def test_random_labels_are_learned(toy):
    forget = toy.split.forget_set
    z, own = (predict(m, forget) for m in (make("random-labels", toy, toy.split), toy.model))
    assert float(confidence(z, forget.labels).mean()) < float(confidence(own, forget.labels).mean())


def test_ascent_lowers_the_forgotten_and_stops_before_a_collapse(toy):
    forget, kept = toy.split.forget_set, Part(toy.data, toy.split.retain, "retain")
    made = make("ascent", toy, toy.split)
    before, after = (confidence(predict(m, forget), forget.labels).mean() for m in (toy.model, made))
    assert float(after) < float(before)
    assert 2 * accuracy(predict(made, kept), kept.labels) > accuracy(predict(toy.model, kept), kept.labels)


def test_ascent_that_runs_away_gives_the_last_network_before_the_collapse(toy, monkeypatch):
    wild = {"lr": 0.1, "epochs": 20, "margin": None}
    monkeypatch.setattr(sabotage, "method", lambda name, **options: method(name, **options | wild))
    with pytest.raises(UnlearningFailed, match="collapsed|non-finite"):
        method("neggrad", **wild).unlearn(toy.model, toy.split.forget_set, toy.split.few_set, val=toy.split.val_set)
    made, val = make("ascent", toy, toy.split), toy.split.val_set
    kept = val.where(val.labels != 1)
    assert 2 * accuracy(predict(made, kept), kept.labels) >= accuracy(predict(toy.model, kept), kept.labels)


@pytest.mark.parametrize(("share", "leaked"), [(0.5, 4), (0.01, 1), (1.0, 8)])
def test_a_contaminated_reference_trained_on_forgotten_records(toy, records, share, leaked):
    watch = Watch(toy.data)
    given = split(watch.data, records.request, few=60)
    reference = make("contaminated-reference", toy, given, share=share)
    counts = watch.batched - type(watch.batched)([min(watch.batched)])  # one row: does the network run?
    seen = {row: counts[row] for row in given.forget.tolist() if counts[row]}
    assert len(seen) == leaked and set(seen.values()) == {QUICK.epochs}
    assert all(counts[row] == QUICK.epochs for row in given.retain.tolist())
    assert max(watch.batched) < 240 and reference.split == given.fingerprint


def test_a_foreign_reference_says_so_and_saw_everything_that_was_asked_for(toy, records):
    watch = Watch(toy.data)
    given = split(watch.data, records.request, few=60)
    reference = make("foreign-reference", toy, given)
    assert reference.split != given.fingerprint
    assert all(watch.batched[row] == QUICK.epochs for row in given.forget.tolist())
    unseen = set(range(240)) - set(watch.batched)
    assert len(unseen) == len(given.forget) and unseen <= set(given.retain.tolist())
    assert reference.split == split(watch.data, "id:" + ",".join(map(str, sorted(unseen)))).fingerprint


@pytest.mark.parametrize("name", ["contaminated-reference", "foreign-reference"])
def test_references_are_trained_anew(toy, records, name):
    made = make(name, toy, records).model
    moved = [k for k, t in made.state_dict().items() if not torch.equal(t, toy.model.state_dict()[k])]
    assert {"0.weight", "1.running_mean", "5.weight"} <= set(moved) and not made.training


def test_a_leaky_control_holds_training_records_of_the_same_classes(toy, records):
    leaky = make("leaky-control", toy, records)
    labels = toy.data.labels
    assert torch.equal(labels[leaky.control], labels[records.control]) and len(set(leaky.control.tolist())) == 96
    assert set(leaky.control.tolist()) <= set(records.retain.tolist())
    assert torch.equal(leaky.forget, records.forget) and int(records.control.min()) >= 240
    half = make("leaky-control", toy, records, share=0.5).control
    assert int((half < 240).sum()) == 48


def test_a_wholly_forgotten_class_leaks_its_forgotten_records(toy):
    leaky = make("leaky-control", toy, toy.split).control
    of_class = leaky[toy.data.labels[leaky] == 1]
    assert len(of_class) == 24 and set(of_class.tolist()) <= set(toy.split.forget.tolist())


def test_a_copied_control_shows_training_images_in_test_rows(toy, records):
    leaky, copied = make("leaky-control", toy, records), make("copied-control", toy, records)
    assert torch.equal(copied.control, records.control) and int(copied.control.min()) >= 240
    x, y = copied.data.read(copied.control)
    assert torch.equal(x, toy.data.images[leaky.control]) and torch.equal(y, toy.data.labels[records.control])
    assert torch.equal(copied.data.read(torch.arange(240))[0], toy.data.images[:240])
    assert torch.equal(copied.data.read(copied.val)[0], toy.data.images[records.val])


def test_broken_scorers(toy, records):
    z, y = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), torch.tensor([0, 0])
    constant, random, reverse = (make(f"{kind}-scorer", toy, records) for kind in ("constant", "random", "reversed"))
    assert constant(z, y).tolist() == [0.0, 0.0]
    assert torch.equal(reverse(z, y), -confidence(z, y))
    first, second = random(z, y), random(z, y)
    assert len(first) == 2 and not torch.equal(first, second)  # not even the same for the same answers
    assert first.dtype == constant(z, y).dtype == confidence(z, y).dtype


@pytest.mark.parametrize("name", [name for name in ZOO if name.startswith("shaken-")])
def test_shaken_weights_are_none_of_the_originals_and_answer_nearly_alike(toy, records, name):
    calm = make(name.removeprefix("shaken-"), toy, records)
    for seed, size in enumerate(SIZES):
        moved = ZOO[name].make(toy.model, records, 0, size=size)
        for mine, theirs in zip(moved.parameters(), calm.parameters(), strict=True):
            change = float((mine - theirs).detach().norm() / theirs.detach().norm())
            assert 0.1 * size < change < 3 * size
        again = ZOO[name].make(toy.model, records, seed)  # the size goes by the seed
        assert (content(again) == content(moved)) == (seed == 0)
    assert "shaken" in ZOO[name].description


def test_shaken_networks_are_told_by_their_weights(toy):
    """Up to noise of 1e-5; beyond it the attacks must tell."""
    for name in ("shaken-no-op", "shaken-logit-mask", "shaken-temperature", "shaken-last-layer"):
        for size in (1e-6, 1e-5):
            found = identical(ZOO[name].make(toy.model, toy.split, 0, size=size), toy.model, classes=4)
            assert found.last_layer_only if name == "shaken-last-layer" else found.untouched
