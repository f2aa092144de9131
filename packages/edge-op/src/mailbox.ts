import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface SentMail {
  readonly id: string;
  readonly at: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const host = "127.0.0.1";
const mostMails = 200;

interface Box {
  mails: SentMail[];
  readonly waiting: Set<() => void>;
}

/**
 * **A mailbox in place of a provider of mail**, for development and tests: it accepts what Resend's API accepts, so the Workers send to it as they
 * send to Resend, and keeps the newest mails in memory. Each key has a box of its own.
 */
export class Mailbox {
  readonly #server: Server;
  readonly #boxes = new Map<string, Box>();

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#accept(request).then(
        ({ status, body }) =>
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  }

  static async start(): Promise<Mailbox> {
    const mailbox = new Mailbox();
    const { promise, resolve } = Promise.withResolvers<void>();
    mailbox.#server.listen(0, host, resolve);
    await promise;
    // The process ends although the mailbox is open.
    mailbox.#server.unref();
    return mailbox;
  }

  /** The variables of a provider that sends to a box. */
  variables(key: string) {
    const { port } = this.#server.address() as AddressInfo;
    return {
      MAIL_PROVIDER: "resend",
      // Tests sign in in new browsers all the time, and wait for the next mail.
      NEW_BROWSER: "off",
      MAIL_FROM: "no-reply@example.com",
      RESEND_ORIGIN: `http://${host}:${port}`,
      RESEND_API_KEY: key,
    };
  }

  /** The newest first. */
  mails(key: string): readonly SentMail[] {
    return this.#box(key).mails;
  }

  /** The mails to an address, once there are more than `known` of them; fewer if none arrives in time. */
  async wait(key: string, to: string, known: number, timeoutMs: number): Promise<readonly SentMail[]> {
    const box = this.#box(key);
    const toThem = () => box.mails.filter((mail) => mail.to === to);
    const endAtMs = performance.now() + timeoutMs;
    while (toThem().length <= known && performance.now() < endAtMs) {
      await nextMail(box, endAtMs - performance.now());
    }
    return toThem();
  }

  forget(key: string): void {
    this.#boxes.delete(key);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #box(key: string): Box {
    const box = this.#boxes.get(key) ?? { mails: [], waiting: new Set() };
    this.#boxes.set(key, box);
    return box;
  }

  /** @see https://resend.com/docs/api-reference/emails/send-email */
  async #accept(request: IncomingMessage): Promise<{ readonly status: number; readonly body: unknown }> {
    const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (request.method !== "POST" || request.url !== "/emails") return { status: 404, body: { name: "not_found" } };
    if (key === undefined) return { status: 401, body: { name: "missing_api_key" } };
    const id = String(request.headers["idempotency-key"]);
    const { from, to, subject, text, html } = JSON.parse(await readText(request)) as {
      readonly to: readonly string[];
    } & Omit<SentMail, "to">;
    const box = this.#box(key);
    // A repeated attempt.
    if (!box.mails.some((mail) => mail.id === id)) {
      const mail = { id, at: new Date().toISOString(), from, to: to[0] ?? "", subject, text, html };
      box.mails = [mail, ...box.mails].slice(0, mostMails);
    }
    for (const notify of box.waiting) notify();
    return { status: 200, body: { id } };
  }
}

async function nextMail(box: Box, timeoutMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeoutMs);
  box.waiting.add(resolve);
  await promise;
  clearTimeout(timer);
  box.waiting.delete(resolve);
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request.setEncoding("utf8")) text += String(part);
  return text;
}
