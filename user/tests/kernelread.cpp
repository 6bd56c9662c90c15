// The kernel's half of the address space is closed to programs: reading, writing and executing it gives SIGSEGV, with
// the address and without a byte of it, wherever one tries. So do non-canonical addresses and privileged instructions,
// and a signal frame that asks for the kernel's privileges gets nothing.

#include "tests/check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

namespace {

// Where kernels have their direct maps, images and fixed pages.
constexpr uintptr_t upper_half = 0xffff800000000000;
constexpr uintptr_t kernel_image = 0xffffffff80000000;
constexpr size_t page = 4096;
constexpr size_t large_page = size_t{2} << 20;

jmp_buf recovery;
volatile int fault_signal;
volatile int fault_code;
volatile uintptr_t fault_address;

void on_fault(int signal, siginfo_t* info, void*) {
  fault_signal = signal;
  fault_code = info->si_code;
  fault_address = reinterpret_cast<uintptr_t>(info->si_addr);
  longjmp(recovery, 1);
}

enum class Access { read, write, execute };

volatile uint64_t leaked;

// True if the access faulted.
__attribute__((noinline)) bool faults(uintptr_t address, Access access) {
  fault_signal = 0;
  if (setjmp(recovery) != 0) { return true; }
  volatile char* at = check_address(address);
  switch (access) {
    case Access::read: leaked = static_cast<uint64_t>(*at); break;
    case Access::write: *at = 0; break;
    case Access::execute: reinterpret_cast<void (*)()>(reinterpret_cast<uintptr_t>(at))(); break;
  }
  return false;
}

void expect_closed(uintptr_t address) {
  using Accesses = const Access[];
  for (const Access access : Accesses{Access::read, Access::write, Access::execute}) {
    leaked = 0;
    if (!faults(address, access)) {
      CHECK_EQ(address, 0);  // fails, and shows which address was open
    }
    CHECK_EQ(fault_signal, SIGSEGV);
    CHECK_EQ(fault_address, address);
    CHECK_EQ(fault_code, SEGV_MAPERR);
    CHECK_EQ(leaked, 0);
  }
}

void expect_closed_to_read(uintptr_t address) {
  if (!faults(address, Access::read)) { CHECK_EQ(address, 0); }
  CHECK_EQ(fault_address, address);
}

// The vsyscall page, which some Linux kernels offer at a fixed place, is not the kernel's memory.
bool is_vsyscall(uintptr_t address) {
  return (address & ~(page - 1)) == 0xffffffffff600000;
}

void test_sweeps() {
  using Addresses = const uintptr_t[];
  for (const uintptr_t address :
       Addresses{upper_half, upper_half + 0x1000, upper_half + 0x100000, 0xffff888000000000, 0xffffc00000000000,
                 0xfffffe0000000000, kernel_image, kernel_image + 0x100000, kernel_image + 0x200000, 0xffffffffa0000000,
                 0xffffffffff5fc000, 0xfffffffffffff000, 0xffffffffffffffff}) {
    expect_closed(address);
  }
    // One page in each slot of the top level.
  for (uintptr_t slot = 256; slot < 512; ++slot) { expect_closed((slot << 39) | 0xffff000000000000); }
    // The first gigabyte of the direct map and the last two of all, by large pages.
  for (uintptr_t address = upper_half; address < upper_half + (uintptr_t{1} << 30); address += large_page) {
    expect_closed_to_read(address + 8);
  }
  for (uintptr_t address = kernel_image; address != 0; address += large_page) {
    if (!is_vsyscall(address)) { expect_closed_to_read(address); }
  }
    // Page by page: low physical memory through the direct map, and the kernel's image.
  const uintptr_t size = static_cast<uintptr_t>(check_effort) * (size_t{8} << 20);
  for (uintptr_t offset = 0; offset < size; offset += page) {
    expect_closed_to_read(upper_half + offset + 16);
    expect_closed_to_read(kernel_image + offset + 16);
  }
}

void test_borders() {
  expect_closed(0);
  expect_closed(page);
    // The last user page is never mapped; beyond it is no address at all: a protection fault, which names none.
  expect_closed(0x00007ffffffff000);
  using Addresses = const uintptr_t[];
  for (const uintptr_t address : Addresses{0x0000800000000000, 0x4141414141414141, 0xfffe800000000000, 0xffff7fffffffff00}) {
    using Accesses = const Access[];
    for (const Access access : Accesses{Access::read, Access::write, Access::execute}) {
      CHECK(faults(address, access));
      CHECK_EQ(fault_signal, SIGSEGV);
    }
  }
}

// System calls are no way round.
void test_calls() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  using Addresses = const uintptr_t[];
  for (const uintptr_t address : Addresses{upper_half, upper_half + 0x100000, 0xffff888000000000, kernel_image,
                                           kernel_image + 0x100000, 0x0000800000000000}) {
    CHECK_ERRNO(syscall(SYS_write, ends[1], address, 8), EFAULT);
    CHECK_EQ(write(ends[1], "12345678", 8), 8);
    CHECK_ERRNO(syscall(SYS_read, ends[0], address, 8), EFAULT);
    char rest[8];
    CHECK_EQ(read(ends[0], rest, 8), 8);
    CHECK_ERRNO(syscall(SYS_uname, address), EFAULT);
    CHECK_ERRNO(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, address), EFAULT);
  }
  CHECK_EQ(close(ends[0]), 0);
  CHECK_EQ(close(ends[1]), 0);
}

// Each privileged instruction, run in user mode.
#define PRIVILEGED(text)                                                 \
  do {                                                                   \
    fault_signal = 0;                                                    \
    if (setjmp(recovery) == 0) {                                         \
      asm volatile(text : : "a"(0), "c"(0xc0000082), "d"(0) : "memory"); \
      check_true(__FILE__, __LINE__, text " is refused", 0);             \
    }                                                                    \
    CHECK_EQ(fault_signal, SIGSEGV);                                     \
  } while (0)

void test_instructions() {
  PRIVILEGED("cli");
  PRIVILEGED("sti");
  PRIVILEGED("hlt");
  PRIVILEGED("rdmsr");
  PRIVILEGED("wrmsr");
  PRIVILEGED("mov %%cr0, %%rax");
  PRIVILEGED("mov %%rax, %%cr3");
  PRIVILEGED("mov %%rax, %%cr4");
  PRIVILEGED("mov %%rax, %%dr7");
  PRIVILEGED("invlpg (%%rsp)");
  PRIVILEGED("wbinvd");
  PRIVILEGED("lgdt (%%rsp)");
  PRIVILEGED("lidt (%%rsp)");
  PRIVILEGED("ltr %%ax");
  PRIVILEGED("clts");
  PRIVILEGED("swapgs");
  PRIVILEGED("inb $0x60, %%al");
  PRIVILEGED("outb %%al, $0x64");
  PRIVILEGED("int $14");
  PRIVILEGED("int $0xfe");
  PRIVILEGED("sysretq");

    // What is not refused has no effect: interrupts stay on and the I/O level 0.
  const uint64_t wanted = (check_flags() & ~uint64_t{0x200}) | 0x3000;
  asm volatile("lea -128(%%rsp), %%rsp\n\tpush %0\n\tpopfq\n\tlea 128(%%rsp), %%rsp" : : "r"(wanted) : "memory", "cc");
  const uint64_t flags = check_flags();
  CHECK_EQ(flags & 0x3000, 0);
  CHECK_EQ(flags & 0x200, 0x200);
}

// A handler changes the frame that sigreturn loads. Each try runs in a child, which may only end by SIGSEGV, or go on
// as the ordinary program that it is.

int forged;

void forge(int, siginfo_t*, void* context) {
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr greg_t high_flags = 0x3000 | 0x10000;  // I/O level 3, resume
  switch (forged) {
    case 0: registers[REG_RIP] = static_cast<greg_t>(kernel_image); break;
    case 1: registers[REG_RIP] = static_cast<greg_t>(0x4141414141414141); break;
    case 2: registers[REG_RIP] = static_cast<greg_t>(0x0000800000000000); break;
    case 3: registers[REG_CSGSFS] = (registers[REG_CSGSFS] & ~greg_t{0xffff}) | 0x08; break;
    case 4: registers[REG_CSGSFS] = (registers[REG_CSGSFS] & ~greg_t{0xffff}) | 0x10; break;
    case 5: registers[REG_CSGSFS] = registers[REG_CSGSFS] & 0x0000ffffffffffff; break;
    case 6: registers[REG_RSP] = static_cast<greg_t>(upper_half + 0x1000); break;
    default: registers[REG_EFL] |= high_flags; break;
  }
}

void test_forged_frames() {
  for (forged = 0; forged < 8; ++forged) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      struct sigaction action{};
      action.sa_sigaction = forge;
      action.sa_flags = SA_SIGINFO;
      sigaction(SIGUSR1, &action, nullptr);
      syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
      uint16_t code_segment = 0;
      asm volatile("mov %%cs, %0" : "=r"(code_segment));
      _exit((check_flags() & 0x3200) == 0x200 && (code_segment & 3) == 3 ? 0 : 66);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (forged <= 2 || forged == 6) {
      CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    } else if (forged == 7) {
      CHECK_EQ(status, 0);
    } else {
      CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
    }
  }
    // A frame that is not there at all.
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    asm volatile("mov %0, %%rsp\n\tmov $15, %%eax\n\tsyscall" : : "r"(upper_half + 0x2000) : "memory");
    _exit(1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("kernelread", argc, argv);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  test_sweeps();
  test_borders();
  test_calls();
  test_instructions();
  test_forged_frames();
  return check_done();
}
