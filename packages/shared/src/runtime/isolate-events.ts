import { cause, type LogEvent, number, requestId, text, texts } from "./log-event.ts";

const keyFields = { cause, requestId };

/** **Events of the copies, leases and keys that an isolate holds.** */
export const isolateEvents = {
  "kv-read-failed": {
    meaning: "KV did not return a copy. The record was read from its store.",
    fields: { key: text("The KV key."), cause, requestId },
  },
  "kv-write-failed": {
    meaning: "KV did not store a copy. Later requests read the record from its store.",
    fields: { key: text("The KV key."), cause, requestId },
  },
  "filter-not-built": {
    meaning:
      "A shard with more than 10,000 rows could not build the filter that it sends to isolates. It tries again; isolates without a replica check each token by a call until then.",
    fields: { shard: text("The name of the object."), cause },
  },
  "lease-not-renewed": {
    meaning:
      "A lease was not renewed in the background. Requests are decided by it until it ends; then one fetches a new lease.",
    fields: { shard: text("The name of the object."), cause },
  },
  "lease-not-released": {
    meaning:
      "The release of an unused lease was not confirmed. Revocations at the shard wait until the lease has ended.",
    fields: { shard: text("The name of the object."), cause },
  },
  "code-not-taken-back": {
    meaning:
      "A redemption was not granted, and its code could not be given back. The client cannot redeem it again: that would end the grant.",
    fields: { grantId: text("The id of the grant."), cause, requestId },
  },
  "refresh-not-taken-back": {
    meaning:
      "A refresh was not granted, and its rotation could not be undone. Within the grace, the same refresh token still works; later, its use ends the grant.",
    fields: { grantId: text("The id of the grant."), cause, requestId },
  },
  "relay-lease-not-renewed": {
    meaning:
      "A relay could not renew its lease on a shard. It tries again; the isolates behind it call that shard meanwhile.",
    fields: { shard: text("The name of the object."), cause },
  },
  "relay-confirmation-lost": {
    meaning: "The confirmation of a relay did not reach a shard. The relay's next renewal contains it.",
    fields: { shard: text("The name of the object."), cause },
  },
  "relay-avoided": {
    meaning: "A relay did not respond to an isolate, which calls the shards for the next 0.5 to 8 seconds.",
    fields: { relay: text("The name of the object."), cause },
  },
  "acknowledgement-slow": {
    meaning:
      "A revocation, a sign-out or an administrative change waited half a second or longer for lease holders that did not confirm it, or for the leases of an earlier instance ([confirmed writes](../operating/confirmed-writes.md)). At most one line per second and shard.",
    fields: {
      shard: text("The name of the object."),
      waitedMs: number("How long it waited."),
      fenceMs: number("How long it had to wait for the leases of an earlier instance; 0 for none."),
      lacking: texts("Ids of holders that had not confirmed when their leases ended, ten at most."),
      lackingInAll: number("How many holders those are. 0: all have confirmed, late."),
      unlogged: number("Slow acknowledgements since the line before that have no line."),
    },
  },
  "jwks-unconfirmed": {
    meaning: "`/jwks` returned the keys in memory, because no revocation shard confirmed the control version.",
    fields: { store: text("Which store did not respond."), requestId },
  },
  "discovery-unconfirmed": {
    meaning:
      "Discovery was returned with the last known hosts of client metadata documents, initially those of the settings, because a store did not respond. At most one line per ten seconds and isolate.",
    fields: { store: text("Which store did not respond."), requestId },
  },
  "keys-not-renewed": {
    meaning: "The key schedule was not renewed. The one in memory is used.",
    fields: keyFields,
  },
  "keys-not-reloaded": {
    meaning: "D1 or KeyManager did not respond to a read of the key schedule. The other one is called, if that was D1.",
    fields: keyFields,
  },
  "keys-from-old-copy": {
    meaning:
      "Neither D1 nor KeyManager responded. The copy of the key schedule in KV is used, because no key has changed since.",
    fields: keyFields,
  },
} as const satisfies Readonly<Record<string, LogEvent>>;
