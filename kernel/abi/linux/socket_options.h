// How getsockopt answers, whatever the level. Source: Linux man-pages getsockopt(2).
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

// Writes as much of `value` as there is room for to where the call wants it, and tells how much that is. Answers 0; efault, blocked.
Result<i64> tell_option(Call& call, const void* value, u64 size, u64 room);

}  // namespace corral::abi
