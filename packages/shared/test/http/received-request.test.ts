import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { limits } from "@edge-op/shared/config/limits";
import { readForm, readJson } from "@edge-op/shared/http/read-form";
import { type BodyFormat, formBody, jsonBody, receiveRequest } from "@edge-op/shared/http/received-request";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const encoder = new TextEncoder();
const formType = { "content-type": "application/x-www-form-urlencoded" };

/** A request whose body is written by the test. */
function openRequest(headers: Readonly<Record<string, string>> = formType) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const request = new Request("https://op.example.com/token", { method: "POST", headers, body: readable });
  return { request, writer: writable.getWriter() };
}

async function refusalOf(request: Request, format: BodyFormat = formBody): Promise<string> {
  const received = await receiveRequest(request, format);
  try {
    readForm(received);
    return "accepted";
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return `${error.status} ${error.code}`;
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("receiveRequest", () => {
  it("RFC 9110 §15.5.9: a stalled body is 408 after the time limit", async () => {
    const { request, writer } = openRequest();
    const refusal = refusalOf(request);
    await writer.write(encoder.encode("a="));
    await vi.advanceTimersByTimeAsync(limits.bodyMs);
    expect(await refusal).toBe("408 request_timeout");
  });

  it("the limit is for the entire body: a trickling one is 408 too", async () => {
    const { request, writer } = openRequest();
    const refusal = refusalOf(request);
    const written: Promise<void>[] = [];
    for (let ms = 0; ms < limits.bodyMs; ms += 1_000) {
      written.push(writer.write(encoder.encode("a")));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(await refusal).toBe("408 request_timeout");
    await Promise.allSettled(written);
  });

  it("a stalled body of declared length is 408 too", async () => {
    const { readable, writable } = new FixedLengthStream(100);
    const headers = { ...formType, "content-length": "100" };
    const request = new Request("https://op.example.com/token", { method: "POST", headers, body: readable });
    const writer = writable.getWriter();
    const refusal = refusalOf(request);
    await writer.write(encoder.encode("a="));
    await vi.advanceTimersByTimeAsync(limits.bodyMs);
    expect(await refusal).toBe("408 request_timeout");
  });

  it("a complete body of any framing is read, and no timer is left", async () => {
    const { request, writer } = openRequest();
    const received = receiveRequest(request, formBody);
    await writer.write(encoder.encode("a=1&"));
    await writer.write(encoder.encode("b=%C3%A9"));
    await writer.close();
    const form = readForm(await received);
    expect([form.get("a"), form.get("b")]).toEqual(["1", "é"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a body above the limit is 413, declared or not, before the rest arrives", async () => {
    const { request, writer } = openRequest();
    const refusal = refusalOf(request);
    const written = writer.write(new Uint8Array(limits.formBodyBytes + 1));
    expect(await refusal).toBe("413 request_too_large");
    await Promise.allSettled([written]);
    const declared = openRequest({ ...formType, "content-length": String(limits.formBodyBytes + 1) });
    expect(await refusalOf(declared.request)).toBe("413 request_too_large");
  });

  it("a body of another media type is refused without being read", async () => {
    const { request } = openRequest({ "content-type": "text/plain" });
    expect(await refusalOf(request)).toBe("400 invalid_request");
    expect(request.bodyUsed).toBe(false);
  });

  it("JSON with bytes that are not UTF-8 is refused", async () => {
    const body = new Uint8Array([0x22, 0xff, 0x22]);
    const headers = { "content-type": "application/json" };
    const request = new Request("https://op.example.com/admin/clients", { method: "POST", headers, body });
    const received = await receiveRequest(request, jsonBody("application/json"));
    expect(() => readJson(received)).toThrow("The body is not JSON.");
  });

  it("without a format, no body is awaited", async () => {
    const { request } = openRequest();
    expect((await receiveRequest(request, undefined)).requireBody()).toBe("");
  });
});
