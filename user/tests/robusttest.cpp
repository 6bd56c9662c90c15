// Robust mutexes, without a library between: what the kernel does with the words on a thread's list when the thread ends, or executes
// a program. Source: Linux Documentation/locking/robust-futexes.

#include "tests/children.h"
#include "tests/futex_call.h"

#include <limits.h>
#include <stddef.h>
#include <sys/mman.h>

namespace {

using namespace futex_call;

constexpr Word owner_died = 0x4000'0000, has_waiters = 0x8000'0000;

struct Mutex {
  Mutex* next;
  Word word;
};

struct List {  // struct robust_list_head
  Mutex* first;
  long word_offset;
  Mutex* pending;
};

List* own_list() {
  static List list;
  list = {reinterpret_cast<Mutex*>(&list), offsetof(Mutex, word), nullptr};
  CHECK_EQ(syscall(SYS_set_robust_list, &list, sizeof list), 0);
  return &list;
}

void hold(List* list, Mutex& mutex, Word bits) {
  mutex.word = static_cast<Word>(syscall(SYS_gettid)) | bits;
  mutex.next = list->first;
  list->first = &mutex;
}

// Processes that wait for a word of shared memory, one after the other.
struct Waiters {
  pid_t children[2];

  Waiters(Mutex& mutex, Word value) {
    mutex.word = value;
    for (pid_t& child : children) {
      child = children::spawn([&] { return futex(&mutex.word, FUTEX_WAIT, value, &long_time) == 0 ? 0 : 1; });
    }
    check_sleep_us(300000);  // until they wait
  }
  // One was woken before, so this wakes the other one.
  void end(Mutex& mutex) const {
    CHECK_EQ(futex(&mutex.word, FUTEX_WAKE, INT_MAX), 1);
    for (const pid_t child : children) { children::expect_exit(child, 0); }
  }
};

void test_end(Mutex* mutexes) {
  Waiters waiters{mutexes[0], 7};
  const pid_t owner = children::spawn([&] {
    List* const list = own_list();
    for (Mutex* mutex = mutexes; mutex < mutexes + 3; ++mutex) { hold(list, *mutex, mutex == mutexes ? has_waiters : 0); }
    mutexes[1].word = 1;  // somebody else's
    list->pending = &mutexes[2];  // it is on the list, and counts once
    return 0;
  });
  children::expect_exit(owner, 0);
  CHECK_EQ(mutexes[0].word, owner_died | has_waiters);
  CHECK_EQ(mutexes[1].word, 1);
  CHECK_EQ(mutexes[2].word, owner_died);
  waiters.end(mutexes[0]);
}

// The owner ended between giving the mutex up and waking who waits for it: nobody else would wake the next one.
void test_end_before_waking(Mutex* mutexes) {
  Waiters waiters{mutexes[0], 7};
  const pid_t owner = children::spawn([&] {
    mutexes[0].word = 0;
    own_list()->pending = &mutexes[0];
    return 0;
  });
  children::expect_exit(owner, 0);
  CHECK_EQ(mutexes[0].word, 0);
  waiters.end(mutexes[0]);
}

void test_exec(Mutex* mutexes) {
  Waiters waiters{mutexes[0], 7};
  const pid_t owner = children::spawn([&] {
    hold(own_list(), mutexes[0], has_waiters);
    execl("/proc/self/exe", "robusttest", "exit", nullptr);
    return 1;
  });
  children::expect_exit(owner, 0);
  CHECK_EQ(mutexes[0].word, owner_died | has_waiters);
  waiters.end(mutexes[0]);
}

// A list that cannot be read ends where that is noticed; the last mutex before counts.
void test_bad_list(Mutex* mutexes) {
  const pid_t owner = children::spawn([&] {
    List* const list = own_list();
    hold(list, mutexes[1], 0);
    mutexes[1].next = reinterpret_cast<Mutex*>(64);
    hold(list, mutexes[0], 0);
    mutexes[2].word = mutexes[0].word;
    list->pending = &mutexes[2];
    return 0;
  });
  children::expect_exit(owner, 0);
  CHECK_EQ(mutexes[0].word, owner_died);
  CHECK_EQ(mutexes[1].word, owner_died);
  CHECK_EQ(mutexes[2].word & owner_died, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "exit") == 0) { return 0; }
  check_begin("robusttest", argc, argv);
  auto* mutexes = static_cast<Mutex*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(mutexes != MAP_FAILED);
  test_end(mutexes);
  test_end_before_waking(mutexes);
  test_exec(mutexes);
  test_bad_list(mutexes);
  return check_done();
}
