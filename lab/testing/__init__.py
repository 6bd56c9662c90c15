"""`corral test`: one suite per module, one tally for all."""
