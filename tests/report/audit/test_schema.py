"""The published schema is that of the result, and what is printed fits it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from sublimate.audits.auditing import audit
from sublimate.audits.result import Audit, Worst
from sublimate.cli.audit import as_json
from sublimate.report.audit.schema import audit_schema
from sublimate.splits import split

PUBLISHED = Path(__file__).resolve().parents[3] / "docs" / "audit.schema.json"


def test_the_published_schema_is_that_of_the_result():
    remedy = "run `python -m sublimate.report.audit.schema docs/audit.schema.json`"
    assert PUBLISHED.read_text(encoding="utf-8") == audit_schema(), remedy


def test_the_module_writes_it(tmp_path):
    subprocess.run([sys.executable, "-m", "sublimate.report.audit.schema", str(tmp_path / "new.json")], check=True)
    assert (tmp_path / "new.json").read_bytes() == PUBLISHED.read_bytes()


@pytest.mark.parametrize("verdict", ["PASS", "FAIL", "INCONCLUSIVE"])
def test_what_is_printed_is_what_was_found(made_up, verdict):
    found = made_up(verdict)
    printed = json.dumps(as_json(found), allow_nan=False)
    assert Audit.model_validate_json(printed) == found
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert set(json.loads(printed)) == set(schema["properties"])
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(("request_", "tier"), [("id:3", 1), ("class:b", 2)])
def test_what_an_audit_prints_fits_the_published_schema(toy, request_, tier):
    """A measured result, judged by an independent reader of JSON schemas."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator(schema)
    checker.check_schema(schema)
    printed = as_json(audit(toy.model, original=toy.model, split=split(toy.data, request_), tier=tier, sample=40))
    assert [error.message for error in checker.iter_errors(printed)] == []
    for broken in (printed | {"verdict": "MAYBE"}, printed | {"id": "img-7"}, {k: printed[k] for k in ("tier", "n")}):
        assert list(checker.iter_errors(broken))


def test_what_is_no_number_becomes_null(made_up):
    found = made_up(curves={"edges": [float("nan"), float("inf")]}, delta=None)
    assert as_json(found)["curves"] == {"edges": [None, None]} and as_json(found)["delta"] is None


def test_no_place_for_a_plain_id():
    with pytest.raises(ValidationError, match="Extra inputs"):
        Worst(pseudonym="record 1", label="cat", phi=0.0, share_above=0.0, id="img-7")
