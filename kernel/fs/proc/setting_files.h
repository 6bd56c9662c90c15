// Files of /proc/sys that are numbers: shown, and changed by writing all of them, between spaces. Source: Linux proc(5), sysctl(2).
#pragma once

#include "fs/generated_file.h"
#include "lib/setting.h"

namespace corral::fs::proc {

// A tab between them.
void show_settings(TextBuffer& to, std::span<const Setting* const> settings);
// einval: no numbers, or one that its setting may not be; then none is changed. Fewer than there are: the rest stays.
Result<void> store_settings(std::string_view text, std::span<Setting* const> settings);

template <Setting&... S>
Result<void> show(TextBuffer& to, const Subject&) {
  constexpr const Setting* settings[] = {&S...};
  show_settings(to, settings);
  return {};
}

template <Setting&... S>
Result<void> store(std::string_view text, const Subject&) {
  constexpr Setting* settings[] = {&S...};
  return store_settings(text, settings);
}

template <Setting&... S>
constexpr Node setting(const char* name) {
  return {.name = name, .permissions = 0644, .text = show<S...>, .store = store<S...>};
}

}  // namespace corral::fs::proc
