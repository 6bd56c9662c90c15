// Whether programs may map more than there is, as Linux numbers it. 0: all but what is obviously too much; 1: whatever they ask for.
// Never more than there is (2) is not to be had.
#pragma once

#include "lib/setting.h"

namespace corral::vm {

inline constinit Setting overcommit{0, 0, 1};

}  // namespace corral::vm
