"""``python -m privjail.local`` is ``privjail local``."""

from privjail.local.cli import app

app(prog_name="privjail local")
