"""Loads for minutes or hours, and whether everything is as before afterwards (docs/testing.md).

loads.py: what can be let run. plan.py: rounds of loads and changes of policies, drawn from a seed. script.py: a plan as
the guest's program, and what it said. accounts.py: what is in use at rest. drive.py: boots, watches, judges.
records.py: what is kept of a run, and sums. main.py: the command.
"""

from __future__ import annotations

from lab.soak.accounts import violations

__all__ = ["violations"]
