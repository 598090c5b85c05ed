"""What the version of a step holds beside its parameters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sublimate.bench.experiments import load
from sublimate.bench.planning import plan
from sublimate.unlearn.finetune import Finetune
from sublimate.unlearn.siamese import Siamese


@pytest.mark.parametrize("kind", ["scores", "curve"])
def test_other_values_of_the_authors_are_another_run_of_their_preset_alone(kind, declared, tmp_path, monkeypatch):
    def keys(preset):
        lines = (("siamese", "Siamese", "{}"), ("finetune", "Finetune", "{}"))
        text = declared(*lines, kind=kind).text.replace('preset = "paper"', f'preset = "{preset}"')
        (tmp_path / "own.toml").write_text(text)
        return [one.key for one in plan([load(tmp_path / "own.toml")], "smoke", 1)]

    before = {preset: keys(preset) for preset in ("auto", "paper")}
    monkeypatch.setattr(Finetune, "card", replace(Finetune.card, authors={"lr": 0.5}))
    assert keys("auto") == before["auto"]
    assert [now == then for now, then in zip(keys("paper"), before["paper"], strict=True)] == [True, False]
    assert Siamese.card.authors == {}  # so that its keys are those from before authors were part of them
