"""Networks that are said never to have seen the forgotten records: which may be used, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn

from .gates import clean_reference
from .harm import Parts
from .identity import identical
from .population import Compared, compare
from .result import Gate, Skipped

Reference = nn.Module | tuple[nn.Module, str | None]
"""A network, alone or with the fingerprint of the split that it was trained on."""
NEAR = 0.02  # of the size of the logits: networks of two trainings differ by far more


@dataclass
class References:
    """Those that may be used, with what they say of the forgotten records; and a gate or a reason for each."""

    used: list[nn.Module] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    refused: list[Skipped] = field(default_factory=list)

    def add(self, number: int, network: nn.Module, compared: Compared, gate: Gate) -> None:
        """Use a reference, or note why it is not used."""
        self.gates.append(gate)
        if not gate.passed:
            self.refused.append(Skipped(what=f"reference {number}", why=gate.says))
            return
        self.used.append(network)
        self.compared.append(compared)


def listed(reference: Reference | Sequence[Reference] | None) -> list[tuple[nn.Module, str | None]]:
    """Each with its fingerprint, None where it is not known; one alone need not be in a list."""
    if reference is None:
        return []
    if isinstance(reference, nn.Module):
        return [(reference, None)]
    if len(reference) == 2 and (reference[1] is None or isinstance(reference[1], str)):
        return [reference]  # type: ignore[list-item]
    return [(one, None) if isinstance(one, nn.Module) else one for one in reference]  # type: ignore[misc]


def clean_references(
    given: Sequence[tuple[nn.Module, str | None]],
    said: Callable[[nn.Module], Parts],
    judged: Mapping[str, tuple[nn.Module, Parts]],
    fingerprint: str,
    gone: Tensor,
) -> References:
    """Refused are references of another split, those that know the records, and what is no other network at all.

    `said` asks a network; `judged` are the networks under audit, by name, with what they said; `gone` are the wholly
    forgotten classes.
    """
    found, known = References(), dict(judged)
    for number, (network, split) in enumerate(given, 1):
        out = said(network)
        compared = compare(out["forget"], out["control"])
        why = _of_another_split(split, fingerprint) or _no_other(network, out, known)
        gate = clean_reference(compared, out, gone, verified=split is not None)
        found.add(number, network, compared, Gate(name=gate.name, passed=False, says=why) if why else gate)
        known[f"reference {number}"] = network, out
    return found


def _of_another_split(split: str | None, fingerprint: str) -> str | None:
    if split in (None, fingerprint):
        return None
    return f"It belongs to split {split}, this request to split {fingerprint}."


def _no_other(network: nn.Module, out: Parts, known: Mapping[str, tuple[nn.Module, Parts]]) -> str | None:
    twin = next((name for name, other in known.items() if same_network((network, out), other)), None)
    return f"It is, or as good as, {twin}: what is its own yardstick shows nothing." if twin else None


def same_network(one: tuple[nn.Module, Parts], other: tuple[nn.Module, Parts]) -> bool:
    """Whether one holds the weights of the other, all or all but the head's, or says the same."""
    if near(one[1]["never"].z, other[1]["never"].z):
        return True
    if not (one[0].state_dict() and other[0].state_dict()):
        return False
    pairs = (one[0], other[0]), (other[0], one[0])
    return any(found.untouched or found.last_layer_only for found in (identical(*pair) for pair in pairs))


def near(z: Tensor, other: Tensor) -> bool:
    """Whether logits differ by less than 2 % of their size, the mean of each record taken off.

    >>> import torch
    >>> z = torch.tensor([[1.0, -1.0], [3.0, -3.0]])
    >>> near(1.01 * z, z), near(1.05 * z, z)
    (True, False)
    """
    a, b = (x.double() - x.double().mean(1, keepdim=True) for x in (z, other))
    return float((a - b).norm()) <= NEAR * float(b.norm())
