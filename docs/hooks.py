"""Hooks of MkDocs: README and the library's pages belong to the site; links to other files are shown as paths."""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ("catalogs/README.md", "catalogs/DATASHEET.md")
OUTSIDE = {"index.md": "README.md", **{page: page for page in LIBRARY}}
"""Pages of the site that lie outside docs/."""
LINK = re.compile(r"(?<![!\\])\[((?:\[[^\]]*\]|[^\[\]])*)\]\(([^)\s]+)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(docs/([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    for page, source in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The page with its links as the site has them; blocks of code stay."""
    own = page.file.src_uri
    source = OUTSIDE.get(own, f"docs/{own}")

    def lead(link: re.Match[str]) -> str:
        target, _, anchor = link[2].partition("#")
        if "://" in link[2] or not target:
            return link[0]
        at = normpath(PurePosixPath(source).parent / target)
        uri = next((one for one, outside in OUTSIDE.items() if outside == at), at.removeprefix("docs/"))
        if files.get_file_from_path(uri) is None and (ROOT / at).exists():
            return link[1] if at in link[1] else f"{link[1]} (`{at}`)"
        return f"[{link[1]}]({relpath(uri, PurePosixPath(own).parent)}{'#' if anchor else ''}{anchor})"

    parts = FENCE.split(markdown)
    parts[::2] = [PICTURE.sub(r"![\1](\2)", LINK.sub(lead, part)) for part in parts[::2]]
    return "".join(parts)
