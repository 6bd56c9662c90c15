// Numbers and keys of System V's objects: one table for each kind. Source: POSIX.1-2017, 2.7.1; Linux man-pages sysvipc(7).
//
// An object has a place in the table, and its number is place + 32768 × a count that grows whenever a place is used again, so
// that an old number does not find a new object. The table holds what its user gives it; whether that is a reference is the
// user's affair. lock() guards the table and what it finds.
#pragma once

#include "lib/result.h"
#include "lib/setting.h"
#include "memory/heap.h"
#include "sync/spin_lock.h"

namespace corral::ipc {

inline constexpr i32 key_private = 0;                         // IPC_PRIVATE
inline constexpr u32 flag_create = 01000, flag_exclusive = 02000, flag_no_wait = 04000;
inline constexpr u32 command_remove = 0, command_set = 1, command_stat = 2, command_limits = 3;

struct Ownership {
  i32 key = 0;
  u32 user = 0, group = 0, creator_user = 0, creator_group = 0;
  u32 mode = 0;
};

// T has `i32 number` and `Ownership ownership`.
template <class T>
class IdTable {
 public:
  static constexpr u32 places_of_a_number = 32768;

  constexpr IdTable(const Setting& most, const char* name) : lock_{Rank::ipc_names, name}, most_{most} {}
  [[nodiscard]] SpinLock& lock() RETURN_CAPABILITY(lock_) { return lock_; }

  // Gives the object its number. enospc: as many as there may be; enomem.
  Result<void> add(T& object) REQUIRES(lock_) {
    u32 place = 0;
    while (place < capacity_ && slots_[place] != nullptr) ++place;
    if (place >= most_.value()) return Errno::enospc;
    if (place == capacity_) TRY(grow());
    if (count_ > 0 && place <= last_place_) count_of_reuse_ = (count_of_reuse_ + 1) % places_of_a_number;
    last_place_ = place;
    slots_[place] = &object;
    object.number = static_cast<i32>(count_of_reuse_ * places_of_a_number + place);
    ++count_;
    ++used_;
    return {};
  }
  void remove(T& object) REQUIRES(lock_) {
    slots_[static_cast<u32>(object.number) % places_of_a_number] = nullptr;
    --used_;
  }
  // Null: there is none.
  [[nodiscard]] T* find(i32 number) REQUIRES(lock_) {
    T* object = at(static_cast<u32>(number) % places_of_a_number);
    return object != nullptr && number >= 0 && object->number == number ? object : nullptr;
  }
  [[nodiscard]] T* find_key(i32 key) REQUIRES(lock_) {
    for (u32 place = 0; place < capacity_; ++place) {
      if (slots_[place] != nullptr && slots_[place]->ownership.key == key) return slots_[place];
    }
    return nullptr;
  }
  [[nodiscard]] T* at(u32 place) REQUIRES(lock_) { return place < capacity_ ? slots_[place] : nullptr; }
  [[nodiscard]] u32 places() REQUIRES(lock_) { return capacity_; }
  [[nodiscard]] u32 used() REQUIRES(lock_) { return used_; }
  // The highest place in use; 0 when there is none.
  [[nodiscard]] i32 highest() REQUIRES(lock_) {
    for (u32 place = capacity_; place > 0; --place) {
      if (slots_[place - 1] != nullptr) return static_cast<i32>(place - 1);
    }
    return 0;
  }

 private:
  Result<void> grow() REQUIRES(lock_) {
    const u32 capacity = capacity_ == 0 ? 16 : capacity_ * 2;
    auto** slots = static_cast<T**>(memory::allocate(capacity * sizeof(T*)));
    if (slots == nullptr) return Errno::enomem;
    for (u32 i = 0; i < capacity; ++i) slots[i] = i < capacity_ ? slots_[i] : nullptr;
    memory::release(slots_);
    slots_ = slots;
    capacity_ = capacity;
    return {};
  }

  SpinLock lock_;
  const Setting& most_;
  T** slots_ GUARDED_BY(lock_) = nullptr;
  u32 capacity_ GUARDED_BY(lock_) = 0;
  u32 used_ GUARDED_BY(lock_) = 0;
  u64 count_ GUARDED_BY(lock_) = 0;  // ever added
  u32 last_place_ GUARDED_BY(lock_) = 0;
  u32 count_of_reuse_ GUARDED_BY(lock_) = 0;
};

}  // namespace corral::ipc
