// prctl's options about capabilities. Context: the system call of the calling thread (call.h).
#pragma once

#include <optional>

#include "abi/linux/call.h"

namespace corral::abi {

// Empty: the option is about something else. einval, eperm, enomem.
[[nodiscard]] std::optional<Result<i64>> capability_option(Call& call);

}  // namespace corral::abi
