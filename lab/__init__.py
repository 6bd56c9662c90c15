"""The host side of Corral: building, running, testing and measuring it.

Only Python's standard library is imported here (matplotlib and pyte only when a plot or
a terminal is asked for), so that a fresh machine needs nothing before `corral setup`.
"""
