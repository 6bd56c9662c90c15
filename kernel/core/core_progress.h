// Whether all cores get on. One that its host has stopped does not, and what others wait for from it is late, not lost.
// Whoever wants to know looks now and then; a core gets on between two looks when it took a message or an interrupt or went to sleep, and
// while it sleeps and nobody has called it.
// Context: the fields belong to the caller.
#pragma once

#include "core/core.h"

namespace corral {

class CoreProgress {
 public:
  // How often all cores have got on since the last time; grows by one at most in each look.
  u32 look();

 private:
  u8 signs_[max_cores] = {};  // of each core, when it was looked at last
  CoreSet behind_;  // have not got on since rounds_ grew
  u32 rounds_ = 0;
};

}  // namespace corral
