// The tables of names of /sys: what glibc, OpenMP, libnuma and lscpu look at to count cores, disks (disks.cpp), and the clock
// (clock_class.cpp). See proc.h.
// Source: Linux Documentation/ABI/stable/sysfs-devices-system-cpu.
#include "core/core.h"
#include "fs/proc/proc.h"

namespace corral::fs {

namespace {

Result<void> online_cores(TextBuffer& to, const Subject&) {
  proc::append_core_list(to, cores::online());
  to.append("\n");
  return {};
}

Result<void> detected_cores(TextBuffer& to, const Subject&) {
  proc::append_core_list(to, CoreSet::first(cores::count()));
  to.append("\n");
  return {};
}

Result<void> highest_core(TextBuffer& to, const Subject&) {
  to.print("{}\n", cores::count() - 1);
  return {};
}

Result<void> is_online(TextBuffer& to, const Subject& subject) {
  to.print("{}\n", cores::online().contains(CoreId{static_cast<u32>(subject.number)}) ? 1 : 0);
  return {};
}

Result<void> core_number(TextBuffer& to, const Subject& subject) {
  to.print("{}\n", subject.number);
  return {};
}

Result<void> zero(TextBuffer& to, const Subject&) {
  to.append("0\n");
  return {};
}

Result<void> only_itself(TextBuffer& to, const Subject& subject) {
  to.print("{}\n", subject.number);
  return {};
}

Result<void> mask_of_itself(TextBuffer& to, const Subject& subject) {
  CoreSet set;
  set.add(CoreId{static_cast<u32>(subject.number)});
  proc::append_core_mask(to, set);
  to.append("\n");
  return {};
}

Result<void> mask_of_online_cores(TextBuffer& to, const Subject&) {
  proc::append_core_mask(to, cores::online());
  to.append("\n");
  return {};
}

// Every core stands alone in one package: hyperthreads count as cores.
constexpr Node topology_nodes[] = {{.name = "core_cpus", .text = mask_of_itself},
                                   {.name = "core_cpus_list", .text = only_itself},
                                   {.name = "core_id", .text = core_number},
                                   {.name = "core_siblings", .text = mask_of_online_cores},
                                   {.name = "core_siblings_list", .text = online_cores},
                                   {.name = "die_cpus", .text = mask_of_online_cores},
                                   {.name = "die_cpus_list", .text = online_cores},
                                   {.name = "die_id", .text = zero},
                                   {.name = "package_cpus", .text = mask_of_online_cores},
                                   {.name = "package_cpus_list", .text = online_cores},
                                   {.name = "physical_package_id", .text = zero},
                                   {.name = "thread_siblings", .text = mask_of_itself},
                                   {.name = "thread_siblings_list", .text = only_itself}};
constexpr GeneratedDirectory topology{.nodes = topology_nodes};
constexpr Node core_nodes[] = {
    {.name = "online", .text = is_online},
    {.name = "topology", .type = FileType::directory, .permissions = 0555, .directory = &topology},
};
constexpr GeneratedDirectory core_directory{.nodes = core_nodes};
constexpr Node core_node{.name = "cpu", .type = FileType::directory, .permissions = 0555, .directory = &core_directory};

Result<DynamicName> find_core(std::string_view name, const Subject&) {
  constexpr std::string_view prefix = "cpu";
  DynamicName found{&core_node, {}};
  if (!name.starts_with(prefix)) return Errno::enoent;
  name.remove_prefix(prefix.size());
  if (!proc::number_of(name, found.subject.number)) return Errno::enoent;
  if (static_cast<u32>(found.subject.number) >= cores::count()) return Errno::enoent;
  return found;
}

i32 next_core(i32 previous, const Subject&) {
  return static_cast<u32>(previous + 1) < cores::count() ? previous + 1 : -1;
}

constexpr Node cpu_nodes[] = {{.name = "kernel_max", .text = highest_core},
                              {.name = "online", .text = online_cores},
                              {.name = "possible", .text = detected_cores},
                              {.name = "present", .text = detected_cores}};
constexpr GeneratedDirectory cpu{.nodes = cpu_nodes, .lookup = find_core, .next = next_core, .prefix = "cpu"};

// One node of memory for all cores.
constexpr Node node0_nodes[] = {{.name = "cpulist", .text = online_cores}, {.name = "cpumap", .text = mask_of_online_cores}};
constexpr GeneratedDirectory node0{.nodes = node0_nodes};
constexpr Node node_nodes[] = {
    {.name = "online", .text = zero},
    {.name = "possible", .text = zero},
    {.name = "node0", .type = FileType::directory, .permissions = 0555, .directory = &node0},
};
constexpr GeneratedDirectory node_directory{.nodes = node_nodes};

constexpr Node system_nodes[] = {
    {.name = "cpu", .type = FileType::directory, .permissions = 0555, .directory = &cpu},
    {.name = "node", .type = FileType::directory, .permissions = 0555, .directory = &node_directory},
};
constexpr GeneratedDirectory system{.nodes = system_nodes};
constexpr Node devices_nodes[] = {{.name = "system", .type = FileType::directory, .permissions = 0555, .directory = &system}};
constexpr GeneratedDirectory sys_devices{.nodes = devices_nodes};
constexpr Node numbers_nodes[] = {
    {.name = "block", .type = FileType::directory, .permissions = 0555, .directory = &proc::block_numbers_directory}};
constexpr GeneratedDirectory numbers{.nodes = numbers_nodes};
constexpr Node class_nodes[] = {
    {.name = "rtc", .type = FileType::directory, .permissions = 0555, .directory = &proc::clocks_directory}};
constexpr GeneratedDirectory classes{.nodes = class_nodes};
constexpr Node sys_nodes[] = {
    {.name = "block", .type = FileType::directory, .permissions = 0555, .directory = &proc::block_directory},
    {.name = "class", .type = FileType::directory, .permissions = 0555, .directory = &classes},
    {.name = "dev", .type = FileType::directory, .permissions = 0555, .directory = &numbers},
    {.name = "devices", .type = FileType::directory, .permissions = 0555, .directory = &sys_devices}};
constexpr GeneratedDirectory sys{.nodes = sys_nodes};

}  // namespace

const GeneratedDirectory& sys_root() {
  return sys;
}

}  // namespace corral::fs
