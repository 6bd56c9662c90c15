// Before the machine is switched off: one core goes on alone, so that nothing changes while it brings everything to where it is kept.
#pragma once

namespace corral::last_core {

void initialise();  // boot context: installs the message handler
// The other cores finish their steps and stop, for ever. In a step, or boot context, without any lock. False: not all of them have stopped
// within a second. Does not return if another core has begun the same.
[[nodiscard]] bool stop_others();

}  // namespace corral::last_core
