// See core_progress.h.
#include "core/core_progress.h"

namespace corral {

u32 CoreProgress::look() {
  if (behind_.empty()) behind_ = cores::online();
  cores::online().for_each([&](CoreId id) {
    const Core& core = cores::get(id);
    const u8 sign = core.sign_of_life();
    if (sign != signs_[id.value] || core.sleeps_uncalled()) behind_.remove(id);
    signs_[id.value] = sign;
  });
  if (behind_.empty()) ++rounds_;
  return rounds_;
}

}  // namespace corral
