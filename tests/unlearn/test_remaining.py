"""Classes of which nothing is left: forgotten now, forgotten earlier, or never there."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import Subset, TensorDataset

import sublimate as sm
from sublimate.errors import InputRefused
from sublimate.splits import split
from sublimate.testing.toy import network, toy_data, trained
from sublimate.unlearn.checks import check_job, check_overlap
from sublimate.unlearn.job import Job
from sublimate.unlearn.relabel import random_labels

C = 2


def job_of(model, given):
    parts = given.forget_set, given.few_set, given.val_set
    shares = check_job(model, *parts, given.ratios, [])
    names = dict(zip(("forget", "retain", "val"), parts, strict=True))
    return Job(model=model, original=model, ratios=shares, seed=0, device=torch.device("cpu"), **names)


@pytest.fixture
def after_an_earlier_request(toy):
    gone = [toy.data.ids[int(row)] for row in toy.data.train if int(toy.data.labels[row]) == C]
    return split(toy.data, "class:b", few=60, exclude=gone)


def test_a_class_that_was_forgotten_earlier_does_not_remain(toy, after_an_earlier_request):
    given = after_an_earlier_request
    job = job_of(toy.model, given)
    assert given.ratios.tolist() == [0, 1, 0, 0] and given.counts.tolist() == [60, 60, 0, 60]
    assert given.remaining.tolist() == job.remaining.tolist() == [True, False, False, True]
    assert job.forgotten.tolist() == [1]
    assert sorted(set(job.kept.labels.tolist())) == [0, 3]


def test_its_name_is_not_given_to_what_is_forgotten_now(toy, after_an_earlier_request):
    job = job_of(toy.model, after_an_earlier_request)
    drawn = random_labels(torch.ones(500, dtype=torch.long), job.ratios, "retained", torch.Generator().manual_seed(0))
    assert set(drawn.tolist()) == {0, 3}


def test_earlier_requests_are_no_part_of_all_the_data(toy, after_an_earlier_request):
    given = after_an_earlier_request
    job = job_of(toy.model, given)
    assert (job.trained, job.share, job.given) == (180, 60 / 180, 60 / 120)


@pytest.mark.parametrize("method", ["siamese", "randlab", "salun", "siamese-matched"])
def test_outputs_without_a_class_are_not_taught(method):
    data = toy_data()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = trained(network(classes=12), data)
    given = split(data, "class:b", few="all")
    options = {"permutation": "retained", "lr": 0.01} if method == "siamese" else {}
    erased = sm.method(method, **options).unlearn(
        model, given.forget_set, given.few_set, ratios=given.ratios, val=given.val_set
    )
    with torch.no_grad():
        said = erased(data.normalise(data.read(given.forget)[0])).softmax(1)
    assert float(said[:, 4:].sum(1).mean()) < 0.05


def test_overlap_is_seen_whatever_kind_the_indices_are():
    table = TensorDataset(torch.zeros(20, 1, 2, 2), torch.zeros(20, dtype=torch.long))
    for indices in (torch.arange(10), list(range(10))):
        with pytest.raises(InputRefused, match="10 of the records"):
            check_overlap(Subset(table, indices), Subset(table, torch.arange(20)))


def test_without_earlier_requests_all_but_the_asked_for_remain(toy):
    assert job_of(toy.model, toy.split).remaining.tolist() == [True, False, True, True]
