// /proc and /sys: what the kernel tells of itself as text. One file for each subject; each subject offers makers of texts, and
// proc_root.cpp has the tables that give them names. Makers run in the reader's step with no lock held.
// Source: Linux man-pages proc(5), sysfs(5); formats as busybox, procps and glibc read them.
#pragma once

#include "fs/generated_file.h"
#include "lib/core_set.h"
#include "task/process.h"

namespace corral::fs {

[[nodiscard]] const GeneratedDirectory& proc_root();
[[nodiscard]] const GeneratedDirectory& sys_root();  // sys_root.cpp
// Boot context: `text` lives for ever.
void set_proc_command_line(std::string_view text);
[[nodiscard]] std::string_view proc_command_line();

namespace proc {

// machine.cpp
Result<void> cpuinfo(TextBuffer& to, const Subject& subject);
Result<void> interrupts(TextBuffer& to, const Subject& subject);
Result<void> devices_tree(TextBuffer& to, const Subject& subject);
Result<void> mailboxes(TextBuffer& to, const Subject& subject);
Result<void> locks(TextBuffer& to, const Subject& subject);
// provoke.cpp
void allow_provocations();  // boot context
Result<void> list_provocations(TextBuffer& to, const Subject& subject);
Result<void> provoke(std::string_view text, const Subject& subject);
Result<void> kernel_map(TextBuffer& to, const Subject& subject);
// memory.cpp
Result<void> meminfo(TextBuffer& to, const Subject& subject);
Result<void> heap(TextBuffer& to, const Subject& subject);
Result<void> slab_information(TextBuffer& to, const Subject& subject);
Result<void> vmstat(TextBuffer& to, const Subject& subject);
Result<void> swaps(TextBuffer& to, const Subject& subject);
// disks.cpp
Result<void> partitions(TextBuffer& to, const Subject& subject);
extern const GeneratedDirectory block_directory;  // /sys/block
extern const GeneratedDirectory clocks_directory;  // /sys/class/rtc
extern const GeneratedDirectory block_numbers_directory;  // /sys/dev/block
// times.cpp
Result<void> stat(TextBuffer& to, const Subject& subject);
Result<void> uptime(TextBuffer& to, const Subject& subject);
Result<void> loadavg(TextBuffer& to, const Subject& subject);
// system.cpp
Result<void> version(TextBuffer& to, const Subject& subject);
Result<void> command_line(TextBuffer& to, const Subject& subject);
Result<void> file_systems(TextBuffer& to, const Subject& subject);
Result<void> mount_table(TextBuffer& to, const Subject& subject);
Result<void> mount_info(TextBuffer& to, const Subject& subject);
extern const GeneratedDirectory sys_directory;  // /proc/sys
// scheduling.cpp
Result<void> scheduling_text(TextBuffer& to, const Subject& subject);
Result<void> scheduling_policies(TextBuffer& to, const Subject& subject);
Result<void> scheduling_dump(TextBuffer& to, const Subject& subject);
Result<void> set_scheduling(std::string_view text, const Subject& subject, TextBuffer& why);
// scheduling_statistics.cpp
Result<void> schedstat(TextBuffer& to, const Subject& subject);
Result<void> process_schedstat(TextBuffer& to, const Subject& subject);
Result<void> process_sched(TextBuffer& to, const Subject& subject);
// trace.cpp
Result<void> trace_text(TextBuffer& to, const Subject& subject);
Result<void> set_trace(std::string_view text, const Subject& subject);
// ipc.cpp
extern const GeneratedDirectory sysvipc_directory;
// net.cpp
extern const GeneratedDirectory net_directory;  // of each process; all have one network
Result<void> own_network(TextBuffer& to, const Subject& subject);  // the link "net"
// real_time.cpp
Result<void> real_time_runtime(TextBuffer& to, const Subject& subject);
Result<void> set_real_time_runtime(std::string_view text, const Subject& subject);
Result<void> real_time_period(TextBuffer& to, const Subject& subject);
Result<void> set_real_time_period(std::string_view text, const Subject& subject);
Result<void> real_time_quantum(TextBuffer& to, const Subject& subject);

// process.cpp
Result<void> process_stat(TextBuffer& to, const Subject& subject);
Result<void> process_status(TextBuffer& to, const Subject& subject);
Result<void> process_statm(TextBuffer& to, const Subject& subject);
Result<void> process_limits(TextBuffer& to, const Subject& subject);
Result<void> process_comm(TextBuffer& to, const Subject& subject);
Result<void> set_process_comm(std::string_view text, const Subject& subject);
// "0-3,5": for texts about cores.
void append_core_list(TextBuffer& to, const CoreSet& set);
// "0000000f": the same as words of 32 bits, the highest first, separated by commas.
void append_core_mask(TextBuffer& to, const CoreSet& set);
// process_memory.cpp
Result<void> process_command_line(TextBuffer& to, const Subject& subject);
Result<void> process_environment(TextBuffer& to, const Subject& subject);
Result<void> process_auxiliary(TextBuffer& to, const Subject& subject);
Result<void> process_maps(TextBuffer& to, const Subject& subject);
Result<void> process_smaps(TextBuffer& to, const Subject& subject);
Result<void> process_smaps_rollup(TextBuffer& to, const Subject& subject);
Result<void> process_dump_filter(TextBuffer& to, const Subject& subject);
Result<void> set_process_dump_filter(std::string_view text, const Subject& subject);
// memory_file.cpp
Result<Ref<OpenFile>> open_process_memory(Inode& inode, const OpenRequest& request, const Subject& subject);
// page_map_file.cpp
Result<Ref<OpenFile>> open_page_map(Inode& inode, const OpenRequest& request, const Subject& subject);
// process_directory.cpp
[[nodiscard]] const Node& process_node();
Result<DynamicName> find_process(std::string_view name, const Subject& subject);
i32 next_process(i32 previous, const Subject& subject);
Result<void> own_process(TextBuffer& to, const Subject& subject);  // the link "self"
Result<void> own_thread(TextBuffer& to, const Subject& subject);

// The process or thread that a text is about. esrch: it has ended.
[[nodiscard]] Result<Ref<Process>> process_of(const Subject& subject);
[[nodiscard]] Result<Ref<Thread>> thread_of(const Subject& subject);
// The number that `name` is; false: none, or with anything else around it.
[[nodiscard]] bool number_of(std::string_view name, i32& number);

}  // namespace proc
}  // namespace corral::fs
