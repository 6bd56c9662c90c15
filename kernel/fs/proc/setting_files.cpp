// See setting_files.h.
#include "fs/proc/setting_files.h"

#include "lib/format.h"
#include "lib/text.h"

namespace corral::fs::proc {

namespace {

bool is_gap(char c) {
  return is_space(c) || c == '\0';
}

}  // namespace

void show_settings(TextBuffer& to, std::span<const Setting* const> settings) {
  for (const Setting* setting : settings) to.print(setting == settings.front() ? "{}" : "\t{}", setting->value());
  to.append("\n");
}

Result<void> store_settings(std::string_view text, std::span<Setting* const> settings) {
  std::string_view rest = text;
  size_t count = 0;
  for (; count < settings.size(); ++count) {
    const std::string_view word = take_word(rest, is_gap);
    if (word.empty()) break;
    u64 value = 0;
    if (!parse_number(word, value) || !settings[count]->may_be(value)) return Errno::einval;
  }
  if (count == 0) return Errno::einval;
  rest = text;
  for (size_t i = 0; i < count; ++i) {
    u64 value = 0;
    if (parse_number(take_word(rest, is_gap), value)) settings[i]->set(value);
  }
  return {};
}

}  // namespace corral::fs::proc
