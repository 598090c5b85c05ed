"""The figures of a bench: each described once, for print and for the page."""
