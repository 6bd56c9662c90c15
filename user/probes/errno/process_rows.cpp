// Calls about processes, signals, identities, scheduling.
#include "probes/errno/table.h"

#include "tests/check.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace errnotest {

namespace {

const uint64_t no_signals = 0;
const uint64_t all_signals = ~0UL;
struct Action {
  void* handler;
  unsigned long flags;
  void* restorer;
  uint64_t mask;
};
const Action action = {};
const timespec no_time = {0, 0};
const timespec bad_time = {0, 1'000'000'000};
const timespec negative_time = {-1, 0};
const siginfo_t information = {};
struct Stack {
  void* base;
  int flags;
  size_t size;
};
const Stack small_stack = {nullptr, 0, 100};
const Stack bad_stack = {nullptr, 77, 100000};
const Stack disabled_stack = {nullptr, 2, 0};
const sched_param no_priority = {0};
const sched_param some_priority = {10};
const rlimit inverted_limit = {10, 5};
const unsigned char cores[128] = {0xff};
const unsigned char no_cores[128] = {};

void add_signals(Table& table) {
  table.add(SYS_kill, "kill", process(getpid()), choice(0));
  table.add(SYS_kill, "kill nobody", same(999999), signal_number(0));
  table.add(SYS_tkill, "tkill", process(getpid()), choice(0, -1, 65));
  table.add(SYS_tkill, "tkill nobody", same(999999), signal_number(0));
  table.add(SYS_tgkill, "tgkill", process(999999), process(999999), signal_number(0));
  table.add(SYS_tgkill, "tgkill self", same(getpid()), process(getpid()), same(0));
  table.add(SYS_rt_sigqueueinfo, "rt_sigqueueinfo", process(999999), signal_number(0), in(&information));
  table.add(SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo", process(999999), process(999999), signal_number(0), in(&information));
  table.add(SYS_rt_sigaction, "rt_sigaction", choice(SIGUSR2, 0, -1, SIGKILL, SIGSTOP, 64, 65), in(&action), out_or_null(),
            size_of_set());
  table.add(SYS_rt_sigaction, "rt_sigaction asked", choice(SIGUSR2, 0, -1, SIGKILL, SIGSTOP, 64, 65), same(0), out_or_null(),
            size_of_set());
  table.add(SYS_rt_sigprocmask, "rt_sigprocmask", choice(SIG_BLOCK, 1, 2, 3, -1), in(&no_signals), out_or_null(),
            size_of_set());
  table.add(SYS_rt_sigprocmask, "rt_sigprocmask asked", choice(SIG_BLOCK, 1, 2, 3, -1), same(0), out_or_null(), size_of_set());
  table.add(SYS_rt_sigpending, "rt_sigpending", out(), choice(8, 0, 4, 7, 9, 16, -1));
  table.add(SYS_rt_sigsuspend, "rt_sigsuspend", in(nullptr), choice(8, 0, 7, 9)).harmless = false;
  for (const timespec* time : {&no_time, &bad_time, &negative_time}) {
    table.add(SYS_rt_sigtimedwait, "rt_sigtimedwait", in(&all_signals), out_or_null(), choice(reinterpret_cast<long>(time)),
              size_of_set());
  }
  for (const Stack* stack : {&small_stack, &bad_stack, &disabled_stack}) {
    table.add(SYS_sigaltstack, "sigaltstack", in(stack), out_or_null());
  }
}

void add_waiting(Table& table) {
  table.add(SYS_wait4, "wait4", choice(-1, 0, 1, 999999, -999999, INT_MIN, INT_MAX), out_or_null(), bits(WNOHANG),
            out_or_null());
  table.add(SYS_waitid, "waitid", choice(P_ALL, 1, 2, 4, -1), process(999999), out_or_null(), bits(WEXITED | WNOHANG),
            out_or_null());
  table.add(SYS_waitid, "waitid of nothing", same(P_ALL), same(0), out_or_null(),
            choice(0, WNOHANG, WNOWAIT, WEXITED | WNOHANG, 1 << 10), same(0));
}

void add_identities(Table& table) {
  table.add(SYS_getpgid, "getpgid", process(0));
  table.add(SYS_getsid, "getsid", process(0));
  table.add(SYS_setpgid, "setpgid", process(0), process(0));
  table.add(SYS_setsid, "setsid");
  table.add(SYS_getgroups, "getgroups", choice(0, -1, INT_MAX), out());
  table.add(SYS_setgroups, "setgroups", choice(65537, -1), in(&no_signals));
  table.add(SYS_getresuid, "getresuid", out(), out(), out());
  table.add(SYS_getresgid, "getresgid", out(), out(), out());
  table.add(SYS_setuid, "setuid", choice(0, -1));
  table.add(SYS_setgid, "setgid", choice(0, -1));
  table.add(SYS_setreuid, "setreuid", choice(-1), choice(-1));
  table.add(SYS_setresuid, "setresuid", same(-1), same(-1), same(-1));
  table.add(SYS_uname, "uname", out());
  table.add(SYS_sysinfo, "sysinfo", out());
  table.add(SYS_sethostname, "sethostname", in(nullptr), choice(65, -1, 4)).harmless = false;
  table.add(SYS_setdomainname, "setdomainname", in(nullptr), choice(65, -1, 4)).harmless = false;
  table.add(SYS_getrandom, "getrandom", out(), choice(16, 0, -1), choice(0, 1, 2, 3, 4, 5, 6, 8, -1));
  table.add(SYS_reboot, "reboot", choice(0, 0xfee1dead), choice(0, 672274793), choice(0x7fffffff), same(0));
  table.add(SYS_syslog, "syslog", choice(10, 2, 3, 8, 9, 11, -1), out(), choice(16, 0, -1));
  table.add(SYS_personality, "personality", choice(0xffffffff));
}

// struct futex_waitv: what is good, and what is wrong with one of two.
constexpr long sys_futex_waitv = 449;
struct WaitWord {
  unsigned long expected;
  const void* address;
  unsigned flags, reserved;
};
unsigned waited_for = 5;
const char* const beside = reinterpret_cast<const char*>(&waited_for) + 1;
constexpr unsigned shared_word = 2, own_word = 2 | 128;
const WaitWord good_words[2] = {{5, &waited_for, own_word, 0}, {5, &waited_for, shared_word, 0}};
const WaitWord other_value[2] = {{5, &waited_for, own_word, 0}, {6, &waited_for, own_word, 0}};
const WaitWord not_aligned[2] = {{6, &waited_for, own_word, 0}, {5, beside, own_word, 0}};
const WaitWord not_mapped[2] = {{6, &waited_for, own_word, 0}, {5, nullptr, shared_word, 0}};
const WaitWord not_looked_at[2] = {{6, &waited_for, own_word, 0}, {5, nullptr, own_word, 0}};
const WaitWord no_size[2] = {{6, &waited_for, own_word, 0}, {5, &waited_for, 128, 0}};
const WaitWord reserved_used[2] = {{6, &waited_for, own_word, 0}, {5, &waited_for, own_word, 1}};
const WaitWord* const wait_lists[] = {good_words, other_value, not_aligned, not_mapped, not_looked_at, no_size, reserved_used};

void add_scheduling(Table& table) {
  for (const sched_param* parameter : {&no_priority, &some_priority}) {
    table.add(SYS_sched_setscheduler, "sched_setscheduler", process(0), choice(0, 3, 5, 4, 6, 7, 99, -1), in(parameter));
    table.add(SYS_sched_setparam, "sched_setparam", process(0), in(parameter));
  }
  table.add(SYS_sched_getscheduler, "sched_getscheduler", process(0));
  table.add(SYS_sched_getparam, "sched_getparam", process(0), out());
  table.add(SYS_sched_get_priority_max, "sched_get_priority_max", choice(0, 1, 2, 3, 4, 5, 6, 7, -1));
  table.add(SYS_sched_get_priority_min, "sched_get_priority_min", choice(0, 1, 2, 3, 4, 5, 6, 7, -1));
  table.add(SYS_sched_rr_get_interval, "sched_rr_get_interval", process(0), out());
  table.add(SYS_sched_setaffinity, "sched_setaffinity", process(0), choice(128, 0, 1, 7, -1), in(cores));
  table.add(SYS_sched_setaffinity, "sched_setaffinity to none", process(0), choice(128, 0, 8), in(no_cores));
  table.add(SYS_sched_getaffinity, "sched_getaffinity", process(0), choice(128, 0, 1, 4, 7, 8, 12, 16, -1), out());
  table.add(SYS_sched_getattr, "sched_getattr", process(0), out(), choice(56, 0, 47, 48, 4096, 4097, -1), bits(0));
  table.add(SYS_sched_setattr, "sched_setattr", process(0), in(nullptr), bits(0)).harmless = false;
  table.add(SYS_getpriority, "getpriority", choice(0, 1, 2, 3, -1), process(0));
  table.add(SYS_setpriority, "setpriority", choice(0, 3, -1), process(0), same(0));
  table.add(SYS_getcpu, "getcpu", out_or_null(), out_or_null(), same(0));
}

void add_limits(Table& table) {
  for (const long which : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, -1}) {
    table.add(SYS_getrlimit, "getrlimit", choice(which), out());
    if (which == 0) continue;  // processor time: with a limit of nothing it is a matter of speed who lives
    table.add(SYS_setrlimit, "setrlimit", choice(which), in(&inverted_limit));
    table.add(SYS_prlimit64, "prlimit64", process(0), choice(which), in(&inverted_limit), out_or_null());
  }
  table.add(SYS_getrusage, "getrusage", choice(0, -1, 1, 2, -2, 77), out());
}

void add_threads(Table& table) {
  table.add(SYS_set_tid_address, "set_tid_address", in(&no_signals));
  table.add(SYS_set_robust_list, "set_robust_list", in(&no_signals), choice(24, 0, 23, 25, -1));
  table.add(SYS_get_robust_list, "get_robust_list", process(0), out(), out());
  for (const long operation : {0, 1, 3, 4, 5, 9, 10, 128, 129, 131, 132, 137, 138, 14, 15, 99, 256, 257}) {
    table.add(
        SYS_futex, "futex", area(), choice(operation), choice(1, 0, -1),
        choice(reinterpret_cast<long>(&no_time), reinterpret_cast<long>(&bad_time), reinterpret_cast<long>(&negative_time)),
        area(), choice(1, 0, -1));
  }
  for (const WaitWord* list : wait_lists) {
    table.add(
        sys_futex_waitv, "futex_waitv", in(list), choice(2, 1, 0, 129, -1), choice(0, 1, -1),
        choice(reinterpret_cast<long>(&no_time), reinterpret_cast<long>(&bad_time), reinterpret_cast<long>(&negative_time), 8),
        choice(1, 0, 2, 7, -1));
  }
  for (const long flags :
       {CLONE_THREAD + 0L, CLONE_SIGHAND + 0L, CLONE_THREAD + 0L + CLONE_SIGHAND, CLONE_FS + 0L + CLONE_NEWNS}) {
    table.add(SYS_clone, "clone", same(flags), same(0), same(0), same(0), same(0));
  }
  table.add(SYS_clone3, "clone3", in(nullptr), choice(64, 0, 63, 65, 88, 4096, 4097, -1)).harmless = false;
  for (const long option :
       {PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_NAME, PR_SET_NAME, PR_SET_PDEATHSIG, PR_SET_DUMPABLE,
        PR_GET_NO_NEW_PRIVS, PR_SET_NO_NEW_PRIVS, PR_GET_CHILD_SUBREAPER, PR_GET_TIMERSLACK, PR_GET_SECUREBITS, 999, -1}) {
    table.add(SYS_prctl, "prctl", choice(option), out(), choice(0, 1, -1), choice(0, 1), choice(0, 1));
  }
  table.add(SYS_arch_prctl, "arch_prctl", choice(0x1003, 0x1004, 0, 0x1005, -1), out());
  table.add(SYS_membarrier, "membarrier", choice(-1, 99), choice(0, 1, 2), same(0));
}

}  // namespace

void add_process_rows(Table& table) {
  add_signals(table);
  add_waiting(table);
  add_identities(table);
  add_scheduling(table);
  add_limits(table);
  add_threads(table);
}

}  // namespace errnotest
