// PolicySlots: the policies of one kind that the whole machine shares, placements or migrations; which of them is in force; and
// what goes on when that one does wrong: the engine's own, for everybody, until somebody chooses again (docs/safety.md).
//
// Every policy is constructed once and kept for ever, so changing the policy is one atomic store and no core can find the old
// object gone. Every call of a policy is guarded. What an answer may be, whoever asks knows: Placer and Migrator.
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

  // Boot context. Makes the policy in `storage` (size bytes as the descriptor says, alignment 64, kept for ever).
  // False: more than max_policies, or it could not be made.
  bool add(const Descriptor& descriptor, void* storage) {
    if (count_ == max_policies) return false;
    Policy* made = nullptr;
    if (!arch::ask_guarded(made, descriptor.make, storage)) return false;
    prepare(slots_[count_++], descriptor, *made);
    return true;
  }
  // Told, on the core that asked, that the policy in force was replaced. Boot context.
  using Listener = void (*)(const Descriptor& failed, const TunableValues& values, const PolicyFailure& failure);
  void set_listener(Listener listener) { listener_ = listener; }
  // From now on `asker` asks the policies; null: the slots themselves do.
  void ask_by(Asker* asker) { asker_.store(asker, Order::release); }
  // Any core, one at a time. False: the policy has not been added.
  bool use(const Descriptor& descriptor, const TunableValues& values) {
    for (u32 i = 0; i < count_; ++i) {
      if (slots_[i].descriptor != &descriptor) continue;
      slots_[i].values = values;
      in_force_.store(&slots_[i], Order::release);
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
    const Slot* expected = &slot;
    const bool first = in_force_.compare_exchange(expected, &safe_, Order::acq_rel, Order::acquire);
    if (first && listener_ != nullptr) listener_(*slot.descriptor, slot.values, failure);
    return safe_;
  }
  // How often a policy failed since start.
  [[nodiscard]] u64 violations() const { return violations_.load(Order::relaxed); }

 private:
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
  Slot slots_[max_policies];  // boot, then constant but for the values
  u32 count_ = 0;  // boot, then constant
  Atomic<const Slot*> in_force_{nullptr};  // any
  Atomic<Asker*> asker_{nullptr};  // any
  Atomic<u64> violations_{0};  // any
};

}  // namespace corral::sched
