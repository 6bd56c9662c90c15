"""Figures that others published, as context: other machines, so only shapes compare.

Mandelbrot on InfOS and on Linux, seconds, average of three runs, by (cores,
threads): drawing on InfOS (table 4.1), array on InfOS (4.2) and on Linux (4.3);
gains of each further core in per cent (4.5).
"""

from __future__ import annotations

MANDELBROT: dict[tuple[int, int], tuple[float, float, float]] = {
    (1, 1): (9.143, 9.210, 8.937),
    (1, 2): (9.150, 9.200, 8.864),
    (1, 4): (9.400, 9.378, 8.708),
    (1, 8): (9.387, 9.367, 8.857),
    (1, 16): (9.243, 9.135, 8.866),
    (1, 32): (9.430, 9.273, 8.873),
    (2, 2): (4.753, 4.539, 4.584),
    (2, 4): (4.930, 4.736, 4.572),
    (2, 8): (4.950, 4.763, 4.542),
    (2, 16): (4.887, 4.587, 4.449),
    (2, 32): (4.873, 4.644, 4.466),
    (3, 2): (4.900, 4.678, 4.578),
    (3, 4): (3.453, 3.228, 3.079),
    (3, 8): (3.447, 3.260, 3.158),
    (3, 16): (3.377, 3.184, 3.162),
    (3, 32): (3.390, 3.266, 3.185),
    (4, 2): (4.910, 4.676, 4.563),
    (4, 4): (2.647, 2.429, 2.432),
    (4, 8): (2.670, 2.457, 2.382),
    (4, 16): (2.677, 2.473, 2.359),
    (4, 32): (2.687, 2.451, 2.426),
}

# Going from n-1 to n cores: InfOS, Linux.
GAINS: dict[int, tuple[float, float]] = {2: (50.72, 48.71), 3: (28.88, 32.83), 4: (24.75, 21.01)}
