"""A method of one's own in one class: what it computes, the checks that ours pass too, and a first use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

import sublimate as sm
from sublimate.data.batches import Batch, one_pass
from sublimate.phase import Losses, Phase
from sublimate.testing import check_method
from sublimate.unlearn.card import Card
from sublimate.unlearn.job import Job


def second_choice(z: Tensor, y: Tensor) -> Tensor:
    """The class with the highest logit apart from the true one."""
    return z.scatter(1, y[:, None], float("-inf")).argmax(1)


@dataclass(frozen=True, kw_only=True)
class SecondChoice(sm.Unlearner):
    """Forgotten records learn what the original would say next, while retained ones are rehearsed."""

    name = "second-choice"
    card = Card(
        title="Second choice",
        source="an example",
        formula="min E_Dr CE(f(x), y) + E_Df CE(f(x), argmax over k ≠ y of f_θ₀(x)_k)",
        memory="P",
        pitfalls=("The second choice of a network that saw a record need not be that of one that never did.",),
    )
    lr: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 5  # over D_f
    batch_size: int = 64  # of D_f, and of D_r

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_f `epochs` times, and a batch of D_r with each of its batches."""
        batches, rows = one_pass(forget, self.batch_size)
        return {"forget": self.epochs * rows, "retain": self.epochs * batches * min(self.batch_size, retain)}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_f; the loop, its guards and its saving are not ours to write."""
        teacher = job.teacher()
        retain = job.batches(job.retain, self.batch_size, cycle=True)

        def learn(batch: Batch) -> Losses:
            kept = retain.at(batch.t)
            with torch.no_grad():
                instead = second_choice(job.logits(job.forget, batch.x, teacher), batch.y)
            return {
                "retain": F.cross_entropy(job.logits(job.retain, kept.x), kept.y),
                "forget": F.cross_entropy(job.logits(job.forget, batch.x), instead),
            }

        over = job.batches(job.forget, self.batch_size)
        optimizer = self.sgd([job.model])
        yield Phase(name="learn", over=over, epochs=self.epochs, steps=(learn,), optimizer=optimizer, lr=self.lr)


def main() -> None:
    check_method(
        SecondChoice, quick={"lr": 0.02, "epochs": 2, "batch_size": 16}, enough={"epochs": 4}, ruin={"lr": 1e6}
    )
    print("SecondChoice keeps the contract that every method owes.")
    data = sm.load("digits")
    model = sm.train(data, "small-cnn", epochs=5)
    split = sm.split(data, "class:3", few=500)
    outcome = SecondChoice().run(model, split.forget_set, split.few_set, ratios=split.ratios, val=split.val_set)
    for when, network in (("before", model), ("after", outcome.model)):
        scores = sm.evaluate(network, split)
        print(f"{when:6}  threes right: {scores.acc_df:5.1f} %   other digits right: {scores.acc_dr:5.1f} %")
    print(f"It read {sum(outcome.record.samples.values())} images and stopped: {outcome.record.stopped}.")


if __name__ == "__main__":
    main()
