"""What the measurements share."""

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))  # for `support`


def options(about: str | None, **wanted: Any) -> argparse.Namespace:
    """A script's options, each with its default or the arguments of its declaration; `about` is its docstring."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, given in wanted.items():
        arguments = given if isinstance(given, dict) else {"type": type(given), "default": given}
        parser.add_argument(f"--{name.replace('_', '-')}", **arguments)
    return parser.parse_args()
