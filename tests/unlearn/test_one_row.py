"""A last batch of one row: a batch norm over vectors refuses to train on it, so no batch has one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import sublimate as sm
from sublimate.models.ensemble import Ensemble
from sublimate.recording import SliceRecorder, UpdateRecorder
from sublimate.splits import Part, split
from sublimate.testing.toy import toy_data, trained
from sublimate.training import Recipe, fit

RECIPE = Recipe(epochs=2, batch_size=32, lr=0.05, weight_decay=0.0, schedule="one-cycle", warmup=1)


def vectors() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))


@pytest.fixture(scope="module")
def data():
    return toy_data()


def part(data, rows):
    return Part(data, data.train[:rows], "train")


def test_training(data):
    network, _ = fit(vectors, part(data, 33), RECIPE)
    assert all(bool(t.isfinite().all()) for t in network.state_dict().values())


@pytest.mark.parametrize(
    ("method", "request_", "options"),
    [
        ("unsir", "class:b", {"batch_size": 179}),
        ("boundary-shrink", "class:b", {"batch_size": 59, "norm": "train", "lr": 1e-4}),
        ("boundary-expand", "class:b", {"batch_size": 59, "norm": "train", "lr": 1e-3}),
    ],
)
def test_methods_for_whole_classes(data, method, request_, options):
    given = split(data, request_, few="all")
    outcome = sm.method(method, **options).run(
        trained(vectors(), data), given.forget_set, given.few_set, ratios=given.ratios
    )
    declared = sm.method(method, **options).reads(len(given.forget), len(given.few))
    assert outcome.record.samples == {name: n for name, n in declared.items() if n}


def test_one_retained_record(data):
    given = split(data, "id:3", few=1)
    method = sm.method("siamese-matched", lr=0.01, until=0.1)
    outcome = method.run(
        trained(vectors(), data), given.forget_set, given.few_set, ratios=given.ratios, val=given.val_set
    )
    assert outcome.record.samples == method.reads(1, 1)


def test_a_deletion_from_a_slice_that_leaves_one_row_over(data):
    recorder = SliceRecorder(shards=1, slices=1)
    network, _ = fit(lambda: Ensemble([vectors()]), part(data, 34), RECIPE, phases=recorder.phases)
    few = split(data, "id:0", few="all")
    rows = Part(data, torch.arange(1, 34), "retain")
    sm.method("sisa").run(network, few.forget_set, rows, ratios=few.ratios, records=recorder.records)


def test_the_repair_of_amnesiac(data):
    recorder = UpdateRecorder(data.train)
    network, _ = fit(vectors, Part(data, data.train, "train"), RECIPE, phases=recorder.phases)
    given = split(data, "id:0", few="all")
    method = sm.method("amnesiac-true", batch_size=238, epochs=1)
    outcome = method.run(
        network, given.forget_set, given.few_set, ratios=given.ratios, val=given.val_set, records=recorder.records
    )
    assert outcome.record.samples == {"retain": 240} == method.reads(1, 239)
