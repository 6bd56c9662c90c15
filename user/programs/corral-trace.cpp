// corral-trace: runs a program while the kernel's trace is on, and writes what the rings have then into a file.
//
//   corral-trace [-e EVENTS] [-t TAG] FILE PROGRAM [ARGUMENTS]
//
// EVENTS: groups of /proc/trace, such as "switch,wake" (default: all but those on demand; "on,arguments": with the arguments of calls,
// too). -t: FILE is in the host's folder with this mount tag. The exit status is the program's; 128 + N if a signal N ended it; 125: it
// could not be traced. docs/tracing.md.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int not_traced = 125;
const char control[] = "/proc/trace";
const char rings[] = "/dev/trace";
const char folder[] = "/tmp/.corral-trace";

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "corral-trace: %s: %s\n", what, strerror(errno));
  exit(not_traced);
}

[[noreturn]] void wrong_use() {
  fputs("usage: corral-trace [-e EVENTS] [-t TAG] FILE PROGRAM [ARGUMENTS]\n", stderr);
  exit(not_traced);
}

void set_trace(const char* events) {
  const int file = open(control, O_WRONLY);
  if (file < 0) fail(control);
  if (write(file, events, strlen(events)) < 0) fail(events);
  close(file);
}

// Reads what is there already: that is not of this program.
void skip_old(int reader) {
  static char records[64 << 10];
  while (read(reader, records, sizeof records) > 0) {}
}

void copy(int reader, const char* name) {
  static char records[64 << 10];
  const int to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (to < 0) fail(name);
  for (;;) {
    const ssize_t size = read(reader, records, sizeof records);
    if (size < 0) fail(rings);
    if (size == 0) break;
    for (ssize_t done = 0; done < size;) {
      const ssize_t written = write(to, records + done, static_cast<size_t>(size - done));
      if (written < 0) fail(name);
      done += written;
    }
  }
  if (close(to) != 0) fail(name);
}

int run(char** program) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    execvp(program[0], program);
    fprintf(stderr, "corral-trace: %s: %s\n", program[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
  }
  signal(SIGINT, SIG_IGN);  // Ctrl-C is for the program
  signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
  const char* events = "on";
  const char* tag = nullptr;
  for (int option; (option = getopt(argc, argv, "+e:t:")) != -1;) {
    if (option == 'e')
      events = optarg;
    else if (option == 't')
      tag = optarg;
    else
      wrong_use();
  }
  if (argc - optind < 2) wrong_use();
  char file[512];
  snprintf(file, sizeof file, "%s%s%s", tag != nullptr ? folder : "", tag != nullptr ? "/" : "", argv[optind]);
  const int reader = open(rings, O_RDONLY | O_CLOEXEC);
  if (reader < 0) fail(rings);
  skip_old(reader);
  set_trace(events);
  const int status = run(argv + optind + 1);
  set_trace("off");
  if (tag != nullptr) {  // not before: how long the host takes to answer would be part of a run that is to repeat
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) fail(folder);
    if (mount(tag, folder, "9p", 0, "trans=virtio") != 0) fail(tag);
  }
  copy(reader, file);
  if (tag != nullptr && umount(folder) != 0) fail(folder);
  return status;
}
