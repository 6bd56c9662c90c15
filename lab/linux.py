"""The partner: Debian's Linux kernel with a busybox userland, unpacked and never installed.

Both systems get the same script and the same static programs; only the kernel
differs. Options are those that make Linux quiet and fast under emulation, so
that the comparison is against Linux at its best.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from lab import cpio, files, packages, paths
from lab.problem import Problem
from lab.progress import Progress

META_PACKAGE = "linux-image-cloud-amd64"
# What to do when apt does not know the package though its lists were fetched just now.
DEBIAN = "Corral is made for Debian 12: is its `main` in /etc/apt/sources.list? Without Linux: --system corral"
BUSYBOX = Path("/bin/busybox")
OPTIONS = (
    "console=ttyS0,115200", "quiet", "loglevel=4", "mitigations=off", "nokaslr", "nowatchdog", "nmi_watchdog=0",
    "audit=0", "apparmor=0", "random.trust_cpu=on", "cryptomgr.notests", "panic=-1", "rdinit=/init",
)  # fmt: skip
QEMU_OPTIONS = ("no_timer_check", "tsc=reliable")
# MWAIT loses wake-ups in Bochs; its cores run at a known 100 MHz.
BOCHS_OPTIONS = ("idle=halt", "tsc_early_khz=100000", "tsc=reliable")

BEGIN = "linux: begin"  # printed before the given script
# The first process, as ours behaves: run the given script and power off, or a shell.
INIT = f"""#!/bin/sh
export PATH=/bin:/host HOME=/ TERM=linux PS1='# '
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
if [ -f /host/script.sh ]; then
  echo '{BEGIN}'
  sh /host/script.sh
else
  setsid cttyhack sh
fi
poweroff -f
"""


def options(emulator: str) -> tuple[str, ...]:
    return OPTIONS + (BOCHS_OPTIONS if emulator == "bochs" else QEMU_OPTIONS)


@files.exclusive(paths.LINUX)
def kernel() -> Path:
    """Debian's kernel, fetched and unpacked the first time."""
    if found := _unpacked():
        return found
    if shutil.which("apt-get") is None:
        raise Problem(f"{META_PACKAGE} is fetched with apt-get, which cannot be found", "measure on Debian 12, or without Linux: --system corral")
    progress = Progress(f"Fetching {META_PACKAGE}")
    try:
        archive = _download(progress)
    except Problem:
        packages.update_lists()  # missing or outdated
        archive = _download(progress)
    _run(["dpkg", "-x", archive.name, "tree"], f"remove {paths.shown(archive)} and try again")
    found = _unpacked()
    if found is None:
        raise Problem(f"{archive.name} holds no kernel", f"remove {paths.shown(paths.LINUX)} and try again")
    progress.done(found.name)
    return found


def _download(progress: Progress) -> Path:
    package = _package_behind(META_PACKAGE)
    progress.step(package)
    if not list(paths.LINUX.glob(f"{package}_*.deb")):
        _run(["apt-get", "-q", "download", package], "are you online, and is /etc/apt/sources.list right?")
    return max(paths.LINUX.glob(f"{package}_*.deb"))


def _unpacked() -> Path | None:
    return max((paths.LINUX / "tree" / "boot").glob("vmlinuz-*"), default=None)


def _package_behind(meta: str) -> str:
    """The package that the ever-moving name depends on just now."""
    text = _run(["apt-cache", "depends", meta], DEBIAN)
    found = re.search(r"Depends:\s*(linux-image-[^\s]+-cloud-amd64)", text)
    if not found:
        raise Problem(f"apt does not know {meta}", DEBIAN)
    return found[1]


def _run(command: list[str], mend: str) -> str:
    ended = subprocess.run(
        command, cwd=paths.LINUX, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise Problem(f"`{' '.join(command)}` failed: {ended.stderr.strip()[-400:]}", mend)
    return ended.stdout


def initramfs(target: Path, brought: dict[str, bytes]) -> Path:
    """busybox under every name it knows, /init, and `brought` (name: contents) in /host."""
    if not BUSYBOX.is_file():
        raise Problem(f"{BUSYBOX} is missing", "./corral setup, or apt-get install busybox-static")
    names = subprocess.run([str(BUSYBOX), "--list"], capture_output=True, text=True, check=True).stdout.split()
    entries = [cpio.directory(name) for name in ("bin", "dev", "host", "proc", "root", "sys", "tmp")]
    entries += [cpio.file("bin/busybox", BUSYBOX.read_bytes(), executable=True)]
    entries += [cpio.link(f"bin/{name}", "busybox") for name in sorted(names) if name != "busybox"]
    entries += [cpio.file("init", INIT.encode(), executable=True)]
    entries += [cpio.file(f"host/{name}", data, executable=True) for name, data in sorted(brought.items())]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(cpio.archive(entries))
    return target
