"""Steps that follow a method along its run."""

from __future__ import annotations

import json
from dataclasses import asdict

from torch import nn

from ..audits.evaluation import scores
from ..errors import UnlearningFailed
from ..plan import Context
from ..splits import Split
from ..unlearn.presets import configure, known
from .analysis import Found, facts, made_by, outputs, rounded
from .packing import Few, Request, asked_of, needed, opened, placed, table


@placed
def sampled(context: Context, *, on: Request, few: Few, sample: int) -> Found:
    """The figures of one network on a sample of each part: where a curve begins, or what it should reach."""
    network = opened(needed(context), table(on["data"]))
    asked = asked_of(on, network.data, few)
    return facts(asked) | {"figures": _figures(network.model, asked, sample), "run": made_by(network)}


@placed
def curve(context: Context, *, on: Request, method: str, preset: str, options: Found, few: Few, sample: int) -> Found:
    """The figures on a sample after every epoch of a method; those before a kill are kept beside the run's state."""
    network = opened(needed(context), table(on["data"]))
    asked, slot = asked_of(on, network.data, few), context.slot("curve")
    seen: dict[str, Found] = json.loads(slot.load() or b"{}")

    def observe(model: nn.Module, done: float, total: float) -> None:
        seen[f"{done:.3f}"] = _figures(model, asked, sample)
        slot.save(json.dumps(seen).encode())

    observe(network.model, 0.0, 0.0)
    run: Found = {"options": known(method, preset, options)}
    shared = context.progress, context.slot("probe"), context.interrupted
    try:
        unlearner, choices = configure(method, preset, options, network.model, asked, *shared)
        run = {"options": unlearner.options(), "choices": choices}
        outcome = unlearner.run(
            network.model,
            asked.forget_set,
            asked.few_set,
            ratios=asked.ratios,
            val=asked.val_set,
            progress=context.progress,
            saver=context.slot(),
            interrupted=context.interrupted,
            observe=observe,
        )
        run |= {"choices": choices | outcome.record.choices, "stopped": outcome.record.stopped}
    except UnlearningFailed as failure:
        run["failed"] = failure.cause
    points = [{"epoch": float(epoch), "figures": seen[epoch]} for epoch in sorted(seen, key=float)]
    return facts(asked) | {"points": points, "run": run}


def _figures(model: nn.Module, asked: Split, sample: int) -> Found:
    z, y = outputs(model, asked, sample)
    return rounded(asdict(scores(z, y, asked.named_classes)))
