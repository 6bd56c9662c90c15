// The table of names of /proc. See proc.h; that of /sys is in sys_root.cpp.
#include "fs/proc/proc.h"

namespace corral::fs {

namespace {

constexpr Node link(const char* name, Result<void> (*text)(TextBuffer&, const Subject&)) {
  return {.name = name, .type = FileType::symlink, .permissions = 0777, .text = text};
}

Result<void> own_mounts(TextBuffer& to, const Subject&) {
  to.append("self/mounts");
  return {};
}

constexpr Node root_nodes[] = {
    link("self", proc::own_process),
    link("thread-self", proc::own_thread),
    link("mounts", own_mounts),
    link("net", proc::own_network),
    {.name = "cmdline", .text = proc::command_line},
    {.name = "cpuinfo", .text = proc::cpuinfo},
    {.name = "devices-tree", .text = proc::devices_tree},
    {.name = "filesystems", .text = proc::file_systems},
    {.name = "heap", .text = proc::heap},
    {.name = "interrupts", .text = proc::interrupts},
    {.name = "kernel-map", .permissions = 0400, .text = proc::kernel_map},
    {.name = "loadavg", .text = proc::loadavg},
    {.name = "locks", .text = proc::locks},
    {.name = "mailboxes", .text = proc::mailboxes},
    {.name = "meminfo", .text = proc::meminfo},
    {.name = "partitions", .text = proc::partitions},
    {.name = "provoke", .permissions = 0644, .text = proc::list_provocations, .store = proc::provoke},
    {.name = "sched", .permissions = 0644, .text = proc::scheduling_text, .store_or_say = proc::set_scheduling},
    {.name = "sched-dump", .text = proc::scheduling_dump},
    {.name = "sched-policies", .text = proc::scheduling_policies},
    {.name = "schedstat", .text = proc::schedstat},
    {.name = "slabinfo", .permissions = 0400, .text = proc::slab_information},
    {.name = "stat", .text = proc::stat},
    {.name = "swaps", .text = proc::swaps},
    {.name = "sys", .type = FileType::directory, .permissions = 0555, .directory = &proc::sys_directory},
    {.name = "sysvipc", .type = FileType::directory, .permissions = 0555, .directory = &proc::sysvipc_directory},
    {.name = "trace", .permissions = 0600, .text = proc::trace_text, .store = proc::set_trace},
    {.name = "uptime", .text = proc::uptime},
    {.name = "version", .text = proc::version},
    {.name = "vmstat", .text = proc::vmstat},
};
constexpr GeneratedDirectory root{.nodes = root_nodes, .lookup = proc::find_process, .next = proc::next_process};

}  // namespace

const GeneratedDirectory& proc_root() {
  return root;
}

}  // namespace corral::fs
