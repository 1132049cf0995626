"""A batch's own activities: its lines, its jobs as the server sees them, and beginning jobs while there is room."""
