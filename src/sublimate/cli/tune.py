"""`sublimate tune`: a preset file for one network and one request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import (
    REQUEST,
    Arch,
    DataName,
    Device,
    Json,
    Mean,
    Quiet,
    Seed,
    Size,
    Std,
    Threads,
    few_of,
    inputs_of,
    open_model,
    options_of,
    own_factory,
    run_key,
    signals,
    slots_of,
    start,
)
from .comparing import check_retrain
from .excluding import Exclude, excluded
from .keeping import Keeper, KeptSlot

if TYPE_CHECKING:
    from rich.table import Table

    from ..networks import Network
    from ..records import TrainingRecords
    from ..splits import Split
    from ..store import Slot
    from ..tuning import Reference, Tuned
    from .ui import Ui

EXAMPLE = (
    "sublimate tune --model original.safetensors --data digits --forget class:3 --method siamese --budget 20m "
    "--out tuned.toml"
)
SHOWN = 5  # trials, the best first


def run(
    model: Annotated[Path, typer.Option("--model", help="The network: ours, or a state dict (.pt .pth .safetensors).")],
    data: DataName,
    forget: Annotated[str, REQUEST],
    method: Annotated[str, typer.Option("--method", help="Whose options are searched.")],
    budget: Annotated[str, typer.Option("--budget", help="A time (90s, 20m, 1h) or a number of trials (30).")],
    out: Annotated[Path, typer.Option("--out", help="The preset file (TOML), for erase --preset.")],
    exclude: Exclude = [],  # noqa: B006
    reference: Annotated[Path | None, typer.Option("--reference", help="A Retrain to come near to.")] = None,
    few: Annotated[str | None, typer.Option("--few", help="Retained records it may read, or all.")] = None,
    records: Annotated[Path | None, typer.Option("--records", help="What train kept for the method.")] = None,
    set_: Annotated[list[str], typer.Option("--set", help="An option that stays, say epochs=3.")] = [],  # noqa: B006
    size: Size = None,
    arch: Arch = None,
    mean: Mean = None,
    std: Std = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search the options of a method that suit this network and request; all is judged on validation records."""
    ui, device = start(threads, device, json, quiet)
    from ..data.sources import load
    from ..files import check_outputs, sha256, write_whole
    from ..records import TrainingRecords
    from ..splits import split
    from ..trials import Budget
    from ..tuning import tune

    limit, fixed = Budget.parse(budget), {"seed": seed} | options_of(set_)
    check_outputs((out,), inputs_of(data, (forget, *exclude), model, records, reference))
    kept, table = TrainingRecords.load(records) if records else None, load(data, size=size)
    network = open_model(model, table, arch, mean, std, device, ui)
    chosen = split(network.data, forget, few=few_of(few, method), seed=seed, exclude=excluded(network, exclude, seed))
    for note in chosen.notes:
        ui.note(note)
    retrain = _reference(reference, network, chosen, arch, device, ui)
    ui.say(f"Tuning {method} to forget {chosen.request.text}: {limit.text}" + (" trials." if limit.trials else "."))
    with signals() as interrupted, ui.steps(method) as progress:
        tuned = tune(
            network.model, chosen, method, budget, reference=retrain, fixed=fixed, records=kept,
            factory=own_factory(network), progress=progress, interrupted=interrupted,
            slots=_slots(ui, network, chosen, method, fixed, kept, retrain, Keeper(ui, interrupted)),
        )  # fmt: skip
    write_whole(out, tuned.preset().encode())
    _tell(ui, tuned, method, out)
    ui.result({"out": str(out), "sha256": sha256(out), **_json(tuned)})


def _reference(
    path: Path | None, network: Network, chosen: Split, arch: str | None, device: str, ui: Ui
) -> Reference | None:
    """What Retrain scores; a network that may have seen the forgotten records is no Retrain."""
    if path is None:
        return None
    from ..tuning import Reference

    retrain = open_model(path, network.data, arch, None, None, device, ui)
    check_retrain(retrain, chosen)
    return Reference.of(retrain.model, replace(chosen, data=retrain.data))


def _slots(
    ui: Ui,
    network: Network,
    chosen: Split,
    method: str,
    fixed: dict[str, Any],
    records: TrainingRecords | None,
    retrain: Reference | None,
    keeper: Keeper,
) -> Callable[[str], Slot] | None:
    """Where the trials are kept: under all they depend on.  The budget is not in it, so that a larger one goes on."""
    from ..checkpoint import digest_of
    from ..records import digest_of_data
    from ..store import Store
    from ..trials import find_optuna
    from ..unlearn import find
    from ..unlearn.spaces import space

    key = run_key(
        tune=method, space=space(find(method)), fixed=fixed, split=chosen.fingerprint,
        few=chosen.few.tolist(), model=digest_of(network.model.state_dict()), data=digest_of_data(network.data),
        records=digest_of(records.tensors) if records else None,
        reference=retrain.digest if retrain else None, optuna=find_optuna().__version__,
        device=str(next(network.model.parameters()).device),
    )  # fmt: skip
    (usable,) = slots_of(ui, f"trials of {key}")
    return (lambda name: KeptSlot(Store().slot(f"{name} of {key}").path, keeper)) if usable else None


def _tell(ui: Ui, tuned: Tuned, method: str, out: Path) -> None:
    facts = tuned.facts
    ui.say(_best(tuned))
    objective = facts["objective"][:1].upper() + facts["objective"][1:]
    ui.say(
        f"{objective}: {facts['default']:.2f} with the default values, {facts['best']:.2f} with "
        f"the best of {facts['trials']} trials ({facts['failed']} failed). Measured on validation records, where it "
        "was chosen: expect a little less elsewhere."
    )
    ui.say(f"Written: {out}. Use it with erase --method {method} --preset {out} --few {facts['few']}")


def _best(tuned: Tuned) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    names = list(tuned.trials[0].options)
    table = Table("Trial", "Value", *names, "Seconds", box=SIMPLE_HEAD, show_edge=False)
    for trial in tuned.ranked[:SHOWN]:
        number = next(n for n, one in enumerate(tuned.trials) if one is trial)
        value = "failed" if trial.failed else f"{trial.value:.2f}"
        label = "0 (default)" if number == 0 else str(number)
        table.add_row(label, value, *(str(trial.options[name]) for name in names), f"{trial.seconds:.1f}")
    return table


def _json(tuned: Tuned) -> dict[str, Any]:
    return {
        "method": tuned.method,
        "options": tuned.options,
        **tuned.facts,
        "seconds": round(sum(trial.seconds for trial in tuned.trials), 3),
        "tried": [asdict(trial) for trial in tuned.trials],
    }
