"""A folder of results told: tables, figures, and one page."""
