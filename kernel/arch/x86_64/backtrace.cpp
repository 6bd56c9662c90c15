// See arch/backtrace.h. Frames as the compiler makes them with -fno-omit-frame-pointer: at rbp the caller's rbp, above it
// the return address. The outermost frame has rbp 0 (entry.S, boot/entry.S, trampoline.S).
#include "arch/backtrace.h"

#include "arch/page_table.h"
#include "paging.h"

namespace corral::arch {

namespace {

// Both words of a frame, if they lie on mapped kernel memory.
bool read_frame(u64 frame, u64& caller, u64& address) {
  if (frame % sizeof(u64) != 0 || frame < direct_map_base || frame > ~u64{0} - page_size) return false;
  for (u64 word = frame; word < frame + 2 * sizeof(u64); word += sizeof(u64)) {
    u32 level = root_level;
    if (kernel_root().value == 0 || find_leaf(kernel_root(), word, level) == 0) return false;
  }
  caller = *reinterpret_cast<const u64*>(frame);
  address = *reinterpret_cast<const u64*>(frame + sizeof(u64));
  return true;
}

size_t walk(u64 frame, std::span<VirtualAddress> to, size_t count) {
  while (count < to.size()) {
    u64 caller = 0;
    u64 address = 0;
    if (!read_frame(frame, caller, address) || address < kernel_image_base) break;
    to[count++] = {address};
    if (caller <= frame) break;  // callers stand higher on the stack: anything else is the end, or damage
    frame = caller;
  }
  return count;
}

}  // namespace

size_t backtrace_here(std::span<VirtualAddress> to) {
  return walk(reinterpret_cast<u64>(__builtin_frame_address(0)), to, 0);
}

size_t backtrace_of(const TrapFrame& frame, std::span<VirtualAddress> to) {
  if (to.empty()) return 0;
  to[0] = frame.program_counter();
  return frame.from_user() ? 1 : walk(frame.rbp, to, 1);
}

}  // namespace corral::arch
