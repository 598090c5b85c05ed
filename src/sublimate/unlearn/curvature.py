"""The Gauss-Newton matrix of cross entropy, times a vector; the matrix itself is never written down."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp, vjp

from ..models.outputs import logits as as_logits
from .gradients import Tensors, movable, undisturbed, values_of


def gauss_newton_product(model: nn.Module, x: Tensor, v: Tensors) -> Tensors:
    """Σ Jᵀ (diag p − p pᵀ) J v over the batch: the Gauss-Newton matrix of CE, which is its Fisher matrix, times v."""
    with undisturbed(model):
        with suppress(RuntimeError):  # where a layer has no derivative forwards, it goes backwards twice
            return _forwards(model, x, v)
        return _backwards_twice(model, x, v)


def _forwards(model: nn.Module, x: Tensor, v: Tensors) -> Tensors:
    def f(parameters: Tensors) -> Tensor:
        return as_logits(functional_call(model, dict(parameters), (x,)))

    z, Jv = jvp(f, (values_of(model),), (dict(v),))[:2]
    back: Tensors = vjp(f, values_of(model))[1](_curved(z, Jv))[0]
    return back


def _backwards_twice(model: nn.Module, x: Tensor, v: Tensors) -> Tensors:
    """Jᵀu is linear in u, so its derivative by u along v is J v."""
    parameters = movable(model)
    weights, along = list(parameters.values()), [v[name] for name in parameters]
    z = as_logits(model(x))
    u = torch.zeros_like(z, requires_grad=True)
    Ju = torch.autograd.grad(z, weights, u, create_graph=True, materialize_grads=True)
    (Jv,) = torch.autograd.grad(Ju, u, along, retain_graph=True)
    back = torch.autograd.grad(z, weights, _curved(z.detach(), Jv), materialize_grads=True)
    return dict(zip(parameters, back, strict=True))


def _curved(z: Tensor, Jv: Tensor) -> Tensor:
    """(diag p − p pᵀ) J v."""
    p = z.softmax(1)
    return p * Jv - p * (p * Jv).sum(1, keepdim=True)
