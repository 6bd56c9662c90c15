// /proc/[pid]/cmdline, environ, maps, smaps, coredump_filter: what is in a process's memory and where. Another process's pages are held while they
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

// Null once the process ends.
Result<Ref<vm::AddressSpace>> space_of(const Subject& subject) {
  const Ref<Process> process = TRY(process_of(subject));
  Ref<vm::AddressSpace> space = process->space();
  return process->ending() ? Ref<vm::AddressSpace>{} : space;
}

void append_area(TextBuffer& to, const vm::Area& area) {
  const vm::FileIdentity file = area.backing ? area.backing->identity() : vm::FileIdentity{};
  char memory[128];
  const std::string_view place =
      format_to(memory, "{X8}-{X8} {}{}{}{} {X8} 00:{X2} {}", area.start.value, area.end.value,
                area.protection.read ? 'r' : '-', area.protection.write ? 'w' : '-', area.protection.execute ? 'x' : '-',
                area.shared ? 's' : 'p', area.backing ? area.first_page * page_size : 0, file.device, file.number);
  const char* const label = label_of(area);
  if (*label == 0) {
    to.print("{} \n", place);
  } else {
    to.print("{-72} {}\n", place, label);
  }
}

// `label` has its colon.
void append_amount(TextBuffer& to, std::string_view label, u64 bytes) {
  to.print("{-16}{8} kB\n", label, bytes >> 10);
}

void append_counts(TextBuffer& to, const vm::PageCounts& pages) {
  const struct {
    std::string_view label;
    u64 bytes;
  } rows[] = {
      {"Rss:", pages.resident() * page_size},
      {"Pss:", pages.share_bytes},
      {"Shared_Clean:", pages.shared_clean * page_size},
      {"Shared_Dirty:", pages.shared_dirty * page_size},
      {"Private_Clean:", pages.private_clean * page_size},
      {"Private_Dirty:", pages.private_dirty * page_size},
      {"Referenced:", pages.resident() * page_size},
      {"Anonymous:", pages.anonymous * page_size},
      {"LazyFree:", 0},
      {"AnonHugePages:", pages.large * page_size},
      {"ShmemPmdMapped:", 0},
      {"FilePmdMapped:", 0},
      {"Shared_Hugetlb:", 0},
      {"Private_Hugetlb:", 0},
      {"Swap:", 0},
      {"SwapPss:", 0},
      {"Locked:", pages.locked * page_size},
  };
  for (const auto& row : rows) append_amount(to, row.label, row.bytes);
}

// Two letters for each thing that holds of the area.
void append_flags(TextBuffer& to, const vm::Area& area) {
  const struct {
    bool holds;
    const char* letters;
  } flags[] = {
      {area.protection.read, "rd"},
      {area.protection.write, "wr"},
      {area.protection.execute, "ex"},
      {area.shared, "sh"},
      {true, "mr"},
      {area.may_write, "mw"},
      {true, "me"},
      {area.grows_down, "gd"},
      {area.locked, "lo"},
  };
  to.append("VmFlags:");
  for (const auto& flag : flags) {
    if (flag.holds) to.print(" {}", flag.letters);
  }
  to.append("\n");
}

}  // namespace

Result<void> process_command_line(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  return append_memory(to, *process, process->places.arguments_start, process->places.arguments_end);
}

Result<void> process_environment(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  return append_memory(to, *process, process->places.arguments_end, process->places.environment_end);
}

Result<void> process_auxiliary(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  return append_memory(to, *process, process->places.auxiliary_start, process->places.auxiliary_end);
}

Result<void> process_maps(TextBuffer& to, const Subject& subject) {
  const Ref<vm::AddressSpace> space = TRY(space_of(subject));
  if (!space) return {};
  space->for_each_area([](void* context, const vm::Area& area) { append_area(*static_cast<TextBuffer*>(context), area); }, &to);
  return {};
}

Result<void> process_smaps(TextBuffer& to, const Subject& subject) {
  const Ref<vm::AddressSpace> space = TRY(space_of(subject));
  if (!space) return {};
  const auto visit = [](void* context, const vm::Area& area, const vm::PageCounts& pages) {
    auto& text = *static_cast<TextBuffer*>(context);
    append_area(text, area);
    append_amount(text, "Size:", area.end - area.start);
    append_amount(text, "KernelPageSize:", page_size);
    append_amount(text, "MMUPageSize:", page_size);
    append_counts(text, pages);
    append_flags(text, area);
  };
  for (VirtualAddress from{}; space->visit_area_with_pages(from, visit, &to);) {}
  return {};
}

Result<void> process_smaps_rollup(TextBuffer& to, const Subject& subject) {
  const Ref<vm::AddressSpace> space = TRY(space_of(subject));
  if (!space) return {};
  struct Sum {
    VirtualAddress start{};
    vm::PageCounts pages;
  } sum;
  const auto visit = [](void* context, const vm::Area& area, const vm::PageCounts& pages) {
    auto& to_add = *static_cast<Sum*>(context);
    if (to_add.start.value == 0) to_add.start = area.start;
    to_add.pages.add(pages);
  };
  VirtualAddress from{};
  while (space->visit_area_with_pages(from, visit, &sum)) {}
  to.print("{X8}-{X8} ---p 00000000 00:00 0                          [rollup]\n", sum.start.value, from.value);
  append_counts(to, sum.pages);
  return {};
}

Result<void> process_dump_filter(TextBuffer& to, const Subject& subject) {
  const Ref<Process> process = TRY(process_of(subject));
  to.print("{X8}\n", process->manners.dump_filter.load(Order::relaxed));
  return {};
}

// In any of C's notations; kinds that there are not are forgotten.
Result<void> set_process_dump_filter(std::string_view text, const Subject& subject) {
  const Ref<Process> process = TRY(process_of(subject));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  u64 value = 0;
  if (!parse_number(text, value)) return Errno::einval;
  process->manners.dump_filter.store(static_cast<u32>(value) & ProcessManners::dump_kinds, Order::relaxed);
  return {};
}

}  // namespace corral::fs::proc
