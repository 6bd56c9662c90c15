// What users may do to other users' processes and to the machine: signals, priorities, limits, names through sockets. Is root at
// first; each part is played by a child that becomes somebody else. Gives the same result on Linux.

#include "tests/users.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace {

using namespace users;

// ---- others ----------------------------------------------------------------------------------------------------------------

void test_signals() {
  const pid_t victim = fork();
  CHECK(victim >= 0);
  if (victim == 0) {
    become(bob, bob);
    for (;;) pause();
  }
  const auto status_of = [&](const char* what) {
    char text[4096] = {};
    const int file = open(process_path(victim, "status"), O_RDONLY);
    CHECK(file >= 0);
    CHECK(read(file, text, sizeof text - 1) > 0);
    CHECK_EQ(close(file), 0);
    return strstr(text, what) != nullptr;
  };
  while (!status_of("Uid:\t1002\t1002\t1002\t1002\n")) usleep(1000);
  CHECK(status_of("Gid:\t1002\t1002\t1002\t1002\n"));
  CHECK(status_of("CapEff:\t0000000000000000\n"));
  in_child([&] {
    become(alice, alice);
    CHECK_ERRNO(kill(victim, 0), EPERM);
    CHECK_ERRNO(kill(victim, SIGKILL), EPERM);
    CHECK_ERRNO(kill(victim, 99), EINVAL);
    CHECK_EQ(kill(victim, SIGCONT), 0);  // in its session
    CHECK_ERRNO(syscall(SYS_tgkill, victim, victim, SIGTERM), EPERM);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, static_cast<id_t>(victim), 10), EPERM);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(0, &cores);
    CHECK_ERRNO(sched_setaffinity(victim, sizeof cores, &cores), EPERM);
    rlimit limit;
    CHECK_ERRNO(syscall(SYS_prlimit64, victim, RLIMIT_CORE, nullptr, &limit), EPERM);
    CHECK_ERRNO(open(process_path(victim, "environ"), O_RDONLY), EACCES);
    char link[64];
    CHECK_ERRNO(readlink(process_path(victim, "exe"), link, sizeof link), EACCES);
  });
  in_child([&] {  // the same user in the real or the saved one
    CHECK_EQ(setresuid(bob, alice, alice), 0);
    CHECK_EQ(kill(victim, 0), 0);
  });
  in_child([&] {
    become(bob, bob);
    CHECK_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(victim), 5), 0);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, static_cast<id_t>(victim), 0), EACCES);
    CHECK_EQ(kill(victim, SIGKILL), 0);
  });
  int status = 0;
  CHECK_EQ(waitpid(victim, &status, 0), victim);
  CHECK_EQ(status, SIGKILL);
}

void test_who_sent_it() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const pid_t receiver = getpid();
  in_child([&] {
    CHECK_EQ(setresuid(alice, bob, 0), 0);
    CHECK_EQ(setresuid(static_cast<uid_t>(-1), 0, static_cast<uid_t>(-1)), 0);
    CHECK_EQ(kill(receiver, SIGUSR1), 0);
  });
  siginfo_t information;
  CHECK_EQ(sigwaitinfo(&set, &information), SIGUSR1);
  CHECK_EQ(information.si_uid, alice);
}

void test_sockets() {
  int ends[2];
  in_child([&] {
    become(alice, staff);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ucred peer;
    socklen_t size = sizeof peer;
    CHECK_EQ(getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
    CHECK_EQ(peer.uid, alice);
    CHECK_EQ(peer.gid, staff);
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
    char byte = 'x';
    iovec piece = {&byte, 1};
    msghdr header = {};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* message = CMSG_FIRSTHDR(&header);
    message->cmsg_level = SOL_SOCKET;
    message->cmsg_type = SCM_CREDENTIALS;
    message->cmsg_len = CMSG_LEN(sizeof(ucred));
    const ucred lies[] = {{getpid(), bob, staff}, {getpid(), alice, bob}, {getppid(), alice, staff}};
    for (const ucred& lie : lies) {
      memcpy(CMSG_DATA(message), &lie, sizeof lie);
      CHECK_ERRNO(sendmsg(ends[0], &header, 0), EPERM);
    }
    const ucred truth = {getpid(), alice, staff};
    memcpy(CMSG_DATA(message), &truth, sizeof truth);
    CHECK_EQ(sendmsg(ends[0], &header, 0), 1);
  });
}

void test_limits() {
  in_child([] {
    become(alice, alice);
    rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_CPU, &limit), 0);
    limit = {1000, 1000};
    CHECK_EQ(setrlimit(RLIMIT_CPU, &limit), 0);
    limit.rlim_max = 2000;
    CHECK_ERRNO(setrlimit(RLIMIT_CPU, &limit), EPERM);
    const timespec now = {1, 0};
    CHECK_ERRNO(clock_settime(CLOCK_REALTIME, &now), EPERM);
    sched_param parameters = {};
    parameters.sched_priority = 1;
    CHECK_ERRNO(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters), EPERM);
    CHECK_EQ(setpriority(PRIO_PROCESS, 0, 3), 0);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, 0, 1), EACCES);
  });
  in_child([] {  // as many processes as the user may have; zombies count
    become(bob + 1, bob);
    const rlimit limit = {3, 3};
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
    pid_t children[2];
    for (pid_t& child : children) {
      child = fork();
      CHECK(child >= 0);
      if (child == 0) _exit(0);
    }
    CHECK_ERRNO(fork(), EAGAIN);
    usleep(10'000);
    CHECK_ERRNO(fork(), EAGAIN);
    CHECK_EQ(waitpid(children[0], nullptr, 0), children[0]);
    const pid_t another = fork();
    CHECK(another >= 0);
    if (another == 0) _exit(0);
    CHECK_EQ(waitpid(another, nullptr, 0), another);
    CHECK_EQ(waitpid(children[1], nullptr, 0), children[1]);
  });
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("userrights", argc, argv);
  begin();
  test_signals();
  test_who_sent_it();
  test_sockets();
  test_limits();
  return end();
}
