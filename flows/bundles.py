"""Evidence bundles, checked as a person asks for it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from catalogs.mistakes import Mistake, UserMistake
from tasks.report.evidence.manifest import Newer
from tasks.report.evidence.verify import Flaw, Verified, verify

DIGEST = re.compile(r"[0-9a-f]{64}")


def checked(path: Path, digest: str | None = None) -> Verified:
    """What became of looking at every byte; another digest than `digest` is a flaw. Raises UserMistake where there
    is nothing to look at, and for a digest that is none."""
    wanted = digest.strip().lower() if digest is not None else None
    if wanted is not None and not DIGEST.fullmatch(wanted):
        remedy = "a digest is 64 digits, 0 to 9 and a to f, as `biasgrid evidence verify` prints it"
        raise UserMistake(Mistake(f"`{digest}` is no digest", "--digest", remedy))
    try:
        found = verify(path)
    except Newer as error:
        what, remedy = f"`{path}` cannot be checked: {error}", "check it with a newer biasgrid"
        raise UserMistake(Mistake(what, "FILE", remedy)) from error
    except OSError as error:
        what = f"`{error.filename or path}` cannot be read: {error.strerror or error}"
        remedy = "name a bundle, `….evidence.zip`, or the folder that it was unpacked to"
        raise UserMistake(Mistake(what, "FILE", remedy)) from error
    if wanted is None or found.digest == wanted:
        return found
    another = Flaw("another bundle than the one meant", f"its digest is not {wanted}")
    return replace(found, flaws=(*found.flaws, another))
