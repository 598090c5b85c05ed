"""A table says what it is, or is refused."""

import pytest
import torch

from sublimate.data.core import Data
from sublimate.errors import InputRefused


def test_two_classes_of_one_name_are_refused():
    x, y = torch.zeros(4, 1, 2, 2, dtype=torch.uint8), torch.arange(4)
    with pytest.raises(InputRefused, match="two classes named 'cat'"):
        Data(name="toy", images=x, labels=y, sizes=(4, 0, 0), classes=("cat", "dog", "cat", "eel"))
