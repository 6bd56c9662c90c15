// What every system call answers to wrong arguments: each argument in its turn takes values that are wrong in some way,
// or right, while the others are good. One line for each case, so that the output on two systems can be compared
// (tests/system/test_errno.py); the program itself judges nothing but that each case comes to an end.
//
// Each argument of a call is tried by a child of its own. A child that is ended by a signal, or waits for too long, is
// named, and another goes on with the next case.
//
// `errnotest pairs`: two arguments at a time take their values; this shows the order of the checks. One line for each pair
// of arguments and value of the first.
//
// For guests only. It works as root, and a kernel that does not refuse what it should may do it to the first process or
// to a clock.

#include "probes/errno/table.h"

#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace {

using errnotest::Argument;
using errnotest::Row;
using errnotest::Value;

constexpr unsigned seconds_for_a_child = 5;
constexpr int none = -1;

struct Shared {
  volatile int at;  // the case that is tried: after the child's end, the last one
  char value[16];   // what it was about
};
Shared* shared;

const char* name_of(long error) {
  static constexpr struct {
    int error;
    const char* name;
  } names[] = {
#define NAME(error) {error, #error}
      NAME(EPERM),           NAME(ENOENT),       NAME(ESRCH),
      NAME(EINTR),           NAME(EIO),          NAME(ENXIO),
      NAME(E2BIG),           NAME(ENOEXEC),      NAME(EBADF),
      NAME(ECHILD),          NAME(EAGAIN),       NAME(ENOMEM),
      NAME(EACCES),          NAME(EFAULT),       NAME(ENOTBLK),
      NAME(EBUSY),           NAME(EEXIST),       NAME(EXDEV),
      NAME(ENODEV),          NAME(ENOTDIR),      NAME(EISDIR),
      NAME(EINVAL),          NAME(ENFILE),       NAME(EMFILE),
      NAME(ENOTTY),          NAME(ETXTBSY),      NAME(EFBIG),
      NAME(ENOSPC),          NAME(ESPIPE),       NAME(EROFS),
      NAME(EMLINK),          NAME(EPIPE),        NAME(EDOM),
      NAME(ERANGE),          NAME(EDEADLK),      NAME(ENAMETOOLONG),
      NAME(ENOLCK),          NAME(ENOSYS),       NAME(ENOTEMPTY),
      NAME(ELOOP),           NAME(ENODATA),      NAME(EOVERFLOW),
      NAME(ENOTSOCK),        NAME(EDESTADDRREQ), NAME(EMSGSIZE),
      NAME(EPROTOTYPE),      NAME(ENOPROTOOPT),  NAME(EPROTONOSUPPORT),
      NAME(ESOCKTNOSUPPORT), NAME(EOPNOTSUPP),   NAME(EAFNOSUPPORT),
      NAME(EADDRINUSE),      NAME(EISCONN),      NAME(ENOTCONN),
      NAME(ETIMEDOUT),       NAME(ECONNREFUSED), NAME(EALREADY),
      NAME(EINPROGRESS),
#undef NAME
  };
  for (const auto& one : names) {
    if (one.error == error) { return one.name; }
  }
  static char text[24];
  snprintf(text, sizeof text, "errno-%ld", error);
  return text;
}

const char* try_call(const Row& row, const long* arguments) {
  if (row.changes) { errnotest::restore(); }
  errno = 0;
  const long result = syscall(row.number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  return result == -1 ? name_of(errno) : "ok";
}

const char* label_of(const Value& value) {
  if (value.label != nullptr) { return value.label; }
  static char text[24];
  snprintf(text, sizeof text, "%ld", value.value);
  return text;
}

void take_good(const Row& row, long* arguments) {
  for (int i = 0; i < errnotest::most_arguments; ++i) { arguments[i] = row.argument[i].good; }
}

// Case `number` of this argument; none stands for the good value.
void print_case(const Row& row, int which, int number, const char* answer) {
  if (number == none) {
    printf("%s: %s\n", row.name, answer);
  } else {
    const Argument& argument = row.argument[which];
    printf("%s, %s %d %s: %s\n", row.name, argument.name, which + 1, label_of(argument.values[number]), answer);
  }
  fflush(stdout);
}

// ---- one argument at a time -------------------------------------------------------------------------------------------------

void try_singles(const Row& row, int which, int from) {
  for (int number = from; number < row.argument[which].count; ++number) {
    if (number == none && (which != 0 || !row.harmless)) { continue; }
    long arguments[errnotest::most_arguments];
    take_good(row, arguments);
    if (number != none) { arguments[which] = row.argument[which].values[number].value; }
    shared->at = number;
    print_case(row, which, number, try_call(row, arguments));
  }
}

// ---- two at a time ----------------------------------------------------------------------------------------------------------

struct Pair {
  int first, second;
};

// Answers in the order of the second's values; equal ones in a row are counted.
void try_pair(const Row& row, Pair pair, int number) {
  long arguments[errnotest::most_arguments];
  take_good(row, arguments);
  arguments[pair.first] = row.argument[pair.first].values[number].value;
  printf("%s, %d %s, %d:", row.name, pair.first + 1, label_of(row.argument[pair.first].values[number]), pair.second + 1);
  const char* last = nullptr;
  int times = 0;
  const auto tell = [&] {
    if (times > 1) { printf("*%d", times); }
  };
  for (int i = 0; i < row.argument[pair.second].count; ++i) {
    arguments[pair.second] = row.argument[pair.second].values[i].value;
    const char* answer = try_call(row, arguments);
    if (last != nullptr && strcmp(last, answer) == 0) {
      ++times;
      continue;
    }
    tell();
    printf(" %s", answer);
    last = answer;
    times = 1;
  }
  tell();
  printf("\n");
  fflush(stdout);
}

void try_pairs(const Row& row, Pair pair, int from) {
  for (int number = from; number < row.argument[pair.first].count; ++number) {
    shared->at = number;
    try_pair(row, pair, number);
  }
}

// ---- children ---------------------------------------------------------------------------------------------------------------

// Runs this in children until one of them comes to the end; `failed` hears of the cases at which others were ended.
template <typename Try, typename Failed>
void in_children(int from, Try attempt, Failed failed) {
  for (;;) {
    shared->at = from;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      errnotest::make_fixture();
      signal(SIGPIPE, SIG_IGN);
      alarm(seconds_for_a_child);
      attempt(from);
      _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      CHECK_EQ(WEXITSTATUS(status), 0);
      return;
    }
    snprintf(shared->value, sizeof shared->value, "signal %d", WTERMSIG(status));
    failed(shared->at, shared->value);
    from = shared->at + 1;
  }
}

void try_row(const Row& row, bool pairs) {
  for (int i = 0; i < row.arguments || i == 0; ++i) {
    if (row.argument[i].count == 0 && (i != 0 || !row.harmless)) { continue; }
    if (!pairs) {
      in_children(
          none, [&](int from) { try_singles(row, i, from); },
          [&](int at, const char* answer) { print_case(row, i, at, answer); });
    }
    for (int j = 0; pairs && j < row.arguments; ++j) {
      if (i == j || row.argument[j].count == 0) { continue; }
      in_children(
          0, [&](int from) { try_pairs(row, {i, j}, from); }, [&](int, const char* answer) { printf(" %s\n", answer); });
    }
    ++check_count;
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_name = "errnotest";
  const bool pairs = argc == 2 && strcmp(argv[1], "pairs") == 0;
  const bool singles = argc == 2 && strcmp(argv[1], "singles") == 0;
  if ((!pairs && !singles) || getenv("IN_A_GUEST") == nullptr) {
    fprintf(stderr, "usage: IN_A_GUEST=1 errnotest singles|pairs   only where nothing can be damaged\n");
    return 2;
  }
  setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  shared = static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  errnotest::make_values();
  static errnotest::Table table;
  errnotest::add_file_rows(table);
  errnotest::add_path_rows(table);
  errnotest::add_memory_rows(table);
  errnotest::add_process_rows(table);
  errnotest::add_time_rows(table);
  errnotest::add_event_rows(table);
  for (int i = 0; i < table.size(); ++i) { try_row(table[i], pairs); }
  errnotest::restore();
  return check_done();
}
