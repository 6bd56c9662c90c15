// DecisionRecorder: asks a policy of the machine so that the simulator can ask it the same again: what it saw of the cores, the
// random numbers that it drew and what it answered are written into the trace (sched/recorded_calls.h, docs/replay.md).
//
// A policy may remember its earlier decisions, of any core. So the recorder asks an object of its own, new when the recording
// begins, and one decision follows the other: they are numbered under its lock. The policy is shown copies of what the cores
// publish, which do not change while it looks. A call that does not come back leaves no decision, and its object is not asked again.
// Context: as PolicySlots::ask(), whose Asker it is for.
#pragma once

#include "sched/engine/migrator.h"
#include "sched/engine/placer.h"
#include "sched/engine/recorded_timeline.h"
#include "sync/spin_lock.h"
#include "trace/trace.h"

namespace corral::sched {

// Random numbers that are noted. One for each kind of policy, under its recorder's lock.
struct Draws {
  u64 last = 0;
  u32 count = 0;
  u64 next();
};

// A question in the words of the records.
struct DecisionQuestion {
  DecisionKind kind;
  const SchedulingEntity* entity;  // null: it is about none
  const CoreSet& candidates;
  CoreId here;
  Instant now;
  Instant last_asked{};
  u32 spare = 0;

  static DecisionQuestion of(const PlacementRequest& request);
  static DecisionQuestion of(const PushRequest& request);
  static DecisionQuestion of(const PullRequest& request);
  static DecisionQuestion of(const LeaveRequest& request);
};

// Copies of what cores publish: empty, but for the cores that a policy is shown while it is asked.
class ShownCores {
 public:
  // What a policy may look at for this question.
  void show(const DecisionQuestion& question, std::span<const CoreStatistics> cores);
  void hide();
  [[nodiscard]] const CoreSet& shown() const { return shown_; }
  [[nodiscard]] std::span<const CoreStatistics> copies() const { return copies_; }

 private:
  CoreSet shown_;
  CoreStatistics copies_[max_cores];
};

// Writes one decision into this core's trace.
void write_decision(const DecisionQuestion& question, const DecisionAnswered& answered, const ShownCores& cores);

template <class Slot, PolicyKind Kind>
class DecisionRecorder {
 public:
  // As PolicySlots::ask() without a recorder. A policy whose object is larger than `room` is not recorded.
  template <auto Member, class Request, class Answer>
  [[nodiscard]] bool ask(const Slot& slot, const Request& request, Answer& answer) EXCLUDES(lock_) {
    if (slot.descriptor->size > room) return arch::ask_guarded<Member>(answer, *slot.policy, request, slot.view);
    LockGuard guard{lock_};
    if (!is_made(slot) && !make(slot)) return false;
    const DecisionQuestion question = DecisionQuestion::of(request);
    cores_.show(question, slot.view.cores);
    draws = {};
    const SystemView view{cores_.copies(), [] { return draws.next(); }, values_};
    const bool came_back = arch::ask_guarded<Member>(answer, *policy_, request, view);
    if (came_back) {
      DecisionAnswered answered = DecisionAnswered::of(answer);
      answered.draw = draws.last;
      answered.draws = static_cast<u16>(draws.count);
      answered.number = number_++;
      write_decision(question, answered, cores_);
    } else {
      slot_ = nullptr;  // in what state it is nobody knows
    }
    cores_.hide();
    return came_back;
  }

 private:
  static constexpr size_t room = 1024;  // for the policy's object

  [[nodiscard]] bool is_made(const Slot& slot) const REQUIRES(lock_) {
    return slot_ == &slot && session_ == trace::session() && values_ == slot.values;
  }
  // False: it cannot be made.
  bool make(const Slot& slot) REQUIRES(lock_) {
    slot_ = nullptr;
    if (!arch::ask_guarded(policy_, slot.descriptor->make, static_cast<void*>(object_))) return false;
    slot_ = &slot;
    values_ = slot.values;
    session_ = trace::session();
    note_policy_made(Kind, *slot.descriptor, values_, {}, session_, number_);
    return true;
  }

  static inline constinit Draws draws{};  // of the policy that is being asked; under lock_, of which there is one for each kind

  SpinLock lock_{Rank::decision_recorder, "recorder of decisions"};
  // All of these under lock_.
  typename std::remove_reference_t<decltype(*Slot::policy)>* policy_ = nullptr;
  const Slot* slot_ = nullptr;  // that policy_ stands for; null: there is none
  TunableValues values_;
  u32 session_ = 0;
  u64 number_ = 0;  // of the decision
  ShownCores cores_;
  alignas(cache_line) u8 object_[room] = {};
};

class PlacementRecorder final : public PlacementAsker {
 public:
  bool ask(const PlacementSlot& slot, const PlacementRequest& request, CoreId& answer) override {
    return recorder_.ask<&PlacementPolicy::select>(slot, request, answer);
  }

 private:
  DecisionRecorder<PlacementSlot, PolicyKind::placement> recorder_;
};

class MigrationRecorder final : public MigrationAsker {
 public:
  bool ask(const MigrationSlot& slot, const PushRequest& request, CoreId& answer) override {
    return recorder_.ask<&MigrationPolicy::push>(slot, request, answer);
  }
  bool ask(const MigrationSlot& slot, const PullRequest& request, PullAnswer& answer) override {
    return recorder_.ask<&MigrationPolicy::ask>(slot, request, answer);
  }
  bool ask(const MigrationSlot& slot, const LeaveRequest& request, Instant& answer) override {
    return recorder_.ask<&MigrationPolicy::leaves_at>(slot, request, answer);
  }

 private:
  DecisionRecorder<MigrationSlot, PolicyKind::migration> recorder_;
};

}  // namespace corral::sched
