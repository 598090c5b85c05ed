"""Steps that run once: keyed by all they depend on, kept in the store, continued when killed, here or on Ray."""

from .doing import Context, result
from .running import Advance, Ran, price, run
from .steps import Step

__all__ = ["Advance", "Context", "Ran", "Step", "price", "result", "run"]
