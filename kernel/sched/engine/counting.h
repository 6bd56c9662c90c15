// Which counter source is used, and whether anybody counts at all (docs/counters.md).
//
// The source is chosen once, at boot. It counts while a policy in force goes by what it tells, or all the time when the boot option
// names it. While nobody counts, a look at one word is all that a switch of threads costs.
#pragma once

#include <string_view>

#include "lib/atomic.h"
#include "lib/result.h"
#include "sched/counters.h"

namespace corral::sched::counting {

namespace detail {
extern Atomic<u32> session;
}

// ---- boot context ------------------------------------------------------------------------------------------------------------
// In the order in which they are preferred, at most `most_sources`.
inline constexpr u32 most_sources = 4;
void add(CounterSource& source);
// "auto": the first that can be used and tells of memory; "none"; or the name of one. One that cannot be used is refused with its reason in the log, and
// none is used. Once, after add().
void choose(std::string_view name);

// ---- any core ------------------------------------------------------------------------------------------------------------------
// Odd: somebody counts. Another number each time that counting begins or ends; what was begun in one session is not ended in
// another.
[[nodiscard]] inline u32 session() {
  return detail::session.load(Order::relaxed);
}
[[nodiscard]] inline bool active() {
  return (session() & 1) != 0;
}
[[nodiscard]] CounterSource* chosen();  // null: none
// A policy goes by what is counted, or none does. One call at a time. True: counting has begun or ended.
bool want(bool wanted);

// Lines for /proc/sched: what is used, and why the others are not. Writes at most `size` bytes, returns how many.
size_t describe(char* to, size_t size);

}  // namespace corral::sched::counting
