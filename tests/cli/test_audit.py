"""`sublimate audit` and `erase --audit`, as a user types them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from parsed_page import Parsed
from safetensors.torch import save_file

from sublimate.audits.result import Audit
from sublimate.checkpoint import load_checkpoint
from sublimate.data import load
from sublimate.report.audit.text import family_of
from sublimate.report.audit.words import GATES, OTHERS

CODES = {"PASS": 0, "FAIL": 7, "INCONCLUSIVE": 8}


def audit_with(made, **changes):
    """The usual command line: the Retrain is audited as if it were erased; None takes an option away."""
    usual = {
        "model": made / "retrain.safetensors", "original": made / "original.safetensors", "data": "digits",
        "forget": "class:3",
    }  # fmt: skip
    pairs = {name: value for name, value in (usual | changes).items() if value is not None}
    return "audit", *(part for name, value in pairs.items() for part in (f"--{name}", value))


def test_audit_end_to_end(made, tmp_path, call):
    page = tmp_path / "page.html"
    code, text, err = call(*audit_with(made, report=page), "--json")
    found = Audit.model_validate_json(text)
    assert code == CODES[found.verdict] == found.exit_code, err
    assert found.n["forget"] == 147 and found.split == load_checkpoint(made / "retrain.safetensors").meta.split
    prose = " ".join(err.split())
    assert f"{found.verdict} (tier 1)" in prose and "Records that stand out most" in prose and "Not a verdict." in prose
    assert f"Verdict of the audit: </span>{found.verdict}</h2>" in page.read_text(encoding="utf-8")


def arrays(part):
    """Images as a file holds them, and labels."""
    x, y = load("digits").read(part)
    return x.permute(0, 2, 3, 1).numpy(), y.numpy()


def test_plain_ids_are_on_the_terminal_alone(made, tmp_path, call):
    digits, path, page = load("digits"), tmp_path / "named.npz", tmp_path / "page.html"
    (x, y), (u, v) = arrays(digits.train), arrays(digits.test)
    facts = {"ids": np.array([f"patient-{i}" for i in digits.ids]), "mean": digits.mean, "std": digits.std}
    np.savez(path, x_train=x, y_train=y, x_test=u, y_test=v, **facts)
    asked = ["patient-7", "patient-19", "patient-20"]
    changes = {"model": made / "original.safetensors", "forget": f"id:{','.join(asked)}", "data": path, "report": page}
    code, text, err = call(*audit_with(made, **changes), "--json")
    assert code in (7, 8), err  # three records are too few for a PASS
    assert all(name in err for name in asked)
    assert "patient-" not in text and "record 3" in text
    html = page.read_text(encoding="utf-8")
    assert "patient-" not in html and "3 named records" in html and "record 3" in html


def test_gates_of_other_requests_are_known_too(made, call):
    _, text, err = call(*audit_with(made, model=made / "original.safetensors", forget="random@10%"), "--json")
    gates = {gate.name for gate in Audit.model_validate_json(text).gates}
    assert "members seen" in gates <= set(GATES), err


def test_tier_2_knows_its_tests_and_gates(made, call):
    code, text, err = call(*audit_with(made, tier=2, reference=made / "retrain.safetensors", sample=60), "--json")
    found = Audit.model_validate_json(text)
    assert code == CODES[found.verdict], err
    assert {test.tier for test in found.tests} == {1, 2} and found.n["forget"] == 60
    assert [test.name for test in found.tests if family_of(test) is OTHERS] == []  # each is explained on the page
    assert {gate.name for gate in found.gates} <= set(GATES)


def test_prose_is_on_stdout_without_json_and_nowhere_when_quiet(made, call):
    code, text, _ = call(*audit_with(made))
    assert code in (0, 7, 8) and "(tier 1)" in text and "AUC, confidence" in text
    assert call(*audit_with(made), "--quiet") == (code, "", "")


@pytest.mark.parametrize(
    ("changes", "expected", "words"),
    [
        ({"tier": 3}, 2, "--tier"),
        ({"sample": 0}, 2, "--sample"),
        ({"original": None}, 2, "--original"),
        ({"model": "no-such.safetensors"}, 3, "no-such.safetensors"),
        ({"reference": "no-such.safetensors"}, 3, "no-such.safetensors"),
        ({"forget": "class:4"}, 3, "retrain.safetensors belongs to split"),
        ({"forget": "class:cat"}, 3, "cat"),
        ({"report": "no/such/folder/page.html"}, 5, "no"),
    ],
)
def test_wrong_arguments(made, call, changes, expected, words):
    code, text, err = call(*audit_with(made, **changes))
    assert code == expected and words in err and "PASS" not in text


def test_a_reference_of_another_split_is_refused(made, call):
    original, reference = made / "original.safetensors", made / "retrain.safetensors"
    code, _, err = call(*audit_with(made, model=original, reference=reference, forget="class:4"))
    assert code == 3 and "retrain.safetensors belongs to split" in err


def test_another_normalisation_is_refused(made, tmp_path, call):
    state = load_checkpoint(made / "original.safetensors").state
    save_file(state, tmp_path / "other.safetensors", metadata={"mean": "[0.5]", "std": "[0.25]"})
    code, _, err = call(*audit_with(made, model=tmp_path / "other.safetensors"))
    assert code == 3 and "another normalisation" in err


def erase_with(made, tmp_path, *more):
    return (
        "erase", "--model", made / "original.safetensors", "--data", "digits", "--forget", "class:3", "--out",
        tmp_path / "erased.safetensors", "--preset", "paper", "--set", "lr=1e-3", "--set", "epochs=1", *more,
    )  # fmt: skip


def test_erase_and_audit_in_one(made, tmp_path, call):
    page, out = tmp_path / "page.html", tmp_path / "erased.safetensors"
    more = ("--audit", "1", "--reference", made / "retrain.safetensors", "--report", page, "--json")
    code, text, err = call(*erase_with(made, tmp_path, *more))
    found = json.loads(text)
    judged = Audit.model_validate(found["audit"])
    assert code == judged.exit_code and judged.tier == 1, err
    assert load_checkpoint(out).meta.split == judged.split == found["split"]
    assert [gate.name for gate in judged.gates].count("clean reference") == 1
    html = page.read_text(encoding="utf-8")
    assert f"Verdict of the audit: </span>{judged.verdict}</h2>" in html and "These figures are not the audit." in html
    prose = " ".join(err.split())
    assert prose.index("Written:") < prose.index("(tier 1)")  # also when the audit should fail, the file is there
    code, text, err = call(*audit_with(made, model=out, reference=made / "retrain.safetensors"), "--json")
    alone = Audit.model_validate_json(text)
    left_out = {"compute", "mia"}
    assert alone.model_dump(exclude=left_out) == judged.model_dump(exclude=left_out)  # the file is what was judged
    assert {when: judged.mia[when] for when in ("before", "after")} == {
        when: found[when]["mia"] for when in ("before", "after")
    }  # one page, one figure
    assert judged.mia["fitted_on"] == 1437 - 147 + 360 and alone.mia["fitted_on"] == 1437 - 147 + 288


def test_the_page_of_an_erasure_goes_class_by_class_and_ends_with_the_command(made, tmp_path, call):
    page = tmp_path / "page.html"
    more = ("--reference", made / "retrain.safetensors", "--report", page)
    code, _, err = call(*erase_with(made, tmp_path, *more))
    assert code == 0, err
    shown = Parsed(page.read_text(encoding="utf-8"))
    known, taken, *_ = shown.texts("details")
    assert known.startswith("Accuracy by class") and "Class Original Retrain Erased" in known
    assert taken.startswith("What forgotten classes are taken for") and "3:" in taken
    (command,) = (text for text in shown.texts("pre") if "erase" in text)
    assert command.startswith("sublimate erase --model ") and command.endswith(f"--report {page}")


def test_ids_are_left_out_of_the_command_on_a_page(made, tmp_path, call):
    page = tmp_path / "page.html"
    args = ["id:7" if part == "class:3" else part for part in erase_with(made, tmp_path, "--audit", "1")]
    call(*args, "--report", page)
    (command,) = (text for text in Parsed(page.read_text(encoding="utf-8")).texts("pre") if "erase" in text)
    assert "--forget id:…" in command.replace("'", "") and "id:7" not in command


def test_erase_without_figures_still_shows_the_audit(made, tmp_path, call):
    page = tmp_path / "page.html"
    code, text, err = call(*erase_with(made, tmp_path, "--audit", "1", "--no-evaluate", "--report", page))
    assert code in (0, 7, 8), err
    assert "(tier 1)" in text and "Verdict of the audit:" in page.read_text(encoding="utf-8")


def test_without_an_audit_the_key_is_empty(made, tmp_path, call):
    code, text, _ = call(*erase_with(made, tmp_path, "--no-evaluate", "--json"))
    assert code == 0 and json.loads(text)["audit"] is None


@pytest.mark.parametrize(
    ("more", "expected"), [(("--audit", "3"), 2), (("--audit", "1", "--reference", "no-such.safetensors"), 3)]
)
def test_what_cannot_be_audited_is_refused_before_the_work(made, tmp_path, call, more, expected):
    code, _, _ = call(*erase_with(made, tmp_path, *more))
    assert code == expected and not (tmp_path / "erased.safetensors").exists()


def test_whose_copy_is_kept_is_refused_before_the_work(made, tmp_path, call):
    digits = load("digits")
    (x, y), (u, v) = (arrays(part) for part in (digits.train, digits.test))
    x[8], y[8] = x[7], y[7]
    np.savez(tmp_path / "twice.npz", x_train=x, y_train=y, x_test=u, y_test=v, mean=digits.mean, std=digits.std)
    swap = {"digits": tmp_path / "twice.npz", "class:3": "id:7"}
    args = [swap.get(str(part), part) for part in erase_with(made, tmp_path, "--audit", "1")]
    code, _, err = call(*args)
    assert code == 3 and "Name the copies" in err and not (tmp_path / "erased.safetensors").exists()


def test_no_never_seen_records_no_work(made, tmp_path, call):
    x, y = arrays(load("digits").train)
    np.savez(tmp_path / "alone.npz", x_train=x, y_train=y)
    args = [tmp_path / "alone.npz" if part == "digits" else part for part in erase_with(made, tmp_path, "--audit", "1")]
    code, _, err = call(*args)
    assert code == 3 and "never-seen" in err and not (tmp_path / "erased.safetensors").exists()
