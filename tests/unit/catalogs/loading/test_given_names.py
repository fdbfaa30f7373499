"""Names that indicate a gender."""

from biasgrid.catalogs.importers.interactions import gender_of, genders
from biasgrid.catalogs.schema.scenes import GroupOfPeople, People

NAMES = tuple(f"Noname{number}" for number in range(6))


def test_a_name_of_both_genders_indicates_nothing():
    known = genders(None)
    assert gender_of("María López", known) == "women"
    assert gender_of("JOHN", known) == "men"
    assert {gender_of(name, known) for name in ("Alex", "Sam", "Chris", "Dr. John", "")} == {None}


def test_names_of_the_catalogs_people_are_known_unless_they_contradict():
    groups = {
        group: {"en_us": GroupOfPeople(plural=group, names={"own": (f"Zed{group}", "Linda", *NAMES)})}
        for group in ("men", "women")
    }
    known = genders(People(id="gender", concern="sexism", source="made up", groups=groups))
    assert (gender_of("Zedmen", known), gender_of("Zedwomen", known)) == ("men", "women")
    assert gender_of("Linda", known) is None
