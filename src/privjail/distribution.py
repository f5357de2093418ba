"""Which package this is. PyPI has another one named `privjail`, which writes its files into the same folder."""

from __future__ import annotations

import os

__version__ = "0.1.0.dev0"
DISTRIBUTION = "privjail-dp"  # what pip calls it; the import name is privjail
OTHER = "privjail-"  # how the other one's description begins: privjail-0.1.2.dist-info. Ours: privjail_dp-….dist-info


def check_alone(folder: str = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) -> None:
    """Refuse to run if the other package was installed into the same folder: some of the files here are not ours.

    One listing of the folder that this package lies in. An editable install lies in a folder of its own, where nothing
    can be mixed; importlib.metadata is slow to load, and would look everywhere.
    """
    try:
        names = os.listdir(folder)
    except OSError:  # packed into an archive
        return
    for name in names:
        if name.lower().startswith(OTHER) and name.endswith((".dist-info", ".egg-info")):
            raise ImportError(
                f"another package named 'privjail' is installed in {folder!r} ({name}): it and {DISTRIBUTION} "
                f"overwrite each other's files.\n  do:   pip uninstall privjail {DISTRIBUTION}, then install "
                f"{DISTRIBUTION} again"
            )
