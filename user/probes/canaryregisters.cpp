// Looks for what others left in registers: at the first instruction after exec, at the start of a thread and of a handler, and
// after system calls, waits, faults and preemption. Meanwhile processes on every core fill all their registers with
// the canary byte, and the kernel, booted with `memory.canary`, fills the memory that register images are made of.
//
//   canaryregisters [EFFORT]      canaryregisters child: one look after exec (the program calls itself)

#include "probes/canary.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

// General registers, then the image of XSAVE (x87, SSE, AVX) or, without it, of FXSAVE.
struct alignas(64) Snapshot {
  uint64_t general[16];
  uint8_t vector[4096];
};

}  // namespace

extern "C" {
Snapshot first_instruction;  // written before anything else of the program runs
uint32_t use_xsave;
void take_snapshot(Snapshot*);
void snapshot_handler(int);
Snapshot handler_snapshot;
}

// probe_begin: where exec starts the program (user/CMakeLists.txt). It keeps what it found and goes on to the C library's
// start. CPUID changes four registers; they are put back to what they were. take_snapshot(rdi) changes rax and rdx.
asm(".pushsection .text\n"
    ".globl probe_begin\n.type probe_begin, @function\nprobe_begin:\n"
    "  mov %rdi, 40+first_instruction(%rip)\n"
    "  lea first_instruction(%rip), %rdi\n  call store_all\n"
    "  mov $1, %eax\n  xor %ecx, %ecx\n  cpuid\n  shr $27, %ecx\n  and $1, %ecx\n  mov %ecx, use_xsave(%rip)\n"
    "  call store_vector\n"
    "  mov (%rdi), %rax\n  mov 8(%rdi), %rbx\n  mov 16(%rdi), %rcx\n  mov 24(%rdi), %rdx\n  mov 40(%rdi), %rdi\n"
    "  jmp _start\n"
    ".globl snapshot_handler\n.type snapshot_handler, @function\nsnapshot_handler:\n"
    "  mov %rdi, 40+handler_snapshot(%rip)\n  lea handler_snapshot(%rip), %rdi\n  jmp store_all\n"
    ".globl take_snapshot\n.type take_snapshot, @function\ntake_snapshot:\n"
    "  mov %rdi, 40(%rdi)\n"
    "store_all:\n"
    "  mov %rax, (%rdi)\n  mov %rbx, 8(%rdi)\n  mov %rcx, 16(%rdi)\n  mov %rdx, 24(%rdi)\n  mov %rsi, 32(%rdi)\n"
    "  mov %rbp, 48(%rdi)\n  mov %r8, 64(%rdi)\n  mov %r9, 72(%rdi)\n  mov %r10, 80(%rdi)\n  mov %r11, 88(%rdi)\n"
    "  mov %r12, 96(%rdi)\n  mov %r13, 104(%rdi)\n  mov %r14, 112(%rdi)\n  mov %r15, 120(%rdi)\n"
    "store_vector:\n"
    "  cmpl $0, use_xsave(%rip)\n  je 1f\n  mov $7, %eax\n  xor %edx, %edx\n  xsave64 128(%rdi)\n  ret\n"
    "1: fxsave64 128(%rdi)\n  ret\n"
    ".popsection\n");

namespace {

constexpr size_t page = 4096;

void look_at(const char* what, const Snapshot& snapshot) {
  canary::expect_none(what, snapshot.general, sizeof snapshot.general);
  canary::expect_none(what, snapshot.vector, sizeof snapshot.vector);
}

// Fills every register with the pattern, for ever; gives the core away now and then by a system call.
[[noreturn]] void pollute() {
  static uint8_t pattern[32];
  for (auto& one : pattern) { one = canary::byte(); }
  for (;;) {
    asm volatile(
        "fninit\n\t.rept 8\n\tfldt %0\n\t.endr\n\t"
        ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tmovups %0, %%xmm\\r\n\t.endr\n\t"
        "cmpl $0, use_xsave(%%rip)\n\tje 1f\n\t"
        ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tvmovups %0, %%ymm\\r\n\t.endr\n\t"
        "1:\n\tmov %0, %%rbx\n\tmov %%rbx, %%r8\n\tmov %%rbx, %%r9\n\tmov %%rbx, %%r10\n\tmov %%rbx, %%r12\n\tmov %%rbx, "
        "%%r13\n\t"
        "mov %%rbx, %%r14\n\tmov %%rbx, %%r15\n\tmov %%rbx, %%rdi\n\tmov %%rbx, %%rsi\n\tmov %%rbx, %%rdx\n\t"
        "mov $2000, %%ecx\n2:\n\tdec %%ecx\n\tjnz 2b\n\tmov $24, %%eax\n\tsyscall"  // sched_yield
        :
        : "m"(pattern)
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
  }
}

void stay_on(long core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<size_t>(core), &only);
  CHECK_EQ(sched_setaffinity(0, sizeof only, &only), 0);
}

// What exec gives: nothing of anybody's. Linux clears all that has no meaning, and so does Corral.
int look_after_exec() {
  look_at("registers after exec", first_instruction);
  for (int index = 0; index < 16; ++index) {
    if (index != 7) { CHECK_EQ(first_instruction.general[index], 0); }  // 7, the stack pointer, is not kept
  }
  for (int index = 160; index < 416; ++index) { CHECK_EQ(first_instruction.vector[index], 0); }  // XMM0 to XMM15
  canary::expect_none_anywhere();
  return 0;
}

void test_exec(const char* path) {
  const pid_t child = vfork();
  CHECK(child >= 0);
  if (child == 0) {
    execl(path, path, "child", nullptr);
    _exit(99);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

void test_thread() {
  pthread_t thread{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 static Snapshot snapshot;
                 take_snapshot(&snapshot);
                 look_at("registers of a new thread", snapshot);
                 return nullptr;
               },
               nullptr),
           0);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

void test_handler() {
  CHECK_EQ(raise(SIGUSR1), 0);
  look_at("registers of a handler", handler_snapshot);
}

template <typename Call>
void test_after(const char* what, Call call) {
  static Snapshot snapshot;
  asm volatile("fninit\n\t.irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tpxor %%xmm\\r, %%xmm\\r\n\t.endr" ::
                   : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                     "xmm12", "xmm13", "xmm14", "xmm15");
  call();
  take_snapshot(&snapshot);
  look_at(what, snapshot);
}

void test_calls() {
  test_after("registers after a call", [] { syscall(SYS_getppid); });
  test_after("registers after a yield", [] { sched_yield(); });
  test_after("registers after a sleep", [] { check_sleep_us(200); });
  test_after("registers after a preemption", [] { check_spin(200000); });
  test_after("registers after a page fault", [] {
    void* area = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(area) = 1;
    munmap(area, page);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "child") == 0) { return look_after_exec(); }
  check_begin("canaryregisters", argc, argv);
  look_after_exec();
  struct sigaction action{};
  action.sa_handler = snapshot_handler;
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  constexpr long most = 64;
  pid_t polluters[most];
  CHECK(cores >= 1 && cores <= most);
  for (long core = 0; core < cores; ++core) {
    polluters[core] = fork();
    CHECK(polluters[core] >= 0);
    if (polluters[core] == 0) {
      stay_on(core);
      pollute();
    }
  }
  for (long round = 0; round < 10 * check_effort; ++round) {
    for (long core = 0; core < cores; ++core) {
      stay_on(core);
      test_exec(argv[0]);
      test_thread();
      test_handler();
      test_calls();
    }
  }
  for (long core = 0; core < cores; ++core) {
    CHECK_EQ(kill(polluters[core], SIGKILL), 0);
    CHECK_EQ(waitpid(polluters[core], nullptr, 0), polluters[core]);
  }
  return check_done();
}
