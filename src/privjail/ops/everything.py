"""All operations, imported: so that the registry is complete."""

from __future__ import annotations

import importlib
import pkgutil

import privjail.ops


def load() -> None:
    """Import every module of this folder."""
    for module in pkgutil.iter_modules(privjail.ops.__path__):
        importlib.import_module(f"privjail.ops.{module.name}")
