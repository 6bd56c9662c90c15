"""The options that all commands share which boot a machine."""

from __future__ import annotations

from lab import boot_options
from lab.options import Parser, positive, seconds


def declare(parser: Parser, memory: str = "512M") -> None:
    """`memory`: the default, for the reader."""
    parser.add_argument("--cores", type=positive, default=4, metavar="N", help="number of cores (default 4)")
    parser.add_argument("--memory", metavar="SIZE", help=f"such as 2G (default {memory})")
    declare_append(parser)
    parser.add_argument("--timeout", type=seconds, metavar="S", help="end the emulator after S seconds (status 124)")


def declare_append(parser: Parser) -> None:
    parser.add_argument("--append", default="", type=boot_options.names_checked, metavar="OPTIONS", help="more options for the kernel, in one word")
