// What a program wishes of the scheduler and of resources, and is told again: policies and their attributes, limits.

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdint.h>
#include <string.h>

#include "check.h"

namespace {

constexpr int batch = 3, idle = 5, reset_on_fork = 0x40000000;

struct Attributes {  // struct sched_attr
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t low, high;
};

// musl's own functions for these refuse without asking the kernel.
long set_policy(int policy, int priority) {
  return syscall(SYS_sched_setscheduler, 0, policy, &priority);
}
long policy() {
  return syscall(SYS_sched_getscheduler, 0);
}
long set_attributes(void* attributes, unsigned flags = 0) {
  return syscall(SYS_sched_setattr, 0, attributes, flags);
}
long get_attributes(void* attributes, unsigned size, unsigned flags = 0) {
  return syscall(SYS_sched_getattr, 0, attributes, size, flags);
}

template <class Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

void test_policies_are_kept() {
  CHECK_EQ(policy(), 0);
  CHECK_EQ(set_policy(batch, 0), 0);
  CHECK_EQ(policy(), batch);
  CHECK_EQ(in_child([] { return static_cast<int>(policy()); }), batch);
  CHECK_EQ(set_policy(idle, 0), 0);
  CHECK_EQ(policy(), idle);
  CHECK_EQ(set_policy(0, 0), 0);
  CHECK_EQ(policy(), 0);
  CHECK_ERRNO(set_policy(0, 1), EINVAL);
  CHECK_ERRNO(set_policy(77, 0), EINVAL);
  CHECK_ERRNO(set_policy(-1, 0), EINVAL);
  CHECK_ERRNO(set_policy(1, 0), EINVAL);  // real time without a priority
  CHECK_ERRNO(set_policy(1, 100), EINVAL);
  CHECK_ERRNO(syscall(SYS_sched_setscheduler, 0, 0, nullptr), EINVAL);
  int priority = 0;
  CHECK_ERRNO(syscall(SYS_sched_setscheduler, 0x3fffffff, 0, &priority), ESRCH);
  CHECK_ERRNO(syscall(SYS_sched_setscheduler, -1, 0, &priority), EINVAL);
  CHECK_ERRNO(syscall(SYS_sched_getparam, 0, nullptr), EINVAL);
  CHECK_ERRNO(syscall(SYS_sched_setparam, 0, nullptr), EINVAL);
}

void test_children_may_start_anew() {
  CHECK_EQ(set_policy(batch | reset_on_fork, 0), 0);
  CHECK_EQ(policy(), batch | reset_on_fork);
  CHECK_EQ(setpriority(PRIO_PROCESS, 0, -3), 0);
  // Its children are not above others, and theirs no less.
  CHECK_EQ(in_child([] { return policy() == batch && getpriority(PRIO_PROCESS, 0) == 0 ? 0 : 1; }), 0);
  CHECK_EQ(setpriority(PRIO_PROCESS, 0, 0), 0);
  CHECK_EQ(set_policy(0, 0), 0);
}

void test_attributes() {
  Attributes attributes;
  memset(&attributes, 0x55, sizeof attributes);
  CHECK_EQ(get_attributes(&attributes, sizeof attributes), 0);
  CHECK_EQ(attributes.size, sizeof attributes);
  CHECK_EQ(attributes.policy, 0);
  CHECK_EQ(attributes.flags, 0);
  CHECK_EQ(attributes.nice, 0);
  memset(&attributes, 0x55, sizeof attributes);
  CHECK_EQ(get_attributes(&attributes, 48), 0);
  CHECK_EQ(attributes.size, 48);
  CHECK_EQ(attributes.low, 0x55555555);  // beyond what was asked for
  CHECK_ERRNO(get_attributes(&attributes, 47), EINVAL);
  CHECK_ERRNO(get_attributes(&attributes, 5000), EINVAL);
  CHECK_ERRNO(get_attributes(&attributes, 48, 1), EINVAL);
  CHECK_ERRNO(get_attributes(nullptr, 48), EINVAL);

  Attributes wish{};
  wish.size = sizeof wish;
  wish.policy = batch;
  wish.flags = 1;
  wish.nice = 7;
  CHECK_EQ(set_attributes(&wish), 0);
  CHECK_EQ(get_attributes(&attributes, sizeof attributes), 0);
  CHECK_EQ(attributes.policy, batch);
  CHECK_EQ(attributes.flags, 1);
  CHECK_EQ(attributes.nice, 7);
  CHECK_EQ(getpriority(PRIO_PROCESS, 0), 7);
  wish = {};
  wish.size = 0;  // the first version
  CHECK_EQ(set_attributes(&wish), 0);
  CHECK_EQ(policy(), 0);
  CHECK_EQ(getpriority(PRIO_PROCESS, 0), 0);

  wish.size = 20;
  CHECK_ERRNO(set_attributes(&wish), E2BIG);
  CHECK(wish.size >= sizeof wish);  // what the kernel knows
  wish.size = sizeof wish;
  wish.policy = 99;
  CHECK_ERRNO(set_attributes(&wish), EINVAL);
  wish.policy = 0;
  wish.flags = uint64_t{1} << 40;
  CHECK_ERRNO(set_attributes(&wish), EINVAL);
  wish.flags = 32 | 64;  // clamps of utilisation: Corral has none, and Linux may have been built without
  wish.high = 1024;
  const bool clamped = set_attributes(&wish) == 0;
  if (!clamped) CHECK_EQ(errno, EOPNOTSUPP);
  if (access("/proc/sched", F_OK) == 0) CHECK(!clamped);
  wish.size = 48;  // they are not in the first version
  CHECK_ERRNO(set_attributes(&wish), EINVAL);
  wish.size = sizeof wish;
  wish.flags = 0;
  CHECK_ERRNO(set_attributes(&wish, 1), EINVAL);
  CHECK_ERRNO(set_attributes(nullptr), EINVAL);
  struct {
    Attributes known;
    uint64_t more[4];
  } longer{};
  longer.known.size = sizeof longer;
  CHECK_EQ(set_attributes(&longer), 0);
  longer.more[3] = 1;
  CHECK_ERRNO(set_attributes(&longer), E2BIG);
}

// In a child, since who may raise a hard limit again depends on more than being root.
int lower_limit(int resource) {
  rlimit before{};
  rlimit now{};
  CHECK_EQ(getrlimit(resource, &before), 0);
  const rlimit soft = {0, before.rlim_max};
  CHECK_EQ(setrlimit(resource, &soft), 0);
  CHECK_EQ(getrlimit(resource, &now), 0);
  CHECK_EQ(now.rlim_cur, 0);
  CHECK_EQ(now.rlim_max, before.rlim_max);
  const rlimit hard = {0, 0};
  CHECK_EQ(setrlimit(resource, &hard), 0);
  CHECK_EQ(getrlimit(resource, &now), 0);
  CHECK_EQ(now.rlim_max, 0);
  const rlimit crossed = {2, 1};
  CHECK_ERRNO(setrlimit(resource, &crossed), EINVAL);
  return 0;
}

void test_limits() {
  constexpr int kept[] = {RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_RTPRIO, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE};
  for (const int resource : kept) CHECK_EQ(in_child([=] { return lower_limit(resource); }), 0);
  rlimit files{};
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit too_many = {files.rlim_cur, uint64_t{1} << 40};
  CHECK_ERRNO(setrlimit(RLIMIT_NOFILE, &too_many), EPERM);
  CHECK_ERRNO(syscall(SYS_prlimit64, 0, 16, nullptr, nullptr), EINVAL);
  CHECK_ERRNO(syscall(SYS_prlimit64, 0x3fffffff, RLIMIT_CORE, nullptr, nullptr), ESRCH);
  CHECK_ERRNO(syscall(SYS_getrlimit, RLIMIT_CORE, nullptr), EFAULT);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("policytest", argc, argv);
  test_policies_are_kept();
  test_children_may_start_anew();
  test_attributes();
  test_limits();
  return check_done();
}
