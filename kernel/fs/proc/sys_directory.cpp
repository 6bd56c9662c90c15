// /proc/sys: names and settings of the system. See proc.h, setting_files.h. Source: Linux proc(5).
#include <bit>

#include "fs/cache/reclaim.h"
#include "fs/core_pattern.h"
#include "fs/device_files.h"
#include "fs/file_table.h"
#include "fs/leases.h"
#include "fs/pipe.h"
#include "fs/proc/proc.h"
#include "fs/proc/setting_files.h"
#include "fs/socket/socket.h"
#include "fs/watch/directory_notice.h"
#include "fs/watch/watch_queue.h"
#include "ipc/posix/message_queue.h"
#include "ipc/sysv/queue.h"
#include "ipc/sysv/segment.h"
#include "ipc/sysv/semaphore_set.h"
#include "task/process_table.h"
#include "task/system_names.h"
#include "vm/overcommit.h"

namespace corral::fs::proc {

using system_names::Name;

namespace {

Result<void> os_release(TextBuffer& to, const Subject&) {
  to.print("{}\n", system_names::release);
  return {};
}

Result<void> os_type(TextBuffer& to, const Subject&) {
  to.append("Linux\n");
  return {};
}

Result<void> host_name(TextBuffer& to, const Subject&) {
  to.print("{}\n", static_cast<const char*>(system_names::get(Name::host).bytes));
  return {};
}

// As far as a name goes; the rest of what is written is ignored, as Linux does.
template <Name N>
Result<void> set_name(std::string_view text, const Subject&) {
  system_names::Text name;
  for (u64 i = 0; i < text.size() && i < system_names::longest && text[i] != '\n' && text[i] != '\0'; ++i)
    name.bytes[i] = text[i];
  system_names::set(N, name);
  return {};
}

template <u32 Value>
Result<void> limit(TextBuffer& to, const Subject&) {
  to.print("{}\n", Value);
  return {};
}

Result<void> domain_name(TextBuffer& to, const Subject&) {
  to.print("{}\n", static_cast<const char*>(system_names::get(Name::domain).bytes));
  return {};
}

Result<void> build(TextBuffer& to, const Subject&) {
  to.print("{}\n", system_names::build);
  return {};
}

// A random number of the version 4 form of RFC 4122, 4.4.
void uuid(TextBuffer& to, const u8 (&bytes)[16]) {
  constexpr char digits[] = "0123456789abcdef";
  char text[37];
  u32 size = 0;
  for (u32 i = 0; i < 16; ++i) {
    u32 byte = bytes[i];
    if (i == 6) byte = (byte & 0x0f) | 0x40;
    if (i == 8) byte = (byte & 0x3f) | 0x80;
    if (i == 4 || i == 6 || i == 8 || i == 10) text[size++] = '-';
    text[size++] = digits[byte >> 4];
    text[size++] = digits[byte & 15];
  }
  text[size++] = '\n';
  to.append({text, size});
}

Result<void> fresh_uuid(TextBuffer& to, const Subject&) {
  u8 bytes[16];
  fill_random(bytes);
  uuid(to, bytes);
  return {};
}

constinit SpinLock boot_id_lock{Rank::file, "boot id"};
constinit u8 boot_id_bytes[16] GUARDED_BY(boot_id_lock) = {};

Result<void> boot_id(TextBuffer& to, const Subject&) {
  u8 bytes[16];
  {
    LockGuard guard{boot_id_lock};
    bool known = false;
    for (u8 byte : boot_id_bytes) known = known || byte != 0;
    if (!known) fill_random(boot_id_bytes);
    for (u32 i = 0; i < 16; ++i) bytes[i] = boot_id_bytes[i];
  }
  uuid(to, bytes);
  return {};
}

constexpr Node random_nodes[] = {{.name = "boot_id", .text = boot_id}, {.name = "uuid", .text = fresh_uuid}};
constexpr GeneratedDirectory random_directory{.nodes = random_nodes};

// What has gone wrong in the kernel since its start, as bits. A fault of this kernel ends the machine, so there are none.
Result<void> tainted(TextBuffer& to, const Subject&) {
  to.append("0\n");
  return {};
}

Result<void> pages_of_segments(TextBuffer& to, const Subject&) {
  to.print("{}\n", ipc::SegmentLimits::no_limit);
  return {};
}

Result<void> show_core_pattern(TextBuffer& to, const Subject&) {
  to.print("{}\n", static_cast<const char*>(core_pattern::get().bytes));
  return {};
}

Result<void> store_core_pattern(std::string_view text, const Subject&) {
  return core_pattern::set(text);
}

using Semaphores = ipc::SemaphoreLimits;

constexpr Node kernel_nodes[] = {
    {.name = "tainted", .text = tainted},
    setting<ProcessTable::highest_id>("pid_max"),
    setting<ProcessTable::most_threads>("threads-max"),
    {.name = "osrelease", .text = os_release},
    {.name = "ostype", .text = os_type},
    {.name = "hostname", .permissions = 0644, .text = host_name, .store = set_name<Name::host>},
    {.name = "domainname", .permissions = 0644, .text = domain_name, .store = set_name<Name::domain>},
    {.name = "version", .text = build},
    {.name = "core_pattern", .permissions = 0644, .text = show_core_pattern, .store = store_core_pattern},
    setting<core_pattern::with_process>("core_uses_pid"),
    {.name = "ngroups_max", .text = limit<65536>},
    {.name = "cap_last_cap", .text = limit<40>},
    {.name = "overflowuid", .text = limit<65534>},
    {.name = "overflowgid", .text = limit<65534>},
    setting<Semaphores::per_set, Semaphores::in_all, Semaphores::operations, Semaphores::sets>("sem"),
    setting<ipc::QueueLimits::message>("msgmax"),
    setting<ipc::QueueLimits::bytes>("msgmnb"),
    setting<ipc::QueueLimits::queues>("msgmni"),
    {.name = "shmall", .text = pages_of_segments},
    setting<ipc::SegmentLimits::largest>("shmmax"),
    setting<ipc::SegmentLimits::segments>("shmmni"),
    {.name = "sched_rt_runtime_us", .permissions = 0644, .text = real_time_runtime, .store = set_real_time_runtime},
    {.name = "sched_rt_period_us", .permissions = 0644, .text = real_time_period, .store = set_real_time_period},
    {.name = "sched_rr_timeslice_ms", .text = real_time_quantum},
    {.name = "random", .type = FileType::directory, .permissions = 0555, .directory = &random_directory},
};
constexpr GeneratedDirectory kernel_directory{.nodes = kernel_nodes};
// 1: pages of files; 2: names; 3: both; 4 more: say nothing in the log. There are only pages of files to give up.
Result<void> drop_caches(std::string_view text, const Subject&) {
  Setting what{0, 1, 7};
  Setting* const wanted[] = {&what};
  TRY(store_settings(text, wanted));
  if ((what.value() & 1) != 0) (void)reclaim::reclaim(~u64{0});
  return {};
}

constexpr Node vm_nodes[] = {
    setting<vm::AreaSet::most_areas>("max_map_count"),
    {.name = "mmap_min_addr", .text = limit<vm::lowest_address>},
    {.name = "drop_caches", .permissions = 0200, .store = drop_caches},
    setting<vm::overcommit>("overcommit_memory"),
};
constexpr GeneratedDirectory vm_directory{.nodes = vm_nodes};
constexpr Node watch_nodes[] = {
    setting<WatchLimits::events>("max_queued_events"),
    setting<WatchLimits::instances>("max_user_instances"),
    setting<WatchLimits::watches>("max_user_watches"),
};
constexpr GeneratedDirectory watch_directory{.nodes = watch_nodes};
// Told as on Linux, where it does not bind root.
Result<void> most_named_queues(TextBuffer& to, const Subject&) {
  to.append("256\n");
  return {};
}

using Queues = ipc::MessageQueueLimits;
constexpr Node queue_nodes[] = {
    setting<Queues::default_messages>("msg_default"),  setting<Queues::user_messages>("msg_max"),
    setting<Queues::default_bytes>("msgsize_default"), setting<Queues::user_bytes>("msgsize_max"),
    {.name = "queues_max", .text = most_named_queues},
};
constexpr GeneratedDirectory mqueue_directory{.nodes = queue_nodes};

// Rounded up to what a pipe can have.
Result<void> set_pipe_size(std::string_view text, const Subject& subject) {
  TRY(store<Pipe::user_capacity>(text, subject));
  Pipe::user_capacity.set(std::bit_ceil(Pipe::user_capacity.value()));
  return {};
}

constexpr Node fs_nodes[] = {
    setting<directory_notices_enabled>("dir-notify-enable"),
    setting<leases::break_seconds>("lease-break-time"),
    {.name = "nr_open", .text = limit<FileTable::max_descriptors>},
    {.name = "pipe-max-size", .permissions = 0644, .text = show<Pipe::user_capacity>, .store = set_pipe_size},
    {.name = "inotify", .type = FileType::directory, .permissions = 0555, .directory = &watch_directory},
    {.name = "mqueue", .type = FileType::directory, .permissions = 0555, .directory = &mqueue_directory},
};
constexpr GeneratedDirectory fs_directory{.nodes = fs_nodes};
constexpr Node core_nodes[] = {setting<Socket::most_waiting>("somaxconn")};
constexpr GeneratedDirectory core_directory{.nodes = core_nodes};
constexpr Node net_nodes[] = {{.name = "core", .type = FileType::directory, .permissions = 0555, .directory = &core_directory}};
constexpr GeneratedDirectory net_directory{.nodes = net_nodes};
constexpr Node sys_nodes[] = {
    {.name = "fs", .type = FileType::directory, .permissions = 0555, .directory = &fs_directory},
    {.name = "kernel", .type = FileType::directory, .permissions = 0555, .directory = &kernel_directory},
    {.name = "net", .type = FileType::directory, .permissions = 0555, .directory = &net_directory},
    {.name = "vm", .type = FileType::directory, .permissions = 0555, .directory = &vm_directory},
};

}  // namespace

const constinit GeneratedDirectory sys_directory{.nodes = sys_nodes};

}  // namespace corral::fs::proc
