"""The published JSON schema of an audit; `python -m sublimate.report.audit.schema FILE` writes it."""

from __future__ import annotations

import json
import sys

from ...audits.result import Audit
from ...files import write_whole


def audit_schema() -> str:
    """What `sublimate audit --json` prints, as a JSON schema made from the result itself."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(schema | Audit.model_json_schema(mode="serialization"), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_whole(sys.argv[1], audit_schema().encode())
