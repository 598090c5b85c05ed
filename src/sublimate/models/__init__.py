"""The networks: build(name, classes), and what may be asked of any network."""

from .registry import MODELS as MODELS
from .registry import build as build
