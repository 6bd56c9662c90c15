// DeadlineQueue: entities with a reservation that wait on one core, the one that is due first before the others; and those
// that rest until their next period. The engine asks RealTimeQueue, which asks this one first.
// The contract is that of SchedulingAlgorithm.
#pragma once

#include "sched/scheduling_entity.h"

namespace corral::sched {

class DeadlineQueue {
 public:
  void enqueue(SchedulingEntity& entity) { waiting_.insert(entity); }
  void dequeue(SchedulingEntity& entity) { waiting_.remove(entity); }
  // Due first; null: nobody waits.
  [[nodiscard]] SchedulingEntity* first() const { return waiting_.first(); }
  [[nodiscard]] SchedulingEntity* next(const SchedulingEntity& entity) const { return waiting_.next(entity); }

  // Until when `running`, of this class, may go on beside those that wait.
  [[nodiscard]] Instant review(const SchedulingEntity& running, Instant now) const {
    if (running.server.used_up()) return now;
    const SchedulingEntity* other = first();
    if (other != nullptr && other->server.due() < running.server.due()) return now;
    return now + running.server.left();
  }

 private:
  struct DueEarlier {
    bool operator()(const SchedulingEntity& a, const SchedulingEntity& b) const { return a.server.due() < b.server.due(); }
  };
  RedBlackTree<SchedulingEntity, &SchedulingEntity::tree_link, DueEarlier> waiting_;
};

// Those that have no runtime left in their period, by its end.
class RestingPlace {
 public:
  void add(SchedulingEntity& entity) { resting_.insert(entity); }
  void remove(SchedulingEntity& entity) { resting_.remove(entity); }
  [[nodiscard]] SchedulingEntity* first() const { return resting_.first(); }
  [[nodiscard]] SchedulingEntity* next(const SchedulingEntity& entity) const { return resting_.next(entity); }
  // When the first goes on; never: none is here.
  [[nodiscard]] Instant first_renewal() const {
    const SchedulingEntity* entity = resting_.first();
    return entity == nullptr ? never : entity->server.renewal();
  }
  // Takes out one whose period has ended by `now`; null: none.
  SchedulingEntity* take(Instant now) {
    SchedulingEntity* entity = resting_.first();
    if (entity == nullptr || entity->server.renewal() > now) return nullptr;
    return resting_.pop_first();
  }

 private:
  struct RenewedEarlier {
    bool operator()(const SchedulingEntity& a, const SchedulingEntity& b) const {
      return a.server.renewal() < b.server.renewal();
    }
  };
  RedBlackTree<SchedulingEntity, &SchedulingEntity::tree_link, RenewedEarlier> resting_;
};

}  // namespace corral::sched
