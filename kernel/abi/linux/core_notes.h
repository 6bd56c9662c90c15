// The notes of a core file: what is told of the process, of the signal and of each thread. See core_layout.h.
// Context: the step of the thread that dumps, no lock held; the other threads stand still, and their registers are in memory.
#pragma once

#include "abi/linux/core_layout.h"
#include "abi/linux/core_memory.h"
#include "memory/heap_array.h"
#include "task/process.h"

namespace corral::abi::core {

// `image`: room for the floating-point registers of a thread. All notes about the process stand between those of its first thread, the one that took the signal.
Result<void> add_first_thread(fs::TextBuffer& to, Thread& thread, const SignalInfo& info, std::span<const MemorySegment> memory,
                              const memory::HeapArray<u8>& image);  // blocked
void add_other_thread(fs::TextBuffer& to, Thread& thread, i32 signal, const memory::HeapArray<u8>& image);
[[nodiscard]] u64 other_thread_size();  // bytes that it adds

}  // namespace corral::abi::core
