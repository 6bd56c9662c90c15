"""The sub-commands: their options, and which module carries each out."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from lab import boots, build, cache_model, debian, debugger, emulators, hunt, iso, machine_options, options, packages, paths, payload, qemu, replay, runner, simulate
from lab.bench import main as benches
from lab.bench.bench import declare as declare_bench
from lab.compare import main as compare
from lab.command_line import compose
from lab.machine import Folder, Machine, check_cores, memory_mib
from lab.options import Parser, seed
from lab.problem import INTERRUPTED, WRONG_USE, Problem
from lab.report import main as report
from lab.soak import main as soak
from lab.sweep import main as sweep
from lab.testing import main as testing
from lab.trace import main as trace

ROOT_TAG = "corral-root"  # the mount tag of --root's folder
# What a disk or its rights refuse, wherever in a command: the user can mend that.
REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)
DESCRIPTION = "Corral, a multicore operating system: build it, run it, test it, measure it."


@dataclass(frozen=True)
class Command:
    help: str
    declare: Callable[[Parser], None]
    execute: Callable[[Namespace, list[str]], int]
    takes_program: bool = False
    parts: Mapping[str, Command] = field(default_factory=dict)  # commands of two words, of which this is the first


def _common(parser: Parser) -> None:
    parser.add_argument("--yes", action="store_true", help="install missing packages without asking")
    parser.add_argument("--verbose", action="store_true", help="show the build's whole output")


def _declare_run(parser: Parser) -> None:
    machine_options.declare(parser, memory="512M; 1G with --debian")
    parser.add_argument("--emulator", default="qemu", metavar="NAME", help="qemu (default) or bochs")
    parser.add_argument("--seed", type=seed, metavar="N", help="deterministic: the same N, the same run")
    parser.add_argument("--replay", type=Path, metavar="FILE",
                        help="the run that left this dump, again (docs/deterministic-runs.md); all else comes from the dump")
    parser.add_argument("--root", type=Path, metavar="DIR",
                        help="the guest's root is this folder of the host, such as an unpacked Debian")
    parser.add_argument("--share", action="append", default=[], metavar="TAG=DIR",
                        help="a folder that the guest can mount: mount -t 9p TAG /mnt")
    parser.add_argument("--disk", action="append", default=[], type=Path, metavar="FILE",
                        help="a disk with the bytes of this file: /dev/vda, the next /dev/vdb")
    parser.add_argument("--gdb", action="store_true", help="wait for a debugger before the first instruction")
    parser.add_argument("--model", nargs="?", const="", metavar="PARAMETERS",
                        help="with a cache model, and tables of what it counted (docs/cache-model.md)")
    parser.add_argument("--model-report", type=Path, metavar="FILE", help="keeps what the cache model counted, a line of JSON for each report")
    parser.add_argument("--iso", action="store_true", help="boot an image by BIOS and GRUB")
    parser.add_argument("--uefi", action="store_true", help="boot an image by UEFI and GRUB")
    parser.add_argument("--debian", action="store_true", help="among programs of Debian (docs/programs.md)")


def _machine(values: Namespace, **more: object) -> Machine:
    check_cores(values.cores, getattr(values, "emulator", "qemu"))
    usual = f"{debian.MEMORY_MIB}M" if getattr(values, "debian", False) else "512M"
    return Machine(cores=values.cores, memory_mib=memory_mib(values.memory or usual), **more)  # type: ignore[arg-type]


def _folders(values: Namespace) -> tuple[Folder, ...]:
    """The folders to share; that of --root comes first."""
    wanted = [(ROOT_TAG, values.root)] if values.root is not None else []
    for word in values.share:
        tag, equals, path = word.partition("=")
        if not tag or not equals:
            raise Problem(f"--share {word}: no tag and folder", "for example --share work=/home/me/work", WRONG_USE)
        wanted.append((tag, Path(path)))
    for _, path in wanted:
        if not path.is_dir():
            wrong = "that is not a folder" if path.exists() else "there is no such folder"
            raise Problem(f"{path}: {wrong}", "name a folder of this machine", WRONG_USE)
    return tuple(Folder(tag, path.resolve()) for tag, path in wanted)


def _replay(values: Namespace, program: list[str]) -> int:
    """The run that left a dump, again. Succeeds when it ends as it did then, with the same account."""
    usual = Parser()
    _declare_run(usual)
    own = {"replay", "timeout"}
    said = [name for name, value in vars(usual.parse_args([])).items() if name not in own and getattr(values, name) != value]
    if said or program:
        more = f"--{said[0]}" if said else "a program"
        raise Problem(f"--replay takes all from the dump, and here is {more}", f"leave out {more}", WRONG_USE)
    replay.load(values.replay)  # a wrong file is said before anything is built
    packages.ensure(["build", "qemu"], yes=values.yes)
    build.build_system(verbose=values.verbose)
    return replay.again(values.replay, values.timeout)


def _run(values: Namespace, program: list[str]) -> int:
    if values.replay is not None:
        return _replay(values, program)
    options.choose(values.emulator, ("qemu", "bochs"), "emulator")
    folders = _folders(values)
    for disk in values.disk:
        if not disk.is_file():
            raise Problem(f"--disk {disk}: there is no such file", f"make one: truncate -s 64M {disk}", WRONG_USE)
    machine = _machine(values, seed=values.seed, wait_for_debugger=values.gdb, folders=folders,
                       disks=tuple(disk.resolve() for disk in values.disk))
    if values.emulator == "bochs" and (folders or values.disk):
        raise Problem("--root, --share and --disk work with QEMU only", "leave out --emulator bochs", WRONG_USE)
    if values.emulator == "bochs" and (values.seed is not None or values.gdb):
        raise Problem("--seed and --gdb work with QEMU (Bochs always repeats)", "leave out --emulator bochs", WRONG_USE)
    if values.root is None:
        payload.resolve(program, dynamic=values.debian)  # a wrong program is said before anything is built
    uses = ["build", values.emulator, *(["model"] if values.model is not None else [])]
    if values.model_report is not None and values.model is None:
        raise Problem("--model-report: nothing is counted", "give --model as well", WRONG_USE)
    if values.model is not None:
        if values.emulator == "bochs":
            raise Problem("--model works with QEMU only", "leave out --emulator bochs", WRONG_USE)
        cache_model.plugin(values.model, Path("report"), seeded=values.seed is not None)  # wrong words are said at once
    if values.uefi and (values.emulator == "bochs" or values.iso):
        raise Problem("--uefi works with QEMU, and without --iso", "leave out one of them", WRONG_USE)
    if values.iso or values.uefi or values.emulator == "bochs":
        uses.append("image")
    if values.uefi:
        uses.append("uefi")
    packages.ensure(uses, yes=values.yes)
    if folders:
        qemu.check_folders()
    build.build_system(verbose=values.verbose)
    append = values.append if values.root is None else f"root=9p:{ROOT_TAG} {values.append}"
    request = runner.Request(machine, values.emulator, append, tuple(program), values.timeout, values.iso, values.uefi,
                             values.debian, own_root=values.root is not None)
    if values.model is not None:
        return _run_with_model(values, request)
    return runner.run(replace(request, on_end=lambda said: replay.keep_failed(replay.dump(request, said))))


def _run_with_model(values: Namespace, request: runner.Request) -> int:
    """No dump is kept: a replay would be without the model, and its clock another."""
    build.build(build.PLUGIN, verbose=values.verbose)
    with tempfile.TemporaryDirectory(prefix="corral-model-") as work:
        kept = Path(work) / "report"
        plugin = cache_model.plugin(values.model, kept, seeded=values.seed is not None)
        append = request.append if "counters=" in request.append else f"counters=model {request.append}".strip()
        status = runner.run(replace(request, machine=replace(request.machine, plugin=plugin), append=append))
        reports = cache_model.read(kept)
        if values.model_report is not None and reports:
            shutil.copyfile(kept, values.model_report)
    for counted in reports:
        print("\n".join(["", *cache_model.lines(counted)]), file=sys.stderr)
    if not reports:
        print("corral: QEMU was ended before it could write what the cache model counted", file=sys.stderr)
    return status


def _declare_setup(parser: Parser) -> None:
    parser.add_argument("uses", nargs="*", metavar="USE", help=f"of: {', '.join(sorted(packages.USES))} (default all)")


def _setup(values: Namespace, _: list[str]) -> int:
    uses = [options.choose(use, sorted(packages.USES), "use") for use in values.uses] or sorted(packages.USES)
    if not packages.ensure(uses, yes=values.yes):
        print("Everything needed is installed.")
    return 0


def _declare_image(parser: Parser) -> None:
    parser.add_argument("--output", type=Path, default=paths.IMAGE, metavar="FILE", help="default build/corral.iso")
    machine_options.declare_append(parser)


def _image(values: Namespace, program: list[str]) -> int:
    argv, brought = payload.resolve(program)
    if values.output.is_dir():
        raise Problem(f"{values.output} is a folder", "give --output a file in it, such as corral.iso", WRONG_USE)
    packages.ensure(["build", "image"], yes=values.yes)
    build.build_system(verbose=values.verbose)
    initramfs = payload.initramfs(brought, paths.BUILD / "image")
    line = compose([values.append], argv)
    try:
        image = iso.make(iso.Entry("multiboot2", paths.KERNEL_ELF, initramfs, line), values.output)
    except OSError as error:
        raise Problem(f"{values.output} cannot be written: {error.strerror}", "give --output another place") from None
    print(f"{paths.shown(image)}: burn it, or copy it to a USB stick (dd if={paths.shown(image)} of=/dev/sdX bs=4M)")
    return 0


def _declare_debug(parser: Parser) -> None:
    machine_options.declare(parser)


def _debug(values: Namespace, program: list[str]) -> int:
    machine = _machine(values, wait_for_debugger=True)
    packages.ensure(["build", "qemu", "debug"], yes=values.yes)
    build.build_system(verbose=values.verbose)
    return debugger.debug(machine, values.append, program)


def _of_two_words(help: str, parts: Mapping[str, Command]) -> Command:
    def declare(parser: Parser) -> None:
        parser.add_argument("name", metavar="NAME", help="; ".join(f"{name}: {part.help}" for name, part in parts.items()))

    def execute(values: Namespace, _: list[str]) -> int:
        raise Problem(f"`{values.name}` comes after the options", "./corral COMMAND NAME [OPTIONS]", WRONG_USE)

    return Command(help, declare, execute, parts=parts)


BENCHES = {name: Command(bench.what, partial(declare_bench, bench), partial(benches.execute, bench)) for name, bench in benches.BENCHES.items()}
BENCHES["all"] = Command("all of them, one after the other", benches.declare_all, benches.execute_all)
COMMANDS: dict[str, Command] = {
    "setup": Command("install what is missing", _declare_setup, _setup),
    "run": Command("boot into a shell, or run one program", _declare_run, _run, takes_program=True),
    "test": Command("run every test", testing.declare, testing.execute),
    "bench": _of_two_words("measure, beside Linux", BENCHES),
    "sweep": Command("measure a grid of points, as far as it is not measured yet", sweep.declare, sweep.execute),
    "compare": Command("what has changed between two sets of results", compare.declare, compare.execute),
    "report": Command("a page of all results, and of a run as a timeline", report.declare, report.execute),
    "boots": Command("boot again and again, and count", boots.declare, boots.execute),
    "hunt": Command("one program under many seeds, until one fails", hunt.declare, hunt.execute, takes_program=True),
    "soak": Command("load it for minutes, and look for what is lost", soak.declare, soak.execute),
    "trace": Command("run a program, and see what each core did", trace.declare, trace.execute, takes_program=True),
    "simulate": Command("the same policies on modelled machines", simulate.declare, simulate.execute),
    "debug": Command("gdb on the kernel, one thread per core", _declare_debug, _debug, takes_program=True),
    "image": Command("make a hybrid image for USB or disc", _declare_image, _image, takes_program=True),
}


def _parsers() -> dict[str, Parser]:
    """By the words of the command, such as "run" and "bench load"."""
    parsers: dict[str, Parser] = {}
    parts = {f"{first} {name}": part for first, command in COMMANDS.items() for name, part in command.parts.items()}
    for name, command in {**COMMANDS, **parts}.items():
        after = " [-- PROGRAM ARGUMENTS]" if command.takes_program else ""
        parser = Parser(prog=f"./corral {name}", description=f"{command.help[0].upper()}{command.help[1:]}.")
        _common(parser)
        command.declare(parser)
        if after:
            parser.usage = parser.format_usage().removeprefix("usage: ").strip() + after
        parsers[name] = parser
    return parsers


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [DESCRIPTION, "", "usage: ./corral COMMAND [OPTIONS]", ""]
    lines += [f"  {name:<{width}}  {command.help}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, "", "./corral COMMAND --help lists a command's options."])


def understand(arguments: list[str]) -> tuple[Command, Namespace, list[str]]:
    """The command, its options and the guest's program; a Problem when something is wrong."""
    if arguments[0].startswith("-"):
        raise Problem(f"`{arguments[0]}` comes before the command", "./corral COMMAND [OPTIONS]", WRONG_USE)
    name = options.choose(arguments[0], list(COMMANDS), "command")
    command = COMMANDS[name]
    own, program = options.split_program(arguments[1:])
    if command.parts and own and not own[0].startswith("-"):
        part = options.choose(own.pop(0), list(command.parts), name)
        command, name = command.parts[part], f"{name} {part}"
    if program is not None and not command.takes_program:
        raise Problem(f"./corral {name} runs no program", "leave out everything from -- on", WRONG_USE)
    if program == []:
        raise Problem("there is no program after the two dashes", f"./corral {name} -- PROGRAM ARGUMENTS", WRONG_USE)
    parsers = _parsers()
    values = options.parse(parsers[name], own, parsers, takes_program=command.takes_program)
    return command, values, program or []


def dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else WRONG_USE
    command, values, program = understand(arguments)
    return command.execute(values, program)


def main(arguments: list[str]) -> int:
    emulators.end_when_told()
    try:
        return dispatch(arguments)
    except Problem as problem:
        print(f"corral: {problem}", file=sys.stderr)
        return problem.status
    except KeyboardInterrupt:
        print("\ncorral: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        problem = Problem(f"{error.filename or 'a file'}: {error.strerror}", "make room on the disk, or see that it can be written")
        print(f"corral: {problem}", file=sys.stderr)
        return problem.status
