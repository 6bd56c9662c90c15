"""Programs of Debian for the guest: packages are downloaded, unpacked (never installed) and packed into an initramfs.

Their names are in debian-packages.txt; the versions are those that apt finds. What the unpacking gave is kept in
build/debian as long as the list is the same. No script of a package is run, so what those would set up (users,
alternatives) is not there; /init and the few files of /etc are those of user/root, and /usr/local/bin has our programs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lab import cpio, files, packages, paths
from lab.problem import Problem
from lab.progress import Progress

LIST = Path(__file__).with_name("debian-packages.txt")
# Debian's directories at the root have been links into /usr since Debian 12.
MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
EMPTY = ("dev", "host", "proc", "root", "run", "sys", "tmp")
MODES = {"root": 0o700, "tmp": 0o1777}
# Large, and of no use to what is tried: manuals, translations, character sets but the one that gdb thinks in, and static libraries
# beside these few, of which the last are empty and there to be named by -pthread and the like.
LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian",
            "usr/lib/x86_64-linux-gnu/gconv", "usr/lib/gcc/x86_64-linux-gnu/12/lto1")  # fmt: skip
KEPT = tuple(f"usr/lib/x86_64-linux-gnu/gconv{name}" for name in ("", "/gconv-modules", "/UTF-32.so"))
STATIC_LIBRARIES = ("libc_nonshared.a", "libgcc.a", "libgcc_eh.a", "libpthread.a", "libdl.a", "librt.a", "libutil.a")
OWN_PROGRAMS = "usr/local/bin"
MEMORY_MIB = 1024  # what a guest with this initramfs needs


def package_names() -> list[str]:
    lines = (line.strip() for line in LIST.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@files.exclusive(paths.DEBIAN)
def tree() -> Path:
    """The unpacked packages, fetched the first time."""
    target = paths.DEBIAN / "tree"
    digest = hashlib.sha256(LIST.read_bytes()).hexdigest()
    files.make_once(target, paths.DEBIAN / "unpacked", digest, lambda: _unpack_all(target))
    return target


def _unpack_all(target: Path) -> None:
    names = package_names()
    progress = Progress(f"Fetching {len(names)} Debian packages")
    archives = _archives(names, progress)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, place in MERGED.items():
        (target / place).mkdir(parents=True, exist_ok=True)
        (target / name).symlink_to(place)
    for archive in archives:
        progress.step(archive.name)
        _unpack(archive, target)
    progress.done()


def program(package: str, path: str) -> bytes:
    """One file of a package that is not in the list."""
    with files.exclusive(paths.DEBIAN):
        archive = _archives([package], Progress(f"Fetching {package}"))[0]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as source:
        taken = subprocess.run(["tar", "-x", "-O", f"./{path}"], stdin=source.stdout, capture_output=True, check=False)
    if taken.returncode != 0 or not taken.stdout:
        raise Problem(f"{archive.name} has no {path}", f"remove {paths.shown(archive)} and try again")
    return taken.stdout


def _archives(names: list[str], progress: Progress) -> list[Path]:
    folder = paths.DEBIAN / "archives"
    folder.mkdir(parents=True, exist_ok=True)
    lacking = [name for name in names if not list(folder.glob(f"{name}_*.deb"))]
    if lacking:
        try:
            _download(lacking, folder, progress)
        except Problem:
            packages.update_lists()  # missing or outdated
            _download(lacking, folder, progress)
    return [max(folder.glob(f"{name}_*.deb")) for name in names]


def _download(names: list[str], folder: Path, progress: Progress) -> None:
    progress.step(f"{len(names)} to download")
    ended = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=", "download", *names], cwd=folder,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
    if ended.returncode != 0:
        raise Problem(f"Debian's packages could not be downloaded: {ended.stderr.strip()[-400:]}",
                      "are you online, and is this Debian 12 with its package sources? The names are those of "
                      "lab/debian-packages.txt")  # fmt: skip


def _unpack(archive: Path, target: Path) -> None:
    # tar by itself, since dpkg-deb -x would replace the links at the root by directories.
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as source:
        unpacked = subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", str(target)],
                                  stdin=source.stdout, capture_output=True, text=True, check=False)  # fmt: skip
    if source.returncode != 0 or unpacked.returncode != 0:
        raise Problem(f"{archive.name} could not be unpacked: {unpacked.stderr.strip()[-400:]}",
                      f"remove {paths.shown(archive)} and try again")  # fmt: skip


def initramfs() -> Path:
    """An initramfs whose root is Debian's, with our /init and programs (built before); packed again when any of it changed."""
    source, target = tree(), paths.DEBIAN / "initramfs.cpio"
    digest = hashlib.sha256()
    for file in [Path(__file__), LIST, *_own_files().values()]:
        digest.update(file.read_bytes())
    with files.exclusive(paths.DEBIAN):
        files.make_once(target, paths.DEBIAN / "packed", digest.hexdigest(),
                        lambda: target.write_bytes(cpio.archive(_entries(source))))  # fmt: skip
    return target


def _own_files() -> dict[str, Path]:
    """By their names in the guest."""
    skeleton = paths.USER_SOURCE / "root"
    found = {str(file.relative_to(skeleton)): file for file in skeleton.rglob("*") if file.is_file()}
    found |= {f"{OWN_PROGRAMS}/{file.name}": file for file in (paths.USER_BUILD / "programs").iterdir()}
    return dict(sorted(found.items()))


def _entries(source: Path) -> Iterator[cpio.Entry]:
    own = _own_files()
    seen = set()
    for folder, folders, contents in os.walk(source):
        folders.sort()
        for name in [*folders, *sorted(contents)]:
            path = Path(folder) / name
            relative = str(path.relative_to(source))
            if (relative.startswith(LEFT_OUT) and relative not in KEPT) or relative in own:
                continue
            if name.endswith(".a") and name not in STATIC_LIBRARIES:
                continue
            seen.add(relative)
            yield _entry(path, relative)
    for name in EMPTY:
        if name not in seen:
            yield cpio.Entry(name, stat.S_IFDIR | MODES.get(name, 0o755))
    for name, path in own.items():
        for folder in reversed(PurePosixPath(name).parents[:-1]):
            if str(folder) not in seen:
                seen.add(str(folder))
                yield cpio.directory(str(folder))
        yield cpio.file(name, path.read_bytes(), executable=os.access(path, os.X_OK))


def _entry(path: Path, name: str) -> cpio.Entry:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return cpio.link(name, os.readlink(path))
    if stat.S_ISDIR(mode):
        return cpio.Entry(name, stat.S_IFDIR | MODES.get(name, 0o755))
    # Rights are one rule, not the unpacker's: everybody reads, and executes what its owner executes.
    return cpio.file(name, path.read_bytes(), executable=bool(mode & stat.S_IXUSR))
