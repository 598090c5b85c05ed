"""Never-seen copies of training records, and forgotten ones with a kept copy, are left out, and it is said."""

from __future__ import annotations

import pytest
import torch

from sublimate.audits import copies
from sublimate.audits.copies import Trained, without_copies, without_kept
from sublimate.data.core import Data
from sublimate.errors import InputRefused
from sublimate.splits import Part


def rows_of(values, trained):
    """One-pixel images with these values; the first `trained` rows are the training part."""
    x = torch.tensor(values, dtype=torch.uint8).view(-1, 1, 1, 1)
    sizes = (trained, len(values) - trained, 0)
    data = Data(name="d", images=x, labels=torch.zeros(len(values), dtype=torch.long), sizes=sizes, classes=("a", "b"))
    return Part(data, data.test, "control"), Trained.read(Part(data, data.train, "train"))


def test_copies_are_left_out_by_their_pixels():
    control, trained = rows_of([1, 2, 3, 4, 2, 5, 4, 6], trained=4)  # the test rows 4 to 7 hold 2, 5, 4, 6
    kept, said = without_copies(control, trained)
    assert kept.rows.tolist() == [5, 7] and kept.name == "control"
    assert [(s.what, s.why) for s in said] == [("2 never-seen records", "their images are copies of training records")]


def test_without_copies_nothing_is_said():
    control, trained = rows_of([1, 2, 3, 4, 4], trained=2)  # two equal never-seen records are none of ours
    kept, said = without_copies(control, trained)
    assert torch.equal(kept.rows, control.rows) and said == []


def test_nothing_but_copies_is_refused():
    with pytest.raises(InputRefused, match="copies of training records"):
        without_copies(*rows_of([1, 2, 2, 1], trained=2))


def test_a_bounded_search_says_so(monkeypatch):
    monkeypatch.setattr(copies, "COMPARED", 2)
    _, said = without_copies(*rows_of([1, 2, 3, 9], trained=3))
    assert [s.why for s in said] == ["only 2 of 3 training records were compared"]


@pytest.mark.parametrize("compared", [10, 3])  # also where forgotten records are not among the compared ones
def test_forgotten_records_with_a_kept_copy_are_left_out(monkeypatch, compared):
    monkeypatch.setattr(copies, "COMPARED", compared)
    _, trained = rows_of([1, 2, 3, 1, 5, 2, 9], trained=6)
    data = trained.part.data
    retained = torch.tensor([row for row in (3, 4, 5) if row in trained.digests])
    kept = set(data.images[retained].flatten().tolist())
    found, said = without_kept(Part(data, torch.tensor([0, 1, 2]), "forget"), torch.tensor([3, 4, 5]), trained)
    assert found.rows.tolist() == [row for row in range(3) if int(data.images[row]) not in kept]
    assert [s.what for s in said] == [f"{3 - len(found)} forgotten records"] * (len(found) < 3)
    if compared == 10:
        assert found.rows.tolist() == [2] and "it was kept" in said[0].why


def test_a_request_of_which_everything_was_kept_is_refused():
    _, trained = rows_of([1, 2, 1, 2, 9], trained=4)
    with pytest.raises(InputRefused, match="Of every forgotten record a copy"):
        without_kept(Part(trained.part.data, torch.tensor([0, 1]), "forget"), torch.tensor([2, 3]), trained)
