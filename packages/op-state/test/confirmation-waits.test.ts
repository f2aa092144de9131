import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ConfirmationWaits } from "../src/revocation/confirmation-waits.ts";
import { LeaseHolders } from "../src/revocation/lease-holders.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Three holders of leases that end at different times, and a change that waits for them from 1,000 on. */
function begin() {
  const holders = new LeaseHolders();
  holders.grant("a", 1, 2_000);
  holders.grant("lost", 1, 1_300);
  holders.grant("b", 1, 1_950);
  const pending = holders.await(2, 1_000);
  const waits = new ConfirmationWaits();
  const progress = { isOver: false };
  void waits.wait(pending, 1_000).then(() => {
    progress.isOver = true;
  });
  const confirm = (holder: string) => waits.settle(holders.confirm(holder, 2));
  return { confirm, progress };
}

it("the last confirmation ends the wait", async () => {
  const { confirm, progress } = begin();
  for (const holder of ["a", "b"]) confirm(holder);
  await vi.advanceTimersByTimeAsync(5);
  expect(progress.isOver).toBe(false);
  confirm("lost");
  await vi.advanceTimersByTimeAsync(0);
  expect(progress.isOver).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

it("a lost holder is waited for until its own lease has ended, whatever the leases of the others were", async () => {
  const { confirm, progress } = begin();
  for (const holder of ["a", "b"]) confirm(holder);
  await vi.advanceTimersByTimeAsync(299);
  expect(progress.isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(progress.isOver).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

it("a confirmation after the lease of a lost holder has ended ends the wait at once", async () => {
  const { confirm, progress } = begin();
  confirm("a");
  await vi.advanceTimersByTimeAsync(500);
  expect(progress.isOver).toBe(false);
  confirm("b");
  await vi.advanceTimersByTimeAsync(0);
  expect(progress.isOver).toBe(true);
});

it("without confirmations the wait lasts until the last lease has ended", async () => {
  const { progress } = begin();
  await vi.advanceTimersByTimeAsync(999);
  expect(progress.isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(progress.isOver).toBe(true);
});
