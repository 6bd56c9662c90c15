// Physical memory of the host tests: an arena whose first byte is physical address `arena_base`
// (support/host_machine.h). Everything else is the real header's.
#pragma once

#define direct_map_base machine_direct_map_base
#define direct machine_direct
#define physical_of_direct machine_physical_of_direct
#include "../../../../kernel/arch/x86_64/include/arch/page_table.h"
#undef direct_map_base
#undef direct
#undef physical_of_direct

namespace corral::arch {

// Where physical address 0 would be seen; set before memory is initialised.
inline u64 host_direct_map = 0;

template <class T = u8>
[[nodiscard]] T* direct(PhysicalAddress address) {
  return reinterpret_cast<T*>(host_direct_map + address.value);
}
[[nodiscard]] inline PhysicalAddress physical_of_direct(const void* pointer) {
  return {reinterpret_cast<u64>(pointer) - host_direct_map};
}

}  // namespace corral::arch
