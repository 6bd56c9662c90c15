// /proc/[pid]/cmdline, environ, maps: what is in a process's memory and where. Another process's pages are held while they
// are read; pages that are not in memory are not brought in.
#include "fs/proc/proc.h"
#include "memory/page_allocator.h"
#include "task/process.h"

namespace corral::fs::proc {

namespace {

// Appends the bytes [start, end) of the process's memory, as far as they are there.
Result<void> append_memory(TextBuffer& to, Process& process, VirtualAddress start, VirtualAddress end) {
  constexpr u64 most = 128 << 10;
  Ref<vm::AddressSpace> space = process.space();
  if (!space || process.ending()) return {};
  for (u64 done = 0; start.value + done < end.value && done < most;) {
    const VirtualAddress here = start + done;
    const u64 in_page = here.value & (page_size - 1);
    const u64 size = smaller(page_size - in_page, end - here);
    const Result<Frame*> frame = space->hold_page(here.page());
    if (!frame.ok()) break;
    to.append({reinterpret_cast<const char*>(memory::contents(*frame.value())) + in_page, size});
    memory::release_page(*frame.value());
    done += size;
  }
  return {};
}

const char* label_of(const vm::Area& area) {
  switch (area.kind) {
    case vm::AreaKind::heap: return "[heap]";
    case vm::AreaKind::stack: return "[stack]";
    case vm::AreaKind::anonymous:
    case vm::AreaKind::file: break;
  }
  return area.backing ? area.backing->name() : "";
}

void hexadecimal(TextBuffer& to, u64 value, u32 width) {
  char digits[20];
  const std::string_view text = format_to(digits, "{X16}", value);
  u64 skip = 0;
  while (skip < 16 - width && text[skip] == '0') ++skip;
  to.append({text.data() + skip, 16 - skip});
}

}  // namespace

Result<void> process_command_line(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  return append_memory(to, *process, process->arguments_start, process->arguments_end);
}

Result<void> process_environment(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  return append_memory(to, *process, process->arguments_end, process->environment_end);
}

Result<void> process_auxiliary(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  return append_memory(to, *process, process->auxiliary_start, process->auxiliary_end);
}

Result<void> process_maps(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  Ref<vm::AddressSpace> space = process->space();
  if (!space || process->ending()) return {};
  space->for_each_area(
      [](void* context, const vm::Area& area) {
        auto& text = *static_cast<TextBuffer*>(context);
        hexadecimal(text, area.start.value, 8);
        text.append("-");
        hexadecimal(text, area.end.value, 8);
        text.print(" {}{}{}{} ", area.protection.read ? 'r' : '-', area.protection.write ? 'w' : '-',
                   area.protection.execute ? 'x' : '-', area.shared ? 's' : 'p');
        hexadecimal(text, area.first_page * page_size, 8);
        text.print(" 00:00 0                          {}\n", label_of(area));
      },
      &to);
  return {};
}

}  // namespace corral::fs::proc
