// From a member to the object that it is part of.
#pragma once

#include <cstddef>

namespace corral {

// `member` must be the member `pointer` of a T.
template <class T, class M>
[[nodiscard]] T& container_of(M& member, M T::* pointer) {
  const T* base = reinterpret_cast<const T*>(std::size_t{4096} * alignof(T));  // an address to measure from; never read
  const auto offset = reinterpret_cast<const char*>(&(base->*pointer)) - reinterpret_cast<const char*>(base);
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(&member) - offset);
}

}  // namespace corral
