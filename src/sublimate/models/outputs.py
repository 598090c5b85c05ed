"""What a network answers, as logits."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ..errors import InputRefused


def logits(output: object) -> Tensor:
    """The logits (N, classes) in a network's answer.

    They are the tensor itself, its `.logits`, its `["logits"]`, or one of these as the first of a tuple or list.

    >>> import torch
    >>> logits((torch.zeros(2, 3), "attention")).shape
    torch.Size([2, 3])
    """
    found = _find(output)
    if found.ndim != 2 or found.shape[1] < 2 or not found.is_floating_point():
        raise InputRefused(
            f"The network answers {tuple(found.shape)} numbers of type {found.dtype}, like {_likeness(found)}.",
            "Only classifiers that answer one logit per class, (N, classes) with at least two classes, can be erased.",
        )
    return found


def _find(output: object) -> Tensor:
    if isinstance(output, Tensor):
        return output
    if hasattr(output, "logits"):
        return _find(output.logits)
    if isinstance(output, Mapping) and "logits" in output:
        return _find(output["logits"])
    if isinstance(output, (tuple, list)) and output:
        return _find(output[0])
    keys = f" with {', '.join(map(repr, output))}" if isinstance(output, Mapping) else ""
    raise InputRefused(
        f"The network answers a {type(output).__name__}{keys}, in which no logits were found.",
        "Wrap it so that it returns a tensor (N, classes), an object with .logits, or a tuple that begins with one.",
    )


def _likeness(found: Tensor) -> str:
    if found.ndim == 2:
        return "a regression or one-logit head" if found.shape[1] < 2 else "class numbers"
    shapes = {0: "a loss", 1: "a regression head or class numbers", 3: "a sequence of tokens"}
    return shapes.get(found.ndim, "a segmentation output or a feature map")
