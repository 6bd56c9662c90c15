// Requests of ioctl that do not depend on what a file is, but on its file system. Context: the system call of the calling thread (call.h).
#pragma once

#include <optional>

#include "abi/linux/file_handlers.h"

namespace corral::abi {

// Empty: the request is about something else. Can answer blocked.
[[nodiscard]] std::optional<Result<i64>> file_request(Call& call, fs::OpenFile& file, u32 request);

}  // namespace corral::abi
