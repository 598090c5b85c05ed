"""What was forgotten is kept as digests that only the ids match, and carried over."""

import base64

import pytest
import torch

import sublimate as sm
from sublimate.errors import InputRefused
from sublimate.forgotten import recognised, remembered, sealed


def table(n=12, ids=()):
    x = torch.zeros(2 * n, 1, 2, 2, dtype=torch.uint8)
    y = torch.arange(2 * n) % 3
    return sm.Data(
        name="toy", images=x, labels=y, sizes=(n, n, 0), classes=("ant", "bee", "cow"), ids=ids, mean=(0.5,), std=(0.5,)
    )


def test_two_requests_are_carried_over_and_matched():
    data = table()
    first = sm.split(data, "id:0,3")
    kept = remembered({}, first)
    assert recognised(kept, data.ids) == ("0", "3")
    second = sm.split(data, "class:bee", exclude=recognised(kept, data.ids))
    both = remembered(kept, second)
    assert recognised(both, data.ids) == ("0", "1", "3", "4", "7", "10")
    assert list(both) == [first.fingerprint, second.fingerprint]


def test_what_was_excluded_by_hand_is_kept_too():
    data = table()
    chosen = sm.split(data, "id:1", exclude=["5", "2"])
    assert recognised(remembered({}, chosen), data.ids) == ("1", "2", "5")


def test_no_id_stands_in_it_and_two_files_cannot_be_compared():
    data = table(ids=tuple(f"patient-{row}" for row in range(12)))
    one, other = (remembered({}, sm.split(data, request)) for request in ("id:patient-7", "id:patient-7,patient-8"))
    assert "patient" not in str(one)
    assert not {*one.values()} & {*other.values()}
    first, second = (base64.b64decode(next(iter(kept.values()))) for kept in (one, other))
    assert len(first) == 8 and first not in second


def test_records_that_are_gone_from_the_data_stay_forgotten():
    kept = remembered({}, sm.split(table(ids=tuple(map(str, range(12)))), "id:0,3"))
    fewer = table(11, ids=tuple(map(str, range(1, 12))))
    assert recognised(kept, fewer.ids) == ("3",)
    again = remembered(kept, sm.split(fewer, "id:5", exclude=["3"]))
    assert recognised(again, ("0", "3", "5", "6")) == ("0", "3", "5")


def test_a_tenth_of_fifty_thousand_is_small():
    assert len(sealed(map(str, range(5000)), "salt")) < 60_000


def test_what_is_no_list_of_digests_is_refused():
    with pytest.raises(InputRefused, match="wrongly"):
        recognised({"salt": "§"}, ["7"])
