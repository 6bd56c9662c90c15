// Unmaps and maps pages again while threads on other cores use them, until its time is over, and counts stale hits.
//
//   stalepages SECONDS [WRITERS [READERS]]
//
// Each writer has pages of its own, and readers that look at them all the time. A page is taken away, by munmap or by
// another mapping in its place, and gets the next number after that; the number is told when it stands there. So a reader
// that was told of a number must find that one, a higher one, or 0, from a page that is newer still. Less is an old page: a
// stale hit, which ends the program. Where nothing is mapped at the moment the reader's fault is tried again.
// By default there is a writer for four cores, and as many readers as make it a thread for each core.
// The last line: "stalepages: N unmaps, M reads, F faults, 0 stale hits, SECONDS s". Runs on Linux as well.

#include "probes/argument.h"
#include "tests/mappings.h"

#include <pthread.h>
#include <sched.h>

namespace {

using namespace mappings;

constexpr char usage[] = "stalepages SECONDS [WRITERS [READERS]]";
constexpr int most_writers = 16;
constexpr int most_readers = 8;
constexpr int pages = 4;

struct alignas(64) Field {
  volatile uint64_t* memory;  // pages of them; word 0 has the number
  volatile uint64_t told[pages];
  uint64_t unmaps;
  pthread_t writer;
};
struct alignas(64) Reader {
  const Field* field;
  uint64_t reads;
  pthread_t thread;
};

Field fields[most_writers];
Reader all_readers[most_writers * most_readers];
bool all_are_there;  // before that nobody unmaps: a new thread's stack could come into the gap
bool time_is_over;
thread_local uint64_t faults_here;
uint64_t all_faults;

bool over() {
  return __atomic_load_n(&time_is_over, __ATOMIC_RELAXED);
}

// The access is tried again.
void note_fault(int, siginfo_t*, void*) {
  faults_here = faults_here + 1;
}

volatile uint64_t* page_of(const Field& field, int index) {
  return field.memory + static_cast<size_t>(index) * (page / sizeof(uint64_t));
}

void* read_pages(void* argument) {
  Reader& self = *static_cast<Reader*>(argument);
  const Field& field = *self.field;
  uint64_t reads = 0;
  while (!over()) {
    for (int index = 0; index < pages; ++index) {
      const uint64_t told = __atomic_load_n(&field.told[index], __ATOMIC_SEQ_CST);
      const uint64_t seen = __atomic_load_n(page_of(field, index), __ATOMIC_SEQ_CST);
      if (seen != 0 && seen < told) { CHECK_EQ(seen, told); }  // a stale hit
    }
    reads += pages;
  }
  self.reads = reads;
  __atomic_fetch_add(&all_faults, faults_here, __ATOMIC_RELAXED);
  return nullptr;
}

void* replace_pages(void* argument) {
  Field& field = *static_cast<Field*>(argument);
  while (!__atomic_load_n(&all_are_there, __ATOMIC_ACQUIRE)) { check_sleep_us(1000); }
  for (uint64_t number = 1; !over(); ++number) {
    for (int index = 0; index < pages; ++index) {
      auto* at = const_cast<uint64_t*>(page_of(field, index));
      // One in 64 leaves a moment in which nothing is there.
      if ((number + static_cast<uint64_t>(index)) % 64 == 0) { CHECK_EQ(munmap(at, page), 0); }
      if (mmap(at, page, read_write, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at) { CHECK(false); }
      if (*at != 0) { CHECK_EQ(*at, 0); }
      __atomic_store_n(at, number, __ATOMIC_SEQ_CST);
      __atomic_store_n(&field.told[index], number, __ATOMIC_SEQ_CST);
    }
    field.unmaps += pages;
  }
  return nullptr;
}

int at_least_one(int value, int most) {
  return value < 1 ? 1 : value < most ? value : most;
}

}  // namespace

int main(int argc, char** argv) {
  check_name = "stalepages";
  const int seconds = static_cast<int>(number_of(argc > 1 ? argv[1] : "", 1000000, usage));
  cpu_set_t allowed;
  CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const int cores = CPU_COUNT(&allowed);
  const int writers =
      argc > 2 ? static_cast<int>(number_of(argv[2], most_writers, usage)) : at_least_one(cores / 4, most_writers);
  const int readers =
      argc > 3 ? static_cast<int>(number_of(argv[3], most_readers, usage)) : at_least_one(cores / writers - 1, most_readers);
  struct sigaction action{};
  action.sa_sigaction = note_fault;
  action.sa_flags = SA_SIGINFO;
  CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  const int64_t begin = check_now_ns();
  for (int w = 0; w < writers; ++w) {
    Field& field = fields[w];
    field.memory = reinterpret_cast<volatile uint64_t*>(map(pages * page));
    CHECK_EQ(pthread_create(&field.writer, nullptr, replace_pages, &field), 0);
    for (int r = 0; r < readers; ++r) {
      Reader& reader = all_readers[w * most_readers + r];
      reader.field = &field;
      CHECK_EQ(pthread_create(&reader.thread, nullptr, read_pages, &reader), 0);
    }
  }
  __atomic_store_n(&all_are_there, true, __ATOMIC_RELEASE);
  check_sleep_us(int64_t{seconds} * 1000000);
  __atomic_store_n(&time_is_over, true, __ATOMIC_RELAXED);
  uint64_t unmaps = 0;
  uint64_t reads = 0;
  for (int w = 0; w < writers; ++w) {
    CHECK_EQ(pthread_join(fields[w].writer, nullptr), 0);
    unmaps += fields[w].unmaps;
    for (int r = 0; r < readers; ++r) {
      CHECK_EQ(pthread_join(all_readers[w * most_readers + r].thread, nullptr), 0);
      reads += all_readers[w * most_readers + r].reads;
    }
  }
  printf("stalepages: %llu unmaps, %llu reads, %llu faults, 0 stale hits, %lld s\n", static_cast<unsigned long long>(unmaps),
         static_cast<unsigned long long>(reads), static_cast<unsigned long long>(all_faults),
         static_cast<long long>((check_now_ns() - begin) / 1000000000));
  return 0;
}
