// /proc/version, cmdline, filesystems, mounts.
#include "fs/mounts.h"
#include "fs/proc/proc.h"
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

}  // namespace proc
}  // namespace corral::fs
