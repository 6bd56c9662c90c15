// /proc/sched: the policies in use and what each core does; written, it chooses others. /proc/sched-policies: all that there
// are, with their tunables; docs/scheduling.md; the program `corral-sched` shows both. /proc/sched-dump: policies that failed.
#include <algorithm>

#include "fs/proc/proc.h"
#include "lib/core_list.h"
#include "lib/text.h"
#include "sched/engine/fallbacks.h"
#include "sched/engine/manager.h"
#include "sched/policy_choice.h"
#include "trace/invariants.h"
#include "trace/log.h"

namespace corral::fs::proc {

namespace {

using sched::Refusal;

template <class... Arguments>
Errno refuse(Refusal& why, std::string_view format, const Arguments&... arguments) {
  why.length = format_to(why.text, format, arguments...).size();
  return Errno::einval;
}

Result<void> set_timelines(std::string_view policy, std::string_view where, Refusal& why) {
  if (where.empty()) return scheduling().set_algorithm(policy, why);
  CoreSet cores;
  if (!parse_core_list(where, cores)) return refuse(why, "{}: write cores as in 0-3,5", where);
  const CoreSet all = scheduling().cores();
  if (cores.without(all).empty()) return scheduling().set_algorithm(policy, why, cores);
  (void)refuse(why, "{} names cores that there are not; there are ", where);
  write_core_list(all, [&](std::string_view format, const auto&... arguments) {
    why.length += format_to({why.text + why.length, sizeof why.text - why.length}, format, arguments...).size();
  });
  return Errno::einval;
}

// "KIND POLICY[:TUNABLE=VALUE,…]", behind a timeline's also "cores LIST".
Result<void> choose(std::string_view text, Refusal& why) {
  text = trim(text);
  std::string_view rest = text;
  const std::string_view kind = take_word(rest, is_space);
  const std::string_view policy = take_word(rest, is_space);
  const std::string_view word = take_word(rest, is_space);
  rest = trim(rest);
  const bool has_where = word == "cores" && !rest.empty();
  constexpr std::string_view kinds[] = {"algorithm", "placement", "migration", "groups", "queues", "wakes"};
  const bool known = std::ranges::find(kinds, kind) != std::end(kinds);
  if (!known || policy.empty() || (!word.empty() && !has_where)) {
    return refuse(
        why, "{}: write algorithm, placement, migration, groups, queues or wakes, and then POLICY[:TUNABLE=VALUE,...]", text);
  }
  if (has_where && kind != "algorithm") return refuse(why, "the {} is that of all cores", kind);
  if (kind == "algorithm") return set_timelines(policy, rest, why);
  if (kind == "placement") return scheduling().set_placement(policy, why);
  if (kind == "migration") return scheduling().set_migration(policy, why);
  if (kind == "queues") return scheduling().set_queues(policy, why);
  if (kind == "wakes") return scheduling().set_wakes(policy, why);
  return scheduling().set_groups(policy, why);
}

template <class Descriptor>
void list(TextBuffer& to, const char* kind, std::span<const Descriptor* const> policies) {
  for (const sched::PolicyDescription* policy : policies) {
    to.print("{} {}: {}\n", kind, policy->name, policy->description);
    for (const sched::Tunable& tunable : policy->tunables) {
      char text[512];
      to.print("  {}\n", sched::write_tunable(tunable, text));
    }
  }
}

}  // namespace

Result<void> scheduling_text(TextBuffer& to, const Subject&) {
  const u64 expected = (8 << 10) + u64{scheduling().cores().count()} * 256;
  to.append_from([](std::span<char> room) { return scheduling().describe_scheduling(room.data(), room.size()); }, expected);
  return {};
}

Result<void> scheduling_dump(TextBuffer& to, const Subject&) {
  constexpr u64 expected = 4 << 10;
  const auto failures = [](std::span<char> room) {
    return sched::fallbacks::describe(room.data(), room.size(), scheduling().tick());
  };
  to.append_from(failures, expected);
  to.append_from([](std::span<char> room) { return invariants::describe(room.data(), room.size()); }, expected);
  return {};
}

Result<void> scheduling_policies(TextBuffer& to, const Subject&) {
  list(to, "algorithm", sched::algorithms());
  list(to, "placement", sched::placements());
  list(to, "migration", sched::migrations());
  list(to, "groups", sched::groupings());
  to.print("queues per-core: a run queue for each core\n");
  to.print("queues global: one ready queue for all cores, with a lock for each priority level\n");
  to.print("wakes home: who is woken is placed by the core where it slept\n");
  to.print("wakes waker: who is woken is placed by the core that wakes it\n");
  return {};
}

Result<void> set_scheduling(std::string_view text, const Subject&, TextBuffer& why) {
  Refusal refusal;
  const Result<void> outcome = choose(text, refusal);
  if (outcome.ok()) return {};
  if (outcome.error() == Errno::enomem) (void)refuse(refusal, "there is not enough memory for that");
  why.print("{}\n", refusal.view());
  log::info("/proc/sched: {}", refusal.view());
  return outcome;
}

}  // namespace corral::fs::proc
