import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";

/**
 * **A public JSON document that rarely changes**: its text, `ETag` and headers are created once, and a request only copies them. A client that has
 * the document receives 304.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2
 */
export class JsonDocument {
  readonly #etag: string;
  readonly #found: JsonResponse;
  readonly #notModified: JsonResponse;

  private constructor(text: string, etag: string, cacheControl: string) {
    const headers = { "Cache-Control": cacheControl, ETag: etag };
    this.#etag = etag;
    this.#found = new JsonResponse(undefined, { headers, text });
    this.#notModified = new JsonResponse(undefined, { status: 304, headers });
  }

  static async create(value: unknown, cacheControl: string): Promise<JsonDocument> {
    const text = JSON.stringify(value);
    return new JsonDocument(text, `"${encodeBase64Url((await sha256(text)).subarray(0, 16))}"`, cacheControl);
  }

  respond({ headers }: Pick<ReceivedRequest, "headers">): JsonResponse {
    const ifNoneMatch = headers.get("if-none-match");
    return ifNoneMatch !== null && this.#isNamedBy(ifNoneMatch) ? this.#notModified : this.#found;
  }

  /** The comparison is weak, because caches that compress make the tag weak. */
  #isNamedBy(ifNoneMatch: string): boolean {
    const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    return tags.includes(this.#etag) || tags.includes("*");
  }
}
