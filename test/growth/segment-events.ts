import { createHash, randomBytes } from "node:crypto";
import { canonicalJson, chainStart, chainText, type StoredEvent } from "../../packages/shared/src/audit/audit-event.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const randomId = (bytes: number) => randomBytes(bytes).toString("base64url");

/** **Events as they are sealed**, of 16 objects of sessions and codes, with the members and the randomness of real ones. */
export function segmentOf(count: number): StoredEvent[] {
  const events: StoredEvent[] = [];
  const heads = new Map<string, { readonly seq: number; readonly hash: string }>();
  let chain = chainStart;
  for (let position = 1; position <= count; position += 1) {
    const isSession = position % 2 === 0;
    const shard = `${isSession ? "session" : "code"}:g1:wnam:${Math.floor(Math.random() * 8)}`;
    const { seq, hash: previous } = heads.get(shard) ?? { seq: 1_000_000, hash: chainStart };
    const client = `application-${Math.floor(Math.random() * 20)}`;
    const from = {
      sub: `u${randomId(16)}`,
      clientId: client,
      requestId: randomId(12),
      address: `203.0.${position % 256}.0/24`,
    };
    const payload = canonicalJson(
      isSession
        ? { ...from, amr: ["pwd"], city: "Lisbon", country: "PT", device: "Chrome on Windows", session: randomId(12) }
        : { ...from, grantId: `${randomId(16)}.7k.1`, scope: "openid profile" },
    );
    const type = isSession ? "sign-in.succeeded" : "code.redeemed";
    const link = { shard, seq: seq + 1, atMs: 1_900_000_000_000 + position * 60, type, payload, previous };
    const hash = hashOf(chainText(link));
    chain = hashOf(JSON.stringify([chain, hash]));
    events.push({ position, ...link, hash, chain });
    heads.set(shard, { seq: seq + 1, hash });
  }
  return events;
}
