"""What the documentation site has besides the pages of docs/: README and its neighbours, the API, and made pages.

mkdocs loads this file as a hook, and griffe loads FenceExamples from it; see mkdocs.yml.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "src")]

import supported  # noqa: E402  (mkdocs forgets the path once this file is loaded)

#: Pages of the root folder, and what they are called on the site.
ROOT_PAGES = {"README.md": "index.md"} | {n: n for n in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}

#: Other files of the repository that pages link to.
SOURCES = {"../src/privjail/server/wire/privjail.proto": "privjail.proto"}

API = {
    "api/privjail.md": "# privjail\n\nThe names after `import privjail as pj`.\n\n"
    "::: privjail.session\n    options:\n      members: [connect, disconnect, budget, consumed_privacy_budget]\n\n"
    "::: privjail.sensitive\n    options:\n      members: [laplace_mechanism, gaussian_mechanism, reveal_all, "
    "max, min]\n\n"
    "::: privjail.choices\n    options:\n      members: [exponential_mechanism, noisy_max, noisy_min, top_k, "
    "above_threshold]\n\n"
    "::: privjail.budget.notions\n    options:\n      members: [PureDP, ApproxDP, ZCDP, RenyiDP]\n\n"
    "::: privjail.verify.certificate\n    options:\n      members: [certify]\n",
    "api/pandas.md": "# privjail.pandas\n\nWhich names of pandas work: [supported pandas names](../supported.md).\n\n"
    + "\n\n".join(
        f"::: privjail.pandas.{name}"
        for name in (
            "io.read_csv", "io.read_parquet", "io.from_frame", "functions", "frame.PrivDataFrame", "series.PrivSeries",
            "groups.PrivDataFrameGroupBy", "groups.PrivSeriesGroupBy", "accessors", "rolling.Rolling",
        )
    ),
    "api/sensitive.md": "# Private numbers and vectors\n\nWhat counts and sums are before they are released.\n\n"
    "::: privjail.sensitive.SensitiveInt\n\n::: privjail.sensitive.SensitiveFloat\n\n"
    "::: privjail.pandas.vectors.SensitiveSeries\n\n::: privjail.pandas.vectors.SensitiveDataFrame\n",
    "api/errors.md": "# Errors\n\n::: privjail.errors\n",
}  # fmt: skip


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that do not lie in docs/."""
    made = {"supported.md": supported.page(), "decisions/index.md": decisions(), **API}
    made |= {site: (ROOT / name).read_text(encoding="utf-8") for name, site in ROOT_PAGES.items()}
    made |= {site: (ROOT / "docs" / link).read_text(encoding="utf-8") for link, site in SOURCES.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as they are on the site: docs/ is its root, and pages of the root folder lie there too."""
    markdown = re.sub(r"\]\(docs/", "](", markdown) if page.file.src_uri in ROOT_PAGES.values() else markdown
    for link, site in {**{f"../{name}": site for name, site in ROOT_PAGES.items()}, **SOURCES}.items():
        markdown = markdown.replace(f"]({link})", f"]({site})")
    return markdown.replace("](decisions/)", "](decisions/index.md)")


def decisions() -> str:
    """A list of the decisions, with their titles."""
    found = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    titles = [(path.name, path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for path in found]
    return "# Decisions\n\nWhat was decided, and why.\n\n" + "\n".join(f"- [{title}]({name})" for name, title in titles)


def fenced(text: str) -> str:
    """Examples in a docstring as blocks of code: Markdown would read >>> as a quotation."""
    return re.sub(r"(^>>> .*(?:\n.+)*)", r"```pycon\n\1\n```", text, flags=re.M)


class FenceExamples(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
