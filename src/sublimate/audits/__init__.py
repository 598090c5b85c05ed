"""DID IT WORK? One pass collects logits, then pure functions."""
