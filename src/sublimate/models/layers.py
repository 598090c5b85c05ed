"""The layers all our networks are made of."""

from __future__ import annotations

from torch import nn


class Conv(nn.Conv2d):
    """A square convolution that keeps the size at stride 1, with He initialisation.

    The initialisation is `reset_parameters`, so that a network that is reset is distributed like one that is built.

    >>> Conv(3, 8, kernel=3).weight.shape
    torch.Size([8, 3, 3, 3])
    """

    def __init__(self, inputs: int, outputs: int, *, kernel: int, stride: int = 1, bias: bool = False) -> None:
        super().__init__(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=bias)

    def reset_parameters(self) -> None:
        """Draw the weights anew (He et al. 2015, by the fan-out); a bias starts at zero."""
        nn.init.kaiming_normal_(self.weight, mode="fan_out", nonlinearity="relu")
        if self.bias is not None:
            nn.init.zeros_(self.bias)
