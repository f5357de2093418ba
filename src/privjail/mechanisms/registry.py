"""All mechanisms, imported: so that the registry is complete."""

from __future__ import annotations

import importlib
import pkgutil

import privjail.mechanisms


def load_all() -> None:
    """Import every module of this folder."""
    for module in pkgutil.iter_modules(privjail.mechanisms.__path__, "privjail.mechanisms."):
        importlib.import_module(module.name)
