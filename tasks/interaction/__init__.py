"""Agents assign the tasks of a scene to its people, alone or in rounds of discussion."""
