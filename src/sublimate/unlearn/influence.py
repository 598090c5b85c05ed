"""Influence unlearning: one Newton step to where training without D_f would have ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from ..data.batches import Batch
from ..inference import prepare
from ..phase import Losses, Phase
from ..splits import Part
from .base import Unlearner
from .card import Card
from .conjugate import Conjugate, flat, shaped
from .curvature import gauss_newton_product
from .fisher import sampled
from .gradients import Sums, movable, summed_gradients
from .job import Job
from .search import Strength, settled

# The mildest first.
ALPHAS: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)


def pull(forget: Tensor, retain: Tensor, share: float) -> Tensor:
    """v = (1/N)·Σ_Df ∇ℓ − N_f/(N·N_r)·Σ_Dr ∇ℓ, from the mean gradients of both parts and N_f/N.

    >>> pull(torch.tensor([3.0]), torch.tensor([1.0]), share=0.25)
    tensor([0.5000])
    """
    return share * (forget - retain)


@dataclass(frozen=True, kw_only=True)
class Influence(Unlearner):
    """Take the influence of D_f back, to first order; no training.

    >>> Influence(solver="diag").alpha
    'search'
    """

    name = "influence"
    card = Card(
        title="Influence unlearning",
        source="Koh, Liang: Understanding Black-box Predictions via Influence Functions, 2017, arXiv 1703.04730; as "
        "unlearning: Jia, Liu, Ram, Yao, Liu, Liu, Sharma, Liu: Model Sparsity Can Simplify Machine Unlearning, 2023, "
        "arXiv 2304.04934",
        formula="θ ← θ + α·(H + μ)⁻¹ v   v = (1/N)·Σ_Df ∇ℓ − N_f/(N·N_r)·Σ_Dr ∇ℓ   H = E_Dr Jᵀ(diag p − p pᵀ)J",
        memory="6P",
        authors={"solver": "none"},
        values="α is searched in 1 … 20 (SalUn's experiments) or 1 … 100 (RUM's), 10 on CIFAR-10 and 20 on CIFAR-100 "
        "elsewhere; ours in .05 … 100 on val: where the system is solved a whole step is 1, and a small network wants "
        "less.  20 iterations over 1000 records reach the directions that matter.",
        pitfalls=(
            "The public 'WoodFisher' recursion never leaves the direction of its first gradient: it gives back v less "
            "a multiple of that gradient (cosine .9995 with v, .23 with the true F⁻¹v).  solver='none' is what it "
            "amounts to, and is used for the authors' preset.",
            "A well-trained network has gradients near nil: rounding and the damping then decide the direction.",
            "The step is a first-order one: far from θ₀, with a large D_f or a large α, it says nothing.",
        ),
        deviations=(
            "H is the Gauss-Newton matrix, solved by conjugate gradients with exact products over a sample of D_r.",
            "Only N_f/N and the mean gradients enter, so that a budget of D_r can stand for D_r.",
        ),
    )
    norm: Literal["eval", "train"] = "eval"
    alpha: Strength = "search"  # length of the step
    solver: Literal["cg", "diag", "none"] = "cg"
    damping: float = 1e-2  # μ
    iterations: int = 20  # of conjugate gradients, at most
    tolerance: float = 1e-3  # |(H + μ) k − v| / |v| that ends them
    sample: int = 1000  # records of D_r for H
    batch_size: int = 64

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """Both parts once, and a sample of D_r for each product with H (at most)."""
        passes = {"cg": self.iterations, "diag": 1, "none": 0}[self.solver]
        return {"forget": forget, "retain": retain + passes * min(self.sample, retain)}

    def phases(self, job: Job) -> Iterator[Phase]:
        """Gather the gradients of both parts, solve, move."""
        sums = {part.name: Sums(job.model) for part in (job.forget, job.retain)}
        squares, few = Sums(job.model), job.batches(job.retain.sample(self.sample, self.seed), self.batch_size)
        length = sum(p.numel() for p in movable(job.model).values())
        cg = Conjugate(length, job.device, damping=self.damping, tolerance=self.tolerance)

        def v() -> Tensor:
            return pull(flat(sums["forget"].means()), flat(sums["retain"].means()), job.share)

        def k() -> Tensor:
            if self.solver == "cg":
                return cg.solution
            return v() / (flat(squares.means()) + self.damping) if self.solver == "diag" else v()

        def apply(alpha: float) -> nn.Module:
            step, theta = shaped(k(), job.model), movable(job.original)
            with torch.no_grad():
                for name, parameter in movable(job.model).items():
                    parameter.copy_(theta[name] + alpha * step[name])
            return job.model

        def multiply(batch: Batch) -> Losses:
            x, d = prepare(job.retain, batch.x), shaped(cg.direction, job.model)
            cg.gather(flat(gauss_newton_product(job.model, x, d)), len(x))
            if (batch.t + 1) % len(few) == 0:
                cg.advance()
            return {}

        def square(batch: Batch) -> Losses:
            x = prepare(job.retain, batch.x)
            squares.add(sampled(job.model, x, job.stream("labels", batch.t)), len(x))
            return {}

        move = settled(job, self.alpha, ALPHAS, apply)
        yield self._gather(job, job.forget, sums)
        last = {"cg": lambda: cg.start(v()), "diag": None, "none": move}[self.solver]
        yield replace(self._gather(job, job.retain, sums), finish=last)
        if self.solver == "cg":
            solve = Phase(name="conjugate gradients", over=few, epochs=self.iterations, steps=[multiply], finish=move)
            yield replace(solve, modules={"cg": cg}, watch=cg.measure, every=len(few))
        if self.solver == "diag":
            modules = sums | {"squares": squares}
            yield Phase(name="diagonal of H", over=few, epochs=1, steps=[square], modules=modules, finish=move)

    def _gather(self, job: Job, part: Part, sums: Mapping[str, Sums]) -> Phase:
        def gather(batch: Batch) -> Losses:
            sums[part.name].add(summed_gradients(job.model, prepare(part, batch.x), batch.y), len(batch.y))
            return {}

        over = job.batches(part, self.batch_size)
        return Phase(name=f"gradients of {part.name}", over=over, epochs=1, steps=[gather], modules=sums)
