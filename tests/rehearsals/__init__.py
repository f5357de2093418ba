"""Programs on made-up rows."""
