"""What releases return: numbers and pandas objects that know how far they may be off.

Nothing here is trusted. All of it is computed where the analyst is, from public facts and released numbers.
"""
