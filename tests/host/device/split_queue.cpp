// The virtqueue: what the device sees, what comes back, and devices that break the rules.
// sources: kernel/device/virtio/split_queue.cpp
#include <gtest/gtest.h>

#include "support/fake_virtio.h"

namespace corral::test {
namespace {

using virtio::Descriptor;
using virtio::SplitQueue;

struct Pieces {
  Descriptor list[3] = {
      {0x1000, 16, 0, 0}, {0x2000, 4096, Descriptor::flag_device_writes, 0}, {0x9000, 1, Descriptor::flag_device_writes, 0}};
};
int cookies[600];

TEST(SplitQueue, RequestsGoThereAndBack) {
  FakeVirtio device{8};
  Pieces pieces;
  ASSERT_TRUE(device.queue.add(pieces.list, 0, &cookies[0]).ok());
  EXPECT_TRUE(device.queue.must_notify());
  ASSERT_EQ(device.available(), 1);
  const Descriptor& first = device.descriptor(device.head(0));
  EXPECT_EQ(first.address, 0x1000u);
  EXPECT_EQ(first.flags, Descriptor::flag_next);
  const Descriptor& second = device.descriptor(first.next);
  EXPECT_EQ(second.flags, Descriptor::flag_next | Descriptor::flag_device_writes);
  const Descriptor& third = device.descriptor(second.next);
  EXPECT_EQ(third.address, 0x9000u);
  EXPECT_EQ(third.flags, Descriptor::flag_device_writes);
  SplitQueue::Completion completion;
  EXPECT_FALSE(device.queue.take(completion));
  device.answer(device.head(0), 4097);
  ASSERT_TRUE(device.queue.take(completion));
  EXPECT_EQ(completion.cookie, &cookies[0]);
  EXPECT_EQ(completion.written, 4097u);
  EXPECT_EQ(device.queue.in_flight(), 0u);
}

TEST(SplitQueue, FullRingsRefuseAndRecover) {
  FakeVirtio device{8};
  Pieces pieces;
  ASSERT_TRUE(device.queue.add(pieces.list, 0, &cookies[0]).ok());
  ASSERT_TRUE(device.queue.add(pieces.list, 0, &cookies[1]).ok());
  EXPECT_EQ(device.queue.add(pieces.list, 0, &cookies[2]).error(), Errno::eagain);
  device.answer(device.head(1), 0);
  SplitQueue::Completion completion;
  ASSERT_TRUE(device.queue.take(completion));
  EXPECT_EQ(completion.cookie, &cookies[1]);
  EXPECT_TRUE(device.queue.add(pieces.list, 0, &cookies[2]).ok());
}

TEST(SplitQueue, IndirectRequestsTakeOneEntry) {
  FakeVirtio device{4};
  Pieces pieces[5];
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(device.queue.add(pieces[i].list, 0x7000, &cookies[i]).ok());
  EXPECT_EQ(device.queue.add(pieces[4].list, 0x7000, &cookies[4]).error(), Errno::eagain);
  const Descriptor& head = device.descriptor(device.head(2));
  EXPECT_EQ(head.flags, Descriptor::flag_indirect);
  EXPECT_EQ(head.address, 0x7000u);
  EXPECT_EQ(head.length, 48u);
  EXPECT_EQ(pieces[2].list[0].next, 1);
}

TEST(SplitQueue, IndexesGoRound) {
  FakeVirtio device{2};
  Descriptor one[1] = {{0x1000, 8, Descriptor::flag_device_writes, 0}};
  SplitQueue::Completion completion;
  for (u32 i = 0; i < 70'000; ++i) {
    ASSERT_TRUE(device.queue.add(one, 0, &cookies[i % 600]).ok());
    device.answer(device.head(static_cast<u16>(device.available() - 1)), 8);
    ASSERT_TRUE(device.queue.take(completion));
    ASSERT_EQ(completion.cookie, &cookies[i % 600]);
  }
}

TEST(SplitQueue, WrittenIsNeverMoreThanThereWasRoom) {
  FakeVirtio device{4};
  Pieces pieces;
  ASSERT_TRUE(device.queue.add(pieces.list, 0, &cookies[0]).ok());
  device.answer(device.head(0), ~0u);
  SplitQueue::Completion completion;
  ASSERT_TRUE(device.queue.take(completion));
  EXPECT_EQ(completion.written, 4097u);
}

TEST(SplitQueue, AnswersThatNobodyAskedForBreakIt) {
  for (const u32 id : {1u, 3u, 4u, ~0u}) {
    FakeVirtio device{4};
    Pieces pieces;
    ASSERT_TRUE(device.queue.add({pieces.list, 1}, 0, &cookies[0]).ok());
    device.answer(id, 0);
    SplitQueue::Completion completion;
    EXPECT_FALSE(device.queue.take(completion)) << id;
    EXPECT_TRUE(device.queue.broken());
    EXPECT_EQ(device.queue.add(pieces.list, 0, &cookies[1]).error(), Errno::eio);
    EXPECT_EQ(device.queue.abandon(), &cookies[0]);
    EXPECT_EQ(device.queue.abandon(), nullptr);
  }
}

TEST(SplitQueue, MoreAnswersThanRequestsBreakIt) {
  FakeVirtio device{4};
  Pieces pieces;
  ASSERT_TRUE(device.queue.add(pieces.list, 0, &cookies[0]).ok());
  device.answer(device.head(0), 0);
  device.answer(device.head(0), 0);
  SplitQueue::Completion completion;
  EXPECT_FALSE(device.queue.take(completion));
  EXPECT_TRUE(device.queue.broken());
}

TEST(SplitQueue, WhatCanNeverFitIsRefused) {
  FakeVirtio device{2};
  Pieces pieces;
  EXPECT_EQ(device.queue.add(pieces.list, 0, &cookies[0]).error(), Errno::einval);
  EXPECT_EQ(device.queue.add({}, 0, &cookies[0]).error(), Errno::einval);
  SplitQueue other;
  EXPECT_EQ(other.initialise(device.memory, 3).error(), Errno::einval);
  EXPECT_EQ(other.initialise(device.memory, 512).error(), Errno::einval);
}

}  // namespace
}  // namespace corral::test
