"""Programs of Debian 12 that need hundreds of megabytes: a whole system, installed into a folder that becomes the guest's root.

debootstrap installs it the first time, which takes some minutes. Each trial shows the same on Linux:

    python3 -m lab.whole_debian    tries them on the host, in the same folder (as root)
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lab import files, packages, paths
from lab.problem import Problem
from lab.progress import Progress
from lab.trial import Trial

SUITE = "bookworm"
PACKAGES = ("apache2-utils", "curl", "emacs-nox", "erlang-base", "ffmpeg", "g++", "gcc", "golang-go", "guile-3.0", "iperf3", "libc6-dev", "lsof",
            "ltrace", "make", "mariadb-server", "memcached", "netcat-openbsd", "nginx-light", "nodejs", "openjdk-17-jdk-headless", "openssh-client",
            "openssh-server", "parallel", "perl", "php-cli", "pigz", "postgresql", "procps", "psmisc", "rsync", "ruby", "rustc", "sbcl", "socat",
            "tcl", "tmux", "valgrind", "vim-tiny", "xz-utils", "zstd")  # fmt: skip
FOLDER = paths.BUILD / "whole-debian"
SOURCES = paths.SYSTEM_TESTS / "whole_debian"
PLACE = "trials"  # of the sources, in the root
MEMORY_MIB = 3072

TRIALS = (
    Trial("perl", "threads, a pipe, an alarm, System V's shared memory", "perl threads.pl", r"201000\nchild\nalarm\nshared\nmany\n"),
    Trial("ruby", "threads, fork, ractors, signals, sockets, a time limit", "ruby threads.rb",
          r"2997000\nchild\n3\n600030000\nsignal\nsocket\ntimeout\n"),
    Trial("php", "a child between pipes, a locked file, sockets", "php processes.php",
          r"through cat\n0\n1af6d6f2f682f76f80e606aeaaee1680\n5000050000\nsocket\n"),
    Trial("tclsh", "a pipeline in both directions, the event loop", "tclsh events.tcl | cat", r"child\na\nb\ntimer\n"),
    Trial("node", "worker threads, a child, a watched directory", "node workers.js", r"15000000\nchild\ntrue\nwatched file\n"),
    Trial("erlang", "a thousand processes on a scheduler for each core", "cp processes.erl /tmp && cd /tmp && erlc processes.erl && "
          "erl -noshell -run processes main x -s init stop", r"200010000000\nchild\nfile\n"),
    Trial("java", "a program compiled; a pool of threads, a parallel stream, a child, a garbage collection",
          "javac -d /tmp Threads.java && java -cp /tmp Threads", r"24999975000000\n5999995\nchild 0\ndone\n"),
    Trial("go", "a program built and run: a thousand goroutines", "cp routines.go /tmp && cd /tmp && "
          "GO111MODULE=off GOCACHE=/tmp/go go build -o routines routines.go && ./routines", r"499500\nchild\ntimer\n"),
    Trial("rustc", "a program compiled with -O: threads, a channel", "rustc -O threads.rs -o /tmp/rust && /tmp/rust",
          r"1399860000\n\[0, 1, 2, 3, 4\]\nchild\n"),
    Trial("guile", "threads over a list", "guile --no-auto-compile threads.scm", r"332833500\nchild\n"),
    Trial("sbcl", "threads, a whole garbage collection", "sbcl --script threads.lisp", r"\(50000 99999 150000 200000\)\nchild\n"),
    Trial("gcc, valgrind", "a threaded program under memcheck and helgrind", "gcc -g -pthread threads.c -o /tmp/threads && "
          "valgrind -q --error-exitcode=9 /tmp/threads && valgrind -q --tool=helgrind --error-exitcode=9 /tmp/threads", r"19800\n19800\n"),
    Trial("ltrace", "the library calls of a program", "gcc -g -pthread threads.c -o /tmp/threads && ltrace -c -o /tmp/calls /tmp/threads && "
          "grep -c pthread_create /tmp/calls", r"19800\n1\n"),
    Trial("make -j4", "twelve files compiled at the same time", "sh make.sh", r"12\n"),
    Trial("postgres", "a cluster made, a table asked, pgbench with four clients", "su postgres -c 'sh postgres.sh'",
          r"50005000\|10000\nnumber of transactions actually processed: 200/200\n"),
    Trial("emacs", "Lisp in batch mode, a child", "emacs -Q -batch --eval '(princ (shell-command-to-string \"echo child\"))'", r"child\n"),
    Trial("vim", "a file edited in ex mode", r"printf 'a\nb\n' > /tmp/text; vim.tiny -es -c '%s/a/changed/' -c wq /tmp/text; cat /tmp/text", r"changed\nb\n"),
    Trial("tmux", "a session with two windows", "sh tmux.sh", r"0\n1\nin the window\n"),
    Trial("pigz, zstd, xz", "compression by several threads", "for with in 'pigz -p4' 'zstd -qT4' 'xz -T4'; do "
          "seq 300000 | $with | ${with%% *} -dq | md5sum; done", r"(daef482d6c698625ab13d987d14e8781  -\n){3}"),
    Trial("rsync", "a tree copied", "rsync -a /usr/share/perl/ /tmp/copied && diff -r /usr/share/perl /tmp/copied && echo same", r"same\n"),
    Trial("socat", "a server on a UNIX socket", "rm -f /tmp/socket; socat UNIX-LISTEN:/tmp/socket EXEC:cat & "
          "while [ ! -S /tmp/socket ]; do sleep 0.1; done; echo through | socat - UNIX-CONNECT:/tmp/socket; wait", r"through\n"),
    Trial("parallel", "forty commands, four at a time", "seq 40 | parallel --will-cite -j4 'expr {} \\* 2' | sort -n | tail -1", r"80\n"),
    Trial("ffmpeg", "a film encoded by four threads, and decoded", "ffmpeg -v error -f lavfi -i testsrc=duration=1:size=160x120:rate=10 -threads 4 "
          "-c:v libx264 -y /tmp/film.mp4 && ffmpeg -v error -i /tmp/film.mp4 -f framemd5 - | grep -vc '^#'", r"10\n"),
    Trial("lsof, fuser, killall, pstree", "who has which file open", "lsof -p $$ | grep -c txt; fuser /bin/bash 2> /dev/null | grep -qw $$ && echo found; "
          "killall -0 bash && pstree $$ | grep -c pstree", r"1\nfound\n1\n"),
    Trial("nginx, curl, ab", "four workers, a proxy, a reload while it serves; sixteen clients at once", "bash nginx.sh",
          r"served\nsame\n404\n(Complete requests: +500\nFailed requests: +0\n){2}served\n"),
    Trial("openssh", "a command, a terminal, a copy, a port passed on, another user", "bash ssh.sh", r"command\n7\nterminal\ncopied\nvisitor\n/home/visitor\n"),
    Trial("mariadb", "a database made, a table asked over TCP, four clients", "bash mariadb.sh",
          r"5000\t12502500\nn77\n\tNumber of clients running queries: 4\n"),
    Trial("apt", "a package from a repository installed and removed", "bash apt.sh", r"from the package\nremoved\n"),
    Trial("memcached", "a value kept and given back", "bash memcached.sh", r"STORED\nVALUE a 0 3\nxyz\nEND\n"),
    Trial("iperf3", "TCP in two connections, UDP", "for how in '-P 2' '-u -b 10M'; do iperf3 -s -1 -B 127.0.0.1 -p 15201 > /tmp/iperf & "
          "sleep 1; iperf3 -c 127.0.0.1 -p 15201 -t 1 $how | tail -1; wait; done", r"iperf Done\.\niperf Done\.\n"),
)  # fmt: skip


@files.exclusive(FOLDER)
def tree() -> Path:
    """The folder, made the first time, with the trials' sources as they are now."""
    root = FOLDER / "root"
    digest = hashlib.sha256(" ".join((SUITE, *PACKAGES)).encode()).hexdigest()
    files.make_once(root, FOLDER / "installed", digest, lambda: _install(root))
    shutil.rmtree(root / PLACE, ignore_errors=True)
    shutil.copytree(SOURCES, root / PLACE)
    return root


def _install(root: Path) -> None:
    packages.ensure(["whole-debian"], yes=True)
    progress = Progress(f"Installing {len(PACKAGES)} packages of Debian and what they need")
    shutil.rmtree(root, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(root)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise Problem(f"debootstrap failed: {ended.stdout.strip()[-400:]}", "are you root, and online?")
    progress.done()


def script(trial: Trial) -> str:
    """For a shell in the guest or, in the same root, on the host."""
    return f"export PATH=/usr/sbin:/usr/bin LANG=C.UTF-8 HOME=/root; cd /{PLACE} && ({trial.command}); cd /"


def main() -> int:
    root = tree()
    failed = 0
    for trial in TRIALS:
        mounts = "mount -t proc proc /proc; mount -t devpts devpts /dev/pts"
        ended = subprocess.run(["unshare", "--mount", "chroot", str(root), "bash", "-c", f"{mounts}; {script(trial)}"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, check=False)  # fmt: skip
        works = re.fullmatch(trial.shows, ended.stdout) is not None
        failed += not works
        print(f"{trial.name}: {'works' if works else ended.stdout}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
