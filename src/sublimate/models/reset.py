"""Make a trained network a fresh one."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from ..errors import InputRefused


def reset(model: nn.Module) -> None:
    """Re-initialise all parameters and buffers in place, from torch's global random state, or refuse, changing nothing.

    Each module that owns state is asked for `reset_parameters` (`_reset_parameters` in torch's attention).

    >>> norm = nn.BatchNorm1d(2)
    >>> _ = norm(torch.tensor([[0.0, 8.0], [2.0, 8.0]]))
    >>> reset(norm); norm.running_mean
    tensor([0., 0.])
    """
    fresh = copy.deepcopy(model)
    with torch.no_grad():
        _forget_all_values(fresh)
        # Children before parents: a parent's own rule for its children has the last word.
        for name, module in reversed(list(fresh.named_modules())):
            _reset_own(name, module)
        _refuse_survivors(fresh)
        model.load_state_dict(fresh.state_dict())


def _reset_own(name: str, module: nn.Module) -> None:
    again = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
    if callable(again):
        again()
    elif own := [key for key in module.state_dict() if "." not in key]:
        raise _cannot(f"{name or 'the network itself'} ({type(module).__name__}: {', '.join(own)})")


def _forget_all_values(model: nn.Module) -> None:
    """A `reset_parameters` that leaves one of its tensors out is then caught, not trusted."""
    for tensor in _float_state(model).values():
        tensor.fill_(float("nan"))


def _refuse_survivors(model: nn.Module) -> None:
    for key, tensor in _float_state(model).items():
        if bool(tensor.isnan().any()):
            raise _cannot(key)


def _float_state(model: nn.Module) -> dict[str, Tensor]:
    return {k: t for k, t in model.state_dict().items() if isinstance(t, Tensor) and t.is_floating_point()}


def _cannot(what: str) -> InputRefused:
    return InputRefused(
        f"Fresh weights are needed, but {what} has no reset_parameters that sets it.",
        "Give factory=, a function without arguments that builds the network anew.",
    )
