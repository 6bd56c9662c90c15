// See report.h.
#include "report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core_list.h"

namespace corral::sim {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const CoreSet& cores) {
  std::string text;
  write_core_list(cores, [&](std::string_view format, const auto&... parts) {
    char room[32];
    text += format_to(room, format, parts...);
  });
  return text;
}

Json of_task(const Machine& machine, const Task& task, size_t number) {
  u64 ended = 0, wakes = 0, moves = 0, threads = 0, fetched = 0;
  Duration ran{}, waited{}, slowest{}, sum{};
  Instant last{};
  for (const Thread& thread : machine.threads()) {
    if (thread.task != &task) continue;
    ++threads;
    ended += thread.state == Thread::State::ended ? 1 : 0;
    last = std::max(last, thread.ended);
    ran = ran + thread.entity.run_time;
    waited = waited + thread.waited;
    wakes += thread.wakes;
    sum = sum + thread.wake_sum;
    slowest = std::max(slowest, thread.slowest_wake);
    moves += thread.moves;
    fetched += thread.fetched_in_all;
  }
  return {{"task", task.name},
          {"threads", threads},
          {"ended", ended},
          {"last_end_ns", last.ns},
          {"run_ns", ran.ns},
          {"waited_ns", waited.ns},
          {"wakes", wakes},
          {"wake_mean_ns", wakes == 0 ? 0 : sum.ns / static_cast<i64>(wakes)},
          {"wake_worst_ns", slowest.ns},
          {"moves", moves},
          {"fetched_pages", fetched},
          {"cores", text_of(machine.cores_of(number))}};
}

Json of_core(const Machine& machine, u32 number) {
  const sched::CoreStatistics& numbers = machine.statistics(number);
  const Machine::CoreState& core = machine.core(number);
  return {{"core", number},
          {"algorithm", machine.algorithm_on(number)},
          {"runnable", numbers.runnable()},
          {"coming", numbers.on_the_way()},
          {"weight", numbers.load_weight()},
          {"switches", numbers.switches.load(Order::relaxed)},
          {"preemptions", numbers.preemptions.load(Order::relaxed)},
          {"moved_in", numbers.migrations_in.load(Order::relaxed)},
          {"moved_out", numbers.migrations_out()},
          {"busy_ns", core.busy.ns},
          {"idle_ns", numbers.idle_time(machine.now()).ns},
          {"violations", core.queue.violations().total()}};
}

Json of_groups(const Machine& machine) {
  const sched::CoreGroups& groups = machine.groups();
  Json report{{"real_time_cores", text_of(machine.group_of(true))},
              {"changes", groups.changes()},
              {"moved", groups.moved()},
              {"blocked", groups.blocked()},
              {"turned_away", groups.turned_away()}};
  if (groups.configuration().dynamic()) {
    report["real_time_demand"] = machine.demand().real_time();
    report["normal_demand"] = machine.demand().normal();
  }
  return report;
}

Json of_global_queue(const Machine& machine) {
  Json levels = Json::array();
  for (u32 level = 0; level < sched::GlobalQueue::levels; ++level) {
    Machine::List sum;
    for (const u32 half : {0u, 1u}) {
      const Machine::List& list = machine.list(level, half);
      sum.taken += list.taken;
      sum.found_taken += list.found_taken;
      sum.waited = sum.waited + list.waited;
    }
    if (sum.taken == 0) continue;
    levels.push_back({{"level", level}, {"taken", sum.taken}, {"found_taken", sum.found_taken}, {"waited_ns", sum.waited.ns}});
  }
  return {{"waiting", machine.global_queue().waiting()}, {"rounds", machine.global_queue().round()}, {"locks", levels}};
}

}  // namespace

void write_report(std::ostream& to, const Machine& machine, const Experiment& experiment, const PolicyNames& names, u64 seed,
                  double host_seconds) {
  Json report{{"algorithm", names.algorithm},
              {"placement", names.placement},
              {"migration", names.migration},
              {"groups", names.groups},
              {"queues", names.queues},
              {"cores", experiment.hardware.cores},
              {"seed", seed},
              {"threads", machine.threads().size()},
              {"unfinished", machine.alive()},
              {"elapsed_ns", machine.now().ns - 1},
              {"decisions", machine.decisions()},
              {"placements", machine.placements()},
              {"wasted_ns", machine.wasted().ns},
              {"violations", machine.violations()},
              {"host_seconds", host_seconds}};
  if (!machine.groups().none()) report["core_groups"] = of_groups(machine);
  if (machine.global_queue().in_use()) report["global_queue"] = of_global_queue(machine);
  for (size_t task = 0; task < experiment.workload.tasks.size(); ++task)
    report["tasks"].push_back(of_task(machine, experiment.workload.tasks[task], task));
  for (u32 core = 0; core < experiment.hardware.cores; ++core) report["per_core"].push_back(of_core(machine, core));
  to << report.dump(1) << '\n';
}

}  // namespace corral::sim
