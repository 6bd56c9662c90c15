// RealTimeQueue: SCHED_FIFO and SCHED_RR, the class above every timeline. One list for each priority; a bit says which
// have somebody. Every operation takes constant time. Above them SCHED_DEADLINE has a queue of its own.
//
// The order within a priority is POSIX's and Linux's: who becomes ready goes to the tail; who loses the core to a higher
// one goes back to the head; who yields, or has used up a quantum of SCHED_RR, goes to the tail; whose priority is
// raised goes to the tail of the new one, whose is lowered to the head. Source: Linux sched(7), POSIX 2.8.4.
//
// The contract is that of SchedulingAlgorithm. The engine (sched/engine/run_queue.h) asks this class first and the
// timeline only when nothing waits here, or when the budget (budget.h) is used up.
#pragma once

#include "sched/deadline/queue.h"
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

class RealTimeQueue {
 public:
  void enqueue(SchedulingEntity& entity, EnqueueReason reason) {
    ++waiting_;
    if (entity.has_deadline()) return deadlines_.enqueue(entity);
    bool to_head = reason == EnqueueReason::preempted && !entity.behind_equals;
    if (entity.policy == SchedulingPolicy::round_robin && entity.quantum_left <= Duration{}) {
      entity.quantum_left = real_time_quantum;
      to_head = false;
    }
    entity.behind_equals = false;
    List& list = lists_[entity.real_time];
    to_head ? list.push_front(entity) : list.push_back(entity);
    present_[entity.real_time / 64] |= bit(entity.real_time);
  }

  void dequeue(SchedulingEntity& entity) {
    --waiting_;
    if (entity.has_deadline()) return deadlines_.dequeue(entity);
    List& list = lists_[entity.real_time];
    list.remove(entity);
    if (list.empty()) present_[entity.real_time / 64] &= ~bit(entity.real_time);
  }

  // Takes out the first of the highest priority; null: nobody waits.
  SchedulingEntity* pick() {
    SchedulingEntity* first = highest();
    if (first != nullptr) dequeue(*first);
    return first;
  }

  void charge(SchedulingEntity& running, Duration used) {
    if (running.has_deadline()) return running.server.charge(used);
    if (running.policy != SchedulingPolicy::round_robin) return;
    running.quantum_left = running.quantum_left - used;
    if (running.quantum_left <= Duration{} && lists_[running.real_time].empty()) {  // quanta follow each other
      running.quantum_left = Duration{real_time_quantum.ns + running.quantum_left.ns % real_time_quantum.ns};
    }
  }

  // Until when `running`, of this class, may go on beside those that wait in it.
  Instant review(const SchedulingEntity& running, Instant now) {
    if (running.has_deadline()) return deadlines_.review(running, now);
    if (deadlines_.first() != nullptr) return now;
    const u32 above = highest_priority();
    if (above > running.real_time) return now;
    if (above < running.real_time || running.policy != SchedulingPolicy::round_robin) return never;
    return running.quantum_left > Duration{} ? now + running.quantum_left : now;
  }

  [[nodiscard]] u32 waiting() const { return waiting_; }
  [[nodiscard]] SchedulingEntity* highest() {
    if (waiting_ == 0) return nullptr;
    SchedulingEntity* due_first = deadlines_.first();
    return due_first != nullptr ? due_first : lists_[highest_priority()].front();
  }
  // Of who is to run next; 0: nobody waits.
  [[nodiscard]] u64 highest_urgency() { return waiting_ == 0 ? 0 : highest()->urgency(); }

  // Calls visit(entity) for all that wait, the next to run first, until it answers true; that one, or null.
  template <class Visitor>
  SchedulingEntity* find(Visitor&& visit) {
    for (SchedulingEntity* entity = deadlines_.first(); entity != nullptr; entity = deadlines_.next(*entity)) {
      if (visit(*entity)) return entity;
    }
    for (u32 priority = highest_priority(); priority > 0; --priority) {
      for (SchedulingEntity* entity = lists_[priority].front(); entity != nullptr; entity = lists_[priority].next(*entity)) {
        if (visit(*entity)) return entity;
      }
    }
    return nullptr;
  }

 private:
  using List = IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link>;
  static constexpr u64 bit(u32 priority) { return u64{1} << (priority % 64); }
  // Of the lists; 0: all are empty.
  [[nodiscard]] u32 highest_priority() const {
    if (present_[1] != 0) return 127 - static_cast<u32>(__builtin_clzll(present_[1]));
    return present_[0] != 0 ? 63 - static_cast<u32>(__builtin_clzll(present_[0])) : 0;
  }

  List lists_[real_time_highest + 1];
  u64 present_[2] = {};  // bit p: lists_[p] is not empty
  DeadlineQueue deadlines_;
  u32 waiting_ = 0;
};

}  // namespace corral::sched
