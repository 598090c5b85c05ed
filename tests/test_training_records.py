from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from sublimate.checkpoint import digest_of
from sublimate.errors import InputRefused, IntegrityError
from sublimate.records import Header, Kept, TrainingRecords

HEADER = Header(method="sisa", network="n", data="d", values={"shards": 2, "recipe": {"milestones": [1]}})
TENSORS = {"b": torch.arange(3), "a": torch.tensor(2.5), "c": torch.zeros(0, dtype=torch.long)}


def test_comes_back_as_it_was_and_equal_records_make_equal_bytes(tmp_path):
    path = tmp_path / "kept.safetensors"
    digest = TrainingRecords(header=HEADER, tensors=TENSORS).save(path)
    found = TrainingRecords.load(path)
    assert found.header == HEADER and digest_of(found.tensors) == digest_of(TENSORS)
    again = TrainingRecords(header=found.header, tensors=dict(reversed(found.tensors.items())))
    assert again.save(tmp_path / "again.safetensors") == digest
    assert path.read_bytes() == (tmp_path / "again.safetensors").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_every_damage_is_noticed(tmp_path):
    path = tmp_path / "kept.safetensors"
    TrainingRecords(header=HEADER, tensors=TENSORS).save(path)
    whole = path.read_bytes()
    for place in range(8, len(whole), 7):  # after the length of the header
        flipped = bytearray(whole)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        with pytest.raises((IntegrityError, InputRefused)):
            TrainingRecords.load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(IntegrityError):
        TrainingRecords.load(path)


def test_other_files_are_refused(tmp_path):
    save_file({"w": torch.ones(1)}, tmp_path / "network.safetensors")
    torch.save({"w": torch.ones(1)}, tmp_path / "network.pt")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("network.safetensors", "network.pt", "empty"):
        with pytest.raises(InputRefused, match="no records of training"):
            TrainingRecords.load(tmp_path / name)
    with pytest.raises(InputRefused, match="no file"):
        TrainingRecords.load(tmp_path / "nowhere")


def test_what_a_run_keeps_is_a_copy():
    weight, kept = torch.ones(2), Kept()
    kept.keep("state.0", {"weight": weight})
    weight.zero_()
    other = Kept()
    other.load_state_dict(kept.state_dict())
    assert other.tensors["state.0.weight"].tolist() == [1, 1]
