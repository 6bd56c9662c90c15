// The core file of a process that a signal ends: for debuggers, who find in it the memory, and the registers of each thread.
// When one is made, what it is called and what is in it: Linux core(5). Neither for a program to be started with it, nor for other users:
// a process that is not to be dumped (PR_SET_DUMPABLE) leaves none.
#pragma once

namespace corral::abi {

void enable_core_files();  // boot context, before the first process

}  // namespace corral::abi
