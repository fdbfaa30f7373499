"""`import assignments`: what anybody's agents assigned in scenes as a run of interaction, scored as our own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

import orjson
import polars as pl

from biasgrid.catalogs.choices import Setting
from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.importers import interactions
from biasgrid.catalogs.importers.result import slug
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.loading.text_files import read_table_text
from biasgrid.catalogs.scenario.interaction import SceneOf, every_scene
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.scenes import Domain
from biasgrid.catalogs.schema.target_file import Interacting, InteractionFile
from biasgrid.flows.catalog import assignment_rows
from biasgrid.flows.catalog.assignment_rows import DISCUSSION, Recorded
from biasgrid.flows.catalog.log_import import UNNAMED, conclude
from biasgrid.flows.interaction.kind import INTERACTION
from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.evaluate.assignment_verdicts import assignment_verdicts
from biasgrid.tasks.evaluate.cell import Evaluation, land_readings
from biasgrid.tasks.interaction.plan import ALONE, play_facets
from biasgrid.tasks.interaction.play import LONE_SPEAKER, Person, Play, Task, Turn
from biasgrid.tasks.interaction.task import land_plays
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock
from biasgrid.warehouse.storage.runs import Run, begin_run, record_planned

Key = tuple[str, str, str]
"""Model, language and setting: of plays that have the same stages."""
Session = tuple[Key, str, int]
"""Of one play: also its scene and number."""
Place = tuple[int, str]
"""Turn and speaker of a reply in its play."""
ASSIGNER: Final = "imported"


@dataclass(frozen=True)
class Imported:
    """A run of imported assignments, and what was refused."""

    outcome: InteractionOutcome
    replies: int
    lost: int
    """Replies that were refused."""
    refused: list[Problem]
    """Why, once for all lines with the same reason."""


def import_assignments(
    lake: Lake, files: Sequence[Path], *, scenes: Path | None = None, genders: Path | None = None, language: str
) -> Imported:
    """Stores the assignments as a completed run and adds it to the warehouse. Raises UserError before anything is
    stored."""
    catalog = load_catalog()
    reader = _Reader(catalog, _known_scenes(catalog, scenes, genders, language), language)
    for path in files:
        for one in assignment_rows.read(read_table_text(path), str(path), reader.refused):
            reader.add(one)
    refused = _merge(reader.refused)
    if not reader.sessions:
        raise UserError(refused or Problem("holds no assignment", str(files[0]), "name another file"))
    run = _begin(lake, reader, files)
    with RunLock(lake, run.run_id):
        _land(lake, run, reader)
    found = conclude(lake, run, INTERACTION)
    return Imported(found, sum(map(len, reader.sessions.values())), len(reader.refused), refused)


def _merge(refused: Sequence[Problem]) -> list[Problem]:
    """One problem for all lines with the same."""
    first = {(one.what, one.remedy): one for one in reversed(refused)}
    counts = Counter((one.what, one.remedy) for one in refused)
    return [
        replace(one, where=f"{one.where}" + f" and {counts[key] - 1:,} more" * (counts[key] > 1))
        for key, one in reversed(first.items())
    ]


def _known_scenes(
    catalog: Catalog, table: Path | None, genders: Path | None, language: str
) -> dict[str, SceneOf | Problem]:
    """Scenes by id, those of a table by their number too; a row that is no scene has its problem."""
    found: dict[str, SceneOf | Problem] = {scene.id: (domain, scene) for domain, scene in every_scene(catalog)}
    if table is None:
        return found
    stated = interactions.read_genders(read_table_text(genders), str(genders)) if genders else {}
    read = interactions.read(read_table_text(table), str(table), language, stated)
    stem = slug(table.stem)
    for problem in read.refused:
        number = problem.what.removeprefix("row ").partition(":")[0]
        found[number] = found[f"{stem}-{slug(number)}"] = problem
    if read.scenes:
        domain = Domain(id=stem, scenes=read.scenes)
        for scene in read.scenes:
            found[scene.id] = found[scene.id.removeprefix(f"{stem}-")] = domain, scene
    return found


@dataclass
class _Reader:
    """Sorts recorded replies into plays, and collects what is wrong with them."""

    catalog: Catalog
    scenes: Mapping[str, SceneOf | Problem]
    language: str
    refused: list[Problem] = field(default_factory=list)
    sessions: dict[Session, dict[Place, str]] = field(default_factory=dict)
    people: dict[Session, tuple[Person, ...]] = field(default_factory=dict)
    stages: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    seen: Counter[Any] = field(default_factory=Counter)
    """How often each speaker has replied in a stage: without a number, each time is a run."""

    def add(self, one: Recorded) -> None:
        try:
            self._add(one)
        except UserError as wrong:
            self.refused += [Problem(problem.what, one.where, problem.remedy) for problem in wrong.mistakes]

    def _add(self, one: Recorded) -> None:
        _, scene = self._scene(one.scene)
        language = one.language or self.language
        if language not in self.catalog.interaction:
            remedy = nearest(language, self.catalog.interaction)
            raise UserError(Problem(f"interactions have no language `{language}`", remedy=remedy))
        model = one.model if "/" in one.model else f"{UNNAMED}/{one.model or 'agents'}"
        key = (model, language, "no_interaction" if one.is_alone else one.setting or "no_goal")
        stated = assignment_rows.people_of(scene, one.people, self.catalog.people[scene.axis], language)
        people = tuple(_person(named.name, named.group, model) for named in stated)
        speaker = LONE_SPEAKER if one.is_alone else _find_speaker(one.speaker, people)
        stage = ALONE if one.is_alone else one.stage.lower() or "only"
        own = (key, scene.id, stage, speaker)
        self.seen[own] += 1
        session = (key, scene.id, int(one.run) if one.run else self.seen[own])
        if stage not in self.stages[key]:
            self.stages[key].append(stage)
        place = (self.stages[key].index(stage) + 1, speaker)
        if self.people.setdefault(session, people) != people:
            raise UserError(Problem(f"other people take part in run {session[2]} of scene `{scene.id}`"))
        if place in self.sessions.setdefault(session, {}):
            what = f"{speaker} has a reply in stage `{stage}` of run {session[2]} already"
            raise UserError(Problem(what, remedy="number the runs in a column `run`"))
        self.sessions[session][place] = one.text

    def _scene(self, name: str) -> SceneOf:
        found = self.scenes.get(name)
        if found is None:
            remedy = nearest(name, self.scenes) or "import the scenes first, or name their table with `--scenes`"
            raise UserError(Problem(f"scene `{name}` is unknown", remedy=remedy))
        if isinstance(found, Problem):
            raise UserError(Problem(f"scene `{name}` cannot be read: {found.what}", remedy=found.remedy))
        return found

    def plays(self, run_id: str) -> Iterator[Play]:
        """The plays, those of a cell one after the other."""
        found = [self._play(run_id, session) for session in self.sessions]
        return iter(sorted(found, key=lambda play: play.cell_id))

    def _play(self, run_id: str, session: Session) -> Play:
        (model, language, setting), name, number = key, *_ = session
        domain, scene = self._scene(name)
        groups, people = self.catalog.people[scene.axis], self.people[session]
        tasks = tuple(Task(task.text[language], task.to) for task in scene.tasks)
        turns = tuple(
            Turn(stage, "discussion" if DISCUSSION.search(stage) else "assignment", "nobody")
            for stage in self.stages[key]
        )
        facets = play_facets((domain, scene), groups.groups, people, tasks, turns)
        template_id = content_hash("scene", language, scene.model_dump(mode="json"))
        return Play(
            id=content_hash("imported play", session, facets),
            run_id=run_id,
            cell_id=content_hash("imported interaction", key, domain.id),
            template_id=template_id,
            player=model,
            domain=domain.id,
            concern=groups.concern,
            scene=scene,
            wording=self.catalog.interaction[language],
            setting=cast(Setting, setting),
            mitigation="none",
            number=number,
            people=people,
            tasks=tasks,
            turns=turns,
            protocol=ALONE if setting == "no_interaction" else ASSIGNER,
            facets=facets,
        )


def _person(name: str, group: str, model: str) -> Person:
    provider, _, own = model.partition("/")
    target = Target(model=model, provider=provider, name=own, connector=ASSIGNER)
    return Person(name, group, name, name, Participant(target, ASSIGNER))


def _find_speaker(speaker: str, people: Iterable[Person]) -> str:
    names = [person.name for person in people]
    for name in names:
        if speaker.casefold() in (name.casefold(), name.casefold().partition(" ")[0]):
            return name
    raise UserError(Problem(f"`{speaker}` is no person of the scene", remedy=f"its people are {', '.join(names)}"))


def _begin(lake: Lake, reader: _Reader, files: Sequence[Path]) -> Run:
    keys = zip(*{key for key, *_ in reader.sessions}, strict=True)
    models, languages, settings = (tuple(sorted({*values})) for values in keys)
    own = Interacting.model_validate({"models": models, "languages": languages, "settings": settings})
    document = InteractionFile(interaction=own, name=files[0].stem).model_dump(mode="json")
    document["imported"] = {"from": "assignments", "files": [path.name for path in files]}
    return begin_run(lake, "{}", orjson.dumps(document).decode(), {}, 0, INTERACTION.name)


def _land(lake: Lake, run: Run, reader: _Reader) -> None:
    """Stores plays, replies and verdicts."""
    plays = list(reader.plays(run.run_id))
    planned = land_plays(lake, plays)
    replies = pl.DataFrame(
        [
            _response(play, place, text, run)
            for play, session in (
                (play, ((play.player, play.wording.id, play.setting), play.scene.id, play.number))
                for play in plays
            )
            for place, text in reader.sessions[session].items()
        ]
    )
    for (cell_id,), own in replies.group_by("cell_id", maintain_order=True):
        lake.write("responses", run.run_id, f"{cell_id}-imported", own)
    cell_ids, evaluation = planned["cell_id"].to_list(), Evaluation(run.run_id, reader.catalog)
    land_readings(lake, run.run_id, cell_ids, evaluation, assignment_verdicts)
    record_planned(lake, run.run_id, planned)


def _response(play: Play, place: Place, text: str, run: Run) -> dict[str, Any]:
    turn, speaker = place
    key = content_hash(play.id, turn, speaker)
    return {
        "run_id": run.run_id,
        "cell_id": play.cell_id,
        "case_id": play.id,
        "request_key": key,
        "response_id": content_hash(run.run_id, key),
        "provider": play.player.partition("/")[0],
        "model": play.player,
        "messages": [{"role": "user", "content": play.scene.goal[play.wording.id]}],
        "parameters": "{}",
        "sample": play.number,
        "purpose": "subject",
        "session": play.id,
        "turn": turn,
        "speaker": speaker,
        "text": text,
        "attempts": 1,
        "received_at": run.started_at,
    }
