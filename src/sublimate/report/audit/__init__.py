"""An audit told: on the terminal, on the page, and as a published schema."""
