"""Tables 4.1 to 4.4 of the report on core groups in BOSS MOOL, as context: 32 cores of another machine, so only shapes compare."""

from __future__ import annotations

THREADS = (500, 1000, 5000, 10000)


def _times(*values: float) -> dict[int, float]:
    return dict(zip(THREADS, values, strict=True))


# Milliseconds by tool, layout and threads, half of the cores for real-time threads, of which the tools had none. Of lmbench's 10,000
# grouped threads table 4.1 says 6980.03 and table 4.4 8780.03; here are those of table 4.4.
PUBLISHED = {
    "sysbench": {
        "grouped": _times(466.12, 986.96, 4038.36, 7384.30),
        "alternate": _times(486.91, 1038.48, 6365.26, 11763.53),
        "double-alternate": _times(720.04, 1484.87, 5801.68, 10579.67),
    },
    "lmbench": {
        "grouped": _times(426.82, 941.82, 5338.36, 8780.03),
        "alternate": _times(448.43, 974.99, 5762.42, 10544.81),
        "double-alternate": _times(430.29, 928.61, 5573.17, 10107.07),
    },
}
