import { isEncryptionAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import { isPublished, type KeySchedule, keyTiming } from "@edge-op/shared/keys/key-schedule";
import { JsonDocument } from "./json-document.ts";

interface Published {
  readonly schedule: KeySchedule;
  readonly fromMs: number;
  /** The next time at which a key appears or disappears. */
  readonly untilMs: number;
  readonly document: JsonDocument;
}

/** **The key set of `/jwks`**, created once for each schedule and each interval in which the set does not change. */
export class PublishedKeys {
  #published: Published | undefined;

  async at(schedule: KeySchedule, atMs: number): Promise<JsonDocument> {
    const known = this.#published;
    if (known?.schedule === schedule && atMs >= known.fromMs && atMs < known.untilMs) return known.document;
    const published = schedule.keys.filter((key) => isPublished(key, atMs));
    // Encryption keys come last, for relying parties that look for a signature key and ignore `use`.
    const ordered = [false, true].flatMap((last) => published.filter(({ alg }) => isEncryptionAlgorithm(alg) === last));
    const keys = ordered.map(({ publicJwk }) => publicJwk);
    const document = await JsonDocument.create({ keys }, `public, max-age=${keyTiming.jwksMaxAgeSeconds}`);
    const changesAtMs = schedule.keys.flatMap(({ publishAtMs, signFromMs, signUntilMs, retireAtMs }) => [
      ...[publishAtMs, signFromMs, signUntilMs, retireAtMs],
    ]);
    const untilMs = Math.min(...changesAtMs.filter((ms) => ms > atMs));
    this.#published = { schedule, fromMs: atMs, untilMs, document };
    return document;
  }
}
