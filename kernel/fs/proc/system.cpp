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
  for (const char* name : {"rootfs", "ramfs", "tmpfs", "devtmpfs", "proc", "sysfs", "9p"}) to.print("nodev\t{}\n", name);
  to.append("\text2\n");
  return {};
}

namespace {
// As in the fourth field of fstab(5).
void tell_access(TextBuffer& to, const FileSystem& mounted) {
  struct Word {
    u32 flag;
    const char* text;
  };
  constexpr Word words[] = {{mount_no_set_id, "nosuid"},
                            {mount_no_devices, "nodev"},
                            {mount_no_execute, "noexec"},
                            {mount_no_access_times, "noatime"},
                            {mount_no_directory_access_times, "nodiratime"},
                            {mount_no_links, "nosymfollow"}};
  to.append(mounted.read_only() ? "ro" : "rw");
  for (const Word& word : words) {
    if (mounted.forbids(word.flag)) to.print(",{}", word.text);
  }
}
}  // namespace

Result<void> mount_table(TextBuffer& to, const Subject&) {
  mounts::for_each(
      [](void* context, const Mount& mount) {
        auto& text = *static_cast<TextBuffer*>(context);
        text.print("{} {} {} ", static_cast<const char*>(mount.source), static_cast<const char*>(mount.path),
                   mount.file_system->type());
        tell_access(text, *mount.file_system);
        text.append(" 0 0\n");
      },
      &to);
  return {};
}

Result<void> mount_info(TextBuffer& to, const Subject&) {
  mounts::for_each(
      [](void* context, const Mount& mount) {
        const u64 device = mount.file_system->device();
        auto& text = *static_cast<TextBuffer*>(context);
        text.print("{} 1 0:{} / {} ", device, device, static_cast<const char*>(mount.path));
        tell_access(text, *mount.file_system);
        text.print(" - {} {} {}\n", mount.file_system->type(), static_cast<const char*>(mount.source),
                   mount.file_system->read_only() ? "ro" : "rw");
      },
      &to);
  return {};
}

}  // namespace proc
}  // namespace corral::fs
