// Splitting a path into its names. Pure: no allocation, no file system; tested on the host.
// Source: POSIX.1-2017, 4.13 Pathname Resolution.
#pragma once

#include <string_view>

namespace corral::fs {

class PathCursor {
 public:
  explicit constexpr PathCursor(std::string_view path) : rest_{path} { skip_slashes(); }

  // The next name without slashes; empty when there is none.
  constexpr std::string_view next() {
    std::size_t size = 0;
    while (size < rest_.size() && rest_[size] != '/') ++size;
    const std::string_view name{rest_.data(), size};
    rest_.remove_prefix(size);
    slash_follows_ = !rest_.empty();
    skip_slashes();
    return name;
  }
  // No further name follows.
  [[nodiscard]] constexpr bool at_end() const { return rest_.empty(); }
  // A slash stood behind the name that next() gave.
  [[nodiscard]] constexpr bool slash_follows() const { return slash_follows_; }
  [[nodiscard]] constexpr std::string_view rest() const { return rest_; }

 private:
  constexpr void skip_slashes() {
    while (!rest_.empty() && rest_.front() == '/') rest_.remove_prefix(1);
  }
  std::string_view rest_;
  bool slash_follows_ = false;
};

[[nodiscard]] constexpr bool is_absolute(std::string_view path) {
  return !path.empty() && path.front() == '/';
}

}  // namespace corral::fs
