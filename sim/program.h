// What simulated threads do: phases of actions, as a workload file describes them.
#pragma once

#include <string>
#include <vector>

#include "lib/core_set.h"
#include "lib/types.h"
#include "sched/scheduling_entity.h"

namespace corral::sim {

struct Action {
  enum class Kind : u8 {
    compute,      // so much work, in time on a core of full capacity
    run_for,      // computes until it has had a core for so long
    sleep,
    period,       // sleeps until a multiple of `time` since the thread began; goes on at once when that has passed
    yield,
    lock,
    unlock, // object: of Workload::locks
    barrier,      // object: of Workload::barriers
    suspend,      // until another one resumes it
    resume,       // object: of Workload::tasks; all threads of that task that are suspended
    down,         // object: of Workload::semaphores; waits until an `up` is left for it
    up,           // the longest waiting one goes on; when nobody waits, the next that comes
    fork,         // object: of Workload::tasks; one more thread of it begins
  };
  Kind kind;
  Duration time{};
  u32 object = 0;
};

struct Phase {
  i64 loops = 1;  // below 0: for ever
  std::vector<Action> actions{};
};

struct Task {
  std::string name;
  u32 instances = 1;  // from the beginning; `fork` makes more
  i64 loops = 1;  // of all phases; below 0: for ever
  Duration delay{};  // before it begins
  i32 nice = 0;
  sched::SchedulingPolicy policy = sched::SchedulingPolicy::other;
  u32 priority = 0;  // of the real-time class
  CoreSet allowed = CoreSet::all();
  u64 memory_pages = 0;  // of each thread, all of them used whenever it runs; 0: not said
  std::vector<Phase> phases{};
};

struct Workload {
  std::vector<Task> tasks;
  std::vector<std::string> locks;
  std::vector<std::string> semaphores;
  struct Barrier {
    std::string name;
    u32 threads = 0;  // that meet there
  };
  std::vector<Barrier> barriers;
  Duration limit = seconds(3600);  // the end, whatever still runs
};

}  // namespace corral::sim
