// What QEMU 7.2 exports beside its interface for plugins, and how a core's budget of instructions is found in it. Each may be missing in another QEMU:
// what needs it says so and is refused.
#pragma once

#include <cstdint>

extern "C" {

[[gnu::weak]] void* qemu_get_cpu(int number);
[[gnu::weak]] void cpu_exit(void* core);  // ends the core's turn after the present block
[[gnu::weak]] void qemu_plugin_disable_mem_helpers(void* core);
[[gnu::weak]] extern int use_icount;

}  // extern "C"

namespace corral::cache_model {

[[nodiscard]] inline bool counts_instructions() {
  return &use_icount != nullptr && use_icount != 0;
}
[[nodiscard]] inline bool can_end_turns() {
  return qemu_get_cpu != nullptr && cpu_exit != nullptr;
}

// Of a core under -icount: how many instructions it may still execute before QEMU looks at its timers, 16 bits. Taking some away lets
// virtual time pass. Null: not found.
//
// A core's object has, side by side, a pointer to its registers and one to this number, which is immediately before them. That pair
// is looked for.
[[nodiscard]] inline std::uint16_t* find_budget(void* core) {
  constexpr std::uintptr_t searched = 32 << 10, largest_object = 256 << 10, farthest = 32;
  const auto base = reinterpret_cast<std::uintptr_t>(core);
  const auto* const words = static_cast<const std::uintptr_t*>(core);
  for (std::uintptr_t i = 0; i < searched / sizeof *words; ++i) {
    const std::uintptr_t registers = words[i], budget = words[i + 1];
    if (registers <= base || registers >= base + largest_object) continue;
    if (budget < registers && registers - budget <= farthest) return reinterpret_cast<std::uint16_t*>(budget);
  }
  return nullptr;
}

}  // namespace corral::cache_model
