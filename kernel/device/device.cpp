// The device list.
//
// Invariant: a device is linked only after its name is complete, and never unlinked; so links once followed under the
// lock lead to devices that live for ever. Context: any core, not in interrupts.
// Neighbours: everything that registers itself; fs/ shows the list.
#include "device/device.h"

#include "lib/format.h"
#include "trace/panic.h"

namespace corral {

namespace {
constinit DeviceManager manager;
}

DeviceManager& devices() {
  return manager;
}

void DeviceManager::add(Device& device) {
  LockGuard guard{lock_};
  KERNEL_ASSERT(!device.link_.linked());
  u32 number = 0;
  for (Device* other = devices_.front(); other != nullptr; other = devices_.next(*other)) {
    if (&other->class_ == &device.class_) ++number;
  }
  device.number_ = number;
  // One byte stays zero: name() ends at it.
  std::span<char> room{device.name_, sizeof device.name_ - 1};
  device.name_length_ = static_cast<u8>(format_to(room, "{}{}", device.class_.name, number).size());
  devices_.push_back(device);
}

Device* DeviceManager::find(std::string_view name) {
  LockGuard guard{lock_};
  for (Device* device = devices_.front(); device != nullptr; device = devices_.next(*device)) {
    if (device->name() == name) return device;
  }
  return nullptr;
}

Device* DeviceManager::find(const DeviceClass& device_class, u32 number) {
  LockGuard guard{lock_};
  for (Device* device = devices_.front(); device != nullptr; device = devices_.next(*device)) {
    if (&device->class_ == &device_class && device->number_ == number) return device;
  }
  return nullptr;
}

void DeviceManager::for_each(Visitor visit, void* context) {
  Device* device = nullptr;
  {
    LockGuard guard{lock_};
    device = devices_.front();
  }
  while (device != nullptr) {
    visit(context, *device);
    LockGuard guard{lock_};
    device = devices_.next(*device);
  }
}

}  // namespace corral
