// See core_pattern.h.
#include "fs/core_pattern.h"

#include "lib/format.h"
#include "lib/memory_functions.h"
#include "sync/spin_lock.h"

namespace corral::fs::core_pattern {

namespace {

constinit SpinLock pattern_lock{Rank::file, "core pattern"};
constinit Text pattern_in_force GUARDED_BY(pattern_lock) = {"core"};

class Name {
 public:
  explicit Name(std::span<char> to) : to_{to} {}
  void add(std::string_view text) {
    for (const char c : text) {
      if (size_ == to_.size()) {
        complete_ = false;
        return;
      }
      to_[size_++] = c;
    }
  }
  void add_number(u64 number) {
    char digits[24];
    add(format_to(digits, "{}", number));
  }
  // As one name, whatever it holds.
  void add_told(std::string_view text) {
    for (const char c : text) add(c == '/' ? std::string_view{"!"} : std::string_view{&c, 1});
  }
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::string_view text() const { return {to_.data(), size_}; }

 private:
  std::span<char> to_;
  u64 size_ = 0;
  bool complete_ = true;
};

std::string_view last_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : std::string_view{path.data() + slash + 1, path.size() - slash - 1};
}

void add_field(Name& name, char letter, const Circumstances& told) {
  switch (letter) {
    case '%': name.add("%"); break;
    case 'p':
    case 'P': name.add_number(static_cast<u64>(told.process)); break;
    case 'i':
    case 'I': name.add_number(static_cast<u64>(told.thread)); break;
    case 'u': name.add_number(told.user); break;
    case 'g': name.add_number(told.group); break;
    case 'd': name.add_number(1); break;  // as PR_GET_DUMPABLE: others leave no dump
    case 's': name.add_number(static_cast<u64>(told.signal)); break;
    case 'c': name.add_number(told.limit); break;
    case 't': name.add_number(told.seconds); break;
    case 'C': name.add_number(told.core); break;
    case 'h': name.add_told(told.host); break;
    case 'e': name.add_told(told.command); break;
    case 'f': name.add_told(last_name(told.program)); break;
    case 'E': name.add_told(told.program); break;
    default: break;  // an unknown one tells nothing
  }
}

}  // namespace

constinit Setting with_process{0, 0, 1};

Text get() {
  LockGuard guard{pattern_lock};
  return pattern_in_force;
}

Result<void> set(std::string_view pattern) {
  while (!pattern.empty() && (pattern.back() == '\n' || pattern.back() == '\0')) pattern.remove_suffix(1);
  if (pattern.starts_with('|')) return Errno::einval;
  Text text;
  memcpy(text.bytes, pattern.data(), pattern.size() < longest ? pattern.size() : longest);
  LockGuard guard{pattern_lock};
  pattern_in_force = text;
  return {};
}

Result<std::string_view> expand(std::string_view pattern, bool numbered, const Circumstances& told, std::span<char> to) {
  Name name{to};
  bool process_told = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name.add({&pattern[i], 1});
    } else if (++i < pattern.size()) {
      process_told = process_told || pattern[i] == 'p';
      add_field(name, pattern[i], told);
    }
  }
  if (numbered && !process_told) {
    name.add(".");
    name.add_number(static_cast<u64>(told.process));
  }
  if (!name.complete()) return Errno::enametoolong;
  return name.text();
}

}  // namespace corral::fs::core_pattern
