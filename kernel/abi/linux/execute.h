// Replacing the program of the calling process, for execve and for the start of the first process.
#pragma once

#include <string_view>

#include "task/argument_block.h"
#include "task/thread.h"

namespace corral::abi {

// Part of a step of the process's running thread. `path` is seen from `directory` (a descriptor or AT_FDCWD); scripts
// (#!) are followed, which changes `arguments`. When it succeeds the thread's frame is the new program's. Everything that
// can fail is done before the old program is given up. blocked; the errors of execve(2).
Result<void> execute_program(Thread& thread, i32 directory, std::string_view path, ArgumentBlock& arguments, u32 flags);

}  // namespace corral::abi
