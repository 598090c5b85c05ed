"""Checkpoints: read without running code, verified, and written back in the layout they came in."""

from .core import Checkpoint, Layout, Meta, digest_of
from .fitting import fit
from .loading import load_checkpoint
from .saving import round_as, save_checkpoint

__all__ = ["Checkpoint", "Layout", "Meta", "digest_of", "fit", "load_checkpoint", "round_as", "save_checkpoint"]
