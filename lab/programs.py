"""The Debian programs that Corral is tried with: how each is driven, and whether it works. Written to docs/programs.md.

    python3 -m lab.programs          writes the page
    python3 -m lab.programs --check  says whether it is current (a test does the same)

tests/system/test_debian_programs.py runs every trial: what works must show what is expected here, and what does not
must still fail. So a line of the page is the result of a test.
"""

from __future__ import annotations

import sys

from lab import debian, go_tests, paths, whole_debian
from lab.soak import loads
from lab.trial import Trial

PAGE = "docs/programs.md"


TRIALS = (
    Trial("bash", "arrays, arithmetic, process substitution, a pipeline's statuses",
          r"""bash -c 'a=({1..10}); s=0; for x in "${a[@]}"; do ((s+=x)); done; diff <(seq 3) <(seq 3) && echo "sum $s"; false | true; echo "${PIPESTATUS[*]}"'""",
          r"sum 55\n1 0\n"),
    Trial("coreutils", "files copied with their times, sorted, hashed, counted; a time limit kept",
          "cp -a /etc /tmp/copy && du -s /tmp/copy > /dev/null && seq 1000 | shuf | sort -n | sha256sum; timeout 1 sleep 60; "
          "echo $?; stat -c %F /dev/null; df / | wc -l; nproc",
          r"67d4ff71d43921d5739f387da09746f405e425b07d727e4c69d029461d1f051f  -\n124\ncharacter special file\n2\n4\n"),
    Trial("findutils, grep, sed, tar, gzip", "an archive made, compressed and unpacked",
          "cd /tmp && tar czf a.tgz -C /usr/lib/python3.11 json && mkdir -p un && tar xzf a.tgz -C un && "
          r"find un -name '*.py' | sed 's/.*\///' | grep -c py; cd",
          r"5\n"),
    Trial("procps", "ps, free, uptime, vmstat and top read /proc",
          "ps -eo pid,comm | head -2; free | wc -l; uptime | wc -l; vmstat | wc -l; top -bn1 | grep -c Cpu",
          r" *PID COMMAND\n +1 init\n3\n1\n3\n1\n"),
    Trial("util-linux", "taskset, nice, flock, lscpu, findmnt", "taskset -c 2 nproc; nice -n 5 nice; "
          "flock /tmp/lock echo locked; lscpu | grep -c '^CPU(s): *4'; findmnt -n -o FSTYPE /proc", r"1\n5\nlocked\n1\nproc\n"),
    Trial("chrt, renice, uclampset", "classes and weights of a running thread changed; what is out of range or not there refused",
          "sleep 60 & chrt -f -p 10 $!; chrt -p $! | tail -1 | tail -c 3; chrt -o -p 0 $!; renice -n 5 -p $! > /dev/null; ps -o ni= -p $!; "
          "chrt -f -p 100 $! 2> /dev/null || echo refused; taskset -p 0xf0 $! 2>&1 > /dev/null | sed 's/.*: //'; "
          "uclampset -m 100 -p $! 2>&1 > /dev/null | sed 's/.*: //'; kill $!",
          r"10\n +5\nrefused\nInvalid argument\nOperation not supported\n"),
    Trial("htop", "draws its first screen with a meter for each core; the meters move",
          "(sleep 4; printf q) | TERM=linux timeout --foreground 20 htop > /tmp/screen; grep -ac Tasks /tmp/screen", r"1\n"),
    Trial("python3", "the interpreter, its library, threads", "timeout 120 python3 /host/threads.py", r"threads 4000 True\n"),
    Trial("python3 multiprocessing", "processes in a pool, queues, shared memory, subprocess",
          "timeout 120 python3 /host/processes.py", r"pool 2646700\nqueue 1225\nshared 200\nsubprocess THROUGH A PIPE\n"),
    Trial("lua5.4", "coroutines, string library, pipes to programs",
          r"""lua5.4 -e 'local c=coroutine.wrap(function() for i=1,3 do coroutine.yield(i) end end) print(c()+c()+c(), io.popen("echo out"):read())'""",
          r"6\tout\n"),
    Trial("sqlite3", "a database with a write-ahead log", "rm -f /tmp/t.db*; sqlite3 /tmp/t.db < /host/tables.sql",
          r"wal\njoined\|1999\nok\n"),
    Trial("gcc", "a threaded C program compiled, linked and run", "cd /tmp && timeout 200 gcc -O2 -pthread -o hello /host/hello.c -lm && "
          "./hello; cd", r"compiled here: 1 1\.5\n"),
    Trial("git", "commits, a merge, fsck, gc, status", "timeout 200 sh /host/git.sh", r" M file\n2\n"),
    Trial("sysbench cpu", "primes, 4 threads", "sysbench cpu --threads=4 --time=2 run | grep -c 'execution time'", r"1\n"),
    Trial("sysbench memory", "writes, 4 threads", "sysbench memory --threads=4 --time=2 run | grep -c transferred", r"1\n"),
    Trial("sysbench threads", "64 threads, 8 locks", "sysbench threads --threads=64 --time=2 run | grep -c 'execution time'",
          r"1\n"),
    Trial("sysbench mutex", "4 threads", "sysbench mutex --threads=4 --mutex-loops=100 --mutex-locks=1000 run | "
          "grep -c 'execution time'", r"1\n"),
    Trial("hackbench -p", "processes, and threads, that talk through pipes", "hackbench -p -g 2 -l 20 | grep -c Time; "
          "hackbench -p -T -g 2 -l 20 | grep -c Time", r"1\n1\n"),
    Trial("hackbench", "the same through socket pairs", "hackbench -g 2 -l 20 | grep -c Time", r"1\n"),
    Trial("cyclictest", "latency of timers, 4 real-time threads, all memory locked",
          "cyclictest -m -p 80 -t 4 -i 1000 -l 1000 -q | grep -c 'P:80.*Avg'", r"4\n"),
    Trial("cyclictest -S", "one thread for each core, histograms of latencies",
          "cyclictest -S -m -p 80 -i 1000 -l 200 -q -h 1000 | grep -c 'Max Latencies'", r"1\n"),
    Trial("get_cyclictest_snapshot", "a look at a cyclictest that runs", "timeout 100 sh /host/snapshot.sh", r"2\n"),
    Trial("pi_stress", "chains of priority inheritance between threads", "timeout 100 pi_stress --duration=2 --groups=1 -q | "
          "grep -c 'Total inversion'", r"1\n"),
    Trial("pip_stress", "a priority inversion between processes, if one comes about", "timeout 60 pip_stress 2>&1 | "
          "grep -cE 'Successfully used|No inversion'", r"1\n"),
    Trial("ptsematest", "latency of mutexes", "timeout 60 ptsematest -p 99 -i 100 -l 50 -q | grep -c 'Min.*Avg'", r"1\n"),
    Trial("sigwaittest", "latency of sigwait", "timeout 60 sigwaittest -t -a -p 99 -i 100 -l 50 -q | grep -c 'Min.*Avg'", r"4\n"),
    Trial("signaltest", "a ring of signals between threads", "timeout 60 signaltest -l 100 -p 80 -t 2 -q | grep -c Avg", r"2\n"),
    Trial("svsematest", "latency of System V's semaphores", "timeout 60 env _=/usr/bin/svsematest svsematest -t -a -p 99 -i 100 -l 50 -q | "
          "grep -c 'Min.*Avg'", r"4\n"),
    Trial("pmqtest", "latency of POSIX message queues", "timeout 60 pmqtest -t -a -p 99 -i 100 -l 50 -q | "
          "grep -c 'Min.*Avg'", r"4\n"),
    Trial("rt-migrate-test", "the highest real-time threads run, on whichever cores", "timeout 100 rt-migrate-test -l 5 -c -m 500000 2> /dev/null | "
          "grep -c Passed", r"1\n"),
    Trial("crashme", "random bytes executed as programs, for ten seconds", "timeout 60 crashme +2000 666 50 0:0:10 2> /dev/null | "
          "grep -c 'Test complete'", r"1\n"),
    Trial("zsh-static", "arrays, arithmetic, a process substitution",
          "zsh-static -fc 'a=(c a b); print ${(o)a} $(( 2**10 )) $(cat <(print in))'", r"a b c 1024 in\n"),
    Trial("oslat", "how long a busy thread is held up", "timeout 60 oslat -D 2 -q | grep -c 'Maximum:.*[0-9]'", r"1\n"),
    Trial("queuelat", "a queue that is to be served in time", "for i in 1 2 3; do sh -c 'timeout 60 queuelat -m 100000000 -c 100 "
          "-p 0.001 -f 1000 -t 4 -q 1000000 > /tmp/q; exit $?' 2> /dev/null && break; done; grep -c 'Avg loop' /tmp/q", r"1\n"),  # divides by 0 if stopped early
    Trial("determine_maximum_mpps", "runs queuelat for at least ten minutes: its first run begins", "timeout 100 sh /host/packets.sh",
          r"begun\n"),
    Trial("cyclicdeadline", "latency under SCHED_DEADLINE, two reservations", "timeout 60 cyclicdeadline -D 3 -i 400000 -s 100000 -t 2 -q < /dev/null | "
          "grep -c '^T: .*Max: *[0-9]'", r"2\n"),
    Trial("deadline_test", "reservations of processor time", "timeout 60 deadline_test -i 1000000 -t 2 -p 40 -P 10 < /dev/null | grep -c 'missed deadlines'",
          r"2\n"),
    Trial("chrt -d", "a program with a reservation", "chrt -d -T 5000000 -D 20000000 -P 20000000 0 chrt -p 0", r"(?s).*SCHED_DEADLINE.*"),
    Trial("ssdd", "a process that another one takes through its steps", "timeout 60 ssdd --forks=1 --iters=100 < /dev/null 2>&1 | "
          "grep -c 'All tests PASSED'", r"1\n"),
    Trial("strace", "the system calls of a shell and what it starts; a call that gets another answer",
          "strace -f -e trace=execve -o /tmp/calls sh -c '(cat /dev/null); true'; grep -c 'exited with 0' /tmp/calls; "
          "strace -e inject=getuid:retval=77 -o /dev/null id -ru", r"2\n77\n"),
    Trial("gdb", "breakpoints, steps, a watched variable and the threads of a program that is compiled there; its core file; a process that runs already",
          "timeout 200 sh /host/gdb.sh",
          r"#0  factorial \(n=2\)\n#1  factorial \(n=3\)\n#2  factorial \(n=4\)\n#3  main \(.*\)\n\$1 = address \"debugged\"\n"
          r"Value returned is \$2 = 2\nNew value = 24\nmain \(.*\)\nthread 1\nthread 2\nthread 3\nmain \(.*\)\n"
          r"#0  leave \(number=9\)\n#1  wait_for_all \(number=address\)\ndebugged: 42\nexited with code 03\n139\n"
          r"#0  leave \(number=-1\)\n#1  wait_for_all \(number=address\)\n\$1 = 24\nthread 1\nthread 2\nthread 3\n2\n"),
    Trial("hwlatdetect", "times at which the machine itself stood still", "timeout 60 hwlatdetect --duration=1 2>&1 | "
          "grep -c 'Samples recorded'", r"1\n", lacks="asks for a tracer (hwlat) that Debian's Linux is built without, too"),
    Trial("stress-ng --verify", f"{', '.join(loads.STRESSORS)}, at the same time",
          f"{loads.stress_ng(dict.fromkeys(loads.STRESSORS, 1), 5)} 2>&1 | grep -c 'successful run'", r"1\n"),
    Trial("redis", "the server on a UNIX socket, its client and its benchmark", "timeout 180 sh /host/redis.sh",
          r'PONG\nOK\n"value"\n2\n'),
    Trial("redis over TCP", "the same at a port of 127.0.0.1", "timeout 180 sh /host/redis.sh tcp", r'PONG\nOK\n"value"\n2\n'),
    Trial("python3, its servers", "HTTP with a thread for each request, asyncio, xmlrpc, objects between processes, UDP, over 127.0.0.1",
          "timeout 120 python3 -W ignore /host/servers.py 2> /dev/null", r"page 200 40\necho hello\nsum 5\nobject {'a': 1}\nanswer b'ping'\n"),
)

HEAD = """\
# Programs of Debian

Programs as Debian 12 ships them, unmodified and dynamically linked, on 4 cores. `./corral run --debian -- python3 -c 'print(6 * 7)'`
runs one, `./corral run --debian` gives a shell among them. The packages ({count} with their libraries, `lab/debian-packages.txt`)
are downloaded the first time, unpacked without being installed, and packed into an initramfs (`lab/debian.py`), with our own
programs (`corral-sched`, `corral-trace`, the loads) in `/usr/local/bin`.

Each line is a trial of `tests/system/test_debian_programs.py`: what works shows the expected output there, and what does not is
checked to fail still. The page is written by `python3 -m lab.programs`; a test compares.

"""


GO = """
## Go's tests of its standard library

Static binaries that `go test -c` makes of Debian's Go 1.19, run with `-test.short` (`tests/system/test_go.py`). Every test and
example of a package runs and passes but those named here (`lab/go_tests.py`).

| package | not run |
|---|---|
"""

WHOLE = """
## A whole Debian

Programs that bring hundreds of megabytes with them: `./corral test --all --filter test_whole_debian` has debootstrap install {count} packages and
what they need into a folder, boots with it as the root, and tries each (`lab/whole_debian.py`).

"""

TABLE = """\
| program | what it is asked to do | works |
|---|---|---|
"""


def _table(trials: tuple[Trial, ...]) -> str:
    return TABLE + "".join(f"| {trial.name} | {trial.does} | {f'no: {trial.lacks}' if trial.lacks else 'yes'} |\n" for trial in trials)


def page() -> str:
    go_rows = []
    for package in go_tests.PACKAGES:
        left_out = [f"{name}: {why}" for name, why in go_tests.EXCLUDED.get(package, {}).items()]
        go_rows.append(f"| {package} | {'; '.join(left_out) or 'none'} |")
    head = HEAD.format(count=len(debian.package_names()))
    whole = WHOLE.format(count=len(whole_debian.PACKAGES)) + _table(whole_debian.TRIALS)
    return head + _table(TRIALS) + whole + GO + "\n".join(go_rows) + "\n"


def main(arguments: list[str]) -> int:
    kept = paths.ROOT / PAGE
    if arguments == ["--check"]:
        if kept.is_file() and kept.read_text(encoding="utf-8") == page():
            return 0
        print(f"{PAGE} is not current: python3 -m lab.programs", file=sys.stderr)
        return 1
    kept.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
