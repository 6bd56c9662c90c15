// See workload_file.h.
#include "workload_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace corral::sim {

namespace {

using Json = nlohmann::ordered_json;

constexpr u32 most_instances = 10'000'000;
constexpr i64 longest_us = i64{1'000'000} * 3600 * 24 * 365;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw WorkloadError{where + ": " + why};
}

i64 whole_number(const Json& value, const std::string& where, i64 low, i64 high) {
  if (!value.is_number_integer()) refuse(where, "a whole number is wanted");
  const auto number = value.get<i64>();
  if (number < low || number > high) {
    refuse(where, "it may be " + std::to_string(low) + " to " + std::to_string(high) + ", and is " + std::to_string(number));
  }
  return number;
}

// With up to three decimals.
Duration time_in_us(const Json& value, const std::string& where) {
  if (!value.is_number_float()) return microseconds(whole_number(value, where, 0, longest_us));
  const auto number = value.get<double>();
  if (!(number >= 0 && number <= static_cast<double>(longest_us)))
    refuse(where, "it may be 0 to " + std::to_string(longest_us));
  const double ns = std::round(number * 1000);
  if (std::abs(number * 1000 - ns) > 1e-3)
    refuse(where, "there is nothing shorter than a nanosecond: three decimals are enough");
  return nanoseconds(static_cast<i64>(ns));
}

Duration time_in_ns(const Json& value, const std::string& where) {
  return nanoseconds(whole_number(value, where, 0, i64{1'000'000'000} * 3600));
}

u64 pages_in_kib(const Json& value, const std::string& where) {
  constexpr i64 kib_of_a_page = page_size / 1024;
  return static_cast<u64>((whole_number(value, where, 0, i64{1} << 40) + kib_of_a_page - 1) / kib_of_a_page);
}

std::string name_in(const Json& value, const std::string& where) {
  if (!value.is_string()) refuse(where, "a name is wanted");
  return value.get<std::string>();
}

// "run2" and "run" are both run: names in an object differ, what they mean need not.
std::string without_number(const std::string& key) {
  const size_t end = key.find_last_not_of("0123456789");
  return end == std::string::npos ? key : key.substr(0, end + 1);
}

class Reader {
 public:
  explicit Reader(u32 cores) : cores_{cores} {}
  Experiment read(const Json& file);

 private:
  void read_task(const std::string& name, const Json& object, u32 instances);
  void read_actions(const Json& object, const std::string& where, Phase& phase, bool is_task);
  bool read_action(const std::string& key, const Json& value, const std::string& where, Phase& phase);
  void read_class(const Json& object, const std::string& where, Task& task);
  void read_hardware(const Json& object);
  void read_global(const Json& object);
  static u32 number_of(std::vector<std::string>& names, const std::string& name);  // of a lock, or a semaphore
  void check_forks() const;
  u32 task_named(const std::string& name, const std::string& where);

  const u32 cores_;  // instead of the file's; 0: none
  Experiment made_;
  std::vector<std::string> names_;  // of all tasks
  sched::SchedulingPolicy usual_policy_ = sched::SchedulingPolicy::other;
  u32 instances_ = 1;  // of the task that is being read
};

u32 Reader::number_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<u32>(found - names.begin());
  names.push_back(name);
  return static_cast<u32>(names.size() - 1);
}

u32 Reader::task_named(const std::string& name, const std::string& where) {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) refuse(where, "there is no task " + name);
  return static_cast<u32>(found - names_.begin());
}

bool Reader::read_action(const std::string& key, const Json& value, const std::string& where, Phase& phase) {
  using enum Action::Kind;
  const std::string kind = without_number(key);
  if (kind == "run") {
    phase.actions.push_back({compute, time_in_us(value, where)});
  } else if (kind == "runtime") {
    phase.actions.push_back({run_for, time_in_us(value, where)});
  } else if (kind == "sleep") {
    phase.actions.push_back({sleep, time_in_us(value, where)});
  } else if (kind == "timer") {
    if (!value.is_object() || !value.contains("period")) refuse(where, "an object with a period is wanted");
    const Duration period = time_in_us(value["period"], where + ".period");
    if (period.ns == 0) refuse(where + ".period", "it must be above 0");
    phase.actions.push_back({Action::Kind::period, period});
  } else if (kind == "yield") {
    phase.actions.push_back({yield});
  } else if (kind == "lock") {
    phase.actions.push_back({lock, {}, number_of(made_.workload.locks, name_in(value, where))});
  } else if (kind == "unlock") {
    phase.actions.push_back({unlock, {}, number_of(made_.workload.locks, name_in(value, where))});
  } else if (kind == "suspend") {
    phase.actions.push_back({suspend});
  } else if (kind == "resume") {
    phase.actions.push_back({resume, {}, task_named(name_in(value, where), where)});
  } else if (kind == "down") {
    phase.actions.push_back({down, {}, number_of(made_.workload.semaphores, name_in(value, where))});
  } else if (kind == "up") {
    phase.actions.push_back({up, {}, number_of(made_.workload.semaphores, name_in(value, where))});
  } else if (kind == "fork") {
    phase.actions.push_back({fork, {}, task_named(name_in(value, where), where)});
  } else if (kind == "barrier") {
    const std::string name = name_in(value, where);
    std::vector<Workload::Barrier>& barriers = made_.workload.barriers;
    auto found = std::ranges::find(barriers, name, &Workload::Barrier::name);
    if (found == barriers.end()) found = barriers.insert(barriers.end(), {name, 0});
    // Every thread whose task mentions it.
    const auto number = static_cast<u32>(found - barriers.begin());
    const Task& task = made_.workload.tasks.back();
    bool mentioned = false;
    const auto look = [&](const Phase& other) {
      for (const Action& action : other.actions) mentioned = mentioned || (action.kind == barrier && action.object == number);
    };
    for (const Phase& other : task.phases) look(other);
    look(phase);
    if (!mentioned) found->threads += instances_;
    phase.actions.push_back({barrier, {}, number});
  } else {
    return false;
  }
  return true;
}

void Reader::read_actions(const Json& object, const std::string& where, Phase& phase, bool is_task) {
  static constexpr const char* of_tasks[] = {"instance", "loop", "delay", "phases", "policy", "priority", "cpus", "memory_kib"};
  for (const auto& [key, value] : object.items()) {
    if (read_action(key, value, where + "." + key, phase)) continue;
    const bool known = key == "loop" || (is_task && std::ranges::find(of_tasks, key) != std::end(of_tasks));
    if (!known) {
      refuse(where + "." + key,
             "the simulator does not know this; it knows run, runtime, sleep, timer, yield, lock, unlock, barrier, suspend, "
             "resume, down, up, fork");
    }
  }
}

void Reader::read_class(const Json& object, const std::string& where, Task& task) {
  task.policy = usual_policy_;
  if (object.contains("policy")) {
    const std::string name = name_in(object["policy"], where + ".policy");
    if (name == "SCHED_OTHER") {
      task.policy = sched::SchedulingPolicy::other;
    } else if (name == "SCHED_FIFO") {
      task.policy = sched::SchedulingPolicy::fifo;
    } else if (name == "SCHED_RR") {
      task.policy = sched::SchedulingPolicy::round_robin;
    } else {
      refuse(where + ".policy", name + " is none of SCHED_OTHER, SCHED_FIFO, SCHED_RR");
    }
  }
  const bool real_time = task.policy != sched::SchedulingPolicy::other;
  if (object.contains("priority")) {
    const std::string place = where + ".priority";
    if (real_time) {
      task.priority = static_cast<u32>(whole_number(object["priority"], place, 1, sched::real_time_highest));
    } else {
      task.nice = static_cast<i32>(whole_number(object["priority"], place, sched::nice_lowest, sched::nice_highest));
    }
  } else if (real_time) {
    task.priority = 10;  // rt-app's own default
  }
  if (!object.contains("cpus")) return;
  const Json& cores = object["cpus"];
  if (!cores.is_array() || cores.empty()) refuse(where + ".cpus", "a list of cores is wanted");
  task.allowed = {};
  for (const Json& core : cores) {
    task.allowed.add(CoreId{static_cast<u32>(whole_number(core, where + ".cpus", 0, i64{made_.hardware.cores} - 1))});
  }
}

void Reader::read_task(const std::string& name, const Json& object, u32 instances) {
  const std::string where = "tasks." + name;
  made_.workload.tasks.push_back({.name = name, .instances = instances});
  instances_ = instances;
  Task task{.name = name, .instances = instances};
  read_class(object, where, task);
  if (object.contains("delay")) task.delay = time_in_us(object["delay"], where + ".delay");
  if (object.contains("memory_kib")) task.memory_pages = pages_in_kib(object["memory_kib"], where + ".memory_kib");
  const i64 loops = object.contains("loop") ? whole_number(object["loop"], where + ".loop", -1, INT64_MAX) : -1;
  if (!object.contains("phases")) {
    Phase phase{.loops = 1};
    read_actions(object, where, phase, true);
    task.phases.push_back(std::move(phase));
  } else {
    if (!object["phases"].is_object()) refuse(where + ".phases", "an object of phases is wanted");
    Phase none;
    read_actions(object, where, none, true);
    if (!none.actions.empty()) refuse(where, "a task with phases has no actions beside them");
    for (const auto& [phase_name, description] : object["phases"].items()) {
      const std::string place = where + ".phases." + phase_name;
      if (!description.is_object()) refuse(place, "an object of actions is wanted");
      Phase phase;
      if (description.contains("loop")) phase.loops = whole_number(description["loop"], place + ".loop", -1, INT64_MAX);
      read_actions(description, place, phase, false);
      task.phases.push_back(std::move(phase));
      made_.workload.tasks.back().phases = task.phases;
    }
  }
  task.loops = loops;
  bool acts = false;
  for (const Phase& phase : task.phases) acts = acts || !phase.actions.empty();
  if (!acts) refuse(where, "it does nothing");
  made_.workload.tasks.back() = std::move(task);
}

void Reader::read_hardware(const Json& object) {
  Hardware& hardware = made_.hardware;
  const std::string where = "machine";
  if (!object.is_object()) refuse(where, "an object is wanted");
  if (object.contains("cores"))
    hardware.cores = static_cast<u32>(whole_number(object["cores"], where + ".cores", 1, max_cores));
  for (const auto& [key, value] : object.items()) {
    const std::string place = where + "." + key;
    if (key == "cores") {
      continue;
    } else if (key == "cluster") {
      hardware.cluster = static_cast<u32>(whole_number(value, place, 1, max_cores));
    } else if (key == "capacity") {
      if (!value.is_array() || value.size() > hardware.cores) refuse(place, "a list is wanted, of no more numbers than cores");
      for (const Json& each : value) {
        hardware.capacity.push_back(static_cast<u32>(whole_number(each, place, 1, Hardware::full_capacity)));
      }
    } else if (key == "tick_ns") {
      hardware.tick = nanoseconds(whole_number(value, place, 1000, 1'000'000'000));
    } else if (key == "switch_ns") {
      hardware.switch_cost = time_in_ns(value, place);
    } else if (key == "message_ns") {
      hardware.message = time_in_ns(value, place);
    } else if (key == "idle_exit_ns") {
      hardware.idle_exit = time_in_ns(value, place);
    } else if (key == "queue_lock_ns") {
      hardware.queue_lock = time_in_ns(value, place);
    } else if (key == "refill_ns") {
      hardware.refill = time_in_ns(value, place);
    } else if (key == "refill_in_cluster_ns") {
      hardware.refill_in_cluster = time_in_ns(value, place);
    } else if (key == "warm_ns") {
      hardware.warm = nanoseconds(whole_number(value, place, 1, 1'000'000'000'000));
    } else if (key == "cache_kib") {
      hardware.cache_pages = pages_in_kib(value, place);
    } else if (key == "refill_page_ns") {
      hardware.refill_page = time_in_ns(value, place);
    } else {
      refuse(place,
             "the machine has cores, cluster, capacity, tick_ns, switch_ns, message_ns, idle_exit_ns, queue_lock_ns, "
             "refill_ns, refill_in_cluster_ns, warm_ns, cache_kib, refill_page_ns");
    }
  }
}

// What else rt-app reads there is about the machine on which it runs itself.
void Reader::read_global(const Json& object) {
  if (!object.is_object()) refuse("global", "an object is wanted");
  if (object.contains("duration")) {
    const i64 limit = whole_number(object["duration"], "global.duration", -1, 1'000'000'000);
    if (limit > 0) made_.workload.limit = seconds(limit);
  }
  if (object.contains("default_policy")) {
    Task usual;
    read_class({{"policy", object["default_policy"]}}, "global.default_policy", usual);
    usual_policy_ = usual.policy;
  }
}

// Who is forked need not be there from the beginning; how many will come to a barrier could not be said then.
void Reader::check_forks() const {
  const std::vector<Task>& tasks = made_.workload.tasks;
  std::vector<bool> forked(tasks.size()), meets(tasks.size());
  for (size_t number = 0; number < tasks.size(); ++number) {
    for (const Phase& phase : tasks[number].phases) {
      for (const Action& action : phase.actions) {
        if (action.kind == Action::Kind::fork) forked[action.object] = true;
        if (action.kind == Action::Kind::barrier) meets[number] = true;
      }
    }
  }
  for (size_t number = 0; number < tasks.size(); ++number) {
    const std::string where = "tasks." + tasks[number].name;
    if (tasks[number].instances == 0 && !forked[number]) {
      refuse(where + ".instance",
             "it may be 1 to " + std::to_string(most_instances) + ", or 0 of a task that another one forks");
    }
    if (forked[number] && meets[number]) refuse(where, "a task that is forked has no barrier");
  }
}

Experiment Reader::read(const Json& file) {
  if (!file.is_object() || !file.contains("tasks") || !file["tasks"].is_object() || file["tasks"].empty()) {
    refuse("tasks", "an object with one or more tasks is wanted");
  }
  for (const auto& [key, value] : file.items()) {
    if (key != "tasks" && key != "global" && key != "resources" && key != "machine") {
      refuse(key, "a workload has tasks, global, resources and machine");
    }
  }
  if (file.contains("machine")) read_hardware(file["machine"]);
  if (cores_ != 0) made_.hardware.cores = cores_;
  if (file.contains("global")) read_global(file["global"]);
  for (const auto& [name, task] : file["tasks"].items()) {
    if (!task.is_object()) refuse("tasks." + name, "an object is wanted");
    names_.push_back(name);
  }
  for (const auto& [name, task] : file["tasks"].items()) {
    const std::string where = "tasks." + name + ".instance";
    const i64 instances = task.contains("instance") ? whole_number(task["instance"], where, 0, most_instances) : 1;
    read_task(name, task, static_cast<u32>(instances));
  }
  check_forks();
  return std::move(made_);
}

}  // namespace

Experiment read_workload(const std::string& text, u32 cores) {
  Json file;
  try {
    file = Json::parse(text, nullptr, true, true);  // comments are allowed, as rt-app does
  } catch (const Json::parse_error& error) { throw WorkloadError{std::string{"this is not JSON: "} + error.what()}; }
  return Reader{cores}.read(file);
}

}  // namespace corral::sim
