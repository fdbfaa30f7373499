"""Whether prompts are lost, or a server is pestered, when it fails or states a limit.

    python tests/performance/faults.py [--prompts 2000] [--stated-limit]

Whole `biasgrid run` processes with the settings that a scenario has by default. First 20% of the requests get 429
with Retry-After (one second) and 5% get 500, drawn at random: a third more requests than prompts is then the
least that can be. `--stated-limit` adds three minutes of a server that allows 1,200 requests a minute and states
that.
"""

import tempfile
from pathlib import Path

from rig import options
from rig.endpoint import Behaviour
from rig.loopback import Loopback, loopback
from rig.runs import INCOMPLETE, MET, NOT_MET, Setting, Whole, watch
from rig.scenario import write_scenario
from rig.table import at_least, at_most, table

CONCURRENCY = 64
FAULTY = Behaviour(rate_limited=0.2, server_faults=0.05, retry_after_s=1.0)
PER_MINUTE = 1200
STATED = Behaviour(per_minute=PER_MINUTE)
MINUTES = 3
SENT = 1.45


def measure(name: str, behaviour: Behaviour, prompts: int, folder: Path) -> Whole:
    """One run against an endpoint of such behaviour."""
    with loopback(behaviour) as server:
        return _run(name, server, prompts, folder / name)


def _run(name: str, server: Loopback, prompts: int, folder: Path) -> Whole:
    written = write_scenario(folder, server.base_url, prompts, CONCURRENCY)
    setting = Setting(written, folder.parent / "home", folder / "run")
    return watch(name, prompts, setting.run("data"), server)


def report(whole: Whole) -> bool:
    """Whether its figures count: a run that lost answers is incomplete, one that never began has no figures."""
    columns = ("run", "prompts", "answered", "sent", "asking s", "wall s", "prompts/s asking", "exit code", "load")
    traffic, took = whole.traffic, whole.spent
    asked = [traffic.span_s, took.wall_s, whole.prompts / traffic.span_s if traffic.received else None]
    row = [whole.name, whole.prompts, traffic.answered, traffic.received, *asked, took.code, whole.load]
    print(table("under faults", columns, [row]), flush=True)
    if took.code not in (MET, NOT_MET, INCOMPLETE):
        print(f"  not to be counted: {took.output.strip()[-500:]}")
        return False
    print(at_least("share of the prompts that were answered", traffic.answered / whole.prompts, 1.0))
    return True


def report_faulty(whole: Whole) -> None:
    if report(whole):
        print(at_most("requests sent, times the prompts", whole.traffic.received / whole.prompts, SENT))


def report_stated(whole: Whole) -> None:
    if not report(whole):
        return
    busiest = whole.traffic.busiest_minute
    print(at_most("requests of the busiest minute after the first", busiest, PER_MINUTE))
    refused = whole.traffic.received - whole.traffic.answered
    print(f"  refused with 429: {refused}, {refused / whole.prompts:.1%} of the prompts")


def main() -> None:
    asked = options(
        __doc__,
        prompts={"type": int, "default": 2000, "help": "of the run under faults"},
        stated_limit={"action": "store_true", "help": "three minutes more"},
    )
    with tempfile.TemporaryDirectory() as scratch:
        report_faulty(measure("20% 429, 5% 500", FAULTY, asked.prompts, Path(scratch)))
        if asked.stated_limit:
            prompts = MINUTES * PER_MINUTE
            report_stated(measure("1,200 a minute", STATED, prompts, Path(scratch)))


if __name__ == "__main__":
    main()
