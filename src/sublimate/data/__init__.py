"""WHAT IS READ: data, its sources, augmented views, batches."""
