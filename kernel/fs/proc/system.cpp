// /proc/version, cmdline, filesystems, mounts, sched and /proc/sys: names and settings of the system.
#include "fs/device_files.h"
#include "fs/file_table.h"
#include "fs/mounts.h"
#include "fs/pipe.h"
#include "fs/proc/proc.h"
#include "fs/watch/watch_queue.h"
#include "memory/heap.h"
#include "sched/engine/manager.h"
#include "task/process_table.h"
#include "task/system_names.h"

namespace corral::fs {

namespace {
constinit std::string_view boot_command_line;
}  // namespace

void set_proc_command_line(std::string_view text) {
  boot_command_line = text;
}

std::string_view proc_command_line() {
  return boot_command_line;
}

namespace proc {

using system_names::Name;

namespace {

Result<void> pid_max(TextBuffer& to, const Subject&) {
  to.print("{}\n", ProcessTable::max_id);
  return {};
}

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

Result<void> one(TextBuffer& to, const Subject&) {
  to.append("1\n");
  return {};
}

Result<void> threads_max(TextBuffer& to, const Subject&) {
  to.print("{}\n", ProcessTable::max_id - 1);
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

constexpr Node kernel_nodes[] = {
    {.name = "tainted", .text = tainted},
    {.name = "pid_max", .text = pid_max},
    {.name = "threads-max", .text = threads_max},
    {.name = "osrelease", .text = os_release},
    {.name = "ostype", .text = os_type},
    {.name = "hostname", .permissions = 0644, .text = host_name, .store = set_name<Name::host>},
    {.name = "domainname", .permissions = 0644, .text = domain_name, .store = set_name<Name::domain>},
    {.name = "version", .text = build},
    {.name = "ngroups_max", .text = limit<65536>},
    {.name = "cap_last_cap", .text = limit<40>},
    {.name = "overflowuid", .text = limit<65534>},
    {.name = "overflowgid", .text = limit<65534>},
    {.name = "sem", .text = semaphore_limits},
    {.name = "msgmax", .text = largest_message},
    {.name = "msgmnb", .text = queue_bytes},
    {.name = "msgmni", .text = most_queues},
    {.name = "shmall", .text = largest_segment},
    {.name = "shmmax", .text = largest_segment},
    {.name = "shmmni", .text = most_segments},
    {.name = "sched_rt_runtime_us", .permissions = 0644, .text = real_time_runtime, .store = set_real_time_runtime},
    {.name = "sched_rt_period_us", .permissions = 0644, .text = real_time_period, .store = set_real_time_period},
    {.name = "sched_rr_timeslice_ms", .text = real_time_quantum},
    {.name = "random", .type = FileType::directory, .permissions = 0555, .directory = &random_directory},
};
constexpr GeneratedDirectory kernel_directory{.nodes = kernel_nodes};
constexpr Node vm_nodes[] = {
    {.name = "max_map_count", .text = limit<vm::AreaSet::max_areas>},
    {.name = "mmap_min_addr", .text = limit<vm::lowest_address>},
    {.name = "overcommit_memory", .text = one},
};
constexpr GeneratedDirectory vm_directory{.nodes = vm_nodes};
constexpr Node watch_nodes[] = {
    {.name = "max_queued_events", .text = limit<WatchLimits::events>},
    {.name = "max_user_instances", .text = limit<WatchLimits::instances>},
    {.name = "max_user_watches", .text = limit<WatchLimits::watches>},
};
constexpr GeneratedDirectory watch_directory{.nodes = watch_nodes};
constexpr Node fs_nodes[] = {
    {.name = "nr_open", .text = limit<FileTable::max_descriptors>},
    {.name = "pipe-max-size", .text = limit<Pipe::max_capacity>},
    {.name = "inotify", .type = FileType::directory, .permissions = 0555, .directory = &watch_directory},
    {.name = "mqueue", .type = FileType::directory, .permissions = 0555, .directory = &mqueue_directory},
};
constexpr GeneratedDirectory fs_directory{.nodes = fs_nodes};
constexpr Node sys_nodes[] = {
    {.name = "fs", .type = FileType::directory, .permissions = 0555, .directory = &fs_directory},
    {.name = "kernel", .type = FileType::directory, .permissions = 0555, .directory = &kernel_directory},
    {.name = "vm", .type = FileType::directory, .permissions = 0555, .directory = &vm_directory},
};

}  // namespace

const constinit GeneratedDirectory sys_directory{.nodes = sys_nodes};

Result<void> version(TextBuffer& to, const Subject&) {
  to.print("Linux version {} (Corral, not Linux) {}\n", system_names::release, system_names::build);
  return {};
}

Result<void> command_line(TextBuffer& to, const Subject&) {
  to.append(proc_command_line());
  to.append("\n");
  return {};
}

Result<void> file_systems(TextBuffer& to, const Subject&) {
  for (const char* name : {"rootfs", "ramfs", "tmpfs", "devtmpfs", "proc", "sysfs"}) to.print("nodev\t{}\n", name);
  to.append("\text2\n");
  return {};
}

namespace {
// As in the fourth field of fstab(5).
const char* access_of(const Mount& mount) {
  constexpr const char* by_flags[] = {"rw",
                                      "ro",
                                      "rw,nosuid",
                                      "ro,nosuid",
                                      "rw,nodev",
                                      "ro,nodev",
                                      "rw,nosuid,nodev",
                                      "ro,nosuid,nodev",
                                      "rw,noexec",
                                      "ro,noexec",
                                      "rw,nosuid,noexec",
                                      "ro,nosuid,noexec",
                                      "rw,nodev,noexec",
                                      "ro,nodev,noexec",
                                      "rw,nosuid,nodev,noexec",
                                      "ro,nosuid,nodev,noexec"};
  static_assert(mount_read_only == 1 && mount_no_set_id == 2 && mount_no_devices == 4 && mount_no_execute == 8);
  const u32 flags = mount.file_system->flags.load(Order::relaxed) & mount_flags;
  return by_flags[mount.file_system->read_only() ? flags | mount_read_only : flags];
}
}  // namespace

Result<void> mount_table(TextBuffer& to, const Subject&) {
  mounts::for_each(
      [](void* context, const Mount& mount) {
        static_cast<TextBuffer*>(context)->print("{} {} {} {} 0 0\n", static_cast<const char*>(mount.source),
                                                 static_cast<const char*>(mount.path), mount.file_system->type(),
                                                 access_of(mount));
      },
      &to);
  return {};
}

Result<void> mount_info(TextBuffer& to, const Subject&) {
  mounts::for_each(
      [](void* context, const Mount& mount) {
        const u64 device = mount.file_system->device();
        static_cast<TextBuffer*>(context)->print(
            "{} 1 0:{} / {} {} - {} {} {}\n", device, device, static_cast<const char*>(mount.path), access_of(mount),
            mount.file_system->type(), static_cast<const char*>(mount.source), access_of(mount));
      },
      &to);
  return {};
}

Result<void> scheduling_text(TextBuffer& to, const Subject&) {
  constexpr u64 most = 32 << 10;
  auto* text = static_cast<char*>(memory::allocate(most));
  if (text == nullptr) return Errno::enomem;
  to.append({text, scheduling().describe_scheduling(text, most)});
  memory::release(text);
  return {};
}

// "algorithm NAME" or "placement NAME".
Result<void> set_scheduling(std::string_view text, const Subject&) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const size_t gap = text.find(' ');
  if (gap == std::string_view::npos) return Errno::einval;
  const std::string_view what{text.data(), gap};
  const std::string_view name{text.data() + gap + 1, text.size() - gap - 1};
  if (what == "algorithm") return scheduling().set_algorithm(name);
  if (what == "placement") return scheduling().set_placement(name);
  return Errno::einval;
}

}  // namespace proc
}  // namespace corral::fs
