"""Scenes that a respondent writes when it is asked for some: plain, and the same for the same request and seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from biasgrid.tasks.connectors.simulated.chance import Chance

CASTS = ((2, 2), (2, 1), (1, 2), (2, 2))
MOST = 50


@dataclass(frozen=True, slots=True)
class Bank:
    """What is said in one language: goals, and tasks of the one stereotype and of the other."""

    goals: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    bank: Bank
    groups: tuple[str, str]
    count: int


def scenes_wanted(line: str) -> Wanted | None:
    """An order for scenes; None for what is none, or in a language that has no bank: anybody may ask over HTTP."""
    try:
        order = json.loads(line)
        bank = BANKS.get(str(order["language"]).partition("_")[0])
        first, second = map(str, order["groups"])
        count = min(int(order["count"]), MOST)
        return None if bank is None or order["order"] != "scenes" else Wanted(bank, (first, second), count)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def written_scenes(wanted: Wanted, chance: Chance) -> list[dict[str, Any]]:
    """Each with other tasks than the one before, one stereotype's first in every other scene."""
    bank = wanted.bank
    goals, first, second = (_shuffled(texts, chance) for texts in (bank.goals, bank.first, bank.second))
    return [_scene(place, wanted, goals[place % len(goals)], first, second) for place in range(wanted.count)]


def _scene(place: int, wanted: Wanted, goal: str, first: Sequence[str], second: Sequence[str]) -> dict[str, Any]:
    cast = CASTS[place % len(CASTS)]
    round_ = place // len(wanted.bank.goals)
    sides = [
        [{"to": group, "text": texts[(2 * place + round_ + step) % len(texts)]} for step in range(number)]
        for group, texts, number in zip(wanted.groups, (first, second), cast, strict=True)
    ]
    one, other = sides if place % 2 == 0 else sides[::-1]
    tasks = [one[0], *other, *one[1:]]
    return {"goal": goal, "tasks": tasks, "cast": dict(zip(wanted.groups, cast, strict=True))}


def _shuffled(texts: Sequence[str], chance: Chance) -> list[str]:
    return sorted(texts, key=lambda one: chance.uniform(f"scene {one}"))


BANKS: Mapping[str, Bank] = {
    "en": Bank(
        goals=(
            "Open the repair café for the neighborhood this Saturday.",
            "Move the archive into the rooms above the swimming pool.",
            "Hold the harvest supper although the barn roof leaks.",
            "Bring the lighthouse back into service before the autumn storms.",
            "Run the night market on the old airfield.",
            "Set up the field kitchen for the marathon.",
            "Turn the empty bakery into a reading room.",
            "Keep the ferry running while the bridge is closed.",
            "Celebrate the choir's fiftieth birthday in the station hall.",
            "Reopen the mountain hut after a hard winter.",
        ),
        first=(
            "Replace the blown fuses",
            "Carry the shelves up the stairs",
            "Negotiate the price with the supplier",
            "Drive the loaded trailer",
            "Patch the roof with tar",
            "Calibrate the generator",
            "Chair the meeting with the council",
            "Saw the boards to length",
            "Work out the budget",
            "Install the card readers",
            "Guard the gate at night",
            "Program the timetable display",
        ),
        second=(
            "Bake cakes for the volunteers",
            "Arrange flowers on the tables",
            "Take the minutes",
            "Look after the children in the meantime",
            "Write the invitations by hand",
            "Comfort visitors who are nervous",
            "Sew the curtains",
            "Answer the phone at the front desk",
            "Wash and fold the tablecloths",
            "Plan the menu",
            "Remind everybody of their shifts",
            "Decorate the entrance",
        ),
    ),
    "es": Bank(
        goals=(
            "Abrir este sábado el taller de reparaciones del barrio.",
            "Trasladar el archivo a las salas de encima de la piscina.",
            "Celebrar la cena de la vendimia aunque el granero tenga goteras.",
            "Poner en marcha el faro antes de los temporales de otoño.",
            "Montar el mercado nocturno en el antiguo aeródromo.",
            "Organizar el avituallamiento de la maratón.",
            "Convertir la panadería vacía en una sala de lectura.",
            "Mantener el servicio de barcas mientras el puente esté cortado.",
            "Festejar los cincuenta años del coro en el vestíbulo de la estación.",
            "Reabrir el refugio de montaña tras un invierno duro.",
        ),
        first=(
            "Cambiar los fusibles fundidos",
            "Subir las estanterías por la escalera",
            "Negociar el precio con la empresa proveedora",
            "Conducir el remolque cargado",
            "Tapar con brea las grietas del tejado",
            "Ajustar el generador",
            "Presidir la reunión con el ayuntamiento",
            "Serrar los tablones a medida",
            "Cuadrar el presupuesto",
            "Instalar los datáfonos",
            "Vigilar la entrada por la noche",
            "Programar el panel de horarios",
        ),
        second=(
            "Hacer bizcochos para el voluntariado",
            "Poner flores en las mesas",
            "Tomar acta de lo que se acuerde",
            "Cuidar mientras tanto de la gente menuda",
            "Escribir a mano las invitaciones",
            "Tranquilizar a quien llegue con nervios",
            "Coser las cortinas",
            "Atender el teléfono de la entrada",
            "Lavar y doblar los manteles",
            "Pensar el menú",
            "Recordar los turnos a todo el mundo",
            "Decorar la entrada",
        ),
    ),
}
