"""WHAT IS READ: data, its sources, augmented views, batches."""

from .core import Data
from .sources import load

__all__ = ["Data", "load"]
