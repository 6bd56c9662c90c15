#!/usr/bin/env python3
"""Packs the initial root file system into a cpio archive (format newc, "070701").

The same input gives the same bytes: entries are sorted by path, inode numbers count up, times, owners and
devices are 0, and modes come from one rule instead of the host's umask. A hard link is stored once: the
entries of one file share an inode number, and the last of them carries the data, as the format demands.
Standard library only.
"""

import argparse
import os
import stat
import subprocess
import sys

EMPTY_DIRECTORIES = ["bin", "sbin", "usr", "usr/bin", "usr/sbin", "etc", "tests",
                     "dev", "proc", "sys", "host", "root", "tmp"]
DIRECTORY_MODES = {"tmp": 0o1777, "root": 0o700}


class Node:
    """One file, directory or symbolic link; hard-linked paths share a Node."""

    def __init__(self, mode, data=b""):
        self.mode = mode
        self.data = data
        self.paths = []
        self.inode = 0


class Tree:
    def __init__(self):
        self.nodes = {}
        self.host_files = {}

    def put(self, path, node):
        if path in self.nodes:
            raise SystemExit(f"make_initramfs: {path} given twice")
        self.nodes[path] = node
        node.paths.append(path)

    def directory(self, path):
        if path in self.nodes:
            return
        parent = os.path.dirname(path)
        if parent:
            self.directory(parent)
        self.put(path, Node(stat.S_IFDIR | DIRECTORY_MODES.get(path, 0o755)))

    def symlink(self, path, target):
        self.directory(os.path.dirname(path))
        self.put(path, Node(stat.S_IFLNK | 0o777, target.encode()))

    def file(self, path, host_path, executable=None):
        """Adds a regular file; a host file already present under another path becomes a hard link."""
        if os.path.dirname(path):
            self.directory(os.path.dirname(path))
        info = os.stat(host_path)
        key = (info.st_dev, info.st_ino)
        node = self.host_files.get(key)
        if node is None:
            if executable is None:
                executable = bool(info.st_mode & 0o111)
            with open(host_path, "rb") as source:
                node = Node(stat.S_IFREG | (0o755 if executable else 0o644), source.read())
            self.host_files[key] = node
        self.put(path, node)

    def skeleton(self, root):
        for folder, folders, files in os.walk(root):
            folders.sort()
            relative = os.path.relpath(folder, root)
            relative = "" if relative == "." else relative
            if relative:
                self.directory(relative)
            for name in sorted(files):
                path = os.path.join(relative, name)
                host_path = os.path.join(folder, name)
                if os.path.islink(host_path):
                    self.symlink(path, os.readlink(host_path))
                else:
                    self.file(path, host_path)


def header(inode, mode, links, size, name):
    fields = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(name) + 1, 0]
    return b"070701" + b"".join(b"%08x" % field for field in fields) + name + b"\0"


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def archive(tree):
    parts = []
    inode = 0
    for path in sorted(tree.nodes):
        node = tree.nodes[path]
        if node.inode == 0:
            inode += 1
            node.inode = inode
        last = path == max(node.paths)
        data = node.data if last else b""
        links = 2 if stat.S_ISDIR(node.mode) else len(node.paths)
        parts.append(padded(header(node.inode, node.mode, links, len(data), path.encode())))
        parts.append(padded(data))
    parts.append(padded(header(0, 0, 1, 0, b"TRAILER!!!")))
    packed = b"".join(parts)
    return packed + b"\0" * (-len(packed) % 512)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True)
    parser.add_argument("--skeleton", required=True, help="folder whose files are copied as they are")
    parser.add_argument("--busybox", required=True, help="static busybox binary, taken unmodified")
    parser.add_argument("--programs", nargs="+", metavar="X", default=[], help="folder, then names, for /bin")
    parser.add_argument("--tests", nargs="+", metavar="X", default=[], help="folder, then names, for /tests")
    parser.add_argument("--probes", nargs="+", metavar="X", default=[], help="folder, then names, for /probes")
    options = parser.parse_args()

    tree = Tree()
    for path in EMPTY_DIRECTORIES:
        tree.directory(path)
    tree.skeleton(options.skeleton)
    tree.file("bin/busybox", os.path.realpath(options.busybox), executable=True)
    for group, place in ((options.programs, "bin"), (options.tests, "tests"), (options.probes, "probes")):
        for name in group[1:]:
            tree.file(f"{place}/{name}", os.path.join(group[0], name), executable=True)

    applets = subprocess.run([options.busybox, "--list-full"], check=True, capture_output=True, text=True).stdout
    own = {os.path.basename(path) for path in tree.nodes if path == "init" or path.startswith("bin/")}
    for path in applets.split():
        # Our program of the same name (time) wins; /init is not busybox's.
        if os.path.basename(path) in own or path == "linuxrc":
            continue
        tree.symlink(path, "/bin/busybox")

    data = archive(tree)
    temporary = options.output + ".new"
    with open(temporary, "wb") as output:
        output.write(data)
    os.replace(temporary, options.output)
    print(f"initramfs: {len(tree.nodes)} entries, {len(data) / 1024:.0f} KiB", file=sys.stderr)


if __name__ == "__main__":
    main()
