"""The owners' page: one HTML file that encrypts in the browser and sends to one gateway, and nowhere else.

Claim: the page holds the study's terms and key, and its content security policy lets it connect to the gateway only.
What it sends is the record that records.py would make. Whoever hands out the page can hand out another one: it should
come from somebody other than the compute server's operator, or be compared by its hash.
"""

from __future__ import annotations

import html
import json
from importlib import resources
from urllib.parse import urlsplit

from privjail.encrypted.consent import consent
from privjail.encrypted.study import Study
from privjail.errors import PlanError


def page(study: Study, gateway: str, title: str = "") -> str:
    """The whole page as text. ``gateway``: where the compute server's gateway is, as owners see it."""
    parts = urlsplit(gateway)
    local = parts.hostname in ("127.0.0.1", "localhost")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise PlanError("a gateway has an https address", do="write https://host/")
    if any(c in gateway for c in " ;'\"<>"):
        raise PlanError("a gateway's address has no spaces or quotes", do="write https://host/")
    terms = study.terms
    labels = [{"name": each.name, "labels": each.labels} for each in terms.attributes]
    data = {
        "id": study.id.hex(),
        "key": study.key.hex(),
        "receiver": study.records_key.hex(),
        "bins": terms.bins,
        "absent": terms.neighbours == "add-remove",
        "attributes": labels or [{"name": "Your answer", "labels": [str(i) for i in range(terms.bins)]}],
        "consent": consent(study),
        "gateway": gateway.rstrip("/") + "/",
    }
    files = resources.files("privjail.encrypted.browser")
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    filled = files.joinpath("page.html").read_text(encoding="utf-8")
    origin = f"{parts.scheme}://{parts.netloc}"
    for name, part in (
        ("__GATEWAY__", origin),
        ("__TITLE__", html.escape(title or "A study that nobody can read")),
        ("__SCRIPT__", files.joinpath("encrypt.js").read_text(encoding="utf-8")),
        ("__STUDY__", text),
    ):
        filled = filled.replace(name, part)
    return filled
