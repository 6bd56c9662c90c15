// The directories /proc/[pid], its fd/ and task/, and the links that lead to what a process has open.
#include "core/core.h"
#include "fs/mounts.h"
#include "fs/proc/proc.h"
#include "fs/resources.h"
#include "fs/watch/watch_queue.h"
#include "task/executive.h"
#include "task/process.h"

namespace corral::fs::proc {

bool number_of(std::string_view name, i32& number) {
  u64 value = 0;
  if (name.empty() || name.size() > 9 || (name.size() > 1 && name.front() == '0')) return false;
  for (char c : name) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<u64>(c - '0');
  }
  number = static_cast<i32>(value);
  return true;
}

namespace {

Result<void> process_exists(const Subject& subject) {
  (void)TRY(process_of(subject));
  return {};
}

// ---- links to files ----------------------------------------------------------------------------------------------------

// What a link's text says of a file: its path, or what it is when it has none.
void describe_file(TextBuffer& to, Inode& file) {
  char text[512];
  const Result<std::string_view> path = path_of(file, text);
  if (path.ok()) {
    to.append(path.value());
    return;
  }
  const std::string_view label = file.label(text);
  to.append(label.empty() ? std::string_view{"(deleted)"} : label);
}

Result<Ref<Inode>> descriptor_file(const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  const Ref<Resources> resources = Resources::of_another(*process);
  if (!resources) return Errno::enoent;
  const Result<Ref<OpenFile>> file = resources->files().get(subject.number);
  if (!file.ok()) return Errno::enoent;
  return Ref<Inode>::share(file.value()->inode());
}

Result<Ref<Inode>> present(Ref<Inode> file) {
  if (!file) return Errno::enoent;
  return file;
}

Result<Ref<Inode>> working_directory(const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  const Ref<Resources> resources = Resources::of_another(*process);
  if (!resources) return Errno::enoent;
  return present(resources->directory());
}

Result<Ref<Inode>> root_directory(const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  const Ref<Resources> resources = Resources::of_another(*process);
  if (!resources) return Errno::enoent;
  return present(resources->root());
}

using Finder = Result<Ref<Inode>> (*)(const Subject& subject);

template <Finder FindIt>
Result<void> link_text(TextBuffer& to, const Subject& subject) {
  Ref<Inode> file = TRY(FindIt(subject));
  describe_file(to, *file);
  return {};
}

template <Finder FindIt>
Result<Ref<Inode>> follow_link(Thread&, const Subject& subject) {
  return FindIt(subject);
}

Result<void> executable_text(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  if (process->executable[0] == 0) return Errno::enoent;
  to.print("{}", static_cast<const char*>(process->executable));
  return {};
}

// Found by its path when it is asked for, but as Linux has it: not through directories that whoever asks may not search.
Result<Ref<Inode>> executable_file(Thread&, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  const std::string_view path{static_cast<const char*>(process->executable)};
  if (path.empty()) return Errno::enoent;
  Ref<Inode> root = mounts::root();
  return find({.root = root, .directory = root}, path, Follow::yes);
}

// ---- fd/, task/ ----------------------------------------------------------------------------------------------------------

constexpr Node descriptor_node{.name = "fd",
                               .type = FileType::symlink,
                               .permissions = 0700,
                               .text = link_text<descriptor_file>,
                               .follow = follow_link<descriptor_file>,
                               .guarded = true};

Result<DynamicName> find_descriptor(std::string_view name, const Subject& subject) {
  DynamicName found{&descriptor_node, subject};
  if (!number_of(name, found.subject.number)) return Errno::enoent;
  (void)TRY(descriptor_file(found.subject));
  return found;
}

i32 next_descriptor(i32 previous, const Subject& subject) {
  const Result<Ref<Process>> process = process_of(subject);
  if (!process.ok()) return -1;
  const Ref<Resources> resources = Resources::of_another(*process.value());
  return !resources ? -1 : resources->files().next_used(previous + 1);
}

constexpr GeneratedDirectory descriptors{.nodes = {},
                                         .lookup = find_descriptor,
                                         .next = next_descriptor,
                                         .dynamic_type = FileType::symlink,
                                         .exists = process_exists};

// ---- fdinfo/ -------------------------------------------------------------------------------------------------------------

// As on Linux the newest first.
void list_watches(TextBuffer& to, WatchQueue& queue) {
  for (WatchQueue::Watched at = queue.watched_below(INT64_MAX); at.file; at = queue.watched_below(at.number)) {
    to.print("inotify wd:{X} ino:{X} sdev:{X} mask:{X} ignored_mask:0\n", at.number, at.file->attributes().inode,
             at.file->file_system().device(), at.mask);
  }
}

Result<void> descriptor_text(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  const Ref<Resources> resources = Resources::of_another(*process);
  if (!resources) return Errno::enoent;
  const Result<Ref<OpenFile>> file = resources->files().get(subject.number);
  const Result<bool> marked = resources->files().close_on_exec(subject.number);
  if (!file.ok() || !marked.ok()) return Errno::enoent;
  OpenFile& open = *file.value();
  const Result<u64> position = open.seek(0, Whence::current);
  const u32 flags = open.flags() | (marked.value() ? o_cloexec : 0);
  to.print("pos:\t{}\nflags:\t0", position.ok() ? position.value() : 0);
  for (u32 shift = 24;; shift -= 3) {  // "0%o": nine digits hold all flags
    if (shift == 0 || flags >> shift != 0) to.print("{}", (flags >> shift) & 7);
    if (shift == 0) break;
  }
  to.print("\nmnt_id:\t{}\nino:\t{}\n", open.inode().file_system().device(), open.inode().attributes().inode);
  if (WatchQueue* queue = watch_queue_of(open); queue != nullptr) list_watches(to, *queue);
  open.describe(to);
  return {};
}

constexpr Node descriptor_text_node{.name = "fdinfo", .permissions = 0400, .text = descriptor_text};

Result<DynamicName> find_descriptor_text(std::string_view name, const Subject& subject) {
  DynamicName found{&descriptor_text_node, subject};
  if (!number_of(name, found.subject.number)) return Errno::enoent;
  (void)TRY(descriptor_file(found.subject));
  return found;
}

constexpr GeneratedDirectory descriptor_texts{.nodes = {},
                                              .lookup = find_descriptor_text,
                                              .next = next_descriptor,
                                              .dynamic_type = FileType::regular,
                                              .exists = process_exists};

// Nothing of a thread that waits is on a stack of the kernel, so there is no function that it waits in.
Result<void> waiting_place(TextBuffer& to, const Subject& subject) {
  TRY(process_exists(subject));
  to.append("0");
  return {};
}

Result<void> personality(TextBuffer& to, const Subject& subject) {
  const Ref<Process> process = TRY(process_of(subject));
  to.print("{X8}\n", process->manners.personality.load(Order::relaxed));
  return {};
}

// The files that a process and each of its tasks have.
constexpr Node common_nodes[] = {
    {.name = "stat", .text = process_stat},
    {.name = "status", .text = process_status},
    {.name = "statm", .text = process_statm},
    {.name = "comm", .permissions = 0644, .text = process_comm, .store = set_process_comm},
    {.name = "cmdline", .text = process_command_line},
    {.name = "environ", .permissions = 0400, .text = process_environment, .guarded = true},
    {.name = "limits", .text = process_limits},
    {.name = "maps", .text = process_maps, .guarded = true},
    {.name = "smaps", .text = process_smaps, .guarded = true},
    {.name = "smaps_rollup", .text = process_smaps_rollup, .guarded = true},
    {.name = "mem", .permissions = 0600, .open = open_process_memory, .guarded = true},
    {.name = "pagemap", .permissions = 0400, .open = open_page_map, .guarded = true},
    {.name = "auxv", .permissions = 0400, .text = process_auxiliary, .guarded = true},
    {.name = "wchan", .text = waiting_place},
    {.name = "personality", .permissions = 0400, .text = personality, .guarded = true},
    {.name = "schedstat", .text = process_schedstat},
    {.name = "sched", .text = process_sched},
    {.name = "fdinfo", .type = FileType::directory, .permissions = 0500, .directory = &descriptor_texts},
    {.name = "mounts", .text = mount_table, .version = mounts::version},
    {.name = "mountinfo", .text = mount_info, .version = mounts::version},
    {.name = "net", .type = FileType::directory, .permissions = 0555, .directory = &net_directory},
    {.name = "fd", .type = FileType::directory, .permissions = 0500, .directory = &descriptors},
    {.name = "cwd",
     .type = FileType::symlink,
     .permissions = 0777,
     .text = link_text<working_directory>,
     .follow = follow_link<working_directory>,
     .guarded = true},
    {.name = "root",
     .type = FileType::symlink,
     .permissions = 0777,
     .text = link_text<root_directory>,
     .follow = follow_link<root_directory>,
     .guarded = true},
    {.name = "exe",
     .type = FileType::symlink,
     .permissions = 0777,
     .text = executable_text,
     .follow = executable_file,
     .guarded = true},
};

Result<void> thread_exists(const Subject& subject) {
  (void)TRY(thread_of(subject));
  return {};
}

constexpr GeneratedDirectory task_directory{.nodes = common_nodes, .exists = thread_exists};
constexpr Node task_node{.name = "task", .type = FileType::directory, .permissions = 0555, .directory = &task_directory};

Result<DynamicName> find_task(std::string_view name, const Subject& subject) {
  DynamicName found{&task_node, subject};
  if (!number_of(name, found.subject.thread)) return Errno::enoent;
  if (!thread_of(found.subject).ok()) return Errno::enoent;
  return found;
}

i32 next_task(i32 previous, const Subject& subject) {
  const Result<Ref<Process>> process = process_of(subject);
  if (!process.ok()) return -1;
  i32 next = -1;
  process.value()->for_each_thread([&](Thread& thread) {
    const i32 id = thread.id().value;
    if (id > previous && (next < 0 || id < next)) next = id;
  });
  return next;
}

constexpr GeneratedDirectory tasks{.nodes = {}, .lookup = find_task, .next = next_task, .exists = process_exists};

// ---- /proc/[pid] ----------------------------------------------------------------------------------------------------------

Result<void> memory_score_text(TextBuffer& to, const Subject& subject) {
  Ref<Process> process = TRY(process_of(subject));
  to.print("{}\n", process->memory_score.load(Order::relaxed));
  return {};
}

Result<void> set_memory_score(std::string_view text, const Subject& subject) {
  constexpr u64 highest = 1000;
  Ref<Process> process = TRY(process_of(subject));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  u64 value = 0;
  if (!parse_number(text, value) || value > highest) return Errno::einval;
  const i32 score = static_cast<i32>(value);
  process->memory_score.store(negative ? -score : score, Order::relaxed);
  return {};
}

// Nobody is ended for want of memory: all are as unlikely.
Result<void> memory_danger(TextBuffer& to, const Subject& subject) {
  TRY(process_exists(subject));
  to.append("0\n");
  return {};
}

constexpr u64 own_nodes = 4;
struct ProcessNodes {
  Node nodes[std::size(common_nodes) + own_nodes];
};

constexpr ProcessNodes all_nodes() {
  ProcessNodes all{};
  u64 count = 0;
  for (const Node& node : common_nodes) all.nodes[count++] = node;
  all.nodes[count++] = {.name = "task", .type = FileType::directory, .permissions = 0555, .directory = &tasks};
  all.nodes[count++] = {.name = "oom_score_adj", .permissions = 0644, .text = memory_score_text, .store = set_memory_score};
  all.nodes[count++] = {
      .name = "coredump_filter", .permissions = 0644, .text = process_dump_filter, .store = set_process_dump_filter};
  all.nodes[count++] = {.name = "oom_score", .text = memory_danger};
  return all;
}

constexpr ProcessNodes process_nodes = all_nodes();
constexpr GeneratedDirectory process_directory{.nodes = process_nodes.nodes, .exists = process_exists};
constexpr Node the_process_node{
    .name = "process", .type = FileType::directory, .permissions = 0555, .directory = &process_directory};

}  // namespace

const Node& process_node() {
  return the_process_node;
}

// A thread's number finds its process too, as in Linux; only listing leaves them out.
Result<DynamicName> find_process(std::string_view name, const Subject&) {
  i32 number = 0;
  if (!number_of(name, number)) return Errno::enoent;
  DynamicName found{&the_process_node, {.process = number}};
  if (process_of(found.subject).ok()) return found;
  Ref<Thread> thread = processes::find_thread(ThreadId{number});
  if (!thread) return Errno::enoent;
  found.subject = {.process = thread->process().id().value, .thread = number};
  return found;
}

i32 next_process(i32 previous, const Subject&) {
  Ref<Process> process = processes::next(ProcessId{previous < 0 ? 0 : previous});
  return process ? process->id().value : -1;
}

Result<void> own_process(TextBuffer& to, const Subject&) {
  Thread* current = this_core().executive->current();
  if (current == nullptr) return Errno::enoent;
  to.print("{}", current->process().id().value);
  return {};
}

Result<void> own_thread(TextBuffer& to, const Subject&) {
  Thread* current = this_core().executive->current();
  if (current == nullptr) return Errno::enoent;
  to.print("{}/task/{}", current->process().id().value, current->id().value);
  return {};
}

}  // namespace corral::fs::proc
