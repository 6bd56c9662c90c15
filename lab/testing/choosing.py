"""Policies that a shell of the guest chooses: a change that finds the last one of the same kind under way is refused, and made again."""

TRIES = 500
PAUSE_SECONDS = 0.01


def choose(*choices: str) -> str:
    """Commands that choose them, one after the other, as /proc/sched takes them; they fail when one is refused till the end."""
    return " && ".join(f"(n=0; until {{ echo {choice} > /proc/sched; }} 2> /dev/null; do "
                       f"n=$((n+1)); [ $n -lt {TRIES} ] || exit 1; sleep {PAUSE_SECONDS}; done)" for choice in choices)
