"""Seconds that `catalog check` and `catalog stats` take over the shipped catalogs, compared with loading them.

python tests/performance/checking.py
"""

from rig.timing import time_of

from biasgrid.catalogs.lint.check import lint
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.flows.catalog.coverage import coverage


def main() -> None:
    floor, catalog = time_of(load_catalog)
    checking, found = time_of(lint)
    counting, _ = time_of(lambda: coverage(catalog, tolerance=0.9))
    print(f"loading {len(catalog.templates):,} templates: {floor:.2f} s")
    print(
        f"checking every instance of them, loading included: {checking:.2f} s, {checking / floor:.1f} of loading"
    )
    print(f"counting and answering them constantly: {counting:.2f} s, {counting / floor:.1f} of loading")
    print(f"{found.errors} errors, {found.warnings} warnings")


if __name__ == "__main__":
    main()
