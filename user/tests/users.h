// What the tests of users share: two users, children that become one of them, capabilities, and a directory for files.

#ifndef CORRAL_USER_TESTS_USERS_H
#define CORRAL_USER_TESTS_USERS_H

#include "tests/check.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace users {

constexpr unsigned alice = 1001, bob = 1002, staff = 2001;
inline char directory[] = "/tmp/usersXXXXXX";

// Good until eight more have been asked for.
inline const char* path(const char* name) {
  static char texts[8][64];
  static unsigned next = 0;
  char* text = texts[next++ % 8];
  snprintf(text, sizeof texts[0], "%s/%s", directory, name);
  return text;
}

inline const char* process_path(pid_t process, const char* name) {
  static char text[64];
  snprintf(text, sizeof text, "/proc/%d/%s", process, name);
  return text;
}

// Source: Linux uapi linux/capability.h.
enum Capability {
  CAP_CHOWN = 0,
  CAP_DAC_OVERRIDE = 1,
  CAP_DAC_READ_SEARCH = 2,
  CAP_KILL = 5,
  CAP_SETUID = 7,
  CAP_SYS_TIME = 25
};
struct CapabilityHeader {
  uint32_t version;
  int thread;
};
struct CapabilityData {
  uint32_t effective, permitted, inheritable;
};
constexpr uint32_t capability_version = 0x20080522;

// Runs `body` in a child and checks that it ended well.
template <class Body>
void in_child(Body&& body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

// `more`: the one supplementary group, if there is to be one.
inline void become(unsigned user, unsigned group, const gid_t* more = nullptr) {
  CHECK_EQ(setgroups(more != nullptr ? 1 : 0, more), 0);
  CHECK_EQ(setresgid(group, group, group), 0);
  CHECK_EQ(setresuid(user, user, user), 0);
}

struct Sets {
  uint64_t effective, permitted, inheritable;
};

inline Sets capabilities() {
  CapabilityHeader header = {capability_version, 0};
  CapabilityData data[2] = {};
  CHECK_EQ(syscall(SYS_capget, &header, data), 0);
  const auto both = [](uint32_t low, uint32_t high) { return low | static_cast<uint64_t>(high) << 32; };
  return {both(data[0].effective, data[1].effective), both(data[0].permitted, data[1].permitted),
          both(data[0].inheritable, data[1].inheritable)};
}

inline long set_capabilities(const Sets& sets) {
  CapabilityHeader header = {capability_version, 0};
  CapabilityData data[2] = {};
  for (int i = 0; i < 2; ++i) {
    data[i] = {static_cast<uint32_t>(sets.effective >> 32 * i), static_cast<uint32_t>(sets.permitted >> 32 * i),
               static_cast<uint32_t>(sets.inheritable >> 32 * i)};
  }
  return syscall(SYS_capset, &header, data);
}

constexpr uint64_t bit(int capability) {
  return uint64_t{1} << capability;
}

// The program that runs, under another name.
inline void copy_own_program(const char* name, mode_t mode) {
  const int from = open("/proc/self/exe", O_RDONLY);
  const int to = open(path(name), O_CREAT | O_WRONLY, mode);
  CHECK(from >= 0 && to >= 0);
  static char buffer[65536];
  for (ssize_t size = 0; (size = read(from, buffer, sizeof buffer)) > 0;)
    CHECK_EQ(write(to, buffer, static_cast<size_t>(size)), size);
  CHECK_EQ(close(from), 0);
  CHECK_EQ(close(to), 0);
  CHECK_EQ(chmod(path(name), mode), 0);
}

// The directory is made, and taken away with what is in it.
inline void begin() {
  CHECK_EQ(geteuid(), 0);
  CHECK(mkdtemp(directory) != nullptr);
  CHECK_EQ(chmod(directory, 0755), 0);
}

inline int end() {
  const char* const command[] = {"rm", "-rf", directory, nullptr};
  in_child([&] { CHECK_EQ(execvp("rm", const_cast<char**>(command)), 0); });
  return check_done();
}

}  // namespace users

#endif
