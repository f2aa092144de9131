import { JsonDocument } from "@edge-op/shared/http/json-document";
import { keyTiming } from "@edge-op/shared/keys/key-timing";
import { isVerifying, type KeySchedule } from "@edge-op/shared/objects/key-schedule";

interface Published {
  readonly schedule: KeySchedule;
  readonly fromMs: number;
  /** The next moment at which a key appears or disappears. */
  readonly untilMs: number;
  readonly document: JsonDocument;
}

/** **The key set of `/jwks`**, made once for each schedule and each interval between two moments at which the set changes. */
export class PublishedKeys {
  #published: Published | undefined;

  async at(schedule: KeySchedule, atMs: number): Promise<JsonDocument> {
    const known = this.#published;
    if (known?.schedule === schedule && atMs >= known.fromMs && atMs < known.untilMs) return known.document;
    const keys = schedule.keys.filter((key) => isVerifying(key, atMs)).map(({ publicJwk }) => publicJwk);
    const document = await JsonDocument.create({ keys }, `public, max-age=${keyTiming.jwksMaxAgeSeconds}`);
    const changesAtMs = schedule.keys.flatMap(({ publishAtMs, retireAtMs }) => [publishAtMs, retireAtMs]);
    const untilMs = Math.min(...changesAtMs.filter((ms) => ms > atMs));
    this.#published = { schedule, fromMs: atMs, untilMs, document };
    return document;
  }
}
