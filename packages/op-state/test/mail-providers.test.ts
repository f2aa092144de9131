import type { HooksWorker } from "@edge-op/shared/hooks/call-hook";
import { afterEach, describe, expect, it, vi } from "vitest";
import { hostileResults } from "../../../test/fixtures/hostile-results.ts";
import { type OutgoingMail, sendByCloudflare, sendByHook, sendByResend, sendMail } from "../src/mail/mail-provider.ts";

/** The adapters of providers of mail: what each response means. */
const mail: OutgoingMail = {
  id: "mail-1",
  from: { email: "no-reply@mail.example.com", name: 'Acme "Login"\r\nBcc: x@evil.example' },
  to: "alice@example.com",
  subject: "Your password was changed",
  text: "text",
  html: "<p>html</p>",
};

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("Cloudflare Email Sending", () => {
  const binding = (send: () => Promise<{ readonly messageId: string }>) => ({ send }) as unknown as SendEmail;
  const failing = (code: string) =>
    binding(() => Promise.reject(Object.assign(new Error("refused for alice@example.com"), { code })));

  it("an accepted mail has the id of its message", async () => {
    const sent: unknown[] = [];
    const send = (message: unknown) => Promise.resolve({ messageId: `m${sent.push(message)}` });
    expect(await sendByCloudflare({ send } as unknown as SendEmail, mail)).toEqual({ kind: "sent", id: "m1" });
    const { id: _, ...message } = mail;
    expect(sent).toEqual([message]);
  });

  it.each([
    ["E_RATE_LIMIT_EXCEEDED", "retry"],
    ["E_DAILY_LIMIT_EXCEEDED", "retry"],
    ["E_INTERNAL_SERVER_ERROR", "retry"],
    ["E_DELIVERY_FAILED", "retry"],
    ["E_RECIPIENT_SUPPRESSED", "suppressed"],
    ["E_SENDER_NOT_VERIFIED", "misconfigured"],
  ])("%s: %s, and the problem contains no address", async (code, kind) => {
    expect(await sendByCloudflare(failing(code), mail)).toEqual({ kind, problem: code });
  });

  it("an error without a code is repeated", async () => {
    const lost = binding(() => Promise.reject(new Error("connection lost")));
    expect(await sendByCloudflare(lost, mail)).toEqual({ kind: "retry", problem: "no response" });
  });
});

describe("Resend", () => {
  const api = { origin: "https://api.resend.com", key: "re_key" };

  it("a request has the mail's id as its idempotency key, and no header of a foreign name", async () => {
    const fetching = vi.spyOn(globalThis, "fetch").mockResolvedValue(Response.json({ id: "r1" }));
    expect(await sendByResend(api, mail)).toEqual({ kind: "sent", id: "r1" });
    const [url, init] = fetching.mock.calls[0]!;
    expect(url).toBe("https://api.resend.com/emails");
    const headers = new Headers(init?.headers);
    expect([headers.get("authorization"), headers.get("idempotency-key")]).toEqual(["Bearer re_key", "mail-1"]);
    expect(JSON.parse(String(init?.body))).toEqual({
      from: '"Acme LoginBcc: x@evil.example" <no-reply@mail.example.com>',
      to: ["alice@example.com"],
      subject: "Your password was changed",
      text: "text",
      html: "<p>html</p>",
    });
  });

  it.each([
    [429, { name: "rate_limit_exceeded" }, { "retry-after": "7" }, { kind: "retry", afterMs: 7_000 }],
    [429, { name: "daily_quota_exceeded" }, {}, { kind: "retry", afterMs: 1_000 }],
    [500, { name: "application_error" }, {}, { kind: "retry" }],
    [409, { name: "concurrent_idempotent_requests" }, {}, { kind: "retry" }],
    [409, { name: "invalid_idempotent_request" }, {}, { kind: "sent", id: "" }],
    [422, { name: "validation_error" }, {}, { kind: "suppressed" }],
    [403, { name: "validation_error" }, {}, { kind: "misconfigured" }],
    [401, { name: "missing_api_key" }, {}, { kind: "misconfigured" }],
  ])("%s %j: what follows", async (status, body, headers, expected) => {
    vi.spyOn(globalThis, "fetch").mockResolvedValue(Response.json(body, { status, headers }));
    expect(await sendByResend(api, mail)).toMatchObject(expected);
  });

  it("no response: repeated", async () => {
    vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("alice@example.com"));
    expect(await sendByResend(api, mail)).toEqual({ kind: "retry", problem: "no response" });
  });
});

describe("the hook `mail`", () => {
  const hooks = (send: () => unknown) => ({ HOOKS: { mail: send } as object as HooksWorker });

  it("gets the finished mail with its id, and nothing else", async () => {
    const send = vi.fn(() => Promise.resolve({ kind: "sent", id: "h1" }));
    expect(await sendByHook(hooks(send), mail)).toEqual({ kind: "sent", id: "h1" });
    expect(send.mock.calls).toEqual([[mail]]);
  });

  it.each([
    [{ kind: "sent" }, { kind: "sent", id: "" }],
    [
      { kind: "retry", afterMs: 5_000, problem: "busy" },
      { kind: "retry", afterMs: 5_000, problem: "busy" },
    ],
    [
      { kind: "suppressed", problem: "no such mailbox" },
      { kind: "suppressed", problem: "no such mailbox" },
    ],
    [
      { kind: "misconfigured", problem: "status 401" },
      { kind: "misconfigured", problem: "status 401" },
    ],
    [
      { kind: "retry", afterMs: -1, problem: "busy" },
      { kind: "retry", problem: "the hook failed" },
    ],
    [{ kind: "suppressed" }, { kind: "retry", problem: "the hook failed" }],
    [
      { kind: "lost", problem: "" },
      { kind: "retry", problem: "the hook failed" },
    ],
    [undefined, { kind: "retry", problem: "the hook failed" }],
  ])("%j: what follows; nonsense is repeated", async (result, expected) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(
      await sendByHook(
        hooks(() => Promise.resolve(result)),
        mail,
      ),
    ).toEqual(expected);
  });

  it.each(Object.entries(hostileResults))("repeats the mail after %s", async (_, behave) => {
    vi.useFakeTimers();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const sent = sendByHook(hooks(behave), mail);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await sent).toEqual({ kind: "retry", problem: "the hook failed" });
  });
});

it.each([
  ["hook", "the binding HOOKS is missing"],
  ["cloudflare", "the binding EMAIL is missing"],
  ["resend", "the secret RESEND_API_KEY is missing"],
  ["off", "MAIL_PROVIDER is off"],
] as const)("%s without what it needs is a mistake of the deployment", async (mailProvider, problem) => {
  const settings = { mailProvider, resendOrigin: "https://api.resend.com" };
  expect(await sendMail({}, settings, mail)).toEqual({ kind: "misconfigured", problem });
});
