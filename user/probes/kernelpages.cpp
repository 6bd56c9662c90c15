// Tries to get at every page of the kernel: reads it, writes it, executes it, and has the kernel read and write it as a
// pointer that a system call is given. Each try must end in SIGSEGV with that address, told as if nothing were mapped
// there, or in EFAULT. The pages come from /proc/kernel-map, so the guest must have been booted with `provoke`.
//
//   kernelpages [STRIDE]     every STRIDE-th page of the direct map (1); of all else always every page
//
// As many threads as cores share the work, each on a core of its own, so that every core's translations are tried.
// It ends with a line such as "kernelpages: 131072 pages, 655360 tries, 0 open".

#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <ucontext.h>

// Each is left by `ret`, or by the handler as if it were. They answer 0 when the access went through.
asm(".pushsection .text\n"
    ".globl try_read\n.type try_read, @function\ntry_read:\n  movb (%rdi), %al\n  xor %eax, %eax\n  ret\n"
    ".globl try_write\n.type try_write, @function\ntry_write:\n  movb $0, (%rdi)\n  xor %eax, %eax\n  ret\n"
    ".globl try_execute\n.type try_execute, @function\ntry_execute:\n  jmp *%rdi\n"
    ".popsection\n");
extern "C" long try_read(uintptr_t address);
extern "C" long try_write(uintptr_t address);
extern "C" long try_execute(uintptr_t address);

namespace {

constexpr size_t page = 4096;
constexpr long refused = 1;
constexpr long told_wrongly = 2;
constexpr uintptr_t direct_map = 0xffff800000000000;
constexpr uintptr_t direct_map_end = 0xffffc00000000000;
constexpr int most_ranges = 4096;
constexpr int most_threads = 64;

struct Range {
  uintptr_t from;
  size_t pages;
  size_t stride;
};
Range ranges[most_ranges];
int range_count;
int thread_count;

thread_local uintptr_t tried;
unsigned long pages_tried;
unsigned long tries;
unsigned long open_pages;

// Leaves the function that faulted: its return address is on top of the stack, whichever of the three it is.
void on_fault(int signal, siginfo_t* info, void* context) {
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const bool right = signal == SIGSEGV && info->si_code == SEGV_MAPERR && reinterpret_cast<uintptr_t>(info->si_addr) == tried;
  const auto* stack = reinterpret_cast<const greg_t*>(registers[REG_RSP]);
  registers[REG_RIP] = *stack;
  registers[REG_RSP] += 8;
  registers[REG_RAX] = right ? refused : told_wrongly;
}

void expect_refused(long answer, const char* kind) {
  __atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED);
  if (answer == refused) { return; }
  if (__atomic_fetch_add(&open_pages, 1, __ATOMIC_RELAXED) < 20) {
    printf("%s of 0x%lx %s\n", kind, tried, answer == told_wrongly ? "was told otherwise than nothing mapped" : "went through");
  }
}

void try_page(uintptr_t address) {
  tried = address;
  expect_refused(try_read(address), "reading");
  expect_refused(try_write(address), "writing");
  expect_refused(try_execute(address), "executing");
  errno = 0;
  const bool read = open(reinterpret_cast<const char*>(address), O_RDONLY) == -1 && errno == EFAULT;
  expect_refused(read ? refused : 0, "the kernel's reading");
  errno = 0;
  const bool written = pipe(reinterpret_cast<int*>(address)) == -1 && errno == EFAULT;
  expect_refused(written ? refused : 0, "the kernel's writing");
  __atomic_fetch_add(&pages_tried, 1, __ATOMIC_RELAXED);
}

void* try_share(void* argument) {
  const auto self = reinterpret_cast<uintptr_t>(argument);
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(self, &only);
  CHECK_EQ(sched_setaffinity(0, sizeof only, &only), 0);
  for (int index = 0; index < range_count; ++index) {
    const Range& range = ranges[index];
    const size_t step = range.stride * static_cast<size_t>(thread_count);
    for (size_t number = self * range.stride; number < range.pages; number += step) {
      try_page(range.from + number * page + number % page / 8 * 8);  // not only the first bytes
    }
  }
  return nullptr;
}

void read_ranges(size_t stride) {
  FILE* list = fopen("/proc/kernel-map", "r");
  CHECK(list != nullptr);
  char line[128];
  while (fgets(line, sizeof line, list) != nullptr) {
    char* end = nullptr;
    CHECK(range_count < most_ranges);
    Range& range = ranges[range_count++];
    range.from = strtoul(line, &end, 16);
    range.pages = strtoul(end, nullptr, 10);
    CHECK(range.from >= direct_map && range.pages > 0);
    range.stride = range.from < direct_map_end ? stride : 1;
  }
  CHECK_EQ(fclose(list), 0);
  CHECK(range_count > 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("kernelpages", argc, argv);
  read_ranges(static_cast<size_t>(check_effort));
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  using Signals = const int[];
  for (const int signal : Signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    CHECK_EQ(sigaction(signal, &action, nullptr), 0);
  }
  thread_count = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  CHECK(thread_count >= 1 && thread_count <= most_threads);
  pthread_t threads[most_threads];
  for (long index = 0; index < thread_count; ++index) {
    CHECK_EQ(pthread_create(&threads[index], nullptr, try_share, reinterpret_cast<void*>(index)), 0);
  }
  for (int index = 0; index < thread_count; ++index) { CHECK_EQ(pthread_join(threads[index], nullptr), 0); }
  printf("kernelpages: %lu pages, %lu tries, %lu open\n", pages_tried, tries, open_pages);
  return open_pages == 0 ? 0 : 1;
}
