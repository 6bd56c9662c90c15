// Physical memory as a mapping of the host; pages that are not touched cost nothing.
#include <sys/mman.h>

#include "arch/page_table.h"
#include "support/host_machine.h"

namespace corral::host {

Memory::Memory(PhysicalAddress base, u64 size) : size_{size} {
  void* place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) throw std::runtime_error("no room for the arena");
  arena_ = static_cast<u8*>(place);
  arch::host_direct_map = reinterpret_cast<u64>(arena_) - base.value;
}

Memory::~Memory() {
  munmap(arena_, size_);
}

}  // namespace corral::host
