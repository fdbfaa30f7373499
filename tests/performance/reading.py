"""What a reader of the pages of 100 models × 10 concerns × 100,000 replies waits for, in a headless Chromium.

    python tests/performance/reading.py [--replies 100000] [--keep DIR]

First view: from the start of the navigation to the frame with answer, models and worst examples. Filter: from an
input to the frame with the lines that fit. Of several times the least, of several inputs the slowest.
"""

import tempfile
from pathlib import Path

from reporting import FORMS, Shape, land
from rig import options
from rig.timing import load

from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake
from support.browser import Browser, browsing

LARGE = Shape(models=100, concerns=10, languages=("en_us",), forms=FORMS[:2])
MOST_MB, MOST_FIRST_S, MOST_FILTER_MS = 1, 1, 50
TIMES = 7
TYPED = ("model-1", "model-12", "", "9", "")
PAINTED_MS = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
"""Nothing is painted before the first view is whole."""
HOLDS = "['.answer', '.board', '.example'].every((part) => document.querySelector(part))"
FILTER = """
    new Promise((done) => {
        const find = document.querySelector('.board').closest('section').querySelector('input[type=search]');
        const started = performance.now();
        find.value = '%s';
        find.dispatchEvent(new Event('input'));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
    })
"""
HEAD_MOVES = """
    (() => {
        const frame = document.querySelector('.tall');
        const top = () => Math.round(frame.querySelector('thead th').getBoundingClientRect().top);
        const before = top();
        frame.scrollTop = frame.scrollHeight;
        return top() - before;
    })()
"""


def write(out: Path, replies: int) -> Path:
    lake = Lake.open(out / "lake")
    land(lake, LARGE, replies)
    build(lake)
    return write_run_pages(lake, "R1", out / "report")[0]


def first_view(tab: Browser, index: Path) -> tuple[float, float]:
    """Seconds until it is painted, and the megabytes of the page and the data that it is made of."""
    tab.open(index)
    assert tab.ask(HOLDS)
    sizes = [path.stat().st_size for path in (index, index.parent / "data" / "run.js")]
    return tab.ask(PAINTED_MS) / 1e3, sum(sizes) / 1e6


def measure(index: Path) -> None:
    with tempfile.TemporaryDirectory() as profile, browsing(Path(profile)) as tab:
        tab.size(1400, 900)
        views = [first_view(tab, index) for _ in range(TIMES)]
        rounds = [[tab.ask(FILTER % typed) for typed in TYPED] for _ in range(TIMES)]
        slowest = max(map(min, zip(*rounds, strict=True)))
        moves = tab.ask(HEAD_MOVES)
    print(f"{'first view':>12} {min(one for one, _ in views):7.2f} s (at most {MOST_FIRST_S})")
    print(f"{'':>12} {views[0][1]:7.2f} MB (at most {MOST_MB})")
    print(f"{'filter':>12} {slowest:7.0f} ms (at most {MOST_FILTER_MS})")
    print(f"{'head':>12} {'stays' if not moves else f'moves by {moves}':>7}")
    print(f"{load():.1f} processes wanted a core")


def main() -> None:
    kept = {"type": Path, "help": "where lake and report stay; a report that is there is read again"}
    asked = options(__doc__, replies=100_000, keep=kept)
    with tempfile.TemporaryDirectory() as folder:
        out = asked.keep or Path(folder)
        index = out / "report" / "index.html"
        measure(index if index.is_file() else write(out, asked.replies))


if __name__ == "__main__":
    main()
