// Every device is an object, found by type and by name (paper 000, section 3.2: cores are devices too).
#pragma once

#include <string_view>

#include "lib/intrusive_list.h"
#include "lib/types.h"
#include "sync/spin_lock.h"

namespace corral {

// One object for each class of device; compared by address, so no run-time type information is needed.
struct DeviceClass {
  const char* name;  // "core", "local-apic", "timer", "io-apic", "console" …
};

class Device {
 public:
  Device(const DeviceClass& device_class) : class_{device_class} {}  // NOLINT
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const DeviceClass& device_class() const { return class_; }
  // "core0", "lapic-timer2", …: class name and number, given by the manager when the device is registered.
  [[nodiscard]] std::string_view name() const { return name_; }
  // One line for the device list (/proc/devices-tree, `lsdev`): what it is and where. Writes at most to.size() bytes, returns how many.
  virtual size_t describe(char* to, size_t size) const = 0;

 protected:
  ~Device() = default;  // devices live for ever

 private:
  friend class DeviceManager;
  const DeviceClass& class_;
  char name_[24] = {};
  u32 number_ = 0;
  ListLink link_;  // guarded by the manager's lock
};

class DeviceManager {
 public:
  // Any core, any context. The number in the name counts devices of the same class from 0.
  void add(Device& device) EXCLUDES(lock_);
  [[nodiscard]] Device* find(std::string_view name) EXCLUDES(lock_);
  // The n-th device of a class, null when there are fewer.
  [[nodiscard]] Device* find(const DeviceClass& device_class, u32 number = 0) EXCLUDES(lock_);
  template <class T>
  [[nodiscard]] T* find(u32 number = 0) EXCLUDES(lock_) {
    return static_cast<T*>(find(T::device_class_object, number));
  }
  using Visitor = void (*)(void* context, Device& device);
  void for_each(Visitor visit, void* context) EXCLUDES(lock_);

 private:
  SpinLock lock_{Rank::device_manager, "devices"};
  IntrusiveList<Device, &Device::link_> devices_ GUARDED_BY(lock_);
};

[[nodiscard]] DeviceManager& devices();

}  // namespace corral
