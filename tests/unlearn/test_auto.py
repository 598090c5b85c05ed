from __future__ import annotations

import json

import pytest
import torch

from sublimate.data.core import Data
from sublimate.errors import InputRefused, UnlearningFailed, UsageError
from sublimate.request import parse
from sublimate.splits import split
from sublimate.unlearn.auto import RATES, auto, best, probe
from sublimate.unlearn.presets import configure, plan, read_preset, serving
from sublimate.unlearn.siamese import Siamese


class Memory:
    def __init__(self):
        self.data = None

    def load(self):
        return self.data

    def save(self, data):
        self.data = data


def test_whole_classes_get_labels_from_the_classes_that_remain(toy):
    chosen, choices = auto(toy.model, toy.split, {"lr": 0.01})
    assert (chosen.permutation, chosen.until) == ("retained", "met")
    assert choices["preset"] == "auto" and choices["permutation"] == "retained" and "probe" not in choices
    assert all(getattr(chosen, name) == value for name, value in choices.items() if name != "preset")


@pytest.mark.parametrize("request_", ["id:3", "random@10%", "class:b@50%"])
def test_other_records_are_matched_with_never_seen_ones(toy, request_):
    chosen, _ = auto(toy.model, split(toy.data, request_, few=60), {"lr": 0.01})
    assert chosen.permutation == "matched"


@pytest.mark.parametrize(
    ("text", "preset", "options", "expected"),
    [
        ("class:b", "auto", {}, "siamese"),
        ("class:b@50%", "auto", {"seed": 3}, "siamese-matched"),
        ("random@10%", "auto", {}, "siamese-matched"),
        ("id:3", "auto", {"lr": 0.1}, "siamese"),
        ("id:3", "paper", {}, "siamese"),
    ],
)
def test_auto_leaves_all_but_whole_classes_to_siamese_matched(text, preset, options, expected):
    assert serving("siamese", preset, options, parse(text)) == expected
    assert serving("finetune", preset, options, parse(text)) == "finetune"


def test_what_the_user_gives_stays(toy):
    given = {"lr": 0.01, "permutation": "authors", "epochs": 2, "until": "epochs"}
    chosen, _ = auto(toy.model, toy.split, given)
    assert {name: getattr(chosen, name) for name in given} == given


def test_the_probe_tries_every_rate_once_and_continues(toy):
    memory, base = Memory(), Siamese(permutation="retained", until="met", batch_size=16)
    whole = probe(toy.model, toy.split, base, None, memory, lambda: False)
    assert [t["lr"] for t in whole] == list(RATES)
    memory.data = json.dumps(whole[:2]).encode()
    assert probe(toy.model, toy.split, base, None, memory, lambda: False) == whole


def test_best_weighs_what_is_kept_against_what_is_left():
    gentle = {"lr": 1e-4, "retained": 99.0, "gone": 60.0, "excess": 0.0}
    strong = {"lr": 1e-3, "retained": 90.0, "gone": 1.0, "excess": 0.0}
    above = {"lr": 3e-3, "retained": 90.0, "gone": 0.0, "excess": 3.0}
    assert best([gentle, strong, above]) == 1e-3
    assert best([{"lr": 1e-2, "failed": "collapsed"}, gentle]) == 1e-4
    with pytest.raises(UnlearningFailed, match="Every learning rate"):
        best([{"lr": 1e-2, "failed": "collapsed"}])


def test_nothing_can_be_chosen_without_never_seen_records(toy):
    alone = Data(
        name="alone",
        images=toy.data.images[:40],
        labels=toy.data.labels[:40],
        sizes=(40, 0, 0),
        classes=toy.data.classes,
    )
    with pytest.raises(InputRefused, match="no test"):
        auto(toy.model, split(alone, "class:b"), {})


def test_presets(toy, tmp_path):
    paper, choices = configure("siamese", "paper", {}, toy.model, toy.split)
    assert paper == Siamese() and choices == {"preset": "paper"}
    file = tmp_path / "mine.toml"
    file.write_text('method = "siamese"\n[options]\nlr = 0.5\nlam = 2.0\n')
    mine, _ = configure("siamese", str(file), {"lam": 3.0}, toy.model, toy.split)
    assert (mine.lr, mine.lam) == (0.5, 3.0)
    with pytest.raises(UsageError, match="no preset"):
        configure("siamese", "papr", {}, toy.model, toy.split)
    file.write_text('method = "scrub"\n')
    with pytest.raises(InputRefused, match="preset of scrub"):
        read_preset(file, "siamese")
    file.write_text("method = ")
    with pytest.raises(InputRefused, match="no preset"):
        read_preset(file, "siamese")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[option]\nlr = 0.5\n", "option is none of method, options, tuned"),
        ("lr = 0.5\n", "lr is none of"),
        ('method = "siamese"\nlr = 0.5\n[options]\n', "lr is none of"),
        ('method = "siamese"\n[tuned]\nbest = 1\n', "no table of options"),
        ("method = 3\n[options]\n", "method is no text"),
    ],
)
def test_a_preset_that_would_be_ignored_is_refused(tmp_path, text, words):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputRefused, match=words):
        read_preset(file, "siamese")


def test_a_preset_of_a_method_alone_has_no_options(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('method = "siamese"\n')
    assert read_preset(file, "siamese") == {}


@pytest.mark.parametrize(("n", "every"), [(1, 2), (4, 2), (5, 4), (20, 10), (60, 10)])
def test_few_records_are_looked_at_more_often(toy, n, every):
    some = split(toy.split.data, "id:" + ",".join(toy.split.data.ids[:n]))
    assert auto(toy.model, some, {"lr": 0.01, "batch_size": 4})[0].watch_every == every


def test_an_automatic_run_forgets_and_stops_by_itself(toy):
    chosen, _ = auto(toy.model, toy.split, {"lr": 0.01, "batch_size": 16, "watch_every": 2})
    s = toy.split
    record = chosen.run(toy.model, s.forget_set, s.few_set, ratios=s.ratios, val=s.val_set).record
    assert record.stopped == "the forgotten records look never seen and the rest has recovered"
    assert record.checks[-1]["gone"] <= 0.5
    assert len(record.losses) == record.checks[-1]["iteration"]


def test_the_price_is_an_upper_bound(toy):
    images, in_flight = plan("siamese", "auto", {"batch_size": 16, "lr": 0.01}, toy.split)
    s = toy.split
    chosen, _ = auto(toy.model, s, {"batch_size": 16, "lr": 0.01})
    record = chosen.run(toy.model, s.forget_set, s.few_set, ratios=s.ratios, val=s.val_set).record
    assert 2 * sum(record.samples.values()) <= images
    assert in_flight == 32
    paper = Siamese(batch_size=16, epochs=2)
    read = paper.run(toy.model, s.forget_set, s.few_set, ratios=s.ratios).record.samples
    assert 2 * sum(read.values()) <= plan("siamese", "paper", {"batch_size": 16, "epochs": 2}, s)[0]
    torch.testing.assert_close(s.ratios, torch.tensor([0.0, 1.0, 0.0, 0.0]))


def test_images_that_a_method_makes_have_their_price(toy):
    options = {"iterations": 3, "n_g": 2, "n_s": 5, "batch_size": 16}
    assert plan("gkt", "auto", options, toy.split) == (3 * (2 + 5) * 16, 16)


def test_a_user_who_wants_all_epochs_gets_a_probe_all_the_same(toy):
    chosen, choices = auto(toy.model, toy.split, {"until": "epochs", "epochs": 1})
    assert chosen.until == "epochs" and len(choices["probe"]) == len(RATES)


@pytest.mark.parametrize("size", [0, "big"])
def test_a_batch_size_that_is_none_is_refused(toy, size):
    with pytest.raises(InputRefused, match="batch_size"):
        auto(toy.model, toy.split, {"batch_size": size})


def test_what_a_rate_read_that_failed_is_counted(toy, monkeypatch):
    monkeypatch.setattr("sublimate.unlearn.auto.RATES", (1e30, 1e-3))
    tried = probe(toy.model, toy.split, auto(toy.model, toy.split, {"lr": 0.1, "clip": None})[0], None, None, bool)
    assert "failed" in tried[0] and 0 < tried[0]["samples"] < tried[1]["samples"]
