"""What a method must take: requests of any size, networks of any kind, records from any source."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from ..errors import InputRefused
from ..unlearn.card import SCENARIOS
from .access import check_samples
from .case import Case, chosen, odd_problem, problem, run, run_if_felt, start
from .toy import ZOO, Toy
from .world import content, differences, surroundings

SEVENTEEN = "id:" + ",".join(map(str, range(1, 18)))  # one more than a batch of 16


def check_awkward_sizes(case: Case) -> None:
    """One record, a batch and one, a share of everything, a share of a class."""
    for request in ("id:1", SEVENTEEN, "random@10%", "class:a@50%"):
        _check_request(case, problem(), request)


def check_two_classes(case: Case) -> None:
    """Where only one other class remains."""
    for request in ("class:a", "id:0", "random@20%"):
        _check_request(case, problem(2), request)


def _check_request(case: Case, toy: Toy, request: str) -> None:
    rows = chosen(case, toy, request)
    val = rows.val_set if case.judges else None  # without a guard: quick options need not suit every request
    if request != "class:a" and case.cls.scenarios != SCENARIOS:
        try:
            run(case, toy, rows=rows)
        except InputRefused as refused:
            case.owes("whole classes" in refused.cause, f"{request} was refused for a wrong reason: {refused}")
            return
        case.owes(False, f"{request} was not refused, though scenarios = {case.cls.scenarios}.")
    outcome = run_if_felt(case, toy, rows=rows, val=val)
    if outcome:
        finite = all(bool(torch.isfinite(p).all()) for p in outcome.model.parameters())
        case.owes(finite, f"{request} gave non-finite weights.")
        changed = content(outcome.model) != content(start(case.setup, toy)[0])
        case.owes(changed == case.cls.changes, f"{request} left the network as it was.")
        check_samples(case, outcome, rows)


def check_networks_of_all_kinds(case: Case) -> None:
    """Outputs in wrappings, layer norm, dropout, frozen and tied weights; in both modes."""
    for kind in ZOO:
        for norm in ("eval", "train"):
            _check_network(case, kind, {"norm": norm})


def _check_network(case: Case, kind: str, options: dict[str, Any]) -> None:
    toy = odd_problem(kind)
    rows, model = chosen(case, toy), copy.deepcopy(start(case.setup, toy)[0])
    before = surroundings(model)
    val = rows.val_set if case.judges else None  # without a guard: quick options need not suit every network
    times = 2 if kind == "dropout" else 1
    found = [run_if_felt(case, toy, options, rows=rows, val=val, model=model) for _ in range(times)]
    changed = differences(before, surroundings(model))
    case.owes(not changed, f"a network of kind {kind!r} came back with other {changed}.")
    erased = [outcome.model for outcome in found if outcome]
    same = len({content(network) for network in erased}) <= 1
    case.owes(same, f"not repeatable for a network of kind {kind!r} with {options}.")
    for network in erased:
        pairs = zip(network.named_parameters(), model.parameters(), strict=True)  # strict: a tied weight counts once
        moved = [name for (name, mine), theirs in pairs if not theirs.requires_grad and not torch.equal(mine, theirs)]
        case.owes(not moved, f"{', '.join(moved)} may not move (requires_grad False) but did.")


def check_takes_datasets_loaders_and_tensors(case: Case) -> None:
    """The same bytes from a pair of tensors, a data set and a loader; records of training know other rows."""
    if case.cls.needs_records:
        return
    toy = problem()
    rows, model = chosen(case, toy), copy.deepcopy(start(case.setup, toy)[0])

    def ready(part: Tensor) -> tuple[Tensor, Tensor]:
        x, y = toy.data.read(part)
        return toy.data.normalise(x), y

    pair, val = (ready(rows.forget), ready(rows.few)), rows.val_set if case.judges else None
    sets = tuple(TensorDataset(*part) for part in pair)
    loaders = tuple(DataLoader(part, batch_size=7) for part in sets)
    found = [
        content(case.method().run(model, forget, retain, ratios=rows.ratios, val=val).model)
        for forget, retain in (pair, sets, loaders)
    ]
    case.owes(found[0] == found[1] == found[2], "tensors, data sets and loaders of the same records gave other bytes.")
