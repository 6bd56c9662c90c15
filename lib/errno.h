// Error codes, numbered as in Linux (asm-generic/errno-base.h, errno.h), because they are what user space sees.
// The four negative-free codes above 512 never leave the kernel.
#pragma once

namespace corral {

enum class Errno : int {
  eperm = 1,
  enoent = 2,
  esrch = 3,
  eintr = 4,
  eio = 5,
  enxio = 6,
  e2big = 7,
  enoexec = 8,
  ebadf = 9,
  echild = 10,
  eagain = 11,
  enomem = 12,
  eacces = 13,
  efault = 14,
  enotblk = 15,
  ebusy = 16,
  eexist = 17,
  exdev = 18,
  enodev = 19,
  enotdir = 20,
  eisdir = 21,
  einval = 22,
  enfile = 23,
  emfile = 24,
  enotty = 25,
  etxtbsy = 26,
  efbig = 27,
  enospc = 28,
  espipe = 29,
  erofs = 30,
  emlink = 31,
  epipe = 32,
  edom = 33,
  erange = 34,
  edeadlk = 35,
  enametoolong = 36,
  enosys = 38,
  enotempty = 39,
  eloop = 40,
  enomsg = 42,
  eidrm = 43,
  enodata = 61,
  etime = 62,
  eoverflow = 75,
  elibbad = 80,
  enotsock = 88,
  emsgsize = 90,
  eprototype = 91,
  enoprotoopt = 92,
  eprotonosupport = 93,
  esocktnosupport = 94,
  eopnotsupp = 95,
  eafnosupport = 97,
  eaddrinuse = 98,
  econnreset = 104,
  eisconn = 106,
  enotconn = 107,
  etimedout = 110,
  econnrefused = 111,
  estale = 116,
  euclean = 117,
  ecanceled = 125,

  // The step has registered the thread for what it waits for: run it again after the wake-up (architecture, idea 4).
  blocked = 600,
  // Interrupted by a signal: restart the call unless a handler without SA_RESTART runs (Linux's ERESTARTSYS).
  restart = 601,
  // Interrupted by a signal: EINTR if any handler runs, restart otherwise (Linux's ERESTARTNOHAND).
  restart_without_handler = 602,
  // Interrupted by a signal: EINTR if any handler runs, else the call goes on with thread.step as the handler of the call left
  // it, so that a time-out does not start anew (Linux's ERESTART_RESTARTBLOCK).
  restart_from_step = 603,
  // Interrupted by a signal: restart in any case, after the handler (Linux's ERESTARTNOINTR).
  restart_always = 604,
};

}  // namespace corral
