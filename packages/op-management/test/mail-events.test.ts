import { createExecutionContext } from "cloudflare:test";
import type { AddressFailure, MailSenderRpc } from "@edge-op/shared/mail/mail-sender-rpc";
import { beforeEach, describe, expect, it } from "vitest";
import { origin, waitBriefly } from "../../../test/fixtures/call.ts";
import { createApp } from "../src/app.ts";
import { failuresIn } from "../src/mail/address-failures.ts";
import { isSignedWebhook } from "../src/mail/mail-events-endpoint.ts";
import { createWorker } from "../src/worker.ts";
import { managementEnv } from "./fixtures/management-fixtures.ts";

const secret = `whsec_${btoa("a secret of twenty-four b")}`;
let recorded: AddressFailure[];
const recorder = {
  getByName: () => ({
    recordFailures: async (failures: readonly AddressFailure[]) => void recorded.push(...failures),
  }),
} as unknown as DurableObjectNamespace<MailSenderRpc>;
const env = { ...managementEnv, RESEND_WEBHOOK_SECRET: secret, MAIL_SENDER: recorder };

beforeEach(() => {
  recorded = [];
});

async function sign(id: string, timestamp: string, body: string, withSecret = secret): Promise<string> {
  const bytes = Uint8Array.from(atob(withSecret.slice(6)), (character) => character.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`${id}.${timestamp}.${body}`));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(mac)))}`;
}

const bounce = { type: "email.bounced", data: { to: ["alice@example.com"], bounce: { type: "Permanent" } } };

async function post(event: unknown, changes: Readonly<Record<string, string>> = {}, bindings: typeof env = env) {
  const body = JSON.stringify(event);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = {
    "content-type": "application/json",
    "svix-id": "msg_1",
    "svix-timestamp": timestamp,
    "svix-signature": await sign("msg_1", changes["svix-timestamp"] ?? timestamp, body),
    ...changes,
  };
  const execution = createExecutionContext();
  const request = new Request(`${origin}/mail/events`, { method: "POST", headers, body });
  const { status } = await createApp().fetch(request, bindings, execution);
  await waitBriefly(execution);
  return status;
}

describe("POST /mail/events", () => {
  it("a signed bounce is recorded, and a repeated one again with the same effect", async () => {
    expect([await post(bounce), await post(bounce)]).toEqual([204, 204]);
    expect(recorded[0]).toEqual({ address: "alice@example.com", kind: "bounced" });
  });

  it.each([
    ["another signature", { "svix-signature": "v1,AAAA" }],
    ["no signature", { "svix-signature": "" }],
    ["another version of the scheme", { "svix-signature": "v2,AAAA" }],
    ["another id", { "svix-id": "msg_2" }],
    ["a time six minutes ago", { "svix-timestamp": String(Math.floor(Date.now() / 1000) - 360) }],
    ["a time six minutes ahead", { "svix-timestamp": String(Math.floor(Date.now() / 1000) + 360) }],
    ["a time that is no number", { "svix-timestamp": "soon" }],
  ])("%s is refused and changes nothing", async (_, changes) => {
    expect(await post(bounce, changes)).toBe(400);
    expect(recorded).toEqual([]);
  });

  it("404 without a secret", async () => {
    expect(await post(bounce, {}, { ...env, RESEND_WEBHOOK_SECRET: "" })).toBe(404);
    expect(recorded).toEqual([]);
  });

  it("one of several signatures suffices, as while a secret is replaced", async () => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const right = await sign("msg_1", timestamp, JSON.stringify(bounce));
    const signatures = { "svix-timestamp": timestamp, "svix-signature": `v1,AAAA ${right}` };
    expect(await post(bounce, signatures)).toBe(204);
  });

  it("a secret that is not base64 verifies nothing", async () => {
    const message = { id: "msg_1", timestamp: "1000", signatures: "v1,AAAA", body: "{}" };
    expect(await isSignedWebhook("whsec_***", message, 1_000_000)).toBe(false);
  });
});

const failed = (kind: AddressFailure["kind"]) => [{ address: "alice@example.com", kind }];

it.each([
  [bounce, failed("bounced")],
  [{ type: "email.bounced", data: { to: ["alice@example.com"], bounce: { type: "Transient" } } }, []],
  [{ type: "email.complained", data: { to: ["alice@example.com"] } }, failed("complained")],
  [{ type: "email.delivered", data: { to: ["alice@example.com"] } }, []],
  [{ type: "email.bounced", data: { to: [{}, "nobody"] } }, []],
  [{ type: "cf.email.sending.message.bounced", payload: { recipient: "alice@example.com" } }, failed("bounced")],
  [{ type: "cf.email.sending.message.complained", payload: { to: ["alice@example.com"] } }, failed("complained")],
  [{ type: "cf.email.sending.message.failed", payload: { recipient: "alice@example.com" } }, []],
  [{}, []],
])("%j names %j", (event, expected) => {
  expect(failuresIn(event)).toEqual(expected);
});

it("the queue's events of mail are recorded, and none of them is taken for an audit event", async () => {
  const body = { type: "cf.email.sending.message.bounced", payload: { recipient: "alice@example.com" } };
  const batch = { messages: [{ body }] } as unknown as Parameters<ReturnType<typeof createWorker>["queue"]>[0];
  await createWorker().queue(batch, env, createExecutionContext());
  expect(recorded).toEqual(failed("bounced"));
});
