// The number of the calling thread as a core.
#include "arch/processor.h"
#include "support/host_machine.h"

namespace corral {
namespace {
thread_local u32 own_index = 0;
}

u32 arch::core_index() {
  return own_index;
}
// Nobody wants a trace here.
void* arch::core_trace_ring() {
  return nullptr;
}
void host::become_core(u32 index) {
  own_index = index;
}

}  // namespace corral
