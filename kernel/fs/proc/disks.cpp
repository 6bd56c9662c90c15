// /proc/partitions, /sys/block and /sys/dev/block: which disks and partitions there are. Subjects are minor numbers.
// Source: Linux man-pages proc(5); Documentation/ABI/stable/sysfs-block.
#include "fs/disk.h"
#include "fs/partitions.h"
#include "fs/proc/proc.h"
#include "lib/memory_functions.h"

namespace corral::fs::proc {

namespace {

// Disks live for ever: who has got the number of one finds it again.
Disk& disk_of(const Subject& subject) {
  return *Disk::find({Disk::major, static_cast<u32>(subject.number)});
}

Result<void> number(TextBuffer& to, const Subject& subject) {
  to.print("{}:{}\n", Disk::major, subject.number);
  return {};
}

Result<void> size(TextBuffer& to, const Subject& subject) {
  to.print("{}\n", disk_of(subject).device().sectors());
  return {};
}

Result<void> read_only(TextBuffer& to, const Subject& subject) {
  to.print("{}\n", disk_of(subject).device().read_only() ? 1 : 0);
  return {};
}

Result<void> zero(TextBuffer& to, const Subject&) {
  to.append("0\n");
  return {};
}

Result<void> block_size(TextBuffer& to, const Subject&) {
  to.print("{}\n", BlockDevice::sector_size);
  return {};
}

Result<void> partition_number(TextBuffer& to, const Subject& subject) {
  to.print("{}\n", disk_of(subject).partition());
  return {};
}

Result<void> start(TextBuffer& to, const Subject& subject) {
  to.print("{}\n", static_cast<PartitionDevice&>(disk_of(subject).device()).first_sector());
  return {};
}

Result<void> event(TextBuffer& to, const Subject& subject) {
  Disk& disk = disk_of(subject);
  to.print("MAJOR={}\nMINOR={}\nDEVNAME={}\nDEVTYPE={}\n", Disk::major, subject.number, disk.device_name(),
           disk.whole() == nullptr ? "disk" : "partition");
  return {};
}

constexpr Node partition_nodes[] = {{.name = "dev", .text = number},   {.name = "partition", .text = partition_number},
                                    {.name = "ro", .text = read_only}, {.name = "size", .text = size},
                                    {.name = "start", .text = start},  {.name = "uevent", .text = event}};
constexpr GeneratedDirectory partition_directory{.nodes = partition_nodes};
constexpr Node partition_node{
    .name = "partition", .type = FileType::directory, .permissions = 0555, .directory = &partition_directory};

std::string_view name_of(i32 minor, std::span<char> to) {
  const std::string_view name = disk_of({.number = minor}).device_name();
  memcpy(to.data(), name.data(), name.size());
  return {to.data(), name.size()};
}

// The first disk behind this number that is a partition of `whole` (null: that is whole), or -1.
i32 next_of(i32 previous, const Disk* whole) {
  for (Disk* disk = Disk::find_from(static_cast<u32>(previous + 1)); disk != nullptr;
       disk = Disk::find_from(disk->number().minor + 1)) {
    if (disk->whole() == whole) return static_cast<i32>(disk->number().minor);
  }
  return -1;
}

Result<DynamicName> find_of(std::string_view name, const Disk* whole, const Node& node) {
  for (i32 minor = next_of(-1, whole); minor >= 0; minor = next_of(minor, whole)) {
    const Subject found{.number = minor};
    if (disk_of(found).device_name() == name) return DynamicName{&node, found, minor};
  }
  return Errno::enoent;
}

Result<DynamicName> find_partition(std::string_view name, const Subject& disk) {
  return find_of(name, &disk_of(disk), partition_node);
}

i32 next_partition(i32 previous, const Subject& disk) {
  return next_of(previous, &disk_of(disk));
}

constexpr Node queue_nodes[] = {{.name = "hw_sector_size", .text = block_size},
                                {.name = "logical_block_size", .text = block_size},
                                {.name = "physical_block_size", .text = block_size},
                                {.name = "rotational", .text = zero}};
constexpr GeneratedDirectory queue{.nodes = queue_nodes};
constexpr Node disk_nodes[] = {
    {.name = "dev", .text = number},
    {.name = "queue", .type = FileType::directory, .permissions = 0555, .directory = &queue},
    {.name = "removable", .text = zero},
    {.name = "ro", .text = read_only},
    {.name = "size", .text = size},
    {.name = "uevent", .text = event},
};
constexpr GeneratedDirectory disk_directory{
    .nodes = disk_nodes, .lookup = find_partition, .next = next_partition, .name_of = name_of};
constexpr Node disk_node{.name = "disk", .type = FileType::directory, .permissions = 0555, .directory = &disk_directory};

Result<DynamicName> find_disk(std::string_view name, const Subject&) {
  return find_of(name, nullptr, disk_node);
}

i32 next_disk(i32 previous, const Subject&) {
  return next_of(previous, nullptr);
}

static_assert(Disk::major == 254);
constexpr const char* number_prefix = "254:";

Result<DynamicName> find_number(std::string_view name, const Subject&) {
  const std::string_view prefix = number_prefix;
  Subject found;
  if (!name.starts_with(prefix)) return Errno::enoent;
  name.remove_prefix(prefix.size());
  if (!number_of(name, found.number)) return Errno::enoent;
  Disk* disk = Disk::find({Disk::major, static_cast<u32>(found.number)});
  if (disk == nullptr) return Errno::enoent;
  return DynamicName{disk->whole() == nullptr ? &disk_node : &partition_node, found, found.number};
}

i32 next_number(i32 previous, const Subject&) {
  const Disk* disk = Disk::find_from(static_cast<u32>(previous + 1));
  return disk == nullptr ? -1 : static_cast<i32>(disk->number().minor);
}

}  // namespace

const constinit GeneratedDirectory block_directory{.nodes = {}, .lookup = find_disk, .next = next_disk, .name_of = name_of};
const constinit GeneratedDirectory block_numbers_directory{
    .nodes = {}, .lookup = find_number, .next = next_number, .prefix = number_prefix};

Result<void> partitions(TextBuffer& to, const Subject&) {
  to.append("major minor  #blocks  name\n\n");
  for (Disk* disk = Disk::find_from(0); disk != nullptr; disk = Disk::find_from(disk->number().minor + 1)) {
    to.print("{4}  {7} {10} {}\n", Disk::major, disk->number().minor, disk->size() / 1024, disk->device_name());
  }
  return {};
}

}  // namespace corral::fs::proc
