"""Finding launches, judging their grids, bounding them: everything that reads and never writes."""
