// A ring of bytes between a writer and a device that is slower. Not synchronised: its owner's lock protects it.
// Pure; built and tested on the host.
#pragma once

#include <string_view>

#include "lib/types.h"

namespace corral {

template <u32 Capacity>
class ByteRing {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  constexpr ByteRing() = default;
  [[nodiscard]] u32 size() const { return put_ - taken_; }
  [[nodiscard]] u32 room() const { return Capacity - size(); }
  [[nodiscard]] bool empty() const { return put_ == taken_; }
  // As many as fit, from the front; returns how many.
  size_t put(std::string_view bytes) {
    const size_t count = bytes.size() < room() ? bytes.size() : size_t{room()};
    for (size_t i = 0; i < count; ++i) bytes_[put_++ % Capacity] = bytes[i];
    return count;
  }
  // Only when not empty.
  char take() { return bytes_[taken_++ % Capacity]; }

 private:
  u32 put_ = 0;  // both count on and wrap at 2^32, a multiple of Capacity
  u32 taken_ = 0;
  char bytes_[Capacity] = {};
};

}  // namespace corral
