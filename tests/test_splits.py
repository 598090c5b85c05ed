"""Splits: the parts of any table and request, against obvious references; and every refusal."""

from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sublimate.data.core import Data
from sublimate.errors import InputRefused
from sublimate.request import FullClass, RandomFraction, Records, SubClass
from sublimate.splits import Part, same, split

CLASSES = ("ant", "bee", "cat", "dog")
some = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def table(train, test=(), val=(), **options):
    """A data table with these labels; every image tells its row."""
    labels = torch.tensor([*train, *test, *val], dtype=torch.long)
    images = (torch.arange(len(labels)) % 256).byte().view(-1, 1, 1, 1)
    sizes = len(train), len(test), len(val)
    return Data(name="toy", images=images, labels=labels, sizes=sizes, **{"classes": CLASSES, **options})


def label_lists(least, most):
    return st.lists(st.integers(0, len(CLASSES) - 1), min_size=least, max_size=most)


tables = st.builds(table, label_lists(2, 40), label_lists(0, 30), label_lists(0, 5))
seeds = st.integers(0, 2**32)


@st.composite
def cases(draw):
    """A table, a request that names something but not everything, and ids that were forgotten earlier."""
    data = draw(tables)
    shuffled = draw(st.permutations(range(data.sizes[0])))
    gone = shuffled[: draw(st.integers(0, data.sizes[0] - 2))]
    alive = sorted(set(shuffled) - set(gone))
    known = st.sampled_from([CLASSES[int(data.labels[row])] for row in alive])
    shares = st.floats(0.02, 0.98)
    chosen = st.lists(st.sampled_from(alive), min_size=1, max_size=len(alive) - 1, unique=True)
    request = draw(
        st.one_of(
            st.lists(known, min_size=1).map(lambda wanted: FullClass(*wanted)),
            st.builds(SubClass, known, shares),
            st.builds(RandomFraction, shares),
            chosen.map(lambda rows: Records(*map(str, rows))),
        )
    )
    named, count = expected_rows(data, request, alive)
    assume(0 < count < len(alive))
    return data, request, gone, alive, named, count


def expected_rows(data, request, alive):
    """The rows a request may name, and how many of them it takes."""
    if isinstance(request, Records):
        rows = [row for row in alive if data.ids[row] in request.ids]
        return rows, len(rows)
    if isinstance(request, RandomFraction):
        return alive, round(request.share * len(alive))
    wanted = request.names if isinstance(request, FullClass) else [request.name]
    rows = [row for row in alive if CLASSES[int(data.labels[row])] in wanted]
    return rows, round(request.share * len(rows)) if isinstance(request, SubClass) else len(rows)


@some
@given(cases(), seeds)
def test_forget_retain_and_excluded_are_disjoint_and_cover_the_training_rows(case, seed):
    data, request, gone, _, named, count = case
    s = split(data, request, few="all", seed=seed, exclude=[data.ids[row] for row in gone])
    forget, retain = s.forget.tolist(), s.retain.tolist()
    assert sorted(forget + retain + gone) == list(range(data.sizes[0]))
    assert set(forget) <= set(named) and len(forget) == count
    assert forget == sorted(forget) and retain == sorted(retain)


@some
@given(cases(), seeds, st.integers(1, 45))
def test_few_is_a_stratified_sample_of_retain(case, seed, budget):
    data, request, gone, *_ = case
    s = split(data, request, few=budget, seed=seed, exclude=[data.ids[row] for row in gone])
    few = s.few.tolist()
    assert few == sorted(set(few)) and set(few) <= set(s.retain.tolist())
    assert len(few) == min(budget, len(s.retain))
    have = {k: sum(int(data.labels[row]) == k for row in few) for k in range(4)}
    size = {k: sum(int(data.labels[row]) == k for row in s.retain.tolist()) for k in range(4)}
    present = [k for k in size if size[k]]
    if budget >= len(present):
        assert all(have[k] for k in present)
    # In proportion: nobody's last record came before its turn, measured by the share of the class that is taken.
    for ahead in (k for k in present if have[k] > 1):
        for behind in (k for k in present if have[k] < size[k]):
            assert (have[ahead] - 0.5) / size[ahead] <= (have[behind] + 0.5) / size[behind] + 1e-12


def test_few_of_even_classes_is_even():
    s = split(table([0, 1, 2, 3] * 25), "id:0", few=40)
    assert torch.bincount(s.data.labels[s.few]).tolist() == [10, 10, 10, 10]


def test_few_of_uneven_classes_follows_them_and_forgets_no_class():
    s = split(table([0] * 1 + [1] * 80 + [2] * 20 + [3] * 4), "class:dog", few=11)
    assert torch.bincount(s.data.labels[s.few]).tolist() == [1, 8, 2]


def test_few_is_drawn_by_the_seed():
    data = table([0, 1, 2, 3] * 25)
    drawn = {tuple(split(data, "class:ant", few=20, seed=seed).few.tolist()) for seed in range(10)}
    assert len(drawn) == 10
    again = split(data, "class:ant", few=20, seed=3).few
    assert torch.equal(again, split(data, "class:ant", few=20, seed=3).few)
    taken = torch.cat([split(data, "class:ant", few=20, seed=seed).few for seed in range(40)]).unique()
    assert torch.equal(taken, split(data, "class:ant").retain)  # nobody is never drawn


def test_all_is_all():
    s = split(table([0, 1] * 5), "id:0", few="all")
    assert torch.equal(s.few, s.retain)


@pytest.mark.parametrize("budget", [0, -3])
def test_a_budget_of_nothing_is_refused(budget):
    with pytest.raises(InputRefused, match=f"A retain budget of {budget} is too small"):
        split(table([0, 1]), "id:0", few=budget)


@some
@given(cases(), seeds)
def test_what_is_drawn_depends_on_the_seed_alone(case, seed):
    data, request, gone, *_ = case
    state = torch.get_rng_state()
    a, b = (split(data, request, few=5, seed=seed, exclude=[data.ids[row] for row in gone]) for _ in range(2))
    assert torch.equal(a.forget, b.forget) and torch.equal(a.few, b.few) and a.fingerprint == b.fingerprint
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("request_", ["random@30%", "class:ant@30%"])
def test_shares_are_drawn_by_the_seed_and_evenly(request_):
    data = table([0, 1] * 20)
    drawn = [split(data, request_, seed=seed).forget for seed in range(200)]
    assert len({tuple(rows.tolist()) for rows in drawn}) > 190
    times = torch.bincount(torch.cat(drawn), minlength=40).double()
    times = times[times > 0]  # of "class:ant@30%" only the ants
    assert len(times) in (20, 40)
    assert float(((times - 60) ** 2 / 60).sum()) < 1.6 * len(times)  # χ² has the mean n (1 − share), here 0.7 n


@some
@given(tables, seeds)
def test_val_and_control_are_never_seen_disjoint_and_independent_of_seed_and_request(data, seed):
    a, b = split(data, "id:0", seed=seed), split(data, "id:1", seed=0, few=1)
    assert torch.equal(a.val, b.val) and torch.equal(a.control, b.control)
    test, val = data.test.tolist(), data.val.tolist()
    if val or not test:
        assert (a.val.tolist(), a.control.tolist(), a.val_from_test) == (val, test, False)
    else:
        assert sorted(a.val.tolist() + a.control.tolist()) == test
        assert len(a.val) == max(1, len(test) // 5) and a.val_from_test
    assert (a.val_set is None) == (not test and not val)


def test_val_takes_a_fifth_of_each_class_of_the_test_set_and_at_most_2000():
    small = split(table([0, 1], [0] * 50 + [1] * 30 + [2] * 20), "id:0")
    assert torch.bincount(small.data.labels[small.val]).tolist() == [10, 6, 4]
    large = split(table([0, 1], [0, 1, 2] * 4000), "id:0")
    assert (len(large.val), len(large.control)) == (2000, 10000)


@some
@given(cases())
def test_ratios_are_the_share_of_each_class_that_is_forgotten(case):
    data, request, gone, alive, *_ = case
    s = split(data, request, exclude=[data.ids[row] for row in gone])
    for k in range(len(CLASSES)):
        whole = sum(int(data.labels[row]) == k for row in alive)
        forgotten = sum(int(data.labels[row]) == k for row in s.forget.tolist())
        assert s.ratios[k].item() == pytest.approx(forgotten / whole if whole else 0)
    assert len(s.ratios) == len(CLASSES) and s.ratios.dtype == torch.float32


def test_ratios_count_on_the_whole_training_set_when_only_part_of_it_is_here():
    part = table([0, 0, 1, 1], class_counts=(50, 8, 100, 0))
    assert split(part, "id:0,1,2").ratios.tolist() == pytest.approx([2 / 50, 1 / 8, 0, 0])


def test_ratios_leave_out_the_excluded_with_class_counts_as_without():
    whole = table([0] * 5 + [1] * 5)
    counted = replace(whole, class_counts=(5, 5, 0, 0))
    expected = split(whole, "class:ant", exclude=["0", "1"]).ratios
    assert split(counted, "class:ant", exclude=["0", "1"]).ratios.tolist() == expected.tolist()


@some
@given(st.data())
def test_fingerprints_are_equal_exactly_when_forgotten_and_excluded_rows_are(draw):
    data = table([0, 1, 2, 3, 0, 1])

    def fingerprint(parts):
        ids = {part: [data.ids[row] for row, p in enumerate(parts) if p == part] for part in ("forget", "exclude")}
        request = Records(*draw.draw(st.permutations(ids["forget"])))
        few, seed = draw.draw(st.sampled_from([1, 2, "all"])), draw.draw(seeds)
        return split(data, request, few=few, seed=seed, exclude=ids["exclude"]).fingerprint

    ways = st.lists(st.sampled_from(["forget", "retain", "exclude"]), min_size=6, max_size=6)
    ways = ways.filter(lambda parts: "forget" in parts and "retain" in parts)
    a = draw.draw(ways)
    b = draw.draw(st.one_of(st.just(a), st.permutations(a), ways))
    assert (fingerprint(a) == fingerprint(b)) == (a == b)


def test_the_fingerprint_knows_the_rows_not_the_words():
    data = table([0, 1, 0, 1])
    as_class = split(data, "class:ant")
    assert as_class.fingerprint == split(data, "id:2,0,0").fingerprint == split(data, SubClass("ant", 1.0)).fingerprint


def test_the_fingerprint_knows_the_data():
    data = table([0, 1, 0, 1], [0, 1])
    images = data.images.clone()
    images[5] += 1
    labels = data.labels.clone()
    labels[5] = 0
    others = [
        replace(data, images=images),
        replace(data, labels=labels),
        replace(data, ids=("0", "1", "2", "x")),
        replace(data, classes=("ant", "bee", "dog", "cat")),
        replace(data, sizes=(4, 1, 1)),
        replace(data, class_counts=(9, 9, 9, 9)),
    ]
    prints = [split(d, "id:0").fingerprint for d in (data, *others)]
    assert len(set(prints)) == len(prints)
    assert split(replace(data, name="renamed"), "id:0").fingerprint == prints[0]


@some
@given(st.lists(st.sampled_from("0123"), min_size=1))
def test_ids_named_twice_are_counted_once_with_a_note(ids):
    s = split(table([0, 1, 2, 3, 0]), Records(*ids))
    assert s.forget.tolist() == sorted({int(i) for i in ids})
    again = len(ids) - len(set(ids))
    told = "1 repetition" if again == 1 else f"{again} repetitions"
    assert s.notes == ((f"Ids named again were counted once ({told}).",) if again else ())


def test_ids_excluded_twice_are_excluded_once():
    assert split(table([0, 1, 2]), "id:0", exclude=["1", "1"]).retain.tolist() == [2]


def refused(*arguments, **options):
    with pytest.raises(InputRefused) as caught:
        split(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("request_", [FullClass(), "class:dog", "random@1%", "class:ant@20%"])
def test_a_request_that_names_no_record_is_refused(request_):
    assert "No training record fits" in refused(table([0, 0, 1]), request_)


def test_no_records_at_all_are_refused():
    refused(table([0, 0, 1]), Records())


@pytest.mark.parametrize("share", [-0.5, 0.0, 1.5, 90, float("nan")])
@pytest.mark.parametrize("form", [RandomFraction, lambda share: SubClass("ant", share)])
def test_a_share_that_is_none_is_refused(form, share):
    with pytest.raises(InputRefused, match="share"):
        form(share)


@pytest.mark.parametrize("request_", ["class:ant,bee", "random@100%", "id:0,1,2"])
def test_forgetting_everything_is_refused(request_):
    assert "forgets everything" in refused(table([0, 0, 1]), request_)


def test_forgetting_all_that_is_left_is_refused():
    assert "forgets everything" in refused(table([0, 0, 1]), "class:ant", exclude=["2"])


@pytest.mark.parametrize("request_", ["class:cta", "class:ant,cta", "class:cta@50%", FullClass("cta")])
def test_an_unknown_class_is_refused_with_the_nearest_first(request_):
    assert refused(table([0, 1, 2]), request_) == "No class 'cta'. Known, nearest first: cat, ant, bee, dog."


def test_a_class_is_found_by_its_name_not_its_number():
    assert "No class '1'" in refused(table([0, 1]), "class:1")


@pytest.mark.parametrize("excluded", [False, True])
def test_unknown_ids_are_refused_with_the_nearest_first(excluded):
    data = table([0, 1, 2], ids=("img-1", "img-22", "pic-9"))
    wanted = {"request": "id:img-1", "exclude": ["img-23", "nobody"]} if excluded else {"request": "id:img-23,nobody"}
    message = "No record id 'img-23', 'nobody'. Known, nearest first: img-22, img-1, pic-9."
    assert refused(data, **wanted) == message


def test_test_rows_have_no_ids():
    assert "No record id '3'" in refused(table([0, 1, 2], [0, 1]), "id:3")


def test_forgetting_what_is_excluded_is_refused_by_id():
    message = "Records 1, 3 are excluded. Leave out what was forgotten earlier."
    assert refused(table([0, 1, 0, 1, 2]), "id:3,0,1", exclude=["1", "3"]) == message


def test_a_class_that_is_wholly_excluded_is_refused():
    assert "No training record fits class:ant" in refused(table([0, 1, 1]), "class:ant", exclude=["0"])


def test_named_classes_are_those_of_class_requests_only():
    data = table([2, 0, 1, 2, 3])
    assert split(data, "class:dog,ant").named_classes.tolist() == [3, 0]
    assert split(data, "class:cat@50%").named_classes.tolist() == [2]
    assert split(data, "random@50%").named_classes is None
    assert split(data, "id:1,4").named_classes is None


def test_parts_carry_rows_labels_and_names():
    s = split(table([0, 1, 2, 3, 0], [1, 2], [3]), "class:ant", few=2)
    parts = {"forget": s.forget_set, "retain": s.retain_set, "few": s.few_set, "val": s.val_set}
    assert {name: part.rows.tolist() for name, part in parts.items() if name != "few"} == {
        "forget": [0, 4],
        "retain": [1, 2, 3],
        "val": [7],
    }
    assert torch.equal(s.few_set.rows, s.few) and len(s.few_set) == 2
    assert [part.name for part in parts.values()] == ["forget", "retain", "retain", "val"]
    assert s.retain_set.labels.tolist() == [1, 2, 3]
    assert s.retain_set.where(torch.tensor([True, False, True])).rows.tolist() == [1, 3]


@some
@given(st.integers(1, 30), st.integers(0, 40), seeds)
def test_a_sample_is_a_seeded_ordered_subset(size, most, seed):
    data = table([0] * 30)
    part = Part(data, torch.arange(30)[30 - size :], "retain")
    drawn = part.sample(most, seed)
    rows = drawn.rows.tolist()
    assert len(rows) == min(size, most) and rows == sorted(set(rows)) and set(rows) <= set(part.rows.tolist())
    assert torch.equal(drawn.rows, part.sample(most, seed).rows) and drawn.name == "retain"


def test_samples_differ_by_seed():
    part = Part(table([0] * 30), torch.arange(30), "retain")
    assert len({tuple(part.sample(10, seed).rows.tolist()) for seed in range(10)}) == 10


def test_different_splits_are_not_compared():
    same("abc", "abc", "It")
    same(None, "abc", "It")
    same("abc", None, "It")
    with pytest.raises(InputRefused, match="The reference belongs to split abc, this request to split xyz"):
        same("abc", "xyz", "The reference")


@pytest.mark.parametrize(
    "wrong", [{"few": "foo"}, {"few": 1.5}, {"few": None}, {"request": None}, {"request": 3}, {"exclude": None},
              {"exclude": 7}],
)  # fmt: skip
def test_arguments_of_another_kind_are_refused(wrong):
    with pytest.raises(InputRefused):
        split(table([0, 1, 2]), **({"request": "id:0"} | wrong))
