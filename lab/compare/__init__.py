"""What has changed between two sets of results (docs/sweeps.md)."""
