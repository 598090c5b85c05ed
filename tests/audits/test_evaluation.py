"""The paper's figures: which apply, what they count, and how often rows are read."""

import pytest
import torch
from torch import nn

from sublimate.audits.evaluation import MEANING, Scores, evaluate, parts, scores, whole_test_accuracy
from sublimate.audits.membership import entropy_mia
from sublimate.data.core import Data
from sublimate.inference import accuracy, predict
from sublimate.splits import Part, split

CLASSES = ("ant", "bee", "cat")


class Says(nn.Module):
    """A network that reads its logits off the image."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def forward(self, x):
        self.sizes.append(len(x))
        return x.flatten(1)


def logits_for(answers, seed=0):
    """Random logits whose greatest is the answer."""
    z = torch.rand(len(answers), len(CLASSES), generator=torch.Generator().manual_seed(seed))
    z[torch.arange(len(answers)), torch.tensor(answers)] += 1.0
    return z


def table(labels, answers, sizes, reader=None):
    z = logits_for(answers).view(-1, len(CLASSES), 1, 1)
    images = z if reader is None else reader(z)
    return Data(name="toy", images=images, labels=torch.tensor(labels), sizes=sizes, classes=CLASSES)


def toy(reader=None):
    """Ten training rows (ants 0-3, bees 4-6, cats 7-9) and eight test rows (three ants, three bees, two cats)."""
    labels, test_labels = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1, 2, 2]
    answers, test_answers = [0, 0, 0, 1, 1, 1, 1, 2, 2, 0], [0, 1, 1, 1, 1, 2, 2, 2]
    return table(labels + test_labels, answers + test_answers, (10, 8, 0), reader)


def test_accuracy_is_correct_over_total_not_a_mean_of_batches():
    # 7 rows in batches of 3, 3 and 1: right are 3, 3 and 0.  6/7 is right, the mean of 1, 1 and 0 is not.
    data = table([0] * 7, [0] * 6 + [1], (7, 0, 0))
    model, part = Says(), Part(data, data.train, "retain")
    z = predict(model, part, batch_size=3)
    assert model.sizes == [3, 3, 1]
    assert accuracy(z, part.labels) == pytest.approx(600 / 7)


def test_figures_of_a_class_request_by_hand():
    found = evaluate(Says(), split(toy(), "class:ant"))
    assert found.acc_df == 75.0  # 3 of 4 ants
    assert found.acc_dr == pytest.approx(500 / 6)  # 3 of 3 bees, 2 of 3 cats
    assert found.ta == 62.5  # 5 of 8
    assert found.ta_df == pytest.approx(100 / 3)  # 1 of 3 ants
    assert found.ta_dr == 80.0  # 2 of 3 bees, 2 of 2 cats


def test_a_share_of_a_class_counts_the_whole_class_in_the_test_set():
    found = evaluate(Says(), split(toy(), "class:ant@50%"))
    assert (found.ta_df, found.ta_dr) == (pytest.approx(100 / 3), 80.0)


@pytest.mark.parametrize("request_", ["id:3,9", "random@20%"])
def test_test_accuracy_is_not_divided_for_requests_that_name_no_class(request_):
    s = split(toy(), request_)
    found = evaluate(Says(), s)
    assert found.ta_dr is None and found.ta_df is None
    assert found.ta == 62.5 and found.mia is not None
    wrong = sum(row in (3, 9) for row in s.forget.tolist())  # of the training rows only 3 and 9 are called wrong
    assert found.acc_df == 100 * (2 - wrong) / 2
    assert found.acc_dr == 100 * (6 + wrong) / 8


def test_mia_has_members_from_retain_others_from_test_and_targets_from_forget():
    s = split(toy(), "class:ant")
    z = s.data.images.flatten(1)
    assert evaluate(Says(), s).mia == entropy_mia(z[s.retain], z[s.data.test], z[s.forget])


def test_without_test_rows_only_training_figures_are_left():
    data = table([0, 0, 1, 1], [0, 1, 1, 1], (4, 0, 0))
    assert evaluate(Says(), split(data, "class:ant")) == Scores(acc_dr=100.0, acc_df=50.0)
    assert whole_test_accuracy(Says(), data) is None


@pytest.mark.parametrize(
    ("test_labels", "ta_dr", "ta_df"), [([1, 1], 100.0, None), ([0, 0], None, 100.0), ([0, 1], 100.0, 100.0)]
)
def test_a_side_without_test_rows_has_no_figure(test_labels, ta_dr, ta_df):
    data = table([0, 0, 1, 1, *test_labels], [0, 1, 1, 1, *test_labels], (4, 2, 0))
    found = evaluate(Says(), split(data, "class:ant"))
    assert (found.ta_dr, found.ta_df, found.ta) == (ta_dr, ta_df, 100.0)


def test_validation_rows_are_in_no_figure():
    data = table([0, 0, 1, 1, 0, 1, 0], [0, 0, 1, 1, 0, 1, 2], (4, 2, 1))
    found = evaluate(Says(), split(data, "class:ant"))
    assert (found.acc_df, found.acc_dr, found.ta) == (100.0, 100.0, 100.0)


def test_scores_are_a_pure_function_of_logits_and_labels():
    y = {"retain": torch.tensor([1, 2, 1]), "forget": torch.tensor([0, 0]), "test": torch.tensor([0, 1, 2, 0])}
    z = {name: logits_for(labels.tolist(), seed) for seed, (name, labels) in enumerate(y.items())}
    z["test"][0] = z["test"][0].flip(0)  # an ant called cat
    found = scores(z, y, torch.tensor([0]))
    assert (found.acc_dr, found.acc_df, found.ta_dr, found.ta_df, found.ta) == (100.0, 100.0, 100.0, 50.0, 75.0)


def test_gaps_are_mine_less_the_references_and_none_where_either_is_none():
    mine = Scores(acc_dr=98.0, acc_df=10.0, ta=90.0, mia=20.0)
    retrain = Scores(acc_dr=99.0, acc_df=4.0, ta_dr=93.0, ta=90.0)
    assert mine.gap(retrain) == {"acc_dr": -1.0, "acc_df": 6.0, "ta_dr": None, "ta_df": None, "ta": 0.0, "mia": None}
    assert retrain.gap(mine)["acc_df"] == -6.0
    assert list(MEANING) == list(mine.gap(retrain))


def counting_reader(read):
    def reader(z):
        def images(rows):
            read.extend(rows.tolist())
            return z[rows]

        return images

    return reader


@pytest.mark.parametrize("request_", ["class:ant", "class:ant@50%", "random@30%", "id:2"])
def test_each_row_passes_exactly_once(request_):
    read = []
    s = split(toy(counting_reader(read)), request_)
    assert read == []
    model = Says()
    evaluate(model, s)
    assert sorted(read) == list(range(18))
    assert model.sizes == [len(s.retain), len(s.forget), 8]


def test_what_was_forgotten_earlier_is_not_read():
    read = []
    evaluate(Says(), split(toy(counting_reader(read)), "class:ant", exclude=["5", "9"]))
    assert sorted(read) == [row for row in range(18) if row not in (5, 9)]


def test_ticks_count_every_row():
    ticks = []
    evaluate(Says(), split(toy(), "class:ant"), tick=ticks.append)
    assert sum(ticks) == 18


def test_a_sample_bounds_the_rows_of_each_part():
    read = []
    s = split(toy(counting_reader(read)), "id:0,1,2,3,4")
    drawn = parts(s, 3)
    assert [(part.name, len(part)) for part in drawn] == [("retain", 3), ("forget", 3), ("test", 3)]
    found = evaluate(Says(), s, sample=3)
    assert sorted(read) == sorted(row for part in drawn for row in part.rows.tolist())
    z, y = toy().images.flatten(1), s.data.labels
    expected = [accuracy(z[part.rows], y[part.rows]) for part in drawn]
    assert [found.acc_dr, found.acc_df, found.ta] == expected


def test_a_sample_larger_than_the_parts_changes_nothing():
    s = split(toy(), "class:ant")
    assert evaluate(Says(), s, sample=100) == evaluate(Says(), s)


def test_whole_test_accuracy_reads_the_test_rows_alone():
    read = []
    data = toy(counting_reader(read))
    assert whole_test_accuracy(Says(), data) == 62.5
    assert read == data.test.tolist()
    read.clear()
    whole_test_accuracy(Says(), data, sample=3)
    assert len(read) == 3 and set(read) <= set(data.test.tolist())


def test_evaluation_leaves_modes_and_random_state():
    model, state = nn.Sequential(Says(), nn.Dropout(0.5)), torch.get_rng_state()
    model[1].eval()
    assert evaluate(model, split(toy(), "class:ant")).ta == 62.5
    assert [module.training for module in model.modules()] == [True, True, False]
    assert torch.equal(torch.get_rng_state(), state)
