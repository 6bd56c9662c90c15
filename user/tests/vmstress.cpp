// Address spaces under fire: threads map, write, protect, move, discard and unmap memory, read into pages that are shared
// copy-on-write, and fork children that look at everything, all at the same time, each thread checking its own contents.
// What the kernel gets wrong between cores shows as a wrong word or a fault.

#include "tests/check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace {

constexpr size_t page = 4096;
constexpr size_t words_per_page = page / sizeof(uint64_t);
constexpr int threads = 6;
constexpr size_t most_pages = 40;
constexpr int slots = 6;

struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  uint64_t below(uint64_t limit) { return next() % limit; }
};

// A mapping and what is expected of it: word 0 and a word in the middle of each page hold its mark, 0: untouched.
struct Slot {
  volatile uint64_t* memory;
  size_t pages;
  uint64_t marks[most_pages];
  bool writable;
};

struct Worker {
  pthread_t thread;
  Random random;
  Slot slot[slots];
  uint64_t newest;
  int ends[2];  // a pipe
};
Worker workers[threads];

volatile uint64_t& first(const Slot& s, size_t index) {
  return s.memory[index * words_per_page];
}
volatile uint64_t& middle(const Slot& s, size_t index) {
  return s.memory[index * words_per_page + words_per_page / 2];
}

bool intact(const Slot& s) {
  for (size_t index = 0; index < s.pages; ++index) {
    if (first(s, index) != s.marks[index] || middle(s, index) != s.marks[index]) { return false; }
  }
  return true;
}

void write_pages(Worker& w, Slot& s) {
  const size_t from = w.random.below(s.pages);
  const size_t to = from + 1 + w.random.below(s.pages - from);
  for (size_t index = from; index < to; ++index) {
    s.marks[index] = ++w.newest;
    first(s, index) = s.marks[index];
    middle(s, index) = s.marks[index];
  }
}

void make(Worker& w, Slot& s) {
  s.pages = 1 + w.random.below(most_pages);
  void* place = mmap(nullptr, s.pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(place != MAP_FAILED);
  s.memory = static_cast<volatile uint64_t*>(place);
  s.writable = true;
  memset(s.marks, 0, sizeof s.marks);
}

void unmake(Slot& s) {
  CHECK_EQ(munmap(const_cast<uint64_t*>(s.memory), s.pages * page), 0);
  s.memory = nullptr;
}

void set_writable(Slot& s, bool writable) {
  CHECK_EQ(mprotect(const_cast<uint64_t*>(s.memory), s.pages * page, writable ? PROT_READ | PROT_WRITE : PROT_READ), 0);
  s.writable = writable;
}

void discard(Worker& w, Slot& s) {
  const size_t from = w.random.below(s.pages);
  const size_t count = 1 + w.random.below(s.pages - from);
  CHECK_EQ(madvise(const_cast<uint64_t*>(&first(s, from)), count * page, MADV_DONTNEED), 0);
  for (size_t index = from; index < from + count; ++index) { s.marks[index] = 0; }
}

void replace(Worker& w, Slot& s) {
  const size_t from = w.random.below(s.pages);
  const size_t count = 1 + w.random.below(s.pages - from);
  void* at = const_cast<uint64_t*>(&first(s, from));
  CHECK(mmap(at, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
  for (size_t index = from; index < from + count; ++index) { s.marks[index] = 0; }
}

void move(Worker& w, Slot& s) {
  const size_t pages = 1 + w.random.below(most_pages);
  void* place = mremap(const_cast<uint64_t*>(s.memory), s.pages * page, pages * page, MREMAP_MAYMOVE);
  CHECK(place != MAP_FAILED);
  s.memory = static_cast<volatile uint64_t*>(place);
  for (size_t index = s.pages; index < pages; ++index) { s.marks[index] = 0; }
  s.pages = pages;
}

// The kernel writes the marks.
void read_in(Worker& w, Slot& s) {
  const size_t index = w.random.below(s.pages);
  s.marks[index] = ++w.newest;
  volatile uint64_t* const places[] = {&first(s, index), &middle(s, index)};
  for (volatile uint64_t* to : places) {
    CHECK_EQ(write(w.ends[1], &s.marks[index], sizeof(uint64_t)), static_cast<ssize_t>(sizeof(uint64_t)));
    CHECK_EQ(read(w.ends[0], const_cast<uint64_t*>(to), sizeof(uint64_t)), static_cast<ssize_t>(sizeof(uint64_t)));
  }
}

// The child has this thread's memory as it is now, whatever the others do, and can write it without the parent's notice.
void fork_child(Worker& w) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (int round = 0; round < 2; ++round) {
      for (Slot& s : w.slot) {
        if (s.memory == nullptr) { continue; }
        if (!intact(s)) { _exit(1); }
        if (s.writable) { write_pages(w, s); }
      }
    }
    _exit(0);
  }
  for (Slot& s : w.slot) {
    if (s.memory != nullptr && s.writable) { write_pages(w, s); }
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

void* work(void* argument) {
  Worker& w = *static_cast<Worker*>(argument);
  for (long round = 0; round < 600 * check_effort; ++round) {
    Slot& s = w.slot[w.random.below(slots)];
    if (s.memory == nullptr) {
      make(w, s);
      continue;
    }
    CHECK(intact(s));
    const uint64_t what = w.random.below(100);
    if (what < 2) {
      fork_child(w);
    } else if (what < 12) {
      unmake(s);
    } else if (what < 22) {
      set_writable(s, !s.writable);
    } else if (what < 30) {
      discard(w, s);
    } else if (!s.writable) {
      set_writable(s, true);
    } else if (what < 38) {
      replace(w, s);
    } else if (what < 46) {
            // Pieces of different mappings cannot be moved as one: make it one first.
      unmake(s);
      make(w, s);
      write_pages(w, s);
      move(w, s);
    } else if (what < 56) {
      read_in(w, s);
    } else {
      write_pages(w, s);
    }
    CHECK(s.memory == nullptr || intact(s));
  }
  for (Slot& s : w.slot) {
    if (s.memory != nullptr) {
      CHECK(intact(s));
      unmake(s);
    }
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("vmstress", argc, argv);
  for (int index = 0; index < threads; ++index) {
    Worker& w = workers[index];
    w.random.state = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(index + 1);
    w.newest = static_cast<uint64_t>(index) << 48;
    CHECK_EQ(pipe(w.ends), 0);
    CHECK_EQ(pthread_create(&w.thread, nullptr, work, &w), 0);
  }
  for (Worker& w : workers) { CHECK_EQ(pthread_join(w.thread, nullptr), 0); }
  return check_done();
}
