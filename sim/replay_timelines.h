// The timelines' part of a replay (replay.h): an object of the recorded algorithm for each core, and the entities that go between
// them.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "policies.h"
#include "replay.h"
#include "sched/recorded_calls.h"

namespace corral::sim {

class ReplayedTimelines {
 public:
  // The next record of a core. Calls before the core's first policy_made are passed over: what went before them is unknown.
  void made(const trace::Record& record);
  void value(const trace::Record& record);
  void called(const trace::Record& record);
  [[nodiscard]] std::vector<Compared> results() const;

 private:
  struct Timeline {
    Timeline() = default;
    ~Timeline();
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    const sched::AlgorithmDescriptor* descriptor = nullptr;
    sched::AlgorithmParameters parameters;
    u32 session = 0;
    std::unique_ptr<Storage> storage;
    sched::SchedulingAlgorithm* algorithm = nullptr;  // made at the first call, when its tunables are known
  };
  struct Entity {
    sched::SchedulingEntity entity;
    u32 session = 0;
    const Timeline* queue = nullptr;  // where it waits
  };
  struct Account {
    Compared compared;
    std::set<u16> cores;
  };

  static void make(Timeline& timeline);
  Entity& entity_of(const trace::Record& record, const sched::TimelineCalled& call, const Timeline& timeline);
  void enqueue(const trace::Record& record, const sched::TimelineCalled& call, Timeline& timeline);
  void compare(const trace::Record& record, const sched::TimelineCalled& call, const Timeline& timeline,
               const sched::SchedulingEntity* entity, Instant until);

  std::map<i32, Entity> entities_;
  std::map<u16, std::unique_ptr<Timeline>> timelines_;
  std::map<std::string, Account> accounts_;
};

}  // namespace corral::sim
