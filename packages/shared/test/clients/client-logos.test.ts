import { createClientLogos, ownLogoUrl } from "@edge-op/shared/clients/client-logos";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { afterEach, expect, it, vi } from "vitest";
import type { Client, ClientOrigin } from "../../src/clients/client.ts";

const logo = "https://app.example.com/logo";

afterEach(() => {
  vi.unstubAllGlobals();
});

function find(response: () => Response | Promise<Response>, url = logo) {
  vi.stubGlobal("fetch", async () => response());
  const execution = { waitUntil: (promise: Promise<unknown>) => void promise.catch(() => undefined) };
  const env = { ISSUER: "https://op.example.com" };
  const context = createRequestContext(new Request("https://op.example.com/"), env, execution);
  return createClientLogos().find(context, url);
}

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

it.each([
  ["PNG", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\x80", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUv+A"],
  ["JPEG", "\xff\xd8\xff\xe0\0\x10JFIF", "data:image/jpeg;base64,/9j/4AAQSkZJRg=="],
  ["GIF", "GIF89a\x01\0", "data:image/gif;base64,R0lGODlhAQA="],
  ["WebP", "RIFF\x10\0\0\0WEBPVP8 ", "data:image/webp;base64,UklGRhAAAABXRUJQVlA4IA=="],
])("OIDC Registration §2: a logo is %s by its bytes, whatever its server calls it", async (_, text, dataUrl) => {
  for (const type of ["image/svg+xml", "text/html", "application/octet-stream"]) {
    const found = await find(() => new Response(bytes(text), { headers: { "content-type": type } }));
    expect(found).toMatchObject({ kind: "document", value: { dataUrl } });
  }
});

it("a large logo that arrives in parts is complete", async () => {
  const image = new Uint8Array(64 * 1024).map((_, index) => index % 256);
  image.set(bytes("GIF87a"));
  const found = await find(() => new Response(new Blob([image.slice(0, 40_001), image.slice(40_001)]).stream()));
  const { value } = found as { readonly value: { readonly dataUrl: string } };
  expect(bytes(atob(value.dataUrl.replace("data:image/gif;base64,", "")))).toEqual(image);
});

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
it.each<[string, () => Response]>([
  ["SVG", () => new Response(svg, { headers: { "content-type": "image/png" } })],
  ["HTML", () => new Response("<html>", { headers: { "content-type": "image/png" } })],
  ["another RIFF file", () => new Response(bytes("RIFF\x10\0\0\0WAVEfmt "))],
  ["nothing", () => new Response(null)],
  ["more than 64 KiB", () => new Response(bytes("GIF89a".padEnd(64 * 1024 + 1, "x")))],
  ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://app.example.com/other" } })],
  ["a page of 404", () => new Response(bytes("GIF89a"), { status: 404 })],
])("no logo: %s", async (_, response) => {
  expect((await find(response)).kind).toBe("refused");
});

it.each([
  "http://app.example.com/logo",
  "https://192.168.1.1/logo",
  "https://localhost/logo",
  "https://op.example.com/x",
])("RFC 9700 §4.11: %s is not fetched", async (url) => {
  const fetched = vi.fn(() => new Response(bytes("GIF89a")));
  expect((await find(fetched, url)).kind).toBe("refused");
  expect(fetched).not.toHaveBeenCalled();
});

const callback = "https://app.example.com/callback";
it.each<[string, ClientOrigin | undefined, string, readonly string[], string, boolean]>([
  ["at its redirection URI", "registration", "c1", [callback], logo, true],
  ["at all of them", "registration", "c1", [callback, "https://app.example.com/other"], logo, true],
  ["at one of them", "registration", "c1", [callback, "https://evil.example/"], logo, false],
  ["elsewhere", "registration", "c1", ["https://evil.example/callback"], logo, false],
  ["on another port", "registration", "c1", [callback], "https://app.example.com:8443/logo", false],
  ["of a native application", "registration", "c1", ["com.example.app:/callback"], logo, false],
  ["at its document", "document", "https://app.example.com/client.json", ["http://127.0.0.1/"], logo, true],
  ["at its document's redirection URI alone", "document", "https://evil.example/client.json", [callback], logo, false],
  ["of an administrator's client, which browsers load", undefined, "c1", [callback], logo, false],
])("RFC 7591 §5: the logo %s (%s)", (_, origin, clientId, redirect_uris, logo_uri, isOwn) => {
  const client = { clientId, origin, metadata: { redirect_uris, logo_uri } } as Partial<Client> as Client;
  expect(ownLogoUrl(client)).toBe(isOwn ? logo_uri : undefined);
});
