"""Erase chosen training data from a trained PyTorch classifier, and show whether it worked."""
