"""Experiments on top of everything else: steps of a plan, and tables of what they gave."""
