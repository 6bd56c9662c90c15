// See policy_choice.h.
#include "sched/policy_choice.h"

#include "lib/format.h"
#include "lib/text.h"

namespace corral::sched {

namespace {

template <class... Arguments>
void say(Refusal& why, std::string_view format, const Arguments&... arguments) {
  why.length += format_to({why.text + why.length, sizeof why.text - why.length}, format, arguments...).size();
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

bool read_number(const Tunable& tunable, std::string_view text, i64& value) {
  u64 number = 0;
  if (!parse_number(text, number) || number > static_cast<u64>(tunable.high) || number < static_cast<u64>(tunable.low)) {
    return false;
  }
  value = static_cast<i64>(number);
  return true;
}

bool read_value(const Tunable& tunable, std::string_view text, i64& value) {
  switch (tunable.unit) {
    case Unit::number:
    case Unit::microseconds:
    case Unit::percent_of_tick: return read_number(tunable, text, value);
    case Unit::choice:
      for (size_t i = 0; i < tunable.choices.size(); ++i) {
        if (text != tunable.choices[i]) continue;
        value = static_cast<i64>(i);
        return true;
      }
      return false;
    case Unit::ratio: {
      i64 numbers[2] = {};
      const std::string_view first = take_part(text, ':');
      if (!read_number(tunable, first, numbers[0]) || !read_number(tunable, text, numbers[1])) return false;
      value = packed_ratio(static_cast<u32>(numbers[0]), static_cast<u32>(numbers[1]));
      return true;
    }
  }
  return false;
}

// What would have been right instead of `setting`.
void say_value(std::string_view setting, const Tunable& tunable, Refusal& why) {
  say(why, "{}: write {}=", setting, tunable.name);
  switch (tunable.unit) {
    case Unit::number:
    case Unit::microseconds:
    case Unit::percent_of_tick:
      say(why, "NUMBER, {} to {}", tunable.low, tunable.high);
      if (tunable.unit != Unit::number) say(why, " {}", name_of(tunable.unit));
      break;
    case Unit::choice:
      for (const char* const& name : tunable.choices) say(why, "{}{}", &name == tunable.choices.data() ? "" : "|", name);
      break;
    case Unit::ratio: say(why, "NUMBER:NUMBER, each {} to {}", tunable.low, tunable.high); break;
  }
}

// One "NAME=VALUE".
bool take_value(std::string_view setting, const PolicyDescription& policy, Duration tick, TunableValues& values, Refusal& why) {
  std::string_view number = setting;
  const std::string_view name = take_part(number, '=');
  const Tunable* tunable = find_tunable(policy, name);
  if (tunable == nullptr) {
    say(why, "{} has no tunable {}; ", policy.name, name);
    say_tunables(policy, why);
    return false;
  }
  i64 value = 0;
  if (!read_value(*tunable, number, value)) {
    say_value(setting, *tunable, why);
    return false;
  }
  values.set(static_cast<size_t>(tunable - policy.tunables.data()), tunable->in_effect(value, tick));
  return true;
}

template <class Descriptor>
const Descriptor* choose(std::span<const Descriptor* const> policies, std::string_view text, Duration tick,
                         TunableValues& values, Refusal& why) {
  std::string_view settings = text;
  const std::string_view name = take_part(settings, ':');
  for (const Descriptor* policy : policies) {
    if (name != policy->name) continue;
    TunableValues read{*policy, tick};
    while (!settings.empty()) {
      if (!take_value(take_part(settings, ','), *policy, tick, read, why)) return nullptr;
    }
    values = read;
    return policy;
  }
  say(why, "there is no {}; there are ", name);
  for (const Descriptor* policy : policies) say(why, "{}{}", gap(policy == policies[0]), policy->name);
  return nullptr;
}

bool choose_of_two(std::string_view text, std::string_view usual, std::string_view other, bool& is_other, Refusal& why) {
  if (text != usual && text != other) {
    say(why, "there is no {}; there are {} and {}", text, usual, other);
    return false;
  }
  is_other = text == other;
  return true;
}

}  // namespace

const AlgorithmDescriptor* choose_algorithm(std::string_view text, Duration tick, TunableValues& values, Refusal& why) {
  return choose(algorithms(), text, tick, values, why);
}

const PlacementDescriptor* choose_placement(std::string_view text, Duration tick, TunableValues& values, Refusal& why) {
  return choose(placements(), text, tick, values, why);
}

const MigrationDescriptor* choose_migration(std::string_view text, Duration tick, TunableValues& values, Refusal& why) {
  return choose(migrations(), text, tick, values, why);
}

const GroupingDescriptor* choose_grouping(std::string_view text, Duration tick, TunableValues& values, Refusal& why) {
  return choose(groupings(), text, tick, values, why);
}

bool choose_queues(std::string_view text, bool& global, Refusal& why) {
  return choose_of_two(text, "per-core", "global", global, why);
}

bool choose_wakes(std::string_view text, bool& waker, Refusal& why) {
  return choose_of_two(text, "home", "waker", waker, why);
}

std::string_view write_value(const Tunable& tunable, i64 value, std::span<char> to) {
  switch (tunable.unit) {
    case Unit::number:
    case Unit::microseconds:
    case Unit::percent_of_tick: break;
    case Unit::choice: return format_to(to, "{}", tunable.choices[static_cast<size_t>(value)]);
    case Unit::ratio: return format_to(to, "{}:{}", first_of(value), second_of(value));
  }
  return format_to(to, "{}", value);
}

std::string_view write_tunable(const Tunable& tunable, std::span<char> to) {
  char room[64];
  size_t used = format_to(to, "{}={}, ", tunable.name, write_value(tunable, tunable.standard, room)).size();
  const auto add = [&](std::string_view format, const auto&... arguments) {
    used += format_to(to.subspan(used), format, arguments...).size();
  };
  if (tunable.unit == Unit::choice) {
    for (const char* const& name : tunable.choices) add("{}{}", &name == tunable.choices.data() ? "" : "|", name);
  } else {
    const std::string_view unit = name_of(tunable.unit);
    add("{}{} to {}{}{}", tunable.unit == Unit::ratio ? "NUMBER:NUMBER, each " : "", tunable.low, tunable.high,
        unit.empty() ? "" : " ", unit);
  }
  add(": {}", tunable.description);
  return {to.data(), used};
}

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::number:
    case Unit::choice:
    case Unit::ratio: break;
    case Unit::microseconds: return "µs";
    case Unit::percent_of_tick: return "% of a tick";
  }
  return "";
}

}  // namespace corral::sched
