"""Plots, when python3-matplotlib is there. One picture per measurement, in each of `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.bench.results import Results
from lab.problem import Problem

COLOURS = {"corral": "#b5542a", "linux": "#2a6fb5"}
KINDS = (".png", ".svg")
MARKS = {1: "o", 2: "s", 3: "^", 4: "D", 8: "v"}


def _figure(width: float, height: float) -> tuple[Any, Any]:
    try:
        import matplotlib
    except ImportError:
        raise Problem("matplotlib is not installed", "./corral setup plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(1, 2, figsize=(width, height), layout="constrained")


def mandelbrot(results: Results, files: list[Path]) -> None:
    """Left: total time by threads, a line per core count. Right: speed-up by cores."""
    figure, (times, speeds) = _figure(11, 4.5)
    cores = sorted({at for at, _ in results.points()})
    for system, style in (("corral", "-"), ("linux", "--")):
        for at in cores:
            points = [(threads, value) for here, threads in results.points()
                      if here == at and (value := results.value(system, at, threads, "total_ms")) is not None]
            if points:
                times.plot(*zip(*points), style, color=COLOURS[system], marker=MARKS.get(at, "."),
                           label=f"{system}, {at} core{'s' if at > 1 else ''}", alpha=0.4 + 0.6 * at / max(cores))
    times.set_xscale("log", base=2)
    threads = sorted({count for _, count in results.points()})
    times.set_xticks(threads, [str(count) for count in threads])
    times.set_ylim(bottom=0)
    times.set_xlabel("threads")
    times.set_ylabel("total, ms")
    times.legend(fontsize="small", ncols=2)
    _speed_up(results, speeds, cores)
    instruments = ", ".join(sorted({row.instrument for row in results.rows}))
    figure.suptitle(f"Mandelbrot, the identical binary on both systems ({instruments})")
    _save(figure, files)


def _speed_up(results: Results, axes: Any, cores: list[int]) -> None:
    from lab.bench.mandelbrot import matched

    for system in ("corral", "linux"):
        alone = matched(results, system, 1)
        points = [(at, alone / value) for at in cores if alone and (value := matched(results, system, at))]
        if points:
            axes.plot(*zip(*points), color=COLOURS[system], marker="o", label=system)
    axes.plot(cores, cores, ":", color="gray", label="ideal")
    axes.set_xticks(cores)
    axes.set_xlabel("cores (threads: the fewest that use them all)")
    axes.set_ylabel("speed-up over one core")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


def boot(results: Results, files: list[Path]) -> None:
    """Bars by core count: time to the prompt, and memory in use there."""
    figure, panels = _figure(9, 4)
    cores = sorted({at for at, _ in results.points()})
    for axes, metric, scale, label in zip(panels, ("boot_ms", "used_kib"), (1.0, 1024.0),
                                          ("kernel entry to prompt, ms", "memory in use at the prompt, MiB")):
        for offset, system in ((-0.2, "corral"), (0.2, "linux")):
            values = [(results.value(system, at, 0, metric) or 0.0) / scale for at in cores]
            axes.bar([index + offset for index in range(len(cores))], values, 0.4, color=COLOURS[system], label=system)
        axes.set_xticks(range(len(cores)), [str(at) for at in cores])
        axes.set_xlabel("cores")
        axes.set_ylabel(label)
        axes.legend(fontsize="small")
    _save(figure, files)


def operations(results: Results, files: list[Path]) -> None:
    """Left: Corral's cost as a multiple of Linux's. Right: what several cores gain."""
    from lab.bench.operations import BY_NAME, UNITS, scale

    figure, (costs, gains) = _figure(12, 6.5)
    names = [name for name in BY_NAME if any(row.metric == name for row in results.rows)][::-1]
    places = range(len(names))
    ratios = [(results.value("corral", 1, 1, name) or 0.0) / (results.value("linux", 1, 1, name) or float("inf"))
              for name in names]
    costs.barh(places, ratios, color=COLOURS["corral"])
    costs.axvline(1.0, color=COLOURS["linux"], label="Linux")
    costs.set_yticks(places, names)
    instrument = results.rows[0].instrument
    costs.set_xlabel(f"Corral / Linux, {UNITS[instrument]}, one core")
    costs.legend(fontsize="small")
    cores = max(at for at, _ in results.points())
    for offset, system in ((0.2, "corral"), (-0.2, "linux")):
        values = [scale(results, system, name, cores) or 0.0 for name in names]
        gains.barh([place + offset for place in places], values, 0.4, color=COLOURS[system], label=system)
    gains.set_yticks(places, names)
    gains.set_xlabel(f"operations on {cores} cores in the time of one on one core")
    gains.legend(fontsize="small")
    gains.set_visible(cores > 1)
    figure.suptitle("Basic operations, the identical binary on both systems")
    _save(figure, files)


def load(results: Results, files: list[Path]) -> None:
    """Left: Corral's time as a multiple of Linux's. Right: what further cores gain. A group of bars for each load."""
    from lab.bench.load import BY_NAME, gain

    figure, (times, gains) = _figure(12, 6.5)
    loads = [load for name, load in BY_NAME.items() if any(row.metric == name for row in results.rows)][::-1]
    cores = sorted({at for at, _ in results.points()})
    height = 0.8 / len(cores)
    for index, at in enumerate(cores):
        places = [place + 0.4 - (index + 0.5) * height for place in range(len(loads))]
        ratios = [(results.value("corral", at, load.tasks, load.name) or 0.0)
                  / (results.value("linux", at, load.tasks, load.name) or float("inf")) for load in loads]
        times.barh(places, ratios, height, color=COLOURS["corral"], alpha=0.4 + 0.6 * at / max(cores), label=f"{at} cores")
    times.axvline(1.0, color=COLOURS["linux"], label="Linux")
    times.set_yticks(range(len(loads)), [load.name for load in loads])
    times.set_xlabel("Corral / Linux, time")
    times.legend(fontsize="small")
    for offset, system in ((0.2, "corral"), (-0.2, "linux")):
        values = [gain(results, system, load, max(cores)) or 0.0 for load in loads]
        gains.barh([place + offset for place in range(len(loads))], values, 0.4, color=COLOURS[system], label=system)
    gains.set_yticks(range(len(loads)), [load.name for load in loads])
    gains.set_xlabel(f"times faster on {max(cores)} cores than on one")
    gains.legend(fontsize="small")
    gains.set_visible(max(cores) > 1)
    figure.suptitle("hackbench and sysbench, the identical binaries on both systems")
    _save(figure, files)


def matrix(results: Results, files: list[Path]) -> None:
    """Left: refills of each figure's case. Right: the published ones."""
    from lab.bench.matrix import CASES, figure_of
    from lab.bench.matrix_published import PUBLISHED

    figure, panels = _figure(11, 4.5)
    for axes, of, title in zip(panels, ({case.figure: figure_of(results, case) for case in CASES}, PUBLISHED),
                               ("Corral, cache model", "published, Raspberry Pi 3")):
        for offset, mode, colour in ((-0.2, "user", COLOURS["corral"]), (0.2, "kernel", COLOURS["linux"])):
            axes.bar([place + offset for place in range(len(CASES))], [max(1, of[case.figure].refills[mode]) for case in CASES], 0.4,
                     color=colour, label=mode)
        axes.set_yscale("log")
        axes.set_xticks(range(len(CASES)), [case.figure for case in CASES])
        axes.set_ylabel("refills of the first-level cache")
        axes.set_title(title)
        axes.legend(fontsize="small")
    _save(figure, files)


def _save(figure: Any, files: list[Path]) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            figure.savefig(file, dpi=120)
        except (OSError, ValueError) as error:
            raise Problem(f"the plot cannot be written to {file}: {error}", "give --plot a name such as plot.png") from None


PLOTS: dict[str, Callable[[Results, list[Path]], None]] = {"mandelbrot": mandelbrot, "boot": boot, "operations": operations,
                                                     "load": load, "matrix": matrix}  # fmt: skip
