"""Parts of tools/mutants.py."""
