// See fallbacks.h.
#include "sched/engine/fallbacks.h"

#include "lib/format.h"
#include "trace/log.h"

namespace corral::sched::fallbacks {

namespace {

constexpr u32 entities_kept = 24, cores_kept = 32;

struct Record {
  Instant when{};
  CoreId core{};
  Misdeed misdeed{};
  PolicyCall call{};
  const char* kind = "";
  const PolicyDescription* policy = nullptr;
  TunableValues values;
  i32 running = 0;  // 0: nobody; of a policy of the whole machine: whom the call was about
  u32 waiting_count = 0;
  struct {
    i32 number;
    u32 weight;
    u32 real_time;
  } waiting[entities_kept] = {};
  u32 core_count = 0;  // of a policy of the whole machine
  struct {
    CoreId core;
    u32 threads;
  } cores[cores_kept] = {};
  u32 decision_count = 0;
  RunQueue::PastDecision decisions[RunQueue::decisions_kept];
  Atomic<bool> complete{false};
};

constinit Record records[kept];
constinit Atomic<u32> noted{0};
constinit u64 seed_of_the_run = 0;

// Null: there is no room.
Record* begin(const char* kind, const PolicyDescription& policy, const TunableValues& values, Misdeed misdeed, PolicyCall call,
              CoreId core, Instant now) {
  log::error("sched: {} {} on core {}: {} {}; the safe one goes on (/proc/sched-dump)", kind, policy.name, core, name_of(call),
             text_of(misdeed));
  const u32 number = noted.fetch_add(1, Order::relaxed);
  if (number >= kept) return nullptr;
  Record& record = records[number];
  record.when = now;
  record.core = core;
  record.misdeed = misdeed;
  record.call = call;
  record.kind = kind;
  record.policy = &policy;
  record.values = values;
  return &record;
}

void keep(Record& record, RunQueue& queue) {
  queue.for_each_waiting([&](const SchedulingEntity& entity) {
    if (record.waiting_count < entities_kept) {
      record.waiting[record.waiting_count] = {entity.number, entity.weight, entity.real_time};
    }
    ++record.waiting_count;
  });
  queue.for_each_decision(
      [&](const RunQueue::PastDecision& decision) { record.decisions[record.decision_count++] = decision; });
}

}  // namespace

void note_timeline(RunQueue& queue, const AlgorithmDescriptor& failed, const TunableValues& values, Misdeed misdeed,
                   PolicyCall call, Instant now) {
  Record* record = begin("algorithm", failed, values, misdeed, call, queue.core(), now);
  if (record == nullptr) return;
  record->running = queue.running() != nullptr ? queue.running()->number : 0;
  keep(*record, queue);
  record->complete.store(true, Order::release);
}

void note_shared(const char* kind, const PolicyDescription& failed, const TunableValues& values, const PolicyFailure& failure,
                 RunQueue* queue, std::span<const CoreStatistics> numbers, const CoreSet& cores) {
  Record* record = begin(kind, failed, values, failure.misdeed, failure.call, failure.here, failure.now);
  if (record == nullptr) return;
  record->running = failure.thread;
  if (queue != nullptr) keep(*record, *queue);
  cores.for_each([&](CoreId core) {
    if (record->core_count < cores_kept) record->cores[record->core_count++] = {core, numbers[core.value].load()};
  });
  record->complete.store(true, Order::release);
}

void note_not_made(const AlgorithmDescriptor& failed) {
  log::error("sched: algorithm {}: {} {}; nothing is changed", failed.name, name_of(PolicyCall::make),
             text_of(misdeed_of(arch::last_call_failure())));
}

void set_seed(u64 seed) {
  seed_of_the_run = seed;
}

u32 count() {
  return noted.load(Order::relaxed);
}

size_t describe(char* to, size_t size, Duration tick) {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  line("failures {} seed {}\n", count(), seed_of_the_run);
  for (const Record& record : records) {
    if (!record.complete.load(Order::acquire)) continue;
    line("failure at {} core {} {} {} call {}: {}\n", record.when.ns, record.core, record.kind, record.policy->name,
         name_of(record.call), text_of(record.misdeed));
    for (size_t i = 0; i < record.policy->tunables.size(); ++i) {
      const Tunable& tunable = record.policy->tunables[i];
      line("  tunable {} {}\n", tunable.name, tunable.as_shown(record.values.number(i), tick));
    }
    line("  thread {}\n  waiting {}\n", record.running, record.waiting_count);
    for (u32 i = 0; i < record.waiting_count && i < entities_kept; ++i) {
      line("  waits {} weight {} real-time {}\n", record.waiting[i].number, record.waiting[i].weight,
           record.waiting[i].real_time);
    }
    for (u32 i = 0; i < record.core_count; ++i) line("  core {} threads {}\n", record.cores[i].core, record.cores[i].threads);
    for (u32 i = 0; i < record.decision_count; ++i) {
      const RunQueue::PastDecision& decision = record.decisions[i];
      line("  decided {} thread {} until {}\n", decision.when.ns, decision.number, decision.until.ns);
    }
  }
  return used;
}

}  // namespace corral::sched::fallbacks
