// /proc/[pid]/stat, status, statm, limits, comm and the same of tasks. Source: proc(5); Linux fs/proc/array.c.
#include "task/process.h"
#include "core/core.h"
#include "fs/proc/proc.h"
#include "fs/resources.h"
#include "fs/terminals.h"
#include "lib/core_list.h"
#include "lib/memory_functions.h"
#include "task/authority.h"
#include "task/executive.h"
#include "task/thread_names.h"
#include "task/tracees.h"

namespace corral::fs::proc {

namespace {

constexpr i64 ns_per_tick = 10'000'000;  // USER_HZ is 100

// Bytes of what is mapped, as Linux divides them.
struct MappedParts {
  u64 data = 0;   // private, and may be written
  u64 stack = 0;  // grows down
  u64 code = 0;   // may be executed and not be written: of the program and of its libraries
  u64 locked = 0;
  u64 program_code = 0;  // of `code`
};

// What all the texts need of a process, or of one thread of it, taken at one moment.
struct Picture {
  Ref<Process> process;
  Ref<Thread> thread;  // the one the text is about; null: none is left
  char name[17] = {};
  char state = 'Z';
  i32 id = 0;
  i32 parent = 0;
  i32 exit_signal = 0, exit_status = 0;
  i32 group = 0, session = 0;
  u32 threads = 0;
  i64 user_ns = 0, system_ns = 0, start_ns = 0;
  i32 nice = 0;
  Thread::Policy policy;
  u32 effective_priority = 0;
  u32 core = 0;
  CoreSet allowed = CoreSet::all();
  u64 faults = 0, voluntary = 0, involuntary = 0;
  SignalSet pending = 0, shared_pending = 0, blocked = 0, ignored = 0, caught = 0;
  vm::Usage usage{};  // of nothing, when its memory has gone, as what follows
  MappedParts parts;
  ProgramPlaces places;
};

const char* state_name(char letter) {
  switch (letter) {
    case 'R': return "R (running)";
    case 'S': return "S (sleeping)";
    case 'T': return "T (stopped)";
    case 't': return "t (tracing stop)";
    case 'Z': return "Z (zombie)";
    default: return "D (disk sleep)";
  }
}

// After the threads have been looked at: a process that has none is a zombie by then.
void add_kinship(Picture& p) {
  Process& process = *p.process;
  LockGuard guard{processes::lock()};
  p.parent = process.parent == nullptr ? 0 : process.parent->id().value;
  p.exit_signal = process.exit_signal;
  if (process.state == ProcessState::alive) return;
  p.state = 'Z';
  p.exit_status = process.exit_status;
}

void add_threads(Picture& p, bool whole) {
  Process& process = *p.process;
  if (whole) {
    p.user_ns = process.user_ns.load(Order::relaxed);
    p.system_ns = process.system_ns.load(Order::relaxed);
    p.faults = process.counts.faults.load(Order::relaxed);
  }
  process.for_each_thread([&](Thread& thread) {
    ++p.threads;
    if (!whole && thread.id().value != p.id) return;
    if (whole && thread.times_counted.load(Order::acquire)) return;
    p.user_ns += thread.user_ns();
    p.system_ns += thread.system_ns();
    p.faults += thread.faults.load(Order::relaxed);
    p.voluntary += thread.voluntary_switches.load(Order::relaxed);
    p.involuntary += thread.involuntary_switches.load(Order::relaxed);
    // A process shows the state of its main thread, or a running one's.
    if (thread.id().value == p.id || p.state == 'Z') p.state = letter_of(thread);
  });
}

void add_thread(Picture& p) {
  if (!p.thread) return;
  Thread& thread = *p.thread;
  p.nice = thread.nice();
  p.policy = thread.policy_and_priority();
  p.effective_priority = thread.effective_priority();
  p.core = thread.shown_core().value;
  p.allowed = thread.shown_affinity();
  p.pending = thread.signals.pending.load(Order::relaxed) & ~signals::trap_bit;
  p.blocked = thread.signals.blocked;
}

void add_signals(Picture& p) {
  Process& process = *p.process;
  p.shared_pending = process.pending.load(Order::relaxed);
  LockGuard guard{process.lock()};
  for (int signal = 1; signal <= signal_count; ++signal) {
    if (process.actions[signal].handler == 1) p.ignored |= signal_bit(signal);
    if (process.actions[signal].handler > 1) p.caught |= signal_bit(signal);
  }
}

void add_memory(Picture& p) {
  const Ref<vm::AddressSpace> space = p.process->space();
  if (p.state == 'Z' || !space) return;
  p.usage = space->usage();
  p.places = p.process->places;
  MappedParts& parts = p.parts;
  const auto add = [](void* context, const vm::Area& area) {
    auto& sums = *static_cast<MappedParts*>(context);
    const vm::Protection& may = area.protection;
    if (may.write && !area.shared && !area.grows_down) sums.data += area.length();
    if (may.execute && !may.write && !area.grows_down) sums.code += area.length();
    if (area.grows_down) sums.stack += area.length();
    if (area.locked) sums.locked += area.length();
  };
  space->for_each_area(add, &parts);
  const u64 own = round_up(p.places.code_end.value, page_size) - round_down(p.places.code_start.value, page_size);
  parts.program_code = smaller(own, parts.code);
}

Result<Picture> picture_of(const Subject& subject) {
  Picture p;
  p.process = TRY(process_of(subject));
  Process& process = *p.process;
  const bool whole = subject.thread == 0;
  p.id = whole ? subject.process : subject.thread;
  p.thread = process.find_thread(ThreadId{p.id});
  if (!whole && !p.thread) return Errno::esrch;
  memcpy(p.name, p.thread ? p.thread->name : process.name, 16);
  p.group = process.group.load(Order::relaxed);
  p.session = process.session.load(Order::relaxed);
  p.start_ns = (p.thread ? p.thread->start_ns : process.start_ns).load(Order::relaxed);
  add_threads(p, whole);
  add_thread(p);
  add_signals(p);
  add_kinship(p);
  add_memory(p);
  return Result<Picture>{std::move(p)};
}

bool reader_may_look_into(Process& process) {
  const Thread* reader = this_core().executive->current();
  return reader != nullptr && authority::may_look_into(*reader, process, authority::As::files).ok();
}

CoreSet existing(const CoreSet& set) {
  return set & CoreSet::first(cores::count());
}

}  // namespace

// In Linux's form: words of 32 bits, the highest first, separated by commas.
void append_core_mask(TextBuffer& to, const CoreSet& set) {
  const u32 words = (cores::count() + 31) / 32;
  for (u32 i = words; i-- > 0;) {
    const u64 both = set.word(i / 2);
    char digits[20];
    const std::string_view text = format_to(digits, "{X16}", i % 2 != 0 ? both >> 32 : both & 0xffff'ffff);
    to.append({text.data() + 8, 8});
    if (i > 0) to.append(",");
  }
}

void append_core_list(TextBuffer& to, const CoreSet& set) {
  write_core_list(set, [&](std::string_view format, const auto&... arguments) { to.print(format, arguments...); });
}

Result<Ref<Process>> process_of(const Subject& subject) {
  Ref<Process> process = processes::find(ProcessId{subject.process});
  if (!process) return Errno::esrch;
  return process;
}

Result<Ref<Thread>> thread_of(const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  Ref<Thread> thread = process->find_thread(ThreadId{subject.thread == 0 ? subject.process : subject.thread});
  if (!thread) return Errno::esrch;
  return thread;
}

// The 52 fields of proc(5), by number. Where the program is in memory is for those who may look into it.
Result<void> process_stat(TextBuffer& to, const Subject& subject) {
  const Picture p = TRY(picture_of(subject));
  const TerminalFacts terminal = terminal_of(*p.process);
  const Process& process = *p.process;
  constexpr u32 not_executed = 0x40;  // of Linux's flags of a task: it runs its parent's program still
  to.print("{} ({}) {} {} {} {} ", p.id, static_cast<const char*>(p.name), p.state, p.parent, p.group, p.session);  // 1 … 6
  to.print("{} {} {} {} {} 0 0 ", terminal.device, terminal.foreground,
           process.executed.load(Order::relaxed) ? 0 : not_executed, p.faults,
           process.children_counts.faults.load(Order::relaxed));  // 7 … 13
  to.print("{} {} ", p.user_ns / ns_per_tick, p.system_ns / ns_per_tick);  // 14, 15
  to.print("{} {} ", process.children_user_ns.load(Order::relaxed) / ns_per_tick,
           process.children_system_ns.load(Order::relaxed) / ns_per_tick);  // 16, 17
  const i32 priority = p.effective_priority != 0 ? -1 - static_cast<i32>(p.effective_priority) : 20 + p.nice;
  to.print("{} {} {} 0 {} ", priority, p.nice, p.threads, p.start_ns / ns_per_tick);  // 18 … 22
  to.print("{} {} {} ", p.usage.mapped_bytes, p.usage.resident_pages, process.limits.resident);  // 23 … 25
  const bool open = reader_may_look_into(*p.process);
  const ProgramPlaces none{.code_start = {1}, .code_end = {1}};
  const ProgramPlaces& places = open || p.usage.mapped_bytes == 0 ? p.places : none;
  to.print("{} {} {} 0 0 ", places.code_start.value, places.code_end.value, places.stack_start.value);  // 26 … 30
  to.print("{} {} {} {} ", p.pending & 0x7fff'ffff, p.blocked & 0x7fff'ffff, p.ignored & 0x7fff'ffff,
           p.caught & 0x7fff'ffff);  // 31 … 34
  const i32 exit_signal = p.id == process.id().value ? p.exit_signal : -1;
  to.print("0 0 0 {} {} {} {} 0 0 0 ", exit_signal, p.core,
           p.policy.priority <= sched::real_time_highest ? p.policy.priority : 0,
           p.policy.policy & ~Thread::reset_on_fork);  // 35 … 44
  to.print("{} {} {} ", places.data_start.value, places.data_end.value, open ? p.usage.break_start.value : 0);  // 45 … 47
  to.print("{} {} {} {} {}\n", places.arguments_start.value, places.arguments_end.value, places.arguments_end.value,
           places.environment_end.value, open ? p.exit_status : 0);  // 48 … 52
  return {};
}

Result<void> process_status(TextBuffer& to, const Subject& subject) {
  const Picture p = TRY(picture_of(subject));
  to.print("Name:\t{}\n", static_cast<const char*>(p.name));
  u32 umask = 0;
  if (const Ref<Resources> resources = Resources::of_another(*p.process)) umask = resources->umask.load(Order::relaxed);
  to.print("Umask:\t0{}{}{}\n", umask >> 6 & 7, umask >> 3 & 7, umask & 7);
  to.print("State:\t{}\nTgid:\t{}\nNgid:\t0\nPid:\t{}\nPPid:\t{}\nTracerPid:\t{}\n", state_name(p.state), p.process->id().value,
           p.id, p.parent, p.thread ? tracees::tracer_of(*p.thread) : 0);
  const Ref<Credentials> credentials = p.thread ? p.thread->credentials_for_others() : p.process->credentials();
  const Ids& user = credentials->user;
  const Ids& group = credentials->group;
  to.print("Uid:\t{}\t{}\t{}\t{}\n", user.real, user.effective, user.saved, user.files);
  to.print("Gid:\t{}\t{}\t{}\t{}\n", group.real, group.effective, group.saved, group.files);
  to.print("FDSize:\t{}\nGroups:\t", p.process->limits.open_files);
  if (credentials->groups) {
    for (const u32 id : credentials->groups->groups()) to.print("{} ", id);
  }
  to.print("\nNStgid:\t{}\nNSpid:\t{}\nNSpgid:\t{}\nNSsid:\t{}\n", p.process->id().value, p.id, p.group, p.session);
  if (p.state != 'Z') {
    const struct {
      const char* name;
      u64 bytes;
    } rows[] = {
        {"VmPeak", p.usage.peak_bytes},
        {"VmSize", p.usage.mapped_bytes},
        {"VmLck", p.parts.locked},
        {"VmPin", 0},
        {"VmHWM", p.usage.peak_pages * page_size},
        {"VmRSS", p.usage.resident_pages * page_size},
        {"VmData", p.parts.data},
        {"VmStk", p.parts.stack},
        {"VmExe", p.parts.program_code},
        {"VmLib", p.parts.code - p.parts.program_code},
        {"VmPTE", p.usage.table_pages * page_size},
        {"VmSwap", 0},
    };
    for (const auto& row : rows) to.print("{}:\t{8} kB\n", row.name, row.bytes / 1024);
  }
  to.print("Threads:\t{}\nSigQ:\t{}/{}\n", p.threads, credentials->account().signals.load(Order::relaxed),
           p.process->limits.pending_signals);
  to.print("SigPnd:\t{X16}\nShdPnd:\t{X16}\n", p.pending, p.shared_pending);
  to.print("SigBlk:\t{X16}\nSigIgn:\t{X16}\nSigCgt:\t{X16}\n", p.blocked, p.ignored, p.caught);
  to.print("CapInh:\t{X16}\nCapPrm:\t{X16}\nCapEff:\t{X16}\nCapBnd:\t{X16}\nCapAmb:\t{X16}\n", credentials->inheritable.bits(),
           credentials->permitted.bits(), credentials->effective.bits(), credentials->bounding.bits(),
           credentials->ambient.bits());
  to.print("NoNewPrivs:\t{}\n", p.thread && p.thread->no_new_privileges.load(Order::relaxed) ? 1 : 0);
  to.append("Cpus_allowed:\t");
  append_core_mask(to, existing(p.allowed));
  to.append("\nCpus_allowed_list:\t");
  append_core_list(to, existing(p.allowed));
  to.append("\nMems_allowed:\t1\nMems_allowed_list:\t0\n");
  to.print("voluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n", p.voluntary, p.involuntary);
  return {};
}

Result<void> process_statm(TextBuffer& to, const Subject& subject) {
  const Picture p = TRY(picture_of(subject));
  to.print("{} {} 0 {} 0 {} 0\n", p.usage.mapped_bytes / page_size, p.usage.resident_pages, p.parts.program_code / page_size,
           (p.parts.data + p.parts.stack) / page_size);
  return {};
}

Result<void> process_comm(TextBuffer& to, const Subject& subject) {
  const Picture p = TRY(picture_of(subject));
  to.print("{}\n", static_cast<const char*>(p.name));
  return {};
}

Result<void> set_process_comm(std::string_view text, const Subject& subject) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const Ref<Thread> thread = TRY(thread_of(subject));
  thread_names::change(*thread, text);
  return {};
}

Result<void> process_limits(TextBuffer& to, const Subject& subject) {
  struct Line {
    const char *name, *unit;
  };
  constexpr Line lines[ResourceLimits::count] = {
      {"Max cpu time", "seconds"},    {"Max file size", "bytes"},      {"Max data size", "bytes"},
      {"Max stack size", "bytes"},    {"Max core file size", "bytes"}, {"Max resident set", "bytes"},
      {"Max processes", "processes"}, {"Max open files", "files"},     {"Max locked memory", "bytes"},
      {"Max address space", "bytes"}, {"Max file locks", "locks"},     {"Max pending signals", "signals"},
      {"Max msgqueue size", "bytes"}, {"Max nice priority", ""},       {"Max realtime priority", ""},
      {"Max realtime timeout", "us"}};
  Ref<Process> process = TRY(process_of(subject));
  to.print("{-26}{-21}{-21}{-10}\n", "Limit", "Soft Limit", "Hard Limit", "Units");
  for (u32 i = 0; i < ResourceLimits::count; ++i) {
    char numbers[2][24];
    const auto text = [](u64 value, std::span<char> place) {
      return value == no_limit ? std::string_view{"unlimited"} : format_to(place, "{}", value);
    };
    to.print("{-26}{-21}{-21}{-10}\n", lines[i].name, text(process->limits.soft(i), numbers[0]),
             text(process->limits.hard[i], numbers[1]), lines[i].unit);
  }
  return {};
}

}  // namespace corral::fs::proc
