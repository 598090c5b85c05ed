"""A reset network has nothing of the trained one."""

import pytest
import torch
from torch import nn

from sublimate.errors import InputRefused
from sublimate.models import MODELS, build
from sublimate.models.reset import reset


def trained(network):
    """As if trained: no parameter and no statistic is where it began."""
    with torch.no_grad():
        for tensor in network.state_dict().values():
            tensor.add_(torch.randn(tensor.shape).abs() + 0.5 if tensor.is_floating_point() else 7)
    return network


def state(network):
    return {key: tensor.clone() for key, tensor in network.state_dict().items()}


@pytest.mark.parametrize("name", [n for n in MODELS if n != "resnet50"])
def test_nothing_of_the_training_is_left(name):
    network = trained(build(name, 10))
    before = state(network)
    reset(network)
    for key, tensor in network.state_dict().items():
        assert float((tensor == before[key]).double().mean()) < 0.01, key


def test_a_reset_network_is_distributed_like_a_built_one():
    built = build("small-cnn", 10)
    network = trained(build("small-cnn", 10))
    reset(network)
    for (key, a), b in zip(network.state_dict().items(), built.state_dict().values(), strict=True):
        if "conv" in key:
            assert float(a.std() / b.std()) == pytest.approx(1, abs=0.1)
        elif "bn" in key:
            assert torch.equal(a, b)


def test_a_seed_means_the_same_weights_and_the_same_module_stays():
    network = nn.Sequential(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)), nn.MultiheadAttention(4, 2))
    parameters = [id(p) for p in network.parameters()]
    frozen = network[0][0].weight.requires_grad_(False)
    states = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        reset(network)
        states.append(state(network))
    assert all(torch.equal(states[0][k], states[1][k]) for k in states[0])
    assert not torch.equal(states[0]["1.in_proj_weight"], states[2]["1.in_proj_weight"])
    assert bool((states[0]["1.out_proj.bias"] == 0).all())  # the attention's rule for its child, not the child's
    assert [id(p) for p in network.parameters()] == parameters and not frozen.requires_grad


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3))


class HalfReset(nn.Linear):
    """Owns a parameter that the inherited reset_parameters does not know."""

    def __init__(self):
        super().__init__(3, 3)
        self.gain = nn.Parameter(torch.ones(3))


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, dtype=torch.long))


@pytest.mark.parametrize(("module", "named"), [(Scale, "gain"), (HalfReset, "gain"), (Remembers, "seen")])
def test_what_cannot_be_reset_is_refused_and_nothing_is_changed(module, named):
    network = nn.Sequential(nn.Linear(3, 3), module())
    before = state(network)
    with pytest.raises(InputRefused, match=rf"1.*{named}.*Give factory="):
        reset(network)
    assert all(torch.equal(before[k], tensor) for k, tensor in network.state_dict().items())


def test_a_buffer_that_is_not_saved_is_no_memory():
    network = nn.Sequential(nn.Linear(3, 3))
    network.register_buffer("grid", torch.arange(3.0), persistent=False)
    reset(network)
    assert network.grid.tolist() == [0, 1, 2]
