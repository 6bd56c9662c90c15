// What a policy can do wrong, and in which call: for the engine's account of it. Pure, any context.
#pragma once

#include <string_view>

#include "arch/guarded_call.h"
#include "lib/types.h"

namespace corral::sched {

enum class Misdeed : u8 {
  fault,           // the call faulted
  stack_overflow,  // the call used up the kernel stack
  endless,         // the call did not come to an end
  not_waiting,     // the answer is no entity that waits here
  withheld,        // no answer though somebody waits who may run here, or, of last_waiting(), who waits
  kept,            // an entity that was taken out is still in a list or tree of the policy
  hasty,           // a turn that ends before it begins
  starvation,      // somebody waited too long while others ran (engine/starvation.h)
  outside,         // a core that is not among the candidates, or no core where there has to be one
  absurd_time,     // a moment that cannot be meant (Migrator::longest_wait)
  to_and_fro,      // threads were sent on for nothing, again and again (Migrator::most_needless)
};
enum class PolicyCall : u8 {
  make,
  enqueue,
  dequeue,
  pick,
  charge,
  depart,
  review,
  last_waiting,
  select,
  push,
  ask,
  leaves_at,
  score,
  choose
};

[[nodiscard]] inline Misdeed misdeed_of(arch::CallFailure failure) {
  switch (failure) {
    case arch::CallFailure::stack_overflow: return Misdeed::stack_overflow;
    case arch::CallFailure::endless: return Misdeed::endless;
    case arch::CallFailure::none:
    case arch::CallFailure::fault: break;
  }
  return Misdeed::fault;
}

[[nodiscard]] constexpr std::string_view text_of(Misdeed misdeed) {
  constexpr std::string_view texts[] = {"faulted",
                                        "ran over the kernel stack",
                                        "did not come to an end",
                                        "answered what does not wait here",
                                        "withheld who may run",
                                        "kept what was taken out",
                                        "gave a turn without time",
                                        "let somebody starve",
                                        "answered a core that is no candidate",
                                        "answered a time that cannot be meant",
                                        "sent threads to and fro"};
  return texts[static_cast<u8>(misdeed)];
}
[[nodiscard]] constexpr std::string_view name_of(PolicyCall call) {
  constexpr std::string_view names[] = {"make",         "enqueue", "dequeue", "pick", "charge",    "depart", "review",
                                        "last_waiting", "select",  "push",    "ask",  "leaves_at", "score",  "choose"};
  return names[static_cast<u8>(call)];
}

}  // namespace corral::sched
