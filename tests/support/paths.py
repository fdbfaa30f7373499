"""Places in the repository that tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
TUNING_CATALOG = TESTS / "support" / "tuning_catalog"
EARLIER_LAKES = TESTS / "golden" / "lakes_of_earlier_versions" / "lakes"
