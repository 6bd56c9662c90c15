// See options.h.
#include "boot/options.h"

#include "lib/format.h"

namespace corral::boot {

namespace {

using O = Options;

// The fields that a kind does not use stay null.
constexpr OptionDescription flag(std::string_view name, bool O::* field, std::string_view description) {
  return {name, OptionKind::flag, field, nullptr, nullptr, 0, 0, "", description};
}
constexpr OptionDescription number(std::string_view name, u64 O::* field, u64 low, u64 high, std::string_view description) {
  return {name, OptionKind::number, nullptr, field, nullptr, low, high, "", description};
}
constexpr OptionDescription choice(std::string_view name, std::string_view O::* field, std::string_view choices,
                                   std::string_view description) {
  return {name, OptionKind::choice, nullptr, nullptr, field, 0, 0, choices, description};
}
constexpr OptionDescription text(std::string_view name, std::string_view O::* field, std::string_view description) {
  return {name, OptionKind::text, nullptr, nullptr, field, 0, 0, "", description};
}

constexpr u64 any_number = ~u64{0};

constexpr OptionDescription table[] = {
    flag("quiet", &O::quiet, "show only warnings and errors on the consoles"),
    choice("log.level", &O::log_level, "error|warning|notice|info|debug", "the least important lines that consoles show"),
    number("timer.hz", &O::timer_hz, 10, 10'000, "ticks of the scheduler in a second"),
    number("sched.patience", &O::patience_ms, 0, 3'600'000,
           "milliseconds for each share after which somebody who waits while others run counts as starved; 0: never"),
    text("sched.algorithm", &O::algorithm, "scheduling algorithm of every core, with its tunables"),
    text("sched.placement", &O::placement, "placement policy for new and woken threads, with its tunables"),
    text("sched.migration", &O::migration, "migration policy for waiting and preempted threads, with its tunables"),
    choice("sched.check", &O::check, "report|panic", "when an invariant of scheduling is violated: say so and go on, or panic"),
    text("sched.groups", &O::groups, "core groups for real-time and other threads, by a method with its tunables"),
    choice("sched.wakes", &O::wakes, "home|waker",
           "who places a woken thread: the core where it slept, or the one that wakes it"),
    choice("sched.queues", &O::queues, "per-core|global", "where threads wait: a run queue for each core, or one for all"),
    choice("counters", &O::counters, "auto|none|pmu|model|pages",
           "who counts what threads use, for policies that go by it; auto: the best there is, while it is wanted"),
    text("init", &O::init, "path of the first program"),
    text("root", &O::root,
         "9p:TAG: the root is the host's folder with this mount tag, and the first program is the arguments' (none: a shell)"),
    number("cores.max", &O::cores_max, 1, max_cores, "most cores to start"),
    choice("clock", &O::clock, "auto|tsc|hpet|pm|pit", "source of the machine's time"),
    choice("x2apic", &O::x2apic, "auto|on|off", "use of the local interrupt controller's x2APIC mode"),
    choice("panic", &O::panic, "halt|off", "after a panic: stop with the message shown, or power off"),
    number("interleave.seed", &O::interleave_seed, 0, any_number, "seed of the artificial interleaving points; 0: none"),
    number("memory.fail", &O::memory_fail, 0, any_number,
           "the allocation, counted from the first program's start, that fails; 0: none"),
    number("memory.fail.every", &O::memory_fail_every, 0, any_number,
           "after memory.fail: every NUMBER-th allocation fails as well; 0: none"),
    choice("memory.large", &O::memory_large, "always|never", "pages of 2 MiB where programs use much memory"),
    flag("memory.canary", &O::memory_canary, "fill what the kernel leaves behind with a pattern that no program may ever see"),
    flag("provoke", &O::provoke, "let programs make the kernel fail on purpose (/proc/provoke)"),
    text("test", &O::test, "in-kernel tests to run: all, or the name of one"),
};

struct Listener {
  WarningListener warn;
  void* context;
  template <class... Arguments>
  void say(std::string_view format, const Arguments&... arguments) const {
    char line[240];
    if (warn != nullptr) warn(context, format_to(line, format, arguments...));
  }
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view part(std::string_view text, size_t from, size_t to) {
  return {text.data() + from, to - from};
}

// Takes the next word off; double quotes keep blanks inside a word together.
std::string_view take_word(std::string_view& rest) {
  size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  size_t end = begin;
  bool quoted = false;
  while (end < rest.size() && (quoted || !is_blank(rest[end]))) {
    if (rest[end] == '\\' && quoted && end + 1 < rest.size()) {
      ++end;
    } else if (rest[end] == '"') {
      quoted = !quoted;
    }
    ++end;
  }
  std::string_view word = part(rest, begin, end);
  rest = part(rest, end, rest.size());
  return word;
}

std::string_view without_quotes(std::string_view word) {
  bool quoted = word.size() >= 2 && word.front() == '"' && word.back() == '"';
  return quoted ? part(word, 1, word.size() - 1) : word;
}

bool is_one_of(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    size_t end = 0;
    while (end < choices.size() && choices[end] != '|') ++end;
    if (part(choices, 0, end) == value) return true;
    choices = part(choices, end < choices.size() ? end + 1 : end, choices.size());
  }
  return false;
}

// Steps (insert, leave out, replace one character) from `a` to `b`: Levenshtein's distance, one row at a time.
size_t distance(std::string_view a, std::string_view b) {
  constexpr size_t longest = 32;
  if (a.size() > longest || b.size() > longest) return longest;
  size_t row[longest + 1];
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      size_t best = row[j - 1] < row[j] ? row[j - 1] + 1 : row[j] + 1;
      row[j] = replaced < best ? replaced : best;
    }
  }
  return row[b.size()];
}

const OptionDescription* find_option(std::string_view name) {
  for (const OptionDescription& option : table) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

const OptionDescription& nearest_option(std::string_view name) {
  const OptionDescription* best = &table[0];
  for (const OptionDescription& option : table) {
    if (distance(name, option.name) < distance(name, best->name)) best = &option;
  }
  return *best;
}

// True when `value` is right for `option` and has been noted.
bool take_value(const OptionDescription& option, std::string_view value, Options& options) {
  switch (option.kind) {
    case OptionKind::flag: return false;
    case OptionKind::number: {
      u64 parsed = 0;
      if (!parse_number(value, parsed) || parsed < option.low || parsed > option.high) return false;
      options.*option.number = parsed;
      return true;
    }
    case OptionKind::choice:
      if (!is_one_of(option.choices, value)) return false;
      options.*option.text = value;
      return true;
    case OptionKind::text:
      if (value.empty()) return false;
      options.*option.text = value;
      return true;
  }
  return false;
}

void say_what_is_right(const OptionDescription& option, std::string_view word, const Options& options,
                       const Listener& listener) {
  switch (option.kind) {
    case OptionKind::flag: listener.say("option {}: write just {}", word, option.name); break;
    case OptionKind::number:
      if (option.high == any_number) {
        listener.say("option {}: write {}=NUMBER; it stays {}", word, option.name, options.*option.number);
      } else {
        listener.say("option {}: write {}=NUMBER, {} to {}; it stays {}", word, option.name, option.low, option.high,
                     options.*option.number);
      }
      break;
    case OptionKind::choice:
      listener.say("option {}: write {}={}; it stays {}", word, option.name, option.choices, options.*option.text);
      break;
    case OptionKind::text: listener.say("option {}: write {}=TEXT", word, option.name); break;
  }
}

void take_option(std::string_view word, Options& options, const Listener& listener) {
  size_t equals = 0;
  while (equals < word.size() && word[equals] != '=') ++equals;
  std::string_view name = part(word, 0, equals);
  bool has_value = equals < word.size();
  std::string_view value = has_value ? without_quotes(part(word, equals + 1, word.size())) : std::string_view{};

  const OptionDescription* option = find_option(name);
  if (option == nullptr) {
    listener.say("option {} is unknown; the nearest is {} ({})", word, nearest_option(name).name,
                 nearest_option(name).description);
  } else if (option->kind == OptionKind::flag && !has_value) {
    options.*option->flag = true;
  } else if (!has_value || !take_value(*option, value, options)) {
    say_what_is_right(*option, word, options, listener);
  }
}

}  // namespace

std::span<const OptionDescription> option_table() {
  return table;
}

Options parse_options(std::string_view command_line, WarningListener warn, void* context) {
  Options options;
  Listener listener{warn, context};
  std::string_view rest = command_line;
  for (;;) {
    std::string_view word = without_quotes(take_word(rest));
    if (word == "--") {
      while (!rest.empty() && is_blank(rest.front())) rest = part(rest, 1, rest.size());
      options.arguments = rest;
      break;
    }
    if (word.empty() && rest.empty()) break;
    if (!word.empty()) take_option(word, options, listener);
  }
  return options;
}

namespace {

// What a backslash protects. GRUB writes one before each of these when it passes a word on, inside quotes and outside.
bool is_protected(char c) {
  return c == '"' || c == '\\' || c == '\'';
}

}  // namespace

SplitResult split_arguments(std::string_view text, std::span<char> storage, std::span<const char*> words) {
  size_t count = 0;
  size_t used = 0;
  size_t at = 0;
  for (;;) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at == text.size()) return {count, true};
    if (count == words.size()) return {count, false};
    size_t begin = used;
    bool quoted = false;
    for (; at < text.size() && (quoted || !is_blank(text[at])); ++at) {
      char c = text[at];
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      if (c == '\\' && at + 1 < text.size() && is_protected(text[at + 1])) c = text[++at];
      if (used == storage.size()) return {count, false};
      storage[used++] = c;
    }
    if (quoted || used == storage.size()) return {count, false};
    storage[used++] = 0;
    words[count++] = &storage[begin];
  }
}

std::string_view describe_option(const OptionDescription& option, std::span<char> to) {
  const Options defaults;
  switch (option.kind) {
    case OptionKind::flag: return format_to(to, "| `{}` | off | {} |", option.name, option.description);
    case OptionKind::number:
      if (option.high == any_number) {
        return format_to(to, "| `{}=NUMBER` | {} | {} |", option.name, defaults.*option.number, option.description);
      }
      return format_to(to, "| `{}={}…{}` | {} | {} |", option.name, option.low, option.high, defaults.*option.number,
                       option.description);
    case OptionKind::choice:
    case OptionKind::text: {
      char values[96] = {};
      std::string_view shown = "TEXT";
      if (option.kind == OptionKind::choice) {
        size_t length = 0;
        for (char c : option.choices) {  // a bar ends a cell of a Markdown table
          if (c == '|' && length + 2 < sizeof(values)) values[length++] = '\\';
          if (length + 1 < sizeof(values)) values[length++] = c;
        }
        shown = {values, length};
      }
      std::string_view standard = defaults.*option.text;
      return format_to(to, "| `{}={}` | {} | {} |", option.name, shown, standard.empty() ? "none" : standard,
                       option.description);
    }
  }
  return {};
}

}  // namespace corral::boot
