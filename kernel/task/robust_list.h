// Robust mutexes: words that a thread still holds when it ends are marked, and a waiter is woken.
// Source: Linux Documentation/locking/robust-futex-ABI.
#pragma once

#include "task/thread.h"

namespace corral {

// Part of a thread's end, and of executing a program. Bad user memory ends the walk silently, as in Linux. blocked: run again; else Errno{}.
Errno release_robust_list(Thread& thread);

}  // namespace corral
