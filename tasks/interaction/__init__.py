"""Agents share out the tasks of a scene: by themselves, or talking it over in rounds."""
