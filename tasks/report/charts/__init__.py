"""marts → pictures. Altair and its renderer take seconds to load: import what draws where something is drawn."""
