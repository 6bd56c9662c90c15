// Host program of the build: writes docs/boot-options.md from the kernel's table of options.
#include <algorithm>
#include <cstdio>
#include <string>

#include "boot/options.h"
#include "sched/policy_choice.h"

namespace {

using corral::sched::Tunable;

// A unit goes with the default and the range.
std::string_view space_and_unit(const Tunable& tunable, char (&room)[32]) {
  const std::string_view unit = name_of(tunable.unit);
  const int length =
      std::snprintf(room, sizeof(room), "%s%.*s", unit.empty() ? "" : " ", static_cast<int>(unit.size()), unit.data());
  return {room, static_cast<size_t>(length)};
}

std::string range_of(const Tunable& tunable) {
  if (!tunable.choices.empty()) {
    std::string names;
    for (const char* name : tunable.choices) names += (names.empty() ? "" : ", ") + std::string{name};
    return names;
  }
  const std::string range = std::to_string(tunable.low) + " … " + std::to_string(tunable.high);
  return tunable.unit == corral::sched::Unit::ratio ? "each " + range : range;
}

template <class Descriptor>
void print_policies(std::FILE* file, const char* title, const char* option, std::span<const Descriptor* const> policies) {
  std::fprintf(file, "\n## %s\n\n| `%s=` | what it is |\n|---|---|\n", title, option);
  for (const Descriptor* policy : policies) std::fprintf(file, "| %s | %s |\n", policy->name, policy->description);
  if (std::ranges::all_of(policies, [](const Descriptor* policy) { return policy->tunables.empty(); })) return;
  std::fputs("\n| tunable | default | range | meaning |\n|---|---|---|---|\n", file);
  for (const Descriptor* policy : policies) {
    for (const Tunable& tunable : policy->tunables) {
      char room[32];
      char value[64];
      const std::string_view unit = space_and_unit(tunable, room);
      const std::string_view standard = write_value(tunable, tunable.standard, value);
      std::fprintf(file, "| %s `%s` | %.*s%.*s | %s | %s |\n", policy->name, tunable.name, static_cast<int>(standard.size()),
                   standard.data(), static_cast<int>(unit.size()), unit.data(), range_of(tunable).c_str(), tunable.description);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: print_options FILE\n");
    return 2;
  }
  std::FILE* file = std::fopen(arguments[1], "w");
  if (file == nullptr) {
    std::perror(arguments[1]);
    return 1;
  }
  std::fputs(
      "# Boot options\n\n"
      "Words of the kernel's command line (`./corral run --append \"quiet clock=hpet\"`). A wrong one gives a warning in the\n"
      "log that names the right one, and the default stays. Everything after ` -- ` is handed to the first program as its\n"
      "arguments; double quotes keep blanks inside one of them.\n\n"
      "This page is written by the build from `kernel/boot/options.cpp`.\n\n"
      "| option | default | meaning |\n|---|---|---|\n",
      file);
  for (const corral::boot::OptionDescription& option : corral::boot::option_table()) {
    char line[512];
    std::string_view text = corral::boot::describe_option(option, line);
    std::fprintf(file, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
  std::fputs(
      "\nA scheduling policy is named with values for some of its tunables, or without: `rr`, `rr:quantum=50`,\n"
      "`cfs:latency=300,turn=50`. `/proc/sched` shows the values in use; the same text written there after the word "
      "`algorithm`,\n"
      "`placement`, `migration` or `groups` changes the policy of the running system. What is not named has its default. "
      "These\n"
      "tables come from the\n"
      "policies' own files.\n",
      file);
  print_policies(file, "Scheduling algorithms", "sched.algorithm", corral::sched::algorithms());
  print_policies(file, "Placement policies", "sched.placement", corral::sched::placements());
  print_policies(file, "Migration policies", "sched.migration", corral::sched::migrations());
  print_policies(file, "Core groups", "sched.groups", corral::sched::groupings());
  return std::fclose(file) == 0 ? 0 : 1;
}
