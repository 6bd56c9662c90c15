"""`corral bench`: measurements beside Linux, one module per experiment."""
