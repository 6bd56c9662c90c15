// PolicySlots: the policies of one kind that the whole machine shares, placements or migrations; which of them is in force; and
// what goes on when that one does wrong: the engine's own, for everybody, until somebody chooses again (docs/safety.md).
//
// Every policy is kept for ever, so changing the policy is one atomic store and no core can find the old object gone. One that has
// failed may have been left in the middle of something: when it is chosen again it is constructed anew, elsewhere, because some core
// may still be in a call of the old object; and what that core then finds wrong is not put down to the new one.
// Every call of a policy is guarded. What an answer may be, whoever asks knows: Placer and Migrator.
// Context: any core, interrupts off; no locks.
#pragma once

#include "sched/engine/misdeed.h"
#include "sched/system_view.h"

namespace corral::sched {

// What a policy did, in which call.
struct PolicyFailure {
  Misdeed misdeed;
  PolicyCall call;
  i32 thread;  // the one that the call was about; 0: none
  CoreId here;  // the core that asked
  Instant now;
};

template <class Policy, class Descriptor>
struct PolicySlot {
  const Descriptor* descriptor = nullptr;
  Policy* policy = nullptr;
  TunableValues values;  // any core
  mutable Atomic<bool> failed{false};  // any core
  SystemView view{{}, nullptr, values};
};

// Slot: a PolicySlot. Asker: asks in place of the slots, while decisions are recorded; it has ask(slot, request, answer) for each
// request, which answers whether the call came back.
template <class Slot, class Asker>
class PolicySlots {
 public:
  static constexpr u32 max_policies = 32;
  using Descriptor = std::remove_cvref_t<decltype(*Slot::descriptor)>;
  using Policy = std::remove_pointer_t<decltype(Slot::policy)>;

  // `safe`: what goes on after a failure; it is never asked for by name.
  constexpr PolicySlots(const Descriptor& descriptor, Policy& safe, std::span<const CoreStatistics> cores, u64 (*random)())
      : cores_{cores}, random_{random} {
    prepare(safe_, descriptor, safe);
  }

  // Bytes of storage for a policy whose object has `size`.
  static constexpr size_t room_for(size_t size) { return 2 * round_up(size, cache_line); }
  // Boot context. Makes the policy in `storage` (room_for() its size, alignment 64, kept for ever).
  // False: more than max_policies, or it could not be made.
  bool add(const Descriptor& descriptor, void* storage) {
    if (count_ == max_policies) return false;
    Place& place = places_[count_];
    place.storage = static_cast<u8*>(storage);
    if (!make(place.slots[0], descriptor, place.storage)) return false;
    ++count_;
    return true;
  }
  // Told, on the core that asked, that the policy in force was replaced. Boot context.
  using Listener = void (*)(const Descriptor& failed, const TunableValues& values, const PolicyFailure& failure);
  void set_listener(Listener listener) { listener_ = listener; }
  // From now on `asker` asks the policies; null: the slots themselves do.
  void ask_by(Asker* asker) { asker_.store(asker, Order::release); }
  // Any core, one at a time. False: the policy has not been added, or has failed and could not be made again.
  bool use(const Descriptor& descriptor, const TunableValues& values) {
    for (u32 i = 0; i < count_; ++i) {
      Place& place = places_[i];
      if (place.slots[place.current].descriptor != &descriptor) continue;
      if (place.slots[place.current].failed.load(Order::acquire)) {
        const u32 other = 1 - place.current;
        if (!make(place.slots[other], descriptor, place.storage + other * round_up(descriptor.size, cache_line))) return false;
        place.current = other;
      }
      Slot& slot = place.slots[place.current];
      slot.values = values;
      in_force_.store(&slot, Order::release);
      return true;
    }
    return false;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // Once a policy is in use.
  [[nodiscard]] const Slot& in_force() const { return *in_force_.load(Order::acquire); }

  // Asks the policy of `slot` by its function Member. False: the call did not come back, and `answer` is as it was.
  template <auto Member, class Request, class Answer>
  [[nodiscard, gnu::always_inline]] bool ask(const Slot& slot, const Request& request, Answer& answer) const {
    if (Asker* const asker = asker_.load(Order::acquire); asker != nullptr) [[unlikely]]
      return asker->ask(slot, request, answer);
    return arch::ask_guarded<Member>(answer, *slot.policy, request, slot.view);
  }
  // The policy of `slot` has failed: the whole machine goes on with the engine's own. Returns that.
  const Slot& replace(const Slot& slot, const PolicyFailure& failure) {
    violations_.fetch_add(1, Order::relaxed);
    slot.failed.store(true, Order::release);
    const Slot* expected = &slot;
    const bool first = in_force_.compare_exchange(expected, &safe_, Order::acq_rel, Order::acquire);
    if (first && listener_ != nullptr) listener_(*slot.descriptor, slot.values, failure);
    return safe_;
  }
  // How often a policy failed since start.
  [[nodiscard]] u64 violations() const { return violations_.load(Order::relaxed); }

 private:
  // A policy: the slot of its object, and the one that the next object gets when this one has failed.
  struct Place {
    Slot slots[2];
    u8* storage = nullptr;  // of both objects
    u32 current = 0;
  };

  bool make(Slot& slot, const Descriptor& descriptor, void* storage) const {
    Policy* made = nullptr;
    if (!arch::ask_guarded(made, descriptor.make, storage)) return false;
    prepare(slot, descriptor, *made);
    slot.failed.store(false, Order::relaxed);
    return true;
  }
  constexpr void prepare(Slot& slot, const Descriptor& descriptor, Policy& policy) const {
    slot.descriptor = &descriptor;
    slot.policy = &policy;
    slot.view.cores = cores_;
    slot.view.random = random_;
  }

  std::span<const CoreStatistics> cores_;
  u64 (*random_)();
  Listener listener_ = nullptr;  // boot, then constant
  Slot safe_;  // in force after a failure
  Place places_[max_policies];  // boot, then by use()
  u32 count_ = 0;  // boot, then constant
  Atomic<const Slot*> in_force_{nullptr};  // any
  Atomic<Asker*> asker_{nullptr};  // any
  Atomic<u64> violations_{0};  // any
};

}  // namespace corral::sched
