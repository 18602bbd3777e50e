"""The shortest time along a path."""
