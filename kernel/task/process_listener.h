// Somebody who is told what becomes of a process: files that stand for it (pidfd) or for its signals (signalfd).
// Process::add_listener() and remove_listener() settle who is told; who has been told of the end is taken off by that.
#pragma once

#include "lib/intrusive_list.h"

namespace corral {

class ProcessListener {
 public:
  // A signal was added, for the process or for one of its threads. The process's lock is held: only locks of higher rank may be
  // taken.
  virtual void signal_added(int signal) = 0;
  // The process has ended, and its parent can find it so. The process's lock is held.
  virtual void process_ended() = 0;

  ListLink listener_link;  // guarded by the process's lock

 protected:
  ~ProcessListener() = default;
};

}  // namespace corral
