// Waiting for events, timers, locks, and what /proc tells. See operation.h.
#include "probes/failures/operation.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

namespace failures {
namespace {

long watch_descriptors() {
  const Descriptor set{epoll_create1(0)};
  TRY_CALL(set);
  const Descriptor event{eventfd(0, EFD_NONBLOCK)};
  TRY_CALL(event);
  const Descriptor timer{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)};
  TRY_CALL(timer);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  const Descriptor arriving{signalfd(-1, &signals, SFD_NONBLOCK)};
  TRY_CALL(arriving);
  const int files[] = {event, timer, arriving};
  for (const int file : files) {
    epoll_event wanted = {.events = EPOLLIN, .data = {.fd = file}};
    TRY_CALL(epoll_ctl(set, EPOLL_CTL_ADD, file, &wanted));
  }
  TRY_CALL(eventfd_write(event, 1));
  epoll_event found[4];
  return epoll_wait(set, found, 4, 0);
}

long wait_for_many() {
  pollfd files[60];
  for (pollfd& file : files) file = {.fd = 0, .events = POLLPRI, .revents = 0};
  return poll(files, 60, 1);
}

long watch_names() {
  const Descriptor watcher{inotify_init1(IN_NONBLOCK)};
  TRY_CALL(watcher);
  TRY_CALL(inotify_add_watch(watcher, ".", IN_ALL_EVENTS));
  const Descriptor file{open("failures.watched", O_RDWR | O_CREAT, 0600)};
  TRY_CALL(file);
  TRY_CALL(write(file, "x", 1));
  return 0;
}
void remove_watched() {
  unlink("failures.watched");
}

long set_timers() {
  timer_t timers[4];
  sigevent quietly = {};
  quietly.sigev_notify = SIGEV_NONE;
  for (timer_t& timer : timers) TRY_CALL(timer_create(CLOCK_MONOTONIC, &quietly, &timer));
  const itimerspec soon = {.it_interval = {}, .it_value = {.tv_sec = 1, .tv_nsec = 0}};
  return timer_settime(timers[0], 0, &soon, nullptr);
}

long lock_files() {
  const Descriptor file{open("failures.locked", O_RDWR | O_CREAT, 0600)};
  TRY_CALL(file);
  TRY_CALL(flock(file, LOCK_EX));
  for (int i = 0; i < 10; ++i) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_start = 10 * i;
    lock.l_len = 20;
    TRY_CALL(fcntl(file, F_SETLK, &lock));
    lock.l_type = F_RDLCK;
    lock.l_len = 5;
    TRY_CALL(fcntl(file, F_SETLK, &lock));
  }
  return 0;
}
void remove_locked() {
  unlink("failures.locked");
}

long sleep_shortly() {
  const timespec time = {.tv_sec = 0, .tv_nsec = 1000};
  return nanosleep(&time, nullptr);
}

long duplicate_far() {
  const Descriptor file{fcntl(0, F_DUPFD, 900)};
  return file;
}

long read_texts() {
  constexpr const char* names[] = {"/proc/self/maps", "/proc/self/stat", "/proc/meminfo", "/proc/stat", "/proc/mounts"};
  for (const char* name : names) {
    const Descriptor file{open(name, O_RDONLY)};
    TRY_CALL(file);
    char text[4096];
    TRY_CALL(read(file, text, sizeof text));
  }
  return 0;
}

long list_processes() {
  const Descriptor directory{open("/proc", O_RDONLY | O_DIRECTORY)};
  TRY_CALL(directory);
  char entries[4096];
  return syscall(SYS_getdents64, directory.number, entries, sizeof entries);
}

constexpr Operation operations[] = {
    {"epoll", watch_descriptors},
    {"poll", wait_for_many},
    {"inotify", watch_names, remove_watched},
    {"timer_create", set_timers},
    {"flock, fcntl", lock_files, remove_locked},
    {"nanosleep", sleep_shortly},
    {"a high descriptor", duplicate_far},
    {"texts of /proc", read_texts},
    {"list of /proc", list_processes},
};

}  // namespace

Operations event_operations() {
  return operations;
}

}  // namespace failures
