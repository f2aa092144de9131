import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import { log } from "../runtime/log.ts";
import { BodyDeadline } from "./body-deadline.ts";
import type { WaitUntil } from "./request-context.ts";

/** **The body format of an endpoint**: its media types, the preferred one first, and the maximum size. */
export interface BodyFormat {
  readonly mediaTypes: readonly [string, ...string[]];
  readonly maxBytes: number;
  /** Reads a body of declared length in one go, which costs less than its stream. */
  read(request: Request): Promise<string | ArrayBuffer>;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#appendix-B */
export const formBody: BodyFormat = {
  mediaTypes: ["application/x-www-form-urlencoded"],
  maxBytes: limits.formBodyBytes,
  read: (request) => request.text(),
};

export function jsonBody(...mediaTypes: readonly [string, ...string[]]): BodyFormat {
  return { mediaTypes, maxBytes: limits.jsonBodyBytes, read: (request) => request.arrayBuffer() };
}

/** @see https://www.rfc-editor.org/rfc/rfc7591#section-3.1 */
export const registrationBody: BodyFormat = { ...jsonBody("application/json"), maxBytes: limits.registrationBytes };

/**
 * **A request whose body is complete.** Handlers receive this instead of the platform's `Request`, so that no decision is made
 * before the last byte has arrived: the context, with its arrival time, is created afterwards. Reading a body that was not accepted
 * throws its refusal.
 */
export class ReceivedRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly #request: Request;
  readonly #body: string | ArrayBuffer | OAuthError | undefined;

  constructor(request: Request, body?: string | ArrayBuffer | OAuthError) {
    // Each access of these members of the platform's request is a call into the runtime.
    this.method = request.method;
    this.headers = request.headers;
    this.#request = request;
    this.#body = body;
  }

  get url(): string {
    return this.#request.url;
  }

  get cf(): CfProperties | undefined {
    return this.#request.cf;
  }

  /** The body of a form, or an empty text if there is none; `undefined` for a body that was not accepted or is not text. */
  get text(): string | undefined {
    const body = this.#body ?? "";
    return typeof body === "string" ? body : undefined;
  }

  /** The body; throws the refusal of a body that was not accepted. */
  requireBody(): string | ArrayBuffer {
    if (this.#body instanceof OAuthError) throw this.#body;
    return this.#body ?? "";
  }
}

/**
 * **Reads a request completely**, within `limits.bodyMs` and the size of the format: 413 for a larger body, 408 for a slower one, 400 for an
 * incomplete one. A body of another media type is not read. Without a format there is no body to read. `background` of the request is where a busy
 * isolate waits for bodies (body-deadline.ts).
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-15.5.9
 */
export async function receiveRequest(
  request: Request,
  format: BodyFormat | undefined,
  background?: WaitUntil,
): Promise<ReceivedRequest> {
  if (format === undefined) return new ReceivedRequest(request);
  try {
    return new ReceivedRequest(request, await readBody(request, format, background));
  } catch (error) {
    if (error instanceof OAuthError) return new ReceivedRequest(request, error);
    // An incomplete or wrongly framed body is an error of its sender, not of the server.
    const description = "The body is incomplete.";
    return new ReceivedRequest(
      request,
      new OAuthError("invalid_request", "body-incomplete", { detail: `body: ${String(error)}`, description }),
    );
  }
}

const deadline = new BodyDeadline({ limitMs: limits.bodyMs, late: tooSlow });

async function readBody(
  request: Request,
  format: BodyFormat,
  background: WaitUntil | undefined,
): Promise<string | ArrayBuffer> {
  const [preferred] = format.mediaTypes;
  if (!format.mediaTypes.includes(mediaType(request))) {
    throw new OAuthError("invalid_request", "body-media-type", { description: `The body must be ${preferred}.` });
  }
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > format.maxBytes)
    throw new OAuthError("request_too_large", "body-too-large", { detail: `${declared} bytes declared` });
  // `request.body` is not accessed if the platform enforces the length, because creating the stream costs more than reading it.
  if (declared > 0) return deadline.wait(format.read(request), background);
  if (request.body === null) return new ArrayBuffer(0);
  return readStream(request.body.getReader(), format.maxBytes, background);
}

/** Reads a body of undeclared length chunk by chunk, so that at most the limit is held. */
async function readStream(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  background: WaitUntil | undefined,
): Promise<ArrayBuffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const readAll = async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.byteLength;
      if (size > maxBytes)
        throw new OAuthError("request_too_large", "body-too-large", { detail: `more than ${maxBytes} bytes` });
      chunks.push(next.value);
    }
  };
  try {
    await deadline.wait(readAll(), background);
  } catch (error) {
    // Nothing more is read, so the result of the cancellation does not matter.
    reader.cancel().catch((cause: unknown) => log("body-cancelled", { cause: String(cause) }));
    throw error;
  }
  const body = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return body.buffer;
}

function tooSlow(): never {
  throw new OAuthError("request_timeout", "body-too-slow");
}

/** The media type of the body without its parameters, lower case. */
function mediaType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
}
