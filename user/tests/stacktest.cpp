// Stacks that grow: the first thread's as far as RLIMIT_STACK says, areas of MAP_GROWSDOWN, what keeps its distance from them and what a
// program hears where they end. Gives the same result on Linux.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/children.h"
#include "tests/mappings.h"

namespace {

using namespace mappings;

constexpr size_t mib = size_t{1} << 20, gap = mib;

struct Range {
  uintptr_t start, end;
};

// The area that holds the address; 0, 0: none.
Range area_of(const volatile void* address) {
  FILE* file = fopen("/proc/self/maps", "r");
  CHECK(file != nullptr);
  char line[256];
  Range found = {0, 0};
  unsigned long from = 0, to = 0;
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  while (fgets(line, sizeof line, file) != nullptr) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && from <= wanted && wanted < to) found = {from, to};
  }
  CHECK_EQ(fclose(file), 0);
  return found;
}

bool has_area(const volatile void* address) {
  return area_of(address).end != 0;
}

void limit(int resource, rlim_t bytes) {
  const rlimit value = {bytes, RLIM_INFINITY};
  CHECK_EQ(setrlimit(resource, &value), 0);
}

// Touches the stack page by page down to `bytes` below.
[[gnu::noinline]] void use_stack(size_t bytes) {
  volatile char here[page];
  here[0] = 1;
  if (bytes > page) use_stack(bytes - page);
  __asm__ volatile("" : : "r"(here) : "memory");
}

// In a child, on a stack of its own for signals.
template <class Body>
void in_child(Body&& body) {
  children::expect_exit(children::spawn([&] {
                          static char other[64 << 10];
                          const stack_t stack = {other, 0, sizeof other};
                          CHECK_EQ(sigaltstack(&stack, nullptr), 0);
                          struct sigaction action = {};
                          action.sa_sigaction = on_fault;
                          action.sa_flags = SA_SIGINFO | SA_ONSTACK;
                          CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
                          body();
                          return 0;
                        }),
                        0);
}

void expect_overrun() {
  CHECK_EQ(fault_signal, SIGSEGV);
  CHECK_EQ(fault_code, SEGV_MAPERR);
}

void test_first_stack() {
  char here = 0;
  const Range at_first = area_of(&here);
  CHECK(at_first.end - at_first.start < mib);
  in_child([&] {
    use_stack(5 * mib);
    const Range grown = area_of(&here);
    CHECK_EQ(grown.end, at_first.end);
    CHECK(grown.end - grown.start >= 5 * mib && grown.end - grown.start < 6 * mib);
    CHECK(faults([] { use_stack(9 * mib); }));
    expect_overrun();
    const Range full = area_of(&here);
    CHECK(full.end - full.start <= 8 * mib && full.end - full.start > 8 * mib - 4 * page);
    CHECK(reinterpret_cast<uintptr_t>(fault_address) < full.start);
    CHECK(reinterpret_cast<uintptr_t>(fault_address) >= full.start - 2 * page);
  });
  in_child([&] {  // the limit of the moment counts
    limit(RLIMIT_STACK, mib);
    CHECK(faults([] { use_stack(2 * mib); }));
    expect_overrun();
    limit(RLIMIT_STACK, 20 * mib);
    use_stack(18 * mib);
    CHECK(faults([] { use_stack(21 * mib); }));
    expect_overrun();
  });
  in_child([&] {  // so does that of all memory
    use_stack(mib);
    limit(RLIMIT_AS, 3 * mib);
    CHECK(faults([] { use_stack(6 * mib); }));
    expect_overrun();
  });
  // Without a stack for signals there is nowhere to handle one.
  children::expect_signal(children::spawn([] {
                            use_stack(9 * mib);
                            return 0;
                          }),
                          SIGSEGV);
}

// Calls make it grow as well, when they store there.
void test_calls() {
  in_child([] {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(write(ends[1], "text", 4), 4);
    char here = 0;
    auto* const low = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(&here) - 3 * mib);
    CHECK(!has_area(low));
    CHECK_EQ(read(ends[0], low, 4), 4);
    CHECK(has_area(low) && memcmp(low, "text", 4) == 0);
    auto* const too_low = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(&here) - 9 * mib);
    CHECK_EQ(write(ends[1], "text", 4), 4);
    CHECK_ERRNO(read(ends[0], too_low, 4), EFAULT);
  });
}

// Free addresses, `below` of them under an area of `size` that grows.
char* growing(size_t size, size_t below, int protection = read_write) {
  char* all = map(below + size, PROT_NONE);
  CHECK_EQ(munmap(all, below + size), 0);
  return map(size, protection, MAP_GROWSDOWN | MAP_FIXED, all + below);
}

void test_growing_areas() {
  in_child([] {
    char* area = growing(2 * page, 4 * mib);
    area[0] = 'a';
    area[-8 * static_cast<long>(page)] = 'b';  // however far
    CHECK_EQ(area_of(area).start, reinterpret_cast<uintptr_t>(area) - 8 * page);
    CHECK_EQ(area_of(area).end, reinterpret_cast<uintptr_t>(area) + 2 * page);
    CHECK_EQ(area[-static_cast<long>(page)], 0);
    CHECK_EQ(*const_cast<volatile char*>(area - 9 * page), 0);  // reading is enough
    CHECK_EQ(area[0], 'a');
    const pid_t child = children::spawn([&] {
      area[-20 * static_cast<long>(page)] = 'c';
      return area[-8 * static_cast<long>(page)] == 'b' && has_area(area - 20 * page) ? 0 : 1;
    });
    children::expect_exit(child, 0);
    CHECK(!has_area(area - 20 * page));
    limit(RLIMIT_STACK, mib);
    expect_read_fault(area + 2 * page - mib - page, SEGV_MAPERR);
    CHECK(!faults([&] { area[2 * static_cast<long>(page) - static_cast<long>(mib)] = 1; }));
    CHECK_EQ(area_of(area).end - area_of(area).start, mib);
    // What is left of it grows as before.
    CHECK_EQ(munmap(area - 64 * page, 64 * page), 0);
    area[-static_cast<long>(page)] = 1;
    CHECK_EQ(area_of(area).start, reinterpret_cast<uintptr_t>(area) - page);
    // It grows with its rights.
    CHECK_EQ(mprotect(area - page, 3 * page, PROT_READ), 0);
    expect_write_fault(area - 3 * page, SEGV_ACCERR);
  });
}

void test_distance() {
  in_child([] {
    char* area = growing(page, 4 * mib);
    map(page, read_write, MAP_FIXED, area - 2 * gap);
    area[page - gap] = 1;  // a gap from there to the end of the mapping
    CHECK(faults([&] { area[-static_cast<long>(gap)] = 1; }));
    expect_overrun();
    CHECK_EQ(area_of(area).start, reinterpret_cast<uintptr_t>(area) + page - gap);
    // What cannot be accessed need not keep away.
    CHECK_EQ(mprotect(area - 2 * gap, page, PROT_NONE), 0);
    area[page - 2 * gap] = 1;
    CHECK(faults([&] { area[-2 * static_cast<long>(gap)] = 1; }));
    CHECK_EQ(fault_code, SEGV_ACCERR);
  });
  in_child([] {  // who asks for no place, or only wishes for one, keeps away by himself
    char* area = growing(page, 4 * mib);
    void* near = mmap(area - 16 * page, page, read_write, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(near != MAP_FAILED && near != area - 16 * page);
    void* far = mmap(area - gap - 32 * page, page, read_write, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_EQ(reinterpret_cast<uintptr_t>(far), reinterpret_cast<uintptr_t>(area) - gap - 32 * page);
    for (int i = 0; i < 200; ++i) {
      char* some = map((1 + static_cast<size_t>(i) % 7) * page, i % 2 == 0 ? PROT_READ : PROT_NONE);
      CHECK(some >= area || some + (1 + static_cast<size_t>(i) % 7) * page <= area - gap);
    }
  });
}

void test_errors() {
  CHECK_ERRNO(reinterpret_cast<intptr_t>(mmap(nullptr, page, read_write, MAP_SHARED | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0)),
              EINVAL);
  const int file = open("/proc/self/exe", O_RDONLY);
  CHECK(file >= 0);
  CHECK_ERRNO(reinterpret_cast<intptr_t>(mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_GROWSDOWN, file, 0)), EINVAL);
  CHECK_EQ(close(file), 0);
  constexpr int with_start = PROT_GROWSDOWN, with_end = PROT_GROWSUP;
  char* area = growing(4 * page, mib);
  CHECK_ERRNO(mprotect(area, page, PROT_READ | with_start | with_end), EINVAL);
  CHECK_ERRNO(mprotect(area, page, PROT_READ | with_end), EINVAL);
  CHECK_ERRNO(mprotect(area - page, page, PROT_READ | with_start), ENOMEM);
  char* plain = map(page);
  CHECK_ERRNO(mprotect(plain, page, PROT_READ | with_start), EINVAL);
  CHECK_EQ(munmap(plain, page), 0);
  CHECK_ERRNO(mprotect(plain, page, PROT_READ | with_end), ENOMEM);
  CHECK_EQ(mprotect(area + 2 * page, page, PROT_READ | with_start), 0);
  CHECK_EQ(area_of(area).end, reinterpret_cast<uintptr_t>(area) + 3 * page);  // from its start on
  CHECK_EQ(munmap(area, 4 * page), 0);
}

// While one thread uses what grows, another takes parts of it away, which come back empty, and makes mappings.
struct Contest {
  char* area;
  volatile bool over;
  char* other = nullptr;
};

// An area for a contest.
char* growing_alone() {
  char* area = growing(page, 4 * mib);
  map(2 * mib, PROT_NONE, MAP_FIXED, area - 3 * mib);  // nothing that it would have to keep away from comes nearer
  return area;
}

void* take_away(void* argument) {
  auto& contest = *static_cast<Contest*>(argument);
  uint32_t random = 1;
  while (!contest.over) {
    random = random * 1664525 + 1013904223;
    const size_t pages = 1 + (random >> 20) % 60;
    if (random >> 31 != 0) {
      CHECK_EQ(munmap(contest.area - 64 * page, pages * page), 0);
    } else {
      char* own = map(pages * page);
      memset(own, 'x', pages * page);
      CHECK(own + pages * page <= contest.area - gap || own >= contest.area);
      CHECK_EQ(own[pages * page - 1], 'x');
      CHECK_EQ(munmap(own, pages * page), 0);
    }
  }
  return nullptr;
}

void test_contest() {
  Contest contest = {growing_alone(), false};
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, take_away, &contest), 0);
  uint32_t random = 7;
  for (long i = 0; i < 6'000 * check_effort; ++i) {
    random = random * 1664525 + 1013904223;
    volatile char* const at = contest.area - ((random >> 20) % 64 + 1) * page;
    const char seen = *at;
    CHECK(seen == 0 || seen == 's');
    *at = 's';
  }
  contest.over = true;
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

void* change_rights(void* argument) {
  auto& contest = *static_cast<Contest*>(argument);
  while (!contest.over) {
    const int changed = mprotect(contest.area, page, read_write | PROT_GROWSDOWN);
    CHECK(changed == 0 || errno == ENOMEM || errno == EINVAL);
    map(page, read_write, MAP_FIXED, contest.other);  // whatever became of that, this is possible
  }
  return nullptr;
}

// Two threads look for an area that grows, to change its rights, while a third makes it and takes it away.
void test_contest_of_rights() {
  Contest contest = {growing_alone(), false, map(page)};
  pthread_t threads[2];
  for (pthread_t& thread : threads) CHECK_EQ(pthread_create(&thread, nullptr, change_rights, &contest), 0);
  for (long i = 0; i < 1'000 * check_effort; ++i) {
    CHECK_EQ(munmap(contest.area, page), 0);
    map(page, read_write, MAP_FIXED | MAP_GROWSDOWN, contest.area);
    contest.area[0] = 's';
  }
  contest.over = true;
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
}

void* touch_below(void* argument) {
  auto& contest = *static_cast<Contest*>(argument);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  volatile char* const below = contest.area - 20 * page;
  while (!contest.over) (void)faults([below] { *below = 's'; });  // it does when the distance is too small
  return nullptr;
}

// One thread moves what becomes shorter to where an area would grow over it; another lets it grow.
void test_contest_of_places() {
  constexpr size_t longer = 8 * page, shorter = 4 * page;
  Contest contest = {growing_alone(), false};
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, touch_below, &contest), 0);
  char* const target = contest.area - 16 * page;
  for (long i = 0; i < 1'000 * check_effort; ++i) {
    char* own = map(longer);
    memset(own, 'm', longer);
    CHECK(mremap(own, longer, shorter, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
    for (size_t at = 0; at < shorter; at += page) CHECK_EQ(target[at], 'm');
    CHECK(!has_area(own));
    const Range moved = area_of(target);
    CHECK(moved.start <= reinterpret_cast<uintptr_t>(target) && moved.end >= reinterpret_cast<uintptr_t>(target) + shorter);
    CHECK_EQ(munmap(contest.area - 64 * page, 64 * page), 0);
  }
  contest.over = true;
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("stacktest", argc, argv);
  limit(RLIMIT_STACK, 8 * mib);
  test_first_stack();
  test_calls();
  test_growing_areas();
  test_distance();
  test_errors();
  test_contest();
  test_contest_of_rights();
  test_contest_of_places();
  return check_done();
}
