"""Which network a figure belongs to."""

from __future__ import annotations

import json


def test_a_reference_of_the_same_name_is_the_reference(made, tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("original", "retrain"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net").write_bytes((made / f"{name}.safetensors").read_bytes())
    args = ("evaluate", "--model", "original/net", "--reference", "retrain/net", "--data", "digits")
    code, text, err = call(*args, "--forget", "class:3", "--json")
    assert code == 0, err
    gap = json.loads(text)["models"][0]["gap"]["acc_df"]
    code, text, _ = call(*args, "--forget", "class:3")
    assert code == 0 and gap > 50 and f"({gap:+.1f})" in text and "distance to retrain/net" in text
