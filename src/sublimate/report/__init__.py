"""TELL PEOPLE: rows become tables and one self-contained page."""
