"""A folder of results as `sublimate bench` leaves it, nothing of it measured: all kinds, many methods, three seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
REQUESTS = {"full-class": "class:automobile,cat,truck", "sub-class": "class:automobile@90%", "random": "random@10%"}
# label: method, seconds, images read, then Acc_Dr, Acc_Df, TA_Dr, TA_Df, MIA where whole classes are forgotten
METHODS: dict[str, tuple[Any, ...]] = {
    "Original": ("original", 0, 0, 92.1, 91.3, 86.4, 88.2, 71.0),
    "Retrain": ("retrain", 812, 700_000, 93.0, 0.0, 88.9, 0.0, 12.4),
    "Finetune": ("finetune", 96, 175_000, 94.2, 31.5, 87.8, 30.1, 20.2),
    "NegGrad": ("neggrad", 21, 45_000, 61.3, 0.2, 58.7, 0.1, 3.9),
    "RandLab": ("randlab", 44, 90_000, 84.0, 6.8, 80.3, 7.0, 1.2),
    "BadT": ("badt", 63, 90_000, 88.9, 9.7, 84.4, 9.9, 0.4),
    "SCRUB": ("scrub", 120, 210_000, 92.6, 2.1, 88.0, 2.4, 16.8),
    "SSD": ("ssd", 19, 50_000, 70.5, 0.0, 67.4, 0.0, 8.0),
    "Amnesiac": ("amnesiac", 58, 120_000, 89.9, 3.3, 85.2, 3.6, 5.5),
    "Siamese": ("siamese", 31, 90_000, 91.0, 0.6, 86.9, 0.5, 0.1),
    "Siamese auto": ("siamese", 38, 102_000, 92.4, 0.1, 88.1, 0.0, 7.9),
    "Siamese matched": ("siamese-matched", 74, 190_000, 92.8, 0.0, 88.6, 0.0, 11.6),
}
FAILED = "the network collapsed: 10.0 % on the classes that stay"
SEEN = {"full-class": (0, 0), "sub-class": (70, 72), "random": (86, 0)}  # what Retrain gets right of the forgotten


def base(id: str, kind: str, scenario: str, label: str, seed: int, **more: Any) -> dict[str, Any]:
    """What every row has."""
    data = "cifar100" if "cifar100" in id else "cifar10"
    method = METHODS.get(label, ("siamese",))[0]
    request = {"full-class": "class:dolphin,seal,trout"}.get(scenario) if data == "cifar100" else None
    row = {
        "kind": kind, "experiment": id, "edition": "cpu", "scenario": scenario, "data": data, "model": "he-resnet8",
        "views": "simple", "request": request or REQUESTS[scenario], "method": method, "label": label,
        "preset": "auto" if label == "Siamese auto" else "paper", "options": {"lr": 0.001, "epochs": 3}, "few": 1000,
        "seed": seed, "seeds": {"train": seed, "unlearn": seed, "evaluate": seed}, "split": f"9f3a{seed}c0de1234567",
        "versions": {"sublimate": "0.1.0", "torch": "2.13.0"},
        "n": {"forget": 15000, "retain": 35000, "few": 1000, "test": 10000, "control": 8000},
        "figures": {}, "gap": None, "average_gap": None, "tow": None, "classes": {}, "confusion": {},
        "audit": None, "failed": None, "stopped": "all epochs done", "command": "",
    }  # fmt: skip
    row |= more
    row["command"] = (
        f"sublimate erase --model {row['model']}.safetensors --data {data} --forget {row['request']} "
        f"--method {method} --preset {row['preset']} --set lr=0.001 --seed {seed}"
    )
    return row


def figures(scenario: str, label: str, jitter: Random) -> dict[str, float]:
    """Percentages around those of the table above."""
    _, _, images, acc_dr, acc_df, ta_dr, ta_df, mia = METHODS[label]
    seen_df, seen_ta = SEEN[scenario]
    if scenario != "full-class" and label != "Original":
        acc_df, ta_df = seen_df + acc_df / 4, seen_ta + ta_df / 4
        mia = 40 + mia
    values = {"acc_dr": acc_dr, "acc_df": acc_df, "ta_dr": ta_dr, "ta_df": ta_df, "mia": mia}
    values = {key: round(min(100.0, max(0.0, value + jitter.gauss(0, 0.6))), 2) for key, value in values.items()}
    values["ta"] = round(0.7 * values["ta_dr"] + 0.3 * values["ta_df"], 2) if scenario != "random" else values["ta_dr"]
    if scenario == "random":
        del values["ta_dr"], values["ta_df"]
    auc = {"Retrain": 0.501, "Original": 0.61, "Siamese matched": 0.512}.get(label, 0.55)
    return values | {
        "auc": auc,
        "js": 0.04,
        "read_forget": images // 3,
        "read_retain": images - images // 3,
        "samples": images,
    }


def compared(rows: list[dict[str, Any]]) -> None:
    """Gap, average gap and ToW of every row to Retrain of its seed."""
    for row in rows:
        goal = next((r for r in rows if r["method"] == "retrain" and r["seed"] == row["seed"]), None)
        if goal is None:
            continue
        keys = [key for key in ("acc_dr", "acc_df", "ta_dr", "ta_df", "ta", "mia") if key in row["figures"]]
        row["gap"] = {key: round(row["figures"][key] - goal["figures"][key], 2) for key in keys}
        counted = [key for key in keys if key != "ta" or "ta_dr" not in keys]
        row["average_gap"] = round(sum(abs(row["gap"][key]) for key in counted) / len(counted), 3)
        off = [1 - abs(row["gap"][key]) / 100 for key in ("acc_df", "acc_dr", "ta")]
        row["tow"] = round(off[0] * off[1] * off[2], 4)


def verdict(label: str) -> dict[str, Any] | None:
    if label in ("Original", "Retrain"):
        return None
    word = {"Siamese matched": "PASS", "Siamese auto": "INCONCLUSIVE"}.get(label, "FAIL")
    reasons = ["AUC of confidence, forgotten against never-seen records: 0.553 (0.541–0.565); 0.5 is no trace."]
    return {"verdict": word, "tier": 1, "reasons": reasons, "auc": 0.553, "low": 0.541, "high": 0.565}


def scores(id: str, scenario: str, *, seeds: int = 3, labels: Any = METHODS, **more: Any) -> list[dict[str, Any]]:
    """One table: every method on every seed."""
    found = []
    for seed in range(seeds):
        jitter, own = Random(f"{id} {scenario} {more} {seed}"), []
        for label in labels:
            row = base(id, "scores", scenario, label, seed, figures=figures(scenario, label, jitter), **more)
            row |= {"audit": verdict(label), "classes": by_class(row, jitter), "confusion": confusion(row, jitter)}
            own.append(row)
        for row in own:
            row["failed"] = FAILED if row["label"] == "NegGrad" and seed == 2 and scenario == "full-class" else None
        compared(own)
        found += own
    return found


def by_class(row: dict[str, Any], jitter: Random) -> dict[str, float]:
    names = (
        CLASSES if row["data"] == "cifar10" else [f"class {n:02d}" for n in range(97)] + ["dolphin", "seal", "trout"]
    )
    known, gone = row["figures"].get("ta_dr", row["figures"]["ta"]), row["figures"].get("ta_df", 0.0)
    forgotten = set(row["request"].removeprefix("class:").split("@")[0].split(","))
    return {
        name: round(min(100, max(0, (gone if name in forgotten else known) + jitter.gauss(0, 3))), 1) for name in names
    }


def confusion(row: dict[str, Any], jitter: Random) -> dict[str, dict[str, float]]:
    forgotten = row["request"].removeprefix("class:").split("@")[0].split(",") if "class:" in row["request"] else []
    others = ["ship", "dog", "airplane", "horse"] if row["data"] == "cifar10" else ["whale", "shark", "ray", "otter"]
    return {name: {other: round(jitter.uniform(2, 45), 1) for other in others} for name in forgotten}


TERMS = {
    "CE": {"kvc": 0.0, "permutation": "uniform"}, "CE + ALP": {"kvc": 0.0}, "KVC": {"lam": 0.0},
    "KVC + CE": {"permutation": "uniform"}, "KVC + CE + ALP": {},
}  # fmt: skip


def ablation_of_terms() -> Iterator[dict[str, Any]]:
    for scenario in REQUESTS:
        own = scores("ablation/terms", scenario, labels=["Retrain"])
        for place, (label, options) in enumerate(TERMS.items()):
            like = ["RandLab", "Amnesiac", "Original", "Siamese", "Siamese auto"]
            for row in scores("ablation/terms", scenario, labels=[like[place]]):
                own.append(
                    row | {"label": label, "method": "siamese", "options": {"lr": 0.001} | options, "failed": None}
                )
        compared(own)
        yield from own


def ablation_of_views() -> Iterator[dict[str, Any]]:
    for views in ("simple", "contrastive", "cutout"):
        yield from scores("ablation/views", "full-class", seeds=1, labels=["Original", "Siamese"], views=views)


def budget() -> Iterator[dict[str, Any]]:
    for scenario in ("full-class", "random"):
        own = scores("budget/cifar10", scenario, labels=["Retrain"])
        for few, like in ((10, "NegGrad"), (100, "RandLab"), (1000, "Siamese"), ("all", "Siamese auto")):
            for row in scores("budget/cifar10", scenario, labels=[like]):
                own.append(row | {"label": f"Siamese, {few}", "method": "siamese", "few": few, "failed": None})
        compared(own)
        yield from own


def curves() -> Iterator[dict[str, Any]]:
    for model in ("he-resnet8", "he-resnet20"):
        for label, end in (("Concentration", 88.0), ("Concentration and vaporization", 0.0)):
            for seed in range(3):
                for step in range(7):
                    dip = 9 * step * 2.718 ** (-1.2 * step) + seed * 0.3
                    seen = {
                        "ta_dr": round(86.4 - dip + step * 0.3, 2),
                        "ta_df": round(end + (88.2 - end) * 0.4**step, 2),
                    }
                    yield base(
                        "ablation/concentration",
                        "curve",
                        "full-class",
                        label,
                        seed,
                        model=model,
                        epoch=step / 2,
                        figures=seen,
                    )


def trajectories() -> Iterator[dict[str, Any]]:
    for label, (method, _, _, _, _, ta_dr, ta_df, _) in METHODS.items():
        steps = {"original": [0], "retrain": [5]}.get(method, range(6))
        for step in steps:
            left = 0.0 if method == "retrain" else 0.45**step
            bend = 6 * left * (1 - left) * (4 if label == "Siamese" else 1)
            seen = {
                "ta_dr": round(ta_dr + (86.4 - ta_dr) * left - bend, 2),
                "ta_df": round(ta_df + (88.2 - ta_df) * left, 2),
            }
            yield base("trajectory/cifar10", "curve", "full-class", label, 0, epoch=step / 2, figures=seen)


def divergences() -> Iterator[dict[str, Any]]:
    for place, scenario in enumerate(REQUESTS):
        for more, views in enumerate(("simple", "contrastive", "cutout")):
            kl_dr, kl_df = 0.12 + 0.2 * more, (0.12 + 0.2 * more) * (3.1, 1.6, 1.2)[place]
            found = {"kl_dr": kl_dr, "kl_df": round(kl_df, 4), "spread_dr": 1.9, "spread_df": 4.2}
            yield base("analysis/kl", "kl", scenario, "Retrain", 0, views=views, figures=found)


def panels() -> Iterator[tuple[str, str, str]]:
    for scenario in REQUESTS:
        for views in ("simple", "contrastive", "cutout"):
            yield scenario, views, "Retrain"
        yield scenario, "contrastive", "Siamese"


def clouds() -> Iterator[dict[str, Any]]:
    for scenario, views, label in panels():
        jitter = Random(f"{scenario} {views} {label}")
        spread = {"simple": 2.0, "contrastive": 5.0, "cutout": 3.0}[views]
        points = []
        for group in (0, 1):
            for number in range(10):
                x, y = jitter.uniform(-40, 40), jitter.uniform(-40, 40)
                wide = spread * (2.5 if group and (scenario == "full-class" or label == "Siamese") else 1)
                points += [
                    [round(jitter.gauss(x, wide), 2), round(jitter.gauss(y, wide), 2), group, number]
                    for _ in range(100)
                ]
        yield {"experiment": "analysis/tsne", "edition": "cpu", "scenario": scenario, "data": "cifar10",
               "model": "he-resnet8", "views": views, "label": label, "seed": 0, "points": points}  # fmt: skip


def runtimes() -> list[dict[str, Any]]:
    models = {"he-resnet8": 1.0, "he-resnet20": 2.9, "he-resnet32": 4.6}
    return [row for model in models for row in scores("runtime", "full-class", seeds=1, model=model)]


def timing(row: dict[str, Any]) -> dict[str, Any]:
    slow = {"he-resnet20": 2.9, "he-resnet32": 4.6}.get(row["model"], 1.0)
    seconds = round(METHODS.get(row["label"], METHODS["Siamese"])[1] * slow * (1 + 0.04 * row["seed"]), 2)
    kept = {key: row[key] for key in ("experiment", "edition", "scenario", "data", "views", "model", "label", "seed")}
    return kept | {"seconds": seconds, "threads": 2, "host": "bench-1", "at": "2026-01-01T00:00:00+00:00"}


REPORTED = {"Original": (100.0, 100.0), "Retrain": (99.1, 0.0), "Siamese": (99.98, 0.01), "SCRUB": (97.21, 8.4)}
TITLES = {
    "full-class/cifar10": ("Forgetting three classes of CIFAR-10", "Table 1"),
    "sub-class/cifar10": ("Forgetting most of one class of CIFAR-10", "Table 3"),
    "random/cifar10": ("Forgetting a random tenth of CIFAR-10", "Table 5"),
    "full-class/cifar100": ("Forgetting three classes of CIFAR-100", "Table 2"),
    "runtime": ("Run time of all methods", "Figure 5"),
    "ablation/concentration": ("Concentration alone, and with vaporization", "Figure 6"),
    "ablation/terms": ("What each term of the loss does", "Table 7"),
    "ablation/views": ("Which views are used", "Table 8"),
    "budget/cifar10": ("How many retained records are needed", ""),
    "trajectory/cifar10": ("The way of every method", ""),
    "analysis/kl": ("Divergence of augmented views", "appendix"),
    "analysis/tsne": ("Augmented views under t-SNE", "Figure 1"),
}
NOTE = "The paper's own Retrain saw part of the forgotten records here: reported figures are no goal."


def rows() -> list[dict[str, Any]]:
    """All rows, in the order of the titles."""
    return [
        *scores("full-class/cifar10", "full-class"),
        *scores("full-class/cifar10", "full-class", seeds=1, model="he-resnet20"),
        *scores("sub-class/cifar10", "sub-class"),
        *scores("random/cifar10", "random"),
        *scores("full-class/cifar100", "full-class", seeds=1),
        *runtimes(),
        *curves(),
        *ablation_of_terms(),
        *ablation_of_views(),
        *budget(),
        *trajectories(),
        *divergences(),
        *(base("analysis/tsne", "tsne", scenario, label, 0, views=views) for scenario, views, label in panels()),
    ]


def experiment(id: str, own: list[dict[str, Any]]) -> str:
    """A declaration that fits the rows."""
    title, source = TITLES[id]
    kind, scenario = own[0]["kind"], own[0]["scenario"]
    measures = {"curve": ["ta_dr", "ta_df"], "kl": ["kl_dr", "kl_df", "spread_dr", "spread_df"], "tsne": []}
    lines = [f'id = "{id}"', f'title = "{title}"', f'source = "{source}"', f'kind = "{kind}"']
    lines += [f'note = "{NOTE if id == "random/cifar10" else ""}"']
    known = ["acc_dr", "acc_df", "ta_dr", "ta_df", "mia"] if scenario != "random" else ["acc_dr", "acc_df", "ta", "mia"]
    if len({r["scenario"] for r in own}) > 1:
        known = ["acc_dr", "acc_df", "ta_dr", "ta_df", "ta", "mia"]
    lines += [f"measures = {json.dumps(measures.get(kind, known))}"]
    settings = dict.fromkeys((r["scenario"], r["data"], r["model"], r["views"], r["request"]) for r in own)
    for scenario, data, model, views, request in settings:
        lines += ["[[settings]]", f'scenario = "{scenario}"', "[settings.cpu]", f'data = "{data}"']
        lines += [f'request = "{request}"', f'model = "{model}"', f'views = "{views}"', 'recipe = "fast"', "few = 1000"]
    for label, method in {r["label"]: r["method"] for r in own}.items():
        lines += ["[[methods]]", f'name = "{method}"', f'label = "{label}"']
        if label in REPORTED and "cifar10" in id:
            acc_dr, acc_df = REPORTED[label]
            lines += [f'reported = {{ "{scenario}" = {{ acc_dr = {acc_dr}, acc_df = {acc_df} }} }}']
    return "\n".join(lines) + "\n"


def lay_down(folder: Path) -> Path:
    """Write the folder."""
    everything = rows()
    timed = [timing(row) for row in everything if row["kind"] == "scores" and row["method"] != "original"]
    for name, lines in {"rows": everything, "timings": timed, "points": list(clouds())}.items():
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    (folder / "experiments").mkdir()
    for id in TITLES:
        own = [row for row in everything if row["experiment"] == id]
        (folder / "experiments" / f"{id.replace('/', '-')}.toml").write_text(experiment(id, own), "utf-8")
    return folder
