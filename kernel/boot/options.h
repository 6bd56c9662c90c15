// The kernel's command line: `name=value` words, then ` -- ` and the arguments of the first process.
//
// Pure: no hardware, no allocation, no global; tested on the host. One table (option_table) holds every option with its
// type, range, default and description; the parser, the warnings and docs/boot-options.md come from it.
// A wrong option never stops a boot: it gives a warning that names the right one, and the default stays.
#pragma once

#include <span>
#include <string_view>

#include "lib/types.h"

namespace corral::boot {

// Values as given; texts are pieces of the command line, which must outlive this.
struct Options {
  bool quiet = false;
  std::string_view log_level = "info";
  std::string_view clock = "auto";
  std::string_view x2apic = "auto";
  std::string_view panic = "halt";
  std::string_view algorithm = "cfs";
  std::string_view placement = "least-loaded";
  std::string_view migration = "pull";
  std::string_view groups = "none";
  std::string_view queues = "per-core";
  std::string_view wakes = "home";
  std::string_view counters = "auto";
  std::string_view check = "report";
  std::string_view init = "/init";
  std::string_view root;
  std::string_view test;
  std::string_view memory_large = "always";
  bool memory_canary = false;
  bool provoke = false;
  u64 timer_hz = 250;
  u64 patience_ms = 10'000;  // 0: nobody looks who starves
  u64 cores_max = max_cores;
  u64 interleave_seed = 0;  // 0: no seeded interleaving points
  u64 memory_fail = 0;      // 0: none fails
  u64 memory_fail_every = 0;
  std::string_view arguments;  // all that stands behind ` -- `, not yet split
};

enum class OptionKind : u8 { flag, number, choice, text };

struct OptionDescription {
  std::string_view name;
  OptionKind kind;
  bool Options::* flag;
  u64 Options::* number;
  std::string_view Options::* text;  // choice and text
  u64 low, high;                     // number: the range, both included
  std::string_view choices;          // choice: "auto|on|off"
  std::string_view description;
};
[[nodiscard]] std::span<const OptionDescription> option_table();

// Told about each wrong option, one sentence without a line break.
using WarningListener = void (*)(void* context, std::string_view text);

[[nodiscard]] Options parse_options(std::string_view command_line, WarningListener warn, void* context);

// Splits init's arguments at blanks. Double quotes group; a backslash protects a quote of either kind or a backslash.
// Words are written, zero-terminated, into `storage`, and their addresses into `words`. Returns how many; false in
// `complete` when something did not fit or a quote was left open.
struct SplitResult {
  size_t count;
  bool complete;
};
[[nodiscard]] SplitResult split_arguments(std::string_view text, std::span<char> storage, std::span<const char*> words);

// One line of the option documentation (a row of a Markdown table); a prefix of `to`.
[[nodiscard]] std::string_view describe_option(const OptionDescription& option, std::span<char> to);

}  // namespace corral::boot
