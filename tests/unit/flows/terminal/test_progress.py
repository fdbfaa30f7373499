import pytest
from rich.progress import Progress

from biasgrid.flows.terminal.progress import RunProgress, _Rate, dollars

WHY = "10 requests in a row were rejected; go on with `biasgrid resume`"


@pytest.mark.parametrize(
    ("amount", "formatted"),
    [
        (0, "$0.00"),
        (0.00001, "<$0.0001"),
        (0.0042, "$0.0042"),
        (0.0999, "$0.1"),
        (1.005, "$1.00"),
        (1234.5, "$1,234.50"),
    ],
)
def test_money_is_formatted_as_precisely_as_it_matters(amount, formatted):
    assert dollars(amount) == formatted


def test_the_cost_of_a_model_and_why_it_stopped_are_shown_once(capsys):
    with RunProgress() as progress:
        progress.on_plan("RUN", {"openai/a": 3, "simulated/b": 1})
        progress.on_case("openai/a", "answered", 0.25)
        progress.on_case("openai/a", "kept", 0.5)
        progress.on_stop("openai/a", WHY)
        progress.on_stop("openai/a", WHY)
        progress.on_case("openai/a", "failed")
        progress.on_case("simulated/b", "answered", 0.0)
    printed = capsys.readouterr().err
    assert printed.count(f"openai/a is stopped: {WHY}") == 1
    assert "openai/a: 1 answered, 1 failed, 1 kept  $0.75" in printed
    assert "simulated/b: 1 answered\n" in printed


@pytest.mark.parametrize(("seconds", "rate"), [(0.1, "10/s"), (10.0, "6/min")])
def test_the_bar_shows_how_fast_replies_arrive(seconds, rate):
    clock = iter(range(100))
    progress = Progress(get_time=lambda: seconds * next(clock))
    task = progress.add_task("m", total=9)
    for _ in range(5):
        progress.update(task, advance=1)
    assert _Rate().render(progress.tasks[0]).plain == rate


def test_the_reason_for_a_wait_is_shown_once(capsys):
    with RunProgress() as progress:
        progress.on_wait("openai/a: 500 \x1b[31m; tried again")
        progress.on_wait("openai/a: 500 \x1b[31m; tried again")
    printed = capsys.readouterr().err
    assert printed.count("openai/a: 500") == 1
    assert "\x1b" not in printed


def test_a_listener_without_cost_is_shown_none(capsys):
    with RunProgress() as progress:
        progress.on_plan("RUN", {"vllm/a": 1})
        progress.on_case("vllm/a", "answered")
    assert "$" not in capsys.readouterr().err
