"""One page of everything that was measured, to be opened from disk (docs/reports.md)."""
