"""What the whole flow adds to its parts."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import sublimate as sm
from sublimate.errors import UnlearningFailed
from sublimate.pipeline import came_back, erase_split


class Says(nn.Module):
    """Answers what the first pixel says, or always the first class."""

    def __init__(self, knows: bool) -> None:
        super().__init__()
        self.knows = knows

    def forward(self, x):
        return nn.functional.one_hot(x[:, 0, 0, 0].long() * self.knows, 3).float()


def table():
    y = torch.arange(60) % 3
    return sm.Data(
        name="toy", images=y.float().view(60, 1, 1, 1), labels=y, sizes=(30, 30, 0), classes=("ant", "bee", "cow")
    )


def test_a_class_that_was_forgotten_earlier_and_is_known_again_is_a_warning():
    data = table()
    bees = [data.ids[int(row)] for row in sm.split(data, "class:bee").forget]
    chosen = sm.split(data, "class:cow", exclude=bees)
    (warning,) = came_back(Says(True), Says(False), chosen)
    assert "100.0 % of never-seen records are right, 0.0 % before" in warning
    assert not came_back(Says(True), Says(True), chosen)
    assert not came_back(Says(True), Says(False), sm.split(data, "class:cow", exclude=bees[:3]))


def test_classes_forgotten_earlier_do_not_stay():
    data = table()
    bees = [data.ids[int(row)] for row in sm.split(data, "class:bee").forget]
    assert sm.evaluate(Says(False), sm.split(data, "class:cow")).ta_dr == 50
    assert sm.evaluate(Says(False), sm.split(data, "class:cow", exclude=bees)).ta_dr == 100


def test_an_equal_copy_is_no_erasure(toy):
    with pytest.raises(UnlearningFailed, match="all weights are as they were") as failed:
        sm.erase(toy.model, toy.data, "id:7", method="original")
    assert failed.value.model is not None


def test_the_effect_is_that_of_the_network_as_written(toy):
    chosen = sm.split(toy.data, toy.split.request)

    def undo(model):
        model.load_state_dict(toy.model.state_dict())
        return True

    with pytest.raises(UnlearningFailed, match="no effect"):
        erase_split(toy.model, chosen, method="finetune", preset="auto", options={"epochs": 1}, finish=undo)


def test_a_retrain_of_two_requests_reads_neither(toy):
    seen = set()

    def reader(rows):
        seen.update(rows.tolist())
        return toy.data.images[rows]

    data = replace(toy.data, images=reader)
    sm.train(data, "small-cnn", forget="id:7,8", exclude=["9"], epochs=1)
    assert seen >= set(range(6)) and not seen & {7, 8, 9}
