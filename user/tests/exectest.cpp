// Damaged programs: thousands of mutants of a small ELF file are executed. Each must be refused with ENOEXEC (or another
// error of execve), or its process ends by itself or by a signal; the parent goes on and the system with it.
// An argument scales the number of mutants.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdint.h>
#include <string.h>

#include "check.h"

namespace {

// 64 bytes of header, one program header, and: mov $60,%eax; mov $7,%edi; syscall  (exit with status 7).
constexpr unsigned char code[] = {0xb8, 60, 0, 0, 0, 0xbf, 7, 0, 0, 0, 0x0f, 0x05};

struct File {
  unsigned char ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  uint16_t type = 2, machine = 62;
  uint32_t version = 1;
  uint64_t entry = 0x400078, program_offset = 64, section_offset = 0;
  uint32_t flags = 0;
  uint16_t header_size = 64, entry_size = 56, count = 1, section_size = 0, sections = 0, names = 0;
  uint32_t p_type = 1, p_flags = 5;
  uint64_t p_offset = 0, p_address = 0x400000, p_physical = 0, p_file = 0x78 + sizeof code, p_memory = 0x78 + sizeof code,
           p_align = 0x1000;
  unsigned char text[sizeof code] = {};
};
static_assert(sizeof(File) >= 0x78 + sizeof code);

constexpr char path[] = "/tmp/exectest-mutant";

void write_program(const void* bytes, size_t size) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  CHECK(fd >= 0);
  CHECK_EQ(write(fd, bytes, size), static_cast<ssize_t>(size));
  CHECK_EQ(close(fd), 0);
}

// The status of a child that executes the file: 100 when execve refused.
int execute() {
  const pid_t child = vfork();
  if (child == 0) {
    char* const arguments[] = {const_cast<char*>(path), nullptr};
    execve(path, arguments, arguments + 1);
    _exit(100);
  }
  CHECK(child > 0);
  // A mutant may loop: its own limit of processor time is not part of what is tested here, so it is ended from outside.
  for (int waits = 0;; ++waits) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    CHECK(ended == 0 || ended == child);
    if (ended == child) return status;
    if (waits > 20) CHECK_EQ(kill(child, SIGKILL), 0);
    usleep(waits < 5 ? 200 : 2000);
  }
}

uint64_t state = 88172645463325252u;
uint64_t next_random() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("exectest", argc, argv);
  const int rounds = static_cast<int>(300 * check_effort);
  File good;
  memcpy(good.text, code, sizeof code);
  write_program(&good, sizeof good);
  const int status = execute();
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 7);

  int refused = 0;
  int ended = 0;
  int killed = 0;
  for (int round = 0; round < rounds; ++round) {
    unsigned char mutant[sizeof(File)];
    memcpy(mutant, &good, sizeof good);
    for (uint64_t changes = 1 + next_random() % 4; changes > 0; --changes) {
      // The header is what the system reads; the code only ends the mutant, well or badly.
      const uint64_t at = next_random() % 0x78;
      constexpr unsigned char interesting[] = {0, 1, 0x7f, 0x80, 0xff};
      mutant[at] =
          next_random() % 2 == 0 ? interesting[next_random() % sizeof interesting] : static_cast<unsigned char>(next_random());
    }
    const size_t size = next_random() % 8 == 0 ? next_random() % sizeof mutant : sizeof mutant;
    write_program(mutant, size);
    const int result = execute();
    CHECK(WIFEXITED(result) || WIFSIGNALED(result));
    if (WIFSIGNALED(result)) {
      ++killed;
    } else if (WEXITSTATUS(result) == 100) {
      ++refused;
    } else {
      ++ended;
    }
  }
  CHECK(refused > rounds / 10);
  CHECK_EQ(refused + ended + killed, rounds);
  CHECK_EQ(unlink(path), 0);
  printf("exectest: %d mutants: %d refused, %d ended by themselves, %d by a signal\n", rounds, refused, ended, killed);
  return check_done();
}
