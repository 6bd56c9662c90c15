"""Grids of measurements (docs/sweeps.md): which points there are, who measures them, and where the results are kept."""
