// See core_notes.h.
#include "abi/linux/core_notes.h"

#include "abi/linux/resource_usage.h"
#include "abi/linux/trace_registers.h"
#include "lib/memory_functions.h"

namespace corral::abi::core {

namespace {

constexpr u64 most_auxiliary = 1024;  // bytes

i32 parent_of(const Process& process) {
  LockGuard guard{processes::lock()};
  return process.parent == nullptr ? 0 : process.parent->id().value;
}

ThreadStatus status_of(Thread& thread, const SignalInfo& info) {
  const Process& process = thread.process();
  const Times times = times_of(thread);
  const Times of_children = times_of_children(process);
  ThreadStatus status;
  memset(&status, 0, sizeof status);
  status.signal = info.number;
  status.code = info.code;
  status.error = info.error;
  status.current_signal = static_cast<i16>(info.number);
  status.pending = thread.signals.pending.load(Order::relaxed);
  status.blocked = thread.signals.blocked;
  status.id = thread.id().value;
  status.parent = parent_of(process);
  status.group = process.group.load(Order::relaxed);
  status.session = process.session.load(Order::relaxed);
  status.user = time_value(times.user_ns);
  status.system = time_value(times.system_ns);
  status.children_user = time_value(of_children.user_ns);
  status.children_system = time_value(of_children.system_ns);
  status.registers = trace::registers_of(thread);
  status.has_floating_point = 1;
  return status;
}

// The beginning of the arguments, with spaces between them.
Result<void> add_arguments(Thread& thread, ProcessInformation& to) {
  const Process& process = thread.process();
  const u64 all = process.places.arguments_end - process.places.arguments_start;
  const u64 size = all < sizeof to.arguments - 1 ? all : sizeof to.arguments - 1;
  const Result<void> read =
      thread.space->read_by_force(thread.caller, process.places.arguments_start, {reinterpret_cast<u8*>(to.arguments), size});
  if (!read.ok() && read.error() == Errno::blocked) return Errno::blocked;
  for (u64 i = 0; i < size; ++i) {
    if (to.arguments[i] == '\0') to.arguments[i] = ' ';
  }
  return {};
}

Result<void> add_process(fs::TextBuffer& to, Thread& thread) {
  const Process& process = thread.process();
  ProcessInformation told;
  memset(&told, 0, sizeof told);
  told.letter = 'R';
  told.nice = static_cast<u8>(thread.nice());
  told.user = thread.credentials().user.real;
  told.group = thread.credentials().group.real;
  told.id = process.id().value;
  told.parent = parent_of(process);
  told.process_group = process.group.load(Order::relaxed);
  told.session = process.session.load(Order::relaxed);
  memcpy(told.name, thread.name, sizeof told.name);
  TRY(add_arguments(thread, told));
  add_note(to, Note::process, &told, sizeof told);
  return {};
}

Result<void> add_auxiliary(fs::TextBuffer& to, Thread& thread) {
  const Process& process = thread.process();
  const u64 size = process.places.auxiliary_end - process.places.auxiliary_start;
  u8 bytes[most_auxiliary];
  if (size == 0 || size > sizeof bytes) return {};
  const Result<void> read = thread.space->read_by_force(thread.caller, process.places.auxiliary_start, {bytes, size});
  if (!read.ok()) return read.error() == Errno::blocked ? Result<void>{Errno::blocked} : Result<void>{};
  add_note(to, Note::auxiliary, bytes, size);
  return {};
}

// Which file is mapped where: so many, the unit of their offsets; for each start, end, offset; then their names, one after another.
void add_files(fs::TextBuffer& to, std::span<const MemorySegment> memory) {
  fs::TextBuffer text;
  u64 count = 0;
  for (const MemorySegment& segment : memory) count += segment.has_file() ? 1 : 0;
  if (count == 0) return;
  add_bytes(text, count);
  add_bytes(text, page_size);
  for (const MemorySegment& segment : memory) {
    if (!segment.has_file()) continue;
    add_bytes(text, segment.start.value);
    add_bytes(text, segment.end.value);
    add_bytes(text, segment.first_page);
  }
  for (const MemorySegment& segment : memory) {
    if (segment.has_file()) text.append({segment.backing->name(), strlen(segment.backing->name()) + 1});
  }
  if (text.complete()) add_note(to, Note::files, text.text().data(), text.text().size());
}

void add_floating_point(fs::TextBuffer& to, const Thread& thread, const memory::HeapArray<u8>& image) {
  thread.fp.tell(image.data());
  add_note(to, Note::floating_point, image.data(), arch::FpState::plain_image_size);
  if (arch::FpState::frames_are_marked()) add_note(to, Note::extended_registers, image.data(), arch::FpState::image_size());
}

}  // namespace

Result<void> add_first_thread(fs::TextBuffer& to, Thread& thread, const SignalInfo& info, std::span<const MemorySegment> memory,
                              const memory::HeapArray<u8>& image) {
  const ThreadStatus status = status_of(thread, info);
  add_note(to, Note::thread, &status, sizeof status);
  TRY(add_process(to, thread));
  const UserSignalInfo signal = for_user(info);
  add_note(to, Note::signal, &signal, sizeof signal);
  TRY(add_auxiliary(to, thread));
  add_files(to, memory);
  add_floating_point(to, thread, image);
  return {};
}

void add_other_thread(fs::TextBuffer& to, Thread& thread, i32 signal, const memory::HeapArray<u8>& image) {
  const ThreadStatus status = status_of(thread, {.number = signal});
  add_note(to, Note::thread, &status, sizeof status);
  add_floating_point(to, thread, image);
}

u64 other_thread_size() {
  const u64 extended = arch::FpState::frames_are_marked() ? note_size(arch::FpState::image_size()) : 0;
  return note_size(sizeof(ThreadStatus)) + note_size(arch::FpState::plain_image_size) + extended;
}

}  // namespace corral::abi::core
