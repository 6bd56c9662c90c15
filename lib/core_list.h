// Sets of cores as people write them: "0-3,5". Pure, any context.
#pragma once

#include <string_view>

#include "lib/core_set.h"
#include "lib/format.h"
#include "lib/text.h"

namespace corral {

namespace core_list {

// One "N" or "N-M".
inline bool read_range(std::string_view range, CoreSet& set) {
  const bool single = range.find('-') == std::string_view::npos;
  u64 first = 0;
  if (!parse_number(take_part(range, '-'), first)) return false;
  u64 last = first;
  if (!single && !parse_number(range, last)) return false;
  if (last < first || last >= max_cores) return false;
  for (u64 i = first; i <= last; ++i) set.add(CoreId{static_cast<u32>(i)});
  return true;
}

}  // namespace core_list

// The cores that `text` lists, in `set`. False: it is no such list, names none, or one that no machine has; `set` is unchanged.
[[nodiscard]] inline bool parse_core_list(std::string_view text, CoreSet& set) {
  CoreSet read;
  if (text.empty() || text.back() == ',') return false;
  while (!text.empty()) {
    if (!core_list::read_range(take_part(text, ','), read)) return false;
  }
  set = read;
  return true;
}

// Writes `set`: line(format, arguments ...) for each part.
template <class Line>
void write_core_list(const CoreSet& set, Line&& line) {
  const char* gap = "";
  set.for_each_range([&](CoreId first, CoreId last) {
    line("{}{}", gap, first);
    if (last != first) line("-{}", last);
    gap = ",";
  });
}

}  // namespace corral
