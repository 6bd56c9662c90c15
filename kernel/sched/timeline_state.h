// What an algorithm keeps in each entity, in a form that is the algorithm's own business: a type of its own, made afresh
// when the entity comes from another algorithm. Pure; owner: the entity's home core.
#pragma once

#include <new>
#include <type_traits>

#include "lib/types.h"

namespace corral::sched {

class TimelineState {
 public:
  static constexpr size_t room = 40;  // bytes

  // Whatever was kept is not used any more.
  void forget() { kind_ = nullptr; }
  // The state of type State, a new one (State{}) if the last algorithm kept another.
  template <class State>
  [[nodiscard]] State& as() {
    static_assert(sizeof(State) <= room && alignof(State) <= alignof(u64));
    static_assert(std::is_trivially_destructible_v<State>);
    if (kind_ != &kind_of<State>) [[unlikely]] {
      ::new (bytes_) State{};
      kind_ = &kind_of<State>;
    }
    return *std::launder(reinterpret_cast<State*>(bytes_));
  }
  template <class State>
  [[nodiscard]] const State& as() const {
    if (kind_ != &kind_of<State>) [[unlikely]]
      return fresh<State>;
    return known<State>();
  }
  // The same of a type that is known, since as<State>() was called and forget() was not: nobody looks.
  template <class State>
  [[nodiscard]] const State& known() const {
    return *std::launder(reinterpret_cast<const State*>(bytes_));
  }

 private:
  template <class State>
  static constexpr char kind_of = 0;  // its address tells types apart
  template <class State>
  static constexpr State fresh{};

  const char* kind_ = nullptr;
  alignas(u64) u8 bytes_[room] = {};
};

}  // namespace corral::sched
