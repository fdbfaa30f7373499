"""What a night of very many cells costs Prefect's server.

    python tests/performance/task_runs.py [--cells 20000] [--workers 2]

Eight models, each held to the same requirements in two forms of answer and two reflections, one prompt in each
cell; an endpoint takes a tenth of a second. Counted are task runs of the night and its shards, the processor time
of Prefect's server and of its PostgreSQL over the whole night, and what its database grew by.
"""

import json
import subprocess
from dataclasses import dataclass

from rig import options
from rig.processes import cpu_s
from rig.table import at_most, table
from sharding import LAYOUTS, Site, night, site

from support.machines import Postgres, as_postgres

LATENCY_S = 0.1
PER_REQUIREMENT = 4
"""Cells of a requirement and a model."""
MEGABYTE = 1_000_000
MOST_TASK_RUNS = 5_000
MOST_BUSY = 0.5
"""Share of a core for server and database together, over the night."""


@dataclass(frozen=True)
class Spent:
    """By Prefect's server and its database so far."""

    server_s: float
    database_s: float
    database_mb: float

    @classmethod
    def by(cls, made: Site) -> "Spent":
        database = made.postgres
        assert database is not None, "PostgreSQL is not on this machine (install Debian's postgresql)"
        postmaster = int((database.folder / "data" / "postmaster.pid").read_text().split()[0])
        return cls(cpu_s(made.server.process.pid), cpu_s(postmaster), database_size(database) / MEGABYTE)


def database_size(database: Postgres) -> int:
    address = ["-h", "127.0.0.1", "-p", str(database.port), "-U", "prefect", "prefect"]
    asked = [str(database.programs / "psql"), *address, "-Atc", "select pg_database_size('prefect')"]
    return int(subprocess.check_output([*as_postgres(), *asked], text=True, cwd="/tmp"))


def ask_many_cells(made: Site, cells: int) -> int:
    """Gives the scenario so many cells; their number."""
    given = json.loads(made.written.scenario.read_text())
    count = cells // (PER_REQUIREMENT * len(made.layout.models))
    first = given["requirements"][0]
    given["scenario"]["templates"] = 1
    given["requirements"] = [
        first | {"name": f"fair-{number}", "communities": {"en_us": [f"people of group {number}"]}}
        for number in range(count)
    ]
    made.written.scenario.write_text(json.dumps(given))
    return count * PER_REQUIREMENT * len(made.layout.models)


def count_task_runs(made: Site) -> int:
    return int(made.ask("/task_runs/count", {}))


def main() -> None:
    asked = options(__doc__, cells=20_000, workers=2)
    with site(LAYOUTS["eight"], 8 * 28 * 8, LATENCY_S) as made:
        cells = ask_many_cells(made, asked.cells)
        before = Spent.by(made)
        whole_s = night(made, asked.workers, cells).whole_s
        after, task_runs = Spent.by(made), count_task_runs(made)
    server_s, database_s = after.server_s - before.server_s, after.database_s - before.database_s
    columns = ("cells", "workers", "night s", "task runs", "server CPU s", "database CPU s", "database grew MB")
    row = [cells, asked.workers, whole_s, task_runs, server_s, database_s, after.database_mb - before.database_mb]
    print(table("a night of many cells, Prefect's server on PostgreSQL", columns, [row]))
    print(at_most("task runs", task_runs, MOST_TASK_RUNS))
    print(at_most("cores that server and database used", (server_s + database_s) / whole_s, MOST_BUSY))


if __name__ == "__main__":
    main()
