// See policy_choice.h.
#include "sched/policy_choice.h"

#include "lib/format.h"

namespace corral::sched {

namespace {

template <class... Arguments>
void say(Refusal& why, std::string_view format, const Arguments&... arguments) {
  why.length += format_to({why.text + why.length, sizeof why.text - why.length}, format, arguments...).size();
}

std::string_view part(std::string_view text, size_t from, size_t to) {
  return {text.data() + from, to - from};
}

// Takes what stands before the first `end` off, and that too; everything when there is none.
std::string_view take_until(std::string_view& text, char end) {
  size_t length = 0;
  while (length < text.size() && text[length] != end) ++length;
  const std::string_view taken = part(text, 0, length);
  text = part(text, length < text.size() ? length + 1 : length, text.size());
  return taken;
}

std::string_view gap(bool first) {
  return first ? "" : ", ";
}

void say_tunables(const PolicyDescription& policy, Refusal& why) {
  say(why, policy.tunables.empty() ? "it has none" : "it has ");
  for (const Tunable& tunable : policy.tunables) say(why, "{}{}", gap(&tunable == policy.tunables.data()), tunable.name);
}

const Tunable* find_tunable(const PolicyDescription& policy, std::string_view name) {
  for (const Tunable& tunable : policy.tunables) {
    if (name == tunable.name) return &tunable;
  }
  return nullptr;
}

// One "NAME=VALUE".
bool take_value(std::string_view setting, const PolicyDescription& policy, Duration tick, TunableValues& values, Refusal& why) {
  std::string_view number = setting;
  const std::string_view name = take_until(number, '=');
  const Tunable* tunable = find_tunable(policy, name);
  if (tunable == nullptr) {
    say(why, "{} has no tunable {}; ", policy.name, name);
    say_tunables(policy, why);
    return false;
  }
  u64 value = 0;
  const bool right =
      parse_number(number, value) && value <= static_cast<u64>(tunable->high) && value >= static_cast<u64>(tunable->low);
  if (!right) {
    say(why, "{}: write {}=NUMBER, {} to {}", setting, tunable->name, tunable->low, tunable->high);
    if (tunable->unit != Unit::number) say(why, " {}", name_of(tunable->unit));
    return false;
  }
  values.set(static_cast<size_t>(tunable - policy.tunables.data()), tunable->in_effect(static_cast<i64>(value), tick));
  return true;
}

template <class Descriptor>
const Descriptor* choose(std::span<const Descriptor* const> policies, std::string_view text, Duration tick,
                         TunableValues& values, Refusal& why) {
  std::string_view settings = text;
  const std::string_view name = take_until(settings, ':');
  for (const Descriptor* policy : policies) {
    if (name != policy->name) continue;
    TunableValues read{*policy, tick};
    while (!settings.empty()) {
      if (!take_value(take_until(settings, ','), *policy, tick, read, why)) return nullptr;
    }
    values = read;
    return policy;
  }
  say(why, "there is no {}; there are ", name);
  for (const Descriptor* policy : policies) say(why, "{}{}", gap(policy == policies[0]), policy->name);
  return nullptr;
}

}  // namespace

const AlgorithmDescriptor* choose_algorithm(std::string_view text, Duration tick, TunableValues& values, Refusal& why) {
  return choose(algorithms(), text, tick, values, why);
}

const PlacementDescriptor* choose_placement(std::string_view text, Duration tick, TunableValues& values, Refusal& why) {
  return choose(placements(), text, tick, values, why);
}

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::number: break;
    case Unit::microseconds: return "µs";
    case Unit::percent_of_tick: return "% of a tick";
  }
  return "";
}

}  // namespace corral::sched
