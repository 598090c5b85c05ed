"""The records that stand out most: by hand, in both directions, without names."""

import torch

from sublimate.audits.outputs import Outputs
from sublimate.audits.result import Worst
from sublimate.audits.worst import SHOWN, standing_out, worst_places, worst_records


def said(phi, labels):
    y = torch.tensor(labels)
    z = torch.zeros(len(phi), 3).scatter(1, y[:, None], torch.tensor(phi)[:, None])
    return Outputs(z[:, :2] if 2 not in labels else z, z, z, y)


def test_shares_of_the_own_class_below():
    control = said([0.0, 1.0, 2.0, 3.0, 10.0], [0, 0, 0, 0, 1])
    # Of class 0: 2 lies above two and ties with one of four.  Of class 1: 5 lies below the only one.
    assert standing_out(said([2.0, 5.0, 9.0], [0, 1, 0]), control).tolist() == [0.625, 0.0, 1.0]


def test_a_class_without_never_seen_records_is_placed_among_all():
    control = said([1.0, 3.0], [0, 1])
    assert standing_out(Outputs(*[torch.tensor([[0.0, 0.0, 2.0 + 0.6931]])] * 3, torch.tensor([2])), control) == 0.5


def test_the_furthest_come_first_on_either_side_and_phi_decides_between_them():
    forget = said([1.5, 9.0, -20.0, 4.0, 1.0, 8.0, 2.5], [0] * 7)
    control = said([0.0, 1.0, 2.0, 3.0], [0] * 4)
    # Beyond all: 9, −20, 4 and 8; then 2.5, of which three of four are below; 1 ties: .375 and 1.5: .5.
    places = worst_places(forget, control)
    assert places == [2, 1, 5, 3, 6] and len(places) == SHOWN
    found = worst_records(forget, control, ("cat", "dog"))
    assert [w.pseudonym for w in found] == [f"record {k}" for k in range(1, 6)]
    assert found[0].model_dump() == {"pseudonym": "record 1", "label": "cat", "phi": -20.0, "share_above": 1.0}
    assert (found[1].phi, found[1].share_above, found[4].share_above) == (9.0, 0.0, 0.25)
    tied = worst_records(said([3.0], [0]), control, ("cat", "dog"))
    assert tied[0].share_above == 0.125  # one of four ties and counts half
    assert "ties count half" in (Worst.model_fields["share_above"].description or "")


def test_fewer_records_than_are_shown():
    assert worst_places(said([1.0], [0]), said([0.0], [0])) == [0]


def test_an_infinite_confidence_is_said_to_be_none():
    found = worst_records(said([float("-inf")], [0]), said([0.0, 1.0], [0, 0]), ("cat", "dog"))
    assert found[0].phi is None and '"phi":null' in found[0].model_dump_json()
