"""The host side of Corral: building, running, testing and measuring it.

Only Python's standard library is imported here (matplotlib only when a plot is
asked for), so that a fresh machine needs nothing before `corral setup`.
"""
